"""Changes of plan judged by the clock: one that made things slower is taken back."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field, frozen

from policies.routing.base import Choice
from policies.routing.meter import Meter, alike, slower
from policies.routing.profile import Profile
from policies.routing.trial import Change
from policies.view import Glance, View

Clock = Callable[[Glance | View], float]
"""From what a policy is shown to the seconds that batches took since it was last asked."""


@frozen(eq=False)
class Reading:
    """A change whose former plan was measured."""

    change: Change
    feed: Profile
    """As it was when the change was thought of."""
    events: int
    """Before it."""
    before: float
    """Seconds an event under the former plan."""
    batch: float
    """Events of a batch then."""
    pinned: tuple[str, ...]


@define(eq=False)
class Hindsight:
    """Measures what the plan in use takes, and remembers what the one before it took until both can be compared.

    Seconds an event are compared of stretches of the same feed, under either plan: from before the change, and from
    when the windows have turned over.
    """

    clock: Clock
    meter: Meter = field(init=False, factory=Meter)
    reading: Reading | None = field(init=False, default=None)
    _told: bool = field(init=False, default=False)
    """The glance has been noted that is asked for once more as a view."""

    def glance(self, glance: Glance) -> None:
        """A policy is asked, and may want a view of the same."""
        self.meter.note(glance.events, self.clock(glance), glance.batches)
        self._told = True

    def passed(self) -> None:
        """It did not want one."""
        self._told = False

    def view(self, view: View) -> bool:
        """It has one; whether nothing of it was noted before."""
        told, self._told = self._told, False
        if not told:
            events = sum(view.arrivals.values())
            self.meter.note(events, self.clock(view), events / max(view.batch, 1.0))
        return not told

    def begin(self, change: Change, feed: Profile, events: int, pinned: tuple[str, ...]) -> None:
        """The plan changes: from now on another one is measured."""
        cost, batch = self.meter.cost, self.meter.batch
        self.reading = None
        if cost is not None:
            self.reading = Reading(change, feed, events, cost, batch, pinned)
        self.meter.renew()

    def forget(self) -> None:
        """The feed is another: what was measured tells nothing any more."""
        self.reading = None
        self.meter.renew()

    def regrets(self, events: int, turned: int) -> bool:
        """Whether the change has made things slower, by what is known after so many events; the windows have
        ``turned`` over after so many."""
        if self.reading is None:
            return False
        if events < turned:
            self.meter.renew()
            return False
        if self.meter.cost is None:
            return False
        if slower(self.reading.before, self.meter.cost):
            return True
        self.reading = None  # it has stood the test
        return False

    def verdict(self, view: View, feed: Profile, drift: float) -> tuple[Reading, float] | None:
        """The reading of a change that is to be taken back, and what its plan takes; None where it cannot be told
        whether the plan is to blame."""
        reading, after = self.reading, self.meter.cost
        self.reading = None
        if (
            reading is None
            or after is None
            or (view.plan, view.pinned) != (reading.change.plan, reading.pinned)
        ):
            return None
        if not alike(reading.batch, self.meter.batch) or reading.feed.strays(feed, drift):
            return None
        if (after - reading.before) * reading.change.horizon <= reading.change.price:
            return None
        return reading, after


def back(reading: Reading, after: float) -> Choice:
    """The choice to take a change back."""
    reason = (
        f"measured: {1e9 * reading.before:.0f} ns an event became {1e9 * after:.0f}, "
        f"where {1e9 * reading.change.saved:.0f} were to be saved: the change is taken back"
    )
    return Choice(reading.change.former, reason, after, after - reading.before)
