"""Presence by bands: is there a row of a stream that predicates may accept for a row that waits?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eddy.feedback.blacklist import Blacklist, Rows
from eddy.feedback.presence import Presence
from eddy.feedback.suppression import rows_of
from eddy.query.residual import Residual
from eddy.store.stream import StreamState
from eddy.tracks.bands import Bands
from stairs import SortedIndex
from stairs.feedback import visit_layout as layout
from stairs.hole_kernels import unlink


class Banded(Presence):
    """By the bands that predicates between two streams imply, in a sorted index of the rows that are waited for.

    ``waiting`` and ``stream`` are the numbers of the streams. Rows that wait themselves count as if they were there:
    then another need not be told when they come back. Where very many rows lie in a band one is taken to be there.
    """

    by = layout.BANDED

    def __init__(
        self, residuals: Sequence[Residual], waiting: int, stream: int, states: list[StreamState]
    ) -> None:
        super().__init__(states[stream].base)
        self._waiting, self._width = waiting, len(states)
        self._bands = Bands(residuals, stream, states)
        self._order: NDArray[np.int64] = np.arange(self._bands.count)
        self.text = " AND ".join(residual.text for residual in residuals)

    def find(
        self, rows: NDArray[np.int32], newest: NDArray[np.int64], marks: NDArray[np.int32], new: bool = False
    ) -> NDArray[np.bool_]:
        """Whether there is something for each of these rows: of all that is live at the ``marks``, or, if ``new``, of
        what has come with the batch. ``newest`` are the next rows of all streams."""
        state = self._bands.state
        measures, first = state.measures, int(self._bands.lines[0])
        low = int(_rows(marks[state.number : state.number + 1], newest[state.number])[0])
        if new:
            came = np.arange(self.stair.base, self.stair.tail)
            index = SortedIndex(self.stair.base)
            index.insert(measures.take(first, came), came)
        else:
            index = measures.index(first, self.stair.low)
        mine = np.zeros((len(rows), self._width), np.int64)
        mine[:, self._waiting] = _rows(rows, newest[self._waiting])
        found = np.empty(len(rows), np.uint8)
        index.some(low, measures.table, self._bands.lines, self._order, self._bands.ranges(mine), found)
        return found.view(np.bool_)

    def wake(self, waiting: Blacklist, newest: NDArray[np.int64], marks: NDArray[np.int32]) -> Rows:
        """Take the rows out of a blacklist for which something has come with the batch."""
        ids = np.arange(waiting.low, waiting.tail)[waiting.linked(waiting.low, waiting.tail)]
        rows = rows_of(waiting, ids)
        live = rows[:, 0] - marks[self._waiting] >= 0
        woken = live & self.find(rows[:, 0], newest, marks, new=True)
        chosen = np.zeros(waiting.tail - waiting.low, np.uint8)
        chosen[ids[woken] - waiting.low] = 1
        unlink(waiting.state, waiting.low, chosen)
        waiting.waiting -= int(np.count_nonzero(woken))
        return rows[woken]


def _rows(rows: NDArray[np.int32], newest: np.int64) -> NDArray[np.int64]:
    """Rows of which the low 32 bits are known, and the next row of their stream."""
    behind: NDArray[np.int64] = (newest.astype(np.int32) - rows).astype(np.uint32).astype(np.int64)
    return newest - behind
