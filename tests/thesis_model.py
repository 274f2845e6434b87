"""The optimiser of the thesis (Wang 2013, chapter 4): cardinalities, selectivities, and the cost of an ordering.

Everything is by set of streams. The cardinality of one stream is its live rows; that of several, as the thesis has it,
what was fed to the next operator in the last interval. That is no size of a set: the same two streams have one value
in the plan of the first and another in that of the second, and selectivities (4.1) mix rows per interval with rows
per window. Unless ``literal``, a cardinality here is the number of live composites, measured by matches per arrival,
which is the same from all sides, and what flows through the plan of a stream is that share of it which its arrivals
are of its live rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping

from policies.optimizer.graph import Graph

Cards = Mapping[frozenset[str], float]
"""Cardinalities of sets of streams, single ones included."""


def inner_join_set(names: Iterable[str], graph: Graph, literal: bool = False) -> bool:
    """Whether a set is to be estimated as a join (Definition 4.2.2): its predicates connect it.

    As printed it is enough that each stream has a partner, so that two pairs without a predicate between them
    count as one join; ``literal`` keeps that.
    """
    names = frozenset(names)
    if not literal:
        return len(names) > 1 and graph.connected(names)
    return len(names) > 1 and all(graph.linked((name,), names - {name}) for name in names)


def absent(names: Iterable[str], collected: Cards, graph: Graph) -> float:
    """The cardinality of a set that no plan has (Algorithm 2).

    A join is estimated by the smallest among those collected that contain it, of as few streams as there are; streams
    without predicates between them by the product; a mixture by the product over its connected parts, each of which is
    taken as collected if it is. (As printed one part is a join and the others count as single streams, and what was
    collected of that part itself is not looked at.)
    """
    product = 1.0
    for part in components(names, graph):
        if part in collected:
            product *= collected[part]
            continue
        larger = [other for other in collected if part < other]
        if not larger:
            product *= math.prod(collected[frozenset((name,))] for name in part)
            continue
        fewest = min(map(len, larger))
        product *= min(collected[other] for other in larger if len(other) == fewest)
    return product


def components(names: Iterable[str], graph: Graph) -> list[frozenset[str]]:
    """A set cut into parts that its predicates connect."""
    rest = sorted(names, key=graph.names.index)
    parts: list[frozenset[str]] = []
    while rest:
        part = frozenset(rest[:1])
        while grown := [n for n in rest if n not in part and graph.connected(part | {n})]:
            part |= frozenset(grown[:1])
        parts.append(part)
        rest = [name for name in rest if name not in part]
    return parts


def selectivity(prefix: Iterable[str], last: str, collected: Cards, graph: Graph) -> float:
    """Of joining a stream to a set (4.1); where one of the cardinalities was not collected, that of the pair with the
    smallest (4.2), a pair without a predicate having 1.

    Taking the smallest is right where one key is shared by all, not, as the thesis says, where predicates are
    independent: then it would be the product.
    """
    prefix = frozenset(prefix)
    both = prefix | {last}
    if prefix in collected and both in collected:
        product = collected[prefix] * collected[frozenset((last,))]
        return collected[both] / product if product else 0.0
    return min(_pairwise(other, last, collected, graph) for other in prefix)


def _pairwise(one: str, other: str, collected: Cards, graph: Graph) -> float:
    if not graph.linked((one,), (other,)):
        return 1.0
    pair = frozenset((one, other))
    cards = collected[pair] if pair in collected else absent(pair, collected, graph)
    product = collected[frozenset((one,))] * collected[frozenset((other,))]
    return min(cards / product, 1.0) if product else 0.0


def numbers(collected: Cards, graph: Graph) -> dict[frozenset[str], float]:
    """Num of every set (4.4): what was collected, else by selectivities; one value per set, whatever the order.

    The formulas give a set that was not collected one value for each order. Dynamic programming needs one for all:
    the smallest, over the streams that may come last.
    """
    found = dict(collected)
    for size in range(2, len(graph.names) + 1):
        for names in itertools.combinations(graph.names, size):
            both = frozenset(names)
            if both not in collected:
                found[both] = _number(both, found, collected, graph)
    return found


def _number(
    both: frozenset[str], found: Mapping[frozenset[str], float], collected: Cards, graph: Graph
) -> float:
    if len(both) == 2:
        one, other = both
        share = _pairwise(one, other, collected, graph)
        return share * collected[frozenset((one,))] * collected[frozenset((other,))]
    return min(
        selectivity(both - {last}, last, collected, graph)
        * found[both - {last}]
        * collected[frozenset((last,))]
        for last in both
        if graph.linked(both - {last}, (last,)) or not graph.connected(both)
    )


def hashed(cards: float, buckets: float, access: float = 1.0) -> float:
    """The cost of one probe by hashing (4.5): the rows of a bucket."""
    return access * cards / max(buckets, 1.0)


def treed(cards: float, access: float = 1.0) -> float:
    """The cost of one probe in a balanced tree (4.5); of an empty one, and of one row, that of looking at it."""
    return access * max(math.log2(cards), 1.0) if cards > 0 else access


def ordering_cost(
    start: str,
    order: Iterable[str],
    increment: float,
    number: Mapping[frozenset[str], float],
    probe: Mapping[str, float],
) -> float:
    """The cost of a plan `start: order` (4.3): each step's probes times what one costs.

    ``number`` has what flows out of each step, by the set of streams so far; ``probe`` what a probe of a stream costs.
    """
    seen, flow, total = frozenset((start,)), increment, 0.0
    for other in order:
        total += probe[other] * flow
        seen |= {other}
        flow = number.get(seen, 0.0)
    return total
