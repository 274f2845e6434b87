"""What a shard does with a portion of a batch: it takes in the rows that are its own.

A shard is a line of numbers, as a plan is: so a batch needs no Python for each shard, and any thread can do the work of
any shard. Where more is needed - holes, a ring that must grow - a shard is left as it is, or stops, and the caller goes
on with it.

Rows have numbers of the shard's own, so that its rings are as large as what it holds; events keep their places in the
whole batch.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from eddy.lowwater_kernels import BEFORE, LOW, NEXT
from eddy.shards_layout import (
    AT,
    BEFORE_PUSH,
    BEGIN,
    BEGINNING,
    BLOCK,
    CAPACITY,
    COUNT,
    COUNTS,
    CRAMPED,
    CURSOR,
    DEALT,
    DONE,
    EVENTS,
    FIRST_KEPT,
    FLOOR,
    HELD,
    JOBS,
    LEAVES,
    LINES,
    LOWS,
    LOWWATER,
    MADE,
    MARKS,
    NEXT_ROW,
    NUMBERS,
    PART_EVENTS,
    PART_FIRST,
    PART_ROWS,
    PORTION,
    PROGRAM,
    RANK_SLOTS,
    RANKS,
    RESULTS,
    ROWS,
    RUNNING,
    SENT,
    STAMP,
    STATUS,
    STOP,
    STREAMS,
    UNTOUCHED,
    WAITING,
    WIDTH,
    int_at,
    long_at,
    set_int,
    set_long,
)
from stairs import layout
from stairs.address import pointer
from stairs.begin_kernels import STAIR, TABLE, begin_rings
from stairs.kernel import kernel
from stairs.program_kernels import INSTRUCTION, JOB, MATCHED, RESUMED, append_leaves, meta_at, run

_table = nb.int64[:, ::1]

LANES = 4
"""Streams whose marks are translated side by side."""


@kernel(nb.boolean(nb.int64[::1], _table, _table, nb.int64[::1]), stamp=STAMP, makes_arrays=True)
def _possible(shard, lines, parts, base):  # type: ignore[no-untyped-def]
    """Whether kernels can do the batch: no key is a hole, and all of its rows have a rank."""
    for s in range(lines.shape[0]):
        whole = parts[s, PART_FIRST] + parts[s, PART_ROWS] + 1 - base[s]
        if lines[s, RANK_SLOTS] != 0 and whole > lines[s, RANK_SLOTS]:
            return False
    rings = carray(pointer(shard[BEGIN]), (shard[LINES], TABLE), np.int64)
    for i in range(rings.shape[0]):
        if rings[i, 0] == STAIR and meta_at(rings[i, 1])[layout.HOLES] != 0:
            return False
    return True


@kernel(nb.boolean(nb.int64[::1], _table, _table), stamp=STAMP, makes_arrays=True)
def _roomy(shard, table, lines):  # type: ignore[no-untyped-def]
    """Whether there is room for the rows of the portion."""
    for s in range(lines.shape[0]):
        if lines[s, NEXT_ROW] + lines[s, ROWS] - lines[s, FIRST_KEPT] > lines[s, CAPACITY]:
            return False
    jobs = carray(pointer(shard[JOBS]), (shard[LEAVES], JOB), np.int64)
    for i in range(jobs.shape[0]):
        s = jobs[i, 5]
        meta, count = meta_at(jobs[i, 0]), lines[s, ROWS]
        if count > meta[layout.ROOM] or meta[layout.TAIL] + count - table[LOW, s] > meta[layout.CAPACITY]:
            return False
        jobs[i, 4] = count
    return True


@kernel(nb.void(nb.int64[::1], _table, nb.int32[:, ::1], nb.int64), stamp=STAMP, makes_arrays=True)
def _translate(shard, lines, marks, t):  # type: ignore[no-untyped-def]
    """Translate the marks of up to LANES streams, from t on, at the shard's events: a rank for each.

    Side by side, as the processor can look several up at a time. Where there are fewer, the last is done again. A
    window that never ends has one rank, its floor.
    """
    n, whole, into, floor = lines.shape[0], marks.ctypes.data, shard[MARKS], shard[FLOOR]
    b, c, d = min(t + 1, n - 1), min(t + 2, n - 1), min(t + 3, n - 1)
    ranks_t, mask_t = lines[t, RANKS], lines[t, RANK_SLOTS] - 1
    ranks_b, mask_b = lines[b, RANKS], lines[b, RANK_SLOTS] - 1
    ranks_c, mask_c = lines[c, RANKS], lines[c, RANK_SLOTS] - 1
    ranks_d, mask_d = lines[d, RANKS], lines[d, RANK_SLOTS] - 1
    ranks_t, mask_t = (ranks_t, mask_t) if ranks_t != 0 else (floor + 4 * t, 0)
    ranks_b, mask_b = (ranks_b, mask_b) if ranks_b != 0 else (floor + 4 * b, 0)
    ranks_c, mask_c = (ranks_c, mask_c) if ranks_c != 0 else (floor + 4 * c, 0)
    ranks_d, mask_d = (ranks_d, mask_d) if ranks_d != 0 else (floor + 4 * d, 0)
    for s in range(n):
        at = lines[s, EVENTS]
        for p in range(lines[s, ROWS]):
            event = n * int_at(at, p)
            one, two = int_at(whole, event + t) & mask_t, int_at(whole, event + b) & mask_b
            three, four = int_at(whole, event + c) & mask_c, int_at(whole, event + d) & mask_d
            set_int(into, event + t, int_at(ranks_t, one))
            set_int(into, event + b, int_at(ranks_b, two))
            set_int(into, event + c, int_at(ranks_c, three))
            set_int(into, event + d, int_at(ranks_d, four))


@kernel(
    nb.void(nb.int64[::1], _table, _table, _table, nb.int32[:, ::1], nb.int64), stamp=STAMP, makes_arrays=True
)
def _mark(shard, table, lines, parts, marks, last):  # type: ignore[no-untyped-def]
    """Take in the numbers of the rows, find their events, and translate the marks of these into those of the shard."""
    n = table.shape[1]
    for s in range(n):
        places, first, numbers, at = (
            parts[s, PART_EVENTS],
            parts[s, PART_FIRST],
            lines[s, NUMBERS],
            lines[s, EVENTS],
        )
        held, slots, row = lines[s, HELD], lines[s, CAPACITY] - 1, lines[s, NEXT_ROW]
        for p in range(lines[s, ROWS]):
            number = long_at(numbers, p)
            set_long(held, (row + p) & slots, number)
            set_int(at, p, int_at(places, number - first))
        lines[s, NEXT_ROW] += lines[s, ROWS]
        lines[s, SENT] += lines[s, ROWS]
        shard[COUNT] += lines[s, ROWS]
        table[BEFORE, s] = table[NEXT, s]
        table[NEXT, s] += lines[s, ROWS]
    for t in range(0, n, LANES):
        _translate(shard, lines, marks, t)
    for t in range(n):
        if lines[t, RANKS] != 0:
            low = int_at(lines[t, RANKS], np.int64(marks[last, t]) & (lines[t, RANK_SLOTS] - 1))
            table[LOW, t] = table[NEXT, t] + np.int64(np.int32(low - table[NEXT, t]))


@kernel(
    nb.void(nb.int64[::1], _table, nb.int32[:, ::1], nb.int64[::1], nb.int64), stamp=STAMP, makes_arrays=True
)
def step(shard, parts, marks, base, last):  # type: ignore[no-untyped-def]
    """Take in the rows of a portion that were dealt out to the shard, as far as it goes; STATUS says how far that is.

    Called again, it goes on from there. `parts`, `marks` and `base`, the lows before, are those of the whole batch;
    ``last`` is the last event of the portion.
    """
    n = marks.shape[1]
    table = carray(pointer(shard[LOWWATER]), (8, n), np.int64)
    lows, counts = (
        carray(pointer(shard[LOWS]), (n,), np.int64),
        carray(pointer(shard[COUNTS]), (n,), np.int64),
    )
    floor = carray(pointer(shard[FLOOR]), (n,), np.int32)
    rings = carray(pointer(shard[BEGIN]), (shard[LINES], TABLE), np.int64)
    if shard[STATUS] == DEALT or shard[STATUS] == CRAMPED:
        lines = carray(pointer(shard[STREAMS]), (n, shard[WIDTH]), np.int64)
        if shard[PORTION] == 0 and shard[STATUS] == DEALT:
            if not _possible(shard, lines, parts, base):
                shard[STATUS] = UNTOUCHED
                return
            begin_rings(
                rings[:1], 0, lows, counts, floor
            )  # the ring for results, whether or not there will be any
            for s in range(n):
                set_long(shard[BEFORE_PUSH], s, table[LOW, s])
            if marks.shape[0] == 0:
                shard[STATUS] = DONE
                return
        if not _roomy(shard, table, lines):
            shard[STATUS] = CRAMPED
            return
        before = shard[COUNT]
        for s in range(n):
            lows[s], counts[s], floor[s] = table[LOW, s], table[NEXT, s], np.int32(table[LOW, s])
        _mark(shard, table, lines, parts, marks, last)
        if shard[COUNT] == before:
            shard[STATUS] = DONE
            return
        shard[STATUS], shard[AT] = BEGINNING, 1
    if shard[STATUS] == BEGINNING:
        shard[AT] = begin_rings(rings, shard[AT], lows, counts, floor)
        if shard[AT] < shard[LINES]:
            return
        append_leaves(carray(pointer(shard[JOBS]), (shard[LEAVES], JOB), np.int64), 0)
        shard[STATUS], shard[AT] = RUNNING, 0
        set_long(shard[CURSOR], RESUMED, 0)
    own = carray(pointer(shard[MARKS]), (marks.shape[0], n), np.int32)
    program = carray(pointer(shard[PROGRAM]), (shard[STOP], INSTRUCTION), np.int64)
    cursor = carray(pointer(shard[CURSOR]), (MATCHED + 1,), np.int64)
    waiting = carray(pointer(shard[WAITING]), (2, shard[BLOCK]), np.int32)
    shard[AT] = run(program, shard[AT], shard[STOP], shard[RESULTS], own, cursor, waiting)
    if shard[AT] == shard[STOP]:
        shard[STATUS] = DONE
        meta = meta_at(shard[RESULTS])
        shard[MADE] = meta[layout.TAIL] - meta[layout.BASE]
