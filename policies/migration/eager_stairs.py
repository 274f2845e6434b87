"""Eager STAIRs."""

from __future__ import annotations

from attrs import frozen

from policies.migration.base import Change, Migration


@frozen
class EagerStairs(Migration):
    """Promote and demote every entry at the change, as the STAIR operator was first used (JISC, 3.2 and 4.6).

    Demoting a composite strips the streams that the new plan joins later. What remains are rows and composites that
    lower STAIRs hold anyway, in one copy, so nothing has to be written; promoting joins them with what the new plan
    puts below, for every row that carries the key, one STAIR after the other.

    It costs what Moving State costs, entry by entry instead of state by state: a baseline for comparisons.
    """

    def begin(self, change: Change) -> None:
        """Promote the entries under every row of the carrying leaf, oldest first."""
        for stair in change.shift():
            stair.promote_all()

    def work(self, change: Change) -> None:
        """Nothing is left to do."""

    def resume(self, change: Change) -> None:
        for stair in change.incomplete:
            stair.fill()
