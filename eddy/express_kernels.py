"""A whole push in two calls: one that checks and merges it, and one that counts it, stores it and joins it.

The second does so a *portion* at a time, as many events as the engine's batches have: what a portion reads and writes
stays in the processor's own cache, and its events keep their places in the push, so all results are in one ring.

Both are given a *box*, a line of numbers most of which are addresses, as a plan is. So what a batch costs in Python
does not grow with what is done to it. Where more is needed than kernels can do - a ring that must grow - the second
stops, and is called again to go on.
"""

from __future__ import annotations

from pathlib import Path

import numba as nb
import numpy as np
from numba import carray

import stairs
from eddy.lowwater_kernels import LOW, NEXT, mark_rows, mark_times
from eddy.merge import arrange
from stairs import address, layout
from stairs.address import PLAIN, data_of, pointer
from stairs.begin_kernels import STAIR, TABLE, begin_rings
from stairs.kernel import fingerprint, kernel, part
from stairs.key_kernels import append_rows
from stairs.program_kernels import INSTRUCTION, MATCHED, RESUMED, copy_bytes, meta_at, run, state_at
from stairs.raw import int_at, long_at

_HERE = Path(__file__).parent
STAMP = fingerprint(
    [
        *Path(stairs.__file__).parent.glob("*.py"),
        *_HERE.glob("lowwater_*.py"),
        _HERE / "merge.py",
        Path(__file__),
    ]
)

STAGE, AT, EVENTS, MOST, WIDTH, NOW, TIMED = range(7)
STREAMS, COLUMNS, COLUMN_COUNT, LEAVES, LEAF_COUNT, GIVEN, ORDER, PLACES, TIMES = range(7, 16)
WINDOWS, RINGS, RING_SLOTS, BEFORE, MARKS, ENDS = range(16, 22)
BEGIN, LINES, PROGRAM, STOP, RESULTS, CURSOR, WAITING, BLOCK = range(22, 30)
PARTS, USED, PORTION, START, BEGUN = range(30, 35)
FIELDS = 40
"""A box: how far the batch is, and where in that stage; its events, how many it may have, how many streams there are,
the time before, and whether a window uses time. Then where are, and how many they are: streams, columns, leaves; the
handles of the columns, 0 for one that is not given; for each event its stream and its time, for each row its event; the
table of windows and their rings of times; lows and counts before the portion, marks, and marks before it and after;
rings that begin, the program, the ring for results, what a run needs; the streams that have rows, and how many they
are; how many events a portion has, and the first of this one; lows and counts before all of them."""

ROWS, FIRST, HAS, TIME, CAPACITY, BEHIND, HERE = range(7)
STREAM = 7
"""A stream: its rows in the batch, the first of its columns and how many it has, which of them is its time (-1: none),
the slots of its payload; its rows before this portion, and in it."""
DTYPE, RING, SIZE = range(3)
"""A column: the handle of its dtype, where its ring is (0: it is not kept), and the bytes of a value."""
LEAF, KEY, OF = range(3)
"""A leaf: the address of its meta, the column that is its key, and its stream."""

REFUSED, CRAMPED, CROWDED = -1, -2, -3
"""What a batch may be instead of begun: it must take the long way; windows need room, and then it can go on; or it has
more events than there is room for. Nothing has changed but for the second."""

COUNTING, TIMING, BEGINNING, STORING, RUNNING, DONE = range(6)
"""Stages."""


@part
def longs_at(where, n):  # type: ignore[no-untyped-def]
    return carray(pointer(where), (n,), np.int64)


@part
def table_at(where, n, width):  # type: ignore[no-untyped-def]
    return carray(pointer(where), (n, width), np.int64)


@part
def ints_at(where, n):  # type: ignore[no-untyped-def]
    return carray(pointer(where), (n,), np.int32)


@part
def length(array, dtype, kind):  # type: ignore[no-untyped-def]
    """How long an array is, of one dimension and this dtype, that kernels can take as it is; -1 if it is not such."""
    if long_at(array + address.TYPE) != kind or long_at(array + address.DTYPE) != dtype:
        return np.int64(-1)
    if int_at(array + address.DIMENSIONS) != 1 or int_at(array + address.FLAGS) & PLAIN != PLAIN:
        return np.int64(-1)
    return long_at(long_at(array + address.SHAPE))


@kernel(nb.int64(nb.int64[::1], nb.int64), stamp=STAMP, makes_arrays=True)
def measure(box, kind):  # type: ignore[no-untyped-def]
    """Check the columns that are given, arrays of class ``kind``; returns how many events they are, or as `admit`."""
    n = box[WIDTH]
    streams = table_at(box[STREAMS], n, STREAM)
    columns = table_at(box[COLUMNS], box[COLUMN_COUNT], SIZE + 1)
    given = longs_at(box[GIVEN], box[COLUMN_COUNT])
    parts, used, total, untimed = table_at(box[PARTS], n, 3), 0, 0, False
    for s in range(n):
        first, rows = streams[s, FIRST], np.int64(-1)
        streams[s, ROWS] = streams[s, BEHIND] = streams[s, HERE] = 0
        if given[first] == 0:
            continue
        for c in range(first, first + streams[s, HAS]):
            found = length(given[c], columns[c, DTYPE], kind)
            if found < 0 or (rows >= 0 and found != rows):
                return REFUSED
            rows = found
        streams[s, ROWS] = rows
        if rows > 0:
            untimed |= streams[s, TIME] < 0
            parts[used, 0], parts[used, 1], parts[used, 2] = given[first + max(streams[s, TIME], 0)], rows, s
            used, total = used + 1, total + rows
    box[USED], box[EVENTS] = used, total
    if total == 0 or (untimed and used > 1):
        return REFUSED
    return total if total <= box[MOST] else CROWDED


@kernel(nb.boolean(nb.int64[::1], nb.int64), stamp=STAMP, makes_arrays=True)
def merge(box, total):  # type: ignore[no-untyped-def]
    """Merge the rows that were measured; False if times go back."""
    parts = table_at(box[PARTS], box[USED], 3)
    order, places = ints_at(box[ORDER], total), ints_at(box[PLACES], total)
    times = longs_at(box[TIMES], total if box[TIMED] else 0)
    if box[USED] == 1 and not box[TIMED]:
        for i in range(total):
            order[i], places[i] = np.int32(parts[0, 2]), np.int32(i)
    elif arrange(parts, order, places, times) >= 0 or (box[TIMED] and times[0] < box[NOW]):
        return False
    box[EVENTS], box[STAGE], box[START] = total, COUNTING, 0
    return True


@kernel(nb.int64(nb.int64[::1], nb.int64), stamp=STAMP, makes_arrays=True)
def admit(box, kind):  # type: ignore[no-untyped-def]
    """Check and merge the columns that are given, arrays of class ``kind``; returns how many events they are.

    REFUSED if anything is out of the ordinary: a hole in a STAIR, an array of another type or make, times that go back.
    Then nothing has changed, and who takes the long way finds out what to do, or what is wrong. CROWDED if there are
    too many.
    """
    lines = table_at(box[BEGIN], box[LINES], TABLE)
    for i in range(box[LINES]):
        if lines[i, 0] == STAIR and meta_at(lines[i, 1])[layout.HOLES] != 0:
            return REFUSED
    total = measure(box, kind)
    if total < 0:
        return total
    return total if merge(box, total) else REFUSED


@kernel(nb.void(nb.int64[::1]), stamp=STAMP, makes_arrays=True)
def copy(box):  # type: ignore[no-untyped-def]
    """Copy the values of the batch into the rings of their columns, round the end where they reach it."""
    counts = longs_at(box[BEGUN] + 8 * box[WIDTH], box[WIDTH])
    streams = table_at(box[STREAMS], box[WIDTH], STREAM)
    columns = table_at(box[COLUMNS], box[COLUMN_COUNT], SIZE + 1)
    given = longs_at(box[GIVEN], box[COLUMN_COUNT])
    for s in range(box[WIDTH]):
        rows, slots = streams[s, ROWS], streams[s, CAPACITY]
        start = counts[s] & (slots - 1)
        early = min(rows, slots - start)
        for c in range(streams[s, FIRST], streams[s, FIRST] + (streams[s, HAS] if rows > 0 else 0)):
            ring, size = columns[c, RING], columns[c, SIZE]
            if ring != 0:
                values = data_of(given[c])
                copy_bytes(ring + start * size, values, early * size)
                copy_bytes(ring, values + early * size, (rows - early) * size)


@kernel(nb.boolean(nb.int64[::1]), stamp=STAMP, makes_arrays=True)
def _append(box):  # type: ignore[no-untyped-def]
    """Append the rows of the portion to their leaves, from leaf AT on; False if one has no room."""
    streams = table_at(box[STREAMS], box[WIDTH], STREAM)
    leaves = table_at(box[LEAVES], box[LEAF_COUNT], OF + 1)
    given = longs_at(box[GIVEN], box[COLUMN_COUNT])
    none = carray(pointer(0), (0,), np.uint8)
    while box[AT] < box[LEAF_COUNT]:
        leaf, s = leaves[box[AT], LEAF], leaves[box[AT], OF]
        rows, start, meta = streams[s, HERE], streams[s, BEHIND], meta_at(leaf)
        for before in range(s):
            start += streams[before, ROWS]
        if rows > 0:
            if (
                rows > meta[layout.ROOM]
                or meta[layout.TAIL] + rows - meta[layout.LOW] > meta[layout.CAPACITY]
            ):
                return False
            keys = longs_at(data_of(given[leaves[box[AT], KEY]]) + 8 * streams[s, BEHIND], rows)
            append_rows(state_at(leaf), keys, ints_at(box[PLACES] + 4 * start, rows), none)
            meta[layout.FROM], meta[layout.TO] = meta[layout.BASE], meta[layout.TAIL]
            meta[layout.USUAL] += (rows - meta[layout.USUAL]) // 8
        box[AT] += 1
    return True


@kernel(nb.boolean(nb.int64[::1]), stamp=STAMP, makes_arrays=True)
def count(box):  # type: ignore[no-untyped-def]
    """Count a portion and mark what is live at each event; False if the windows' rings have the wrong size."""
    n, start = box[WIDTH], box[START]
    m = min(box[PORTION], box[EVENTS] - start)
    before, windows, streams = (
        table_at(box[BEFORE], 2, n),
        table_at(box[WINDOWS], 8, n),
        table_at(box[STREAMS], n, STREAM),
    )
    order = ints_at(box[ORDER] + 4 * start, m)
    marks = carray(pointer(box[MARKS] + 4 * n * start), (m, n), np.int32)
    ends, begun = carray(pointer(box[ENDS]), (2, n), np.int32), table_at(box[BEGUN], 2, n)
    if box[STAGE] == COUNTING:
        for s in range(n):
            before[0, s], before[1, s] = windows[LOW, s], windows[NEXT, s]
        mark_rows(order, windows, marks, ends)
        for s in range(n):
            streams[s, BEHIND] += streams[s, HERE]
            streams[s, HERE] = windows[NEXT, s] - before[1, s]
            if start == 0:
                begun[0, s], begun[1, s] = before[0, s], before[1, s]
        box[STAGE] = TIMING
    if box[TIMED]:
        rings = longs_at(box[RINGS], box[RING_SLOTS])
        if not mark_times(order, longs_at(box[TIMES] + 8 * start, m), windows, rings, marks, ends):
            return False
    # The ring for results is the first that begins: it does so with the first portion only.
    box[STAGE], box[AT] = BEGINNING, np.int64(start > 0)
    return True


@kernel(nb.int64(nb.int64[::1]), stamp=STAMP, makes_arrays=True)
def _take(box):  # type: ignore[no-untyped-def]
    """Take a portion in, as far as it goes; returns the stage."""
    if box[STAGE] <= TIMING and not count(box):
        return TIMING
    n, m = box[WIDTH], box[EVENTS]
    before = table_at(box[BEFORE], 2, n)
    if box[STAGE] == BEGINNING:
        lines = table_at(box[BEGIN], box[LINES], TABLE)
        box[AT] = begin_rings(lines, box[AT], before[0], before[1], ints_at(box[ENDS], n))
        if box[AT] < box[LINES]:
            return BEGINNING
        if box[START] == 0:
            copy(box)
        box[STAGE], box[AT] = STORING, 0
    cursor = longs_at(box[CURSOR], MATCHED + 1)
    if box[STAGE] == STORING:
        if not _append(box):
            return STORING
        box[STAGE], box[AT], cursor[RESUMED] = RUNNING, 0, 0
    program = table_at(box[PROGRAM], box[STOP], INSTRUCTION)
    marks = carray(pointer(box[MARKS]), (m, n), np.int32)
    waiting = carray(pointer(box[WAITING]), (2, box[BLOCK]), np.int32)
    box[AT] = run(program, box[AT], box[STOP], box[RESULTS], marks, cursor, waiting)
    return DONE if box[AT] == box[STOP] else RUNNING


@kernel(nb.int64(nb.int64[::1]), stamp=STAMP, makes_arrays=True)
def process(box):  # type: ignore[no-untyped-def]
    """Take in the batch that was admitted, as far as it goes; returns the stage. Called again, it goes on."""
    while True:
        stage = _take(box)
        if stage != DONE:
            return stage
        box[START] += box[PORTION]
        if box[START] >= box[EVENTS]:
            return DONE
        box[STAGE] = COUNTING
