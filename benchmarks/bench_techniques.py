"""Migration techniques side by side: in normal operation, in the migration stage, and when nothing migrates.

The papers' figures are measured by `python -m benchmarks.papers`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.migration_workloads import swapped
from benchmarks.papers.jisc_runs import CASES, FEEDS, STEMS, STILL, side_by_side, to
from benchmarks.ratio import Timings
from benchmarks.stages import Arena
from benchmarks.standing import standing, there_and_back
from benchmarks.techniques import JISC_AHEAD, TRACKS

Contest = Callable[..., Timings]
Row = Callable[..., None]


def warm(feed: str, joins: int, *others: str) -> Arena:
    """Windows of 10,000 rows, full."""
    arena = side_by_side(FEEDS[feed](joins + 1, 10_000, 10_000), *others)
    arena.warm()
    return arena


@pytest.mark.parametrize("joins", [5, 20])
@pytest.mark.parametrize("feed", FEEDS)
def test_normal_operation(feed: str, joins: int, contest: Contest, ratio_row: Row) -> None:
    """A tree with its composites, and SteMs without."""
    arena = warm(feed, joins, STEMS)
    timings = contest(arena.race(4), 4 * arena.size)
    ratio_row("normal operation, million events/s", f"{joins} joins, {feed} keys", timings)


@pytest.mark.parametrize("joins", [5, 20])
@pytest.mark.parametrize("case", CASES)
def test_migration_stage(case: str, joins: int, contest: Contest, row: Row) -> None:
    """From the change until the windows have turned over."""
    arena = warm("even", joins, JISC_AHEAD, TRACKS, STEMS, STILL)
    turn_over = -(-arena.work.streams * arena.work.window // arena.size)
    plans = to(arena, swapped(arena.work.names, case))
    timings = contest(arena.race(1, plans), arena.size, rounds=turn_over)
    arena.settle()
    first, *others = timings.seconds
    title = "migration stage, seconds"
    row(title, "", *timings.seconds, *(f"{first} / {other}" for other in others))
    total = {name: float(seconds.sum()) for name, seconds in timings.seconds.items()}
    ratios = (f"{total[other] / total[first]:.2f}" for other in others)
    row(title, f"{joins} joins, {case} case", *(f"{seconds:.3f}" for seconds in total.values()), *ratios)


@pytest.mark.parametrize("migrated", [False, True])
def test_not_migrating(migrated: bool, contest: Contest, ratio_row: Row) -> None:
    """All techniques beside each other, before any migration or after two."""
    arena = standing()
    if migrated:
        there_and_back(arena)
    timings = contest(arena.race(8), 8 * arena.size, rounds=40)
    ratio_row("not migrating, million events/s", "after two" if migrated else "before any", timings)
