"""The experiments of HybMig (section 5): a clique of streams, of which one is rare, and which one it is changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from attrs import field, frozen

import eddy
from benchmarks.migration_workloads import RARE, left_deep
from benchmarks.simulated.compare import Side, compare
from benchmarks.simulated.feed import MS, Feed, arrivals
from benchmarks.simulated.server import Costs, Run
from benchmarks.simulated.subjects import EngineSubject
from policies import Migration

SECOND = 1000.0
NOTHING = Costs(0.0)
"""Work is counted, and takes no time."""


@frozen
class Clique:
    """The paper's parameters, with its defaults: minutes, rows a second, streams.

    All streams share one attribute, so that there is a condition between each pair.
    """

    w: float = 3
    rate: float = 1.0
    n: int = 6
    keys: int = 20
    """Values of the attribute; a rare stream has twenty times as many."""
    costs: Costs = NOTHING
    windows: float = 1.2
    """How long the streams go on after the change, in windows."""
    seed: int = field(default=0, kw_only=True)

    @property
    def names(self) -> str:
        return "ABCDEFG"[: self.n]

    @property
    def window(self) -> float:
        """In milliseconds."""
        return 60 * SECOND * self.w

    @property
    def change(self) -> float:
        """When the plan changes: after two windows, of which states keep one."""
        return 2 * self.window

    def feed(self) -> Feed:
        """The first stream is rare before the change, and the last one after it."""
        random = np.random.default_rng(self.seed)
        gap, length = SECOND / self.rate, self.change + self.windows * self.window
        streams, times = arrivals(dict.fromkeys(self.names, gap), length, random)
        rare = np.where(times < self.change * MS, 0, self.n - 1) == streams
        spread = random.integers(0, RARE, len(streams)) * self.keys
        x = random.integers(0, self.keys, len(streams)) + np.where(rare, spread, 0)
        return Feed(self.names, streams, times, {"x0": x}, dict.fromkeys(self.names, ("x0",)))

    def query(self) -> eddy.Query:
        stream = eddy.Stream({"ts": "int64", "x0": "int64"}, window=eddy.Range(round(self.window * MS)))
        return eddy.Query(
            dict.fromkeys(self.names, stream), where=[f"A.x0 = {name}.x0" for name in self.names[1:]]
        )

    def side(self, technique: Migration, idles: bool = False) -> Side:
        """An engine under the left-deep plan."""
        make = lambda: EngineSubject.of(self.query(), left_deep(self.names), technique)  # noqa: E731
        return Side(make, idles=idles, held=technique.holds)

    def runs(self, sides: Mapping[str, Side], new: Callable[[Sequence[str]], str]) -> Mapping[str, Run]:
        """From the change on; times count from the feed's beginning."""
        feed = self.feed()
        warm = feed.before(self.change)
        return compare(sides, feed, self.costs, (self.change, new(self.names)), warm)
