"""Parallel Track."""

from __future__ import annotations

from typing import ClassVar

from attrs import field, frozen

from policies.migration.base import Change, Migration
from policies.options import number, one_of


@frozen
class ParallelTrack(Migration):
    """Both plans run until the rows from before the change have left (Zhu et al., section 4.2; Algorithm 3).

    The new plan starts empty and sees only new rows; the old one drops, at its root, results that are made of new rows
    only. When changes overlap there are as many plans, and each makes the results whose oldest row falls into its time.

    ``order="max"`` emits results in the order of their latest events, as everywhere in this library. ``order="pt"`` is
    the paper's way: the new plan's results are held until the old one has gone; it cannot go with signed results. With
    threads each shard changes by itself, so one whose old rows have left gives its new plan's results before others.

    It ends when no stream has a live row from before (exact expiry: after one window, not two). A stream that falls
    silent would keep it for ever: when ``patience`` times as many rows have come as were live at the change, the new
    plan's states are computed at once instead.

    Use it when a migration must never touch a state, and double work for a window is no matter.
    """

    order: str = field(default="max", validator=one_of(("max", "pt")))
    patience: float = field(default=4.0, validator=number(above=0))

    joins_only: ClassVar[bool] = True
    beside: ClassVar[float] = 1.0

    @property
    def holds(self) -> bool:
        return self.order == "pt"

    def begin(self, change: Change) -> None:
        change.fork(held=self.holds)

    def work(self, change: Change) -> None:
        change.expire()
        if change.running and change.age > self.patience:
            change.finish()
