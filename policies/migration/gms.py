"""Generalised Moving State."""

from __future__ import annotations

import math

from attrs import frozen

from policies.migration.base import Change, Migration


@frozen
class Gms(Migration):
    """Replay the live rows through the new plan, drop what comes out, swap (HybMig, section 4.1).

    The plans are black boxes: nothing is matched or moved. The pause is as long as the new plan takes for a window.
    Use it when a plan holds state that no other technique can take over, or is no plan at all (`eddy.Boxes`).
    """

    at_once = math.inf

    def begin(self, change: Change) -> None:
        box = change.box(replay=True)
        box.drain()
        change.swap()

    def work(self, change: Change) -> None:
        """Nothing is left to do; after a restart holes fill when they are probed."""
