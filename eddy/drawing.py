"""Drawing the results of a push in parts: no more of them are built at a time than the caller takes."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from eddy.batch import process
from eddy.chunks import chunks
from eddy.crews import is_crew
from eddy.handout import emit
from eddy.intake import Arrivals
from eddy.result import Result

if TYPE_CHECKING:
    from eddy.engine import Eddy


def draw(engine: Eddy, arrivals: Arrivals, max_rows: int) -> Generator[Result | None, None, None]:
    """Yields nothing once, when the first rows are stored, then the results in parts.

    Closing it gives up the results of this push that are left, but never a row.
    """
    pieces = arrivals.cut(engine.batch_size)
    signed, primed, worked = engine._output.signed, False, False
    try:
        for piece in pieces:
            worked = signed
            whole = process(engine, piece, results=signed)
            if not primed:
                primed = True
                yield None
            if signed:  # withdrawals are found for a batch at a time
                yield from whole.pieces(max_rows)
                continue
            made = 0
            for result in _parts(engine, max_rows):
                made += len(result)
                engine._results += len(result)
                engine._handout.give(result)
                _ = result.rows  # read now: the next part uses the ring again
                yield result
            engine._changes.work(made)
            worked = True
            yield from _released(engine, max_rows)
    except GeneratorExit:
        _store(engine, pieces, worked)
        raise
    except BaseException as error:
        engine._broken = error
        raise
    finally:
        engine._drawing = None


def _parts(engine: Eddy, max_rows: int) -> Iterator[Result]:
    """The results of a batch that was processed without them, in parts."""
    router, ring = engine._router, engine._handout.ring
    if is_crew(router):
        yield from router.parts(max_rows, ring, engine._fetch)
    else:
        for found in chunks(router, max_rows, ring):
            yield emit(engine.query, router, found, engine._fetch, engine._output.number)


def _released(engine: Eddy, max_rows: int) -> Iterator[Result]:
    """Results of earlier pushes that need not be held any longer; what is not drawn is not lost."""
    left = [part for result in engine._changes.released() for part in result.pieces(max_rows)]
    try:
        while left:
            part = left.pop(0)
            engine._results += len(part)
            yield part
    finally:
        engine._changes.keep(left)


def _store(engine: Eddy, pieces: Iterator[Arrivals], worked: bool) -> None:
    """Process what is left of a push whose results nobody wants."""
    try:
        if not worked:
            engine._changes.work(0)
        for piece in pieces:
            process(engine, piece, results=engine._output.signed)
            if not engine._output.signed:
                engine._changes.work(0)
    except BaseException as error:
        engine._broken = error
        raise
