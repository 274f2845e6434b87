"""What a shard does with a batch, in one call: it looks for its rows among all, and takes them in.

A shard is a line of numbers, most of them addresses, as a plan is: so a batch needs no Python for each shard, and any
thread can do the work of any shard. Where more is needed - holes, a ring that must grow - a shard is left as it is, or
stops, and the caller goes on with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir
from numba import carray, types, uint64
from numba.extending import intrinsic

import stairs
from eddy.lowwater_kernels import BEFORE, LOW, NEXT
from stairs import layout
from stairs.address import data_of, pointer
from stairs.begin_kernels import STAIR, TABLE, begin_rings
from stairs.kernel import fingerprint, kernel, part
from stairs.program_kernels import INSTRUCTION, JOB, MATCHED, RESUMED, append_leaves, meta_at, run

_HERE = Path(__file__).parent
STAMP = fingerprint(
    [*Path(stairs.__file__).parent.glob("*.py"), *_HERE.glob("lowwater_*.py"), Path(__file__)]
)

COUNT, STATUS, AT, MAP, MARKS, LOWWATER, SCRATCH, LOWS, COUNTS, FLOOR = range(10)
BEGIN, LINES, PROGRAM, STOP, RESULTS, CURSOR, WAITING, JOBS, LEAVES, STREAMS = range(10, 20)
MADE, WIDTH, BLOCK, LAST, BOUNDS = range(20, 25)
FIELDS = 32
"""A shard: how many events it got, how far it is; where are: the places of its events in the batch, its marks, its
low-water table, room for a number an event, for its lows, counts and floor, the rings that begin and their number, its
program and its length, the ring for results, what a run needs, the leaves to append to and their number, its streams;
then its results, the widths of two tables, where the number of events of the last batch is that it has done in this
way, and which part of every dimension is its own."""

ROWS, EVENTS, NUMBERS, HELD, NEXT_ROW, FIRST_KEPT, CAPACITY, RANKS, RANK_SLOTS, SENT, KEYS = range(11)
"""A stream of a shard: rows it got, where their events and numbers are, the ring of the numbers, its next row, the
first that is kept, its slots; a ring of ranks - for each row of the whole stream, how many rows of the shard come
before it - and its slots, or 0 where the window never ends; rows it got so far; then where the keys are, by class."""

FRESH, UNTOUCHED, BEGINNING, RUNNING, DONE = range(5)

PART_ROWS, PART_EVENTS, PART_KEPT, PART_FIRST, PART_DIMENSIONS, PART_CLASSES, PART_KEYS = range(7)
"""A stream in a batch: its rows, where their events are, and flags of those that count, or 0; the number of its first
row; how many dimensions and classes it has; where its keys are."""

DIMENSION = 3
"""A dimension of a stream: which of the stream's keys, or -1 for the row number; its salt; its number in all."""


@part
def spread(key, salt):  # type: ignore[no-untyped-def]
    """32 bits that any two keys share by chance only."""
    h = (uint64(key) + uint64(salt)) * uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> uint64(32))) * uint64(0xD6E8FEB86659FD93)
    return np.int64(h >> uint64(32))


@kernel(nb.void(nb.int64[::1], nb.int64, nb.int64[::1]), stamp=STAMP)
def spread_keys(keys, salt, out):  # type: ignore[no-untyped-def]
    """The same for many."""
    for i in range(keys.shape[0]):
        out[i] = spread(keys[i], salt)


def _reading(width: int) -> Any:
    number = ir.IntType(width)

    @intrinsic
    def read(typingctx: Any, address: Any, index: Any) -> Any:
        """The number at a place of an array, given by its address."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            at = builder.gep(builder.inttoptr(args[0], number.as_pointer()), [args[1]])
            found = builder.load(at, align=width // 8)
            return found if width == 64 else builder.zext(found, ir.IntType(64))

        return types.int64(types.int64, types.int64), codegen

    return read


def _writing(width: int) -> Any:
    number = ir.IntType(width)

    @intrinsic
    def write(typingctx: Any, address: Any, index: Any, value: Any) -> Any:
        """Put a number at a place of an array, given by its address."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            at = builder.gep(builder.inttoptr(args[0], number.as_pointer()), [args[1]])
            builder.store(args[2] if width == 64 else builder.trunc(args[2], number), at, align=width // 8)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), codegen

    return write


_long_at, _int_at, _byte_at = _reading(64), _reading(32), _reading(8)
_set_long, _set_int, _set_byte = _writing(64), _writing(32), _writing(8)

_table, _lines = nb.int64[:, ::1], nb.int64[:, :, ::1]


@kernel(nb.void(_table), stamp=STAMP)
def look_up(parts):  # type: ignore[no-untyped-def]
    """Put the addresses of a batch's arrays in the place of their handles."""
    for s in range(parts.shape[0]):
        if parts[s, PART_ROWS] != 0:
            parts[s, PART_EVENTS] = data_of(parts[s, PART_EVENTS])
            if parts[s, PART_KEPT] != 0:
                parts[s, PART_KEPT] = data_of(parts[s, PART_KEPT])
            for k in range(parts[s, PART_CLASSES]):
                parts[s, PART_KEYS + k] = data_of(parts[s, PART_KEYS + k])


@kernel(nb.void(_table, nb.int64[::1], nb.int64[::1], nb.int64), stamp=STAMP, makes_arrays=True)
def _test(dimensions, own, bounds, flags):  # type: ignore[no-untyped-def]
    """Which rows of a stream are the shard's own: a byte for each."""
    n, first = own[PART_ROWS], own[PART_FIRST]
    for j in range(n):
        _set_byte(flags, j, 1)
    if own[PART_KEPT] != 0:
        for j in range(n):
            _set_byte(flags, j, _byte_at(own[PART_KEPT], j))
    for d in range(own[PART_DIMENSIONS]):
        source, salt, which = dimensions[d, 0], dimensions[d, 1], dimensions[d, 2]
        low, high = bounds[2 * which], bounds[2 * which + 1]
        keys = own[PART_KEYS + source] if source >= 0 else 0
        for j in range(n):
            h = spread(_long_at(keys, j) if keys != 0 else first + j, salt)
            _set_byte(flags, j, _byte_at(flags, j) & np.int64(low <= h) & np.int64(h < high))


@kernel(nb.int64(nb.int64[::1], nb.int64[::1], nb.int64, nb.int64, nb.int64), stamp=STAMP, makes_arrays=True)
def _choose(own, line, flags, hits, local):  # type: ignore[no-untyped-def]
    """Copy the rows of a stream that are the shard's own; returns how many they are. ``hits`` gets a 1 for each event.

    Every row is written, and stays if it counts: no branch has to be guessed.
    """
    n, first, places, events, p = (
        own[PART_ROWS],
        own[PART_FIRST],
        own[PART_EVENTS],
        line[EVENTS],
        np.int64(0),
    )
    numbers, ranks, mask = line[NUMBERS], line[RANKS], line[RANK_SLOTS] - 1
    for j in range(n):
        place, hit = _int_at(places, j), _byte_at(flags, j)
        _set_int(events, p, place)
        _set_long(numbers, p, first + j)
        _set_byte(hits, place, hit)
        p += hit
    if ranks != 0:
        p = np.int64(0)
        for j in range(n):
            _set_int(ranks, (first + j) & mask, local + p)
            p += _byte_at(flags, j)
        _set_int(ranks, (first + n) & mask, local + p)
    for k in range(own[PART_CLASSES]):
        keys, into, p = own[PART_KEYS + k], line[KEYS + k], np.int64(0)
        for j in range(n):
            _set_long(into, p, _long_at(keys, j))
            p += _byte_at(flags, j)
    return p


@kernel(nb.void(nb.int64[::1], _table, _table, _lines, nb.int64), stamp=STAMP, makes_arrays=True)
def _take(shard, lines, parts, dimensions, m):  # type: ignore[no-untyped-def]
    """Find the shard's events and rows."""
    n = parts.shape[0]
    bounds = carray(pointer(shard[BOUNDS]), (2 * (dimensions.shape[1] + 1),), np.int64)
    hits, flags, ranks = shard[SCRATCH], shard[SCRATCH] + m, shard[SCRATCH] + 2 * m
    for s in range(n):
        lines[s, ROWS] = 0
        if parts[s, PART_ROWS] != 0:
            _test(dimensions[s], parts[s], bounds, flags)
            lines[s, ROWS] = _choose(parts[s], lines[s], flags, hits, lines[s, NEXT_ROW])
        lines[s, SENT] += lines[s, ROWS]
    ranks += (8 - ranks % 8) % 8
    e = np.int64(0)
    for i in range(m):
        _set_int(ranks, i, e)
        _set_int(shard[MAP], e, i)
        e += _byte_at(hits, i)
    shard[COUNT] = e
    for s in range(n):
        at = lines[s, EVENTS]
        for p in range(lines[s, ROWS]):
            _set_int(at, p, _int_at(ranks, _int_at(at, p)))


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
            _set_long(lines[s, HELD], (first + p) & slots, _long_at(lines[s, NUMBERS], p))
        lines[s, NEXT_ROW] += lines[s, ROWS]
        table[BEFORE, s] = table[NEXT, s]
        table[NEXT, s] += lines[s, ROWS]
        ranks, mask = lines[s, RANKS], np.int32(lines[s, RANK_SLOTS] - 1)
        if ranks == 0:
            for e in range(m):
                own[e, s] = np.int32(table[LOW, s])
        else:
            for e in range(m):
                own[e, s] = np.int32(_int_at(ranks, np.int64(marks[uint64(places[e]), s] & mask)))
            table[LOW, s] = table[NEXT, s] + np.int64(np.int32(own[m - 1, s] - np.int32(table[NEXT, s])))


@kernel(
    nb.void(nb.int64[::1], _table, _lines, nb.int32[:, ::1], nb.int64[::1]), stamp=STAMP, makes_arrays=True
)
def step(shard, parts, dimensions, marks, base):  # type: ignore[no-untyped-def]
    """Take the batch in, as far as it goes; STATUS says how far that is. Called again, it goes on from there.

    `parts`, `marks` and `base`, the lows before, are those of the whole batch.
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
        _take(shard, lines, parts, dimensions, marks.shape[0])
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
        _set_long(shard[CURSOR], RESUMED, 0)
    own = carray(pointer(shard[MARKS]), (shard[COUNT], n), np.int32)
    program = carray(pointer(shard[PROGRAM]), (shard[STOP], INSTRUCTION), np.int64)
    cursor = carray(pointer(shard[CURSOR]), (MATCHED + 1,), np.int64)
    waiting = carray(pointer(shard[WAITING]), (2, shard[BLOCK]), np.int32)
    shard[AT] = run(program, shard[AT], shard[STOP], shard[RESULTS], own, cursor, waiting)
    if shard[AT] == shard[STOP]:
        shard[STATUS] = DONE
        _set_long(shard[LAST], 0, shard[COUNT])
        meta = meta_at(shard[RESULTS])
        shard[MADE] = meta[layout.TAIL] - meta[layout.BASE]
