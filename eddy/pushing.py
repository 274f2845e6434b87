"""What a push does: by the short way or the long one its rows come in, batch by batch, and its results go out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from eddy.batch import process
from eddy.crews import is_crew
from eddy.doors import alone, check_ready
from eddy.drawing import draw
from eddy.intake import Arrivals
from eddy.options import whole
from eddy.result import Result

if TYPE_CHECKING:
    from eddy.engine import Eddy


@alone
def push(engine: Eddy, batches: Mapping[str, Any], max_rows: int | None) -> Result | Iterator[Result]:
    """Rows of some streams arrive; returns the results they bring, as an iterator of parts if ``max_rows`` is given."""
    if max_rows is not None:
        max_rows = whole("max_rows", max_rows)
    elif engine._broken is None and engine._drawing is None and not engine._faults.waiting:
        result = engine._express.push(batches)
        if result is not None:
            return result
    if is_crew(engine._router):
        engine._router.rouse()
    prepare(engine)
    return take(engine, engine._intake.admit(batches), max_rows)


def prepare(engine: Eddy) -> None:
    """Before batches are admitted: forget strings that nobody needs."""
    check_ready(engine, "push more")
    if engine._pool.wants_sweep:  # before the batch is encoded: its codes are in no payload yet
        in_use = [codes for stream in engine._streams for codes in stream.payload.codes_in_use()]
        in_use += engine._numbers.codes_in_use()
        engine._pool.sweep((*in_use, *engine._output.codes_in_use(), *engine._changes.codes_in_use()))


def take(engine: Eddy, arrivals: Arrivals, max_rows: int | None) -> Result | Iterator[Result]:
    """Process what has been admitted; before that the plan may change."""
    engine._faults.tell()
    engine._steering.decide()
    engine._handout.begin(engine._streams, engine._numbers.lows.tolist())
    engine._intake.accept(arrivals)
    fits = len(arrivals.streams) <= engine.batch_size
    if max_rows is not None:
        if not fits:  # it is read after this call, when the caller may use his arrays again
            arrivals = arrivals.copied()
        engine._drawing = draw(engine, arrivals, max_rows)
        next(engine._drawing)
        return cast(Iterator[Result], engine._drawing)
    if fits:
        return and_released(engine, process(engine, arrivals))
    parts = []
    for piece in arrivals.cut(engine.batch_size):
        part = process(engine, piece)
        if not engine._output.signed:
            _ = part.rows  # read now: the next piece uses the ring again
        parts.append(and_released(engine, part))
    return engine._handout.give(Result.concat(parts))


def and_released(engine: Eddy, result: Result) -> Result:
    """A result and, after it, what need not be held any longer."""
    released = engine._changes.released()
    if not released:
        return result
    engine._results += sum(len(part) for part in released)
    return engine._handout.give(Result.concat([result, *released] if len(result) else released))
