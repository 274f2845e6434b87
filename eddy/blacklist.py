"""A blacklist: rows, or composites, that wait for a partner, each under the key of the partner."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stairs import Stair
from stairs.begin_kernels import AGES
from stairs.holes import Keys
from stairs.key_kernels import link
from stairs.layout import AGES_AT, BASE, FIRST_AGE, LAST_AGE, LOW, TAIL
from stairs.stair import ALL
from stairs.waiting_kernels import append_entries, list_live, take

Rows = NDArray[np.int32]
"""The low 32 bits of row numbers, a column for each stream."""


class Blacklist(Stair):
    """A STAIR of what waits: dead entries go by themselves, as in any other, and rows alike in key share a chain."""

    def __init__(self, name: str, streams: tuple[int, ...]) -> None:
        super().__init__(name, streams, 1)
        self.leaf = False
        self._ages = np.empty((AGES, 1 + len(streams)), np.int64)
        self.meta[AGES_AT] = self._ages.ctypes.data
        self.waiting = 0
        """Entries that wait; some of them may be dead."""

    def suspend(self, rows: Rows, keys: Keys) -> None:
        """Let rows wait for these keys."""
        if len(rows):
            start = self.tail
            self.reserve(len(rows))
            append_entries(self.state, np.ascontiguousarray(rows), np.ascontiguousarray(keys))
            link(self.state, start, self.tail, ALL)
            self.waiting += len(rows)

    def wake(self, keys: Keys, marks: NDArray[np.int32]) -> Rows:
        """The live rows that have waited for one of these keys; they do not wait any longer."""
        out = np.empty((self.waiting, self.components), np.int32)
        found = take(self.state, self.streams, marks, keys, out) if self.waiting else 0
        self.waiting -= found
        self._forget_if_empty()
        return out[:found]

    def wake_all(self, marks: NDArray[np.int32]) -> Rows:
        """All live rows that wait."""
        out = np.empty((self.tail - self.low, self.components), np.int32)
        found = list_live(self.state, self.streams, marks, out)
        self.waiting = 0
        self._forget_if_empty()
        return out[:found]

    def rows(self, marks: NDArray[np.int32]) -> Rows:
        """All live rows that wait, and go on waiting."""
        out = np.empty((self.tail - self.low, self.components), np.int32)
        return out[: list_live(self.state, self.streams, marks, out)]

    def begin(self, floor: NDArray[np.int32], lows: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        super().begin(floor, lows, counts)
        if self.low == self.tail:
            self.waiting = 0

    def _forget_if_empty(self) -> None:
        if self.waiting == 0 and self.low < self.tail:
            meta = self.state[3]
            meta[LOW] = meta[BASE] = meta[TAIL]
            meta[FIRST_AGE] = meta[LAST_AGE]
