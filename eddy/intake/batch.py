"""A batch: rows that arrived together, and what the windows say of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import define, evolve
from numpy.typing import NDArray

from eddy.intake.intake import Arrivals, Part


@define(eq=False)
class Batch:
    """Arrivals for which the windows have moved on: everything that an executor is told of them."""

    arrivals: Arrivals
    marks: NDArray[np.int32]
    """The low-water rows at each event, by their low 32 bits: [events, streams]."""
    floor: NDArray[np.int32]
    """The low-water rows before the batch, by their low 32 bits."""
    lows: NDArray[np.int64]
    """The low-water rows before the batch."""
    counts: NDArray[np.int64]
    """The next row of each stream before the batch."""
    newest: NDArray[np.int64]
    """The next row of each stream after the batch."""

    @property
    def parts(self) -> Sequence[Part]:
        """The rows, by stream."""
        return self.arrivals.parts

    def copied(self) -> Batch:
        """The batch in arrays that nobody else writes to."""
        return evolve(self, arrivals=self.arrivals.copied(), marks=self.marks.copy())

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        arrays: list[Any] = [self.arrivals.streams, *([self.marks] if self.marks.flags.owndata else [])]
        for part in self.parts:
            arrays += [part.events, *part.keys.values(), *(column.values for column in part.columns.values())]
        return sum(array.nbytes for array in arrays)
