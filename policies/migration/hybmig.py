"""HybMig."""

from __future__ import annotations

from typing import ClassVar

from attrs import field, frozen

from policies.migration.base import Change, Migration
from policies.options import number, truth, whole


@frozen
class HybMig(Migration):
    """The new plan takes over with the states it shares; the old one makes only what the others lack (HybMig, 3).

    Subqueries that both plans have are shared and run once (3.1; ``sharing=False`` shares the rows alone). What the old
    plan owes is a table of characteristics: for each pair of shared states that the new plan joins first, both old
    (3.2). A composite that violates every entry is dropped where it arises (which entries it violates is seen from its
    row numbers, so it carries no bitmap), and a stream that violates all of them by itself never enters the old plan.
    Old results of an event come before new ones (3.3): both go to one ring, sorted by event. The paper's two ways to
    get there are the same here: a batch is run by the old plan's steps and then by the new one's (serialised), and the
    sort is the merge of two queues, event by event (parallel).

    ``background`` keys a batch are computed for the lowest state that is not complete, newest rows first (3.4). When a
    state is complete the table shrinks. Departures: the printed rule loses results (a row that met the state before
    must still be served by the old plan), so an entry then keeps a cut-off for the sibling's streams; composites from
    shared states count as old only if all their rows are; and the state is completed beside the one in use, since
    entries need no order.

    It ends when in each entry one stream has turned over, or all states are there; after ``patience`` windows, where
    streams are silent, the rest is computed at once.

    Changes may overlap, which the paper leaves open. Each plan then makes what all later ones lack, and all run in one
    table; a state that is not whole is shared with a later plan only if that makes it in the same way. Where the later
    plan is one of orderings, where the cases to tell apart are too many, or where another technique's holes are left,
    its states are computed at once, as in `MovingState`. `MigrationStatistics.tracks` has the older plans that go on.

    ``literal=True`` with ``background`` is the printed rule, which loses results; only `eddy.AsPrinted` runs it.

    Use it for long windows, when neither a pause nor double work will do.
    """

    sharing: bool = field(default=True, validator=truth())
    background: int = field(default=0, validator=whole(0, takes="a number of keys a batch, 0 or more"))
    patience: float = field(default=4.0, validator=number(above=0))
    literal: bool = field(default=False, validator=truth())

    joins_only: ClassVar[bool] = True
    beside: ClassVar[float] = 0.5

    def begin(self, change: Change) -> None:
        change.split(self.sharing)

    def work(self, change: Change) -> None:
        change.expire()
        if self.background and change.running:
            change.compute(self.background)
        if change.running and change.age > self.patience:
            change.finish()
