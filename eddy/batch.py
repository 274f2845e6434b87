"""A batch goes through the router: windows move on, its rows are stored, its results are found."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eddy.box import Batch
from eddy.census import bytes_held
from eddy.crews import is_crew
from eddy.intake import Arrivals
from eddy.result import Result

if TYPE_CHECKING:
    from eddy.engine import Eddy


def process(engine: Eddy, arrivals: Arrivals, results: bool = True) -> Result:
    """Take a batch in; returns its results, or none of them if they are drawn in another way."""
    start = time.perf_counter()
    try:
        return _route(engine, arrivals, results)
    except BaseException as error:
        engine._broken = error
        raise
    finally:
        engine._seconds += time.perf_counter() - start


def _route(engine: Eddy, arrivals: Arrivals, results: bool) -> Result:
    router, ring, numbers = engine._router, engine._handout.ring, engine._numbers
    _keep_to_budget(engine)
    lows, counts = numbers.lows.copy(), numbers.counts.copy()
    whole = engine._lowwater.counts.tolist(), engine._lowwater.lows.tolist()
    marks, first, _ = engine._lowwater.advance(arrivals.streams, arrivals.times, arrivals.given)
    engine._history.note(engine._events, *whole, arrivals, router.tracks[-1].plan)
    if not engine.query.minus and numbers.concerns(arrivals):
        arrivals, first = _thinned(engine, arrivals, marks, lows)
    router.begin(first, lows, counts, ring)
    router.foresee(arrivals.parts)
    router.store(arrivals.parts)
    router.newest = numbers.counts.copy()
    router.run(marks, ring, results)
    engine._changes.feed(lambda: Batch(arrivals.copied(), marks.copy(), lows, counts))
    engine._events += len(arrivals.streams)
    engine._batches += 1
    if not results:
        return engine._output.nothing(engine._fetch)
    emitted = engine._handout.give(engine._output.of(router, ring, engine._streams, engine._fetch))
    engine._results += len(emitted)
    engine._changes.work(len(emitted))
    return emitted


def _keep_to_budget(engine: Eddy) -> None:
    """Where memory is short, composites give way before the batch."""
    router, budget = engine._router, engine._budget
    if budget is None or engine.query.minus:
        return
    if is_crew(router):
        router.look(budget.every, budget.limit)
    else:
        budget.look(router, lambda: bytes_held(engine))


def _thinned(
    engine: Eddy, arrivals: Arrivals, marks: NDArray[np.int32], lows: NDArray[np.int64]
) -> tuple[Arrivals, NDArray[np.int32]]:
    """A batch without the rows that are ruled out; and the first live rows before it."""
    if engine._output.number is None:
        engine._output.number = engine._numbers.number
    return engine._numbers.enter(arrivals, marks, lows, engine._streams), lows.astype(np.int32)
