"""`Cheapest` in the settings of JISC's Figures 7, 8, 11 and 12 and of HybMig's: what it predicts, chooses and takes.

All techniques that it chooses from run side by side with it. What it predicts leaves out what all of them do alike, so
a prediction is shown as what `MovingState` took and the predicted difference to it. Who comes after one that works much
finds less of its own in the caches, which is a tenth of its time: so sides take turns in another order for each change,
and in four changes each follows each other one once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import evolve

import eddy
from benchmarks.hybmig_figures import KEYS, SHAPES, SWEPT, VARIANTS, Setting, Shape
from benchmarks.jisc_figures import FEEDS
from benchmarks.migration_workloads import Even, Shifting, last_two_first, left_deep, right_deep, swapped
from benchmarks.report import Report
from benchmarks.sides import BATCH
from benchmarks.stages import Arena
from eddy import Eddy, Query
from eddy.statistics import MigrationStatistics
from policies import Cheapest, HybMig, Jisc, Migration, MovingState, ParallelTrack

CHEAPEST, MOVING = "Cheapest", "MovingState"
RIVALS: Mapping[str, Migration] = {
    MOVING: MovingState(),
    "Jisc": Jisc(),
    "ParallelTrack": ParallelTrack(),
    "HybMig": HybMig(),
}
SIDES = {**RIVALS, CHEAPEST: Cheapest()}
WINDOW = 10_000
GOAL = 1.1
"""Times the best technique that `Cheapest` may take."""
TIMES = 8
"""Changes of each setting, in JISC's."""


def arena_of(work: Even | Shifting, query: Query, size: int, joins: str = "hash") -> Arena:
    """Engines under a left-deep plan that differ in their technique only."""
    plan = left_deep(work.names)
    engines = {name: Eddy(query, plan=plan, migration=side, joins=joins) for name, side in SIDES.items()}
    return Arena.of(work, engines, size=size)


def reorder(arena: Arena, turn: int) -> None:
    """Let the sides take turns in another order: five is prime, so every stride goes through all of them."""
    names, stride = list(SIDES), 1 + turn % (len(SIDES) - 1)
    order = [names[i * stride % len(names)] for i in range(len(names))]
    arena.contenders = {name: arena.contenders[name] for name in order}


def tell(
    report: Report,
    figure: str,
    setting: str,
    taken: Sequence[Mapping[str, float]],
    changes: Sequence[MigrationStatistics],
) -> None:
    """A row: seconds of each side for each change, and what `Cheapest` has said of it."""
    middles = {name: float(np.median([each[name] for each in taken])) for name in SIDES}
    best = min(RIVALS, key=lambda name: middles[name])
    predicted = {
        name: middles[MOVING] + float(np.median([c.predicted[name] - c.predicted[MOVING] for c in changes]))
        for name in RIVALS
        if all(name in change.predicted for change in changes)
    }
    chosen = Counter(change.technique for change in changes)
    ratio = float(np.median([each[CHEAPEST] / each[best] for each in taken]))
    head = ["setting"]
    cells: list[object] = [setting]
    for name in RIVALS:
        head += [f"{name}, ms", "predicted"]
        cells += [1e3 * middles[name], 1e3 * predicted[name] if name in predicted else "-"]
    cells += [1e3 * middles[CHEAPEST], ", ".join(f"{n} x {name}" for name, n in chosen.items()), best, ratio]
    report.row(figure, (*head, "Cheapest, ms", "it chose", "best", "of the best"), *cells)
    report.reach(f"{figure}, {setting}: Cheapest, of the best technique", ratio, "times", GOAL)


def _last(arena: Arena) -> MigrationStatistics:
    last = arena.contenders[CHEAPEST].last
    assert last is not None
    return last


def transitions(report: Report, feed: str) -> None:
    """The migration stage of JISC's Figures 7 and 8."""
    for joins in (5, 10) if report.quick else (5, 10, 15, 20):
        work = FEEDS[feed](joins + 1, WINDOW, WINDOW)
        arena = arena_of(work, work.query(), BATCH)
        report.tell(f"Cheapest, {joins} joins, {feed} keys: filling windows")
        arena.warm(work.warm * 11 // 20 if feed == "even" else None)
        order = work.names
        for case, figure in (("best", "Figure 7"), ("worst", "Figure 8")):
            taken, changes = [], []
            for turn in range(TIMES):
                order = swapped(order, case)
                reorder(arena, turn)
                stage = arena.stage(dict.fromkeys(SIDES, left_deep(order)))
                taken.append({name: stage.total(name) for name in SIDES})
                changes.append(stage.changes[CHEAPEST])
            named = f"JISC, {figure}: Cheapest, {case} case"
            tell(report, named, f"{joins} joins, {feed} keys", taken, changes)


def frequency(report: Report, case: str) -> None:
    """Transitions that overlap: JISC's Figures 11 and 12."""
    work = Even(6 if report.quick else 21, WINDOW, WINDOW)
    arena = arena_of(work, work.query(), BATCH)
    report.tell(f"Cheapest, frequent transitions, {case} case: filling windows")
    arena.warm(work.warm * 11 // 20)
    turn_over = work.streams * work.window / arena.size
    orders = (swapped(work.names, case), work.names)
    for period in (0.25, 1.0) if report.quick else (0.125, 0.25, 0.5, 1.0, 2.0):
        batches, taken, changes = max(1, round(period * turn_over)), [], []
        for turn in range(4 * max(1, round((2 if report.quick else 1) / period))):
            reorder(arena, turn)
            race = arena.race(1, dict.fromkeys(SIDES, left_deep(orders[turn % 2])))
            race.run(batches)
            timed = race.timings(arena.size).seconds
            taken.append({name: float(timed[name].sum()) for name in SIDES})
            changes.append(_last(arena))
        arena.settle()
        together = {name: sum(each[name] for each in taken) for name in SIDES}
        figure = f"JISC, Figure {11 if case == 'worst' else 12}: Cheapest, frequent transitions, {case} case"
        tell(report, figure, f"every {period} windows", [together], changes)


def clique(report: Report, figure: str, setting: Setting, new: Shape) -> None:
    """A setting of HybMig's experiments: the first stream is rare, then the last one is."""
    if report.quick and (setting.w > 3 or setting.rate > 1 or setting.n > 6):
        return
    setting = evolve(setting, n=min(setting.n, 5)) if report.quick else setting
    work = Shifting(setting.n, setting.rows, KEYS)
    arena = arena_of(work, work.query(eddy.Range(setting.live)), setting.batch, setting.joins)
    taken, changes = [], []
    for turn in range(4):
        report.tell(f"Cheapest, HybMig, {setting}: stage {turn}")
        work.shift(0)
        if turn:
            for contender in arena.contenders.values():
                contender.step((left_deep(work.names), []))
            arena.settle()
        arena.warm(work.warm)  # in batches of the size that `Cheapest` is to reckon with
        work.shift(setting.n - 1)
        batches = round(72 * setting.w) // setting.seconds
        reorder(arena, turn)
        stage = arena.stage(dict.fromkeys(SIDES, new(work.names)), batches=batches)
        taken.append({name: stage.total(name) for name in SIDES})
        changes.append(stage.changes[CHEAPEST])
    tell(report, f"HybMig, {figure}: Cheapest", str(setting), taken, changes)


def cliques(report: Report) -> None:
    """HybMig's Figures 15 to 21; the last has the settings of Figure 18."""
    for setting in VARIANTS.values():
        clique(report, "Figures 15 and 16", setting, right_deep)
    for figure, settings in SWEPT.values():
        for shape, new in SHAPES.items():
            for setting in settings:
                clique(report, figure, evolve(setting, shape=shape), new)
    for n in (4, 5, 6, 7):
        clique(report, "Figure 20", Setting(n=n, shape="last two first"), last_two_first)
