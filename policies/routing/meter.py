"""What an event takes by the clock, so that a change of plan can be judged by what it has brought."""

from __future__ import annotations

from collections import deque

from attrs import define, field

from policies.view import Glance, View

ENOUGH = 6
"""Stretches that have to be measured before they tell anything."""
KEPT = 8
"""The last ones, which count."""
STRETCH = 1024
"""Events of a stretch at the least."""
RELATIVE, ABSOLUTE = 0.05, 5e-9
"""By this share, and by so many seconds an event, a plan has to be slower before that is more than chance."""
UNLIKE = 1.25
"""Times as many events in a batch as before: then what a batch takes by itself weighs otherwise."""


def measured(seen: Glance | View) -> float:
    """Seconds that batches took, by the engine's clock, since the policy was last asked."""
    return seen.seconds


@define(eq=False)
class Meter:
    """Measures stretches of a feed, from one time that a policy is asked to the next. The least counts of each plan: in
    that one nothing else ran on the machine."""

    _seconds: deque[float] = field(init=False, factory=lambda: deque(maxlen=KEPT))
    """An event's, of the last stretches."""
    _events: int = field(init=False, default=0)
    _spent: float = field(init=False, default=0.0)
    _batches: int = field(init=False, default=0)
    """Of the stretch that is not long enough yet. The clock may stand for a while: an engine that takes a push in by
    portions may tell how long it took when it is over."""
    _sizes: deque[float] = field(init=False, factory=lambda: deque(maxlen=KEPT))
    """Events of a batch, in each stretch."""
    _timed: bool = field(init=False, default=False)
    """The clock has been seen to move."""

    def renew(self) -> None:
        """What was measured so far was another feed, or another plan."""
        self._seconds.clear()
        self._sizes.clear()
        self._events, self._spent, self._batches = 0, 0.0, 0

    def note(self, events: int, seconds: float, batches: float) -> None:
        """So many events have taken so long, in so many batches."""
        self._timed = self._timed or seconds > 0.0
        self._events += events
        self._spent += seconds
        self._batches += round(batches)
        if seconds > 0.0 and self._events >= STRETCH:
            self._seconds.append(self._spent / self._events)
            self._sizes.append(self._events / max(self._batches, 1))
            self._events, self._spent, self._batches = 0, 0.0, 0

    @property
    def ready(self) -> bool:
        """Whether there is enough to go by, or nothing to be had, since no clock runs."""
        return len(self._seconds) >= ENOUGH or not self._timed

    @property
    def cost(self) -> float | None:
        """Seconds an event; None: not known yet."""
        return min(self._seconds) if len(self._seconds) >= ENOUGH else None

    @property
    def batch(self) -> float:
        """Events of a batch, in the middle one of the stretches; 0: not known."""
        return sorted(self._sizes)[len(self._sizes) // 2] if self._sizes else 0.0


def slower(before: float, after: float) -> bool:
    """Whether one plan has cost more than another, beyond what chance may do."""
    return after - before > max(RELATIVE * before, ABSOLUTE)


def alike(before: float, after: float) -> bool:
    """Whether batches are as large as they were: else it is not known what made the difference."""
    return before <= UNLIKE * after and after <= UNLIKE * before
