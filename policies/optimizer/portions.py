"""Work that can be done in portions, so that a long search never keeps rows waiting.

What does the work is a generator: it yields after every small piece, with about the seconds that the piece has taken on
the machine where the library was made. These are reckoned from how much there was to do, not measured: with the same
input a search is cut at the same places.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Generic, TypeVar

T = TypeVar("T")
Pieces = Generator[float, None, T]
"""Yields the seconds of each piece; what it returns is what was looked for."""

PIECE = 2e-5
"""Seconds that any piece takes, for what Python does around it."""
SET, STREAM = 4e-7, 3e-9
"""For each set of streams whose composites are reckoned, and for each stream of the query in it."""


class Portions(Generic[T]):
    """Some work: made, worked at, done.

    ``spent`` has the seconds of all pieces so far, as they were reckoned.
    """

    def __init__(self, pieces: Pieces[T]) -> None:
        self._pieces = pieces
        self._found: list[T] = []
        self.spent = 0.0

    def work(self, budget: float) -> bool:
        """Go on for about so many seconds, by a piece at the least; whether all is done now."""
        end = self.spent + budget
        while not self._found:
            try:
                self.spent += next(self._pieces)
            except StopIteration as stop:
                self._found.append(stop.value)
                break
            if self.spent >= end:
                break
        return bool(self._found)

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do."""
        return bool(self._found)

    @property
    def found(self) -> T:
        """What the work has come to; only when it is done."""
        return self._found[0]


def at_once(pieces: Pieces[T]) -> T:
    """What work comes to that is done in one go."""
    work = Portions(pieces)
    work.work(math.inf)
    return work.found


def reckoned(sets: int, streams: int) -> float:
    """Seconds of a piece in which the composites of so many sets are reckoned, in a query of so many streams."""
    return PIECE + sets * (SET + streams * STREAM)
