"""How many live composites a set of streams has, from what is known of smaller sets. In logarithms; no checks.

What is known exactly is taken. Otherwise two streams a and b of the set are taken to be independent given the others:

    |S| = |S - a| * |S - b| / |S - a - b|, times the selectivity of predicates that only a and b can test.

With pairs alone this is the usual product of selectivities. Of one key that several streams share, a and b are the pair
that says least of each other: for keys from ranges that contain each other that is exact, where a pair of another
choice would count the widest range twice. And what is known of triples is used for larger sets.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from policies.optimizer.compiled import FLAGS, FLOATS, LONGS
from policies.optimizer.step_kernels import width
from stairs.kernel import kernel, part

UNTESTED = -1.2
"""Logarithm of the selectivity of a predicate over three streams and more of which nothing is known."""


@part
def neighbours(streams, classes, thetas):
    """The streams that a predicate of two links to one of these."""
    found = 0
    for c in range(classes.shape[0]):
        if streams & classes[c]:
            found |= classes[c]
    for t in range(thetas.shape[0]):
        if streams & thetas[t] and width(thetas[t]) == 2:
            found |= thetas[t]
    return found & ~streams


@kernel(nb.void(LONGS, LONGS, LONGS, LONGS))
def adjacency(sets, classes, thetas, adjacent):
    """For each set the streams that are linked to it."""
    for i in range(sets.shape[0]):
        adjacent[i] = neighbours(sets[i], classes, thetas)


@kernel(nb.void(LONGS, LONGS, FLAGS))
def connection(adjacent, thetas, connected):
    """For each set, numbered by its mask, whether its predicates connect it."""
    for streams in range(1, connected.shape[0]):
        reached = streams & -streams
        grown = True
        while grown:
            before = reached
            reached |= adjacent[reached] & streams
            for t in range(thetas.shape[0]):
                if thetas[t] & reached and not thetas[t] & ~streams:
                    reached |= thetas[t]
            grown = reached != before
        connected[streams] = reached == streams


@part
def own_share(a, b, streams, classes, thetas):
    """Of the predicates between two streams of a set, the part that no third stream of it implies; -1: none at all."""
    all_of_them = own = 0
    pair = a | b
    for c in range(classes.shape[0]):
        if not pair & ~classes[c]:
            all_of_them += 1
            if classes[c] & streams == pair:
                own += 1
    for t in range(thetas.shape[0]):
        if thetas[t] == pair:
            all_of_them += 1
            own += 1
    return own / all_of_them if all_of_them else -1.0


@part
def untested(a, b, streams, thetas):
    """The selectivity of what is tested where both streams are, and others with them."""
    total = 0.0
    for t in range(thetas.shape[0]):
        reads = thetas[t]
        if not (a | b) & ~reads and reads != a | b and not reads & ~streams:
            total += UNTESTED
    return total


@kernel(nb.void(FLOATS, nb.float64[:, ::1], FLAGS, LONGS, LONGS, FLOATS))
def fill_cards(live, pairs, connected, classes, thetas, cards):
    """Complete the table `cards`, numbered by masks, where it is NaN. `pairs` has the selectivities of pairs."""
    n = live.shape[0]
    for streams in range(1, cards.shape[0]):
        if not np.isnan(cards[streams]):
            continue
        if not streams & (streams - 1):
            cards[streams] = live[width(streams - 1)]
            continue
        best_rank = -1
        best_pair = 0.0
        for i in range(n):
            a = 1 << i
            if not streams & a:
                continue
            for j in range(i + 1, n):
                b = 1 << j
                if not streams & b:
                    continue
                rest = streams ^ a ^ b
                share = own_share(a, b, streams, classes, thetas)
                rank = int(connected[streams ^ a]) + int(connected[streams ^ b])
                rank += int(rest == 0 or connected[rest]) + 4 * int(share < 0.0)
                if rank > best_rank or (rank == best_rank and pairs[i, j] < best_pair):
                    best_rank, best_pair = rank, pairs[i, j]
                    value = cards[streams ^ a] + cards[streams ^ b]
                    if rest:
                        value -= cards[rest]
                    value += max(share, 0.0) * pairs[i, j] + untested(a, b, streams, thetas)
                    cards[streams] = value
