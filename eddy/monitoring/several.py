"""What an engine of several queries tells: its streams once, and of each core under the name that it goes by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eddy.monitoring.streams import of_streams
from eddy.several.shared_eddy import SharedEddy

if TYPE_CHECKING:
    from eddy.monitoring.readings import Value, Values


def of_several(engine: SharedEddy) -> Values:
    """Its metrics. Times that are whole numbers count seconds."""
    told = engine.overall()
    cores = {core.called: core.engine.statistics() for core in engine.cores_with_queries()}
    feedback = {name: one.feedback for name, one in cores.items() if one.feedback is not None}
    composites = sum(stair.bytes for one in cores.values() for stair in one.stairs)
    suspended = sum(one.bytes for one in feedback.values())
    parts: dict[str, Value] = {f"stream {stream.name}": stream.bytes for stream in told.streams}
    rest = told.bytes - composites - suspended - sum(stream.bytes for stream in told.streams)
    values = of_streams(told.streams, told.time_unit)
    values["eddy_plan_changes_total"] = {"": told.migrations}
    values["eddy_suspended_rows"] = {"": sum(one.waiting for one in feedback.values())}
    values["eddy_memory_bytes"] = {
        **parts,
        "composites": composites,
        "feedback": suspended,
        "other": max(0, rest),
    }
    values["eddy_core_plan_changes_total"] = {name: one.migrations for name, one in cores.items()}
    values["eddy_core_results_total"] = {name: one.results for name, one in cores.items()}
    if told.memory is not None:
        values["eddy_memory_budget_bytes"] = {"": told.memory}
    return values
