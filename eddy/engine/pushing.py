"""What a push does: by the short way or the long one its rows come in, batch by batch, and its results go out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from eddy.checks import whole
from eddy.engine.batch import process
from eddy.engine.doors import check_ready
from eddy.engine.drawing import Drawing, draw, hand_over, leave
from eddy.errors import BatchError
from eddy.intake.intake import Arrivals
from eddy.results.result import Result
from eddy.signals import DeferredSignals

if TYPE_CHECKING:
    from eddy.state import EngineState


def push(state: EngineState, batches: Mapping[str, Any], max_rows: int | None) -> Result | Iterator[Result]:
    """Rows of some streams arrive; returns the results they bring, as an iterator of parts if ``max_rows`` is given.

    Signals wait for the end of the batch: of what kernels take in at once, or of the one at hand where a push is cut.
    What their handlers raise then ends the push, and `pending` has its results and does what is left of it.
    """
    signals = state.access.enter()
    try:
        if state.reorder is None:
            given = push_in_order(state, batches, max_rows, signals)
        else:
            from eddy.engine.passing import push_unordered  # which uses this module

            given = push_unordered(state, state.reorder, batches, max_rows, signals)
    except BaseException as error:
        if isinstance(error, BatchError):
            _refused(state, batches)
        leave(state, signals)
        raise
    returned: Result | Iterator[Result] = hand_over(state, signals, given)
    return returned


def _refused(state: EngineState, batches: Mapping[str, Any]) -> None:
    """Count the rows of a push that was refused. What is no batch has none."""
    for name, batch in batches.items():
        columns = batch.values() if isinstance(batch, Mapping) else (batch,)
        with contextlib.suppress(TypeError):
            state.refused[name] = state.refused.get(name, 0) + max(map(len, columns), default=0)


def push_in_order(
    state: EngineState,
    batches: Mapping[str, Any],
    max_rows: int | None,
    signals: DeferredSignals | None = None,
) -> Result | Iterator[Result]:
    """The same for a caller who has entered, and whose rows are in order of time where a window uses time."""
    access = state.access
    if max_rows is not None:
        max_rows = whole("max_rows", max_rows)
    elif (
        state.fast_path is not None
        and state.broken is None
        and state.drawing is None
        and not state.faults.waiting
    ):
        access.take()
        try:
            taken = state.fast_path.push(batches)
        finally:
            access.give()
        if taken is not None:
            parts, rest = taken
            if rest is None:
                return _whole(state, parts)
            state.intake.accept(rest)
            return _pieces(state, parts, rest.cut(state.batch_length), signals)
    state.executor.rouse()
    prepare(state)
    arrivals = state.intake.admit(batches)
    if signals is not None:
        signals.handle()  # nothing has been taken in yet
    return take(state, arrivals, max_rows, signals)


def prepare(state: EngineState) -> None:
    """Before batches are admitted: forget strings that nobody needs."""
    check_ready(state, "push more")
    if (
        state.pool.wants_sweep and not state.shares_strings
    ):  # before the batch is encoded: its codes are in no payload yet
        state.access.take()
        try:
            in_use = [codes for stream in state.streams for codes in stream.payload.codes_in_use()]
            in_use += state.row_numbers.codes_in_use()
            state.pool.sweep((*in_use, *state.output.codes_in_use(), *state.changes.codes_in_use()))
        finally:
            state.access.give()


def take(
    state: EngineState, arrivals: Arrivals, max_rows: int | None, signals: DeferredSignals | None = None
) -> Result | Iterator[Result]:
    """Process what has been admitted; before that the plan may change."""
    state.faults.tell()
    state.access.take()
    try:
        state.steering.decide()
        fits = len(arrivals.streams) <= state.batch_length(max_rows is None or state.output.signed)
        state.recent.begin(*state.kept_from())
        state.intake.accept(arrivals)
        if max_rows is not None:
            if not fits:  # it is read after this call, when the caller may use his arrays again
                arrivals = arrivals.copied()
            source = draw(state, arrivals, max_rows)
            next(source)
            state.drawing = Drawing(state, source)
            return state.drawing
        if fits:
            return and_released(state, process(state, arrivals))
    finally:
        state.access.give()
    return _pieces(state, [], arrivals.cut(state.batch_length), signals)


def _pieces(
    state: EngineState, parts: list[Result], pieces: Iterator[Arrivals], signals: DeferredSignals | None
) -> Result | Iterator[Result]:
    """Process what is left of a push, after ``parts`` of its results; between two pieces the plan may change."""
    try:
        for piece in pieces:
            parts.append(_piece(state, piece, bool(parts)))
            if signals is not None and signals.noted:
                left = [later.copied() for later in pieces]
                state.drawing = Drawing(state, _rest(state, left), parts, interrupted=True)
                return state.drawing
    except BaseException as error:  # some of the push was taken in, and the rest is gone
        state.broken = state.broken or error
        raise
    return _whole(state, parts)


def _whole(state: EngineState, parts: list[Result]) -> Result:
    """The results of a push, of which these are the parts."""
    return parts[0] if len(parts) == 1 else state.recent.give(Result.concat(parts))


def _piece(state: EngineState, piece: Arrivals, between: bool) -> Result:
    """Process a batch of several that make one push; ``between``: it is not the first."""
    state.access.take()
    try:
        if between:
            state.steering.decide(between=True)
        part = process(state, piece)
        if not state.output.signed:
            part.contents.rows()  # the next piece uses the ring again
        return and_released(state, part)
    finally:
        state.access.give()


def _rest(state: EngineState, pieces: list[Arrivals]) -> Iterator[Result]:
    """The results of what is left of a push."""
    for piece in pieces:
        state.steering.decide(between=True)
        part = process(state, piece)
        if not state.output.signed:
            part.contents.rows()
        yield and_released(state, part)


def and_released(state: EngineState, result: Result) -> Result:
    """A result and, after it, what need not be held any longer."""
    released = state.changes.released()
    if not released:
        return result
    state.results += sum(len(part) for part in released)
    return state.recent.give(Result.concat([result, *released] if len(result) else released))
