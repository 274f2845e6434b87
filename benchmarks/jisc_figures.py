"""JISC's experiments (section 6): the migration stage, normal operation, latency, and frequent transitions."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.migration_workloads import Even, left_deep, orderings, swapped
from benchmarks.report import Report
from benchmarks.sides import BATCH
from benchmarks.stages import Arena, Plans, middle, ratios
from benchmarks.workloads import Workload
from eddy import Eddy
from policies import Jisc, Migration, MovingState, ParallelTrack
from policies.migration.base import Change

JISC, TRACKS, STEMS, MOVING, STILL = "Jisc", "ParallelTrack", "SteMs", "MovingState", "no change"
BACKGROUND = "Jisc(background)"
TECHNIQUES: Mapping[str, Migration | None] = {
    JISC: Jisc(),
    BACKGROUND: Jisc(background=10_000),
    TRACKS: ParallelTrack(),
    MOVING: MovingState(),
    STILL: None,
}
FEEDS: Mapping[str, type[Workload]] = {"random": Workload, "even": Even}
"""Uniform keys, as many as a window has rows: drawn at random, or every one once in each window."""
CASES = {"best": "Figure 7", "worst": "Figure 8"}


class FromNow(MovingState):
    """Moving State, but that loading a snapshot leaves the old plan's states as they are: the new plan drops them."""

    def resume(self, change: Change) -> None:
        pass


def side_by_side(work: Workload, *others: str, size: int = BATCH) -> Arena:
    """A left-deep tree under JISC, and others with the same plan, or SteMs with the same order."""
    query = work.query()
    engines = {
        name: Eddy(query, plan=orderings(work.names))
        if name == STEMS
        else Eddy(query, plan=left_deep(work.names), migration=TECHNIQUES[name])
        for name in (JISC, *others)
    }
    return Arena.of(work, engines, size=size)


def to(arena: Arena, order: str) -> Plans:
    """Everybody changes to this order, but for the one that stays."""
    return {
        name: orderings(order) if name == STEMS else left_deep(order)
        for name in arena.contenders
        if name != STILL
    }


def _batch(report: Report) -> int:
    """A batch is small beside the windows, also where these are small."""
    return 64 if report.quick else BATCH


# -- Figures 7, 8 and 9 ----------------------------------------------------------------------------------------------


def transitions(report: Report, feed: str) -> None:
    """The migration stage (Figures 7 and 8) and normal operation (Figure 9) of 5 to 20 joins."""
    for joins in (5,) if report.quick else (5, 10, 15, 20):
        arena = _warm(report, feed, joins, TRACKS, STEMS, STILL, BACKGROUND)
        _normal(report, feed, joins, arena)
        order = arena.work.names
        for case in CASES:
            order = _stages(report, feed, joins, arena, case, order, 1 if report.quick else 7)


def many_joins(report: Report, joins: int, case: str) -> None:
    """The same for as many joins as the paper's largest plans have, in one of the cases."""
    joins = 21 if report.quick else joins
    arena = _warm(report, "even", joins, TRACKS, STEMS, STILL)
    if case == "best":
        _normal(report, "even", joins, arena)
    _stages(report, "even", joins, arena, case, arena.work.names, 1)


def _warm(report: Report, feed: str, joins: int, *others: str) -> Arena:
    window = 200 if report.quick else 10_000
    work = FEEDS[feed](joins + 1, window, window)
    arena = side_by_side(work, *others, size=_batch(report))
    report.tell(f"{joins} joins, {feed} keys: filling windows")
    # Where every window holds every key, all states are there after one; at random, the tails take a second.
    arena.warm(work.warm * 11 // 20 if feed == "even" else None)
    return arena


def _normal(report: Report, feed: str, joins: int, arena: Arena) -> None:
    report.tell(f"{joins} joins, {feed} keys: normal operation")
    timings = arena.steady(3 if report.quick else max(5, 400 // joins), batches=4)
    speed = middle(timings.seconds[STEMS] / timings.seconds[JISC])
    head = ("joins", "JISC, million events/s", "of SteMs")
    report.row(_named("Figure 9: normal operation", feed, joins), head, joins, timings.rate(JISC), speed)
    if joins == 20 or report.quick:
        what = f"normal operation, {joins} joins, {feed} keys: JISC, of SteMs"
        report.reach(what, speed.median, "times", 1.8, True, f"quartiles {speed.low:.2f}-{speed.high:.2f}")


def _stages(report: Report, feed: str, joins: int, arena: Arena, case: str, order: str, times: int) -> str:
    """Swap so many times, each until everybody is done; returns the last order."""
    made = []
    for turn in range(times):
        order = swapped(order, case)
        told = report.telling(f"{joins} joins, {feed} keys: {case} case {turn}, batch")
        made.append(arena.stage(to(arena, order), tell=told))
    found = {name: ratios(made, JISC, name) for name in arena.contenders if name != JISC}
    figure = _named(f"{CASES[case]}: migration stage, {case} case", feed, joins)
    seconds = middle([stage.total(JISC) for stage in made])
    head = ("joins", "JISC, seconds", *(f"of {name}" for name in found), "stages")
    report.row(figure, head, joins, seconds.median, *found.values(), len(made))
    if joins == 20 or report.quick:
        against = found[TRACKS]
        what = f"{figure}, {joins} joins: JISC, of ParallelTrack"
        note = f"quartiles {against.low:.2f}-{against.high:.2f}; of no change {found[STILL]}"
        report.reach(what, against.median, "times", 2.0, True, note)
    return order


def _named(figure: str, feed: str, joins: int) -> str:
    return f"{figure}, {f'{joins} joins' if joins > 20 else f'{feed} keys'}"


def batches(report: Report) -> None:
    """Normal operation by size of batch, 20 joins: the paper routes tuple by tuple."""
    window, joins = (200, 5) if report.quick else (10_000, 20)
    for feed in FEEDS:
        for size in (1, 64) if report.quick else (1, 16, 256, 1024, 4096):
            work = FEEDS[feed](joins + 1, window, window)
            arena = side_by_side(work, STEMS, size=size)
            report.tell(f"normal operation, batches of {size}, {feed} keys")
            arena.warm(size=_batch(report))
            timings = arena.steady(20, batches=max(1, min(2048, 64 * size) // size))
            speed = middle(timings.seconds[STEMS] / timings.seconds[JISC])
            head = ("keys", "events of a batch", "JISC, us an event", "of SteMs")
            figure = "Figure 9: normal operation by size of batch"
            report.row(figure, head, feed, size, 1 / timings.rate(JISC), speed)


# -- Figure 10 -------------------------------------------------------------------------------------------------------


def latency(report: Report, joins: str) -> None:
    """From the transition to the first result (Figure 10), worst case, by hash joins or nested loops."""
    windows = [200, 1_000] if report.quick else [1_000, 10_000, 100_000]
    streams, size = (4, BATCH) if joins == "hash" else (3, 1024)
    gaps = {}
    for window in windows:
        slow = joins == "nested" and window > 10_000
        work = Workload(streams, window, window)
        times = 1 if report.quick or slow else 9
        gaps[window] = _latency(report, joins, work, 64 if report.quick else size, times)
    first, last = windows[-2:]
    power = float(np.log(gaps[last] / gaps[first]) / np.log(last / first))
    what = f"Figure 10, {joins}: MovingState's first output grows with the window to the power"
    report.reach(what, power, "", 0.7 if joins == "hash" else 1.5, True, f"{first:,} to {last:,} rows")


def _latency(report: Report, joins: str, work: Workload, size: int, times: int) -> float:
    """Add a row; returns Moving State's seconds."""
    name = f"first output, {joins}, {work.window:,} rows"
    report.tell(f"{name}: filling windows")
    stages = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "windows.eddy"
        Arena.of(work, {STILL: (engine := Eddy(work.query(), plan=work.plan))}).warm(work.warm * 11 // 20)
        engine.save(path)
        for turn in range(times):
            # Nested loops would take hours to fill windows; the rows of a snapshot serve both, and its composites
            # are those that the new plan drops.
            report.tell(f"{name}: {turn}")
            engines = {
                JISC: Eddy.load(path, joins=joins, migration=Jisc()),
                MOVING: Eddy.load(path, joins=joins, migration=FromNow()),
                STILL: Eddy.load(path, joins=joins, migration=MovingState()),
            }
            arena = Arena.of(work, engines, size=size)
            stages.append(arena.stage(to(arena, swapped(work.names, "worst")), batches=9, whole=False))
    batch = {i: float(np.median(stage.seconds[STILL])) for i, stage in enumerate(stages)}
    gaps = {
        side: middle([stage.first_output(side) / batch[i] for i, stage in enumerate(stages)])
        for side in (JISC, MOVING)
    }
    seconds = middle([stage.first_output(MOVING) for stage in stages]).median
    head = ("joins", "window", "batch, ms", "JISC, batches", "MovingState, batches", "MovingState, s")
    figure = "Figure 10: first output after a transition, in median batches"
    report.row(
        figure, head, joins, work.window, 1000 * middle(list(batch.values())).median, *gaps.values(), seconds
    )
    note = f"quartiles {gaps[JISC].low:.2f}-{gaps[JISC].high:.2f}; MovingState {gaps[MOVING].median:.1f}"
    what = f"Figure 10, {joins}, {work.window:,} rows: JISC's first output"
    report.reach(what, gaps[JISC].median, "batches", 5.0, note=note)
    return seconds


# -- Figures 11 and 12 -----------------------------------------------------------------------------------------------


def frequency(report: Report, case: str) -> None:
    """Transitions so frequent that they overlap (Figures 11 and 12), 20 joins."""
    joins, window = (5, 500) if report.quick else (20, 10_000)
    work = Even(joins + 1, window, window)
    arena = side_by_side(work, TRACKS, STEMS, STILL, size=_batch(report))
    report.tell(f"frequent transitions, {case} case: filling windows")
    arena.warm(work.warm * 11 // 20)
    figure = f"Figure {11 if case == 'worst' else 12}: frequent transitions, {case} case"
    for period in (1.0,) if report.quick else (0.125, 0.25, 0.5, 1.0, 2.0):
        _frequency(report, figure, arena, period, case)


def _frequency(report: Report, figure: str, arena: Arena, period: float, case: str) -> None:
    """Four turn-overs of the windows, with a transition every `period` of one."""
    work = arena.work
    turn_over = work.streams * work.window / arena.size
    batches = max(1, round(period * turn_over))
    totals: dict[str, float] = {}
    orders = (swapped(work.names, case), work.names)
    count = 1 if report.quick else max(1, round(4 * turn_over / batches))
    for turn in range(count):
        report.tell(f"{figure}, every {period} windows: {turn} of {count}")
        race = arena.race(1, to(arena, orders[turn % 2]))
        race.run(batches)
        for name, seconds in race.timings(arena.size).seconds.items():
            totals[name] = totals.get(name, 0.0) + float(seconds.sum())
    if count % 2:
        arena.stage(to(arena, work.names))
    arena.settle()
    rate = {name: count * batches * arena.size / seconds / 1e6 for name, seconds in totals.items()}
    head = ("every so many windows", *(f"{name}, million events/s" for name in rate))
    report.row(figure, head, period, *rate.values())
    for other in (TRACKS, STEMS):
        what = f"{figure}, every {period} windows: JISC, of {other}"
        report.reach(what, rate[JISC] / rate[other], "times", 1.0, True)
