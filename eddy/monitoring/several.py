"""What an engine of several queries tells: its streams once, and each plan by the first of its queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eddy.several.shared_eddy import SharedEddy
from eddy.values.types import UNITS

if TYPE_CHECKING:
    from eddy.monitoring.readings import Values


def of_several(engine: SharedEddy) -> Values:
    """Its metrics. Times that are whole numbers count seconds."""
    told = engine.overall()
    second = 1 if told.time_unit is None else UNITS[told.time_unit]
    streams = told.streams
    cores = {names[0]: engine.statistics(names[0]) for names in engine.cores}
    feedback = {name: one.feedback for name, one in cores.items() if one.feedback is not None}
    parts: dict[str, Any] = {f"stream {stream.name}": stream.bytes for stream in streams}
    parts["composites"] = sum(stair.bytes for one in cores.values() for stair in one.stairs)
    parts["feedback"] = sum(one.bytes for one in feedback.values())
    parts["other"] = max(0, told.bytes - sum(parts.values()))
    by_stream: dict[str, dict[str, Any]] = {
        "eddy_rows_total": {stream.name: stream.rows for stream in streams},
        "eddy_live_rows": {stream.name: stream.live for stream in streams},
        "eddy_waiting_rows": {stream.name: stream.waiting for stream in streams},
        "eddy_late_rows_total": {stream.name: stream.late for stream in streams},
        "eddy_newest_event_time_seconds": {
            s.name: s.newest / second for s in streams if s.newest is not None
        },
        "eddy_lag_seconds": {s.name: s.lag / second for s in streams if s.lag is not None},
        "eddy_watermark_seconds": {s.name: s.watermark / second for s in streams if s.watermark is not None},
    }
    values: Values = {name: dict(found) for name, found in by_stream.items()}
    values["eddy_plan_changes_total"] = {"": told.migrations}
    values["eddy_suspended_rows"] = {"": sum(one.waiting for one in feedback.values())}
    values["eddy_memory_bytes"] = parts
    values["eddy_core_plan_changes_total"] = {name: one.migrations for name, one in cores.items()}
    values["eddy_core_results_total"] = {name: one.results for name, one in cores.items()}
    if told.memory is not None:
        values["eddy_memory_budget_bytes"] = {"": told.memory}
    return values
