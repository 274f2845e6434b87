"""What deciding may cost.

By these rules, whatever the feed does and however wrong the cost model is about it, and with W the time spent on
batches so far, all by the model's clock:

- looks and thoughts take no more than ``overhead`` * W, and for those that something called for ``URGENT`` * W and as
  long as plans took *beyond* what they took when they were chosen or confirmed, besides what there is to begin with:
  ``STOCK`` + ``CREDIT`` thoughts, and a look of either kind. (To pay as much for a thought as was lost without one is
  what one does who rents skis until the rent has reached the price: at worst twice of what would have been best.);
- changes of plan that brought less than they cost, as it was seen when the windows had turned over, have cost no more
  than ``regret`` * W together, and the last one of them. (A change that another follows before is not judged.)
"""

from __future__ import annotations

from attrs import define, field

URGENT = 0.1
"""The share of the time for looks and thoughts that something calls for: the feed is changing, or a change of plan is
due to be judged."""
CREDIT = 2.0
"""Thoughts that may be on credit where waiting would cost more than a change."""
STOCK = 3.0
"""Thoughts that can be saved for later, and that there are to begin with."""


@define(eq=False)
class Account:
    """Seconds earned and spent."""

    overhead: float
    """The share of the time for looks, half of it, and for thoughts that nothing called for."""
    regret: float
    worked: float = field(init=False, default=0.0)
    looking: float = field(init=False, default=0.0)
    thinking: float = field(init=False, default=0.0)
    beyond: float = field(init=False, default=0.0)
    """Seconds that plans took beyond what they took when they were chosen or confirmed."""
    lost: float = field(init=False, default=0.0)
    """Seconds that changes cost beyond what they brought."""
    _seen: float = field(init=False, default=0.0)
    """Seconds for looks that nothing called for."""
    _calm: float = field(init=False, default=0.0)
    _urgent: float | None = field(init=False, default=None)

    def earn(self, seconds: float, price: float, beyond: float = 0.0) -> None:
        """Batches took so long, of which so much ``beyond`` what was expected; a thought would cost so much."""
        if self._urgent is None:
            self._urgent = STOCK * price
        self.worked += seconds
        self._calm = min(STOCK * price, self._calm + self.overhead / 2 * seconds)
        self.beyond += beyond
        self._urgent = min(STOCK * price, self._urgent + URGENT * seconds + beyond)

    def look(self, price: float, called: bool) -> None:
        """Pay for a look, whether or not something called for it."""
        if called:
            self._urgent = (self._urgent or 0.0) - price
        else:
            self._seen += price
        self.looking += price

    def think(self, price: float, called: bool, urgent: bool = False) -> bool:
        """Pay for a thought, if there is enough; for one that is urgent, on credit if need be."""
        has = self._urgent if called else self._calm
        if has is None or has < price * (1.0 - CREDIT * urgent):
            return False
        if called:
            self._urgent = has - price
        else:
            self._calm = has - price
        self.thinking += price
        return True

    def charge(self, seconds: float) -> None:
        """A thought has taken so much longer than its price."""
        self.thinking += seconds
        self._urgent = (self._urgent or 0.0) - seconds

    def wait(self, price: float, called: bool, beyond: float = 0.0) -> float:
        """Seconds that batches have to take before there is enough for a thought, or look, of this price, if a share of
        ``beyond`` of them is more than was expected."""
        if called:
            return max(0.0, price - (self._urgent or 0.0)) / (URGENT + beyond)
        return max(0.0, 2 * (self._seen + price) / self.overhead - self.worked)

    @property
    def solvent(self) -> bool:
        """Whether another change may be risked."""
        return self.lost <= self.regret * self.worked

    def lose(self, seconds: float) -> None:
        """A change has cost so much more than it brought."""
        self.lost += seconds
