"""What the thesis' policies share: reading cardinalities, making plans with their ranges, and revising the ranges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, evolve, field, frozen

from policies.optimizer.estimate import Estimate
from policies.optimizer.measure import estimate, verify
from policies.optimizer.plans import flat, read, show, singles
from policies.optimizer.revision import outside, shifted
from policies.optimizer.thesis import Costs, Floats, Sets, StreamPlan, cost_of_order, plan_stream
from policies.optimizer.thesis_kernels import ALL_ALIKE
from policies.options import one_of

if TYPE_CHECKING:
    from policies.view import View

ABSENT = ("sample", "supersets")
"""Where cardinalities come from that the running plan does not show: index sampling, or Algorithm 2."""

VERIFIED = 3
"""How many times orders are verified and made again at the most."""

absent_field = field(default="sample", validator=one_of(ABSENT))


@frozen(eq=False)
class Reading:
    """The cardinalities of an interval."""

    live: Floats
    increments: Floats
    collected: dict[int, float]
    """Of what the steps made, by the bits of the streams: live composites, or, literally, matches in the interval."""

    def made(self, plan: StreamPlan) -> Floats:
        """What the steps of a stream's plan made, by number of streams; NaN where nothing was collected."""
        values = np.full(len(self.live) + 1, np.nan)
        both = 1 << plan.start
        for size, other in enumerate(plan.order[:-1], start=2):
            both |= 1 << other
            values[size] = self.collected.get(both, np.nan)
        return values


@define(eq=False)
class Reoptimizer:
    """The plans of all start-up streams, and their validity ranges."""

    absent: str = "sample"
    literal: bool = False
    """Cardinalities as the thesis defines them: see `policies.optimizer.thesis`."""
    plans: list[StreamPlan] = field(init=False, factory=list)
    _sets: Sets | None = field(init=False, default=None)
    _places: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[int, tuple[int, ...]]] = field(
        init=False, factory=dict
    )
    _last: Reading | None = field(init=False, default=None)
    _caps: Floats = field(init=False, factory=lambda: np.zeros(0))

    def can_plan(self, view: View) -> bool:
        """Whether no sub-plan is pinned: orderings have none."""
        return not view.pinned

    def sets(self, view: View) -> Sets:
        if self._sets is None or self._sets.graph != view.graph:
            self._sets = Sets(view.graph)
        return self._sets

    def text(self, view: View) -> str:
        """The plans as one, in the notation of the engine."""
        return text_of(self.plans, view)

    def read(self, view: View) -> Reading:
        """The cardinalities since the last view. What a step of a plan of orderings made is driven by one stream, what
        a step of a tree made by all that probed."""
        sets, names = self.sets(view), view.graph.names
        live = np.array([float(view.live[name]) for name in names])
        increments = np.array([float(view.arrivals[name]) for name in names])
        turns = (increments / np.maximum(live, 1.0)).tolist()
        lone = ":" in view.plan
        matches: dict[int, float] = {}
        turned: dict[int, float] = {}
        for step in view.steps:
            place = self._places.get((step.source, step.target))
            if place is None:
                drivers = step.source[:1] if lone else step.source
                place = sets.mask(step.source + step.target), tuple(map(names.index, drivers))
                self._places[step.source, step.target] = place
            both, by = place
            matches[both] = matches.get(both, 0.0) + step.matches
            turned[both] = turned.get(both, 0.0) + sum(turns[i] for i in by)
        if self.literal:
            return Reading(live, increments, matches)
        cards = {both: matches[both] / turn for both, turn in turned.items() if turn > 0.0}
        return Reading(live, increments, cards)

    def regenerate(
        self, view: View, reading: Reading, starts: Iterable[int], gain: float = 0.0, least: float = 0.0
    ) -> bool:
        """The regeneration path: new plans for these streams, with fresh ranges; returns whether orders changed.

        They stay where all together would save no more than a share of ``gain``, or than ``least``; then cardinalities
        such as these are within their ranges from now on. What is sampled is sampled again, along the orders to leave
        and to take, before it is believed.
        """
        self._caps = np.array([float(view.lengths.get(name, ALL_ALIKE)) for name in view.graph.names])
        old, starts = self.plans or orders_of(view), list(starts)
        believed = estimate(view, both_ways=False) if self.absent == "sample" else None
        fresh, saved, total = self._planned(view, reading, believed, old, starts)
        seen = text_of(old, view)
        for _ in range(VERIFIED):
            if not old or believed is None or saved <= max(gain * total, least):
                break
            believed = verify(believed, view, seen)
            seen = text_of([fresh.get(plan.start, plan) for plan in old], view)
            believed = verify(believed, view, seen)
            fresh, saved, total = self._planned(view, reading, believed, old, starts)
            if text_of([fresh.get(plan.start, plan) for plan in old], view) == seen:
                break
        if old and saved <= max(gain * total, least):
            self.plans = [_widened(plan, reading) if plan.start in fresh else plan for plan in old]
            return False
        self.plans = [fresh.get(i) or self.plans[i] for i in range(len(view.graph.names))]
        self._places.clear()
        return True

    def _planned(
        self,
        view: View,
        reading: Reading,
        believed: Estimate | None,
        old: list[StreamPlan],
        starts: list[int],
    ) -> tuple[dict[int, StreamPlan], float, float]:
        """New plans for these streams, what they save, and what the old plans of all cost."""
        sets = self.sets(view)
        costs = Costs(
            sets,
            self._numbers(view, reading)
            if believed is None
            else believed.cards(np.arange(len(sets.adjacent))),
            reading.increments,
            1.0 / np.maximum(reading.live, 1.0),  # as many buckets as there are rows: so our directories grow
            self._caps,
            literal=self.literal,
        )
        fresh = {start: plan_stream(costs, start) for start in starts}
        now = {plan.start: cost_of_order(costs, plan) for plan in old}
        saved = sum(now[start] - plan.cost for start, plan in fresh.items()) if now else 0.0
        return fresh, saved, sum(now.values())

    def _numbers(self, view: View, reading: Reading) -> Floats:
        names = view.graph.names
        collected = {frozenset((name,)): float(reading.live[i]) for i, name in enumerate(names)}
        for both, cards in reading.collected.items():
            collected[frozenset(name for i, name in enumerate(names) if both >> i & 1)] = cards
        return self.sets(view).numbers(collected)

    def suboptimal(self, reading: Reading) -> list[int]:
        """Phase 2: the streams whose plans have a cardinality outside its range. One without arrivals shows nothing."""
        return [
            plan.start
            for plan in self.plans
            if reading.increments[plan.start] > 0
            and (
                outside(plan.lows, plan.highs, reading.live).any()
                or (reading.made(plan) > plan.between).any()
            )
        ]

    def stuck(self, reading: Reading, margin: float) -> list[int]:
        """Phase 3 (Algorithm 4): the streams whose first step makes more than another first step would, by what was
        collected in the plans of others."""
        return [p.start for p in self.plans if stuck(p, reading.collected, len(self.plans), margin)]

    def revise(self, reading: Reading, except_for: Iterable[int] = ()) -> None:
        """The revision path: the ranges of all other plans move with the cardinalities."""
        before, kept = self._last, set(except_for)
        self._last = reading
        if before is None:
            return
        for plan in self.plans:
            if plan.start in kept:
                continue
            lows, highs = shifted(plan.lows, plan.highs, before.live, reading.live, self._caps)
            made = reading.made(plan) - before.made(plan)
            between = plan.between + np.where(np.isnan(made), 0.0, made)
            self.plans[plan.start] = evolve(plan, lows=lows, highs=highs, between=between)


def text_of(plans: Iterable[StreamPlan], view: View) -> str:
    """Plans of single streams as one."""
    names = view.graph.names
    return show({names[plan.start]: tuple(names[i] for i in plan.order) for plan in plans})


def orders_of(view: View) -> list[StreamPlan]:
    """The plan that runs, if it is one of orderings without composites, as plans whose ranges hold nothing."""
    plan, names = read(view.plan), view.graph.names
    if isinstance(plan, (str, tuple)) or not flat(plan):
        return []
    n = len(names)
    nothing = np.zeros(n), np.zeros(n), np.zeros(n + 1)
    orders = [[names.index(other) for visit in plan[name] for other in singles(visit)] for name in names]
    return [StreamPlan(i, tuple(order), 0.0, *nothing) for i, order in enumerate(orders)]


def _widened(plan: StreamPlan, reading: Reading) -> StreamPlan:
    """Its ranges, with room around what was measured."""
    made = reading.made(plan)
    room = np.where(np.isnan(made), ALL_ALIKE, 2 * made + 1)
    return evolve(
        plan,
        lows=np.minimum(plan.lows, reading.live / 2),
        highs=np.maximum(plan.highs, 2 * reading.live),
        between=np.maximum(plan.between, room),
    )


def stuck(plan: StreamPlan, collected: dict[int, float], streams: int, margin: float = 0.0) -> bool:
    """Whether a plan is stuck in a local optimum: some collected pair with its start-up stream is smaller than its
    first, by more than a share of ``margin``. Sizes are live composites, so that pairs measured in the plans of
    different streams can be compared."""
    own, first = 1 << plan.start, 1 << plan.order[0]
    mine = collected.get(own | first)
    if mine is None:
        return False
    pairs = (collected.get(own | 1 << i) for i in range(streams) if not (own | first) >> i & 1)
    return any(cards < mine * (1.0 - margin) for cards in pairs if cards is not None)
