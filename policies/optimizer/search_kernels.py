"""Dynamic programming over sets of units as bit masks: trees, left-deep trees, and one stream's ordering.

Each kernel is compiled twice: for queries of so few streams that a set of them is one number too, and for all others.

Cross products are avoided as far as the query has none: of two plans the one with fewer is better, whatever it costs;
`crosses` has their number for every set. No checks: see `search`.
"""

from __future__ import annotations

import numba as nb

from policies.optimizer.compiled import FACTS, FLOATS, LONGS, QUERY, WIDE_FACTS, WIDE_QUERY, twice
from policies.optimizer.set_kernels import joining, linked_sets, probing_set, writing_sets

NEVER = 1 << 20


@twice(
    nb.void(nb.int64, FACTS, QUERY, FLOATS, FLOATS, LONGS, LONGS),
    nb.void(nb.int64, WIDE_FACTS, WIDE_QUERY, FLOATS, FLOATS, LONGS, LONGS),
)
def bushy(units, facts, query, model, cost, crosses, split):
    """The cheapest tree of every set of units: its cost, its crosses, and the units of its left side."""
    full = (1 << units) - 1
    for both in range(1, full + 1):
        cost[both] = crosses[both] = split[both] = 0
        if not both & (both - 1):
            continue
        crosses[both] = NEVER
        low = both & -both
        left = (both - 1) & both
        while left:
            right = both ^ left
            known = crosses[left] + crosses[right]
            below = cost[left] + cost[right]
            if left & low and (known < crosses[both] or (known == crosses[both] and below < cost[both])):
                if not linked_sets(left, right, facts, query):
                    known += 1
                if known < crosses[both] or (known == crosses[both] and below < cost[both]):
                    seconds = below + joining(left, right, both, both == full, facts, query, model)
                    if known < crosses[both] or seconds < cost[both]:
                        cost[both], crosses[both], split[both] = seconds, known, left
            left = (left - 1) & both


@twice(
    nb.void(nb.int64, nb.int64, FACTS, QUERY, FLOATS, FLOATS, LONGS, LONGS),
    nb.void(nb.int64, nb.int64, WIDE_FACTS, WIDE_QUERY, FLOATS, FLOATS, LONGS, LONGS),
)
def left_deep(units, first, facts, query, model, cost, crosses, split):
    """The same for trees whose right sides are all single units; the unit `first`, as a mask, is at the bottom left."""
    full = (1 << units) - 1
    for both in range(1, full + 1):
        cost[both] = crosses[both] = split[both] = 0
        if not both & (both - 1):
            continue
        crosses[both] = NEVER
        rest = both
        while rest:
            right = rest & -rest
            rest ^= right
            left = both ^ right
            known = crosses[left]
            if right == first:
                continue
            if not linked_sets(left, right, facts, query):
                known += 1
            if known <= crosses[both]:
                seconds = cost[left] + joining(left, right, both, both == full, facts, query, model)
                if known < crosses[both] or seconds < cost[both]:
                    cost[both], crosses[both], split[both] = seconds, known, left


@twice(
    nb.void(nb.int64, nb.int64, nb.float64, FACTS, QUERY, FLOATS, FLOATS, LONGS, LONGS),
    nb.void(nb.int64, nb.int64, nb.float64, WIDE_FACTS, WIDE_QUERY, FLOATS, FLOATS, LONGS, LONGS),
)
def ordering(units, first, turnover, facts, query, model, cost, crosses, last):
    """The cheapest order in which entries of the unit `first`, a mask, visit the others, for every set that has it.

    Of a set there arise `turnover` times its live composites per event. `last` has the unit that is visited last.
    """
    cards = facts[1]
    full = (1 << units) - 1
    cost[first] = crosses[first] = last[first] = 0
    for both in range(1, full + 1):
        if not both & first or both == first:
            continue
        crosses[both] = NEVER
        rest = both ^ first
        while rest:
            right = rest & -rest
            rest ^= right
            left = both ^ right
            known = crosses[left]
            if not linked_sets(left, right, facts, query):
                known += 1
            if known <= crosses[both]:
                seconds = cost[left]
                flow, matches = turnover * cards[left], turnover * cards[both]
                seconds += probing_set(flow, left, right, facts, query, model)
                seconds += writing_sets(matches, left, right, facts, query, model)
                if known < crosses[both] or seconds < cost[both]:
                    cost[both], crosses[both], last[both] = seconds, known, right
