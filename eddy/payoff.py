"""Whether judging pays, told by the clock.

What an edge counts says whether it spares work. It does not say what its visits cost, which depends on the machine, the
batches and the joins. So now and then a few batches are run with judging and a few without, when nothing waits any
more, and what an event takes is compared. The cheaper side goes on: for longer each time, since a comparison costs.
"""

from __future__ import annotations

import statistics

LENGTH, SKIPPED = 8, 2
"""Batches of a side that are timed, and those before, in which it is not yet itself."""

FIRST, LONGEST = 48, 4096
"""Batches before the first comparison, when windows should be full; the most between two of them."""

GAIN = 0.98
"""Judging goes on if an event takes at most this share of what it takes without."""

CLEAR = 6.0
"""Where counts say that so many times as much is spared as is spent, there is nothing to compare: to bring back all
that waits would cost more than is to be learnt."""


class Payoff:
    """Told of every batch; says whether anything is to be judged."""

    def __init__(self) -> None:
        self.allowed = True
        self._wait = FIRST
        self._patience = FIRST
        self._spared = self._spent = 0.0
        self._with: list[float] = []
        self._without: list[float] = []

    def count(self, spared: float, spent: float) -> None:
        """So much work was spared at an edge, and so much spent on it, since it was last reviewed."""
        self._spared += spared
        self._spent += spent

    def note(self, judging: bool, waiting: bool, events: int, seconds: float) -> None:
        """A batch of so many events took so long; whether entries were judged, and whether some wait."""
        if self._wait > 0:
            self._wait -= 1
            if self._wait == 0 and not self.allowed and not self._with:
                self.allowed, self._wait = True, SKIPPED  # try again
        elif len(self._with) < LENGTH:
            if judging and events:
                self._with.append(seconds / events)
            if len(self._with) == LENGTH:
                if self._spared > CLEAR * self._spent > 0:
                    self._go_on(True)
                else:
                    self.allowed = False
        elif not waiting and events:
            self._without.append(seconds / events)
            if len(self._without) == LENGTH + SKIPPED:
                self._decide()

    def _decide(self) -> None:
        self._go_on(statistics.median(self._with) <= GAIN * statistics.median(self._without[SKIPPED:]))

    def _go_on(self, pays: bool) -> None:
        self._with, self._without = [], []
        self._spared = self._spent = 0.0
        self._patience = min(LONGEST, 4 * self._patience)
        self.allowed, self._wait = pays, self._patience
