"""Races are fair: turns change, counts are compared, and the clock is the one given."""

from __future__ import annotations

import pytest

from benchmarks.ratio import Race, table


class Clock:
    """A clock that only a step moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now

    def step(self, seconds: float, found: int = 7):
        def run(chunk: int) -> int:
            self.now += seconds * chunk
            return found

        return run


def race(clock: Clock, order: list[str] | None = None, slow: int = 7) -> Race:
    def noting(name, step):
        def run(chunk):
            if order is not None:
                order.append(name)
            return step(chunk)

        return run

    sides = {"quick": noting("quick", clock.step(1.0)), "slow": noting("slow", clock.step(3.0, slow))}
    return Race(sides, lambda: dict.fromkeys(sides, 2), clock=clock)


def test_ratios_are_by_chunk():
    """The quick side is three times as fast; the rounds before do not count."""
    contest = race(Clock())
    contest.warm(3)
    contest.run(4)
    timings = contest.timings(events=10_000_000)
    assert timings.ratio("quick", "slow") == 3.0
    assert timings.spread("slow", "quick") == (1 / 3, 1 / 3)
    assert timings.rate("quick") == 5.0
    report = timings.report("quick")
    assert report["chunks"] == 4
    assert report["results"] == 28
    assert report["ratio"] == {"slow": 3.0}


def test_sides_take_turns():
    order: list[str] = []
    race(Clock(), order).run(3)
    assert order == ["quick", "slow", "slow", "quick", "quick", "slow"]


def test_sides_that_disagree_are_no_comparison():
    with pytest.raises(AssertionError, match="different numbers of results"):
        race(Clock(), slow=8).run(1)
    contest = race(Clock(), slow=8)
    contest.alike = lambda name: name
    contest.run(1)


def test_tables():
    assert table(("a", "b"), [("xyz", 1.234), ("x", "long")]) == "a       b\n---  ----\nxyz  1.23\nx    long"
