"""The cost of steps, and live composites, for more streams than there can be tables for. Sets are rows of words, given
by their numbers in a table: see `words`. No checks.
"""

from __future__ import annotations

import numba as nb

from policies.optimizer.compiled import FLOATS, LONGS, WIDE_FACTS, WIDE_QUERY, WORDS
from policies.optimizer.step_kernels import INSERT, NESTED, by_key, by_pairs, by_range, width, written
from stairs.kernel import kernel, part

NEAR = nb.types.Tuple((LONGS, LONGS, LONGS, FLOATS))
"""Where the groups of each stream begin; where each group does; and in it streams with the selectivities of the pairs,
that which says most first."""
TESTS = nb.types.Tuple((LONGS, WORDS, FLOATS))
"""Where the predicates of each stream begin, which are those whose last stream it is; their streams; selectivities."""


@part
def common_classes(left, right, has):
    """How many key classes two sets have in common."""
    found = 0
    for w in range(has.shape[1]):
        found += width(has[left, w] & has[right, w])
    return found


@part
def reads_both(theta, thetas, left, right, streams):
    """Whether a predicate is tested where two sets meet: it reads streams of either, and no others."""
    one = other = False
    for w in range(thetas.shape[1]):
        reads = thetas[theta, w]
        if reads & ~(streams[left, w] | streams[right, w]):
            return False
        if reads & streams[left, w]:
            one = True
        if reads & streams[right, w]:
            other = True
    return one and other


@kernel(nb.boolean(nb.int64, nb.int64, WIDE_FACTS, WIDE_QUERY))
def wide_linked(left, right, facts, query):
    """Whether a predicate can be tested between two sets."""
    streams, _, _, has, _, _ = facts
    thetas = query[0]
    for w in range(has.shape[1]):
        if has[left, w] & has[right, w]:
            return True
    for t in range(thetas.shape[0]):
        if reads_both(t, thetas, left, right, streams):
            return True
    return False


@kernel(nb.float64(nb.float64, nb.int64, nb.int64, WIDE_FACTS, WIDE_QUERY, FLOATS))
def wide_probing(flow, source, target, facts, query, model):
    """Seconds per event in which `flow` entries of one set look for partners among those of another."""
    streams, cards, _, has, many, widths = facts
    thetas, ranges, live = query
    common = common_classes(source, target, has)
    if common:
        foreign = False
        for w in range(has.shape[1]):
            if many[source, w] & ~has[target, w]:
                foreign = True
        return by_key(flow, cards[target], widths[target], common, foreign, model)
    pairs = 0.0
    for t in range(thetas.shape[0]):
        if not reads_both(t, thetas, source, target, streams):
            continue
        found, row = 0, 0
        for w in range(thetas.shape[1]):
            inside = thetas[t, w] & streams[target, w]
            if inside:
                found += width(inside)
                row = 64 * w + width((inside & -inside) - 1)
        if found == 1:
            if ranges[t] and model[NESTED] == 0.0:
                return by_range(flow, live[row], model)
            pairs = live[row]
    return by_pairs(flow, pairs, model)


@kernel(nb.float64(nb.float64, nb.int64, nb.int64, WIDE_FACTS, FLOATS))
def wide_writing(matches, left, right, facts, model):
    """Seconds per event in which so many matches of two sets are written."""
    _, _, _, has, _, widths = facts
    return written(matches, widths[left] + widths[right], common_classes(left, right, has), model)


@kernel(nb.float64(nb.int64[:, ::1], WIDE_FACTS, WIDE_QUERY, FLOATS))
def wide_steps_seconds(counts, facts, query, model):
    """Seconds per event of the steps of a plan: of each how often it is made and how often its matches are stored. Its
    source, its target and both are three sets in a row, and how often an entry of its drivers arises is with the first.
    """
    _, cards, drive, _, _, _ = facts
    total = 0.0
    for i in range(counts.shape[0]):
        source, target, both = 3 * i, 3 * i + 1, 3 * i + 2
        matches = cards[both] * drive[source]
        seconds = wide_probing(cards[source] * drive[source], source, target, facts, query, model)
        seconds += wide_writing(matches, source, target, facts, model)
        total += counts[i, 0] * seconds + counts[i, 1] * matches * model[INSERT]
    return total


@kernel(nb.void(WORDS, FLOATS, NEAR, TESTS, FLOATS, LONGS))
def wide_cards(sets, live, near, tests, cards, widths):
    """The live composites of each set, from pairs alone, in logarithms: streams are added one by one, each by the
    predicates to those before it, of one key by the pair that says most. And how many streams it has."""
    groups, firsts, others, shares = near
    begins, reads, selectivities = tests
    for s in range(sets.shape[0]):
        total = 0.0
        widths[s] = 0
        for i in range(live.shape[0]):
            if not sets[s, i >> 6] >> (i & 63) & 1:
                continue
            total += live[i]
            widths[s] += 1
            for g in range(groups[i], groups[i + 1]):
                for at in range(firsts[g], firsts[g + 1]):
                    j = others[at]
                    if sets[s, j >> 6] >> (j & 63) & 1:
                        total += shares[at]
                        break
            for t in range(begins[i], begins[i + 1]):
                tested = True
                for w in range(reads.shape[1]):
                    if reads[t, w] & ~sets[s, w]:
                        tested = False
                if tested:
                    total += selectivities[t]
        cards[s] = total
