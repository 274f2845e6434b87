"""A whole push in two calls: one that checks and merges it, and one that counts it, stores it and joins it.

The second does so a *portion* at a time, as many events as the engine's batches have: what a portion reads and writes
stays in the processor's own cache, and its events keep their places in the push, so all results are in one ring.

It returns after each of them, so that others may read results that were handed out before.

Both are given the address of a `PUSH` (see `layout`), most of whose fields are addresses, as those of a plan are. So
what a batch costs in Python does not grow with what is done to it. Where more is needed than kernels can do - a ring
that must grow - the second stops, and is called again to go on.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from eddy.fast.layout import (
    BEGINNING,
    COUNTING,
    CROWDED,
    DONE,
    REFUSED,
    RUNNING,
    STORING,
    TIMING,
    Push,
    column_of,
    leaf_of,
    push_at,
    stream_of,
)
from eddy.intake.lowwater_kernels import LOW, NEXT, mark_rows, mark_times
from eddy.intake.merge import TIMED_PART, arrange, timed_part_of
from stairs import layout
from stairs.begin_kernels import STAIR, TABLE, begin_rings
from stairs.kernel import kernel, part
from stairs.key_kernels import append_rows
from stairs.lowlevel import address
from stairs.lowlevel.address import PLAIN, data_of, pointer
from stairs.lowlevel.raw import int_at, long_at
from stairs.program_kernels import INSTRUCTION, MATCHED, RESUMED, copy_bytes, meta_at, run, state_at


@part
def longs_at(where, n):
    return carray(pointer(where), (n,), np.int64)


@part
def table_at(where, n, width):
    return carray(pointer(where), (n, width), np.int64)


@part
def ints_at(where, n):
    return carray(pointer(where), (n,), np.int32)


@part
def length(array, dtype, kind):
    """How long an array is, of one dimension and this dtype, that kernels can take as it is; -1 if it is not such."""
    if long_at(array + address.TYPE) != kind or long_at(array + address.DTYPE) != dtype:
        return np.int64(-1)
    if int_at(array + address.DIMENSIONS) != 1 or int_at(array + address.FLAGS) & PLAIN != PLAIN:
        return np.int64(-1)
    return long_at(long_at(array + address.SHAPE))


@kernel(nb.int64(Push, nb.int64), makes_arrays=True)
def measure(push, kind):
    """Check the columns that are given, arrays of class ``kind``; returns how many events they are, or as `admit`."""
    given = longs_at(push.given, push.column_count)
    used, total, untimed = 0, 0, False
    for s in range(push.width):
        stream = stream_of(push.streams, s)
        first, rows = stream.first_column, np.int64(-1)
        stream.rows = stream.behind = stream.here = 0
        if given[first] == 0:
            continue
        for c in range(first, first + stream.column_count):
            found = length(given[c], column_of(push.columns, c).dtype, kind)
            if found < 0 or (rows >= 0 and found != rows):
                return REFUSED
            rows = found
        stream.rows = rows
        if rows > 0:
            untimed |= stream.time < 0
            own = timed_part_of(push.parts, used)
            own.times, own.rows, own.stream = given[first + max(stream.time, 0)], rows, s
            used, total = used + 1, total + rows
    push.part_count, push.events = used, total
    if total == 0 or (untimed and used > 1):
        return REFUSED
    return total if total <= push.most else CROWDED


@kernel(nb.boolean(Push, nb.int64), makes_arrays=True)
def merge(push, total):
    """Merge the rows that were measured; False if times go back."""
    order, places = ints_at(push.order, total), ints_at(push.places, total)
    times = longs_at(push.times, total if push.timed else 0)
    if push.part_count == 1 and not push.timed:
        stream = np.int32(timed_part_of(push.parts, 0).stream)
        for i in range(total):
            order[i], places[i] = stream, np.int32(i)
    else:
        parts = carray(pointer(push.parts), (push.part_count,), TIMED_PART)
        if arrange(parts, order, places, times) >= 0 or (push.timed and times[0] < push.now):
            return False
    push.events, push.stage, push.start = total, COUNTING, 0
    return True


@kernel(nb.int64(nb.int64, nb.int64), makes_arrays=True)
def admit(address, kind):
    """Check and merge the columns that are given, arrays of class ``kind``; returns how many events they are.

    REFUSED if anything is out of the ordinary: a hole in a STAIR, an array of another type or make, times that go back.
    Then nothing has changed, and who takes the long way finds out what to do, or what is wrong. CROWDED if there are
    too many. ``address`` is that of the PUSH, here and below.
    """
    push = push_at(address)
    rings = table_at(push.beginning, push.beginning_count, TABLE)
    for i in range(rings.shape[0]):
        if rings[i, 0] == STAIR and meta_at(rings[i, 1])[layout.HOLES] != 0:
            return REFUSED
    total = measure(push, kind)
    if total < 0:
        return total
    return total if merge(push, total) else REFUSED


@kernel(nb.void(Push), makes_arrays=True)
def copy(push):
    """Copy the values of the batch into the rings of their columns, round the end where they reach it."""
    counts, given = longs_at(push.begun + 8 * push.width, push.width), longs_at(push.given, push.column_count)
    for s in range(push.width):
        stream = stream_of(push.streams, s)
        rows, slots, first = stream.rows, stream.capacity, stream.first_column
        start = counts[s] & (slots - 1)
        early = min(rows, slots - start)
        for c in range(first, first + (stream.column_count if rows > 0 else 0)):
            column = column_of(push.columns, c)
            ring, size = column.ring, column.size
            if ring != 0:
                values = data_of(given[c])
                copy_bytes(ring + start * size, values, early * size)
                copy_bytes(ring, values + early * size, (rows - early) * size)


@kernel(nb.boolean(Push), makes_arrays=True)
def _append(push):
    """Append the rows of the portion to their leaves, from the one that is next on; False if it has no room."""
    given = longs_at(push.given, push.column_count)
    none = carray(pointer(0), (0,), np.uint8)
    while push.at < push.leaf_count:
        leaf = leaf_of(push.leaves, push.at)
        stream, meta = stream_of(push.streams, leaf.stream), meta_at(leaf.ring)
        rows, start = stream.here, stream.behind
        for before in range(leaf.stream):
            start += stream_of(push.streams, before).rows
        if rows > 0:
            if (
                rows > meta[layout.ROOM]
                or meta[layout.TAIL] + rows - meta[layout.LOW] > meta[layout.CAPACITY]
            ):
                return False
            keys = longs_at(data_of(given[leaf.column]) + 8 * stream.behind, rows)
            append_rows(state_at(leaf.ring), keys, ints_at(push.places + 4 * start, rows), none)
            meta[layout.FROM], meta[layout.TO] = meta[layout.BASE], meta[layout.TAIL]
            meta[layout.USUAL] += (rows - meta[layout.USUAL]) // 8
        push.at += 1
    return True


@kernel(nb.boolean(Push), makes_arrays=True)
def count(push):
    """Count a portion and mark what is live at each event; False if the windows' rings have the wrong size."""
    n, start = push.width, push.start
    m = min(push.portion, push.events - start)
    windows = table_at(push.windows, 8, n)
    order = ints_at(push.order + 4 * start, m)
    marks = carray(pointer(push.marks + 4 * n * start), (m, n), np.int32)
    ends = carray(pointer(push.ends), (2, n), np.int32)
    if push.stage == COUNTING:
        before, begun = table_at(push.before, 2, n), table_at(push.begun, 2, n)
        for s in range(n):
            before[0, s], before[1, s] = windows[LOW, s], windows[NEXT, s]
        mark_rows(order, windows, marks, ends)
        for s in range(n):
            stream = stream_of(push.streams, s)
            stream.behind += stream.here
            stream.here = windows[NEXT, s] - before[1, s]
            if start == 0:
                begun[0, s], begun[1, s] = before[0, s], before[1, s]
        push.stage = TIMING
    if push.timed:
        rings = longs_at(push.window_times, push.window_slots)
        if not mark_times(order, longs_at(push.times + 8 * start, m), windows, rings, marks, ends):
            return False
    # The ring for results is the first that begins: it does so with the first portion only.
    push.stage, push.at = BEGINNING, np.int64(start > 0)
    return True


@kernel(nb.int64(Push), makes_arrays=True)
def _take(push):
    """Take a portion in, as far as it goes; returns the stage."""
    if push.stage <= TIMING and not count(push):
        return TIMING
    n, m = push.width, push.events
    if push.stage == BEGINNING:
        before = table_at(push.before, 2, n)
        rings = table_at(push.beginning, push.beginning_count, TABLE)
        push.at = begin_rings(rings, push.at, before[0], before[1], ints_at(push.ends, n))
        if push.at < push.beginning_count:
            return BEGINNING
        if push.start == 0:
            copy(push)
        push.stage, push.at = STORING, 0
    cursor = longs_at(push.cursor, MATCHED + 1)
    if push.stage == STORING:
        if not _append(push):
            return STORING
        push.stage, push.at, cursor[RESUMED] = RUNNING, 0, 0
    program = table_at(push.program, push.program_length, INSTRUCTION)
    marks = carray(pointer(push.marks), (m, n), np.int32)
    waiting = carray(pointer(push.waiting), (2, push.waiting_slots), np.int32)
    push.at = run(program, push.at, push.program_length, push.results, marks, cursor, waiting)
    return DONE if push.at == push.program_length else RUNNING


@kernel(nb.int64(nb.int64), makes_arrays=True)
def process(address):
    """Take in the next portion of the batch that was admitted, as far as it goes; returns the stage.

    Called again, it goes on: COUNTING if that is with another portion, DONE if there is none.
    """
    push = push_at(address)
    stage = _take(push)
    if stage == DONE:
        push.start += push.portion
        if push.start < push.events:
            stage = push.stage = COUNTING
    return stage
