"""Kernels that keep the values of each group in order while they come and go, and find the one of any rank.

A group's values are a counted B-tree: equal values are one entry with a weight, and an entry of an inner node
stands for a child, with the weight of all below it. Walking down, an insertion splits each full node before it
enters it, and a removal fills up each scanty one; so no step ever goes back up, and every node but the root
holds `_FEW` entries or more: a tree of n values is at most log4(n) nodes deep.

The nodes of all groups share one array. Record 0 is no node but the head of this pool, so that a root or child 0
means none, and zeros are an empty tree. Values are int64 whose order is the order meant: see `accumulators`.
"""

from __future__ import annotations

import numpy as np
from numba import types

from stairs.kernel import kernel, part

_FULL = 16
_FEW = 4
KEY, WEIGHT, CHILD, FILL, RECORD = 0, _FULL, 2 * _FULL, 3 * _FULL, 3 * _FULL + 1
"""Places in a node's record: values, weights and children of its entries, their number; and the record's size.
A leaf has no first child. The key of an inner entry is a bound: no value below it is less, except in the first.
A free node has the next free one for first child, and no entries."""
FREE, TOP, LIVE = range(3)
"""Places in the pool's head: first free node or 0, last node ever used, nodes in use."""
DEEPEST = 24
"""More nodes than one insertion can ever take: log4 of more values than fit any memory."""
COUNT, LOWER, UPPER, ROOT = range(4)
"""Places in a group's state: the number of its values, the least and the greatest value shown, its root."""
MIN, MAX, MEDIAN, SHARE, SHARE_DISCRETE = range(5)
"""What is shown. A share of the values, n / d, lies at rank n * (count - 1) / d, or, discrete, at the first rank
such that with it so many values are passed."""
NO_ROOM, DONE, MISSING = range(3)

_starts = types.int32[::1]
_weights = types.int8[::1]
_words = types.int64[::1]
_rows = types.int64[:, ::1]


@kernel(types.int64(_rows))
def _take(nodes):
    """An empty leaf out of the pool."""
    node = nodes[0, FREE]
    if node:
        nodes[0, FREE] = nodes[node, CHILD]
    else:
        nodes[0, TOP] += 1
        node = nodes[0, TOP]
    nodes[0, LIVE] += 1
    nodes[node, CHILD], nodes[node, FILL] = 0, 0
    return node


@kernel(types.void(_rows, types.int64))
def _give_back(nodes, node):
    nodes[node, CHILD], nodes[node, FILL] = nodes[0, FREE], 0
    nodes[0, FREE] = node
    nodes[0, LIVE] -= 1


@kernel(types.void(_rows, types.int64, types.int64, types.int64, types.int64))
def _copy(nodes, source, i, target, j):
    nodes[target, KEY + j] = nodes[source, KEY + i]
    nodes[target, WEIGHT + j] = nodes[source, WEIGHT + i]
    nodes[target, CHILD + j] = nodes[source, CHILD + i]


@kernel(types.void(_rows, types.int64, types.int64, types.int64))
def _open(nodes, node, i, n):
    """Make room for n entries at place i."""
    for j in range(nodes[node, FILL] - 1, i - 1, -1):
        _copy(nodes, node, j, node, j + n)
    nodes[node, FILL] += n


@kernel(types.void(_rows, types.int64, types.int64, types.int64))
def _close(nodes, node, i, n):
    """Drop the n entries at place i."""
    for j in range(i + n, nodes[node, FILL]):
        _copy(nodes, node, j, node, j - n)
    nodes[node, FILL] -= n


@kernel(types.int64(_rows, types.int64, types.int64))
def _way(nodes, node, key):
    """The entry of an inner node below which the key belongs: the last one whose bound is not above it.

    Here and in `_place` all entries are compared, used or not: a loop of fixed length becomes a few instructions.
    """
    i, fill = 0, nodes[node, FILL]
    for j in range(1, _FULL):
        i += (nodes[node, KEY + j] <= key) & (j < fill)
    return i


@kernel(types.int64(_rows, types.int64, types.int64))
def _place(nodes, leaf, key):
    """The entry of a leaf that the key has, or would have."""
    i, fill = 0, nodes[leaf, FILL]
    for j in range(_FULL):
        i += (nodes[leaf, KEY + j] < key) & (j < fill)
    return i


@kernel(types.void(_rows, types.int64, types.int64))
def _split(nodes, parent, i):
    """Halve the full child at entry i. The parent has room for one more."""
    left, right = nodes[parent, CHILD + i], _take(nodes)
    half, weight = _FULL // 2, 0
    for j in range(half):
        _copy(nodes, left, half + j, right, j)
        weight += nodes[right, WEIGHT + j]
    nodes[left, FILL] = nodes[right, FILL] = half
    _open(nodes, parent, i + 1, 1)
    nodes[parent, KEY + i + 1], nodes[parent, WEIGHT + i + 1] = nodes[right, KEY], weight
    nodes[parent, CHILD + i + 1] = right
    nodes[parent, WEIGHT + i] -= weight


@kernel(types.void(_rows, types.int64, types.int64))
def _level(nodes, parent, i):
    """Level the children at entries i and i + 1, or make one of them where that leaves it some room."""
    left, right = nodes[parent, CHILD + i], nodes[parent, CHILD + i + 1]
    there, total = nodes[left, FILL], nodes[left, FILL] + nodes[right, FILL]
    wanted = total if total <= _FULL - _FEW else total // 2
    weight = 0
    if there < wanted:
        for j in range(wanted - there):
            _copy(nodes, right, j, left, there + j)
            weight += nodes[right, WEIGHT + j]
        nodes[left, FILL] = wanted
        _close(nodes, right, 0, wanted - there)
    else:
        _open(nodes, right, 0, there - wanted)
        for j in range(there - wanted):
            _copy(nodes, left, wanted + j, right, j)
            weight -= nodes[left, WEIGHT + wanted + j]
        nodes[left, FILL] = wanted
    nodes[parent, WEIGHT + i] += weight
    nodes[parent, WEIGHT + i + 1] -= weight
    nodes[parent, KEY + i + 1] = nodes[right, KEY]
    if wanted == total:
        _close(nodes, parent, i + 1, 1)
        _give_back(nodes, right)


@kernel(types.int64(_rows, types.int64, types.int64))
def insert(nodes, root, key):
    """Add one to the weight of a value, old or new. The root afterwards is returned."""
    if root == 0:
        root = _take(nodes)
    elif nodes[root, FILL] == _FULL:
        top, weight = _take(nodes), 0
        for j in range(_FULL):
            weight += nodes[root, WEIGHT + j]
        nodes[top, FILL], nodes[top, WEIGHT], nodes[top, CHILD] = 1, weight, root
        _split(nodes, top, 0)
        root = top
    node = root
    while nodes[node, CHILD]:
        i = _way(nodes, node, key)
        if nodes[nodes[node, CHILD + i], FILL] == _FULL:
            _split(nodes, node, i)
            i += nodes[node, KEY + i + 1] <= key
        nodes[node, WEIGHT + i] += 1
        node = nodes[node, CHILD + i]
    i = _place(nodes, node, key)
    if i == nodes[node, FILL] or nodes[node, KEY + i] != key:
        _open(nodes, node, i, 1)
        nodes[node, KEY + i], nodes[node, WEIGHT + i], nodes[node, CHILD + i] = key, 0, 0
    nodes[node, WEIGHT + i] += 1
    return root


@kernel(types.int64(_rows, types.int64, types.int64))
def remove(nodes, root, key):
    """Take one from the weight of a value. The root afterwards is returned, or -1 if the value is not there."""
    if root == 0:
        return -1
    node = root
    while nodes[node, CHILD]:
        i = _way(nodes, node, key)
        if nodes[nodes[node, CHILD + i], FILL] <= _FEW:
            _level(nodes, node, i if i + 1 < nodes[node, FILL] else i - 1)
            i = _way(nodes, node, key)
        nodes[node, WEIGHT + i] -= 1
        node = nodes[node, CHILD + i]
    i = _place(nodes, node, key)
    if i == nodes[node, FILL] or nodes[node, KEY + i] != key:
        return -1
    nodes[node, WEIGHT + i] -= 1
    if nodes[node, WEIGHT + i] == 0:
        _close(nodes, node, i, 1)
    if nodes[root, FILL] > 1 or (nodes[root, FILL] == 1 and nodes[root, CHILD] == 0):
        return root
    child = nodes[root, CHILD]
    _give_back(nodes, root)
    return child


@kernel(types.int64(_rows, types.int64, types.int64))
def _at_rank(nodes, node, rank):
    """The value with `rank` values before it."""
    while True:
        i = 0
        while rank >= nodes[node, WEIGHT + i]:
            rank -= nodes[node, WEIGHT + i]
            i += 1
        if nodes[node, CHILD] == 0:
            return nodes[node, KEY + i]
        node = nodes[node, CHILD + i]


@kernel(types.void(_rows, types.int64, _rows, types.int64))
def _write(state, slot, out, row):
    """Three words; as a loop, for an assignment of slices takes seconds to compile."""
    for j in range(3):
        out[row, j] = state[slot, j]


@part
def _ranks(shown, numerator, denominator, count):
    """The ranks of the values shown, of so many."""
    if shown == MIN:
        return np.int64(0), np.int64(0)
    if shown == MAX:
        return count - 1, count - 1
    if shown == MEDIAN:
        return (count - 1) // 2, count // 2
    if shown == SHARE_DISCRETE:
        lower = max((numerator * count + denominator - 1) // denominator - 1, 0)
        return lower, lower
    passed = numerator * (count - 1)
    return passed // denominator, (passed + denominator - 1) // denominator


@kernel(
    types.int64(
        _words,
        _starts,
        _starts,
        _weights,
        _words,
        types.int64,
        types.int64,
        types.int64,
        _rows,
        _rows,
        _rows,
    )
)
def keep_order(at, starts, slots, weights, keys, shown, numerator, denominator, nodes, state, out):
    """Insert and remove the values of a batch of touches, and write what is shown before and after each.

    The arguments are those of the kernels in `sum_kernels`. The work goes on from touch at[0] and row at[1]; if
    the pool has too few nodes left, it stops there for more. What is shown is the value at the rank that MIN, MAX,
    MEDIAN or a share has, as LOWER and UPPER; the two differ only where that lies between two values.
    """
    for v in range(at[0], slots.size):
        slot = slots[v]
        if at[1] <= starts[v]:
            _write(state, slot, out, 2 * v)
        root = state[slot, ROOT]
        for i in range(max(at[1], starts[v]), starts[v + 1]):
            if weights[i] > 0:
                if nodes.shape[0] - nodes[0, LIVE] <= DEEPEST:
                    state[slot, ROOT] = root
                    at[0], at[1] = v, i
                    return NO_ROOM
                root = insert(nodes, root, keys[i])
            elif weights[i] < 0:
                root = remove(nodes, root, keys[i])
                if root < 0:
                    return MISSING
            state[slot, COUNT] += weights[i]
        state[slot, ROOT] = root
        count = state[slot, COUNT]
        if count > 0:
            lower, upper = _ranks(shown, numerator, denominator, count)
            state[slot, LOWER] = _at_rank(nodes, root, lower)
            state[slot, UPPER] = _at_rank(nodes, root, upper) if upper != lower else state[slot, LOWER]
        else:
            state[slot, LOWER] = state[slot, UPPER] = 0
        _write(state, slot, out, 2 * v + 1)
    return DONE
