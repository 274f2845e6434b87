"""What a policy believes of its streams: how often rows come, and how many live composites any set of them has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from policies.optimizer.cards_kernels import adjacency, cards_of, connection, fill_cards
from policies.optimizer.graph import Graph

EXACT = 12
"""Up to so many streams every set has its place in a table."""
NOTHING = 1e-3
"""Where no match was seen there may be this many: a plan is not to be chosen because a sample was too small."""

Floats = NDArray[np.float64]


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
        fix(self, "classes", self._masks(self.graph.classes))
        fix(self, "thetas", self._masks(self.graph.thetas))
        ranges = [i in self.graph.ranges for i in range(len(self.graph.thetas))]
        fix(self, "ranges", np.array(ranges, np.uint8))
        fix(self, "rows", np.array([max(float(self.live[name]), 1.0) for name in names]))
        rates = np.array([float(self.rates[name]) for name in names])
        fix(self, "turnover", rates / self.rows)
        fix(self, "_pairs", self._selectivities())
        fix(self, "_table", self._filled() if len(names) <= EXACT else None)

    def _masks(self, sets: Iterable[Iterable[str]]) -> NDArray[np.int64]:
        return np.array([self.mask(names) for names in sets], np.int64).reshape(-1)

    def mask(self, names: Iterable[str]) -> int:
        """A set of streams as bits."""
        return sum(self.masks[name] for name in names)

    def _selectivities(self) -> Floats:
        """Logarithms; of a pair that is linked but not known, as if every row had one partner on the shorter side."""
        names, n = self.graph.names, len(self.graph.names)
        pairs = np.zeros((n, n))
        for i in range(n):
            for j in range(i):
                linked = self.graph.linked((names[i],), (names[j],))
                cards = self.known.get(frozenset((names[i], names[j])), min(self.rows[i], self.rows[j]))
                if linked:
                    found = np.log(max(cards, NOTHING) / self.rows[i] / self.rows[j])
                    pairs[i, j] = pairs[j, i] = min(found, 0.0)
        return pairs

    def _filled(self) -> Floats:
        size = 1 << len(self.graph.names)
        sets = np.arange(size)
        adjacent, connected = np.empty(size, np.int64), np.zeros(size, np.uint8)
        adjacency(sets, self.classes, self.thetas, adjacent)
        connection(adjacent, self.thetas, connected)
        table = np.full(size, np.nan)
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
