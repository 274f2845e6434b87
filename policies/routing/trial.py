"""Changes of plan on trial: whether they have brought what was believed, and what follows where they have not.

A change is judged twice. By the cost model, when the windows have turned over: by what is known of both plans then. And
by the clock, where the former plan had been measured: see `hindsight`.
"""

from __future__ import annotations

from attrs import define, field, frozen

FORGET = 2.0
"""By how much the gain asked for changes with every change of plan that brought nothing, and back with one that did."""
STRICTEST = 16.0
REMEMBERED = 64
"""Plans of which it is remembered by how much the model was wrong about them."""


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
    cost: float
    """Seconds an event that the former plan was believed to take."""


@define(eq=False)
class Trials:
    """Remembers the last change until it is judged, and how much trust those before it have left."""

    strictness: float = field(init=False, default=1.0)
    """Times as much gain is asked for."""
    change: Change | None = field(init=False, default=None)
    _barred: dict[str, int] = field(init=False, factory=dict)
    """Plans that disappointed, and until when they wait."""
    _wrong: dict[str, float] = field(init=False, factory=dict)
    """Plans that the clock found slower, and by what share of all that the former plan took the model was wrong."""

    def barred(self, plan: str, events: int) -> bool:
        """Whether a plan has to wait."""
        return self._barred.get(plan, 0) > events

    def refuted(self, plan: str, saved: float, cost: float) -> bool:
        """Whether the clock has shown that it would not save so much of such a cost: the model has been as wrong."""
        return plan in self._wrong and saved <= self._wrong[plan] * cost

    def judge(self, change: Change, saved: float, events: int, turnover: int) -> float:
        """It has saved so much an event; the seconds that it cost beyond what it brought.

        If that is not half of what was believed, twice the gain is asked for from now on, and the plan has to wait.
        """
        if saved >= change.saved / 2:
            self.strictness = max(1.0, self.strictness / FORGET)
        else:
            self._disappoint(change.plan, events, turnover)
        return max(0.0, change.price - saved * change.horizon)

    def refute(self, change: Change, slower: float, events: int, turnover: int) -> None:
        """By the clock the plan takes more than the former one, by a share of what that took.

        It is remembered by how much the model was wrong: it may be chosen again where it promises more than that.
        """
        self.change = None
        self._disappoint(change.plan, events, turnover)
        wrong = slower + change.saved / change.cost
        self._wrong[change.plan] = max(wrong, self._wrong.pop(change.plan, 0.0))
        if len(self._wrong) > REMEMBERED:
            del self._wrong[next(iter(self._wrong))]

    def _disappoint(self, plan: str, events: int, turnover: int) -> None:
        self.strictness = min(STRICTEST, self.strictness * FORGET)
        self._barred = {plan: until for plan, until in self._barred.items() if until > events}
        self._barred[plan] = events + int(self.strictness * turnover)
