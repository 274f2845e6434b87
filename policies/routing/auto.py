"""Choose the plan by what it would cost, and change only where that pays."""

from __future__ import annotations

import math
from collections.abc import Mapping

from attrs import define, field, frozen, validators

from policies.optimizer.estimate import Estimate
from policies.optimizer.measure import count, estimate, seconds_spent, verify
from policies.optimizer.model import CostModel
from policies.optimizer.moving import changing_seconds, moving_seconds, same
from policies.optimizer.search import SHAPES, best, cost_of
from policies.routing.base import Choice, Routing
from policies.routing.view import View

FIRST = 8192
"""Events after which it looks for the first time."""
CALM = 8
"""Times as many events it lets go by without a look while nothing changes."""
SUDDEN = 0.5
"""A change by this share is no chance."""
NOISE = 4.0
"""Standard deviations by which a count has to differ to be worth a thought."""
URGENT = 0.15
"""The share of the time that thinking may take while the feed is changing."""
FORGET = 2.0
"""By how much the gain asked for changes with every change of plan that brought nothing, and back with one that did."""
STRICTEST = 16.0


@frozen(eq=False)
class Profile:
    """What the feed was like when a plan was last chosen or confirmed: per event, so that periods compare."""

    plan: str
    rates: Mapping[str, float]
    live: Mapping[str, int]
    matches: Mapping[tuple[tuple[str, ...], tuple[str, ...]], float]
    """Of each step."""
    events: int
    """In how many this was seen."""
    seconds: float
    """What an event took, by the model."""

    @staticmethod
    def of(view: View, seconds: float) -> Profile:
        events = max(1, sum(view.arrivals.values()))
        return Profile(
            view.plan,
            {name: n / events for name, n in view.arrivals.items()},
            view.live,
            {(step.source, step.target): step.matches / events for step in view.steps},
            events,
            seconds / events,
        )

    def drift(self, other: Profile, model: CostModel) -> float:
        """By what share it differs: in rates, in live rows, or in what its matches cost."""
        most = sum(abs(rate - other.rates[name]) for name, rate in self.rates.items())
        for name, live in self.live.items():
            most = max(most, (abs(live - other.live[name]) - 64) / max(live, other.live[name], 1))
        moved = 0.0
        for step, matches in self.matches.items():
            before = other.matches.get(step, 0.0)
            noise = NOISE * (math.sqrt(matches / self.events) + math.sqrt(before / other.events))
            width = len(step[0]) + len(step[1])
            each = model.match + model.insert + model.byte * (12 + 4 * width)
            moved += max(0.0, abs(matches - before) - noise) * each
        return max(most, moved / max(self.seconds, other.seconds, 1e-12))


@define(eq=False)
class Auto(Routing):
    """Ours, and the default: index sampling, a cost model fitted to our kernels, and a change only if it pays.

    *When it thinks.* It looks every ``every`` events, up to eight times as rarely while nothing happens, but at once
    where the plan makes many more matches than it did. A look compares what the steps of the plan count with the time
    of the last decision (not of the last look, or slow drift would hide). Where nothing has moved by more than a share
    of ``drift``, two looks in a row, that is all, but for a thought now and then, as often as a share of ``overhead``
    of the time allows. Time is the cost model's: by the clock no two runs would decide alike.

    *What it thinks.* Fan-outs of pairs by index sampling, whether the plan joins them or not; composites of the plan
    itself as counted; the cheapest tree or orderings by dynamic programming; and what that plan would make is sampled
    again, step by step, before it is believed.

    *When it acts.* If the part of the plan that would change gets cheaper by a share of ``gain``, and the change is
    paid back before it looks again, or before the windows turn over. After a change that did not bring what was
    believed it asks for twice the gain, and the plan has to wait: so a model that is wrong costs a few changes, not one
    after another.
    """

    every: int = field(default=65_536, validator=validators.ge(1))
    gain: float = field(default=0.1, validator=[validators.ge(0.0), validators.lt(1.0)])
    drift: float = field(default=0.1, validator=validators.gt(0.0))
    overhead: float = field(default=0.003, validator=validators.gt(0.0))
    shape: str = field(default="any", validator=validators.in_(SHAPES))
    model: CostModel = field(factory=CostModel, repr=False)
    _known: Profile | None = field(init=False, default=None, repr=False)
    """As at the last decision; None until the plan has run for a while."""
    _since: float = field(init=False, default=math.inf, repr=False)
    """Seconds of work since it last thought."""
    _again: int | None = field(init=False, default=None, repr=False)
    """The number of events at which it thinks in any case: the windows have turned over since the last decision."""
    _strictness: float = field(init=False, default=1.0, repr=False)
    _believed: tuple[float, str] | None = field(init=False, default=None, repr=False)
    """What an event may take after the last change if half of what was believed is true, and its plan."""
    _barred: dict[str, int] = field(init=False, factory=dict, repr=False)
    """Plans that disappointed, and until when they wait."""
    _moved: bool = field(init=False, default=False, repr=False)
    """The last look found the feed a little different."""
    _period: int = field(init=False, default=FIRST, repr=False)
    work: int | None = field(init=False, default=None, repr=False)

    @property
    def period(self) -> int | None:  # type: ignore[override]
        """Events until it looks again."""
        return self._period

    def begin(self, names: tuple[str, ...], seed: int) -> None:
        self._known = self._again = self._believed = None
        self._moved, self.work = False, None
        self._since, self._strictness, self._period = math.inf, 1.0, min(self.every, FIRST)
        self._barred = {}

    def choose(self, view: View) -> Choice | None:
        """A cheaper plan, if there is one and the change pays."""
        choice = self._look(view)
        self.work = None
        if self._known is not None:
            expected = sum(self._known.matches.values()) * self._period
            self.work = int(1.5 * expected) + self.every // 2
        return choice

    def _look(self, view: View) -> Choice | None:
        model, n = self.model, len(view.graph.names)
        worked = seconds_spent(view, model)
        self._since += worked
        now = Profile.of(view, worked)
        drifted = False
        if self._known is None or self._known.plan != view.plan:  # it has just begun
            self._settle(now)
            if self._again is None:
                self._again = view.events + turnover(view)
        else:
            drifted = self._drifted(now.drift(self._known, model))
        due = self._again is not None and view.events >= self._again
        price = n * (n - 1) * model.sample
        if self._since * (URGENT if drifted or due else self.overhead) < price:
            return None
        self._since = 0.0
        if due:
            self._again = None
            self._judge(now, view)
        choice = self._think(view, now, max(turnover(view), self.every))
        self._settle(now)
        if choice is not None or drifted:
            self._again = view.events + turnover(view)
        if choice is not None:
            self._known = None
            self._period = min(self.every, FIRST)
        elif drifted:
            self._period = self.every
        return choice

    def _drifted(self, share: float) -> bool:
        """Whether the feed has changed: by much, or twice in a row by a little. In calm it looks ever more rarely."""
        if share <= self.drift:
            self._moved = False
            self._period = min(2 * self._period, CALM * self.every)
            return False
        before, self._moved = self._moved, True
        self._period = self.every
        return before or share > SUDDEN

    def _settle(self, now: Profile) -> None:
        """Compare with this from now on."""
        self._known = now
        self._moved = False

    def _think(self, view: View, now: Profile, horizon: int) -> Choice | None:
        believed = estimate(view)
        plan, _ = best(believed, self.model, self.shape, view.pinned)
        if same(plan, view.plan, view.graph) or self._barred.get(plan, 0) > view.events:
            return None
        if self._deal(view, now, plan, believed, horizon) is None:
            return None
        # What the new plan would make is sampled before it is believed; what its own makes was counted.
        believed = verify(believed, view, plan).knowing(count(view))
        return self._deal(view, now, plan, believed, horizon)

    def _deal(self, view: View, now: Profile, plan: str, believed: Estimate, horizon: int) -> Choice | None:
        """The change to a plan, if it pays."""
        cost, cheaper = (cost_of(p, believed, self.model) for p in (view.plan, plan))
        part = changing_seconds(view.plan, plan, believed, self.model)
        # The steps of the plan were counted: what an estimate says beyond that is no gain.
        spent = max(0.0, now.seconds - self.model.overhead(believed))
        saved = (cost - cheaper) * min(1.0, spent / cost)
        price = moving_seconds(view.plan, plan, believed, self.model, view.migration, horizon)
        if saved <= self.gain * self._strictness * part or saved * horizon <= price:
            return None
        self._believed = now.seconds - saved / 2, plan
        reason = (
            f"{1e9 * cost:.0f} ns an event become {1e9 * cheaper:.0f}; "
            f"the change, {1e3 * price:.1f} ms, is paid back after {price / saved:,.0f} events"
        )
        return Choice(plan, reason, cost, saved)

    def _judge(self, now: Profile, view: View) -> None:
        """The windows have turned over since a change: has it brought what was believed?"""
        if self._believed is None:
            return
        (most, plan), self._believed = self._believed, None
        if plan != view.plan:
            return
        if now.seconds <= most:
            self._strictness = max(1.0, self._strictness / FORGET)
            return
        self._strictness = min(STRICTEST, self._strictness * FORGET)
        self._barred = {p: until for p, until in self._barred.items() if until > view.events}
        self._barred[plan] = view.events + int(self._strictness * turnover(view))


def turnover(view: View) -> int:
    """Events in which the windows turn over."""
    events = max(1, sum(view.arrivals.values()))
    turns = [view.live[name] * events / n for name, n in view.arrivals.items() if n]
    return int(max(turns, default=0.0)) + 1
