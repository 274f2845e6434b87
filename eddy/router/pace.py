"""How many events a router is best given at a time where Python takes them in, and kernels do not cut them."""

from __future__ import annotations

from attrs import define

OWN = 65_536
"""What a batch costs in Python, in entries that could be passed instead."""
LEAST, FIRST, MOST = 64, 512, 65_536
"""Events of a batch: at the least, to begin with, at the most."""


@define(eq=False)
class Pace:
    """Chooses the length of batches as `stairs.sequence_kernels` chooses that of portions.

    Entries that come with a batch and are passed in vain grow with the square of its events: the next one should be so
    long that they take about as long as what Python does for a batch.
    """

    events: int = FIRST
    """How many to give it, at the most."""

    def note(self, events: int, missed: int, tested: int) -> None:
        """A batch of ``events`` is done that has ``missed`` entries, passed them in vain, and has ``tested`` rows by
        theta predicates: half of all pairs of its own rows may be among these in vain, and no more."""
        missed += min(tested, events * events // 2)
        if 4 * missed < OWN and events >= self.events:
            self.events = min(2 * self.events, MOST)
        while missed > 2 * OWN and self.events > LEAST:
            self.events, missed = self.events // 2, missed // 4
