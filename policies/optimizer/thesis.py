"""The optimiser of the thesis (Wang 2013, chapters 4 and 5): cardinalities, the cost of orderings, validity ranges.

Everything is by set of streams. The cardinality of one stream is its live rows; that of several, as the thesis has it
(Definition 4.2.1), what was fed to the next operator in the last interval. That is no size of a set: the same two
streams have one value in the plan of the first and another in that of the second, and selectivities (4.1) mix rows per
interval with rows per window. Unless ``literal``, a cardinality here is a number of live composites, measured by
matches per arrival. It is the same from all sides; and what flows through the plan of a stream is that share of it
which the stream's arrivals are of its live rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from policies.graph import Graph
from policies.optimizer import thesis_kernels
from policies.optimizer.cards_kernels import adjacency, connection
from policies.optimizer.thesis_kernels import ALL_ALIKE, best_orders, bounds, fill_numbers

Cards = Mapping[frozenset[str], float]
"""Cardinalities of sets of streams, single ones included."""
Floats = NDArray[np.float64]

MOST = 12
"""Streams of a query that this optimiser takes: each set of them has its place in tables."""


def check_streams(names: Sequence[str], policy: str) -> None:
    """Refuse more streams than there are tables for, before an engine begins."""
    if len(names) > MOST:
        raise ValueError(
            f"{policy} plans for up to {MOST} streams, since each set of them has its place in a table, and the query "
            f"has {len(names)}: use policies.Auto, which takes any number"
        )


@frozen(eq=False)
class Sets:
    """The sets of a query's streams, numbered by their bits. Made once for a query."""

    graph: Graph
    masks: Mapping[str, int] = field(init=False)
    thetas: NDArray[np.int64] = field(init=False)
    adjacent: NDArray[np.int64] = field(init=False)
    connected: NDArray[np.uint8] = field(init=False)

    def __attrs_post_init__(self) -> None:
        fix = object.__setattr__
        size = 1 << len(self.graph.names)
        fix(self, "masks", {name: 1 << i for i, name in enumerate(self.graph.names)})
        classes, thetas = (
            np.array([self.mask(names) for names in sets], np.int64).reshape(-1)
            for sets in (self.graph.classes, self.graph.thetas)
        )
        fix(self, "thetas", thetas)
        fix(self, "adjacent", np.zeros(size, np.int64))
        fix(self, "connected", np.zeros(size, np.uint8))
        adjacency(np.arange(size), classes, thetas, self.adjacent)
        connection(self.adjacent, thetas, self.connected)

    def mask(self, names: Iterable[str]) -> int:
        return sum(self.masks[name] for name in names)

    def table(self, collected: Cards) -> tuple[Floats, NDArray[np.uint8]]:
        """Cardinalities by number, and which there are."""
        cards, there = np.zeros(len(self.adjacent)), np.zeros(len(self.adjacent), np.uint8)
        for names, value in collected.items():
            cards[self.mask(names)], there[self.mask(names)] = value, 1
        return cards, there

    def absent(self, names: Iterable[str], collected: Cards) -> float:
        """The cardinality of a set that no plan has (Algorithm 2).

        A join is estimated by the smallest of those collected that contain it, of as few streams as there are; streams
        without predicates between them by the product; a mixture by the product over its connected parts, each taken
        as collected if it was. (As printed one part is a join and all others are single streams, and what was
        collected of the part itself is not looked at.) Only what was collected serves, not what was estimated before.
        """
        return float(thesis_kernels.absent(self.mask(names), *self.table(collected), self.connected))

    def numbers(self, collected: Cards) -> Floats:
        """Num of every set (4.4), by number.

        The formulas give a set that was not collected a value for each order. Dynamic programming needs one for all:
        the smallest.
        """
        numbers = np.zeros(len(self.adjacent))
        fill_numbers(*self.table(collected), self.connected, self.adjacent, numbers)
        return numbers


@frozen(eq=False)
class Costs:
    """What the formulas (4.3) and (4.5) need."""

    sets: Sets
    numbers: Floats
    """Cardinalities of all sets by number."""
    increments: Floats
    """Inc: rows of each stream in the interval."""
    units: Floats
    """The cost of a probe for each row of the stream, by hashing, or for each level of its tree."""
    caps: Floats
    """Rows of a length-based window; ALL_ALIKE of another."""
    treed: bool = False
    literal: bool = False

    def flows(self, start: int) -> tuple[Floats, float]:
        """What leaves each step of the plans of a stream, given by number, and which share that is of a cardinality."""
        own = 1 << start
        share = 1.0 if self.literal else float(self.increments[start] / max(self.numbers[own], 1.0))
        flows = self.numbers * share
        flows[own] = self.increments[start]
        return flows, share

    @property
    def probes(self) -> Floats:
        """The cost of a probe of each stream (4.5); in a tree of one row, or none, that of one level."""
        cards = self.numbers[1 << np.arange(len(self.units))]
        return self.units * (np.maximum(np.log2(np.maximum(cards, 1.0)), 1.0) if self.treed else cards)


@frozen(eq=False)
class StreamPlan:
    """The plan of one start-up stream, with its validity ranges."""

    start: int
    order: tuple[int, ...]
    cost: float
    lows: Floats
    highs: Floats
    """By stream; no bound for the start-up stream itself."""
    between: Floats
    """Upper bounds of what the steps make, by its number of streams. Lower bounds are 0: less is only better."""


def cost_of_order(costs: Costs, plan: StreamPlan) -> float:
    """What a plan costs now (4.3)."""
    flows, _ = costs.flows(plan.start)
    probes, seen, total = costs.probes, 1 << plan.start, 0.0
    for other in plan.order:
        total += float(probes[other] * flows[seen])
        seen |= 1 << other
    return total


def plan_stream(costs: Costs, start: int) -> StreamPlan:
    """The regeneration path for one stream: Algorithm 1, then the ranges by its best and second best orders.

    Departures of Algorithm 3, where the thesis leaves things open: selectivities are held while a cardinality varies,
    and so is the rival's cost; where the plan's cost does not grow there is no bound; of several rivals the nearest
    bound counts. A lower base line below nothing is nothing.
    """
    sets, n = costs.sets, len(costs.units)
    flows, share = costs.flows(start)
    size = len(flows)
    orders = np.zeros(size), np.zeros(size, np.int64), np.zeros(size), np.zeros(size, np.int64)
    crosses = np.zeros(size, np.int64)
    best_orders(1 << start, flows, costs.probes, sets.adjacent, sets.thetas, crosses, orders)
    ranges = np.zeros(n), costs.caps.copy(), np.full(n + 1, ALL_ALIKE)
    given = flows, costs.numbers, costs.units, costs.caps, costs.treed
    bounds(1 << start, share, *given, orders, ranges)
    lows, highs, between = ranges
    lows[start], highs[start] = 0.0, ALL_ALIKE
    order: list[int] = []
    at = size - 1
    while at != 1 << start:
        order.append(int(orders[1][at]).bit_length() - 1)
        at ^= int(orders[1][at])
    return StreamPlan(start, tuple(reversed(order)), float(orders[0][-1]), lows, highs, between)
