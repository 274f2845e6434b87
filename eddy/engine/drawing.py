"""Drawing the results of a push in parts: no more of them are built at a time than the caller takes."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from eddy.engine.batch import process
from eddy.intake.intake import Arrivals
from eddy.results.contents import Contents
from eddy.results.result import Result
from eddy.signals import DeferredSignals

if TYPE_CHECKING:
    from eddy.state import EngineState


class Drawing(Iterator[Result]):
    """The results of a push that are still to be drawn: its rows are processed as they are.

    ``source`` makes results, ``ready`` are those that it has made already. A push that was ``interrupted`` is one whose
    caller has got none of them.
    """

    def __init__(
        self,
        state: EngineState,
        source: Iterator[Result],
        ready: Sequence[Result] = (),
        interrupted: bool = False,
    ) -> None:
        self._state, self._source = state, source
        self._ready = deque(ready)
        self.interrupted = interrupted
        self.closing = False
        """Whether somebody has given up the results; a drawing that is merely forgotten processes nothing."""

    def __next__(self) -> Result:
        state = self._state
        signals, part = state.access.enter(), None
        try:
            if not self._ready:
                self._draw()
            if self._ready:
                part = self._ready.popleft()
        except BaseException:
            leave(state, signals)
            raise
        try:
            leave(state, signals)
        except BaseException:  # of a handler: the result is not lost
            if part is not None:
                self._ready.appendleft(part)
            raise
        if part is None:
            raise StopIteration
        return part

    def _draw(self) -> None:
        """Let the source make a result; the engine has nothing pending any more if there is none."""
        state = self._state
        state.access.take()
        try:
            self._ready.append(next(self._source))
        except BaseException as error:
            if state.drawing is self:
                state.drawing = None
            if not isinstance(error, StopIteration):
                raise
        finally:
            state.access.give()

    def complete(self) -> None:
        """Process all rows that are left, and keep the results; for who holds the engine."""
        self._ready.extend(self._source)

    def whole(self) -> Result:
        """All results that are left as one, which then are drawn; for the caller of the engine."""
        state = self._state
        state.access.take()
        try:
            self.complete()
            if state.drawing is not self or not self._ready:  # a handler has drawn them
                return state.output.nothing(state.fetch)
            state.drawing = None
            return state.recent.give(Result.concat(list(self._ready)))
        finally:
            state.access.give()

    def close(self) -> None:
        """Give up the results that are left, but no row: those are processed now."""
        access = self._state.access
        signals = access.enter()
        try:
            access.take()
            try:
                self.closing = True
                if isinstance(self._source, Generator) and not self.interrupted:
                    self._source.close()
                else:
                    self.complete()
                self._ready.clear()
                if self._state.drawing is self:
                    self._state.drawing = None
            finally:
                access.give()
        finally:
            leave(self._state, signals)


def leave(state: EngineState, signals: DeferredSignals) -> None:
    """A caller goes: handlers of signals run, which may raise something, and policies' errors are told."""
    state.access.leave(signals)
    if state.faults.untold:
        state.faults.warn()


def hand_over(state: EngineState, signals: DeferredSignals, given: Any) -> Any:
    """A caller goes with what is given to him. If handlers of signals raise something, results are in `pending`.

    Handlers may use the engine. If they raise nothing, what is left of a push that stopped for them is done.
    """
    while True:
        drawing = given if type(given) is Drawing and given.interrupted else None
        if signals.noted and isinstance(given, Result):
            drawing = state.drawing = Drawing(state, iter(()), [given], interrupted=True)
        try:
            leave(state, signals)
        except BaseException:
            if isinstance(given, Result) and state.drawing is None:  # the signal came in the very last moment
                state.drawing = Drawing(state, iter(()), [given], interrupted=True)
            raise
        if drawing is None:
            return given
        signals = state.access.enter()
        given = drawing.whole()


def draw(state: EngineState, arrivals: Arrivals, max_rows: int) -> Generator[Any, None, None]:
    """Yields nothing once, when the first rows are stored, then the results in parts.

    Closing it gives up the results of this push that are left, but never a row.
    """
    signed, primed, worked = state.output.signed, False, False
    pieces = arrivals.cut(lambda: state.batch_length(signed))
    try:
        for piece in pieces:
            if primed:
                state.steering.decide(between=True)
            worked = signed
            whole = process(state, piece, results=signed)
            if not primed:
                primed = True
                yield None
            if signed:  # withdrawals are found for a batch at a time
                whole.contents.materialise()
                yield from whole.pieces(max_rows)
                continue
            made = 0
            for result in _parts(state, max_rows):
                made += len(result)
                state.results += len(result)
                state.recent.give(result)
                result.contents.rows()  # the next part uses the ring again
                yield result
            state.changes.work(made)
            worked = True
            yield from _released(state, max_rows)
    except GeneratorExit:
        if state.drawing is not None and state.drawing.closing:
            _store(state, pieces, worked)
        raise
    except BaseException as error:
        state.broken = error
        raise


def _parts(state: EngineState, max_rows: int) -> Iterator[Result]:
    """The results of a batch that was processed without them, in parts."""
    for count, rows in state.executor.drawn(max_rows, state.recent.ring):
        yield Result(Contents(state.query, count, rows, state.fetch, None, state.output.number))


def _released(state: EngineState, max_rows: int) -> Iterator[Result]:
    """Results of earlier pushes that need not be held any longer; what is not drawn is not lost."""
    left = [part for result in state.changes.released() for part in result.pieces(max_rows)]
    try:
        while left:
            part = left.pop(0)
            state.results += len(part)
            yield part
    finally:
        state.changes.keep(left)


def _store(state: EngineState, pieces: Iterator[Arrivals], worked: bool) -> None:
    """Process what is left of a push whose results nobody wants."""
    try:
        if not worked:
            state.changes.work(0)
        for piece in pieces:
            process(state, piece, results=state.output.signed)
            if not state.output.signed:
                state.changes.work(0)
    except BaseException as error:
        state.broken = error
        raise
