"""The shell's ways in: statements of a text, and somebody at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from eddy.checks import require
from eddy.errors import EddyError
from eddy.shell.session import Left, Session
from eddy.shell.splitting import split
from eddy.shell.views import Plain, Screen


def script(texts: Iterable[str], *, format: str, quiet: bool = False, reads_stdin: bool = False) -> int:
    """Run the statements of texts. EddyError at the first that cannot be done; KeyboardInterrupt after Ctrl-C."""
    session = Session(Plain(format, quiet), reads_stdin)
    try:
        for part in (part for text in texts for part in split(text)):
            session.do(part)
            if session.stopped:
                raise KeyboardInterrupt
    except Left:
        pass
    return 0


def interactive() -> int:
    """Talk with somebody at a terminal, until they leave."""
    require("eddy sql, at a terminal,", ("prompt_toolkit",), "shell")
    from eddy.shell.prompt import Prompt

    session = Session(Screen(), reads_stdin=True)
    prompt = Prompt(session)
    print("eddy sql: statements end with ; and HELP; says which there are")
    while True:
        try:
            text = prompt.ask()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return 0
        try:
            for part in split(text):
                session.do(part)
                if session.stopped:
                    break
        except Left:
            return 0
        except EddyError as error:
            print(f"error: {error}", file=sys.stderr)
        except OSError as error:
            print(f"error: {error.strerror or error}", file=sys.stderr)
        except KeyboardInterrupt:
            print("stopped")
