"""The feeds and plans of JIT's experiments (section VI, Tables II and III)."""

from __future__ import annotations

import itertools
import string

import numpy as np
from attrs import evolve, field, frozen

import eddy
from benchmarks.migration_workloads import left_deep
from benchmarks.workloads import Batch, Chunk, Workload

BUSHY = {
    4: "(A B) (C D)",
    5: "((A B) (C D)) E",
    6: "((A B) (C D)) (E F)",
    7: "((A B) (C D)) ((E F) G)",
    8: "((A B) (C D)) ((E F) (G H))",
}
"""Table II."""

WIDE = 100
"""How many times as many values stream D has under left-deep plans, or C where there is no D."""


@frozen(eq=False)
class Clique(Workload):
    """An equality between every two streams, over columns that no other has; values uniform over `keys`.

    The column of stream i for stream j is the j-th, the own one left out.
    """

    wide: int | None = None
    """The stream that has 100 times as many values."""
    shape: str = field(default="clique", init=False)

    @property
    def attributes(self) -> int:
        return self.streams - 1

    def columns(self, stream: int) -> tuple[str, ...]:
        return tuple(f"x{i}" for i in range(self.attributes))

    def where(self) -> list[str]:
        pairs = itertools.combinations(range(self.streams), 2)
        return [f"{self.names[i]}.x{j - 1} = {self.names[j]}.x{i}" for i, j in pairs]

    def chunk(self, events: int) -> Chunk:
        drawn = super().chunk(events)
        if self.wide is None:
            return drawn
        spread = np.where(drawn.streams == self.wide, WIDE, 1)
        columns = (c + self.keys * self._random.integers(0, spread) for c in drawn.columns)
        return Chunk(drawn.streams, tuple(columns), drawn.first)

    def barren(self, batch: Batch) -> Batch:
        """The same rows, but those of all streams except the last two match nothing: a feed for which only composites
        of these two are made, with nothing to judge."""
        return {
            name: {
                c: v + (s + 1 << 32) if c != "ts" and s < self.streams - 2 else v for c, v in columns.items()
            }
            for s, (name, columns) in enumerate(batch.items())
        }


@frozen
class Setting:
    """The paper's parameters: minutes, rows a second of each stream, streams, values; and by which joins."""

    w: float = 20
    rate: float = 1.0
    n: int = 6
    dmax: int = 200
    plan: str = "bushy"
    joins: str = "nested"
    scale: int = 1
    """How many times as large windows and dmax are, and how many times as long the run is."""
    hours: float = 5.0

    @property
    def rows(self) -> int:
        """Rows of a stream in a window."""
        return round(60 * self.w * self.rate * self.scale)

    @property
    def events(self) -> int:
        """Of the whole run."""
        return round(3600 * self.hours * self.rate * self.n * self.scale)

    @property
    def text(self) -> str:
        """The plan."""
        return BUSHY[self.n] if self.plan == "bushy" else left_deep(string.ascii_uppercase[: self.n])

    def work(self) -> Clique:
        wide = None if self.plan == "bushy" else min(3, self.n - 1)
        return Clique(self.n, self.rows, self.dmax * self.scale, wide=wide)

    def query(self, work: Clique) -> eddy.Query:
        """Windows of time: events of all streams come at an even pace, one after the other."""
        return work.query(eddy.Range(self.rows * self.n))

    def smaller(self) -> Setting:
        """A twentieth of the window and of the values, for three windows."""
        return evolve(self, w=self.w / 20, dmax=max(1, self.dmax // 20), hours=3 * self.w / 1200, scale=1)

    def __str__(self) -> str:
        size = f", {self.scale} times the size" if self.scale > 1 else ""
        shown = f"w = {self.w:g} min, {self.rate:g}/s, {self.n} streams, dmax = {self.dmax}"
        return f"{self.plan}, {self.joins}{size}: {shown}"


BUSHY_DEFAULT = Setting()
LEFT_DEEP_DEFAULT = Setting(w=10, n=4, dmax=50, plan="left-deep")
"""Table III. The default number of streams of left-deep plans cannot be read there: 4 is the least that has a D."""
