"""A stream from which nothing is subtracted: its live rows that no filter rejects."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from eddy.difference.layout import Int32s, Int64s
from eddy.difference.rows import KeyedRows

Changes = tuple[Int64s, NDArray[np.int8], Int32s]


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
        here = np.flatnonzero(streams >= 0)  # an event of stream -1 has no row: time goes on
        came = self._count + np.arange(len(here))
        kept = rows[0].kept if len(here) else None
        ahead = (marks[:, 0].astype(np.int64) - self._low) & 0xFFFFFFFF
        lows = self._low + ahead  # never less than the one before
        stays = lows[here] <= came
        new = np.flatnonzero(stays if kept is None else stays & (kept != 0))
        if len(new):
            self._live.append(came[new])
        gone = self._gone(int(lows[-1]) if len(lows) else self._low)
        found = np.concatenate((gone, came[new]))
        signs = np.ones(len(found), np.int8)
        signs[: len(gone)] = -1
        events = np.concatenate((np.searchsorted(lows, gone, side="right"), here[new])).astype(np.int32)
        order = np.argsort(2 * events + (signs > 0), kind="stable")
        self._count += len(here)
        return found[order], signs[order], events[order]

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
