"""Restraint: an edge that costs more than it spares rests, and tries again later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eddy.edge import Edge, Unit
from eddy.payoff import Payoff

if TYPE_CHECKING:
    from policies import Feedback

SOON, FIRST, LAST = 4, 16, 1024
"""Batches after which an edge is reviewed where hardly anything was suspended; else, for the first time, and at the
most: twice as many each time that it paid."""

FILLING = 64
"""Batches in which nothing else is reviewed, unless the windows turn over sooner: till then rows wait for partners that
are still to come, and come back."""

RARELY = 16
"""Hardly anything: one entry in so many that were judged."""

RELEASED = 4
"""What waits at an edge that begins to rest is let go if so many times as much was judged there: many rows at once
would delay a batch, and they go by themselves."""


class Restraint:
    """Asks the policy, now and then, whether an edge is worth its while."""

    def __init__(self, policy: Feedback, payoff: Payoff) -> None:
        self._policy = policy
        self._payoff = payoff
        self._batches = 0
        self._begun: NDArray[np.int64] | None = None
        """The rows there were when the plan was new; None when all these have left their windows."""

    def begin(self, counts: NDArray[np.int64]) -> None:
        """A plan is new, when there are so many rows of each stream."""
        self._begun, self._batches = counts.copy(), 0

    def consider(self, units: Sequence[Unit], lows: NDArray[np.int64]) -> list[tuple[Unit, Edge]]:
        """A batch has begun, with such low-water rows: see to the edges. Returns those at which nothing is to wait."""
        self._batches += 1
        if self._begun is not None and (self._batches > FILLING or (lows >= self._begun).all()):
            self._begun = None
        released = []
        for unit in units:
            for edge in unit.edges:
                if edge.resting > 0:
                    edge.resting -= 1
                    continue
                edge.batches += 1
                if self._is_due(edge):
                    self._review(unit, edge)
                    if edge.resting and 0 < RELEASED * edge.blacklist.waiting <= edge.judged:
                        released.append((unit, edge))
                    edge.review()
        return released

    def _is_due(self, edge: Edge) -> bool:
        if edge.batches < SOON or edge.judged + edge.looked == 0:
            return False
        rare = RARELY * edge.failed < edge.judged
        return rare or (self._begun is None and edge.batches >= edge.period)

    def _review(self, unit: Unit, edge: Edge) -> None:
        edge.worth = unit.worth(self._payoff.price)
        edge.patience = max(0, int(self._policy.rest(edge)))
        edge.rest(edge.patience)
        edge.period = FIRST if edge.resting else min(LAST, 2 * edge.period)
