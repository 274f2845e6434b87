"""Eager STAIRs."""

from __future__ import annotations

import math

from attrs import frozen

from policies.migration.base import Change, Migration


@frozen
class EagerStairs(Migration):
    """Demote and promote every entry at the change, as the STAIR operator was first used (JISC, 3.2 and 4.6).

    Demoting a composite, (r1, s1), strips it of the streams that the new plan joins later, and of several that come to
    the same one is left: (r1, s1) and (r1, s2) without S are one r1. Promoting joins what is left with what the new
    plan puts below, for every row that carries the key, one STAIR after the other.

    Departure from Deshpande and Hellerstein: a STAIR has entries of one set of streams, and its streams' rows are in
    STAIRs of their own. So what demotion leaves is there already, and need not be written.

    It costs what Moving State costs, entry by entry instead of state by state, and the demotion besides: a baseline for
    comparisons. The record of the change counts both (`entries_demoted`, `entries_promoted`).
    """

    at_once = math.inf

    def begin(self, change: Change) -> None:
        """Take apart what the new plan does not store, then promote the entries under every row of the carrying leaf,
        oldest first."""
        change.demote()
        for stair in change.shift():
            change.promote(stair)

    def work(self, change: Change) -> None:
        """Nothing is left to do."""

    def resume(self, change: Change) -> None:
        for stair in change.incomplete:
            change.promote(stair)
