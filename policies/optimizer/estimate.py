"""What a policy believes of its streams: how often rows come, and how many live composites any set of them has."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from policies.graph import Graph
from policies.optimizer.cards_kernels import adjacency, cards_of, connection, fill_cards

EXACT = 12
"""Up to so many streams every set has its place in a table."""
NOTHING = 1e-3
"""Where no match was seen there may be this many: a plan is not to be chosen because a sample was too small."""

Floats = NDArray[np.float64]


@lru_cache(maxsize=64)
def predicates(graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """Key classes and thetas as bit masks of streams, and which thetas a sorted index serves."""
    bits = {name: 1 << i for i, name in enumerate(graph.names)}
    classes, thetas = (
        np.array([sum(bits[name] for name in names) for names in sets], np.int64).reshape(-1)
        for sets in (graph.classes, graph.thetas)
    )
    return classes, thetas, np.array([i in graph.ranges for i in range(len(graph.thetas))], np.uint8)


@lru_cache(maxsize=64)
def linked_pairs(graph: Graph) -> tuple[tuple[int, int, frozenset[str]], ...]:
    """Pairs of streams that predicates of their own link, by number, and by name."""
    numbered = itertools.combinations(enumerate(graph.names), 2)
    return tuple((i, j, frozenset((a, b))) for (i, a), (j, b) in numbered if graph.linked((a,), (b,)))


@lru_cache(maxsize=64)
def connections(graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """For every set of streams those that are linked to it, and whether its own predicates connect it."""
    classes, thetas, _ = predicates(graph)
    sets = np.arange(1 << len(graph.names))
    adjacent, connected = np.empty(len(sets), np.int64), np.zeros(len(sets), np.uint8)
    adjacency(sets, classes, thetas, adjacent)
    connection(adjacent, thetas, connected)
    return adjacent, connected


@frozen(eq=False)
class Estimate:
    """Arrivals per event, live rows, and live composites of some sets, from which those of all others follow.

    A composite of a set S arises when one of its rows arrives, so per event there arise as many as |S| times the sum
    over its streams of arrivals per live row. This holds while windows are in a steady state, and makes the work for
    a set a matter of the set alone, which dynamic programming needs.
    """

    graph: Graph
    rates: Mapping[str, float]
    """Rows of each stream per event."""
    live: Mapping[str, float]
    known: Mapping[frozenset[str], float] = field(factory=dict)
    """Live composites of sets of two streams and more, as measured or sampled."""
    joins: str = "hash"
    batch: float = 4096.0
    """Events that are processed together."""
    masks: Mapping[str, int] = field(init=False, repr=False)
    classes: NDArray[np.int64] = field(init=False, repr=False)
    thetas: NDArray[np.int64] = field(init=False, repr=False)
    ranges: NDArray[np.uint8] = field(init=False, repr=False)
    rows: Floats = field(init=False, repr=False)
    turnover: Floats = field(init=False, repr=False)
    """Of each stream, arrivals per event and live row."""
    memo: tuple[NDArray[Any], ...] | None = field(init=False, default=None, repr=False)
    """What the search has worked out for all sets: see `facts`."""
    _pairs: Floats = field(init=False, repr=False)
    _table: Floats | None = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        names = self.graph.names
        fix = object.__setattr__
        fix(self, "masks", {name: 1 << i for i, name in enumerate(names)})
        classes, thetas, ranges = predicates(self.graph)
        fix(self, "classes", classes)
        fix(self, "thetas", thetas)
        fix(self, "ranges", ranges)
        fix(self, "rows", np.array([max(float(self.live[name]), 1.0) for name in names]))
        rates = np.array([float(self.rates[name]) for name in names])
        fix(self, "turnover", rates / self.rows)
        fix(self, "_pairs", self._selectivities())
        fix(self, "_table", self._filled() if len(names) <= EXACT else None)

    def mask(self, names: Iterable[str]) -> int:
        """A set of streams as bits."""
        return sum(self.masks[name] for name in names)

    def _selectivities(self) -> Floats:
        """Logarithms; of a pair that is linked but not known, as if every row had one partner on the shorter side."""
        rows, n = self.rows.tolist(), len(self.graph.names)
        pairs = np.zeros((n, n))
        for i, j, both in linked_pairs(self.graph):
            cards = self.known.get(both, min(rows[i], rows[j]))
            pairs[i, j] = pairs[j, i] = min(math.log(max(cards, NOTHING) / rows[i] / rows[j]), 0.0)
        return pairs

    def _filled(self) -> Floats:
        _, connected = connections(self.graph)
        table = np.full(len(connected), np.nan)
        table[0] = 0.0
        for names, cards in self.known.items():
            table[self.mask(names)] = np.log(max(cards, NOTHING))
        fill_cards(np.log(self.rows), self._pairs, connected, self.classes, self.thetas, table)
        return np.exp(np.minimum(table, 600.0))

    def cards(self, sets: NDArray[np.int64]) -> Floats:
        """Live composites of each set, given as bits."""
        if self._table is not None:
            return self._table[sets]
        live = np.log(self.rows)
        exact = {self.mask(names): cards for names, cards in self.known.items()}
        found = np.empty(len(sets))
        for i, streams in enumerate(sets.tolist()):
            if streams in exact:
                found[i] = max(exact[streams], NOTHING)
            else:
                found[i] = np.exp(min(cards_of(streams, live, self._pairs, self.classes, self.thetas), 600.0))
        return found

    def composites(self, *names: str) -> float:
        """Live composites of these streams."""
        return float(self.cards(np.array([self.mask(names)]))[0])

    def arising(self, *names: str) -> float:
        """Composites of these streams that arise per event, in a tree."""
        drive = sum(self.turnover[self.graph.names.index(name)] for name in names)
        return self.composites(*names) * float(drive)

    def knowing(self, known: Mapping[frozenset[str], float]) -> Estimate:
        """The same, and live composites of more sets."""
        return evolve(self, known={**self.known, **known})
