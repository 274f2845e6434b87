"""JISC's experiments (section 6): the migration stage, normal operation, latency, and frequent transitions.

Engines that differ in their technique take the same batches in turns, by processor time. Streams share one key, with as
many values as a window has rows, which the paper does not tell: drawn at random, or each of them once in every window.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, frozen

from benchmarks.limit_numba import NumbaLimit
from benchmarks.migration_workloads import Even, left_deep, orderings, swapped
from benchmarks.papers.figure import Profile, Row
from benchmarks.ratio import Race
from benchmarks.sides import BATCH
from benchmarks.stages import Arena, Plans, Stage, middle, ratios
from benchmarks.techniques import JISC, JISC_AHEAD, MOVING, TRACKS, named
from benchmarks.workloads import Workload
from eddy import Eddy
from policies import Migration, MovingState

STEMS, STILL, PLAIN = "SteMs", "no change", "plain pipeline"
SIDES: Mapping[str, Migration | None] = {**named(JISC, JISC_AHEAD, TRACKS, MOVING), STILL: None}
FEEDS: Mapping[str, type[Workload]] = {"random": Workload, "even": Even}
"""Uniform keys, as many as a window has rows: drawn at random, or every one once in each window."""
CASES = {"best": "Figure 7", "worst": "Figure 8"}


@frozen
class Sizes:
    """How large a profile is."""

    window: int
    """Rows of each stream."""
    batch: int
    """Events of a batch: small beside the windows."""
    times: int
    """Transitions of each setting."""
    rounds: int
    """Chunks of normal operation."""
    frequent: int
    """Joins where transitions are frequent."""
    windows: float
    """Turn-overs of the windows for each frequency."""


SIZES = {
    "quick": Sizes(window=2_000, batch=512, times=3, rounds=10, frequent=10, windows=2.0),
    "full": Sizes(window=10_000, batch=BATCH, times=7, rounds=40, frequent=20, windows=4.0),
}
MANY = 20
"""With more joins than these windows are a quarter as long in the quick profile."""


def sizes_of(profile: Profile, joins: int) -> Sizes:
    """The sizes for so many joins."""
    found = SIZES[profile.name]
    small = profile.quick and joins > MANY
    return evolve(found, window=found.window // 4, batch=found.batch // 4) if small else found


def side_by_side(work: Workload, *others: str, size: int = BATCH) -> Arena:
    """A left-deep tree under JISC, and others with the same plan, or SteMs with the same order."""
    query = work.query()
    engines = {
        name: Eddy(query, plan=orderings(work.names))
        if name == STEMS
        else Eddy(query, plan=left_deep(work.names), migration=SIDES[name])
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


def _warm(arena: Arena, feed: str) -> None:
    """Where every window holds every key, all states are there after one; at random, the tails take a second."""
    arena.warm(arena.work.warm * 11 // 20 if feed == "even" else None)


# -- Figures 7 and 8 -------------------------------------------------------------------------------------------------


def transition(profile: Profile, joins: int, feed: str, case: str) -> Iterator[Row]:
    """The migration stage: until Parallel Track has let its old plan go, everybody over the same rows."""
    sizes, many = sizes_of(profile, joins), joins > MANY
    work = FEEDS[feed](joins + 1, sizes.window, sizes.window, seed=profile.seed)
    arena = side_by_side(work, TRACKS, STEMS, STILL, size=sizes.batch)
    profile.tell(f"{joins} joins, {feed} keys: filling windows")
    _warm(arena, feed)
    order, made = work.names, list[Stage]()
    for turn in range(2 if many else sizes.times):
        order = swapped(order, case)
        profile.tell(f"{joins} joins, {feed} keys: transition {turn}")
        made.append(arena.stage(to(arena, order)))
    totals = {name: [stage.total(name) for stage in made] for name in arena.contenders}
    for name, each in totals.items():
        of = ratios(made, JISC, name)
        # Two transitions have no middle, and what disturbs one can take ten times as long as it: the shorter counts.
        yield {
            "joins": joins,
            "keys": feed,
            "technique": name,
            "seconds": min(each) if many else middle(each).median,
            "times JISC's": min(each) / min(totals[JISC]) if many else of.median,
            "quartile 1": of.low,
            "quartile 3": of.high,
            "transitions": len(made),
        }


# -- Figure 9 --------------------------------------------------------------------------------------------------------


def normal(profile: Profile, joins: int, feed: str, size: int = 0) -> Iterator[Row]:
    """No transition: JISC, SteMs, and a pipeline of symmetric hash joins that can do nothing else.

    ``size``: events of a batch, if others than the profile's.
    """
    sizes = sizes_of(profile, joins)
    size = size or sizes.batch
    work = FEEDS[feed](joins + 1, sizes.window, sizes.window, seed=profile.seed)
    arena = side_by_side(work, STEMS, size=size)
    steps: dict[str, Callable[[Any], int]] = {n: side.step for n, side in arena.contenders.items()}
    if joins <= MANY:
        steps[PLAIN] = NumbaLimit(work).push

    def forms(events: int, cut: int) -> Mapping[str, Any]:
        chunk = work.chunk(events)
        batches = work.batches(chunk, cut)
        return {name: chunk if name == PLAIN else (None, batches) for name in steps}

    profile.tell(f"{joins} joins, {feed} keys: filling windows")
    filling = 4 * sizes.batch
    fill = Race(steps, lambda: forms(filling, sizes.batch))
    fill.run(-(-(work.warm if feed == "random" else work.warm * 11 // 20) // filling))
    events = max(size, min(filling, 64 * size))
    profile.tell(f"{joins} joins, {feed} keys: normal operation")
    race = Race(steps, lambda: forms(events, size))
    race.warm(2)
    race.run(sizes.rounds if joins <= MANY else max(2, sizes.rounds // 8))
    timings = race.timings(events)
    for name in steps:
        of = middle(timings.seconds[name] / timings.seconds[JISC])
        yield {
            "joins": joins,
            "keys": feed,
            "events of a batch": size,
            "technique": name,
            "million events/s": timings.rate(name),
            "times JISC's": of.median,
            "quartile 1": of.low,
            "quartile 3": of.high,
        }


# -- Figure 10 -------------------------------------------------------------------------------------------------------

FIRST = ("small", "large")
"""Batches of 64 events, and as many as elsewhere."""


def first_output(profile: Profile, joins: str, window: int) -> Iterator[Row]:
    """From the transition to the end of the first batch with a result, worst case, by hash joins or nested loops.

    Every side begins with all states of the old plan.
    """
    quick, streams = profile.quick, 4 if joins == "hash" else 3
    rows = window // 5 if quick and joins == "nested" else window
    work = Workload(streams, rows, rows, seed=profile.seed)
    slow = joins == "nested" and rows > 10_000
    sizes = {"small": 64, "large": 256 if quick else BATCH if joins == "hash" else 1024}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "windows.eddy"
        profile.tell(f"{joins}, {rows:,} rows: filling windows")
        Arena.of(work, {STILL: (engine := Eddy(work.query(), plan=work.plan))}).warm(work.warm * 11 // 20)
        engine.save(path)
        for batch in FIRST:
            made = []
            for turn in range(1 if slow else 2 if quick else 7):
                profile.tell(f"{joins}, {rows:,} rows, {batch} batches: {turn}")
                arena = Arena.of(work, loaded(path, joins), size=sizes[batch])
                made.append(arena.stage(to(arena, swapped(work.names, "worst")), batches=9, whole=False))
            yield from _gaps(made, joins, work, sizes[batch])


def loaded(path: Path, joins: str) -> dict[str, Eddy]:
    """Engines with the same rows, and all states of their plan. (Nested loops would take hours to fill windows.)"""
    techniques = {**named(JISC, MOVING), STILL: MovingState()}
    engines = {name: Eddy.load(path, joins=joins, migration=each) for name, each in techniques.items()}
    engines[JISC].settle()
    return engines


def _gaps(made: list[Stage], joins: str, work: Workload, size: int) -> Iterator[Row]:
    batch = [float(np.median(stage.seconds[STILL])) for stage in made]
    for name in (JISC, MOVING):
        gaps = [stage.first_output(name) for stage in made]
        yield {
            "joins": joins,
            "window": work.window,
            "events of a batch": size,
            "technique": name,
            "ms to the first output": 1000 * middle(gaps).median,
            "in ordinary batches": middle([g / b for g, b in zip(gaps, batch, strict=True)]).median,
        }


# -- Figures 11 and 12 -----------------------------------------------------------------------------------------------


def frequency(profile: Profile, case: str, period: float) -> Iterator[Row]:
    """A transition every ``period`` of a turn-over of the windows: below 1 they overlap."""
    joins = SIZES[profile.name].frequent
    sizes = sizes_of(profile, joins)
    work = Even(joins + 1, sizes.window, sizes.window, seed=profile.seed)
    arena = side_by_side(work, TRACKS, STEMS, STILL, size=sizes.batch)
    profile.tell(f"{case} case, every {period} windows: filling windows")
    _warm(arena, "even")
    batches = max(1, round(period * work.streams * work.window / arena.size))
    count = max(2, round(sizes.windows / period))
    orders, totals = (swapped(work.names, case), work.names), dict.fromkeys(arena.contenders, 0.0)
    for turn in range(count):
        profile.tell(f"{case} case, every {period} windows: {turn} of {count}")
        race = arena.race(1, to(arena, orders[turn % 2]))
        race.run(batches)
        for name, seconds in race.timings(arena.size).seconds.items():
            totals[name] += float(seconds.sum())
    for name, seconds in totals.items():
        yield {
            "windows between transitions": period,
            "technique": name,
            "million events/s": count * batches * arena.size / seconds / 1e6,
            "times JISC's": seconds / totals[JISC],
            "transitions": count,
        }
