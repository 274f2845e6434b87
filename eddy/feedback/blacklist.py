"""A blacklist: rows, or composites, that wait for a partner, each under the key of the partner."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stairs import Stair
from stairs.feedback.waiting_kernels import list_live
from stairs.layout import BASE, FIRST_AGE, LAST_AGE, LOW, TAIL, WAITING
from stairs.ring import SMALLEST, power_of_two

Rows = NDArray[np.int32]
"""The low 32 bits of row numbers, a column for each stream."""


class Blacklist(Stair):
    """A STAIR of what waits: dead entries go by themselves, as in any other, and rows alike in key share a chain."""

    fullest = 0.9
    """What waits is looked at far less often than composites are."""

    def __init__(self, name: str, streams: tuple[int, ...]) -> None:
        super().__init__(name, streams, 1, composite=True)

    @property
    def waiting(self) -> int:
        """Entries that wait; some of them may be dead."""
        return int(self.meta[WAITING])

    @waiting.setter
    def waiting(self, waiting: int) -> None:
        self.meta[WAITING] = waiting

    def make_place(self, count: int) -> None:
        """Have room for ``count`` more entries."""
        wanted = self.tail - self.low + count
        if wanted > self.capacity:
            self.resize(power_of_two(wanted))

    def give_back(self) -> None:
        """Give memory back, if nothing waits: nothing is going to for some time."""
        if self.waiting == 0 and self.capacity > SMALLEST:
            self._forget_if_empty()
            self.resize(SMALLEST)

    def wake_all(self, marks: NDArray[np.int32]) -> Rows:
        """All live rows that wait; they wait no longer."""
        found = self.rows(marks)
        self.waiting = 0
        self._forget_if_empty()
        return found

    def wake_some(self, marks: NDArray[np.int32], count: int) -> Rows:
        """The live rows among the ``count`` oldest entries that wait; they wait no longer."""
        stop = min(self.tail, self.low + count)
        found = self.rows(marks, stop)
        self.meta[LOW] = stop  # an id below ends a chain
        self.waiting = min(self.waiting, self.tail - stop)
        self._forget_if_empty()
        return found

    def rows(self, marks: NDArray[np.int32], stop: int | None = None) -> Rows:
        """All live rows that wait, and go on waiting; those of entries before ``stop``."""
        stop = self.tail if stop is None else stop
        out = np.empty((stop - self.low, self.components), np.int32)
        return out[: list_live(self.state, self.streams, marks, stop, out)]

    def _forget_if_empty(self) -> None:
        if self.waiting == 0 and self.low < self.tail:
            meta = self.state[3]
            meta[LOW] = meta[BASE] = meta[TAIL]
            meta[FIRST_AGE] = meta[LAST_AGE]
