"""What asks at a terminal: history, completion and several lines, by prompt_toolkit."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.sql import SqlLexer

from eddy.shell.completing import suggested
from eddy.shell.session import Session
from eddy.shell.splitting import is_complete


class Prompt:
    """Asks for statements."""

    def __init__(self, session: Session) -> None:
        self._prompt: PromptSession[str] = PromptSession(
            "eddy> ",
            history=history(),
            completer=Suggesting(session),
            complete_while_typing=False,
            lexer=PygmentsLexer(SqlLexer),
            multiline=Condition(lambda: not is_complete(self._prompt.default_buffer.text)),
            prompt_continuation="   -> ",
        )

    def ask(self) -> str:
        """The statements that somebody has typed; EOFError if they leave, KeyboardInterrupt if they begin anew."""
        return self._prompt.prompt()


class Suggesting(Completer):
    """What may come next, for prompt_toolkit."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        typed, found = suggested(document.text_before_cursor, self.session)
        for text in found:
            yield Completion(text, start_position=-typed)


def state_folder() -> Path:
    """Where what the shell remembers is kept."""
    given = os.environ.get("XDG_STATE_HOME", "")
    home = Path(given) if os.path.isabs(given) else Path.home() / ".local" / "state"
    return home / "eddy"


def history() -> History:
    """What was typed before, in a file of the user's alone; in memory, if that cannot be written."""
    file = state_folder() / "history"
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(file, "a", opener=_private):
            pass
    except OSError as error:
        print(f"warning: nothing is remembered: cannot write {file}: {error.strerror}")
        return InMemoryHistory()
    return FileHistory(str(file))


def _private(path: str, flags: int) -> Any:
    return os.open(path, flags, 0o600)
