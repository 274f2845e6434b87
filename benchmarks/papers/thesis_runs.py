"""Draws of the thesis' data sets, run under its policies side by side.

BASE keeps the orders by chance that all begin with. Beside the thesis' three, "best orders" is told what the data are
from: it has the best order for each stream from the start on, the moment that a range changes, and never looks. That is
what there is to gain. All sides take the same slices in turns, by the processor's time of the thread, and must find as
many results; results are counted, and no column of them is fetched.

A draw is given up when all sides together have taken as long as a bound: what each has taken for the same events up to
there counts, and the row says how far they came. No draw is replaced by another.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from statistics import median
from typing import Any

from attrs import define, field, frozen

from benchmarks.papers.figure import Profile, Row
from benchmarks.papers.thesis_sets import SIMILAR_SET, UNIT, ZIPF_SET, DataSet, Slice
from eddy import Eddy
from policies import Base, Card, Fixed, Pop, Routing
from policies.optimizer import CostModel, best, estimate, verify
from policies.optimizer.plans import show

BASE, POP, CARD, BEST = "BASE", "POP'", "CARD", "best orders"
WORST, POP_PRINTED, CARD_PRINTED = "worst orders", "POP' as printed", "CARD as printed"
FEW, MANY = 0.015, 0.05
"""Of all time, what looks may take: as usual, and where more of them are tried."""
POP_LOOKING, CARD_LOOKING = (
    {share: f"{name}, looks of {100 * share:g} %" for share in (FEW, MANY)} for name in (POP, CARD)
)


def _looking(policy: type[Pop] | type[Card], share: float, every: int) -> Routing:
    """A policy whose looks may take this share of all time."""
    return policy(every=every, overhead=share)


POLICIES: Mapping[str, Callable[[int], Routing]] = {
    BASE: lambda every: Fixed(),
    POP: lambda every: Pop(every=every),
    CARD: lambda every: Card(every=every),
    BEST: lambda every: Fixed(),
    WORST: lambda every: Fixed(),
    POP_PRINTED: lambda every: Pop(
        every=every, overhead=math.inf, gain=0.0, absent="supersets", literal=True
    ),
    CARD_PRINTED: lambda every: Card(
        every=every, overhead=math.inf, gain=0.0, margin=0.0, absent="supersets", literal=True
    ),
    **{name: partial(_looking, Pop, share) for share, name in POP_LOOKING.items()},
    **{name: partial(_looking, Card, share) for share, name in CARD_LOOKING.items()},
}
SIDES = (BASE, POP, CARD, BEST)
PRINTED = (BASE, POP_PRINTED, CARD_PRINTED)
LOOKING = (BASE, *POP_LOOKING.values(), *CARD_LOOKING.values(), BEST)
RUNS = {PRINTED: "as printed", LOOKING: "more looks"}
TURN = 8
"""Slices that a side takes before the next one does: what one has in the caches the next has not."""

TUPLES_SAVED, TOTAL_SAVED, MIDDLE = "saved, tuples %", "saved, total %", "saved, median draw %"
TUPLES, DECIDING, TOTAL = "tuples, s", "re-optimisation, s", "total, s"


@frozen
class Size:
    """How much of the thesis' experiment is run."""

    draws: int = 10
    tuples: int = 1_000_000
    """Of each stream, on average."""
    scale: int = 1
    bound: float = 30.0
    """Seconds of all sides together, after which a draw is given up."""


FULL, QUICK = Size(), Size(draws=2, tuples=100_000, scale=10, bound=1.5)


@define(eq=False)
class Side:
    """An engine, and where its time went."""

    engine: Eddy
    total: float = field(init=False, default=0.0)
    deciding: float = field(init=False, default=0.0)
    """Of the total: views, the policy's own time, and changes of plan."""
    results: int = field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        steering: Any = self.engine._state.steering
        decide = steering.decide

        def timed(between: bool = False) -> None:
            if not steering.due:
                return
            start = time.thread_time()
            decide(between)
            self.deciding += time.thread_time() - start

        steering.decide = timed

    def take(self, slices: Iterable[Slice], plans: Iterable[str | None]) -> None:
        """Push slices; before some of them the plan is changed from outside."""
        start = time.thread_time()
        for part, plan in zip(slices, plans, strict=True):
            if plan is not None:
                self.engine.migrate(plan)
            self.results += len(self.engine.push_all(part.batch))
        self.total += time.thread_time() - start


@frozen(eq=False)
class Draw:
    """What came of one draw."""

    number: int
    ranges: tuple[int, ...]
    """Of each stream, when it ended."""
    events: int
    wanted: int
    """Events that there are."""
    sides: Mapping[str, Side]

    @property
    def finished(self) -> bool:
        return self.events == self.wanted

    @property
    def results(self) -> int:
        return next(iter(self.sides.values())).results

    def saved(self, name: str) -> float:
        """Percent of BASE's time, in total."""
        return 100 * (1 - self.sides[name].total / self.sides[BASE].total)

    def told(self) -> str:
        """How far a draw came that was given up."""
        took = ", ".join(f"{name} {side.total:.1f} s" for name, side in self.sides.items())
        each = self.results / max(self.events, 1)
        return f"draw {self.number}: {self.events:,} of {self.wanted:,} events, {each:,.3g} results an event ({took})"


def by_chance(data: DataSet) -> str:
    """The orders that BASE chooses before anything is known."""
    base = Base()
    base.begin(tuple(data.names), data.seed)
    plan = base.choose(Eddy(data.query()).view())
    assert plan is not None
    return plan


def widest_first(names: str, ranges: Sequence[int], worst: bool = False) -> str:
    """The best order for each stream, of streams with uniform ranges that contain each other: to visit next where the
    fewest partners are. Or the worst."""
    order = sorted(names, key=lambda name: ranges[names.index(name)], reverse=not worst)
    return show({name: tuple(other for other in order if other != name) for name in names})


def best_orders(data: Callable[[], DataSet]) -> str:
    """The orders that are best when windows are full: by the ranges, or by sampling."""
    made = data()
    if made.name != ZIPF_SET:
        return widest_first(made.names, made.ranges)
    engine = Eddy(made.query(), plan="stems")
    for part in made.slices(2 * made.rows):
        engine.push_all(part.batch)
    view, model = engine.view(), CostModel()
    believed = estimate(view, counted=False)
    for _ in range(3):
        believed = verify(believed, view, best(believed, model, "orderings")[0])
    return best(believed, model, "orderings")[0]


def race(
    number: int, data: Callable[[], DataSet], plans: Mapping[str, str], tuples: int, period: int, bound: float
) -> Draw:
    """Run a draw under several policies, each beginning with its plan; ``period`` in events."""
    made = data()
    query = made.query()
    # The first engine that is made is often slower than its equals: nobody is to be that one.
    decoy = Side(Eddy(query, plans[BASE], routing=Fixed()))
    sides = {
        name: Side(Eddy(query, plan, routing=POLICIES[name](period), seed=made.seed))
        for name, plan in plans.items()
    }
    turns, ranges, events = list(sides), made.ranges, 0
    feed = made.slices(tuples)
    gc.collect()
    gc.disable()
    try:
        while sum(side.total for side in sides.values()) < bound and (slices := list(islice(feed, TURN))):
            changes: list[str | None] = []
            for part in slices:
                changes.append(None if part.ranges == ranges else widest_first(made.names, part.ranges))
                ranges = part.ranges
            if events < 2 * made.rows * made.streams:
                decoy.take(slices, [None] * len(slices))
            for name in turns:
                sides[name].take(slices, changes if name == BEST else [None] * len(slices))
            turns.append(turns.pop(0))
            events += sum(len(columns["ts"]) for part in slices for columns in part.batch.values())
    finally:
        gc.enable()
    if len({side.results for side in sides.values()}) != 1:
        raise AssertionError(f"different numbers of results: {[side.results for side in sides.values()]}")
    return Draw(number, ranges, events, tuples * made.streams // UNIT * UNIT, sides)


def compare(
    profile: Profile,
    set_name: str,
    streams: int,
    window: int,
    period: int,
    skew: float = 0.0,
    sides: Sequence[str] = SIDES,
) -> Iterator[Row]:
    """A row for each side: what all draws took together, and what that saves of BASE's time."""
    size = QUICK if profile.quick else FULL
    draws = []
    for number in range(size.draws):
        profile.tell(f"{set_name}, {streams} streams, windows of {window:,}, period {period}, draw {number}")
        data = partial(DataSet, set_name, streams, window, profile.seed * 1_000 + number, skew, size.scale)
        chance = by_chance(data())
        plans = {name: best_orders(data) if name == BEST else chance for name in sides}
        draws.append(race(number, data, plans, size.tuples, period * UNIT, size.bound))
    run = RUNS.get(tuple(sides), "ours")
    return rows(_where(set_name, streams, window, period, skew, run), draws)


def best_and_worst(profile: Profile) -> Iterator[Row]:
    """As `compare`, of the orders that are known to be best and worst of streams with similar ranges."""
    size = QUICK if profile.quick else FULL
    draws = []
    for number in range(size.draws):
        profile.tell(f"best and worst orders, draw {number}")
        data = partial(DataSet, SIMILAR_SET, 6, 10_000, profile.seed * 1_000 + number, scale=size.scale)
        made = data()
        plans = {
            BASE: by_chance(made),
            BEST: widest_first(made.names, made.ranges),
            WORST: widest_first(made.names, made.ranges, worst=True),
        }
        draws.append(race(number, data, plans, size.tuples, UNIT, size.bound))
    return rows(_where(SIMILAR_SET, 6, 10_000, 1, 0.0, "ours"), draws)


def _where(name: str, streams: int, window: int, period: int, skew: float, run: str) -> dict[str, Any]:
    return {"set": name, "streams": streams, "window": window, "period": period, "skew": skew, "run": run}


def rows(where: Mapping[str, Any], draws: Sequence[Draw]) -> Iterator[Row]:
    """A row for each side of some draws, which are weighted by the time that they take, as in the thesis."""
    events = sum(draw.events for draw in draws)
    unfinished = [draw for draw in draws if not draw.finished]

    def spent(name: str) -> tuple[float, float]:
        total = sum(draw.sides[name].total for draw in draws)
        return total - sum(draw.sides[name].deciding for draw in draws), total

    of = spent(BASE)
    for name in draws[0].sides:
        tuples, total = spent(name)
        yield {
            **where,
            "policy": name,
            TUPLES_SAVED: 100 * (1 - tuples / of[0]),
            TOTAL_SAVED: 100 * (1 - total / of[1]),
            MIDDLE: median(draw.saved(name) for draw in draws),
            TUPLES: tuples / len(draws),
            DECIDING: (total - tuples) / len(draws),
            TOTAL: total / len(draws),
            "us an event": 1e6 * total / events,
            "changes": sum(draw.sides[name].engine.statistics().migrations for draw in draws),
            "results an event": sum(draw.results for draw in draws) / events,
            "draws": len(draws),
            "not finished": len(unfinished),
            "which": "; ".join(draw.told() for draw in unfinished) if name == BASE else "",
        }
