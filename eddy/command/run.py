"""`eddy run`: a query and its sources from the command line, and what is shown meanwhile."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Sequence
from typing import Any

from attrs import frozen

import eddy
from eddy.command.app import Wrong
from eddy.command.queries import ENDING, named, sink_of
from eddy.command.schemas import schemas_of
from eddy.command.view import Live, Plain, Silent
from eddy.command.wording import plain_warnings
from eddy.errors import EddyError
from eddy.query.query import Query
from eddy.running.asked import query_of
from eddy.running.queries import queries_of
from eddy.running.stopping import Stopped
from eddy.sources.base import Source


@frozen
class Asked:
    """A query and its sources, as they were written."""

    query: str
    sources: Sequence[str]
    schemas: Sequence[str]
    times: Sequence[str]
    follow: bool
    reads: Sequence[str] = ()
    queries: Sequence[str] = ()
    """Several, with their names: then ``query`` is a source too."""

    def text(self) -> str:
        """The SELECT: that of the file, or the argument itself."""
        return text_of(self.query)

    def typed(self) -> tuple[Query | dict[str, Query], dict[str, Source]]:
        """The query, or several by name, and the source of each stream."""
        if not self.queries:
            text = self.text()
            return query_of(text, self.opened())
        texts = {name: text_of(what) for name, what in named(self.queries).items()}
        found = queries_of(texts, self.opened())
        return found.by_name, found.sources

    def opened(self) -> dict[str, Source]:
        """The sources by name."""
        every = (self.query, *self.sources) if self.queries else self.sources
        paths = _pairs(every, "a source", "clicks=clicks.parquet")
        if not paths:
            raise Wrong("give a source for each stream, such as clicks=clicks.parquet")
        reads_stdin = [name for name, path in paths.items() if path == "-"]
        if len(reads_stdin) > 1:
            raise Wrong(
                f"standard input can be read once, and {' and '.join(reads_stdin)} are to be read from it"
            )
        times = _pairs(self.times, "--time", "clicks=when")
        formats = _pairs(self.reads, "--read", "clicks=csv")
        schemas = schemas_of(self.schemas)
        for option, given in (("--time", times), ("--read", formats), ("--schema", schemas)):
            for name in given:
                if name not in paths:
                    raise Wrong(f"{option} names {name}: there is no such source, only {', '.join(paths)}")
        return {
            name: eddy.source(
                path,
                schema=schemas.get(name),
                format=formats.get(name),
                time=times.get(name),
                follow=self.follow,
            )
            for name, path in paths.items()
        }


def text_of(query: str) -> str:
    """A SELECT: that of a file, or the argument itself."""
    if re.match(r"\s*(SELECT|WITH)\s", query, re.IGNORECASE):
        return query
    try:
        with open(query, encoding="utf-8") as file:
            return file.read().rstrip().rstrip(";")
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, FileNotFoundError) and len(query.split()) > 1:
            raise EddyError(f"{query} is no file, and no SELECT") from error
        reason = str(error.strerror) if isinstance(error, OSError) else "it is not UTF-8"
        if query.partition("=")[1] and query.endswith(ENDING):
            reason += f"; of several queries each is given with --query {query}"
        raise EddyError(f"cannot read the query {query}: {reason}") from error


def run(
    asked: Asked,
    outs: Sequence[str],
    format: str | None,
    options: dict[str, Any],
    engine: dict[str, Any],
    *,
    explain: bool,
    quiet: bool,
) -> int:
    """Run it. The exit status: 0, or 130 after Ctrl-C."""
    with plain_warnings(quiet):
        return _run(asked, outs, format, options, engine, explain, quiet)


def _run(
    asked: Asked,
    outs: Sequence[str],
    format: str | None,
    options: dict[str, Any],
    engine: dict[str, Any],
    explain: bool,
    quiet: bool,
) -> int:
    query, matched = asked.typed()
    sink = sink_of(outs, format, query if isinstance(query, dict) else ())
    lateness = options["lateness"]
    if lateness is not None and lateness.isdigit():
        options["lateness"] = int(lateness)
    engine = {name: value for name, value in engine.items() if value is not None}
    if explain:
        print(eddy.Eddy(query, **{k: v for k, v in engine.items() if k != "idle"}).explain())
        return 0
    view = Silent() if quiet else Live() if _is_terminal() else Plain(sys.stderr)
    stopped, stays = Stopped(), bool(options["watch"]) and _is_terminal()
    loops: list[Any] = []

    def control(loop: Any) -> None:
        loop.showing.stays = stays
        loops.append(loop)
        stopped.control(loop)

    with stopped, view:
        outcome = eddy.run(
            query,
            matched,
            sink,
            on_progress=view.show,
            control=control,
            **options,
            **engine,
        )
    view.end(outcome)
    if stays and loops:
        _stay(loops[0].showing)
    return 130 if outcome.ended == "stopped" else 0


def _stay(showing: Any) -> None:
    """The page is answered until Ctrl-C."""
    print(f"the page stays at {showing.url} until Ctrl-C", file=sys.stderr)
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(3600)
    showing.close()


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
