"""Which rows are live: the low-water rows that a batch finds, and the next rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from eddy.store.stream import StreamState

Marks = NDArray[np.int32]
"""Low-water rows, by their low 32 bits: a line for each event, a column for each stream."""


@define(eq=False)
class Moment:
    """How things stand in the batch that is being run, or was run last."""

    floor: Marks
    """The low-water rows before the batch, in one line: rows below are dead at every event to come."""
    newest: NDArray[np.int64]
    """The next row of each stream."""
    marks: Marks = field(init=False)
    """The low-water rows at each event of the batch; until it is run, ``floor``."""
    _filling: Marks | None = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.marks = self._filling = self.floor

    def begin(self, floor: NDArray[np.int32]) -> None:
        """A batch begins, or nothing is known of the last; ``floor`` has a low-water row for each stream."""
        self.floor = self.marks = self._filling = floor.reshape(1, -1)

    def run(self, marks: Marks) -> None:
        """The batch is run now."""
        self.marks, self._filling = marks, None

    def ran(self, floor: Marks, marks: Marks, newest: NDArray[np.int64]) -> None:
        """A batch has begun and was run; ``floor`` is one line."""
        self.floor, self.marks, self.newest, self._filling = floor, marks, newest, None

    @property
    def filling(self) -> Marks:
        """``floor`` and then ``marks``: by these a composite that fills a hole was live at its latest event.

        Between two batches this serves as well.
        """
        if self._filling is None:
            self._filling = np.vstack((self.floor, self.marks))
        return self._filling


def present(streams: Sequence[StreamState]) -> Moment:
    """The moment as the leaves of these streams have it."""
    floor = np.array([[stream.base.low for stream in streams]], np.int64).astype(np.int32)
    return Moment(floor, np.array([stream.base.tail for stream in streams], np.int64))
