"""The thesis' optimiser over sets as bit masks: absent cardinalities, the cost of orderings, validity ranges.

Sets are numbered by their masks. No checks: see `thesis`.
"""

from __future__ import annotations

import math

import numba as nb

from policies.optimizer.compiled import FLAGS, FLOATS, LONGS, ORDERS, RANGES
from policies.optimizer.search_kernels import NEVER
from policies.optimizer.step_kernels import linked, width
from stairs.kernel import kernel, part

FACTOR = 2.0
"""By how much a cardinality is raised at first in search of its upper bound."""
ROUNDS = 60
FAR = 1e15
"""A bound beyond is none."""
ALL_ALIKE = 1e300
"""No bound."""


@part
def smallest_larger(streams, cards, collected):
    """The smallest cardinality among those collected that contain a set, of as few streams as there are; -1: none."""
    found, fewest = -1.0, NEVER
    full = cards.shape[0] - 1
    other = (streams + 1) | streams
    while other <= full:
        if collected[other]:
            size = width(other)
            if size < fewest or (size == fewest and cards[other] < found):
                found, fewest = cards[other], size
        other = (other + 1) | streams
    return found


@part
def component(streams, connected):
    """The streams that predicates of a set connect with its first."""
    found = streams & -streams
    rest = streams ^ found
    while rest:
        one = rest & -rest
        rest ^= one
        if connected[found | one]:
            found |= one
            rest = streams & ~found
    return found


@kernel(nb.float64(nb.int64, FLOATS, FLAGS, FLAGS))
def absent(streams, cards, collected, connected):
    """Algorithm 2: the product over the connected parts of a set, each as collected or by the joins that contain it."""
    product = 1.0
    while streams:
        inner = component(streams, connected)
        streams &= ~inner
        found = cards[inner] if collected[inner] else smallest_larger(inner, cards, collected)
        if found < 0.0:
            found = 1.0
            while inner:
                found *= cards[inner & -inner]
                inner &= inner - 1
        product *= found
    return product


@part
def pairwise(one, other, cards, collected, connected, adjacent):
    """The selectivity of two streams: 1 if no predicate is between them."""
    product = cards[one] * cards[other]
    if not adjacent[one] & other:
        return 1.0
    return min(absent(one | other, cards, collected, connected) / product, 1.0) if product > 0.0 else 0.0


@part
def least_pairwise(prefix, last, cards, collected, connected, adjacent):
    """(4.2): the smallest selectivity of a stream with one of a set."""
    least = 1.0
    while prefix:
        one = prefix & -prefix
        prefix ^= one
        least = min(least, pairwise(one, last, cards, collected, connected, adjacent))
    return least


@kernel(nb.void(FLOATS, FLAGS, FLAGS, LONGS, FLOATS))
def fill_numbers(cards, collected, connected, adjacent, numbers):
    """(4.4) for every set: as collected, else by selectivities, the smallest over the streams that may come last."""
    for both in range(1, cards.shape[0]):
        if collected[both]:
            numbers[both] = cards[both]
            continue
        numbers[both] = -1.0
        rest = both
        while rest:
            last = rest & -rest
            rest ^= last
            prefix = both ^ last
            if connected[both] and not adjacent[prefix] & last:
                continue
            share = least_pairwise(prefix, last, cards, collected, connected, adjacent)
            found = share * numbers[prefix] * cards[last]
            if numbers[both] < 0.0 or found < numbers[both]:
                numbers[both] = found
        if numbers[both] < 0.0:  # connected by a predicate over three streams only
            numbers[both] = absent(both, cards, collected, connected)


@kernel(nb.void(nb.int64, FLOATS, FLOATS, LONGS, LONGS, LONGS, ORDERS))
def best_orders(start, flows, probes, adjacent, thetas, crosses, orders):
    """Algorithm 1 for one start-up stream, a mask: for every set that has it the best order and the second best.

    `flows` has what leaves the step that completes a set, and the stream's own rows; `probes` what a probe of a stream
    costs. An order is given by its last stream; before that stands the best order of the others. Orders with more cross
    products than need be do not count.
    """
    cost, last, next_cost, next_last = orders
    cost[start] = last[start] = crosses[start] = 0
    for both in range(start + 1, flows.shape[0]):
        if not both & start:
            continue
        cost[both] = next_cost[both] = math.inf
        last[both] = next_last[both] = 0
        crosses[both] = NEVER
        rest = both ^ start
        while rest:
            one = rest & -rest
            rest ^= one
            before = both ^ one
            known = crosses[before]
            if not linked(before, one, adjacent[before], thetas):
                known += 1
            found = cost[before] + probes[width(one - 1)] * flows[before]
            if known < crosses[both]:
                cost[both], last[both], crosses[both] = found, one, known
                next_cost[both] = math.inf
            elif known == crosses[both] and found < cost[both]:
                next_cost[both], next_last[both] = cost[both], last[both]
                cost[both], last[both] = found, one
            elif known == crosses[both] and found < next_cost[both]:
                next_cost[both], next_last[both] = found, one


@part
def curve(value, treed):
    """How the cost of a probe grows with a cardinality (4.5)."""
    return max(math.log2(max(value, 1.0)), 1.0) if treed else value


@kernel(nb.float64(nb.float64, nb.float64, nb.boolean, nb.float64, nb.float64, nb.float64))
def upper(base, slope, treed, value, rival, cap):
    """Algorithm 3: the smallest whole number for a cardinality under which a plan costs more than its rival.

    The plan costs `base` and `slope` times the cardinality's curve. `cap`: the rows of a length-based window
    (Table 5.1). No bound where the cost does not grow, or not within reason.
    """
    low, high = value, max(value * FACTOR, value + 1.0)
    gap = rival - (base + slope * curve(low, treed))
    new_gap = rival - (base + slope * curve(high, treed))
    for _ in range(ROUNDS):
        if new_gap < 0.0:
            break
        gradient = (gap - new_gap) / (high - low)
        if not gradient > 0.0 or high > FAR:
            return cap
        low, gap = high, new_gap
        high += new_gap / gradient + 1.0
        new_gap = rival - (base + slope * curve(high, treed))
    if cap <= low or new_gap >= 0.0 or high > FAR:
        return cap
    low, high = math.floor(low), math.ceil(min(high, cap))
    while high - low > 1.0:
        middle = math.floor((low + high) / 2.0)
        if base + slope * curve(middle, treed) > rival:
            high = middle
        else:
            low = middle
    return high


@kernel(nb.float64(nb.float64, nb.float64, nb.boolean, nb.float64, nb.float64))
def lower(base, slope, treed, value, line):
    """The largest whole number up to a cardinality's value under which a rival costs less than the base line; or 0."""
    if base >= line:
        return 0.0
    low, high = 0.0, math.ceil(value)
    if base + slope * curve(low, treed) >= line:
        return 0.0
    while high - low > 1.0:
        middle = math.floor((low + high) / 2.0)
        if base + slope * curve(middle, treed) < line:
            low = middle
        else:
            high = middle
    return low


@kernel(nb.void(nb.int64, nb.float64, FLOATS, FLOATS, FLOATS, FLOATS, nb.boolean, ORDERS, RANGES))
def bounds(start, share, flows, cards, units, caps, treed, orders, ranges):
    """The validity ranges of a start-up stream's best order: of streams by number, of what the steps make by its width.

    For every prefix of the order the second best order of the same streams is the rival, and the two inputs of the last
    step get upper bounds; a rival's streams get lower bounds, from the last on. `share`: of a cardinality, what flows.
    `ranges` has the widest ones to begin with.
    """
    cost, last, next_cost, next_last = orders
    lows, highs, between = ranges
    both = flows.shape[0] - 1
    while both != start:
        before = both ^ last[both]
        if next_cost[both] < math.inf:
            at = width(last[both] - 1)
            rival = next_cost[both]
            if cards[last[both]] < caps[at]:
                slope = units[at] * flows[before]
                high = upper(cost[before], slope, treed, cards[last[both]], rival, caps[at])
                highs[at] = min(highs[at], high)
            size = width(before)
            if size > 1:
                slope = units[at] * curve(cards[last[both]], treed) * share
                high = upper(cost[before], slope, False, cards[before], rival, ALL_ALIKE)
                between[size] = min(between[size], high)
            line = cost[both]
            prefix = both
            one = next_last[both]
            while prefix != start and line > 0.0:
                prefix ^= one
                at = width(one - 1)
                slope = units[at] * flows[prefix]
                lows[at] = max(lows[at], lower(cost[prefix], slope, treed, cards[one], line))
                line -= slope * curve(cards[one], treed)
                one = last[prefix]
        both = before
