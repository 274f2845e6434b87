"""`eddy sql`: the shell, or the statements of files, of an option, or of standard input."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from eddy.command.app import Wrong
from eddy.errors import EddyError
from eddy.shell.shell import interactive, script
from eddy.sinks.formats import LINES


def sql(files: Sequence[str], command: str | None, format: str, quiet: bool) -> int:
    """Do it."""
    if format not in (*LINES, "arrow"):
        raise Wrong(f"there is no format {format!r} of standard output: use {', '.join(LINES)}, arrow")
    if command is not None and files:
        raise Wrong("give statements by -c, or files of them, and not both")
    if command is not None:
        return script([command], format=format, quiet=quiet)
    if files:
        return script(map(_content, files), format=format, quiet=quiet)
    if sys.stdin.isatty():
        return interactive()
    return script([sys.stdin.read()], format=format, quiet=quiet, reads_stdin=True)


def _content(name: str) -> str:
    try:
        with open(name, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise EddyError(f"cannot read {name}: {reason}") from error
