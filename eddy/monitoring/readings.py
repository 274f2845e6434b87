"""The metrics that there are, and their values as they are now."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from attrs import define, frozen

from eddy.engine.eddy import Eddy
from eddy.monitoring.histogram import Histogram
from eddy.monitoring.several import of_several
from eddy.monitoring.streams import of_streams
from eddy.several.shared_eddy import SharedEddy

SHARE = 100
"""A reading is used again until so many times as long as it took has passed: reading costs a hundredth at most."""


@frozen
class Metric:
    """One metric. Its name is that of Prometheus: a counter ends with _total, and units are seconds, bytes and rows."""

    name: str
    kind: str
    """counter, gauge or histogram."""
    help: str
    label: str | None = None
    """What its values are told apart by; None: there is one value."""
    unit: str = ""


STREAM = "stream"
METRICS = {
    metric.name: metric
    for metric in (
        Metric("eddy_rows_total", "counter", "Rows that were taken in.", STREAM),
        Metric("eddy_results_total", "counter", "Rows of results that were given, withdrawals included."),
        Metric("eddy_live_rows", "gauge", "Rows inside the window.", STREAM),
        Metric("eddy_waiting_rows", "gauge", "Rows that wait for the watermark.", STREAM),
        Metric("eddy_suspended_rows", "gauge", "Rows that feedback lets wait for a partner."),
        Metric("eddy_late_rows_total", "counter", "Rows that came behind the watermark.", STREAM),
        Metric("eddy_refused_rows_total", "counter", "Rows of batches that were refused.", STREAM),
        Metric("eddy_newest_event_time_seconds", "gauge", "The newest event time.", STREAM, "s"),
        Metric(
            "eddy_lag_seconds",
            "gauge",
            "By how much the newest event time is behind that of the furthest stream.",
            STREAM,
            "s",
        ),
        Metric("eddy_watermark_seconds", "gauge", "The time up to which all rows are there.", STREAM, "s"),
        Metric("eddy_plan_changes_total", "counter", "Changes of the plan."),
        Metric(
            "eddy_query_results_total", "counter", "Results of each of several queries, in a run.", "query"
        ),
        Metric(
            "eddy_core_plan_changes_total",
            "counter",
            "Of several queries, changes of each plan, by the first query that had it.",
            "query",
        ),
        Metric(
            "eddy_core_results_total",
            "counter",
            "Of several queries, what each plan has joined, before its queries are told apart, by the first query.",
            "query",
        ),
        Metric("eddy_memory_bytes", "gauge", "Bytes that are held, by part.", "part", "By"),
        Metric("eddy_memory_budget_bytes", "gauge", "The memory budget, if there is one.", None, "By"),
        Metric("eddy_dead_letters_total", "counter", "Rows that were none, in a run.", STREAM),
        Metric("eddy_checkpoints_total", "counter", "Checkpoints of a run."),
        Metric("eddy_checkpoint_seconds_total", "counter", "Seconds that checkpoints took.", None, "s"),
        Metric(
            "eddy_batch_latency_seconds",
            "histogram",
            "Seconds from the reading of a batch to the writing of its results, in a run.",
            None,
            "s",
        ),
    )
}
"""All of them, by name."""

Value = float | Histogram
Values = dict[str, dict[str, Value]]
"""For each metric its values by label; by "" where it has none."""


def of_engine(engine: Eddy) -> Values:
    """What an engine tells. Times that are whole numbers count seconds."""
    statistics = engine.statistics()
    streams = statistics.streams
    parts: dict[str, Value] = {f"stream {stream.name}": stream.bytes for stream in streams}
    parts["composites"] = sum(stair.bytes for stair in statistics.stairs)
    parts["feedback"] = 0 if statistics.feedback is None else statistics.feedback.bytes
    parts["other"] = max(0, statistics.bytes - sum(part for part in parts.values() if isinstance(part, int)))
    values = of_streams(streams, engine.query.time_unit)
    values["eddy_refused_rows_total"] = {stream.name: stream.refused for stream in streams}
    values["eddy_results_total"] = {"": statistics.results}
    values["eddy_plan_changes_total"] = {"": statistics.migrations}
    values["eddy_suspended_rows"] = {"": 0 if statistics.feedback is None else statistics.feedback.waiting}
    values["eddy_memory_bytes"] = parts
    if statistics.memory is not None:
        values["eddy_memory_budget_bytes"] = {"": statistics.memory}
    return values


@define(eq=False)
class Readings:
    """Reads values for whoever asks, and so seldom that it takes a hundredth of the time at most.

    ``more`` has what a run knows beyond its engine, and takes precedence.
    """

    engine: Eddy | None
    more: Callable[[], Mapping[str, Mapping[str, Value]]] = dict
    clock: Callable[[], float] = time.perf_counter
    _values: Values | None = None
    _until: float = 0.0

    def values(self) -> Values:
        """By name. They may be a hundred times as old as it takes to read them; those of a run that is over stay."""
        start = self.clock()
        if self._values is None or start >= self._until:
            self._values = self._read()
            now = self.clock()
            self._until = now + SHARE * (now - start)
        return self._values

    def forget(self) -> None:
        """Whoever asks next gets values that are read anew."""
        self._until = 0.0

    def finish(self) -> None:
        """The run is over: what is read now stays, and the engine may go."""
        self._values = self._read()
        self.engine, self.more = None, dict

    def _read(self) -> Values:
        if self.engine is None:
            return self._values or {}
        engine = self.engine
        values = of_several(engine) if isinstance(engine, SharedEddy) else of_engine(engine)
        for name, found in self.more().items():
            values[name] = {**values.get(name, {}), **found}
        assert values.keys() <= METRICS.keys()
        return values
