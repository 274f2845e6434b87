"""Generalised HybMig."""

from __future__ import annotations

import math
from typing import ClassVar

from attrs import field, frozen

from policies.migration.base import Change, Migration
from policies.options import number

MOST = 1 << 40
"""Events in one go, at the most."""


@frozen
class Ghm(Migration):
    """Feed both plans, the new one from a queue that starts with the live rows; swap when it is empty (HybMig, 4.3).

    The plans are black boxes. The new plan has low priority: after each batch it gets ``share`` times as many events
    of its queue as the batch had, in pieces of 512 old rows, or of whole pushes where the boxes are a user's own. Above
    1 it catches up, however fast the streams are: n old rows are done after n / share events (the paper's d1), and what
    has come meanwhile after 1 / (share - 1) times as many (d2). All output is the old plan's until the swap. A change
    during a change starts anew. Use it in place of `Gpt` when windows are long.
    """

    share: float = field(default=2.0, validator=number(above=1))  # or the new plan would never catch up

    beside: ClassVar[float] = 0.5

    def begin(self, change: Change) -> None:
        change.box(replay=True)

    def work(self, change: Change) -> None:
        box = change.boxed
        if box is None:
            return
        box.drain(math.ceil(min(self.share * max(1, change.last), MOST)))
        if box.behind == 0:
            change.swap()
