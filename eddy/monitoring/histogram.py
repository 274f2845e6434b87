"""A histogram of seconds."""

from __future__ import annotations

from bisect import bisect_left

from attrs import define, field

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The upper bounds of its buckets, in seconds; one more has all that is above."""


@define(eq=False)
class Histogram:
    """Counts how long something took."""

    counts: list[int] = field(factory=lambda: [0] * (len(BOUNDS) + 1))
    """How many fell into each bucket."""
    total: float = 0.0
    """Their sum."""

    def observe(self, seconds: float) -> None:
        """One more."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds

    @property
    def count(self) -> int:
        """How many there were."""
        return sum(self.counts)

    def cumulative(self) -> list[tuple[float, int]]:
        """For each bound how many took at most so long; the last one is infinite."""
        found, sum_so_far = [], 0
        for bound, count in zip((*BOUNDS, float("inf")), self.counts, strict=True):
            sum_so_far += count
            found.append((bound, sum_so_far))
        return found
