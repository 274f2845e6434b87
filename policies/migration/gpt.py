"""Generalised Parallel Track."""

from __future__ import annotations

from typing import ClassVar

from attrs import field, frozen

from policies.migration.base import Change, Migration
from policies.options import number


@frozen
class Gpt(Migration):
    """Feed both plans until the new one has seen a whole window, then swap (HybMig, section 4.2).

    The plans are black boxes. All output is the old plan's until the swap; the new one's goes nowhere. After
    ``patience`` windows, where a stream is silent, the live rows are replayed instead, as in `Gms`. A change during a
    change starts anew, so plans must not change more often than windows turn over. Use it when output must not be
    delayed at all and a window of double work is no matter.
    """

    patience: float = field(default=4.0, validator=number(above=0))

    beside: ClassVar[float] = 1.0

    def begin(self, change: Change) -> None:
        change.box(replay=False)

    def work(self, change: Change) -> None:
        if change.boxed is None:
            return
        if change.age > self.patience and not change.turned_over:
            change.box(replay=True)
        change.boxed.drain()
        if change.turned_over or change.age > self.patience:
            change.swap()
