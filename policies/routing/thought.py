"""A thought of `Auto`: from a view to a cheaper plan, in portions, so that rows need not wait for it."""

from __future__ import annotations

from typing import Any

from attrs import define, field

from policies.migration.pricing import Manner, change_seconds
from policies.optimizer.estimate import Estimate
from policies.optimizer.measure import count, estimating, verifying
from policies.optimizer.model import CostModel
from policies.optimizer.moving import changing_seconds
from policies.optimizer.portions import Pieces, Portions, reckoned
from policies.optimizer.rivals import Rivals
from policies.optimizer.search import search
from policies.optimizer.steps import steps_of
from policies.routing.account import Account
from policies.routing.base import Choice
from policies.routing.content import cost_with, driven, splits_in, splitting
from policies.routing.profile import Profile
from policies.routing.trial import Change, Trials
from policies.view import View

STEPS = 4
"""Sets of streams in whose time a step of a plan is dealt with."""


@define(eq=False)
class Thought:
    """One thought, which is begun with a view, worked at, and done.

    A copy of it is None: it holds on to the engine that it thinks of. Whoever copies a policy that is thinking begins
    the thought anew.
    """

    view: View
    now: Profile
    horizon: int
    """Events within which a change has to pay."""
    drifted: bool
    """It was called for by a feed that has become another."""
    judging: bool
    """The windows have turned over since the last change: it is judged."""
    model: CostModel
    shape: str
    gain: float
    trials: Trials
    account: Account
    later: int | None = field(init=False, default=None)
    """Events that a feed has to have been the same for a change to pay that was thought of."""
    change: Change | None = field(init=False, default=None)
    """The change that was chosen."""
    _portions: Portions[Choice | None] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._portions = Portions(self._think())

    def __reduce__(self) -> tuple[Any, ...]:
        return _forgotten, ()

    def work(self, budget: float) -> bool:
        """Go on for about so many seconds; whether it is done."""
        return self._portions.work(budget)

    @property
    def done(self) -> bool:
        return self._portions.done

    @property
    def choice(self) -> Choice | None:
        """What it has come to."""
        return self._portions.found

    @property
    def spent(self) -> float:
        """Seconds that it took, as they were reckoned."""
        return self._portions.spent

    def _think(self) -> Pieces[Choice | None]:
        view = self.view
        believed = yield from estimating(view)
        if self.judging:
            yield from self._judge(believed)
        plan, _ = yield from search(believed, self.model, self.shape, view.pinned)
        choice = yield from self._consider(plan, believed)
        if choice is None and (not self.drifted or splits_in(view.plan)):
            # What kinds of rows there are is looked for in a calm feed: what can be done at once comes first.
            split = yield from splitting(plan, view, believed, self.model, self.shape, self.gain)
            if split is not None:
                choice = yield from self._consider(split, believed)
        return choice

    def _consider(self, plan: str, believed: Estimate) -> Pieces[Choice | None]:
        """The change to a plan, if it pays, also by a sample of what it would make."""
        view = self.view
        ours, theirs = steps_of(view.plan, view.graph), steps_of(plan, view.graph)
        yield reckoned(STEPS * len(theirs.steps), 0)
        same = ours.steps == theirs.steps and splits_in(view.plan) == splits_in(plan)
        if same or self.trials.barred(plan, view.events) or not self.account.solvent:
            return None
        choice = yield from self._deal(plan, believed)
        if choice is None:
            return None
        # What the new plan would make is sampled before it is believed; what its own makes was counted.
        believed = yield from verifying(believed, view, plan)
        return (yield from self._deal(plan, believed.knowing(count(view))))

    def _deal(self, plan: str, believed: Estimate) -> Pieces[Choice | None]:
        """The change to a plan, if it pays."""
        view, model, self.change = self.view, self.model, None
        piece = reckoned(STEPS * len(steps_of(plan, view.graph).steps), 0)
        cost = yield from cost_with(view.plan, view, believed, model)
        yield piece
        cheaper = yield from cost_with(plan, view, believed, model)
        yield piece
        part = changing_seconds(view.plan, plan, believed, model)
        ours, theirs = splits_in(view.plan), splits_in(plan)
        part += sum(
            driven(view.plan, name, believed, model)
            for name in {**ours, **theirs}
            if ours.get(name) != theirs.get(name)
        )
        yield piece
        # The steps of the plan were counted: what an estimate says beyond that is no gain.
        spent = max(0.0, self.now.seconds - model.overhead(view))
        saved = (cost - cheaper) * min(1.0, spent / max(cost, 1e-12))
        manner = Manner(view.beside, view.at_once)
        price = change_seconds(view.plan, plan, believed, model, manner, self.horizon)
        if saved <= self.gain * self.trials.strictness * part:
            return None
        if self.trials.refuted(plan, saved, self.now.seconds):
            return None
        if saved * self.horizon <= price:
            self.later = int(price / saved)
            return None
        self.change = Change(view.plan, plan, saved, price, self.horizon, self.now.seconds)
        way = "".join(
            f"; rows of {split.name} go by {split.column}: {len(split.values)} values one way, others another"
            for split in theirs.values()
        )
        reason = (
            f"{1e9 * cost:.0f} ns an event become {1e9 * cheaper:.0f}; "
            f"the change, {1e3 * price:.1f} ms, is paid back after {price / saved:,.0f} events{way}"
        )
        return Choice(plan, reason, cost, saved, rivals=None if theirs else Rivals(believed, model, plan))

    def _judge(self, believed: Estimate) -> Pieces[None]:
        """The windows have turned over since a change: has it brought what was believed?"""
        change, self.trials.change = self.trials.change, None
        if change is None or change.plan != self.view.plan:
            return
        former = yield from cost_with(change.former, self.view, believed, self.model)
        now = yield from cost_with(change.plan, self.view, believed, self.model)
        lost = self.trials.judge(change, former - now, self.view.events, turnover(self.view))
        self.account.lose(lost)


def turnover(view: View) -> int:
    """Events in which the windows turn over: those of time when as many have come as rows are live, others on average.
    (A stream that has fallen silent tells nothing by its own arrivals.)"""
    return sum(view.live.values()) + 1


def _forgotten() -> None:
    return None
