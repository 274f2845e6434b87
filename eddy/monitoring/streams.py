"""The metrics of streams, which engines of one query and of several have alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from eddy.statistics import StreamStatistics
from eddy.values.types import UNITS

if TYPE_CHECKING:
    from eddy.monitoring.readings import Values


def of_streams(streams: Sequence[StreamStatistics], unit: str | None) -> Values:
    """By name and stream; ``unit``: of their times, None where these are whole numbers, which count seconds."""
    second = 1 if unit is None else UNITS[unit]
    return {
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
