"""Just-in-time state completion."""

from __future__ import annotations

from attrs import field, frozen

from policies.migration.base import Change, Migration
from policies.options import number, truth, whole

TOGETHER = 64
"""Holes that a batch must have asked for, at the least, to fill others ahead of being asked for: few of them are not
cheaper for being filled together."""


@frozen
class Jisc(Migration):
    """Fill a hole when it is first probed (JISC, section 4), and others besides: ``ahead`` times as many as the batch
    has asked for, and up to ``background`` holes a batch.

    Filling starts at the highest complete STAIR below that is keyed alike (Procedure 3), on trees of any shape.

    Departures from the paper: what is filled is known per key, not by the *fresh* and *attempted* marks of section
    4.4, which lose and repeat results. The holes that the rows of a batch are going to probe are filled just before
    them, all of a STAIR at once, from the bottom of the plan to its top. And completion does not wait for probes. Two
    ends close in on the rows from before the change: a hole is filled when one of its rows expires, and a cursor from
    the newest row down passes over filled keys. Where they meet no hole is left, at the latest when the window has
    turned over once. Background filling goes in the cursor's order, newest rows first, since these live longest
    (HybMig, 3.4).

    A hole that is filled together with thousands costs a fraction of one that is filled for a probe: where many are
    asked for, as after a change that kept nothing, filling others with them makes the whole change cheaper. What is
    filled ahead is bounded by what was asked for, in holes and in composites, so it is never much more than the work
    that the batches themselves have made necessary. With ``ahead`` 0 nothing is, as in the paper.

    Being lazy spares a pause that grows with the windows. Where these are no longer than ``at_once`` batches there is
    no such pause to spare, and filling key by key would take longer: such STAIRs are filled at the
    change, unless they turn out to hold more composites than that. With 0 nothing is, as in the paper.

    ``literal=True`` is JISC as printed, which loses and repeats results; only `eddy.AsPrinted` runs it.
    """

    background: int = field(default=0, validator=whole(0, takes="a number of keys a batch, 0 or more"))
    at_once: float = field(default=0.0, validator=number(least=0))
    ahead: float = field(default=2.0, validator=number(least=0))
    literal: bool = field(default=False, validator=truth())

    def begin(self, change: Change) -> None:
        """The new plan takes over; what is small is filled now."""
        few = int(self.at_once * change.batch)
        for stair in change.shift():
            if 0 < stair.rows_before <= few:
                stair.fill_up_to(few)
                if stair.holes is not None:  # what lies above would have to fill the rest of it
                    break

    def work(self, change: Change) -> None:
        """Spend the budget on the lowest STAIRs first: those above are filled from them."""
        budget = self.background
        for stair in change.incomplete:
            budget -= stair.settle(budget)
        keys, composites = change.asked
        if self.ahead and keys >= TOGETHER:
            self._go_ahead(change, int(self.ahead * keys), change.built + int(self.ahead * composites))

    @staticmethod
    def _go_ahead(change: Change, keys: int, stop: int) -> None:
        """Fill so many holes, but stop when that many composites have been built."""
        portion = max(4 * TOGETHER, keys // 4)
        for stair in change.incomplete:
            filled = portion
            while filled and keys > 0 and change.built < stop:
                filled = stair.settle(min(keys, portion))
                keys -= filled
