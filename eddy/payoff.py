"""Whether judging pays, told by the clock.

What an edge counts says whether it spares work. It does not say what its visits cost, which depends on the machine, the
batches and the joins. So now and then a few batches are run with judging and a few without, and what an event takes is
compared. The side that is dearer rests: for longer each time that it is judging.
"""

from __future__ import annotations

import statistics

LENGTH, SKIPPED = 8, 2
"""Batches of a side that are timed, and those before, in which it is not yet itself."""

FIRST, LONGEST = 4, 4096
"""Batches before the first comparison; the most between two of them."""

GAIN = 0.98
"""Judging goes on if an event takes at most this share of what it takes without."""


class Payoff:
    """Told of every batch; says when judging is to rest."""

    def __init__(self) -> None:
        self._wait = FIRST
        self._patience = FIRST
        self._sides: tuple[list[float], list[float]] = [], []

    def note(self, judging: bool, events: int, seconds: float) -> int:
        """A batch took so long; for how many batches judging is to rest from now on (0: none)."""
        if self._wait > 0:
            self._wait -= 1
            return 0
        with_it, without = self._sides
        timed = with_it if len(with_it) < LENGTH else without
        if events == 0 or judging is not (timed is with_it):
            return 0
        timed.append(seconds / events)
        if timed is with_it:
            if len(with_it) < LENGTH:
                return 0
            self._wait = SKIPPED
            return SKIPPED + LENGTH
        return self._compare() if len(without) == LENGTH else 0

    def _compare(self) -> int:
        with_it, without = (statistics.median(side) for side in self._sides)
        self._sides = [], []
        self._patience = min(LONGEST, 4 * self._patience)
        self._wait = self._patience
        return 0 if with_it <= GAIN * without else self._patience + 1
