"""What a policy believes of its streams: how often rows come, and how many live composites any set of them has."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from policies.graph import Graph
from policies.optimizer.cards_kernels import adjacency, connection, fill_cards
from policies.optimizer.links import links_of
from policies.optimizer.pairwise import Pairwise, pairwise
from policies.optimizer.wide_kernels import wide_cards
from policies.optimizer.words import Layout, layout_of

EXACT = 12
"""Up to so many streams every set has its place in a table."""
NOTHING = 1e-3
"""Where no match was seen there may be this many: a plan is not to be chosen because a sample was too small."""

Floats = NDArray[np.float64]


@lru_cache(maxsize=64)
def predicates(graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """Key classes and thetas as bit masks of streams, of which there are few enough for tables, and which thetas a
    sorted index serves."""
    bits = {name: 1 << i for i, name in enumerate(graph.names)}
    classes, thetas = (
        np.array([sum(bits[name] for name in names) for names in sets], np.int64).reshape(-1)
        for sets in (graph.classes, graph.thetas)
    )
    return classes, thetas, np.array([i in graph.ranges for i in range(len(graph.thetas))], np.uint8)


@lru_cache(maxsize=64)
def linked_pairs(graph: Graph) -> tuple[tuple[int, int, frozenset[str]], ...]:
    """Pairs of streams that predicates of their own link, by number, and by name."""
    near = links_of(graph).near
    numbered = itertools.combinations(enumerate(graph.names), 2)
    return tuple((i, j, frozenset((a, b))) for (i, a), (j, b) in numbered if near[i] >> j & 1)


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
    layout: Layout | None = field(init=False, repr=False)
    """How sets of streams are written where they are too many for tables."""
    rows: Floats = field(init=False, repr=False)
    query: tuple[NDArray[Any], ...] = field(init=False, repr=False)
    """The predicates and the live rows, as kernels take them."""
    turnover: Floats = field(init=False, repr=False)
    """Of each stream, arrivals per event and live row."""
    memo: tuple[NDArray[Any], ...] | None = field(init=False, default=None, repr=False)
    """What the search has worked out for all sets: see `facts`."""
    _pairs: Floats = field(init=False, repr=False)
    _chances: Pairwise | None = field(init=False, default=None, repr=False)
    _table: Floats | None = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        names = self.graph.names
        fix = object.__setattr__
        fix(self, "masks", {name: 1 << i for i, name in enumerate(names)})
        fix(self, "layout", None if len(names) <= EXACT else layout_of(self.graph))
        fix(self, "rows", np.array([max(float(self.live[name]), 1.0) for name in names]))
        wide = self.layout
        given = predicates(self.graph) if wide is None else (wide.thetas, wide.ranges)
        fix(self, "query", (*given, self.rows))
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
        fill_cards(np.log(self.rows), self._pairs, connected, *self.query[:2], table)
        return np.exp(np.minimum(table, 600.0))

    def sets(self, masks: Sequence[int]) -> NDArray[np.int64]:
        """Sets of streams as kernels take them: as numbers, which are their places in tables, or as rows of words."""
        return np.array(masks, np.int64).reshape(-1) if self.layout is None else self.layout.words(masks)

    def cards(self, sets: NDArray[np.int64]) -> Floats:
        """Live composites of each set, given as `sets` has them."""
        if self._table is not None:
            return self._table[sets]
        chances = self._pairwise()
        found, widths = np.empty(len(sets)), np.empty(len(sets), np.int64)
        wide_cards(sets, np.log(self.rows), chances.near, chances.tests, found, widths)
        found = np.exp(np.minimum(found, 600.0))
        for i in np.flatnonzero(chances.widths[widths]).tolist():
            exact = chances.exact.get(sets[i].tobytes())
            if exact is not None:
                found[i] = max(exact, NOTHING)
        return found

    def _pairwise(self) -> Pairwise:
        """What follows from pairs; found once."""
        if self._chances is None:
            assert self.layout is not None
            made = pairwise(
                self.layout, self._pairs, {self.mask(names): c for names, c in self.known.items()}
            )
            object.__setattr__(self, "_chances", made)
        assert self._chances is not None
        return self._chances

    def composites(self, *names: str) -> float:
        """Live composites of these streams."""
        return float(self.cards(self.sets([self.mask(names)]))[0])

    def knowing(self, known: Mapping[frozenset[str], float]) -> Estimate:
        """The same, and live composites of more sets."""
        return evolve(self, known={**self.known, **known})
