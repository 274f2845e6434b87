"""The streams and options that somebody has named, and what each statement does with them."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from attrs import define, field

import eddy
from eddy.errors import EddyError, QueryError
from eddy.inspect.described import described
from eddy.query.names import nearest
from eddy.query.query import Query
from eddy.running.asked import query_of, tables_of
from eddy.running.columns import time_of, typed
from eddy.running.describing import closing, going_on
from eddy.running.outcome import Outcome, Progress, Resumed
from eddy.running.run import run
from eddy.running.schemas import checked as whole
from eddy.running.stopping import Stopped
from eddy.shell.options import ENGINE, OPTIONS, checked
from eddy.shell.parsing import parsed
from eddy.shell.splitting import Part
from eddy.shell.statements import (
    Check,
    Create,
    Describe,
    Drop,
    Explain,
    Help,
    Insert,
    Quit,
    Select,
    Set,
    Show,
    Statement,
)
from eddy.shell.views import View
from eddy.shell.wording import told
from eddy.sinks.base import Sink
from eddy.sinks.sink import sink
from eddy.sources.base import Source
from eddy.sources.source import source

EXAMPLE = "CREATE STREAM clicks FROM 'clicks.parquet'"
HELP = """\
CREATE [OR REPLACE] STREAM name [(column TYPE, ...)] FROM 'place' [WITH (time = 'when', format = 'csv', follow = true)]
DROP STREAM name         SHOW STREAMS         DESCRIBE name
SELECT ...               run a query; Ctrl-C ends it
INSERT INTO 'out.parquet' [WITH (format = 'csv', checkpoint = 'folder', every = '10s')] SELECT ...
EXPLAIN SELECT ...       how it would be run
CHECK SELECT ...         its types, windows and keys
SET option = value       RESET option         SHOW OPTIONS
HELP                     EXIT, QUIT or \\q
A statement ends with a semicolon. A place is a file, a pattern, a folder or an address, in single quotes."""


class Left(Exception):
    """Somebody wants to leave."""


@define(eq=False)
class Declared:
    """A stream that has a name."""

    create: Create
    first: Source
    """What was opened when it was declared."""
    used: bool = False
    """Whether a query has read it."""

    def opened(self) -> Source:
        """A source to be read: another one each time, since files change, unless it can be read once only."""
        if self.first.seekable:
            return source_of(self.create)
        if self.used:
            raise EddyError(f"{self.first} can be read once only, and a query has read it")
        return self.first


@define(eq=False)
class Session:
    """Does what statements say."""

    view: View
    reads_stdin: bool = False
    """Whether statements come from standard input, so that no stream can."""
    streams: dict[str, Declared] = field(factory=dict)
    options: dict[str, Any] = field(factory=dict)
    stopped: bool = False
    """Whether the last query was stopped."""
    _told: Resumed | None = None

    def do(self, part: Part) -> None:
        """One statement; EddyError if it cannot be done, and then nothing has changed. `Left` for the last one."""
        self.stopped = False
        try:
            self._do(parsed(part))
        except EddyError as error:
            error.args = tuple(told(one) if isinstance(one, str) else one for one in error.args)
            raise

    def _do(self, statement: Statement) -> None:
        match statement:
            case Create():
                self._create(statement)
            case Drop(name):
                self._known(name)
                del self.streams[name]
            case Show(what):
                self.view.rows(self._streams() if what == "STREAMS" else self._options())
            case Describe(name):
                self.view.rows(self._described(self._known(name)))
            case Select(text):
                self._run(text, self.view.results())
            case Insert(path, options, text):
                written = {name: value for name, value in options.items() if name != "format"}
                self._run(text, sink(path, format=options.get("format")), **written)
            case Explain(text):
                engine = {name: value for name, value in self.options.items() if name in ENGINE}
                self.view.lines(eddy.Eddy(self.query(text)[0], **engine).explain().splitlines())
            case Check(text):
                self.view.lines(described(*self.query(text)))
            case Set(name, value):
                self._set(name, value)
            case Help():
                self.view.lines(HELP.splitlines())
            case Quit():
                raise Left

    def query(self, text: str) -> tuple[Query, dict[str, Source]]:
        """A query over the streams that it names; what it warns of is shown."""
        if not self.streams:
            raise EddyError(f"there are no streams yet: {EXAMPLE}")
        named = [name for name in tables_of(text).values() if name in self.streams] or list(self.streams)
        with self._warned():
            try:
                return query_of(text, {name: self.streams[name].opened() for name in dict.fromkeys(named)})
            except QueryError:
                if len(set(named)) < len(self.streams):  # it may name one that there is none of
                    query_of(text, {name: declared.opened() for name, declared in self.streams.items()})
                raise

    def _run(self, text: str, into: Sink, **more: Any) -> None:
        """Run a query; Ctrl-C ends it after the push that is under way, a second one at once."""
        with Stopped((signal.SIGINT,)) as stopped:
            query, sources = self.query(text)
            for declared in self.streams.values():
                declared.used |= any(declared.first is one for one in sources.values())
            with self._warned():
                shown = self._going_on if "checkpoint" in more else None
                outcome: Outcome = run(
                    query, sources, into, control=stopped.control, on_progress=shown, **self.options, **more
                )
        self.stopped = outcome.ended == "stopped"
        self.view.end([told(line) for line in closing(outcome)])

    def _going_on(self, progress: Progress) -> None:
        """What a query goes on from is told once."""
        if progress.resumed is not None and progress.resumed != self._told:
            self._told = progress.resumed
            self.view.end([going_on(progress.resumed)])

    def _create(self, create: Create) -> None:
        name = create.name
        if name in self.streams and not create.replace:
            raise EddyError(
                f"there is a stream {name} already: DROP STREAM {name}, or CREATE OR REPLACE STREAM"
            )
        if create.path == "-" and self.reads_stdin:
            raise EddyError(
                "statements come from standard input, so no stream can: give them as a file or by -c"
            )
        with self._warned():
            found = whole(source_of(create))
        columns, _ = typed(found)
        time_of(found, columns)
        self.streams[name] = Declared(create, found)

    def _set(self, name: str, value: Any) -> None:
        if value is None and name in OPTIONS:
            self.options.pop(name, None)
        else:
            self.options[name] = checked(name, value)

    def _known(self, name: str) -> Declared:
        if name not in self.streams:
            raise EddyError(f"there is no stream {name}: {nearest(name, self.streams)}")
        return self.streams[name]

    def _streams(self) -> dict[str, list[Any]]:
        found = [(name, declared.create.path, declared.first) for name, declared in self.streams.items()]
        return {
            "stream": [name for name, _, _ in found],
            "source": [path for _, path, _ in found],
            "columns": [len(typed(of)[0]) for _, _, of in found],
            "time": [time_of(of, typed(of)[0]) or "ts" for _, _, of in found],
        }

    def _options(self) -> dict[str, list[Any]]:
        values = [str(self.options.get(name, "")) for name in OPTIONS]
        return {"option": list(OPTIONS), "value": values, "meaning": list(OPTIONS.values())}

    def _described(self, declared: Declared) -> dict[str, list[Any]]:
        columns, others = typed(declared.first)
        when = time_of(declared.first, columns) or "ts"
        kinds = [*map(str, columns.values()), *others.values()]
        notes = ["time" if name == when else "" for name in columns] + ["no query can use it"] * len(others)
        return {"column": [*columns, *others], "type": kinds, "note": notes}

    @contextmanager
    def _warned(self) -> Iterator[None]:
        """Warnings are shown, each once."""
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            yield
        for text in dict.fromkeys(str(warning.message) for warning in warned):
            self.view.warn(told(text))


def source_of(create: Create) -> Source:
    """The source that a statement declares."""
    return source(
        create.path,
        schema=None if create.columns is None else {name: str(kind) for name, kind in create.columns.items()},
        format=create.options.get("format"),
        time=create.options.get("time"),
        follow=create.options.get("follow", False),
    )
