"""Rows that are held of a stream, by their numbers in the store and in the stream."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

Int64s = NDArray[np.int64]


@frozen(eq=False)
class Numbering:
    """The rows of a stream that are held, by their numbers in the store and in the stream."""

    first: int
    """The first of them in the store."""
    numbers: Int64s
    """Of each its number in the stream."""
    stop: int
    """The number in the stream of the row that is to come."""

    @property
    def is_plain(self) -> bool:
        """Whether both numbers are the same."""
        return np.array_equal(self.numbers, np.arange(self.first, self.stop))

    def in_stream(self, rows: Int64s) -> Int64s:
        """Numbers in the stream of rows by those in the store; -1 stays, and what is not held is the first that is."""
        every = np.append(self.numbers, self.stop)
        return np.where(rows < 0, -1, every[np.clip(rows - self.first, 0, len(self.numbers))])

    def in_store(self, rows: Int64s) -> Int64s:
        """The other way round. A row that is not held is the next one that is."""
        return np.where(rows < 0, -1, self.first + np.searchsorted(self.numbers, rows))
