"""Coming back: rows that were woken are linked where they belong, and joined with all that is there."""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from stairs.feedback.hiding_kernels import reveal
from stairs.feedback.judging_kernels import lines
from stairs.feedback.recipe_kernels import record_at, rekey_by
from stairs.feedback.visit_layout import (
    BOTH_AT,
    BY_THE_CALLER,
    CARRIED,
    COMPLETE,
    CURSOR,
    ENTRIES,
    FIRST,
    INTO,
    LEAVES,
    LEAVES_AT,
    NESTED,
    PAST_AT,
    PLACE_AT,
    PLAIN,
    RECIPE,
    RECIPE_AT,
    RESUMED,
    RESUMED_AT,
    SOURCE,
    START,
    STOP,
    TARGET,
    VERIFIED,
    VERIFIED_AT,
    WOKEN,
    WOKEN_AT,
)
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
from stairs.probe_kernels import FILLING, SCAN_FILLING
from stairs.program_kernels import meta_at, state_at


@kernel(nb.int64(LONGS, LONGS, RECORDS, LONGS), makes_arrays=True)
def revive(unit, desk, marks, newest):
    """Rows that were woken can be found again, and are on their way; 0 if that must be done by the caller.

    They are older than every event of the batch: by the marks that they go by nothing that has come with it is live.
    """
    n = unit[WOKEN]
    desk[START] = desk[STOP] = desk[RESUMED_AT] = 0
    if n == 0:
        return 1
    rows, entries = carray(pointer(unit[WOKEN_AT]), (n,), np.int32), unit[ENTRIES]
    if desk[COMPLETE] == 0 or unit[LEAVES] == 0 or entries == BY_THE_CALLER:
        return 0
    if entries != 0:
        meta = meta_at(entries)
        if n > meta[ROOM] or n > meta[CAPACITY]:
            return 0
        meta[LOW] = meta[BASE] = meta[TAIL] = 0
        copy_rows(state_at(unit[SOURCE]), rows, state_at(entries))
        desk[CARRIED], desk[STOP] = entries, n
        past = carray(pointer(desk[PAST_AT]), (2, newest.shape[0]), np.int32)
        for s in range(newest.shape[0]):
            past[0, s], past[1, s] = marks[0, s], np.int32(newest[s])
    reveal(carray(pointer(unit[LEAVES_AT]), (unit[LEAVES],), np.int64), rows)
    unit[RESUMED] += n
    return 1


@kernel(nb.void(STATE, nb.int64, nb.int64[:, ::1]))
def keep_verified(out, first, verified):
    """Of the entries from ``first`` on those stay whose components are alike: a line for each attribute has one, its
    leaf, the other and its leaf."""
    records, _, events, meta = out
    mask, tail = records.shape[0] - 1, first
    for entry in range(first, meta[TAIL]):
        slot, copy, same = np.uint64(entry & mask), np.uint64(tail & mask), True
        for j in range(verified.shape[0]):
            one = long_at(record_at(verified[j, 1], records[slot, ROWS + verified[j, 0]]))
            same &= one == long_at(record_at(verified[j, 3], records[slot, ROWS + verified[j, 2]]))
        if same:
            for j in range(records.shape[1]):
                records[copy, j] = records[slot, j]
            records[copy, NEXT] = np.int32(tail)
            events[tail - meta[BASE]] = events[entry - meta[BASE]]
            tail += 1
    meta[TAIL] = tail


@kernel(nb.int64(LONGS, LONGS, LONGS, RECORDS), makes_arrays=True)
def carry(step, desk, newest, waiting):
    """Take entries on their way to the next STAIR; 0 if that is full, or it takes more than a join."""
    if desk[START] == desk[STOP]:
        return 1
    if step[PLAIN] == 0:
        return 0
    source, target, out = state_at(desk[CARRIED]), state_at(step[TARGET]), state_at(step[INTO])
    sources, targets = source[0].shape[1] - ROWS, target[0].shape[1] - ROWS
    place = carray(pointer(step[PLACE_AT]), (sources + targets,), np.int64)
    streams = carray(pointer(step[BOTH_AT]), (sources + targets,), np.int64)
    marks = carray(pointer(desk[PAST_AT]), (2, newest.shape[0]), np.int32)
    cursor = desk[CURSOR:]
    if desk[RESUMED_AT] == 0:
        cursor[0], cursor[1], cursor[2], cursor[3] = desk[START], desk[STOP], 0, 0
        desk[FIRST], desk[RESUMED_AT] = out[3][TAIL], 1
    if step[NESTED] != 0:
        done = SCAN_FILLING(source, target, out, place, streams, marks, cursor, waiting)
    else:
        done = FILLING(source, target, out, place, streams, marks, cursor, waiting)
    if done == 0:
        return 0
    desk[RESUMED_AT] = 0
    if step[VERIFIED] > 0:
        keep_verified(out, desk[FIRST], carray(pointer(step[VERIFIED_AT]), (step[VERIFIED], 4), np.int64))
    desk[CARRIED], desk[START], desk[STOP] = step[INTO], desk[FIRST], out[3][TAIL]
    if desk[START] < desk[STOP]:
        if step[RECIPE] > 0:
            rekey_by(lines(step, RECIPE_AT, RECIPE), out, desk[START], desk[STOP])
        link(out, desk[START], desk[STOP], carray(pointer(0), (0,), np.uint8))
    return 1
