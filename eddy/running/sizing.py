"""How many rows are read for a batch, so that their results are there in time: the largest batch that is quick enough.

Sources are read in small pieces, and a batch is as many of these as fit. After each batch it is known how long it took;
if that was nearly too long, the next has fewer rows, in proportion; if it was less than half, up to twice as many.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from attrs import define, field

PIECE = 128
"""Rows of a piece, about: the least that a batch may have."""
MOST = 1 << 17
"""Rows of a batch, at most, where nobody says."""
AIM = 0.6
"""The part of the time that a batch is to take: so much less than all of it that most are not late by chance."""
LOW, HIGH = 0.4, 0.8
"""Between these parts of the time a batch stays as large as it is."""
GATHER = 0.2
"""The part of the time in which pieces are gathered for a batch."""


@define(eq=False)
class Sizing:
    """The size of batches, of one source."""

    target: float
    """Seconds from the reading of a row to the writing of its results, at most."""
    most: int = MOST
    rows: int = field(init=False)
    clock: Callable[[], float] = time.perf_counter

    @rows.default
    def _least(self) -> int:
        return min(PIECE, self.most)

    @property
    def piece(self) -> int:
        """Rows of a piece."""
        return min(PIECE, self.most)

    def wants(self, rows: int, since: float) -> bool:
        """Whether a batch of so many rows, the first of which were read at this time, is to have more."""
        return rows + self.piece <= self.rows and self.clock() - since < GATHER * self.target

    def took(self, seconds: float, rows: int) -> None:
        """A batch, in which each source had at most so many rows, took so long."""
        if seconds > HIGH * self.target:
            self._become(self.rows * max(0.125, AIM * self.target / seconds))
        elif (
            seconds < LOW * self.target and 2 * rows >= self.rows
        ):  # a smaller batch says little of a larger one
            self._become(self.rows * min(2.0, AIM * self.target / max(seconds, 1e-9)))

    def _become(self, rows: float) -> None:
        self.rows = max(self.piece, min(int(rows), self.most))
