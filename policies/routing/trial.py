"""Changes of plan on trial: whether they have brought what was believed, and what follows where they have not."""

from __future__ import annotations

from attrs import define, field, frozen

FORGET = 2.0
"""By how much the gain asked for changes with every change of plan that brought nothing, and back with one that did."""
STRICTEST = 16.0


@frozen(eq=False)
class Change:
    """A change of plan that is still to be judged."""

    former: str
    plan: str
    saved: float
    """Seconds an event that it was believed to save."""
    price: float
    horizon: int
    """Events within which it was to be paid back."""


@define(eq=False)
class Trials:
    """Remembers the last change until it is judged, and how much trust those before it have left."""

    strictness: float = field(init=False, default=1.0)
    """Times as much gain is asked for."""
    change: Change | None = field(init=False, default=None)
    _barred: dict[str, int] = field(init=False, factory=dict)
    """Plans that disappointed, and until when they wait."""

    def barred(self, plan: str, events: int) -> bool:
        """Whether a plan has to wait."""
        return self._barred.get(plan, 0) > events

    def judge(self, change: Change, saved: float, events: int, turnover: int) -> float:
        """The change has ``saved`` seconds an event; returns the seconds that it cost beyond what it brought.

        If that is not half of what was believed, twice the gain is asked for from now on, and the plan has to wait.
        """
        if saved >= change.saved / 2:
            self.strictness = max(1.0, self.strictness / FORGET)
        else:
            self.strictness = min(STRICTEST, self.strictness * FORGET)
            self._barred = {plan: until for plan, until in self._barred.items() if until > events}
            self._barred[change.plan] = events + int(self.strictness * turnover)
        return max(0.0, change.price - saved * change.horizon)
