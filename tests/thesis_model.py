"""The thesis' formulas in plain words, slow: what `policies.optimizer.thesis` is compared with."""

from __future__ import annotations

import itertools
import math


def components(names, graph):
    """A set cut into parts that its predicates connect."""
    rest, parts = sorted(names, key=graph.names.index), []
    while rest:
        part = frozenset(rest[:1])
        while grown := [n for n in rest if n not in part and graph.connected(part | {n})]:
            part |= {grown[0]}
        parts.append(part)
        rest = [name for name in rest if name not in part]
    return parts


def absent(names, collected, graph):
    """Algorithm 2, over the connected parts of a set."""
    product = 1.0
    for part in components(names, graph):
        larger = [other for other in collected if part < other]
        if part in collected:
            product *= collected[part]
        elif larger:
            fewest = min(map(len, larger))
            product *= min(collected[other] for other in larger if len(other) == fewest)
        else:
            product *= math.prod(collected[frozenset((name,))] for name in part)
    return product


def pairwise(one, other, collected, graph):
    """The selectivity of two streams."""
    if not graph.linked((one,), (other,)):
        return 1.0
    product = collected[frozenset((one,))] * collected[frozenset((other,))]
    return min(absent((one, other), collected, graph) / product, 1.0)


def numbers(collected, graph):
    """Num of every set (4.4), by (4.1) and (4.2)."""
    found = dict(collected)
    for size in range(2, len(graph.names) + 1):
        for both in map(frozenset, itertools.combinations(graph.names, size)):
            if both not in collected:
                found[both] = min(
                    min(pairwise(other, last, collected, graph) for other in both - {last})
                    * found[both - {last}]
                    * collected[frozenset((last,))]
                    for last in both
                    if graph.linked(both - {last}, (last,)) or not graph.connected(both)
                )
    return found


def ordering_cost(start, order, increment, number, probe, share=1.0):
    """(4.3): each step's probes times what one costs."""
    seen, flow, total = frozenset((start,)), increment, 0.0
    for other in order:
        total += probe[other] * flow
        seen |= {other}
        flow = number[seen] * share
    return total
