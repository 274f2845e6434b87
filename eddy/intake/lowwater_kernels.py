"""Loops that turn a batch of events into low-water marks. No checks: see `lowwater`.

Both kernels share one table with a row for each of the things below and a column for each stream.
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from eddy.intake.lowwater_lanes import mark_streams
from stairs.kernel import kernel, part

UNBOUNDED, ROWS, RANGE, TUMBLING_ROWS, TUMBLING_TIME, GIVEN, SLIDING = range(7)

KIND, PARAM, ORIGIN, BEFORE, NEXT, LOW, RING, SIZE, LARGE, STEP = range(10)
"""Kind and parameter of the window, first row ever, next row before and after the batch, low-water row,
where the stream's ring of times starts, its size (a power of two, or 0), and for how many batches in a row an eighth of
it was enough; by how much the window moves at a time, if it is a sliding one."""
FIELDS = STEP + 1
PATIENCE = 64
"""Batches after which a ring that is too large has the wrong size: batches may be large and small by turns."""

# More negative than any batch is long: a window that cannot be left within this batch.
_NEVER = -(2**30)


@kernel("void(int32[::1], int64[:, ::1], int32[:, ::1], int32[:, ::1])", makes_arrays=True)
def mark_rows(streams, table, marks, ends):
    """Count a batch, and mark the streams whose windows depend on counts alone.

    `ends` receives the marks before the batch and those after it. Marks are the low 32 bits of row numbers.

    A window of n rows moves by one with each row of its stream, once n rows are there. So `deficit`, the
    number of rows short of n as a negative number, is all the state: it grows by one with each row, and
    what it has above zero is how far the mark has moved. An unbounded window is one that is always short;
    so, here, are windows that end by time.
    """
    m = streams.shape[0]
    n = table.shape[1]
    deficit = np.full(n, _NEVER, np.int32)
    for c in range(n):
        table[BEFORE, c] = table[NEXT, c]
        ends[0, c] = np.int32(table[LOW, c])
        if table[KIND, c] == ROWS:
            deficit[c] = max(table[NEXT, c] - table[LOW, c] - table[PARAM, c], _NEVER)
        table[NEXT, c] -= deficit[c]
    if n > 1:
        before = deficit.copy()
        mark_streams(streams, before, ends[0], marks, deficit)
    else:
        for i in range(m):  # each of them is of the only stream, or of none
            deficit[0] += np.int32(streams[i] == 0)
            marks[i, 0] = ends[0, 0] + max(deficit[0], np.int32(0))
    for c in range(n):
        table[NEXT, c] += deficit[c]
        if table[KIND, c] == ROWS:
            table[LOW, c] = max(table[ORIGIN, c], table[NEXT, c] - table[PARAM, c])
        elif table[KIND, c] == TUMBLING_ROWS:
            row, pane, width = table[BEFORE, c], table[LOW, c], table[PARAM, c]
            for i in range(m):
                if streams[i] == c:
                    if row - pane >= width:
                        pane = row
                    row += 1
                marks[i, c] = np.int32(pane)
            table[LOW, c] = pane
        ends[1, c] = np.int32(table[LOW, c])


@part
def fits(table, c):
    """Whether the ring of a stream has the right size for a batch that was counted."""
    used, size = table[NEXT, c] + 1 - table[LOW, c], table[SIZE, c]
    table[LARGE, c] = table[LARGE, c] + 1 if used * 8 <= size and size > 64 else 0
    return used <= size and table[LARGE, c] < PATIENCE


@kernel(
    "boolean(int32[::1], int64[::1], int64[:, ::1], int64[::1], int32[:, ::1], int32[:, ::1])",
    makes_arrays=True,
)
def mark_times(streams, times, table, rings, marks, ends):
    """Mark the streams whose windows end by time, after `mark_rows`; False if a ring has the wrong size.

    A ring holds the times of the rows from the low-water row on. The time of the current event is written
    to the slot of the next row, whether or not the event is that row: so the walk to the new mark always
    ends there, on a time that is not too old. That slot is why a ring is one larger than its rows.
    """
    m = streams.shape[0]
    n = table.shape[1]
    oldest, newest = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    for c in range(n):
        if table[SIZE, c] and not fits(table, c):
            return False
    for c in range(n):
        if table[SIZE, c] == 0 or table[KIND, c] == GIVEN:
            continue
        kind, width, back = table[KIND, c], table[PARAM, c], 0
        stepwise = kind == TUMBLING_TIME or kind == SLIDING
        if kind == SLIDING:
            width, back = table[STEP, c], table[PARAM, c]
        row, low, one = uint64(table[BEFORE, c]), uint64(table[LOW, c]), uint64(1)
        ring = rings[table[RING, c] : table[RING, c] + table[SIZE, c]]
        mask, own = uint64(table[SIZE, c] - 1), np.int32(c)
        cutoff, pane_last = oldest, oldest
        for i in range(m):
            now = times[i]
            ring[row & mask] = now
            row += uint64(streams[i] == own)
            if not stepwise:
                cutoff = now - width if now >= oldest + width else oldest
            elif now > pane_last or i == 0:
                into = now % width  # from 0 to width - 1, for negative times too
                cutoff = now - into if now >= oldest + into else oldest
                cutoff = cutoff - back if cutoff >= oldest + back else oldest
                pane_last = now + (width - 1 - into) if now <= newest - (width - 1 - into) else newest
            low += uint64(ring[low & mask] < cutoff)  # mostly one row or none leaves, and nobody knows which
            while ring[low & mask] < cutoff:
                low += one
            marks[i, c] = np.int32(low)
        table[LOW, c] = low
        ends[1, c] = np.int32(low)
    return True


@kernel(
    "boolean(int32[::1], int64[::1], int64[:, ::1], int64[:, ::1], int64[::1], int32[:, ::1], int32[:, ::1])",
    makes_arrays=True,
)
def mark_given(streams, rows, given, table, rings, marks, ends):
    """Mark the streams whose marks are given, after `mark_times`; False if a ring has the wrong size.

    Such an engine has only some rows of a stream. `rows` are the numbers that the events' rows have in the whole
    stream, `given` the marks by these numbers, with a column for each stream of this kind. A ring holds the numbers of
    the rows that are here, from the low-water row on: those below the mark are passed.
    """
    m = streams.shape[0]
    n = table.shape[1]
    one, place = uint64(1), 0
    for c in range(n):
        if table[KIND, c] == GIVEN and not fits(table, c):
            return False
    for c in range(n):
        if table[KIND, c] != GIVEN:
            continue
        row, low = uint64(table[BEFORE, c]), uint64(table[LOW, c])
        ring = rings[table[RING, c] : table[RING, c] + table[SIZE, c]]
        mask, own = uint64(table[SIZE, c] - 1), np.int32(c)
        for i in range(m):
            ring[row & mask] = rows[i]
            row += uint64(streams[i] == own)
            cutoff = given[i, place]
            while low < row and ring[low & mask] < cutoff:
                low += one
            marks[i, c] = np.int32(low)
        table[LOW, c] = low
        ends[1, c] = np.int32(low)
        place += 1
    return True
