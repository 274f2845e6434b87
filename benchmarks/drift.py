"""How well routing policies follow a feed that drifts: `python -m benchmarks.drift [--write] [--only word]`.

A *clairvoyant* runs in each phase the plan that is best for it, and pays for no change: the goal is to come near it.
All sides take the same batches in turns, by the processor's time of their thread, and must find as many results.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

from benchmarks.drift_workloads import WORKLOADS, Batch, Drift
from benchmarks.ratio import table, write
from eddy import Eddy
from policies import Auto, Base, Card, Routing

RESULTS = Path(__file__).with_name("results_routing.json")
PILOTS = 30
"""Plans that are tried to find the best of each phase."""
PATIENCE = 5.0
"""A plan that takes so many times as long as the best so far is given up."""

Seconds = npt.NDArray[np.float64]
POLICIES: Mapping[str, Callable[[], Routing]] = {"Auto": Auto, "Card": Card, "Base": Base}


@frozen(eq=False)
class Outcome:
    """Seconds of every side in each phase."""

    sides: Mapping[str, Seconds]
    fixed: tuple[str, ...]
    changes: Mapping[str, int]
    """Plan changes of each policy."""

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
    pilots = pilot(drift, max(events // 4, 4 * drift.window), candidates(drift))
    best = {min(pilots, key=lambda plan: pilots[plan][k]) for k in range(len(drift.phases))}
    best.add(min(pilots, key=lambda plan: float(pilots[plan].sum())))
    fixed, query = tuple(sorted(best)), drift.query()
    engines = {plan: Eddy(query, plan) for plan in fixed}
    # Where nothing drifts, what counts is what watching costs: all begin with the best plan.
    first = min(pilots, key=lambda plan: float(pilots[plan].sum())) if drift.still else None
    engines |= {name: Eddy(query, first, routing=POLICIES[name]()) for name in policies}
    spent = {name: np.zeros(len(drift.phases)) for name in engines}
    names = list(engines)
    for turn, (phase, batch) in enumerate(drift.feed(events)):
        counts = set()
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            seconds, count = timed(engines[name], batch)
            spent[name][phase] += seconds
            counts.add(count)
        if len(counts) > 1:
            raise AssertionError(f"the sides found different numbers of results: {counts}")
    changes = {name: engines[name].statistics().migrations for name in policies}
    return Outcome(spent, fixed, changes)


def report(drift: Drift, outcome: Outcome) -> str:
    """Seconds by phase, beside the clairvoyant's."""
    head = ["", *(f"{k}" for k in range(1, len(drift.phases) + 1)), "all, ms", "of clairvoyant", "changes"]
    rows: list[list[object]] = []
    for name, seconds in outcome.sides.items():
        changes = outcome.changes.get(name, "")
        rows.append(
            [
                name,
                *np.round(1000 * seconds, 1),
                round(1000 * float(seconds.sum())),
                outcome.of_clairvoyant(name),
                changes,
            ]
        )
    ideal = outcome.clairvoyant
    rows.append(["clairvoyant", *np.round(1000 * ideal, 1), round(1000 * float(ideal.sum())), 1.0, ""])
    phases = [f"  {k}. {phase.name}" for k, phase in enumerate(drift.phases, 1)]
    return "\n".join([drift.name, *phases, table(head, rows)])


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m benchmarks.drift", description=__doc__)
    arguments.add_argument("--write", action="store_true", help=f"keep the figures in {RESULTS.name}")
    arguments.add_argument("--only", default="", help="only workloads whose name has this word")
    arguments.add_argument("--events", type=int, default=1_000_000, help="events of each phase")
    arguments.add_argument("--policies", default=",".join(POLICIES), help="which policies, by comma")
    arguments.add_argument("--still", action="store_true", help="only the feed that does not drift")
    chosen = arguments.parse_args()
    kept = {}
    for make in WORKLOADS:
        drift = make()
        if chosen.only not in drift.name:
            continue
        still = evolve(drift, name=f"{drift.name}, without drift", phases=drift.phases[3:4] * 5)
        for feed in [still] if chosen.still else [drift, still]:
            print(f"measuring: {feed.name} ...", file=sys.stderr, flush=True)
            outcome = race(feed, chosen.events, chosen.policies.split(","))
            print(report(feed, outcome), "\n", flush=True)
            kept[feed.name] = {
                name: {
                    "of clairvoyant": round(outcome.of_clairvoyant(name), 3),
                    "of best single": round(outcome.of_best_single(name), 3),
                    "changes": outcome.changes[name],
                }
                for name in outcome.changes
            }
    if chosen.write:
        write(RESULTS, {"drift": kept})
    return 0


if __name__ == "__main__":
    sys.exit(main())
