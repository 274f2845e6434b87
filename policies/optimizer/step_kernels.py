"""What one join costs, in seconds per event. Pieces of the search kernels, compiled by themselves; no checks.

The model counts what the engine does: a *step* probes one store with so many entries per event, and a match is
written once and, in a tree, linked into the store above.
"""

from __future__ import annotations

import math

import numba as nb

from policies.optimizer.compiled import FLOATS, LONGS, QUERY
from stairs.kernel import kernel, part

PROBE, MISS, MATCH, BYTE, INSERT, REKEY, VERIFY, SEEK, COMPARE, STEP, NESTED, KEEP = range(12)
"""Where the parameters of a cost model are: see `model.CostModel`."""
CACHE = 32768.0
"""Bytes of a store that are no further away than any other."""
HEAD, COMPONENT = 12.0, 4.0
"""Bytes of an entry, and of each row number in it."""


@part
def width(streams):
    """How many streams a mask has."""
    found = 0
    while streams:
        streams &= streams - 1
        found += 1
    return found


@part
def shared(left, right, classes):
    """How many key classes two sets of streams have in common."""
    found = 0
    for c in range(classes.shape[0]):
        if left & classes[c] and right & classes[c]:
            found += 1
    return found


@part
def by_key(flow, entries, streams, common, foreign, model):
    """Seconds per event in which so many entries look for partners among others, of so many streams, by so many keys;
    `foreign`: they were joined by another."""
    if model[NESTED] > 0.0:
        return model[STEP] + flow * entries * model[COMPARE]
    size = entries * (HEAD + COMPONENT * streams)
    seconds = model[PROBE] + model[MISS] * math.log2(1.0 + size / CACHE)
    if foreign or common > 1:
        seconds += model[REKEY] * common
    return model[STEP] + flow * seconds


@part
def by_range(flow, rows, model):
    """The same by a sorted index of so many rows."""
    return model[STEP] + flow * (model[SEEK] * math.log2(2.0 + rows) + model[PROBE])


@part
def by_pairs(flow, rows, model):
    """The same by trying so many rows."""
    return model[STEP] + flow * (model[PROBE] + rows * model[COMPARE])


@part
def written(matches, streams, common, model):
    """Seconds per event in which so many matches, of so many streams and by so many keys, are written."""
    seconds = model[MATCH] + model[BYTE] * (HEAD + COMPONENT * streams)
    if common > 1:
        seconds += model[VERIFY] * common
    return matches * seconds


@kernel(nb.boolean(nb.int64, nb.int64, nb.int64, LONGS))
def linked(left, right, adjacent, thetas):
    """Whether a predicate can be tested between two sets, the streams next to the first being known."""
    if adjacent & right:
        return True
    for t in range(thetas.shape[0]):
        reads = thetas[t]
        if reads & left and reads & right and not reads & ~(left | right):
            return True
    return False


@kernel(nb.float64(nb.float64, nb.int64, nb.int64, nb.float64, QUERY, FLOATS))
def probing(flow, source, target, entries, query, model):
    """Seconds per event in which `flow` entries of `source` look for partners among `entries` of `target`."""
    classes, thetas, ranges, live = query
    common = 0
    foreign = False
    for c in range(classes.shape[0]):
        inside = source & classes[c]
        if inside and target & classes[c]:
            common += 1
        elif inside & (inside - 1):
            foreign = True  # they were joined by this key, so the next one has to be fetched
    if common:
        return by_key(flow, entries, width(target), common, foreign, model)
    pairs = 0.0
    for t in range(thetas.shape[0]):
        reads = thetas[t]
        inside = reads & target
        if inside and reads & source and not inside & (inside - 1) and not reads & ~(source | target):
            row = width(inside - 1)  # the one stream of the target that the predicate reads
            if ranges[t] and model[NESTED] == 0.0:
                return by_range(flow, live[row], model)
            pairs = live[row]
    return by_pairs(flow, pairs, model)


@kernel(nb.float64(nb.float64, nb.int64, nb.int64, QUERY, FLOATS))
def writing(matches, left, right, query, model):
    """Seconds per event in which so many matches of two sets are written."""
    return written(matches, width(left | right), shared(left, right, query[0]), model)


@kernel(nb.float64(nb.int64[:, ::1], nb.float64[:, ::1], FLOATS, QUERY, FLOATS))
def steps_seconds(steps, cards, turnover, query, model):
    """Seconds per event of the steps of a plan: of each its source, target and drivers as masks, how often it is made
    and how often its matches are stored; and the live composites of source, target and both."""
    total = 0.0
    for i in range(steps.shape[0]):
        drive = 0.0
        for s in range(turnover.shape[0]):
            if steps[i, 2] >> s & 1:
                drive += turnover[s]
        source, target, matches = steps[i, 0], steps[i, 1], cards[i, 2] * drive
        seconds = probing(cards[i, 0] * drive, source, target, cards[i, 1], query, model)
        seconds += writing(matches, source, target, query, model)
        total += steps[i, 3] * seconds + steps[i, 4] * matches * model[INSERT]
    return total
