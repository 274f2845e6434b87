"""The loop between sources and a sink: pull, push, write, and commit now and then."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from attrs import define, field

from eddy.errors import EddyError
from eddy.log.events import RUN
from eddy.query.query import Query
from eddy.results.result import Result
from eddy.running import disorder
from eddy.running.alone import Alone
from eddy.running.checkpoints import Checkpoints, Manifest, check_sinks
from eddy.running.commits import Commit, Commits
from eddy.running.feeds import Feed
from eddy.running.final import check_same
from eddy.running.garbage import Garbage
from eddy.running.gathered import NOTHING, Gathered
from eddy.running.late import placed
from eddy.running.letters import SCHEMA
from eddy.running.merging import Buffered, InTurns, Merge, Sorted
from eddy.running.meter import Meter
from eddy.running.options import Options
from eddy.running.outcome import Outcome, Resumed
from eddy.running.pacing import resumed
from eddy.running.resuming import finished, resumed_from
from eddy.running.several import Several
from eddy.running.showing import Showing
from eddy.running.sizing import MOST, Sizing
from eddy.running.telling import Teller
from eddy.sinks.base import Sink
from eddy.sources.base import Source


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
    several: Several | None = None
    """Several queries, whose streams are those of ``query``."""
    runs: Alone | Several = field(init=False)
    meter: Meter = field(init=False)
    showing: Showing = field(init=False)
    _feeds: list[Feed] = field(init=False, factory=list)
    _kept: dict[str, Any] = field(init=False, factory=dict)
    """Where the sources were at the last commit."""
    _engine: Any = None
    _garbage: Garbage = field(init=False, factory=Garbage)
    _ended: str = "end"
    _over: bool = False
    _resumed: Resumed | None = None
    _groups: Gathered | None = None
    """The groups at the end, where they are written instead of changes."""

    @meter.default
    def _its_meter(self) -> Meter:
        latency = self.options.latency
        return Meter(None if latency is None else Sizing(latency, self.options.batch or MOST))

    @showing.default
    def _to_be_shown(self) -> Showing:
        return Showing(self.options.shows, None if self.checkpoints is None else self.checkpoints.folder)

    @runs.default
    def _what_runs(self) -> Alone | Several:
        return self.several or Alone(
            self.query, bool(self.options.engine.get("retractions")), self.options.final
        )

    def stop(self) -> None:
        """End soon: what was pushed is written, and committed where there are checkpoints."""
        self.stopping = True

    def close(self) -> None:
        """It is over, in whatever way: what sources have opened for it can go."""
        for feed in self._feeds:
            feed.close()

    def go(self) -> Outcome:
        """Run it, with the sink."""
        if self.options.metrics is not None:
            self.meter.serve(self.options.metrics)
        try:
            return self._go()
        finally:
            self._garbage.close()
            self.meter.close()
            if not self.showing.stays:
                self.showing.close()

    def _go(self) -> Outcome:
        if self.checkpoints is not None:
            self.options = self.options.with_queues()
        options = self.options
        commits = Commits(self.runs.asked, options, self.checkpoints, self._state, self._committed)
        manifest = None if self.checkpoints is None else self.checkpoints.newest(self.runs.asked)
        if manifest is not None:
            assert self.checkpoints is not None
            check_same(manifest.counts.get("final", False), options.final)
            check_sinks(manifest, {what: str(sink) for what, sink in options.sinks.items()})
            self._resumed = resumed_from(self.checkpoints, manifest)
        opened: list[Sink] = []
        try:
            schemas = self.runs.schemas()
            for what, sink in options.sinks.items():
                if self.checkpoints is not None:
                    sink.keep_in(os.path.join(self.checkpoints.folder, quote(what, " ")))
                sink.open(schemas.get(what, SCHEMA), None if manifest is None else manifest.tokens[what])
                opened.append(sink)
            if manifest is not None and manifest.finished:
                return self._finished(manifest)
            for result in self.steps(manifest):
                self._write(result)
                commits.after_push(self._engine, not self.stopping and not self._over)
                self._garbage.leave_out()
            if self._ended == "stopped" and self.checkpoints is not None:
                self._settle()
            elif self._ended == "stopped" and options.final:
                self._write(self._last())
            commits.now(self._engine if self._ended == "stopped" else None)
            if self._ended != "stopped" or self.checkpoints is None:
                for sink in options.sinks.values():
                    sink.close()
        except BaseException:
            commits.end()
            for sink in opened:
                with contextlib.suppress(Exception):  # what has gone wrong before is what is told
                    sink.abandon(self.checkpoints is not None)
            raise
        if self._ended == "stopped" and self.checkpoints is not None:
            for sink in options.sinks.values():
                sink.abandon(True)
        return self._outcome()

    def steps(self, manifest: Manifest | None = None) -> Iterator[Any]:
        """The result of each push; in between the engine and the positions belong together."""
        self._begin(manifest)
        self._engine.log.name = RUN
        if manifest is not None:
            self._engine.log.tell("restarted", checkpoint=manifest.number)
        self.meter.watch(self._engine, self, self._feeds)
        self.showing.begin(self._engine, self.sources, self.began)
        merge = self._merge()
        merge.ending = self._ending
        urls = {"metrics": self.meter.url, "page": self.showing.url}
        teller = Teller(
            self._engine, self._feeds, self.options, self.began, self.changes, urls, self._resumed
        )
        results = placed(merge.results(), self._feeds)
        if self.options.limit is not None and self.results >= self.options.limit:  # before a restart
            self._ended, results = "limit", iter(())
        result: Any  # Result, or Gathered
        for result in results:
            if self.options.final:
                result = self._groups or NOTHING
            if self.options.limit is not None and self.results + len(result) >= self.options.limit:
                result = next(iter(result.pieces(self.options.limit - self.results)))
                self._ended, self.stopping = "limit", True
            self.results += len(result)
            self.runs.count(result)
            self._take_late()
            self._over = merge.over
            yield result
            if not self._over:  # a closed engine holds no rows, and was read before
                self.showing.read(self.options.bad.counts)
            teller.tell(self.results, 0 if self.checkpoints is None else self.checkpoints.number)
            if self.stopping:
                self._ended = "limit" if self._ended == "limit" else "end" if self._over else "stopped"
                break
        teller.tell(self.results, 0 if self.checkpoints is None else self.checkpoints.number, ended=True)
        self.meter.finish()
        self.showing.end(self._ended, self.options.bad.counts, self._over)

    def _ending(self) -> None:
        """All rows were pushed, and the engine is about to be closed."""
        if self.options.final:
            self._groups = self._of_groups()
        self.showing.read(self.options.bad.counts, now=True)

    def _of_groups(self) -> Gathered:
        """The groups as they are now; no change of plan holds back what belongs to them."""
        self._engine.settle()
        return self.runs.groups(self._engine)

    def _last(self) -> Gathered:
        """The groups of a run that was stopped, and has no checkpoint to go on from."""
        self._groups = self._of_groups()
        self.results += len(self._groups)
        self.runs.count(self._groups)
        return self._groups

    def _begin(self, manifest: Manifest | None) -> None:
        """Make the engine, or load it, and go to where each source was."""
        query, options = self.query, self.options
        narrow = {
            name: source.narrowed(
                {column: kind.arrow for column, kind in query.streams[name].columns.items()},
                options.batch if self.meter.sizing is None else self.meter.sizing.piece,
            )
            for name, source in self.sources.items()
        }
        if self.checkpoints is not None:
            for source in narrow.values():
                if not source.seekable:
                    raise EddyError(f"{source} cannot go back to a position, so there is no checkpoint of it")
        given = {name: value for name, value in options.engine.items() if value is not None}
        if manifest is not None:
            assert self.checkpoints is not None
            self.results, self.changes = manifest.counts["results"], 0
            options.bad.counts, options.late.counts = manifest.counts["bad"], manifest.counts["late"]
            self.lateness = manifest.counts["lateness"]
            self.runs.counts.update(manifest.counts.get("queries", {}))
            if "lateness" in given:
                self.lateness, _ = self._lateness(given["lateness"], narrow)
            self._feeds = self._fed(resumed(query, narrow, manifest.positions))
            for feed in self._feeds:
                feed.go_to(manifest.positions[feed.name])
            late: dict[str, Any] = {} if self.lateness is None else {"late": options.late.way}
            self._engine = self.runs.engine({**given, **late}, self.checkpoints.engine_file(manifest.number))
            return
        self.lateness, narrow = self._lateness(given.pop("lateness", None), narrow)
        self._feeds = self._fed(narrow)
        order: dict[str, Any] = (
            {} if self.lateness is None else {"lateness": self.lateness, "late": options.late.way}
        )
        self._engine = self.runs.engine({**given, **order})

    def _fed(self, sources: Mapping[str, Source]) -> list[Feed]:
        bad, sizing = self.options.bad, self.meter.sizing
        return [Feed(name, self.query, sources[name], bad, sizing=sizing) for name in self.query.names]

    def _lateness(
        self, given: Any, sources: dict[str, Source]
    ) -> tuple[dict[str, Any] | None, dict[str, Source]]:
        """The lateness of each stream; None if rows are in order, or have no order of time. And the sources to read."""
        if given is not None:
            return given if isinstance(given, dict) else dict.fromkeys(self._timed(), given), sources
        if not self.query.timed:
            return None, sources
        found, read = disorder.measured(self.query, sources)
        if all(most == 0 for most in found.values()) and "idle" not in self.options.engine:
            return None, read
        return disorder.lateness_of(self.query, found), read

    def _timed(self) -> list[str]:
        return [name for name, stream in self.query.streams.items() if not stream.static]

    def _merge(self) -> Merge:
        if self.lateness is not None:
            idle = self.options.engine.get("idle") is not None or self.checkpoints is not None
            return Buffered(self._engine, self._feeds, idle=idle)
        return (Sorted if self.query.timed else InTurns)(self._engine, self._feeds)

    def _write(self, result: Result | Gathered) -> None:
        self.runs.write(result, self.options.results)
        self.given()

    def given(self) -> None:
        """The results of the last push were given."""
        self.meter.batch(self._feeds)

    def _take_late(self) -> None:
        """Late rows of the last push."""
        if self.lateness is None or self.options.late.way == "error":
            return
        if self.options.late.way == "keep":
            self.options.late.take_late(self._engine.late())

    def _settle(self) -> None:
        """A change of plan may hold results back, which no checkpoint has a place for: they are given now."""
        assert self.checkpoints is not None
        if not self.checkpoints.follow(self._engine, ahead=False):
            result = self._engine.settle()
            if self.options.final:
                return
            self.results += len(result)
            self.runs.count(result)
            self._write(result)

    def _state(self) -> dict[str, Any]:
        """What a checkpoint keeps beside the engine and the tokens of sinks."""
        return {
            "positions": {feed.name: feed.position for feed in self._feeds},
            "counts": {
                "results": self.results,
                "bad": self.options.bad.counts,
                "late": self.late_counts(),
                "lateness": self.lateness,
                "queries": self.runs.counts,
                "final": self.options.final,
            },
            "sinks": {what: str(sink) for what, sink in self.options.sinks.items()},
        }

    def _committed(self, commit: Commit) -> None:
        """A commit is over. Tell the sources what nobody goes back to: with checkpoints that is what the one before the
        last has, since the last may be damaged."""
        if commit.number is not None:
            self.meter.checkpoint(commit.seconds)
            self._engine.log.tell("checkpoint", number=commit.number, seconds=commit.seconds)
            self.showing.keep()
        now = {name: position["at"] for name, position in commit.state["positions"].items()}
        released = now if commit.last or commit.number is None else self._kept
        for feed in self._feeds:
            before = released.get(feed.name)
            if before is not None:
                feed.source.committed(before)
        self._kept = now

    def _finished(self, manifest: Manifest) -> Outcome:
        """The run of this checkpoint had ended: only what its sinks may not have done yet is left to do."""
        for what, sink in self.options.sinks.items():
            sink.commit(manifest.tokens[what])
            sink.close()
        assert self._resumed is not None
        return finished(manifest, self._resumed)

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
            collected=self._collected() if self.options.collects else None,
            counts=dict.fromkeys(self.several.queries if self.several else (), 0) | self.runs.counts,
            resumed=self._resumed,
            groups=None if self._groups is None else self._groups.tables,
        )

    def _collected(self) -> dict[str, pa.Table]:
        """The results that no sink takes."""
        sinks: Mapping[str, Any] = self.options.results
        return {what: sink.to_arrow() for what, sink in sinks.items()}
