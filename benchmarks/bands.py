"""Bands in every order and wording: `python -m benchmarks.bands [--write] [--only words] [--quick]`.

Two streams are joined by three bands over windows of 10,000 rows: one over time that lets 4,001 rows in a window
through, and two that let some ten through. Engines that differ only in how the query says it take the same pushes in
turns, by the processor's time of their thread; so ratios between them mean something also on a busy machine. What they
look at is counted, and must be the same.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field

from benchmarks.ratio import Race
from benchmarks.report import Report, command
from eddy import Eddy, Query, Rows, Stream

RESULTS = Path(__file__).with_name("results_bands.json")
WINDOW = 10_000
WIDTHS = {"t": 2000, "x": 5, "y": 5}
FORMS = {
    "ABS": "ABS(A.{0} - B.{0}) <= {1}",
    "BETWEEN": "A.{0} BETWEEN B.{0} - {1} AND B.{0} + {1}",
    "inequalities": "A.{0} - B.{0} <= {1} AND B.{0} <= A.{0} + {1}",
}
SIZES = {1: 400, 64: 40, 4096: 6}
"""Rows a push, and pushes of each stream that a round has."""
ROUNDS = 9

Batch = dict[str, Any]


def wordings() -> dict[str, list[str]]:
    """What `where` says, by name: all orders of one form, and the other forms in one order."""
    found = {
        f"ABS, {' '.join(order)}": [FORMS["ABS"].format(c, WIDTHS[c]) for c in order]
        for order in itertools.permutations("txy")
    }
    for form in ("BETWEEN", "inequalities"):
        found[f"{form}, t x y"] = [FORMS[form].format(c, WIDTHS[c]) for c in "txy"]
    return found


@define(eq=False)
class Feed:
    """Rows of both streams: t is their number, x and y have 10,000 values."""

    size: int
    pushes: int
    _rng: np.random.Generator = field(init=False, factory=lambda: np.random.default_rng(0))
    _next: int = field(default=0, init=False)

    def rows(self, n: int) -> Batch:
        """The next rows of one stream."""
        numbers = np.arange(self._next, self._next + n)
        return {"t": numbers, "x": self._rng.integers(0, 10_000, n), "y": self._rng.integers(0, 10_000, n)}

    def chunk(self) -> list[tuple[str, Batch]]:
        """Pushes of A and of B in turns."""
        pushes = []
        for _ in range(self.pushes):
            pushes += [(name, self.rows(self.size)) for name in "AB"]
            self._next += self.size
        return pushes

    def first(self) -> list[tuple[str, Batch]]:
        """What fills both windows."""
        pushes = [(name, self.rows(WINDOW)) for name in "AB"]
        self._next += WINDOW
        return pushes


def engine_of(where: list[str]) -> Eddy:
    """An engine of the two streams."""
    columns = dict.fromkeys("txy", "int64")
    return Eddy(Query({name: Stream(columns, window=Rows(WINDOW)) for name in "AB"}, where=where))


def pushed(engine: Eddy) -> Callable[[list[tuple[str, Batch]]], int]:
    """Pushes a chunk, and counts its results."""
    return lambda chunk: sum(len(engine.push(name, batch)) for name, batch in chunk)


def race_of(engines: Mapping[str, Eddy], feed: Feed) -> Race:
    """Engines with full windows that take the pushes of a feed in turns."""
    for name, batch in feed.first():
        for engine in engines.values():
            engine.push(name, batch)
    race = Race(
        {name: pushed(engine) for name, engine in engines.items()},
        lambda: dict.fromkeys(engines, feed.chunk()),
    )
    race.warm(1)
    return race


def measure(size: int, report: Report) -> dict[str, float]:
    """All wordings with pushes of one size: how many times as long as the first each takes."""
    report.tell(f"{size} rows a push")
    engines = {name: engine_of(where) for name, where in wordings().items()}
    feed = Feed(size, max(1, SIZES[size] // 10) if report.quick else SIZES[size])
    race, rounds = race_of(engines, feed), 2 if report.quick else ROUNDS
    before = {name: engine.statistics().candidates for name, engine in engines.items()}
    race.run(rounds)
    rows = 2 * size * feed.pushes
    timings, first = race.timings(rows), race.first
    looked_at = [
        (engine.statistics().candidates - before[name]) / (rows * rounds) for name, engine in engines.items()
    ]
    ratios = {name: timings.ratio(first, name) for name in engines}
    each = float(np.median(timings.seconds[first])) / rows * 1e6
    slow = max(ratios, key=ratios.__getitem__)
    low, high = timings.spread(first, slow)
    pushes = f"{size:,} row{'s' * (size > 1)} a push"
    what = f"{pushes}: the slowest of {len(engines)} wordings, of the first"
    note = f"{slow}; quartiles {low:.2f}-{high:.2f}; {each:.3g} us a row"
    report.reach(what, ratios[slow], "times", 1.25, note=note)
    what = f"{pushes}: candidates, the most of any wording, of the fewest"
    note = f"{max(looked_at):.1f} a row, in windows of {WINDOW:,}"
    report.reach(what, max(looked_at) / min(looked_at), "times", 1.0, note=note)
    if size == 1:
        report.reach("a row pushed alone", each, "us", 100.0, note="the median of rounds, by processor time")
    return ratios


def wording(report: Report) -> None:
    """Every wording with pushes of every size."""
    found = {size: measure(size, report) for size in SIZES}
    head = ("times as long as the first", *(f"{size:,} rows a push" for size in SIZES))
    for name in wordings():
        report.row("Wordings", head, name, *(ratios[name] for ratios in found.values()))


GROUPS = {"wordings": wording}

if __name__ == "__main__":
    sys.exit(command("benchmarks.bands", __doc__, GROUPS, RESULTS))
