"""A stream from which nothing is subtracted: its live rows that no filter rejects."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from eddy.difference import alone_kernels
from eddy.difference.layout import Int32s, Int64s
from eddy.difference.rows import KeyedRows

Changes = tuple[Int64s, NDArray[np.int8], Int32s]
_ALL = np.empty(0, np.uint8)


class Alone:
    """The rows of one stream. There is no order and there are no holes."""

    order: tuple[int, ...] = ()
    complete: tuple[float, ...] = ()
    settled_all = True
    settled = holes = unsettled = 0

    def __init__(self) -> None:
        self._live: deque[Int64s] = deque()
        """The live rows that no filter rejects, ascending, in parts: those that stay are not touched again."""
        self._low = self._count = 0

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return sum(part.nbytes for part in self._live)

    def reorder(self, order: Sequence[int]) -> None:
        """There is one order."""

    def settle(self, budget: int) -> None:
        """There are no holes."""

    def results(self) -> Int64s:
        """The rows that are results now."""
        return np.concatenate((np.empty(0, np.int64), *self._live))

    def known(self) -> tuple[Int64s, Int32s, NDArray[np.bool_]]:
        """The rows, which nothing blocks."""
        rows = self.results()
        return rows, np.zeros(len(rows), np.int32), np.empty((len(rows), 0), np.bool_)

    def restore(self, lows: Sequence[int], counts: Sequence[int], rows: Mapping[int, KeyedRows]) -> None:
        """Forget all rows, and go on with this one."""
        self._live.clear()
        self._low, self._count = lows[0], counts[0]

    def step(self, streams: Int32s, marks: Int32s, rows: Mapping[int, KeyedRows]) -> Changes:
        """Process a batch, as `Difference.step` does: what leaves the window at an event, and then what came by it."""
        if not len(marks):
            return np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0, np.int32)
        low, first = self._low, self._count
        here = int(np.count_nonzero(streams >= 0))
        kept = rows[0].kept if here else None
        gone = self._gone(low + int((int(marks[-1, 0]) - low) & 0xFFFFFFFF))
        room = len(gone) + 2 * here
        found, signs, events = np.empty(room, np.int64), np.empty(room, np.int8), np.empty(room, np.int32)
        fresh = np.empty(here, np.int64)
        come, over, many = alone_kernels.step(
            streams, np.ascontiguousarray(marks[:, 0]), low, first, _ALL if kept is None else kept, kept is None,
            gone, found, signs, events, fresh,
        )  # fmt: skip
        if over < come:
            self._live.append(fresh[over:come])
        self._count += here
        return found[:many], signs[:many], events[:many]

    def _gone(self, low: int) -> Int64s:
        """Let go of the rows before this one; returns those that were results."""
        self._low = low
        gone = [np.empty(0, np.int64)]
        while self._live and self._live[0][0] < low:
            part = self._live.popleft()
            at = int(np.searchsorted(part, low))
            gone.append(part[:at])
            if at < len(part):
                self._live.appendleft(part[at:])
        return np.concatenate(gone)
