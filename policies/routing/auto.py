"""Choose the plan by what it would cost, and change only where that pays."""

from __future__ import annotations

from attrs import define, field, frozen, validators

from policies.optimizer.estimate import Estimate
from policies.optimizer.measure import count, estimate, seconds_spent, verify
from policies.optimizer.model import CostModel
from policies.optimizer.moving import changing_seconds, moving_seconds, same
from policies.optimizer.search import SHAPES, best, cost_of
from policies.routing.account import Account
from policies.routing.base import Choice, Routing
from policies.routing.profile import Profile
from policies.routing.view import Glance, View

FIRST = 8192
"""Events after which it looks for the first time."""
CALM = 8
"""Times as many events it lets go by without a look while nothing changes."""
RESTFUL = ((16, 8), (8, 4), (4, 2), (0, 1))
"""After so many glances at which nothing had happened, so many times as many events until the next one."""
SUDDEN = 0.5
"""A change by this share is no chance."""
FORGET = 2.0
"""By how much the gain asked for changes with every change of plan that brought nothing, and back with one that did."""
STRICTEST = 16.0
SHAKEN = 3.0
"""Times by which matches have to differ more than they do anyway from one glance to the next."""
DOUBT = 4.0
"""Times as much has to move, at the most, after thoughts that changed nothing."""
LOOK = 12
"""Steps in whose time a look is taken, apart from those of the plan."""


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
class Auto(Routing):
    """Ours, and the default: index sampling, a cost model fitted to our kernels, and a change only if it pays.

    *When it thinks.* Every ``every`` events, and less often when nothing has happened for long, it glances at how many
    rows and matches there were; it looks closer where these have changed, and else up to eight times as rarely, or more
    rarely still where looks would take more than half of a share of ``overhead`` of the time. A look compares what the
    steps of the plan count with the time of the last decision (not of the last look, or slow drift would hide). Where
    something has moved by a share of ``drift``, two looks in a row, or by much at once, it thinks when the windows have
    turned over; sooner if the plan takes so much longer than it did that waiting would cost more than a thought and a
    change; and not before these can pay, since no plan can save more than this one takes. Thoughts that changed nothing
    make it less easily roused. Where nothing moves it thinks as often as the other half of ``overhead`` allows. Time is
    the cost model's: by the clock no two runs would decide alike.

    *What it thinks.* Fan-outs of pairs by index sampling, whether the plan joins them or not; composites of the plan
    itself as counted; the cheapest plan by dynamic programming over trees and orderings, and from there by keeping or
    dropping one composite after the other; and what that plan would make is sampled again, step by step, before it is
    believed.

    *When it acts.* If the part of the plan that would change gets cheaper by a share of ``gain``, and the change is
    paid back before it looks again, before the windows turn over, or in as many events as the feed has been the same.
    When the windows have turned over the change is judged, by what is known of
    both plans by now. If it did not bring half of what was believed, twice the gain is asked for from then on, and the
    plan has to wait; and what it cost beyond what it brought is a loss. No change is made while losses are more than a
    share of ``regret`` of all time. So there is a bound on what a wrong model, or a feed that mocks it, can cost: see
    `policies.routing.account`.
    """

    every: int = field(default=65_536, validator=validators.ge(1))
    gain: float = field(default=0.1, validator=[validators.ge(0.0), validators.lt(1.0)])
    drift: float = field(default=0.1, validator=validators.gt(0.0))
    overhead: float = field(default=0.005, validator=validators.gt(0.0))
    shape: str = field(default="any", validator=validators.in_(SHAPES))
    model: CostModel = field(factory=CostModel, repr=False)
    regret: float = field(default=0.05, validator=validators.ge(0.0))
    account: Account = field(init=False, repr=False)
    _known: Profile | None = field(init=False, default=None, repr=False)
    """As at the last decision; None until the plan has run for a while."""
    _again: int | None = field(init=False, default=None, repr=False)
    """The number of events at which it thinks, if anything can come of it."""
    _worked: float = field(init=False, default=0.0, repr=False)
    """Seconds of work since the last look, about."""
    _beyond: float = field(init=False, default=0.0, repr=False)
    """Of these, what it took beyond what it took at the last decision."""
    _latest: float = field(init=False, default=0.0, repr=False)
    """Seconds of work after which it looks, whatever a glance shows."""
    _earliest: float = field(init=False, default=0.0, repr=False)
    """And before which it does not."""
    _seen: int = field(init=False, default=0, repr=False)
    """The number of events at the last glance."""
    _arrived: tuple[int, ...] = field(init=False, default=(), repr=False)
    """Rows of each stream so far."""
    _jitter: float = field(init=False, default=0.0, repr=False)
    _last: float = field(init=False, default=0.0, repr=False)
    """Matches per event at the last glance, and by how much they differ from glance to glance."""
    _filled: bool = field(init=False, default=False, repr=False)
    """At the last look some row had left its window: from then on counts can be compared."""
    _strictness: float = field(init=False, default=1.0, repr=False)
    _change: Change | None = field(init=False, default=None, repr=False)
    _barred: dict[str, int] = field(init=False, factory=dict, repr=False)
    """Plans that disappointed, and until when they wait."""
    _considered: bool = field(init=False, default=False, repr=False)
    """It has thought when windows were full."""
    _moved: bool = field(init=False, default=False, repr=False)
    """The last look found the feed a little different."""
    _calm: int = field(init=False, default=1, repr=False)
    """Glances between two looks while nothing changes."""
    _uneventful: int = field(init=False, default=0, repr=False)
    """Glances in a row that showed nothing."""
    _period: int = field(init=False, default=FIRST, repr=False)
    _price: float = field(init=False, default=0.0, repr=False)
    """Seconds that a thought and a change take, as of the last look."""
    _stirred: int = field(init=False, default=0, repr=False)
    """The number of events when the feed was last found to have become different."""
    _stirring: bool = field(init=False, default=False, repr=False)
    """It has, and there was no thought since."""
    _doubt: float = field(init=False, default=1.0, repr=False)
    """Times ``drift`` by which something has to move."""
    _rate: float = field(init=False, default=0.0, repr=False)
    """Seconds an event at the last look."""
    _later: int | None = field(init=False, default=None, repr=False)
    """Events that a feed has to have been the same for a change to pay that was thought of."""
    _turned: int = field(init=False, default=0, repr=False)
    """The number of events at which windows have turned over since feed or plan became another."""
    _waiting: bool = field(init=False, default=False, repr=False)
    """A thought was put off: it could not have paid yet."""
    work: tuple[float, float] | None = field(init=False, default=None, repr=False)

    @account.default
    def _opened(self) -> Account:
        return Account(self.overhead, self.regret)

    @property
    def period(self) -> int | None:  # type: ignore[override]
        """Events until it glances again."""
        return self._period

    def begin(self, names: tuple[str, ...], seed: int) -> None:
        self._known = self._again = self._change = self.work = None
        self._moved, self._filled, self._considered, self._calm, self._uneventful = False, False, False, 1, 0
        self._worked = self._beyond = self._latest = self._earliest = 0.0
        self._jitter = self._last = 0.0
        self._strictness, self._period = 1.0, min(self.every, FIRST)
        self._barred, self._arrived, self._seen, self._stirred = {}, (), 0, 0
        self._price, self._doubt, self._stirring, self._waiting, self._later = 0.0, 1.0, False, False, None
        self._turned = 0
        self.account = self._opened()

    def wants(self, glance: Glance) -> bool:
        """Whether to look closer."""
        if not self._filled:
            before = self._arrived or (0,) * len(glance.arrivals)
            self._arrived = tuple(map(sum, zip(before, glance.arrivals, strict=True)))
        known = self._known
        if known is None or not glance.events:
            return bool(glance.events)
        jitter = SHAKEN * self._jitter
        self._shake(glance, known)
        self._seen += glance.events
        beyond = known.seconds_beyond(glance, self.model)
        worked = self._worked + self._rate * glance.events
        due = self._again is not None and self._seen >= self._again
        if worked >= self._latest or (due and worked >= self._earliest):
            return True
        news = (
            beyond > 0.0 or not self._stirring
        )  # that it is another is known by then: only worse would be news
        if news and worked >= self._earliest and known.differs(glance, self.drift, self.model, jitter):
            return True
        self._worked = worked
        self._beyond += beyond
        self._uneventful += 1
        self._pace(self._seen, known)
        return False

    def _shake(self, glance: Glance, known: Profile) -> None:
        """By how much matches per event differ from one glance to the next, on average. One that is far off counts as
        less: it may be a new time, not chance."""
        before, self._last = self._last, glance.matches / max(1, glance.events)
        most = 2 * self._jitter + known.matches_in(0.02 * known.seconds, self.model)
        self._jitter += (min(abs(self._last - before), most) - self._jitter) / 4

    def choose(self, view: View) -> Choice | None:
        """A cheaper plan, if there is one and the change pays."""
        self._seen = view.events
        choice = self._look(view)
        self.work = None
        if self._known is not None:
            self._pace(view.events, self._known)
        return choice

    def _pace(self, events: int, known: Profile) -> None:
        """When to glance again: sooner where a thought is due, but not before it can be paid for; later where nothing
        has happened for long. A plan that begins to make many more matches is seen at once in any case."""
        most = self.every * next(times for glances, times in RESTFUL if self._uneventful >= glances)
        soon = most if self._again is None else self._again - events
        if self._stirring:  # it may become urgent at any time
            soon = min(soon, FIRST // 2)
        if soon <= 0:
            soon = int(min((self._earliest - self._worked) / max(self._rate, 1e-12), float(most)))
        self._period = min(most, max(soon, FIRST // 4))
        self.work = known.matches_in(self._price / 4, self.model), known.all_matches

    def _look(self, view: View) -> Choice | None:
        model, n = self.model, len(view.graph.names)
        worked, price = seconds_spent(view, model), model.think + n * (n - 1) * model.sample
        now, jitter = Profile.of(view, worked), SHAKEN * self._jitter
        beyond = now.beyond(self._known, model, jitter)
        self._price, self._rate = price + len(view.steps) * model.change, now.seconds
        self.account.earn(self._worked + worked, price, self._beyond + beyond)
        first = self._again is None and self._known is None
        filled, self._filled = self._filled, not self._filling(view)  # and from then on they are
        drifted = self._notice(view, now, jitter, filled)
        # Most that is new is seen when windows have turned over; but not where waiting costs more than a change.
        urgent = drifted and beyond / now.events * turnover(view) >= self._price
        due = self._again is not None and view.events >= self._again
        if due and self._considered and self._change is None and not drifted and not self._waiting:
            due, self._again, self._stirring = False, None, False  # all is as it was
        called = urgent or due or first
        worth = urgent or self._worthwhile(view, now)
        if due and not worth:
            self._put_off(view, now)
        called = called and worth
        self.account.look(self._look_price(view), called or self._moved)
        thinks = worth and self.account.think(price, called, urgent)
        self._plan_ahead(view, now, price if called and not thinks else 0.0, beyond / max(worked, 1e-12))
        if not thinks:
            return None
        self._considered, self._later = filled, None
        if drifted:  # what a change brought can no longer be told from what the feed has brought
            self._change = None
        # What is seen while windows turn over holds until they have.
        turned = first or view.events >= self._turned
        horizon = self._horizon(view) if turned else self._turned - view.events
        choice = self._think(view, now, horizon)
        self._settle(now)
        if choice is None and self._later is None and drifted:
            self._doubt = min(2 * self._doubt, DOUBT)
        self._think_again(view, now, choice)
        return choice

    def _notice(self, view: View, now: Profile, jitter: float, filled: bool) -> bool:
        """Whether the feed has become another. It will have shown what it is when the windows have turned over."""
        begins = self._known is None or self._known.plan != view.plan or not filled
        drifted = False
        if self._known is None or begins:
            self._settle(now)
        else:
            drifted = self._drifted(now.drift(self._known, self.model, jitter))
        if begins or (drifted and not self._stirring):
            self._stirring, self._stirred = drifted, view.events
            self._turned = view.events + turnover(view)
            if self._again is None or not filled:
                self._again = self._turned
            self._again = min(self._again, self._turned)
        return drifted

    def _think_again(self, view: View, now: Profile, choice: Choice | None) -> None:
        """When: until the windows have turned over, as often as the plan takes as long as it costs; then if a change
        that was thought of begins to pay."""
        if choice is not None:
            self._known, self._doubt = None, 1.0
            self._period = min(self.every, FIRST // 2)
            self._turned = view.events + turnover(view)
        self._again = None
        if view.events < self._turned:
            spent = self._spent(view, now) - (choice.believed_gain or 0.0 if choice is not None else 0.0)
            self._again = min(self._turned, view.events + int(self._price / max(spent, 1e-12)))
        elif self._later is not None:
            self._wait(self._later)

    def _horizon(self, view: View) -> int:
        """Events within which a change has to pay: a feed that has been the same for long will be for as long again."""
        return max(turnover(view), self.every, view.events - self._stirred)

    def _worthwhile(self, view: View, now: Profile) -> bool:
        """Whether a thought, and a change, can pay: no other plan can save more than this one takes."""
        return self._spent(view, now) * self._horizon(view) > self._price

    def _spent(self, view: View, now: Profile) -> float:
        """Seconds an event that the steps of the plan take."""
        return max(now.seconds - self.model.overhead(view), 1e-12)

    def _put_off(self, view: View, now: Profile) -> None:
        """Think when the feed has been the same for so long that it may pay."""
        self._settle(now)
        self._change = None
        self._wait(int(self._price / self._spent(view, now)))

    def _wait(self, events: int) -> None:
        """Think when the feed has been the same for so many events."""
        self._again, self._waiting = self._stirred + events + events // 8 + 1, True

    def _filling(self, view: View) -> bool:
        """No row has left its window yet: that there are more than before is no news."""
        rows = zip(view.live.values(), self._arrived, strict=False)
        return not self._filled and bool(self._arrived) and all(live >= arrived for live, arrived in rows)

    def _look_price(self, view: View) -> float:
        return self.model.look * (LOOK + len(view.steps))

    def _plan_ahead(self, view: View, now: Profile, wanted: float, beyond: float) -> None:
        """When to look again, at the latest and at the earliest; ``wanted``: what a thought costs that something called
        for, but that could not be paid for yet; ``beyond``: the share of the time that is more than was expected."""
        look = self._look_price(view)
        self._worked = self._beyond = 0.0
        self._earliest = self.account.wait(look + wanted, True, beyond)
        self._latest = max(self._calm * self.every * now.seconds, self.account.wait(look, False))
        if wanted:
            self._latest = self._earliest

    def _drifted(self, share: float) -> bool:
        """Whether the feed has changed: by much, or twice in a row by a little. In calm it looks ever more rarely."""
        if share <= self._doubt * self.drift:
            self._moved = False
            if self._calm == CALM:
                self._doubt = max(1.0, self._doubt / 2)
            self._calm = min(2 * self._calm, CALM)
            return False
        before, self._moved = self._moved, True
        self._calm, self._uneventful = 1, 0
        return before or share > SUDDEN

    def _settle(self, now: Profile) -> None:
        """Compare with this from now on."""
        if self._known is None or self._known.plan != now.plan:
            self._jitter, self._last, self._uneventful = 0.0, now.all_matches, 0
        self._known = now
        self._moved = self._stirring = self._waiting = False

    def _think(self, view: View, now: Profile, horizon: int) -> Choice | None:
        believed = estimate(view)
        if self._change is not None and view.events >= self._turned:
            self._judge(view, believed)
        plan, _ = best(believed, self.model, self.shape, view.pinned)
        if same(plan, view.plan, view.graph) or self._barred.get(plan, 0) > view.events:
            return None
        if not self.account.solvent or self._deal(view, now, plan, believed, horizon) is None:
            return None
        # What the new plan would make is sampled before it is believed; what its own makes was counted.
        believed = verify(believed, view, plan).knowing(count(view))
        return self._deal(view, now, plan, believed, horizon)

    def _deal(self, view: View, now: Profile, plan: str, believed: Estimate, horizon: int) -> Choice | None:
        """The change to a plan, if it pays."""
        cost, cheaper = (cost_of(p, believed, self.model) for p in (view.plan, plan))
        part = changing_seconds(view.plan, plan, believed, self.model)
        # The steps of the plan were counted: what an estimate says beyond that is no gain.
        spent = max(0.0, now.seconds - self.model.overhead(view))
        saved = (cost - cheaper) * min(1.0, spent / cost)
        price = moving_seconds(view.plan, plan, believed, self.model, view.migration, horizon)
        if saved <= self.gain * self._strictness * part:
            return None
        if saved * horizon <= price:
            self._later = int(price / saved)
            return None
        self._change = Change(view.plan, plan, saved, price, horizon)
        reason = (
            f"{1e9 * cost:.0f} ns an event become {1e9 * cheaper:.0f}; "
            f"the change, {1e3 * price:.1f} ms, is paid back after {price / saved:,.0f} events"
        )
        return Choice(plan, reason, cost, saved)

    def _judge(self, view: View, believed: Estimate) -> None:
        """The windows have turned over since a change: has it brought what was believed?"""
        change, self._change = self._change, None
        if change is None or change.plan != view.plan:
            return
        former, now = (cost_of(plan, believed, self.model) for plan in (change.former, change.plan))
        self.account.lose(max(0.0, change.price - (former - now) * change.horizon))
        if former - now >= change.saved / 2:
            self._strictness = max(1.0, self._strictness / FORGET)
            return
        self._strictness = min(STRICTEST, self._strictness * FORGET)
        self._barred = {p: until for p, until in self._barred.items() if until > view.events}
        self._barred[change.plan] = view.events + int(self._strictness * turnover(view))


def turnover(view: View) -> int:
    """Events in which the windows turn over: those of time when as many have come as rows are live, others on average.
    (A stream that has fallen silent tells nothing by its own arrivals.)"""
    return sum(view.live.values()) + 1
