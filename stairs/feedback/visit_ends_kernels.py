"""Before and after the visits of a batch: counting, and judging once more what can be found."""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from stairs.feedback.hiding_kernels import list_linked
from stairs.feedback.judging_kernels import find
from stairs.feedback.sieve_kernels import turn
from stairs.feedback.visit_layout import LACKING, MARKED, edge_at, told_at, unit_at
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
        unit = unit_at(units[i])
        unit.count = unit.woken_count = 0
    for i in range(edges.shape[0]):
        edge = edge_at(edges[i])
        meta = meta_at(edge.blacklist)
        meta[WAITING] = min(meta[WAITING], meta[TAIL] - meta[LOW])
        left += meta[WAITING]
        if edge.closed != 0 and edge.size > 0 and edge.awake != 0:
            # What was moved to make room has another number now, but is in the sieve already.
            ring = meta_at(edge.ring)
            edge.limit += ring[BASE] - min(ring[BASE], max(ring[LOW], edge.seen))
            turn(edge, lows, counts)
    return left


@part
def charge(unit, edges):
    """Charge edges with what the batch took, each by what it has done."""
    done, spent = 0, unit.spent
    for j in range(edges.shape[0]):
        edge = edge_at(edges[j])
        done += 1 + edge.judged + edge.looked
    for j in range(edges.shape[0]):
        edge = edge_at(edges[j])
        edge.nanoseconds += spent * (1 + edge.judged + edge.looked) // done
    unit.spent = 0
    return spent


@kernel(nb.void(LONGS, nb.int64), makes_arrays=True)
def end_visits(units, told):
    """A batch is over: count what has come, what was made and what it took; the TOLD at ``told`` gets the sums."""
    out = told_at(told)
    out.spent = out.made = 0
    for i in range(units.shape[0]):
        unit = unit_at(units[i])
        out.spent += charge(unit, carray(pointer(unit.edges), (unit.edge_count,), np.int64))
        unit.arrived += unit.count
        unit.count = 0
        if unit.stair != 0:
            meta = meta_at(unit.stair)
            unit.made += meta[TAIL] - meta[BASE]
            out.made += (meta[TAIL] - meta[BASE]) * unit.weight


@kernel(nb.int64(nb.int64, RECORDS, RECORDS, INTS, FLAGS, nb.int64[:, ::1], LONGS, LONGS), makes_arrays=True)
def judge_again(address, floor, rows, moments, flags, keys, counts, room):
    """Look which rows of a stream that can be found lack something; how many can be found. Those that lack something at
    its first edge get the flag MARKED, at the next one more, and so on; ``counts`` tells how many. ``keys`` gets a line
    for each edge. The unit of the stream is at ``address``."""
    unit = unit_at(address)
    state = state_at(unit.source)
    n = list_linked(state, carray(pointer(rows.ctypes.data), (rows.shape[0],), np.int32))
    edges = carray(pointer(unit.edges), (unit.edge_count,), np.int64)
    for j in range(edges.shape[0]):
        edge, counts[j] = edge_at(edges[j]), 0
        if edge.awake != 0:
            counts[j] = find(edge, rows[:n], floor, moments[:n], flags[:n], keys[j, :n], room)
            for i in range(n if counts[j] > 0 else 0):
                if flags[i] == LACKING:
                    flags[i] = MARKED + j
    return n
