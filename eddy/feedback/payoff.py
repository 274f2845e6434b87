"""What a composite costs, told by the clock: judging pays where it spares more than it takes.

What judging takes is measured, edge by edge. What it spares is not there to be measured, so it is estimated: entries
that were suspended, times the composites that each would make, times what a composite costs in these batches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.plan.compiler import Key
from eddy.store.stream import StreamState
from stairs.holes import Keys

SHARE, MANY = 0.05, 1 << 15
"""What a composite takes to make, store and look at, for each attribute of its key and one more, where all else that is
done for an event takes 1; and twice as much where there would be more than MANY of them: they are not in the cache.
Measured with hash joins in batches of 1,024 events over windows of 600 to 12,000 rows."""

DEAR = 32
"""How many times as much it takes by nested loops, where everything that comes looks at it, if there are few others."""

UNUSUAL = 4
"""A batch counts no more than UNUSUAL times what is usual."""

FADING = 1 / 16
"""Weight of the last batch."""

SAMPLE = 512
"""Rows of a stream that are looked at to see how many partners a row has."""


def weight(attributes: int) -> float:
    """What a composite takes whose key has as many ``attributes``, where all else for an event takes 1."""
    return SHARE * (1 + attributes)


class Payoff:
    """Told of every batch; knows what an event costs, composites apart."""

    def __init__(self) -> None:
        self._seconds = self._work = 0.0

    def note(self, work: float, seconds: float) -> None:
        """A batch, judging apart, took as many ``seconds`` for ``work``: its events, and composites by their weights.

        What takes much longer than usual has had to wait for the processor.
        """
        if self._work > 0:
            seconds = min(seconds, UNUSUAL * self.price * work)
        self._seconds += FADING * (seconds - self._seconds)
        self._work += FADING * (work - self._work)

    @property
    def price(self) -> float:
        """Seconds for an event."""
        return self._seconds / self._work if self._work > 0 else 0.0


def partners(one: StreamState, other: StreamState, classes: Sequence[int]) -> float:
    """How many rows of the other stream match a row of the one in these key classes, by a sample of the rows in their
    windows, those that wait included."""
    (keys, here), (others, there) = (
        np.unique(_sample(state, classes), return_counts=True) for state in (one, other)
    )
    _, i, j = np.intersect1d(keys, others, assume_unique=True, return_indices=True)
    pairs = int((here[i] * there[j]).sum())
    live = other.base.tail - other.base.low
    return live * pairs / max(1, int(here.sum()) * int(there.sum()))


def _sample(state: StreamState, classes: Sequence[int]) -> Keys:
    """The keys of some rows, evenly over the window."""
    low, n = state.base.low, state.base.tail - state.base.low
    rows = np.arange(low, low + n, 1 + n // SAMPLE)
    return state.keys(Key(tuple(classes)), {c: state.keys_of(c, rows) for c in classes}, low, len(rows))
