"""Before and after the visits of a batch: counting, and judging once more what can be found."""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from stairs.feedback.hiding_kernels import list_linked
from stairs.feedback.judging_kernels import find
from stairs.feedback.sieve_kernels import turn
from stairs.feedback.visit_layout import (
    ARRIVED,
    AWAKE,
    BLACKLIST,
    CLOSED_AT,
    COUNT,
    EDGE,
    EDGES,
    EDGES_AT,
    JUDGED,
    LACKING,
    LIMIT,
    LOOKED,
    MADE,
    MADE_IN_ALL,
    MARKED,
    NANOSECONDS,
    SEEN,
    SIZE,
    SOURCE,
    SPENT,
    SPENT_IN_ALL,
    STAIR,
    UNIT,
    WANTED_IN,
    WEIGHT,
    WOKEN,
)
from stairs.kernel import kernel, part
from stairs.layout import (
    BASE,
    FLAGS,
    INTS,
    LONGS,
    LOW,
    RECORDS,
    TAIL,
    WAITING,
)
from stairs.lowlevel.address import pointer
from stairs.program_kernels import meta_at, state_at


@kernel(nb.int64(LONGS, LONGS, LONGS, LONGS), makes_arrays=True)
def begin_visits(units, edges, lows, counts):
    """A batch begins: nothing was woken yet, nothing has come; blacklists have lost what is dead. Returns how many
    entries wait."""
    left = 0
    for i in range(units.shape[0]):
        unit = carray(pointer(units[i]), (UNIT,), np.int64)
        unit[COUNT] = unit[WOKEN] = 0
    for i in range(edges.shape[0]):
        edge = carray(pointer(edges[i]), (EDGE,), np.int64)
        meta = meta_at(edge[BLACKLIST])
        meta[WAITING] = min(meta[WAITING], meta[TAIL] - meta[LOW])
        left += meta[WAITING]
        if edge[CLOSED_AT] != 0 and edge[SIZE] > 0 and edge[AWAKE] != 0:
            # What was moved to make room has another number now, but is in the sieve already.
            ring = meta_at(edge[WANTED_IN])
            edge[LIMIT] += ring[BASE] - min(ring[BASE], max(ring[LOW], edge[SEEN]))
            turn(edge, lows, counts)
    return left


@part
def charge(unit, edges):
    """Charge edges with what the batch took, each by what it has done."""
    done, spent = 0, unit[SPENT]
    for j in range(edges.shape[0]):
        edge = carray(pointer(edges[j]), (EDGE,), np.int64)
        done += 1 + edge[JUDGED] + edge[LOOKED]
    for j in range(edges.shape[0]):
        edge = carray(pointer(edges[j]), (EDGE,), np.int64)
        edge[NANOSECONDS] += spent * (1 + edge[JUDGED] + edge[LOOKED]) // done
    unit[SPENT] = 0
    return spent


@kernel(nb.void(LONGS, LONGS), makes_arrays=True)
def end_visits(units, out):
    """A batch is over: count what has come, what was made and what it took; ``out`` gets the sums."""
    out[SPENT_IN_ALL] = out[MADE_IN_ALL] = 0
    for i in range(units.shape[0]):
        unit = carray(pointer(units[i]), (UNIT,), np.int64)
        out[SPENT_IN_ALL] += charge(unit, carray(pointer(unit[EDGES_AT]), (unit[EDGES],), np.int64))
        unit[ARRIVED] += unit[COUNT]
        unit[COUNT] = 0
        if unit[STAIR] != 0:
            meta = meta_at(unit[STAIR])
            unit[MADE] += meta[TAIL] - meta[BASE]
            out[MADE_IN_ALL] += (meta[TAIL] - meta[BASE]) * unit[WEIGHT]


@kernel(nb.int64(LONGS, RECORDS, RECORDS, INTS, FLAGS, nb.int64[:, ::1], LONGS, LONGS), makes_arrays=True)
def judge_again(unit, floor, rows, moments, flags, keys, counts, room):
    """Look which rows of a stream that can be found lack something; how many can be found. Those that lack something at
    its first edge get the flag MARKED, at the next one more, and so on; ``counts`` tells how many. ``keys`` gets a line
    for each edge."""
    state = state_at(unit[SOURCE])
    n = list_linked(state, carray(pointer(rows.ctypes.data), (rows.shape[0],), np.int32))
    edges = carray(pointer(unit[EDGES_AT]), (unit[EDGES],), np.int64)
    for j in range(edges.shape[0]):
        edge, counts[j] = carray(pointer(edges[j]), (EDGE,), np.int64), 0
        if edge[AWAKE] != 0:
            counts[j] = find(edge, rows[:n], floor, moments[:n], flags[:n], keys[j, :n], room)
            for i in range(n if counts[j] > 0 else 0):
                if flags[i] == LACKING:
                    flags[i] = MARKED + j
    return n
