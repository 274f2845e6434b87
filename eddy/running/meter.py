"""What a run measures of itself: how long batches and checkpoints take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import define, field

from eddy.engine.eddy import Eddy
from eddy.monitoring.export import Metrics
from eddy.monitoring.histogram import Histogram
from eddy.monitoring.readings import Readings, Value
from eddy.running.feeds import BEFORE, Feed
from eddy.running.shared import SharedEngine
from eddy.running.sizing import Sizing
from eddy.values.types import UNITS

if TYPE_CHECKING:
    from eddy.running.loop import Loop


@define(eq=False)
class Meter:
    """Measures batches, where somebody wants to know: metrics, or who sizes batches."""

    sizing: Sizing | None = None
    clock: Callable[[], float] = time.perf_counter
    batches: Histogram = field(factory=Histogram)
    checkpoints: int = 0
    checkpoint_seconds: float = 0.0
    metrics: Metrics | None = None

    def batch(self, feeds: Sequence[Feed]) -> None:
        """The results of what these have read were written."""
        if self.sizing is None and self.metrics is None:
            return
        read = [feed for feed in feeds if feed.read_at is not None]
        if not read:
            return
        seconds = self.clock() - min(feed.read_at or 0.0 for feed in read)
        self.batches.observe(seconds)
        if self.sizing is not None:
            self.sizing.took(seconds, max(feed.read_rows for feed in read))
        for tell in self.metrics.record if self.metrics is not None else ():
            tell(seconds)
        for feed in read:
            feed.read_at, feed.read_rows = None, 0

    def checkpoint(self, seconds: float) -> None:
        """One was written."""
        self.checkpoints += 1
        self.checkpoint_seconds += seconds

    def serve(self, to: Any) -> None:
        """Let others ask for metrics; until there is something to `watch` there are none."""
        self.metrics = Metrics(Readings(None))
        try:
            for where in to if isinstance(to, (list, tuple)) else (to,):
                self.metrics.to(where)
        except BaseException:
            self.close()
            raise

    def watch(self, engine: Eddy | SharedEngine, loop: Loop, feeds: Sequence[Feed]) -> None:
        """Metrics are those of this run."""
        if self.metrics is not None:
            readings = self.metrics.readings
            readings.more = lambda: self.values(loop, feeds)
            readings.engine = engine.engine if isinstance(engine, SharedEngine) else engine

    def finish(self) -> None:
        """The run is over: its last metrics are kept for OpenTelemetry, which may ask later."""
        if self.metrics is not None:
            self.metrics.readings.finish()

    def close(self) -> None:
        """Nobody is answered any more."""
        if self.metrics is not None:
            self.metrics.close()

    @property
    def url(self) -> str | None:
        """Where Prometheus is answered, if it is."""
        return None if self.metrics is None else self.metrics.url

    def values(self, loop: Loop, feeds: Iterable[Feed]) -> Mapping[str, Mapping[str, Value]]:
        """What a run knows beyond its engine; of rows and results those before a restart, too."""
        unit = loop.query.time_unit
        second = 1 if unit is None else UNITS[unit]
        newest = {feed.name: feed.newest for feed in feeds if feed.newest != BEFORE}
        furthest = max(newest.values(), default=0)
        bad = loop.options.bad.counts
        found: dict[str, Mapping[str, Value]] = {
            "eddy_rows_total": {feed.name: feed.rows for feed in feeds},
            "eddy_results_total": {"": loop.results},
            "eddy_newest_event_time_seconds": {name: time / second for name, time in newest.items()},
            "eddy_lag_seconds": {name: (furthest - time) / second for name, time in newest.items()},
            "eddy_dead_letters_total": {feed.name: bad.get(feed.name, 0) for feed in feeds},
            "eddy_checkpoints_total": {"": self.checkpoints},
            "eddy_checkpoint_seconds_total": {"": self.checkpoint_seconds},
            "eddy_batch_latency_seconds": {"": self.batches},
        }
        if loop.several is not None:
            found["eddy_query_results_total"] = dict(loop.runs.counts)
        return found
