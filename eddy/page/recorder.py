"""What a page shows of an engine: read now and then, and remembered."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from eddy.engine.eddy import Eddy
from eddy.inspect.described import described
from eddy.page.changes import asked_for, decided, others_of
from eddy.page.history import History, Point
from eddy.page.picture import fans_of, picture_of, stairs_of
from eddy.page.plain import as_json
from eddy.reorder.watermark import LAST
from eddy.statistics import MigrationStatistics, Statistics
from eddy.steering.decisions import Decision
from eddy.values.durations import lag_text
from eddy.values.instants import format_instant

PERIOD = 0.5
"""Seconds between two readings, at least."""
SHARE = 100
"""The next reading comes after so many times as long as one took, at the earliest: it costs a hundredth."""
FANS = 10
"""Readings after which fan-outs are sampled again; a new plan has others at once."""


@define(eq=False)
class Recorder:
    """Reads an engine, and has all that a page needs of it, as JSON."""

    engine: Eddy | None
    title: str = "Eddy"
    sources: Mapping[str, str] = field(factory=dict)
    clock: Callable[[], float] = time.monotonic
    history: History = field(factory=History)
    began: float | None = None
    """When the run began, by the clock; None: now."""
    _zero: float = field(init=False)
    """The same: times are counted from it."""
    _start: float = field(init=False)
    """When it began, in seconds since 1970."""
    _first: Statistics | None = None
    _before: Statistics | None = None
    """As it was at the end of the last stretch of the history, and when that was."""
    _at: float = 0.0
    _next: float = 0.0
    _readings: int = 0
    _now: dict[str, Any] = field(factory=dict)
    _fans: list[dict[str, Any]] = field(factory=list)
    _decisions: tuple[Decision, ...] = ()
    _made: tuple[MigrationStatistics, ...] = ()
    _times: dict[tuple[int, str], float] = field(factory=dict)
    """When decisions were carried out that are still told of; the engine remembers fewer changes than decisions."""
    _others: dict[tuple[int, str], list[list[Any]]] = field(factory=dict)
    """The plans that came next, of decisions that are still told of: they do not change."""
    _streams: list[dict[str, Any]] = field(factory=list)
    _query: str = ""
    _ended: str | None = None
    version: int = 0
    """How many readings there were."""

    def __attrs_post_init__(self) -> None:
        now = self.clock()
        self._zero = now if self.began is None else self.began
        self._start = time.time() - (now - self._zero)
        assert self.engine is not None
        self._streams = _streams(self.engine, self.sources)
        self._query = "\n".join(described(self.engine.query, self.sources))

    def read(self, more: Mapping[str, Mapping[str, Any]] | None = None, now: bool = False) -> bool:
        """Read the engine, if it is time, or ``now``. ``more``: what is known of each stream beyond it, such as bad
        rows."""
        start = self.clock()
        if self.engine is None or not (now or start >= self._next):
            return False
        if now:
            self._fans = []
        self._read(start - self._zero, more or {}, now)
        took = self.clock() - start if self._readings > 1 else 0.0  # the first loads what all others need
        self._next = start + max(PERIOD, SHARE * took)
        return True

    def end(
        self, how: str, more: Mapping[str, Mapping[str, Any]] | None = None, closed: bool = False
    ) -> None:
        """The run is over: what is read now stays, and the engine may go. Of one that is ``closed`` already, only what
        its end has brought is read, since it holds no rows any more: it was read when it was about to be closed."""
        if self.engine is None:
            return
        if closed:
            self._now["t"] = self.clock() - self._zero
            self._now["results"] = self.engine.statistics().results
            self._average()
        else:
            self.read(more, now=True)
        self.engine, self._ended = None, how
        self.version += 1

    def told(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        return {
            "format": 1,
            "title": self.title,
            "start": self._start,
            "query": self._query,
            "streams": self._streams,
            "series": self.history.columns(),
            "changes": self._changes(),
            "now": self._now,
            "ended": self._ended,
            "version": self.version,
        }

    def json(self) -> str:
        """The same as a text."""
        return as_json(self.told())

    def _read(self, at: float, more: Mapping[str, Mapping[str, Any]], asked: bool) -> None:
        engine = self.engine
        assert engine is not None
        statistics = engine.statistics()
        streams = [self._stream(i, statistics, at - self._at, more) for i in range(len(statistics.streams))]
        self._remember(at, statistics, asked)
        self._decisions, self._made = engine.decisions, statistics.history
        times = self._times | {(one.begun, one.plan): one.begun_at - self._start for one in self._made}
        told = {(one.events, one.plan) for one in self._decisions}
        self._times = {key: at for key, at in times.items() if key in told}
        if self._readings % FANS == 0 or not self._fans or statistics.plan != self._now.get("plan"):
            self._fans = fans_of(engine, statistics)
        self._now = {
            "t": at,
            "events": statistics.events,
            "results": statistics.results,
            "plan": engine.plan,
            "changing": not statistics.complete,
            "bytes": statistics.bytes,
            "changes": statistics.migrations,
            "streams": streams,
            "picture": picture_of(engine, statistics).told(),
            "stairs": stairs_of(statistics),
            "fans": self._fans,
        }
        self._average()
        self._readings += 1
        self.version += 1

    def _remember(self, at: float, now: Statistics, asked: bool) -> None:
        """Add what went on since the last time. A reading that somebody ``asked`` for comes at any moment: it makes no
        stretch in which nothing was pushed, nor one that is much shorter than the others."""
        before, since = self._before, at - self._at
        if before is None or self._first is None:
            self._first = self._before = now  # what was before it began took a time that nobody knows
            return
        if since <= 0 or (asked and now.batches == before.batches):
            return
        point = Point(
            at,
            since,
            now.events - before.events,
            now.results - before.results,
            now.batches - before.batches,
            now.seconds - before.seconds,
            now.bytes,
        )
        (self.history.lengthen if asked and since < PERIOD / 2 else self.history.add)(point)
        self._before, self._at = now, at

    def _average(self) -> None:
        """Rows a second of the whole run: what a page says of one that is over."""
        first, spent = self._first, self._now["t"]
        if first is None or spent <= 0:
            return
        self._now["average"] = (self._now["events"] - first.events) / spent
        for told, stream in zip(self._now["streams"], first.streams, strict=True):
            told["average"] = (told["rows"] - stream.rows) / spent

    def _stream(
        self, place: int, statistics: Statistics, since: float, more: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, Any]:
        """What a line of the table of streams says."""
        assert self.engine is not None
        stream, unit = statistics.streams[place], self.engine.query.time_unit
        rows = 0 if self._before is None else stream.rows - self._before.streams[place].rows

        def moment(at: int | None) -> str | None:
            if at is None or at >= LAST:
                return None
            return str(at) if unit is None else format_instant(at, unit, None)

        return {
            "name": stream.name,
            "rows": stream.rows,
            "rate": rows / since if since > 0 else None,
            "live": stream.live,
            "waiting": stream.waiting,
            "late": stream.late,
            "refused": stream.refused,
            "newest": moment(stream.newest),
            "watermark": moment(stream.watermark),
            "lag": None if stream.lag is None else lag_text(stream.lag, unit),
            **{what: of[stream.name] for what, of in more.items() if stream.name in of},
        }

    def _changes(self) -> list[dict[str, Any]]:
        """The policy's decisions and the user's own changes, in order."""
        made = {(change.begun, change.plan): change for change in self._made}
        found, others = [], {}
        for decision in self._decisions:
            key = decision.events, decision.plan
            made.pop(key, None)
            others[key] = self._others.get(key) or others_of(decision)
            found.append(decided(decision, self._times.get(key), others[key]))
        self._others = others
        found += [asked_for(change, change.begun_at - self._start) for change in made.values()]
        return sorted(found, key=lambda change: int(change["events"]))


def _streams(engine: Eddy, sources: Mapping[str, str]) -> list[dict[str, Any]]:
    """What is declared of each stream."""
    query = engine.query
    return [
        {
            "name": name,
            "source": sources.get(name),
            "columns": {column: str(kind) for column, kind in declared.columns.items()},
            "window": "static" if declared.static else str(declared.window),
            "derived": name in query.followed,
            "lossless": str(query.allowed[name]) if name in query.allowed else None,
            "filter": str(query.filters[name]) if name in query.filters else None,
        }
        for name, declared in query.streams.items()
    ]
