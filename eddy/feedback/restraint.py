"""Restraint: an edge that costs more than it spares rests, and tries again later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eddy.feedback.edge import Edge
from eddy.feedback.payoff import Payoff
from eddy.feedback.unit import Unit

if TYPE_CHECKING:
    from policies import Feedback

SOON, FIRST, LAST = 4, 16, 1024
"""Batches after which an edge is reviewed where it is plain that it does not pay; else, for the first time, and at the
most: twice as many each time that it paid."""

ENOUGH = 64
"""Entries that must have been judged before that is said to be plain."""

FILLING = 64
"""Batches in which only what is rare is told, unless the windows turn over sooner: till then rows wait for partners
that are still to come, and have few to be spared."""

LITTLE = 4
"""Where only one row in LITTLE would make a composite, its stream need not wait."""

RARELY, PLAINLY = 16, 1.25
"""It is plain where no more than one in RARELY entries that were judged was suspended, and where judging took PLAINLY
times as long as would be spared if none of them came back."""


class Restraint:
    """Asks the policy, now and then, whether an edge is worth its while."""

    def __init__(self, policy: Feedback, payoff: Payoff) -> None:
        self._policy = policy
        self._payoff = payoff
        self.begin()

    def begin(self, units: Sequence[Unit] = ()) -> None:
        """A plan is new.

        A row whose senior's rows wait makes next to nothing, so it need not be judged itself: that is seen soon.
        """
        for unit in units:
            for edge in unit.edges if unit.senior is not None else ():
                edge.patience = SOON
                edge.rest(SOON)
        self._batches = 0
        self._seen: NDArray[np.int64] | None = None
        """The rows there were when it had seen one batch."""
        self._filled = False
        """All of these have left their windows."""

    def consider(
        self, units: Sequence[Unit], lows: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> list[tuple[Unit, Edge]]:
        """A batch has begun, with the low-water rows ``lows`` and the next rows ``counts``: see to the edges.

        Returns those that rest though something waits there: it is let go, little by little, since many rows at once
        would delay a batch and take much room.
        """
        self._batches += 1
        if self._batches == 2:
            self._seen = counts.copy()
        if not self._filled and self._seen is not None:
            self._filled = self._batches >= FILLING or bool((lows >= self._seen).all())
        released, awake = [], []
        for unit in units:
            for edge in unit.watched:
                if edge.resting > 0:
                    edge.resting -= 1
                    if edge.resting == 0:
                        self.rested(unit, edge)
                else:
                    edge.batches += 1
                    awake.append((unit, edge))
                if edge.resting and edge.blacklist.waiting and edge is not unit.suppression:
                    released.append((unit, edge))
        if awake and _is_round(max(edge.batches for _, edge in awake)):
            self._review_due(awake)
        return released

    def rested(self, unit: Unit, edge: Edge) -> None:
        """An edge has rested: let it judge again, unless the rows of its senior wait, so that little can be spared."""
        if unit.senior is not None:
            unit.worth(self._payoff.price)
            if LITTLE * unit.fanout * unit.senior.seen < 1:
                edge.patience = min(LAST, 2 * edge.patience)
                edge.rest(edge.patience)
                return
        edge.get_up()

    def _review_due(self, awake: Sequence[tuple[Unit, Edge]]) -> None:
        """Review the edges for which it is time: all that are awake, if together they plainly do not pay."""
        for unit, edge in awake:
            edge.worth = unit.worth(self._payoff.price, edge is unit.suppression)
        spent = sum(edge.seconds for _, edge in awake)
        plain = spent > PLAINLY * sum(edge.failed * edge.worth for _, edge in awake)
        plain &= sum(edge.judged for _, edge in awake) >= ENOUGH
        for _, edge in awake:
            rare = edge.judged >= ENOUGH and RARELY * edge.failed < edge.judged
            if rare or (self._filled and (plain or edge.batches >= edge.period)):
                self._review(edge)

    def _review(self, edge: Edge) -> None:
        edge.patience = max(0, int(self._policy.rest(edge)))
        edge.rest(edge.patience)
        edge.period = FIRST if edge.resting else min(LAST, 2 * edge.period)
        edge.count_anew()


def _is_round(batches: int) -> bool:
    """SOON, twice as many, and so on; then whenever the first review would be due again."""
    return batches % FIRST == 0 or (batches >= SOON and batches & (batches - 1) == 0)
