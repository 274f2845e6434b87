"""Moving State."""

from __future__ import annotations

import math

from attrs import frozen

from policies.migration.base import Change, Migration


@frozen
class MovingState(Migration):
    """Stop, compute every missing state bottom-up, go on (Zhu et al., section 4.1; Algorithms 1 and 2).

    Accumulated tuples need no cleaning, since a plan changes only between batches; matching and moving is keeping the
    STAIRs that both plans have, also where one of them lies above a missing one. Nothing is emitted meanwhile: use it
    when a pause, which grows with the windows, matters less than the simplest behaviour after it.
    """

    at_once = math.inf

    def begin(self, change: Change) -> None:
        """Fill all holes before the next event."""
        for stair in change.shift():
            stair.fill()

    def work(self, change: Change) -> None:
        """Nothing is left to do."""

    def resume(self, change: Change) -> None:
        for stair in change.incomplete:
            stair.fill()
