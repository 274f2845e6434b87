"""Rows that nobody will ever ask for: what they lack is not in a static relation, and that is loaded.

They are in no result, whatever the plan, and wait for nothing. They only have to be told, while they are in their
windows, from rows that a filter has ruled out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eddy.feedback.blacklist import Rows
from eddy.feedback.unit import Unit

Numbers = NDArray[np.int32]


class Dropped:
    """The rows that were dropped, by stream. (Composites are just not stored.)"""

    def __init__(self) -> None:
        self._rows: dict[int, list[Numbers]] = {}

    def add(self, unit: Unit, rows: Rows) -> None:
        """Entries of a node are dropped."""
        if unit.state is not None and len(rows):
            self._rows.setdefault(unit.streams[0], []).append(rows[:, 0].copy())

    def live(self, stream: int, mark: np.int32) -> Numbers:
        """The rows of a stream from the mark on."""
        rows = np.concatenate((np.empty(0, np.int32), *self._rows.get(stream, ())))
        return rows[rows - mark >= 0]

    def review(self, marks: NDArray[np.int32]) -> None:
        """Now and then: forget those that have left their windows."""
        self._rows = {stream: [self.live(stream, marks[stream])] for stream in self._rows}
