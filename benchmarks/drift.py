"""How well routing policies follow a feed that drifts: `python -m benchmarks.drift [--write] [--only words] [--quick]`.

A *clairvoyant* runs in each phase the plan that is best for it, and pays for no change: the goal is to come near it.
All sides take the same batches in turns, by the processor's time of their thread, and must find as many results. A turn
is some batches long, and the order of the sides is drawn anew for each: a side that always came after one whose state
does not fit into the caches would pay for it.
"""

from __future__ import annotations

import gc
import itertools
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

from benchmarks.drift_workloads import WORKLOADS, Batch, Drift
from benchmarks.goals import ENGINE
from benchmarks.report import Report, command
from eddy import Eddy
from policies import Auto, Base, Card, Greedy, Routing

RESULTS = Path(__file__).with_name("results_routing.json")
MEASURES = (*ENGINE, "eddy/steering", "policies/optimizer", "policies/routing")
EVENTS = 1_000_000
"""Events of each phase."""
CALM = 4
"""Times as many where nothing drifts: what goes on for ever is to be seen there, beside what the start costs."""
PILOTS = 30
"""Plans that are tried to find the best of each phase."""
TWINS = 3
"""Engines of each side where nothing drifts, of which the fastest counts. Alike engines differ by some percent, by
where their memory happens to lie, and the one that is made first by up to a tenth: more than what is to be seen."""
TURN = 8
"""Batches that a side takes before the next one does."""
PATIENCE = 5.0
"""A plan that takes so many times as long as the best so far is given up."""

Seconds = npt.NDArray[np.float64]
POLICIES: Mapping[str, Callable[[], Routing]] = {"Auto": Auto, "Card": Card, "Greedy": Greedy, "Base": Base}


@frozen(eq=False)
class Outcome:
    """Seconds of every side in each phase."""

    sides: Mapping[str, Seconds]
    fixed: tuple[str, ...]
    changes: Mapping[str, int]
    """Plan changes of each policy."""
    noise: float = 0.0
    """By what share twins of the same plan differ."""
    first: str | None = None
    """The plan that policies began with, if it was given: the best, by short trials."""

    @property
    def clairvoyant(self) -> Seconds:
        return np.min([self.sides[plan] for plan in self.fixed], axis=0)

    @property
    def best_single(self) -> str:
        return min(self.fixed, key=lambda plan: float(self.sides[plan].sum()))

    def of_clairvoyant(self, side: str) -> float:
        """How many times as long as the clairvoyant it takes."""
        return float(self.sides[side].sum() / self.clairvoyant.sum())

    def of_best_single(self, side: str) -> float:
        """How many times as fast as the best fixed plan it is."""
        return float(self.sides[self.best_single].sum() / self.sides[side].sum())


def timed(engine: Eddy, batch: Batch) -> tuple[float, int]:
    """Seconds for a batch, and its results."""
    gc.disable()
    try:
        start = time.thread_time()
        count = len(engine.push_all(batch))
        return time.thread_time() - start, count
    finally:
        gc.enable()


def pilot(drift: Drift, events: int, plans: Sequence[str]) -> dict[str, Seconds]:
    """Seconds of plans in each phase, over a short feed; those that take very long are left out."""
    query, best = drift.query(), np.inf
    found = {}
    for plan in plans:
        engine, spent = Eddy(query, plan), np.zeros(len(drift.phases))
        for phase, batch in drift.feed(events):
            spent[phase] += timed(engine, batch)[0]
            if spent.sum() > PATIENCE * best:
                break
        else:
            found[plan] = spent
            best = min(best, float(spent.sum()))
    return found


def turns(feed: Iterable[tuple[int, Batch]]) -> Iterator[tuple[int, list[Batch]]]:
    """The batches of a feed by turns, none of which reaches into the next phase."""
    for phase, part in itertools.groupby(feed, key=lambda each: each[0]):
        while batches := [batch for _, batch in itertools.islice(part, TURN)]:
            yield phase, batches


def candidates(drift: Drift) -> list[str]:
    """Some of the plans there are, by chance where they are many, and those that need not be: the policies' own."""
    plans = drift.connected_plans()
    if len(plans) > PILOTS:
        chosen = np.random.default_rng(drift.seed).choice(len(plans), PILOTS, replace=False)
        plans = [plans[i] for i in sorted(chosen)]
    found = dict.fromkeys(["stems", *plans])
    for number in range(len(drift.phases)):  # what an optimiser chooses that sees nothing but this phase
        alone = evolve(drift, phases=(drift.phases[number],))
        engine = Eddy(drift.query(), routing=Auto())
        for _, batch in alone.feed(12 * 4096 + 3 * drift.window):
            engine.push_all(batch)
        found[engine.plan] = None
    return list(found)


def race(drift: Drift, events: int, policies: Sequence[str]) -> Outcome:
    """All sides over the whole feed, in turns."""
    pilots = pilot(drift, max(min(events, EVENTS) // 4, 4 * drift.window), candidates(drift))
    best = {min(pilots, key=lambda plan: pilots[plan][k]) for k in range(len(drift.phases))}
    best.add(min(pilots, key=lambda plan: float(pilots[plan].sum())))
    fixed, query = tuple(sorted(best)), drift.query()
    twins = TWINS if drift.still else 1
    made = [((plan, k), Eddy(query, plan)) for k in range(twins) for plan in fixed]
    # Where nothing drifts, what counts is what watching costs: all begin with the best plan.
    first = min(pilots, key=lambda plan: float(pilots[plan].sum())) if drift.still else None
    made += [
        ((name, k), Eddy(query, first, routing=POLICIES[name]())) for k in range(twins) for name in policies
    ]
    decoy = ("decoy", 0)  # the first engine that is made is often slower: nobody is to be that one
    engines = {decoy: Eddy(query, fixed[0]), **dict(made)}
    spent = {name: np.zeros(len(drift.phases)) for name in engines}
    names, chance = list(engines), np.random.default_rng(drift.seed)
    for phase, batches in turns(drift.feed(events)):
        counts = set()
        for k in chance.permutation(len(names)).tolist():
            taken = [timed(engines[names[k]], batch) for batch in batches]
            spent[names[k]][phase] += sum(seconds for seconds, _ in taken)
            counts.add(tuple(count for _, count in taken))
        if len(counts) > 1:
            raise AssertionError(f"the sides found different numbers of results: {counts}")
    changes = {name: engines[name, 0].statistics().migrations for name in policies}
    totals = {name: [float(spent[name, k].sum()) for k in range(twins)] for name in (*fixed, *policies)}
    sides = {name: spent[name, totals[name].index(min(totals[name]))] for name in totals}
    noise = max(max(totals[plan]) / min(totals[plan]) - 1 for plan in fixed)
    return Outcome(sides, fixed, changes, noise, first)


def measure(make: Callable[[], Drift], report: Report) -> None:
    """A workload that drifts, and one of its phases for four times as long."""
    drift = make()
    calm = evolve(drift, name=f"{drift.name}, no drift", phases=drift.phases[3:4] * 5)
    for feed in (drift, calm):
        report.tell(feed.name)
        sides = ["Auto", "Card"] if feed.still else list(POLICIES)
        events = (50_000 if report.quick else EVENTS) * (CALM if feed.still else 1)
        outcome = race(feed, events, sides)
        head = ("side", *(f"phase {k}, ms" for k in range(1, 6)), "all, ms", "of clairvoyant", "changes")
        for name, seconds in outcome.sides.items():
            phases = [float(1000 * s) for s in seconds]
            cells = (sum(phases), outcome.of_clairvoyant(name), outcome.changes.get(name, 0))
            report.row(feed.name, head, name, *phases, *cells)
        ideal = [float(1000 * s) for s in outcome.clairvoyant]
        report.row(feed.name, head, "clairvoyant", *ideal, sum(ideal), 1.0, 0)
        _reach(feed, outcome, report)


def _reach(feed: Drift, outcome: Outcome, report: Report) -> None:
    changes = f"{outcome.changes['Auto']} changes"
    if feed.still:
        assert outcome.first is not None
        ours, kept = outcome.sides["Auto"], outcome.sides[outcome.first]
        slower, start = (100 * float(ours[:k].sum() / kept[:k].sum() - 1) for k in (None, 1))
        twins = f"twins of one plan differ by up to {100 * outcome.noise:.1f} %"
        note = f"{changes}; {start:.1f} % in the first fifth, with what the start costs; {twins}"
        report.reach(f"{feed.name}: Auto slower than the best plan, kept", slower, "%", 1.0, note=note)
        return
    report.reach(f"{feed.name}: time of Auto, of a clairvoyant", outcome.of_clairvoyant("Auto"), "times", 1.1)
    best, note = outcome.of_best_single("Auto"), f"{changes}; the best is {outcome.best_single}"
    report.reach(f"{feed.name}: speed of Auto, of the best single plan", best, "times", 2.0, True, note)
    card = float(outcome.sides["Card"].sum() / outcome.sides["Auto"].sum())
    note = f"Card: {outcome.changes['Card']} changes"
    report.reach(f"{feed.name}: speed of Auto, of Card", card, "times", 1.0, True, note)


GROUPS = {make().name: partial(measure, make) for make in WORKLOADS}

if __name__ == "__main__":
    sys.exit(command("benchmarks.drift", __doc__, GROUPS, RESULTS, MEASURES))
