"""A batch goes through the router: windows move on, its rows are stored, its results are found."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from eddy.inspect.collect import bytes_held
from eddy.intake.intake import Arrivals
from eddy.results.result import Result

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
    executor, lowwater, ring = state.executor, state.lowwater, state.recent.ring
    if state.budget is not None:
        executor.keep_to(state.budget, lambda: bytes_held(state))
    counts, lows = lowwater.counts.tolist(), lowwater.lows.tolist()
    state.history.note(
        state.events, counts, lows, arrivals.streams, arrivals.times, executor.plan, arrivals.parts
    )
    batch = state.row_numbers.move(arrivals, state.streams)
    if state.row_numbers.thin and state.output.number is None:
        state.output.number = state.row_numbers.number
    executor.take_in(batch, ring, results)
    state.changes.feed(batch.copied)
    state.events += len(arrivals.streams)
    state.batches += max(1, -(-len(arrivals.streams) // state.options.batch_size))
    if not results:
        return state.output.nothing(state.fetch)
    emitted = state.recent.give(state.output.of(executor, ring, state.streams, state.fetch))
    state.results += len(emitted)
    state.changes.work(len(emitted))
    return emitted
