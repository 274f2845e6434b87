"""Windows of 1,000 to 1,000,000 rows with as many keys, so that the matches of a probe stay the same."""

from __future__ import annotations

import pytest

from benchmarks.ratio import Race
from benchmarks.sides import BATCH, build, push_all, race
from benchmarks.workloads import Workload

WINDOWS = (1_000, 10_000, 100_000, 1_000_000)


@pytest.mark.parametrize("window", WINDOWS)
def test_windows(window, contest, ratio_row):
    """Each size beside the hand-written joins, which count the same results."""
    timings = contest(*race(Workload(4, window, window)))
    ratio_row("windows, million events/s", f"{window:,} rows", timings)


def growth(windows: tuple[int, ...] = WINDOWS) -> tuple[Race, int]:
    """Warm engines of 4 streams with windows of each size, which take turns; the smallest is first."""
    works = {f"{window:,}": Workload(4, window, window) for window in windows}
    sides = {}
    for name, work in works.items():
        engine = build(work)
        sides[name] = push_all(engine)
        for _ in range(-(-work.warm // (64 * BATCH))):
            sides[name](work.batches(work.chunk(64 * BATCH)))
    events = 8 * BATCH
    contestants = Race(
        sides,
        lambda: {name: work.batches(work.chunk(events)) for name, work in works.items()},
        alike=lambda name: name,
    )
    contestants.warm(2)
    return contestants, events


def test_growth(contest, row):
    """The cost of an event, as a multiple of that with the smallest window."""
    timings = contest(*growth())
    title = "windows, cost of an event"
    row(title, "", "nanoseconds", "times that of 1,000 rows")
    for name in timings.seconds:
        row(title, f"{name} rows", 1000 / timings.rate(name), timings.ratio("1,000", name))
