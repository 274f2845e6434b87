"""What waits at the nodes of a plan, and letting go of it between two batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eddy.feedback.unit import Unit
from eddy.feedback.visits import Visits
from eddy.store.stream import NONE
from eddy.tracks.moment import Marks, Moment


def dissolve(units: Sequence[Unit]) -> None:
    """Suppress no pair any longer: where some are suppressed the STAIR consists of holes."""
    for unit in units:
        if unit.suppression is not None:
            unit.suppression.dissolve()


class Release:
    """Finds what waits, in blacklists or to be judged anew, and lets it come back."""

    def __init__(self, visits: Visits, moment: Moment) -> None:
        self._visits, self._moment = visits, moment

    def rows(self, unit: Unit, marks: Marks | None = None) -> NDArray[np.int32]:
        """The rows of a stream that wait and are live at the marks, or when the last batch began."""
        marks, s = self._moment.floor[0] if marks is None else marks, unit.streams[0]
        found = [edge.blacklist.rows(marks)[:, 0] for edge in unit.edges if edge.blacklist.waiting]
        pending = self._visits.pending.get(unit.streams)
        rows = np.concatenate((NONE if pending is None else pending[:, 0], *found))
        return rows[rows - marks[s] >= 0]

    def free_composites(self, units: Sequence[Unit]) -> None:
        """Let no composite wait any longer: they are stored, and joined with all that is there."""
        for unit in units:
            for edge in unit.edges if unit.stair is not None else ():
                if edge.blacklist.waiting:
                    found = edge.wake_all(self._moment.floor[0])
                    self._visits.revival.composites(unit, found, self._moment.filling)
        # Not before: to fill a hole would make a composite once more that waits.
        dissolve(units)

    def free_rows(self, units: Sequence[Unit]) -> None:
        """Let no row wait any longer."""
        for unit in units:
            if unit.state is not None:
                rows = self.rows(unit)
                self._visits.pending.pop(unit.streams, None)
                for edge in unit.edges:
                    edge.wake_all(self._moment.floor[0])
                if len(rows):
                    self._visits.revival.rows(unit, rows, self._moment.filling)

    def make_way(self, units: Sequence[Unit]) -> None:
        """A STAIR is about to get holes: no composite waits any more.

        Rows are judged anew: they could wait for what comes back now, which no batch would show them.
        """
        self.free_composites(units)
        for unit in units:
            for edge in unit.edges if unit.state is not None else ():
                if edge.blacklist.waiting:
                    self._visits.judge_anew(unit, edge.wake_all(self._moment.floor[0]))
