"""`Cheapest` in the settings of JISC's Figures 7, 8, 11 and 12 and of HybMig's: what it predicts, chooses and takes.

All techniques that it chooses from run side by side with it. What it predicts leaves out what all of them do alike, so
a prediction is shown as what `MovingState` took and the predicted difference to it. Who comes after one that works much
finds less of its own in the caches, which is a tenth of its time: so sides take turns in another order for each change.
And alike engines differ by some percent, by where their memory happens to lie: where a change takes milliseconds only,
each technique has two engines, of which the faster one counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from attrs import evolve

import eddy
from benchmarks.hybmig_workloads import KEYS, Setting, Shape
from benchmarks.migration_workloads import Even, Shifting, left_deep, swapped
from benchmarks.papers.figure import Profile, Row
from benchmarks.papers.jisc_runs import FEEDS, SIZES
from benchmarks.stages import Arena
from benchmarks.techniques import CHEAPEST, HYBRID, JISC, MOVING, TRACKS, named
from benchmarks.workloads import Workload
from eddy import Eddy, Query
from eddy.statistics import MigrationStatistics
from policies import Migration

AGAIN = " again"
RIVALS: Mapping[str, Migration] = named(MOVING, JISC, TRACKS, HYBRID)
SIDES: Mapping[str, Migration] = {**RIVALS, **named(CHEAPEST)}
TIMES = {"quick": 2, "full": 8}
"""Changes of each setting, in JISC's."""
TURNS = {"quick": 2, "full": 4}
"""In HybMig's, between which plans have to be changed back."""
HEAVY = 3
"""There, where a change takes a second."""

Taken = Mapping[str, float]
"""Seconds of each side."""


def arena_of(work: Workload, query: Query, size: int, joins: str = "hash", twins: bool = False) -> Arena:
    """Engines under a left-deep plan that differ in their technique only."""
    plan = left_deep(work.names)
    sides = {**SIDES, **({name + AGAIN: side for name, side in SIDES.items()} if twins else {})}
    engines = {name: Eddy(query, plan=plan, migration=side, joins=joins) for name, side in sides.items()}
    return Arena.of(work, engines, size=size)


def reorder(arena: Arena, turn: int) -> None:
    """Let the sides take turns in another order, which depends on the turn alone."""
    names = sorted(arena.contenders)
    order = np.random.default_rng(turn).permutation(len(names)).tolist()
    arena.contenders = {names[i]: arena.contenders[names[i]] for i in order}


def fastest(taken: Sequence[Taken]) -> list[Taken]:
    """Of twins, the one that was faster over all changes."""
    if not any(name.endswith(AGAIN) for name in taken[0]):
        return [*taken]
    middles = {name: np.median([each[name] for each in taken]) for name in taken[0]}
    best = {name: min((name, name + AGAIN), key=lambda n: middles[n]) for name in SIDES}
    return [{name: each[best[name]] for name in SIDES} for each in taken]


def tell(
    figure: str, setting: str, given: Sequence[Taken], changes: Sequence[MigrationStatistics]
) -> Iterator[Row]:
    """A row for each side: what it took for a change, and what `Cheapest` has said of it."""
    taken = fastest(given)
    middles = {name: float(np.median([each[name] for each in taken])) for name in SIDES}
    best = min(RIVALS, key=lambda name: middles[name])
    chosen = Counter(change.technique for change in changes)
    for name in SIDES:
        known = name in RIVALS and all(name in change.predicted for change in changes)
        more = [c.predicted[name] - c.predicted[MOVING] for c in changes] if known else []
        yield {
            "figure": figure,
            "setting": setting,
            "technique": name,
            "ms": 1000 * middles[name],
            "predicted, ms": 1000 * (middles[MOVING] + float(np.median(more))) if known else None,
            "times the best": float(np.median([each[name] / each[best] for each in taken])),
            "best": name == best,
            "chosen": chosen.get(name, 0) if name in RIVALS else None,
        }


def transitions(profile: Profile, joins: int, feed: str) -> Iterator[Row]:
    """The migration stage of JISC's Figures 7 and 8."""
    sizes = SIZES[profile.name]
    work = FEEDS[feed](joins + 1, sizes.window, sizes.window, seed=profile.seed)
    arena = arena_of(work, work.query(), sizes.batch, twins=joins <= 10)
    profile.tell(f"{joins} joins, {feed} keys: filling windows")
    arena.warm(work.warm * 11 // 20 if feed == "even" else None)
    order = work.names
    for case, figure in (("best", "JISC 7"), ("worst", "JISC 8")):
        taken, changes = [], []
        for turn in range(TIMES[profile.name]):
            profile.tell(f"{joins} joins, {feed} keys, {case} case: {turn}")
            order = swapped(order, case)
            reorder(arena, turn)
            stage = arena.stage(dict.fromkeys(arena.contenders, left_deep(order)))
            taken.append({name: stage.total(name) for name in arena.contenders})
            changes.append(stage.changes[CHEAPEST])
        yield from tell(figure, f"{joins} joins, {feed} keys", taken, changes)


def frequent(profile: Profile, case: str, period: float) -> Iterator[Row]:
    """Transitions that overlap: JISC's Figures 11 and 12."""
    sizes = SIZES[profile.name]
    work = Even(sizes.frequent + 1, sizes.window, sizes.window, seed=profile.seed)
    arena = arena_of(work, work.query(), sizes.batch)
    profile.tell(f"{case} case, every {period} windows: filling windows")
    arena.warm(work.warm * 11 // 20)
    batches = max(1, round(period * work.streams * work.window / arena.size))
    orders, taken, changes = (swapped(work.names, case), work.names), [], []
    for turn in range(max(4, 4 * round(1 / period))):
        profile.tell(f"{case} case, every {period} windows: {turn}")
        reorder(arena, turn)
        race = arena.race(1, dict.fromkeys(SIDES, left_deep(orders[turn % 2])))
        race.run(batches)
        timed = race.timings(arena.size).seconds
        taken.append({name: float(timed[name].sum()) for name in SIDES})
        last = arena.contenders[CHEAPEST].last
        assert last is not None
        changes.append(last)
    together = {name: sum(each[name] for each in taken) / len(taken) for name in SIDES}
    yield from tell(
        f"JISC {11 if case == 'worst' else 12}", f"every {period} windows, {case} case", [together], changes
    )


def clique(profile: Profile, figure: str, setting: Setting, new: Shape) -> Iterator[Row]:
    """A setting of HybMig's experiments: the first stream is rare, then the last one is."""
    if profile.quick:
        # As large as shows something: 3 is the default, of the settings in which something else is varied.
        setting = evolve(setting, w=1 if setting.w in (1, 3) else 2, rate=min(setting.rate, 1.3))
    work = Shifting(setting.n, setting.rows, KEYS, seed=profile.seed)
    heavy = setting.w > 3 or setting.rate > 1 or setting.n > 6
    arena = arena_of(work, work.query(eddy.Range(setting.live)), setting.batch, setting.joins, setting.w < 3)
    taken, changes = [], []
    for turn in range(HEAVY if heavy and not profile.quick else TURNS[profile.name]):
        profile.tell(f"{setting}: {turn}")
        work.shift(0)
        if turn:
            for contender in arena.contenders.values():
                contender.step((left_deep(work.names), []))
            arena.settle()
        arena.warm(work.warm)  # in batches of the size that `Cheapest` is to reckon with
        work.shift(setting.n - 1)
        batches = round(72 * setting.w) // setting.seconds
        reorder(arena, turn)
        stage = arena.stage(dict.fromkeys(arena.contenders, new(work.names)), batches=batches)
        taken.append({name: stage.total(name) for name in arena.contenders})
        changes.append(stage.changes[CHEAPEST])
    yield from tell(figure, str(setting), taken, changes)
