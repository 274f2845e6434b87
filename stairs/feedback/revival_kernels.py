"""Coming back: rows that were woken are linked where they belong, and joined with all that is there."""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from stairs.feedback.hiding_kernels import reveal
from stairs.feedback.judging_kernels import recipe_at
from stairs.feedback.recipe_kernels import record_at, rekey_by
from stairs.feedback.suppression_kernels import suppress
from stairs.feedback.visit_layout import BY_THE_CALLER, VERIFIED, Step, Unit, Verified, Work, edge_at
from stairs.feedback.waiting_kernels import copy_rows
from stairs.kernel import kernel
from stairs.key_kernels import link
from stairs.layout import (
    BASE,
    CAPACITY,
    LONGS,
    LOW,
    NEXT,
    RECORDS,
    ROOM,
    ROWS,
    STATE,
    TAIL,
)
from stairs.lowlevel.address import pointer
from stairs.lowlevel.raw import long_at
from stairs.probe_kernels import CURSOR, FILLING, SCAN_FILLING
from stairs.program_kernels import meta_at, state_at


@kernel(nb.int64(Unit, Work, RECORDS, LONGS), makes_arrays=True)
def revive(unit, work, marks, newest):
    """Rows that were woken can be found again, and are on their way; 0 if that must be done by the caller.

    They are older than every event of the batch: by the marks that they go by nothing that has come with it is live.
    """
    n = unit.woken_count
    work.start = work.stop = work.resumed = 0
    if n == 0:
        return 1
    rows, entries = carray(pointer(unit.woken), (n,), np.int32), unit.entries
    if work.complete == 0 or unit.leaf_count == 0 or entries == BY_THE_CALLER:
        return 0
    if entries != 0:
        meta = meta_at(entries)
        if n > meta[ROOM] or n > meta[CAPACITY]:
            return 0
        meta[LOW] = meta[BASE] = meta[TAIL] = 0
        copy_rows(state_at(unit.source), rows, state_at(entries))
        work.carried, work.stop = entries, n
        past = carray(pointer(work.past), (2, newest.shape[0]), np.int32)
        for s in range(newest.shape[0]):
            past[0, s], past[1, s] = marks[0, s], np.int32(newest[s])
    reveal(carray(pointer(unit.leaves), (unit.leaf_count,), np.int64), rows)
    unit.resumed += n
    return 1


@kernel(nb.void(STATE, nb.int64, Verified))
def keep_verified(out, first, verified):
    """Of the entries from ``first`` on those stay whose components are alike, by each line of ``verified``."""
    records, _, events, meta = out
    mask, tail = records.shape[0] - 1, first
    for entry in range(first, meta[TAIL]):
        slot, copy, same = np.uint64(entry & mask), np.uint64(tail & mask), True
        for j in range(verified.shape[0]):
            line = verified[j]
            one = long_at(record_at(line.one_leaf, records[slot, ROWS + line.one]))
            same &= one == long_at(record_at(line.other_leaf, records[slot, ROWS + line.other]))
        if same:
            for j in range(records.shape[1]):
                records[copy, j] = records[slot, j]
            records[copy, NEXT] = np.int32(tail)
            events[tail - meta[BASE]] = events[entry - meta[BASE]]
            tail += 1
    meta[TAIL] = tail


@kernel(nb.int64(Step, Work, LONGS, RECORDS), makes_arrays=True)
def carry(step, work, newest, waiting):
    """Take entries on their way to the next STAIR; 0 if that is full, or it takes more than a join."""
    if work.start == work.stop:
        return 1
    if step.plain == 0:
        return 0
    source, target, out = state_at(work.carried), state_at(step.target), state_at(step.out)
    sources, targets = source[0].shape[1] - ROWS, target[0].shape[1] - ROWS
    place = carray(pointer(step.places), (sources + targets,), np.int64)
    streams = carray(pointer(step.streams), (sources + targets,), np.int64)
    marks = carray(pointer(work.past), (2, newest.shape[0]), np.int32)
    cursor = carray(pointer(work.cursor), (CURSOR,), np.int64)
    if work.resumed == 0:
        cursor[0], cursor[1], cursor[2], cursor[3] = work.start, work.stop, 0, 0
        work.first, work.resumed = out[3][TAIL], 1
    if work.resumed == 1:
        if step.nested != 0:
            done = SCAN_FILLING(source, target, out, place, streams, marks, cursor, waiting)
        else:
            done = FILLING(source, target, out, place, streams, marks, cursor, waiting)
        if done == 0:
            return 0
        if step.verified_count > 0:
            keep_verified(out, work.first, carray(pointer(step.verified), (step.verified_count,), VERIFIED))
    if step.suppression != 0:
        work.resumed = 2
        if suppress(edge_at(step.suppression), work, marks, step.out, work.first) < 0:
            return 0
    work.resumed = 0
    work.carried, work.start, work.stop = step.out, work.first, out[3][TAIL]
    if work.start < work.stop:
        if step.recipe_count > 0:
            rekey_by(recipe_at(step.recipe, step.recipe_count), out, work.start, work.stop)
        link(out, work.start, work.stop, carray(pointer(0), (0,), np.uint8))
    return 1
