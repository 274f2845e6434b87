"""`eddy run`: a query and its sources from the command line, and what is shown meanwhile."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from attrs import frozen

import eddy
from eddy.command.app import Wrong
from eddy.command.view import Live, Plain, Silent
from eddy.errors import EddyError
from eddy.running.asked import query_of
from eddy.sources.base import Source


@frozen
class Asked:
    """A query and its sources, as they were written."""

    query: str
    sources: Sequence[str]
    schema: str | None
    times: Sequence[str]
    follow: bool

    def text(self) -> str:
        """The SELECT: that of the file, or the argument itself."""
        if re.match(r"\s*(SELECT|WITH)\s", self.query, re.IGNORECASE):
            return self.query
        try:
            with open(self.query, encoding="utf-8") as file:
                return file.read().rstrip().rstrip(";")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise EddyError(f"cannot read the query {self.query}: {reason}") from error

    def opened(self) -> dict[str, Source]:
        """The sources by name."""
        paths = _pairs(self.sources, "a source", "clicks=clicks.parquet")
        if not paths:
            raise Wrong("give a source for each stream, such as clicks=clicks.parquet")
        times = _pairs(self.times, "--time", "clicks=when")
        schemas = self._schemas()
        for name in (*times, *schemas):
            if name not in paths:
                raise Wrong(f"there is no source {name}, only {', '.join(paths)}")
        return {
            name: eddy.source(path, schema=schemas.get(name), time=times.get(name), follow=self.follow)
            for name, path in paths.items()
        }

    def _schemas(self) -> Mapping[str, Any]:
        if self.schema is None:
            return {}
        try:
            with open(self.schema, encoding="utf-8") as file:
                read = json.load(file)
        except (OSError, ValueError) as error:
            raise EddyError(f"cannot read the schema {self.schema}: {error}") from error
        if not isinstance(read, dict) or not all(isinstance(of, dict) for of in read.values()):
            raise EddyError(
                f'the schema {self.schema} is not of the form {{"clicks": {{"ts": "timestamp"}}}}'
            )
        return read


def run(
    asked: Asked,
    out: str,
    format: str | None,
    options: dict[str, Any],
    engine: dict[str, Any],
    *,
    explain: bool,
    quiet: bool,
) -> int:
    """Run it. The exit status: 0, or 130 after Ctrl-C."""
    text, sources = asked.text(), asked.opened()
    lateness = options["lateness"]
    if lateness is not None and lateness.isdigit():
        options["lateness"] = int(lateness)
    engine = {name: value for name, value in engine.items() if value is not None}
    with warnings.catch_warnings(record=not quiet) as warned:
        warnings.simplefilter("ignore" if quiet else "always")
        query, _ = query_of(text, sources)
    for warning in warned or ():
        print(f"eddy: {warning.message}", file=sys.stderr)
    if explain:
        print(eddy.Eddy(query, **{k: v for k, v in engine.items() if k != "idle"}).explain())
        return 0
    view = Silent() if quiet else Live() if _is_terminal() else Plain(sys.stderr)
    stopped = Stopped()
    with stopped, view:
        outcome = eddy.run(
            text,
            sources,
            eddy.sink(out, format=format),
            on_progress=view.show,
            control=stopped.control,
            **options,
            **engine,
        )
    view.end(outcome)
    return 130 if outcome.ended == "stopped" else 0


class Stopped:
    """Ctrl-C, and a signal to terminate, end a run after the push that is under way; a second one ends it at once."""

    def __init__(self) -> None:
        self._loop: Any = None
        self._former: dict[int, Any] = {}

    def control(self, loop: Any) -> None:
        """The run that is to be stopped."""
        self._loop = loop

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._former[number] = signal.signal(number, self._stop)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self._loop is None or self._loop.stopping:
            raise KeyboardInterrupt
        self._loop.stop()


def _pairs(given: Sequence[str], what: str, example: str) -> dict[str, str]:
    """name=value, by name."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name or not value or os.sep in name:
            raise Wrong(f"{what} is name=value, such as {example}, not {text!r}")
        if name in found:
            raise Wrong(f"{name} is given twice: give a pattern or a folder for several files")
        found[name] = value
    return found


def _is_terminal() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") not in (None, "dumb")
