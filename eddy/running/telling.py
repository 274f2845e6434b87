"""Tells how a run goes on: to a function, and to the log, a few times a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import define, field

from eddy.engine.eddy import Eddy
from eddy.reorder.watermark import LAST
from eddy.running.feeds import BEFORE, Feed
from eddy.running.options import Options
from eddy.running.outcome import Progress, Resumed
from eddy.running.shared import SharedEngine
from eddy.values.durations import lag_text, nanoseconds
from eddy.values.instants import format_instant

PERIOD = 0.25
"""Seconds between two looks."""
SILENT = 10.0
"""Seconds after which a source counts as idle, where nobody says."""
READING, IDLE, AWAITED, ENDED = "reading", "idle", "not there yet", "ended"
"""What a source may be doing."""


@define(eq=False)
class Teller:
    """Looks at a run now and then."""

    engine: Eddy | SharedEngine
    feeds: Sequence[Feed]
    options: Options
    began: float
    before: int
    urls: Mapping[str, str | None]
    """Where metrics and the live page are."""
    resumed: Resumed | None = None
    clock: Callable[[], float] = time.monotonic
    _next: float = 0.0
    _bad: dict[str, int] = field(factory=dict)
    _states: dict[str, str] = field(init=False)
    _sizes: Any = None

    @_states.default
    def _at_first(self) -> dict[str, str]:
        return {feed.name: READING if feed.source.there() else AWAITED for feed in self.feeds}

    def tell(self, results: int, checkpoints: int, ended: bool = False) -> None:
        """Look, if it is time, or the run has ended."""
        now = self.clock()
        if now < self._next and not ended:
            return
        self._next = now + PERIOD
        for feed in self.feeds:
            self._look(feed)
        self._log(ended)
        if self.options.on_progress is not None:
            self.options.on_progress(self._progress(now, results, checkpoints, ended))

    def _look(self, feed: Feed) -> None:
        """What a source is doing, and whether it did something else before."""
        former, silence = self._states[feed.name], feed.silence
        if feed.ended:
            state = ENDED
        elif former == AWAITED and not feed.rows and not feed.count:
            state = AWAITED
        else:
            state = IDLE if silence > self._patience else READING
        if state == former:
            return
        self._states[feed.name] = state
        about = {"stream": feed.name, "source": str(feed.source)}
        if former == AWAITED and state != ENDED:
            self.engine.log.tell("source appeared", **about)
        elif state == IDLE:
            self.engine.log.tell("source idle", **about, seconds=silence)
        elif state == ENDED:
            self.engine.log.tell("source ended", **about, rows=feed.rows + feed.count)

    @property
    def _patience(self) -> float:
        """Seconds of silence after which a source is idle: those after which it does not count, if that is said."""
        idle = self.options.engine.get("idle")
        if idle is None:
            return SILENT
        return float(idle) if isinstance(idle, (int, float)) else nanoseconds(idle) / 1e9

    def _log(self, ended: bool) -> None:
        """What has happened since the last look."""
        log, bad = self.engine.log, self.options.bad
        for name, count in bad.counts.items():
            if count > self._bad.get(name, 0):
                first = bad.first[0] if bad.first else ""
                log.count("dead letters", name, count - self._bad.get(name, 0), first=first)
        self._bad = dict(bad.counts)
        if isinstance(self.engine, SharedEngine):  # others tell of late rows themselves
            self.engine.tell_late()
        log.flush(last=ended)

    def _progress(self, now: float, results: int, checkpoints: int, ended: bool) -> Progress:
        statistics, unit = self.engine.statistics(), self.engine.query.time_unit
        mark = statistics.watermark

        def shown(time: int) -> str:
            return str(time) if unit is None else format_instant(time, unit, None)

        times = {feed.name: feed.newest for feed in self.feeds if feed.newest != BEFORE}
        furthest = max(times.values(), default=0)
        return Progress(
            seconds=now - self.began,
            rows={feed.name: feed.rows for feed in self.feeds},
            results=results,
            bad=dict(self.options.bad.counts),
            late={stream.name: stream.late for stream in statistics.streams if stream.late},
            newest={name: shown(time) for name, time in times.items()},
            waiting={stream.name: stream.waiting for stream in statistics.streams},
            behind={name: furthest - time for name, time in times.items()},
            lag={name: lag_text(furthest - time, unit) for name, time in times.items()},
            plan=self.engine.plan,
            changes=statistics.migrations,
            bytes=statistics.bytes,
            checkpoints=checkpoints,
            done=self._done(),
            watermark=shown(mark) if mark is not None and mark < LAST else None,
            states=dict(self._states),
            memory=statistics.memory,
            **self.urls,
            ended=ended,
            resumed=self.resumed,
        )

    def _done(self) -> float | None:
        """How much of the sources was read, where all of them have an end, and know how much there is."""
        if not all(feed.source.bounded for feed in self.feeds):
            return None
        if self._sizes is None:
            self._sizes = [feed.source.size() for feed in self.feeds]
        if any(size is None for size in self._sizes):
            return None
        found = [feed.source.reached(feed.at) if feed.at is not None else 0 for feed in self.feeds]
        if any(part is None for part in found):
            return None
        return min(1.0, sum(part or 0 for part in found) / (sum(self._sizes) or 1))
