"""Kernels of lists: the ids of the rows of each group in order, after every touch. See `order_kernels`."""

from __future__ import annotations

import numpy as np
from numba import types

from eddy.aggregate.order_kernels import CHILD, COUNT, DEEPEST, FILL, KEY, LIVE, ROOT, insert, remove
from eddy.aggregate.order_kernels import DONE as DONE
from eddy.aggregate.order_kernels import MISSING as MISSING
from eddy.aggregate.order_kernels import NO_ROOM as NO_ROOM
from stairs.kernel import kernel, part

AHEAD = 4
"""A place in a group's state: the number of its rows after the batch."""

_starts = types.int32[::1]
_weights = types.int8[::1]
_words = types.int64[::1]
_rows = types.int64[:, ::1]


@part
def _write(nodes, root, stack, turns, out, place):
    """Write the keys below a root, each of which is there once, in order."""
    depth = -1
    if root != 0:
        depth, stack[0], turns[0] = 0, root, 0
    while depth >= 0:
        node = stack[depth]
        if nodes[node, CHILD] == 0:
            for j in range(nodes[node, FILL]):
                out[place + j] = nodes[node, KEY + j]
            place += nodes[node, FILL]
            depth -= 1
        elif turns[depth] < nodes[node, FILL]:
            child = nodes[node, CHILD + turns[depth]]
            turns[depth] += 1
            depth += 1
            stack[depth], turns[depth] = child, 0
        else:
            depth -= 1


@kernel(types.void(_starts, _starts, _weights, _rows, _words))
def count_ahead(starts, slots, weights, state, counts):
    """The number of rows of each touch's group after it."""
    for v in range(slots.size):
        for i in range(starts[v], starts[v + 1]):
            state[slots[v], AHEAD] += weights[i]
        counts[v] = state[slots[v], AHEAD]


@kernel(types.void(_words, _words, _rows, _rows, _words), makes_arrays=True)
def read_lists(slots, offsets, nodes, state, out):
    """The ids of the rows of groups now; those of the i-th from offsets[i] on."""
    stack, turns = np.empty(DEEPEST, np.int64), np.empty(DEEPEST, np.int64)
    for i in range(slots.size):
        _write(nodes, state[slots[i], ROOT], stack, turns, out, offsets[i])


@kernel(
    types.int64(
        _words, types.int64, _starts, _starts, _weights, _words, _words, types.int64, _rows, _rows, _words
    ),
    makes_arrays=True,
)
def keep_lists(at, stop, starts, slots, weights, ids, offsets, first, nodes, state, out):
    """Let rows come and go up to touch ``stop``, and write the ids of the rows of each group after its touch.

    The work goes on from touch at[0] and row at[1]; if the pool has too few nodes left, it stops there for more. Those
    of touch v are written from offsets[v - first] on.
    """
    stack, turns = np.empty(DEEPEST, np.int64), np.empty(DEEPEST, np.int64)
    for v in range(at[0], stop):
        slot = slots[v]
        root = state[slot, ROOT]
        for i in range(max(at[1], starts[v]), starts[v + 1]):
            if weights[i] > 0:
                if nodes.shape[0] - nodes[0, LIVE] <= DEEPEST:
                    state[slot, ROOT] = root
                    at[0], at[1] = v, i
                    return NO_ROOM
                root = insert(nodes, root, ids[i])
            elif weights[i] < 0:
                root = remove(nodes, root, ids[i])
                if root < 0:
                    return MISSING
            state[slot, COUNT] += weights[i]
        state[slot, ROOT] = root
        _write(nodes, root, stack, turns, out, offsets[v - first])
    at[0], at[1] = stop, starts[stop]
    return DONE
