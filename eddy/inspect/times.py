"""How far time has come in each stream: its newest row, how far that is behind, and its watermark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import evolve

from eddy.inspect.history import History
from eddy.reorder.buffer import ReorderBuffer
from eddy.reorder.watermark import NEVER
from eddy.statistics import StreamStatistics

if TYPE_CHECKING:
    from eddy.state import EngineState


def timed(state: EngineState, streams: Sequence[StreamStatistics]) -> tuple[StreamStatistics, ...]:
    """The streams with their times, where the engine looks at these: it puts rows in order, or a window uses time."""
    names = state.options.query.names
    newest = _seen(state.reorder) if state.reorder is not None else _processed(state)
    marks = (
        _watermarks(state.reorder) if state.reorder is not None else dict.fromkeys(newest, state.intake.now)
    )
    furthest = max(newest.values(), default=0)
    found = []
    for number, stream in enumerate(streams):
        assert stream.name == names[number]
        time = newest.get(number)
        lag = None if time is None else furthest - time
        found.append(evolve(stream, newest=time, lag=lag, watermark=marks.get(number)))
    return tuple(found)


def watermark(state: EngineState) -> int | None:
    """The time that has passed for all streams; None: nothing is known yet, or no window uses time."""
    if state.reorder is None:
        return state.intake.now
    at = state.reorder.watermarks.at
    return None if at == NEVER else at


def _seen(buffer: ReorderBuffer) -> dict[int, int]:
    return {number: time for number, time in buffer.watermarks.newest.items() if time != NEVER}


def _watermarks(buffer: ReorderBuffer) -> dict[int, int]:
    reached = buffer.watermarks.reached(buffer.disorder.bounds)
    return {number: time for number, time in reached.items() if time != NEVER}


def _processed(state: EngineState) -> dict[int, int]:
    """Of each stream the time of its last row, as far as the engine remembers it."""
    if not state.intake.time_windows:
        return {}
    static = [stream.static for stream in state.query.streams.values()]
    found = {}
    for number, count in enumerate(state.lowwater.counts.tolist()):
        if count > state.first_row and not static[number]:
            time = _time(state.history, number, count - 1)
            if time is not None:
                found[number] = time
    return found


def _time(history: History, stream: int, row: int) -> int | None:
    event = history.event_of(stream, row)
    return None if event is None else history.time(event)
