"""A batch goes through the router: windows move on, its rows are stored, its results are found."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from eddy.inspect.collect import bytes_held
from eddy.intake.intake import Arrivals
from eddy.intake.travel import WHEN
from eddy.results.result import Result
from eddy.values.types import Column

if TYPE_CHECKING:
    from eddy.state import EngineState


def process(state: EngineState, arrivals: Arrivals, results: bool = True) -> Result:
    """Take a batch in; returns its results, or none of them if they are drawn in another way."""
    start = time.perf_counter()
    try:
        return _route(state, arrivals, results)
    except BaseException as error:
        state.broken = error
        raise
    finally:
        state.seconds += time.perf_counter() - start


def _route(state: EngineState, arrivals: Arrivals, results: bool) -> Result:
    executor, lowwater = state.executor, state.lowwater
    if state.budget is not None:
        executor.keep_to(state.budget, lambda: bytes_held(state) + state.beside())
    events = len(arrivals.streams)
    if state.options.query.in_order:
        for part in arrivals.parts:
            part.columns[WHEN] = Column(state.events + part.events.astype(np.int64))
    if state.attached is not None:
        arrivals = state.attached.take_in(arrivals)
    counts, lows = lowwater.counts.tolist(), lowwater.lows.tolist()
    state.history.note(
        state.events, counts, lows, arrivals.streams, arrivals.times, executor.plan, arrivals.parts
    )
    _take_in(state, arrivals, results)
    state.events += events
    state.batches += max(1, -(-events // state.options.batch_size))
    return _emitted(state) if results else state.output.nothing(state.fetch)


def _take_in(state: EngineState, arrivals: Arrivals, results: bool) -> None:
    """Move the windows on, and let the executor and whoever runs beside it have the batch."""
    batch = state.row_numbers.move(arrivals, state.streams)
    if state.row_numbers.thin:
        state.output.call_rows(state.row_numbers.number)
    state.executor.take_in(batch, state.recent.ring, results)
    state.changes.feed(batch.copied)


def _emitted(state: EngineState) -> Result:
    """What the batch has brought."""
    ring = state.recent.ring
    emitted = state.recent.give(state.output.of(state.executor, ring, state.streams, state.fetch))
    state.results += len(emitted)
    state.changes.work(len(emitted))
    return emitted


def pass_time(state: EngineState, time_now: int) -> Result:
    """No row comes, but time goes on to ``time_now``, where a window uses time; returns what that withdraws.

    It is a batch of one event that belongs to no stream. It is not counted among the events, and has no number.
    """
    start = time.perf_counter()
    try:
        state.recent.begin(*state.kept_from())
        nobody = Arrivals(np.array([-1], np.int32), np.array([time_now], np.int64), ())
        _take_in(state, nobody if state.attached is None else state.attached.take_in(nobody), True)
        state.intake.now = time_now
        return _emitted(state)
    except BaseException as error:
        state.broken = error
        raise
    finally:
        state.seconds += time.perf_counter() - start
