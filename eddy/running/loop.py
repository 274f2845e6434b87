"""The loop between sources and a sink: pull, push, write, and commit now and then."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from attrs import define, field

from eddy.engine.eddy import Eddy
from eddy.errors import EddyError
from eddy.query.query import Query
from eddy.results.result import SIGN, Result
from eddy.running import disorder
from eddy.running.checkpoints import Checkpoints, Manifest, check_sinks
from eddy.running.feeds import Feed
from eddy.running.letters import SCHEMA
from eddy.running.merging import Buffered, InTurns, Merge, Sorted
from eddy.running.options import Options
from eddy.running.outcome import Outcome
from eddy.running.telling import Teller
from eddy.sources.base import Source

LOG = logging.getLogger("eddy.run")


@define(eq=False)
class Loop:
    """One run. `stop` ends it after the push that is under way."""

    query: Query
    sources: Mapping[str, Source]
    options: Options
    checkpoints: Checkpoints | None = None
    stopping: bool = False
    results: int = 0
    lateness: dict[str, Any] | None = None
    changes: int = 0
    """Changes of plan before a restart."""
    began: float = field(factory=time.monotonic)
    _feeds: list[Feed] = field(init=False, factory=list)
    _engine: Any = None
    _ended: str = "end"
    _over: bool = False

    def stop(self) -> None:
        """End soon: what was pushed is written, and committed where there are checkpoints."""
        self.stopping = True

    def go(self) -> Outcome:
        """Run it, with the sink."""
        options = self.options
        manifest = None if self.checkpoints is None else self.checkpoints.newest(self.query)
        if manifest is not None:
            check_sinks(manifest, {what: str(sink) for what, sink in options.sinks.items()})
        for what, sink in options.sinks.items():
            schema = self.schema() if what == "results" else SCHEMA
            sink.open(schema, None if manifest is None else manifest.tokens[what])
        try:
            if manifest is not None and manifest.finished:
                return self._finished(manifest)
            due = time.monotonic() + options.every
            for result in self.steps(manifest):
                self._write(result)
                if time.monotonic() >= due and not self.stopping and not self._over:
                    self._commit(self._engine)
                    due = time.monotonic() + options.every
            if self._ended == "stopped":
                self._commit(self._engine)
            else:
                self._commit(None)
            if self._ended != "stopped" or self.checkpoints is None:
                for sink in options.sinks.values():
                    sink.close()
        except BaseException:
            for sink in options.sinks.values():
                sink.abandon(self.checkpoints is not None)
            raise
        if self._ended == "stopped" and self.checkpoints is not None:
            for sink in options.sinks.values():
                sink.abandon(True)
        return self._outcome()

    def steps(self, manifest: Manifest | None = None) -> Iterator[Result]:
        """The result of each push; in between the engine and the positions belong together."""
        self._begin(manifest)
        merge = self._merge()
        teller = Teller(self._engine, self._feeds, self.options, self.began, self.changes)
        for result in merge.results():
            if self.options.limit is not None and self.results + len(result) >= self.options.limit:
                result = next(result.pieces(self.options.limit - self.results))
                self._ended, self.stopping = "limit", True
            self.results += len(result)
            self._take_late()
            self._over = merge.over
            yield result
            teller.tell(self.results, 0 if self.checkpoints is None else self.checkpoints.number)
            if self.stopping:
                self._ended = "limit" if self._ended == "limit" else "stopped"
                break
        teller.tell(self.results, 0 if self.checkpoints is None else self.checkpoints.number, ended=True)

    def schema(self) -> pa.Schema:
        """The columns of results; a sign at the end, where results are withdrawn."""
        fields = [pa.field(name, kind.arrow) for name, kind in self.query.outputs]
        return pa.schema([*fields, pa.field(SIGN, pa.int8())] if self.signed else fields)

    @property
    def signed(self) -> bool:
        """Whether results are withdrawn as well as given."""
        return self.query.signed or bool(self.options.engine.get("retractions"))

    def _begin(self, manifest: Manifest | None) -> None:
        """Make the engine, or load it, and go to where each source was."""
        query, options = self.query, self.options
        narrow = {
            name: source.narrowed(
                {column: kind.arrow for column, kind in query.streams[name].columns.items()}, options.batch
            )
            for name, source in self.sources.items()
        }
        if self.checkpoints is not None:
            for source in narrow.values():
                if not source.seekable:
                    raise EddyError(f"{source} cannot go back to a position, so there is no checkpoint of it")
        self._feeds = [Feed(name, query, narrow[name], options.bad) for name in query.names]
        given = {name: value for name, value in options.engine.items() if value is not None}
        if manifest is not None:
            assert self.checkpoints is not None
            self.results, self.changes = manifest.counts["results"], 0
            options.bad.counts, options.late.counts = manifest.counts["bad"], manifest.counts["late"]
            self.lateness = manifest.counts["lateness"]
            if "lateness" in given:
                self.lateness = self._lateness(given["lateness"], narrow)
            for feed in self._feeds:
                feed.go_to(manifest.positions[feed.name])
            late: dict[str, Any] = {} if self.lateness is None else {"late": options.late.way}
            self._engine = Eddy.load(self.checkpoints.engine_file(manifest.number), query, **given, **late)
            LOG.info(
                "restarted at checkpoint %d",
                manifest.number,
                extra={"event": "restarted", "checkpoint": manifest.number},
            )
            return
        self.lateness = self._lateness(given.pop("lateness", None), narrow)
        order: dict[str, Any] = (
            {} if self.lateness is None else {"lateness": self.lateness, "late": options.late.way}
        )
        self._engine = Eddy(query, **given, **order)

    def _lateness(self, given: Any, sources: Mapping[str, Source]) -> dict[str, Any] | None:
        """The lateness of each stream; None if rows are in order, or have no order of time."""
        if given is not None:
            return given if isinstance(given, dict) else dict.fromkeys(self._timed(), given)
        if not self.query.timed:
            return None
        found = disorder.measured(self.query, sources)
        if all(most == 0 for most in found.values()) and "idle" not in self.options.engine:
            return None
        return disorder.lateness_of(self.query, found)

    def _timed(self) -> list[str]:
        return [name for name, stream in self.query.streams.items() if not stream.static]

    def _merge(self) -> Merge:
        if self.lateness is not None:
            return Buffered(self._engine, self._feeds)
        return (Sorted if self.query.timed else InTurns)(self._engine, self._feeds)

    def _write(self, result: Result) -> None:
        if len(result):
            self.options.sink.write(result.to_arrow(sign=self.signed))

    def _take_late(self) -> None:
        """Late rows of the last push."""
        if self.lateness is None or self.options.late.way == "error":
            return
        if self.options.late.way == "keep":
            self.options.late.take_late(self._engine.late())

    def _commit(self, engine: Any) -> None:
        """Make all that was written so far count, together with the positions and the engine."""
        tokens = {what: sink.prepare() for what, sink in self.options.sinks.items()}
        if self.checkpoints is not None:
            started = time.monotonic()
            counts = {
                "results": self.results,
                "bad": self.options.bad.counts,
                "late": self.late_counts(),
                "lateness": self.lateness,
            }
            parts = {
                "positions": {feed.name: feed.position for feed in self._feeds},
                "tokens": tokens,
                "counts": counts,
                "sinks": {what: str(sink) for what, sink in self.options.sinks.items()},
            }
            manifest = self.checkpoints.save(engine, self.query, parts)
            took = time.monotonic() - started
            LOG.info(
                "checkpoint %d in %.3f s",
                manifest.number,
                took,
                extra={"event": "checkpoint", "number": manifest.number, "seconds": took},
            )
        for what, sink in self.options.sinks.items():
            sink.commit(tokens[what])
        if self.checkpoints is not None:
            self.checkpoints.forget()

    def _finished(self, manifest: Manifest) -> Outcome:
        """The run of this checkpoint had ended: only what its sinks may not have done yet is left to do."""
        for what, sink in self.options.sinks.items():
            sink.commit(manifest.tokens[what])
            sink.close()
        counts = manifest.counts
        rows = {name: position["rows"] for name, position in manifest.positions.items()}
        return Outcome(
            results=counts["results"],
            rows=rows,
            bad=counts["bad"],
            late=counts["late"],
            letters=(),
            lateness=counts["lateness"],
            plan="",
            changes=0,
            checkpoints=manifest.number,
            seconds=0.0,
            ended="end",
        )

    def late_counts(self) -> dict[str, int]:
        """Late rows by stream."""
        told = self._engine.statistics().streams if self._engine is not None else ()
        return {stream.name: stream.late for stream in told if stream.late}

    def _outcome(self) -> Outcome:
        statistics = self._engine.statistics()
        return Outcome(
            results=self.results,
            rows={feed.name: feed.rows for feed in self._feeds},
            bad=dict(self.options.bad.counts),
            late=self.late_counts(),
            letters=tuple((*self.options.bad.first, *self.options.late.first)[:100]),
            lateness=self.lateness,
            plan=self._engine.plan,
            changes=statistics.migrations,
            checkpoints=0 if self.checkpoints is None else self.checkpoints.number,
            seconds=time.monotonic() - self.began,
            ended=self._ended,
            collected=self.options.sink.to_arrow() if self.options.collects else None,  # type: ignore[attr-defined]
        )
