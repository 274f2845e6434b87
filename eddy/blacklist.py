"""A blacklist: rows, or composites, that wait for a partner, each under the key of the partner."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stairs import Ring, Stair
from stairs.holes import Keys
from stairs.layout import BASE, FIRST_AGE, LAST_AGE, LOW, TAIL
from stairs.ring import power_of_two
from stairs.waiting_kernels import list_live, put_by, wake_by, wake_for

Rows = NDArray[np.int32]
"""The low 32 bits of row numbers, a column for each stream."""

BLOCK = 128
"""Keys that are looked up together."""


class Blacklist(Stair):
    """A STAIR of what waits: dead entries go by themselves, as in any other, and rows alike in key share a chain."""

    def __init__(self, name: str, streams: tuple[int, ...]) -> None:
        super().__init__(name, streams, 1, composite=True)
        self.waiting = 0
        """Entries that wait; some of them may be dead."""
        self._keys = np.empty(BLOCK, np.int64)

    def suspend(
        self, rows: Rows, recipe: NDArray[np.int64], flags: NDArray[np.uint8], lacking: int, count: int
    ) -> None:
        """Let the entries wait, so many of them, that are flagged as lacking something; their flags are cleared."""
        wanted = self.tail - self.low + count
        if wanted > self.capacity:
            self.resize(power_of_two(wanted))
        put_by(self.state, recipe, rows, flags, lacking)
        self.waiting += count

    def wake(self, keys: Keys, marks: NDArray[np.int32]) -> Rows:
        """The live rows that have waited for one of these keys; they do not wait any longer."""
        out = np.empty((self.waiting, self.components), np.int32)
        return self._woken(out, wake_by(self.state, self.streams, marks, keys, out))

    def wake_for(self, ring: Ring, recipe: NDArray[np.int64], marks: NDArray[np.int32]) -> Rows:
        """The same for the keys, by a recipe, of what this batch has put into a ring."""
        out = np.empty((self.waiting, self.components), np.int32)
        return self._woken(
            out, wake_for(self.state, self.streams, marks, ring.state, recipe, self._keys, out)
        )

    def wake_all(self, marks: NDArray[np.int32]) -> Rows:
        """All live rows that wait."""
        found = self.rows(marks)
        self.waiting = 0
        self._forget_if_empty()
        return found

    def wake_some(self, marks: NDArray[np.int32], count: int) -> Rows:
        """Of the live rows that wait, those that are among so many of the oldest entries."""
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

    def _woken(self, out: Rows, found: int) -> Rows:
        self.waiting -= found
        self._forget_if_empty()
        return out[:found]

    def begun(self) -> None:
        """A batch has begun: what is dead may have gone."""
        self.waiting = min(self.waiting, self.tail - self.low)

    def _forget_if_empty(self) -> None:
        if self.waiting == 0 and self.low < self.tail:
            meta = self.state[3]
            meta[LOW] = meta[BASE] = meta[TAIL]
            meta[FIRST_AGE] = meta[LAST_AGE]
