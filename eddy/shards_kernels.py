"""What a shard does with a batch, in one call: it takes in the rows that were dealt out to it.

A shard is a line of numbers, as a plan is: so a batch needs no Python for each shard, and any thread can do the work of
any shard. Where more is needed - holes, a ring that must grow - a shard is left as it is, or stops, and the caller goes
on with it.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray, uint64

from eddy.lowwater_kernels import BEFORE, LOW, NEXT
from eddy.shards_deal_kernels import place
from eddy.shards_layout import (
    AT,
    BEGIN,
    BEGINNING,
    BLOCK,
    CAPACITY,
    COUNT,
    COUNTS,
    CURSOR,
    DONE,
    FIRST_KEPT,
    FLOOR,
    FRESH,
    HELD,
    JOBS,
    LAST,
    LEAVES,
    LINES,
    LOWS,
    LOWWATER,
    MADE,
    MAP,
    MARKS,
    NEXT_ROW,
    NUMBERS,
    PART_FIRST,
    PART_ROWS,
    PROGRAM,
    RANK_SLOTS,
    RANKS,
    RESULTS,
    ROWS,
    RUNNING,
    STAMP,
    STATUS,
    STOP,
    STREAMS,
    UNTOUCHED,
    WAITING,
    WIDTH,
    int_at,
    long_at,
    set_long,
)
from stairs import layout
from stairs.address import pointer
from stairs.begin_kernels import STAIR, TABLE, begin_rings
from stairs.kernel import kernel
from stairs.program_kernels import INSTRUCTION, JOB, MATCHED, RESUMED, append_leaves, meta_at, run

_table = nb.int64[:, ::1]


@kernel(nb.boolean(nb.int64[::1], _table, _table, _table, nb.int64[::1]), stamp=STAMP, makes_arrays=True)
def _ready(shard, table, streams, parts, base):  # type: ignore[no-untyped-def]
    """Whether the batch fits into a shard as it is, and no key of it is a hole."""
    n = streams.shape[0]
    for s in range(n):
        count = streams[s, ROWS]
        whole = parts[s, PART_FIRST] + parts[s, PART_ROWS] + 1 - base[s]
        if streams[s, RANK_SLOTS] != 0 and whole > streams[s, RANK_SLOTS]:
            return False
        if streams[s, NEXT_ROW] + count - streams[s, FIRST_KEPT] > streams[s, CAPACITY]:
            return False
    rings = carray(pointer(shard[BEGIN]), (shard[LINES], TABLE), np.int64)
    for i in range(rings.shape[0]):
        if rings[i, 0] == STAIR and meta_at(rings[i, 1])[layout.HOLES] != 0:
            return False
    jobs = carray(pointer(shard[JOBS]), (shard[LEAVES], JOB), np.int64)
    for i in range(jobs.shape[0]):
        s = jobs[i, 5]
        meta, count = meta_at(jobs[i, 0]), streams[s, ROWS]
        if count > meta[layout.ROOM] or meta[layout.TAIL] + count - table[LOW, s] > meta[layout.CAPACITY]:
            return False
        jobs[i, 4] = count
    return True


@kernel(nb.void(nb.int64[::1], _table, _table, nb.int32[:, ::1]), stamp=STAMP, makes_arrays=True)
def _mark(shard, table, lines, marks):  # type: ignore[no-untyped-def]
    """Take in the numbers of the rows, and translate the marks of the whole into those of the shard."""
    n, m = table.shape[1], shard[COUNT]
    places = carray(pointer(shard[MAP]), (m,), np.int32)
    own = carray(pointer(shard[MARKS]), (m, n), np.int32)
    for s in range(n):
        first, slots = lines[s, NEXT_ROW], lines[s, CAPACITY] - 1
        for p in range(lines[s, ROWS]):
            set_long(lines[s, HELD], (first + p) & slots, long_at(lines[s, NUMBERS], p))
        lines[s, NEXT_ROW] += lines[s, ROWS]
        table[BEFORE, s] = table[NEXT, s]
        table[NEXT, s] += lines[s, ROWS]
        ranks, mask = lines[s, RANKS], np.int32(lines[s, RANK_SLOTS] - 1)
        if ranks == 0:
            for e in range(m):
                own[e, s] = np.int32(table[LOW, s])
        else:
            for e in range(m):
                own[e, s] = np.int32(int_at(ranks, np.int64(marks[uint64(places[e]), s] & mask)))
            table[LOW, s] = table[NEXT, s] + np.int64(np.int32(own[m - 1, s] - np.int32(table[NEXT, s])))


@kernel(nb.void(nb.int64[::1], _table, nb.int32[:, ::1], nb.int64[::1]), stamp=STAMP, makes_arrays=True)
def step(shard, parts, marks, base):  # type: ignore[no-untyped-def]
    """Take in the rows that were dealt out to the shard, as far as it goes; STATUS says how far that is.

    Called again, it goes on from there. `parts`, `marks` and `base`, the lows before, are those of the whole batch.
    """
    n = marks.shape[1]
    table = carray(pointer(shard[LOWWATER]), (8, n), np.int64)
    lows, counts = (
        carray(pointer(shard[LOWS]), (n,), np.int64),
        carray(pointer(shard[COUNTS]), (n,), np.int64),
    )
    floor = carray(pointer(shard[FLOOR]), (n,), np.int32)
    if shard[STATUS] == FRESH:
        lines = carray(pointer(shard[STREAMS]), (n, shard[WIDTH]), np.int64)
        place(shard, lines, parts, marks.shape[0])
        if not _ready(shard, table, lines, parts, base):
            shard[STATUS] = UNTOUCHED
            return
        if shard[COUNT] == 0:
            meta = meta_at(shard[RESULTS])
            meta[layout.LOW] = meta[layout.BASE] = meta[layout.TAIL] = 0
            shard[STATUS] = DONE
            return
        for s in range(n):
            lows[s], counts[s], floor[s] = table[LOW, s], table[NEXT, s], np.int32(table[LOW, s])
        _mark(shard, table, lines, marks)
        shard[STATUS], shard[AT] = BEGINNING, 0
    if shard[STATUS] == BEGINNING:
        rings = carray(pointer(shard[BEGIN]), (shard[LINES], TABLE), np.int64)
        shard[AT] = begin_rings(rings, shard[AT], lows, counts, floor)
        if shard[AT] < shard[LINES]:
            return
        append_leaves(carray(pointer(shard[JOBS]), (shard[LEAVES], JOB), np.int64), 0)
        shard[STATUS], shard[AT] = RUNNING, 0
        set_long(shard[CURSOR], RESUMED, 0)
    own = carray(pointer(shard[MARKS]), (shard[COUNT], n), np.int32)
    program = carray(pointer(shard[PROGRAM]), (shard[STOP], INSTRUCTION), np.int64)
    cursor = carray(pointer(shard[CURSOR]), (MATCHED + 1,), np.int64)
    waiting = carray(pointer(shard[WAITING]), (2, shard[BLOCK]), np.int32)
    shard[AT] = run(program, shard[AT], shard[STOP], shard[RESULTS], own, cursor, waiting)
    if shard[AT] == shard[STOP]:
        shard[STATUS] = DONE
        set_long(shard[LAST], 0, shard[COUNT])
        meta = meta_at(shard[RESULTS])
        shard[MADE] = meta[layout.TAIL] - meta[layout.BASE]
