"""The experiments of Zhu et al. (section 6): four streams in a chain, from ((A B) C) D to A ((B C) D)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from attrs import field, frozen

import eddy
from benchmarks.simulated.compare import Side, compare
from benchmarks.simulated.feed import MS, Feed, arrivals
from benchmarks.simulated.server import Costs, Run
from benchmarks.simulated.subjects import EngineSubject
from benchmarks.simulated.techniques import PurgedTrack, purged_after
from policies import Migration, MovingState, ParallelTrack
from policies.migration.costs import chain_seconds

OLD, NEW = "((A B) C) D", "A ((B C) D)"
MOVING, PURGED, EXACT = "Moving State", "Parallel Track", "Parallel Track, exact expiry"
ATTRIBUTES = {"A": ("ab",), "B": ("ab", "bc"), "C": ("bc", "cd"), "D": ("cd",)}
LENGTH = 50_000
"""Milliseconds of stream."""


@frozen
class Chain:
    """A configuration of Table 2: milliseconds, and reduction factors."""

    window: float
    gaps: tuple[float, float, float, float]
    """Mean times between two rows of A, B, C, D."""
    factors: tuple[float, float, float]
    """Of A B, B C, C D: the chance that two rows match."""
    costs: Costs
    change: float = 10_000
    """When the plan changes."""
    length: float = LENGTH
    seed: int = field(default=0, kw_only=True)

    def feed(self) -> Feed:
        """Equal values are as likely as the factors say: an attribute has 1 / factor values."""
        random = np.random.default_rng(self.seed)
        streams, times = arrivals(dict(zip("ABCD", self.gaps, strict=True)), self.length, random)
        columns = {
            name: random.integers(0, round(1 / factor), len(streams))
            for name, factor in zip(("ab", "bc", "cd"), self.factors, strict=True)
        }
        return Feed("ABCD", streams, times, columns, ATTRIBUTES)

    def query(self, streams: str = "ABCD") -> eddy.Query:
        """The join of the first so many streams."""
        window = eddy.Range(round(self.window * MS))
        declared = {
            name: eddy.Stream({"ts": "int64"} | dict.fromkeys(ATTRIBUTES[name], "int64"), window=window)
            for name in streams
        }
        conditions = ["A.ab = B.ab", "B.bc = C.bc", "C.cd = D.cd"]
        return eddy.Query(declared, where=conditions[: len(streams) - 1])

    def sides(self, feed: Feed, alone: bool = False) -> dict[str, Side]:
        """The techniques of the paper, and `ParallelTrack` as it is in the library; ``alone``: the plans by
        themselves, too."""
        start = feed.before(self.change)
        last = purged_after(feed, self.query, "ABCD", start, round(self.window * MS))
        made = {
            MOVING: self._side(OLD, MovingState()),
            PURGED: self._side(OLD, PurgedTrack(last), held=True),
            EXACT: self._side(OLD, ParallelTrack(order="pt"), held=True),
        }
        if alone:
            made["Old"] = self._side(OLD, MovingState(), changes=False)
            made["New"] = self._side(NEW, MovingState(), changes=False)
        return made

    def _side(self, plan: str, technique: Migration, held: bool = False, changes: bool = True) -> Side:
        return Side(lambda: EngineSubject.of(self.query(), plan, technique), held=held, changes=changes)

    def runs(self, alone: bool = False) -> Mapping[str, Run]:
        feed = self.feed()
        return compare(self.sides(feed, alone), feed, self.costs, (self.change, NEW))

    def estimate(self, printed: bool = False) -> float:
        """Equation 8: what Moving State takes, in milliseconds."""
        rates = [1 / gap for gap in self.gaps[1:]]
        return chain_seconds(
            rates, self.window, self.factors[1:], self.costs.join, self.costs.insert, printed
        )
