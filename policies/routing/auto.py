"""Choose the plan by what it would cost, and change only where that pays."""

from __future__ import annotations

from attrs import define, field, validate

from policies.optimizer.measure import seconds_spent
from policies.optimizer.model import CostModel
from policies.optimizer.search import SHAPES
from policies.options import instance, number, one_of, whole
from policies.routing.account import Account
from policies.routing.attention import FIRST, Attention
from policies.routing.base import Choice, Routing
from policies.routing.hindsight import Clock, Hindsight, back
from policies.routing.meter import measured
from policies.routing.profile import Profile
from policies.routing.thought import Thought, turnover
from policies.routing.trial import Trials
from policies.view import Glance, View

LOOK = 12
"""Steps in whose time a look is taken, apart from those of the plan."""
PORTION = 5e-4
"""Seconds for which it thinks at a time, at the least."""
MODEST = 0.3
"""A change that is to save a smaller share than this waits until it is measured what the plan takes that it leaves."""


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
    the cost model's, but where a change is judged: by the clock no two runs would decide alike. A thought is cut into
    portions, each about as long as a batch.

    *What it thinks.* Fan-outs of pairs by index sampling, whether the plan joins them or not; composites of the plan
    itself as counted; the cheapest plan by dynamic programming over trees and orderings, and from there by keeping or
    dropping one composite after the other; and what that plan would make is sampled again, step by step, before it is
    believed.

    *When it acts.* If the part of the plan that would change gets cheaper by a share of ``gain``, and the change is
    paid back before it looks again, before the windows turn over, or in as many events as the feed has been the same.
    When the windows have turned over the change is judged, by what is known of
    both plans by now. If it did not bring half of what was believed, twice the gain is asked for from then on, and the
    plan has to wait; and what it cost beyond what it brought is a loss. No change is made while losses are more than a
    share of ``regret`` of all time.

    *When it goes back.* Where the clock says that the change made things slower, by a share and by nanoseconds: see
    `policies.routing.hindsight`. ``clock`` tells the seconds that batches took, from what the policy is shown.

    So there is a bound on what a wrong model, or a feed that mocks it, can cost: see
    `policies.routing.account`.
    """

    every: int = field(default=65_536, validator=whole(1))
    gain: float = field(default=0.1, validator=number(least=0, below=1))
    drift: float = field(default=0.1, validator=number(above=0))
    overhead: float = field(default=0.003, validator=number(above=0))
    shape: str = field(default="any", validator=one_of(SHAPES))
    model: CostModel = field(factory=CostModel, repr=False, validator=instance(CostModel))
    regret: float = field(default=0.05, validator=number(least=0))
    clock: Clock = field(default=measured, repr=False)
    account: Account = field(init=False, repr=False)
    _attention: Attention = field(init=False, repr=False)
    _trials: Trials = field(init=False, factory=Trials, repr=False)
    _hindsight: Hindsight = field(init=False, repr=False)
    _thinking: bool = field(init=False, default=False, repr=False)
    """A thought is under way, or done and waits for the clock."""
    _thought: Thought | None = field(init=False, default=None, repr=False)
    """None in a copy of a policy that is thinking, which begins anew."""
    _budget: float = field(init=False, default=PORTION, repr=False)
    """Seconds for which it thinks at a time: about as long as a batch takes."""
    _known: Profile | None = field(init=False, default=None, repr=False)
    """As at the last decision; None until the plan has run for a while."""
    _again: int | None = field(init=False, default=None, repr=False)
    """The number of events at which it thinks, if anything can come of it."""
    _seen: int = field(init=False, default=0, repr=False)
    """The number of events at the last glance."""
    _arrived: tuple[int, ...] = field(init=False, default=(), repr=False)
    """Rows of each stream so far."""
    _filled: bool = field(init=False, default=False, repr=False)
    """At the last look some row had left its window: from then on counts can be compared."""
    _considered: bool = field(init=False, default=False, repr=False)
    """It has thought when windows were full."""
    _price: float = field(init=False, default=0.0, repr=False)
    """Seconds that a thought and a change take, as of the last look."""
    _stirred: int = field(init=False, default=0, repr=False)
    """The number of events when the feed was last found to have become different."""
    _stirring: bool = field(init=False, default=False, repr=False)
    """It has, and there was no thought since."""
    _later: int | None = field(init=False, default=None, repr=False)
    """Events that a feed has to have been the same for a change to pay that was thought of."""
    _turned: int = field(init=False, default=0, repr=False)
    """The number of events at which windows have turned over since feed or plan became another."""
    _waiting: bool = field(init=False, default=False, repr=False)
    """A thought was put off: it could not have paid yet."""

    @account.default
    def _opened(self) -> Account:
        validate(self)  # attrs does so only when what is made of the options has been made
        return Account(self.overhead, self.regret)

    @_attention.default
    def _awake(self) -> Attention:
        return Attention(self.every, self.drift, self.model)

    @_hindsight.default
    def _blank(self) -> Hindsight:
        return Hindsight(self.clock)

    @property
    def period(self) -> int | None:  # type: ignore[override]
        """Events until it glances again."""
        return self._attention.period

    @property
    def work(self) -> tuple[float, float] | None:  # type: ignore[override]
        """Matches until it does so at once."""
        return self._attention.work

    def begin(self, names: tuple[str, ...], seed: int) -> None:
        self._known = self._again = self._later = None
        self._filled = self._considered = self._stirring = self._waiting = self._thinking = False
        self._arrived, self._seen, self._stirred, self._turned, self._price = (), 0, 0, 0, 0.0
        self._thought, self._budget, self._hindsight = None, PORTION, self._blank()
        self.account, self._attention, self._trials = self._opened(), self._awake(), Trials()

    def wants(self, glance: Glance) -> bool:
        """Whether to look closer. Thoughts are worked at here: until one is done, no view is needed.

        Two streams have one plan: there is nothing to choose, nor to sample.
        """
        if len(glance.arrivals) < 3:
            return False
        if not self._filled:
            before = self._arrived or (0,) * len(glance.arrivals)
            self._arrived = tuple(map(sum, zip(before, glance.arrivals, strict=True)))
        self._hindsight.glance(glance)
        if self._wants(glance):
            return True
        self._hindsight.passed()
        return False

    def _wants(self, glance: Glance) -> bool:
        if self._known is None or not glance.events:
            return bool(glance.events)
        self._seen += glance.events
        if self._thinking:
            self._attention.worked += self._attention.rate * glance.events
            if self._thought is None:
                return True
            if self._go_on(self._thought):
                if self._thought.choice is not None:
                    return True
                self._conclude(self._thought, self._seen)
                self._attend(self._seen)
            return False
        if self._hindsight.regrets(self._seen, self._turned):
            return True
        until = None if self._again is None else self._again - self._seen
        self._attention.measuring = self._hindsight.reading is not None
        return self._attention.caught(glance, self._known, until, self._stirring)

    def choose(self, view: View) -> Choice | None:
        """A cheaper plan, if there is one and the change pays."""
        new = self._hindsight.view(view)
        self._seen, thought, choice = view.events, self._thought, None
        if thought is not None and (thought.view.plan, thought.view.pinned) == (view.plan, view.pinned):
            if new:
                self._attention.worked += self._attention.rate * sum(view.arrivals.values())
            choice = self._conclude(thought, view.events) if self._go_on(thought) else None
        else:
            self._thought, self._thinking = None, False
            choice = self._take_back(view) or self._look(view)
        if not self._thinking:
            self._attention.work = None
            self._attend(view.events)
        return choice

    def _attend(self, events: int) -> None:
        """Nothing is left to be done now: it glances again when it is time."""
        if self._known is not None:
            self._attention.measuring = self._hindsight.reading is not None
            self._attention.look(self._known, self._price)
            self._attention.pace(None if self._again is None else self._again - events, self._stirring)

    def _look(self, view: View) -> Choice | None:
        model, price = self.model, self._thought_price(view)
        worked = seconds_spent(view, model)
        now, attention = Profile.of(view, worked, model), self._attention
        beyond = now.beyond(self._known, attention.jitter)
        self._price, attention.rate = price + len(view.steps) * model.change, now.seconds
        self.account.earn(attention.worked + worked, price, attention.beyond + beyond)
        first = self._again is None and self._known is None
        filled, self._filled = self._filled, not self._filling(view)  # and from then on they are
        drifted = self._notice(view, now, filled)
        # Most that is new is seen when windows have turned over; but not where waiting costs more than a change.
        urgent = drifted and beyond / now.events * turnover(view) >= self._price
        due = self._again is not None and view.events >= self._again
        if due and self._considered and self._trials.change is None and not drifted and not self._waiting:
            due, self._again, self._stirring = False, None, False  # all is as it was
        called = urgent or due or first
        worth = urgent or self._worthwhile(view, now)
        if due and not worth:
            self._put_off(view, now)
        called = called and worth
        self.account.look(self._look_price(view), called or attention.moved)
        thinks = worth and self.account.think(price, called, urgent)
        self._plan_ahead(view, now, price if called and not thinks else 0.0, beyond / max(worked, 1e-12))
        if not thinks:
            return None
        self._considered = filled
        if drifted:  # what a change brought can no longer be told from what the feed has brought
            self._trials.change = None
            self._hindsight.forget()
        return self._begin_thought(view, now, drifted, first)

    def _begin_thought(self, view: View, now: Profile, drifted: bool, first: bool) -> Choice | None:
        """Think for as long as a batch takes; what is left is done when it is asked again."""
        # What is seen while windows turn over holds until they have.
        turned = first or view.events >= self._turned
        horizon = self._horizon(view) if turned else self._turned - view.events
        judging = self._trials.change is not None and view.events >= self._turned
        given = self.model, self.shape, self.gain, self._trials, self.account
        thought = self._thought = Thought(view, now, horizon, drifted, judging, *given)
        self._thinking, self._budget = True, max(PORTION, now.seconds * view.batch)
        return self._conclude(thought, view.events) if self._go_on(thought) else None

    def _go_on(self, thought: Thought) -> bool:
        """Think on; whether it is done, and may be acted upon."""
        was_done = thought.done
        if not thought.work(self._budget):
            self._attention.think(self._budget)
            return False
        choice, meter = thought.choice, self._hindsight.meter
        if choice is None or (choice.believed_gain or 0.0) >= MODEST * thought.now.seconds:
            return True
        if not was_done:  # whether so little was gained will be seen only if it is known what there was
            meter.renew()
        self._attention.think(FIRST // 2 * self._attention.rate)
        return meter.ready

    def _conclude(self, thought: Thought, events: int) -> Choice | None:
        """A thought is done: what it has come to."""
        choice, view, self._later = thought.choice, thought.view, thought.later
        self._thought, self._thinking = None, False
        self.account.charge(max(0.0, thought.spent - self._thought_price(view)))
        self._settle(thought.now)
        if choice is None and self._later is None and thought.drifted:
            self._attention.fruitless()
        self._think_again(view, events, thought.now, choice)
        if thought.change is not None and choice is not None:
            self._trials.change = thought.change
            self._hindsight.begin(thought.change, thought.now, events, view.pinned)
        return choice

    def _take_back(self, view: View) -> Choice | None:
        """Back to the former plan, if the clock says that it was faster."""
        if not self._hindsight.regrets(view.events, self._turned):
            return None
        now = Profile.of(view, seconds_spent(view, self.model), self.model)
        verdict = self._hindsight.verdict(view, now, self.drift)
        if verdict is None:
            return None
        reading, after = verdict
        more = after - reading.before
        self._trials.refute(reading.change, more / reading.before, view.events, turnover(view))
        self.account.lose(reading.change.price + more * (view.events - reading.events))
        self._hindsight.forget()
        choice = back(reading, after)
        self._think_again(view, view.events, now, choice)
        self._again = self._turned
        return choice

    def _thought_price(self, view: View) -> float:
        n = len(view.graph.names)
        return self.model.think + n * (n - 1) * self.model.sample

    def _notice(self, view: View, now: Profile, filled: bool) -> bool:
        """Whether the feed has become another. It will have shown what it is when the windows have turned over."""
        begins = self._known is None or self._known.plan != view.plan or not filled
        drifted = False
        if self._known is None or begins:
            self._settle(now)
        else:
            drifted = self._attention.drifted(now.drift(self._known, self.model, self._attention.jitter))
        if begins or (drifted and not self._stirring):
            self._stirring, self._stirred = drifted, view.events
            self._turned = view.events + turnover(view)
            if self._again is None or not filled:
                self._again = self._turned
            self._again = min(self._again, self._turned)
        return drifted

    def _think_again(self, view: View, events: int, now: Profile, choice: Choice | None) -> None:
        """When: until the windows have turned over, as often as the plan takes as long as it costs; then if a change
        that was thought of begins to pay."""
        if choice is not None:
            self._known = None
            self._attention.doubt, self._attention.period = 1.0, min(self.every, FIRST // 2)
            self._turned = events + turnover(view)
        self._again = None
        if events < self._turned:
            spent = self._spent(view, now) - (choice.believed_gain or 0.0 if choice is not None else 0.0)
            wait = int(self._price / max(spent, 1e-12))
            if self._later is not None:
                # Until windows have turned over it can pay less and less: a few times only.
                wait, self._waiting = max(wait, (self._turned - events + 1) // 2), True
            self._again = min(self._turned, events + wait)
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
        self._trials.change = None
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
        look, attention = self._look_price(view), self._attention
        attention.worked = attention.beyond = 0.0
        attention.earliest = self.account.wait(look + wanted, True, beyond)
        attention.latest = max(attention.calm * self.every * now.seconds, self.account.wait(look, False))
        if wanted:
            attention.latest = attention.earliest

    def _settle(self, now: Profile) -> None:
        """Compare with this from now on."""
        if self._known is None or self._known.plan != now.plan:
            self._attention.renew(now)
        self._known = now
        self._attention.moved = self._stirring = self._waiting = False
