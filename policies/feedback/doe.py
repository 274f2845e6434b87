"""Demand-driven operator execution."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from policies.feedback.base import Edge, Feedback

RESTING = 64
"""Batches that an edge rests where there was something all the time."""


@frozen
class Doe(Feedback):
    """Rows wait while what they would be joined with higher up is empty (DOE, as JIT section II tells it).

    This is `Mns` with no other sub-tuple than the empty one: it costs next to nothing, and helps where a stream is
    silent for long.
    """

    def judges(self, components: int, attributes: Sequence[int]) -> Sequence[int] | None:
        """Single rows, by anything at all."""
        return () if components == 1 else None

    def rest(self, edge: Edge) -> int:
        """Rest where nothing was empty, but look again soon: it costs little."""
        return 0 if edge.failed else RESTING
