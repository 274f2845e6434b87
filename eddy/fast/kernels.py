"""A push in two kernels: one that checks and merges it, and one that counts it, stores it and joins it.

The second does so a *portion* at a time, as many events as the engine's batches have: what a portion reads and writes
stays in the processor's own cache. It returns after each of them, so that others may read results that were handed out
before. The results of a *segment*, of many portions, are in one ring; after a segment the plan may change.

Both are given the address of a `PUSH` (see `layout`), most of whose fields are addresses, as those of a plan are. So
what a batch costs in Python does not grow with what is done to it. A portion that was counted is taken in by
`stairs.sequence_kernels`, as every batch is. Where more is needed than kernels can do - a ring that must grow - the
second stops, and is called again to go on.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from eddy.fast.layout import (
    COUNTING,
    CROWDED,
    DONE,
    REFUSED,
    TAKING,
    TIMING,
    Push,
    column_of,
    push_at,
    stream_of,
)
from eddy.intake.lowwater_kernels import FIELDS, LOW, NEXT, mark_rows, mark_times
from eddy.intake.merge import TIMED_PART, arrange, take_turns, timed_part_of
from stairs import layout
from stairs.begin_kernels import STAIR, TABLE
from stairs.kernel import kernel, part
from stairs.lowlevel import address
from stairs.lowlevel.address import PLAIN, data_of, pointer
from stairs.lowlevel.raw import int_at, long_at
from stairs.program_kernels import copy_bytes, meta_at
from stairs.sequence import CUTTING, leaf_of, sequence_at, source_of
from stairs.sequence import DONE as TAKEN
from stairs.sequence_kernels import ints_at, longs_at, table_at, take_in


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
    used, total = 0, 0
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
            own = timed_part_of(push.parts, used)
            own.times, own.rows, own.stream = given[first + max(stream.time, 0)], rows, s
            used, total = used + 1, total + rows
    push.part_count, push.events = used, total
    if total == 0:
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
    elif stream_of(push.streams, timed_part_of(push.parts, 0).stream).time < 0:  # so are all of them
        take_turns(carray(pointer(push.parts), (push.part_count,), TIMED_PART), order, places)
    else:
        parts = carray(pointer(push.parts), (push.part_count,), TIMED_PART)
        if arrange(parts, order, places, times) >= 0 or (push.timed and times[0] < push.now):
            return False
    push.events, push.stage, push.start, push.first, push.end = total, COUNTING, 0, 0, total
    return True


@part
def whole(address):
    """Whether no STAIR of a sequence has a hole."""
    sequence, found = sequence_at(address), True
    rings = table_at(sequence.beginning, sequence.beginning_count, TABLE)
    for i in range(rings.shape[0]):
        found &= rings[i, 0] != STAIR or meta_at(rings[i, 1])[layout.HOLES] == 0
    return found


@kernel(nb.int64(nb.int64, nb.int64), makes_arrays=True)
def admit(address, kind):
    """Check and merge the columns that are given, arrays of class ``kind``; returns how many events they are.

    REFUSED if anything is out of the ordinary: a hole in a STAIR, an array of another type or make, times that go back.
    Then nothing has changed, and who takes the long way finds out what to do, or what is wrong. CROWDED if there are
    too many. ``address`` is that of the PUSH, here and below.
    """
    push = push_at(address)
    if push.sequence != 0 and not whole(push.sequence):
        return REFUSED
    total = measure(push, kind)
    if total < 0:
        return total
    return total if merge(push, total) else REFUSED


@part
def copy_rows(push, given, s, row, behind, rows):
    """Copy ``rows`` rows of a stream, after those ``behind``, into the rings of its columns, round the end where they
    reach it; ``row`` is the first of them."""
    stream = stream_of(push.streams, s)
    slots, first = stream.capacity, stream.first_column
    start = row & (slots - 1)
    early = min(rows, slots - start)
    for c in range(first, first + (stream.column_count if rows > 0 else 0)):
        column = column_of(push.columns, c)
        ring, size = column.ring, column.size
        if ring != 0:
            values = data_of(given[c]) + behind * size
            copy_bytes(ring + start * size, values, early * size)
            copy_bytes(ring, values + early * size, (rows - early) * size)


@kernel(nb.void(Push), makes_arrays=True)
def copy(push):
    """Copy the values of the whole push."""
    counts, given = longs_at(push.begun + 8 * push.width, push.width), longs_at(push.given, push.column_count)
    for s in range(push.width):
        copy_rows(push, given, s, counts[s], 0, stream_of(push.streams, s).rows)


@kernel(nb.boolean(Push), makes_arrays=True)
def count(push):
    """Count a portion and mark what is live at each event; False if the windows' rings have the wrong size."""
    n, start = push.width, push.start
    m = min(push.portion, push.end - start)
    windows = table_at(push.windows, FIELDS, n)
    order = ints_at(push.order + 4 * start, m)
    marks = carray(pointer(push.marks + 4 * n * start), (m, n), np.int32)
    ends = carray(pointer(push.ends), (2, n), np.int32)
    if push.stage == COUNTING:
        before, begun = table_at(push.before, 2, n), table_at(push.begun, 2, n)
        floor = ints_at(push.floor, n)
        for s in range(n):
            before[0, s], before[1, s] = windows[LOW, s], windows[NEXT, s]
        mark_rows(order, windows, marks, ends)
        for s in range(n):
            stream = stream_of(push.streams, s)
            stream.behind += stream.here
            stream.here = windows[NEXT, s] - before[1, s]
            if start == push.first:
                begun[0, s], begun[1, s], floor[s] = before[0, s], before[1, s], np.int32(before[0, s])
        push.stage = TIMING
    if push.timed:
        rings = longs_at(push.window_times, push.window_slots)
        if not mark_times(order, longs_at(push.times + 8 * start, m), windows, rings, marks, ends):
            return False
    push.stage = TAKING
    return True


@kernel(nb.void(Push), makes_arrays=True)
def _prepare(push):
    """Keep the values of a portion that was counted, and tell the sequence which rows it has.

    Events have places in their segment from here on.
    """
    n, place, sequence = push.width, push.places, sequence_at(push.sequence)
    stop, first = min(push.start + push.portion, push.end), np.int32(push.first)
    given, counts = longs_at(push.given, push.column_count), longs_at(push.before + 8 * n, n)
    floor, ends = ints_at(sequence.floor, n), ints_at(push.ends, n)
    for s in range(n):
        stream, source = stream_of(push.streams, s), source_of(sequence.sources, s)
        copy_rows(push, given, s, counts[s], stream.behind, stream.here)
        source.rows, source.taken, source.here, source.kept = stream.here, 0, 0, 0
        source.events = place + 4 * stream.behind
        events = ints_at(source.events, stream.here)
        for i in range(stream.here if first > 0 else 0):
            events[i] -= first
        place += 4 * stream.rows
        floor[s] = ends[s]
    columns = longs_at(push.key_columns, sequence.leaf_count)
    for i in range(sequence.leaf_count):
        leaf = leaf_of(sequence.leaves, i)
        stream = stream_of(push.streams, leaf.stream)
        leaf.keys = data_of(given[columns[i]]) + 8 * stream.behind if stream.here > 0 else 0
    sequence.lows, sequence.counts = push.before, push.before + 8 * n
    sequence.marks, sequence.events = push.marks + 4 * n * push.first, push.end - push.first
    sequence.start, sequence.stop = push.start - push.first, stop - push.first
    sequence.fresh, sequence.stage = np.int64(push.start == push.first), CUTTING


@kernel(nb.int64(nb.int64), makes_arrays=True)
def process(address):
    """Take in the next portion of the segment of a push that was admitted, as far as it goes; returns the stage.

    TAKING: the sequence has stopped (`take_in`). Called again, it goes on: COUNTING if that is with another portion,
    DONE if there is none.
    """
    push = push_at(address)
    if push.stage <= TIMING:
        if not count(push):
            return TIMING
        _prepare(push)
    if take_in(push.sequence) != TAKEN:
        return TAKING
    push.start = min(push.start + push.portion, push.end)
    push.stage = COUNTING if push.start < push.end else DONE
    return push.stage
