"""Tells how a run goes on: to a function, and to the log, a few times a second."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

from attrs import define

from eddy.engine.eddy import Eddy
from eddy.running.feeds import BEFORE, Feed
from eddy.running.options import Options
from eddy.running.outcome import Progress
from eddy.values.instants import format_instant

PERIOD = 0.25
"""Seconds between two looks."""
LOG = logging.getLogger("eddy.run")
LOG.addHandler(logging.NullHandler())  # who wants to read it says so


@define(eq=False)
class Teller:
    """Looks at a run now and then."""

    engine: Eddy
    feeds: Sequence[Feed]
    options: Options
    began: float
    before: int
    _next: float = 0.0
    _plan: str | None = None
    _bad: int = 0
    _sizes: Any = None

    def tell(self, results: int, checkpoints: int, ended: bool = False) -> None:
        """Look, if it is time, or the run has ended."""
        now = time.monotonic()
        if now < self._next and not ended:
            return
        self._next = now + PERIOD
        self._log()
        if self.options.on_progress is not None:
            self.options.on_progress(self._progress(now, results, checkpoints, ended))

    def _log(self) -> None:
        """What has happened since the last look."""
        plan = self.engine.plan
        if self._plan is not None and plan != self._plan:
            LOG.info(
                "plan changed from %s to %s",
                self._plan,
                plan,
                extra={"event": "plan changed", "former": self._plan, "plan": plan},
            )
        self._plan = plan
        bad = self.options.bad.total
        if bad > self._bad:
            told = {"event": "dead letters", "rows": bad - self._bad, "first": self.options.bad.first[:1]}
            LOG.warning("%d rows are left out", bad - self._bad, extra=told)
        self._bad = bad

    def _progress(self, now: float, results: int, checkpoints: int, ended: bool) -> Progress:
        statistics, query = self.engine.statistics(), self.engine.query
        unit = query.time_unit
        times = {feed.name: feed.newest for feed in self.feeds if feed.newest != BEFORE}
        furthest = max(times.values(), default=0)
        return Progress(
            seconds=now - self.began,
            rows={feed.name: feed.rows for feed in self.feeds},
            results=results,
            bad=dict(self.options.bad.counts),
            late={stream.name: stream.late for stream in statistics.streams if stream.late},
            newest={n: str(t) if unit is None else format_instant(t, unit, None) for n, t in times.items()},
            waiting={stream.name: stream.waiting for stream in statistics.streams},
            behind={name: furthest - time for name, time in times.items()},
            plan=self.engine.plan,
            changes=statistics.migrations,
            bytes=statistics.bytes,
            checkpoints=checkpoints,
            done=self._done(),
            ended=ended,
        )

    def _done(self) -> float | None:
        """How much of the sources was read, where all of them know how much there is."""
        if self._sizes is None:
            self._sizes = [feed.source.size() for feed in self.feeds]
        if any(size is None for size in self._sizes):
            return None
        found = [feed.source.reached(feed.at) if feed.at is not None else 0 for feed in self.feeds]
        if any(part is None for part in found):
            return None
        return min(1.0, sum(part or 0 for part in found) / (sum(self._sizes) or 1))
