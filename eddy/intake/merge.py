"""Bring the batches of several streams into one arrival order."""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from stairs.kernel import kernel
from stairs.lowlevel import struct
from stairs.lowlevel.address import data_of, pointer
from stairs.lowlevel.flat import get, put
from stairs.lowlevel.struct import LONG

TIMED_PART = np.dtype(
    [
        ("times", LONG),  # the handle of their times
        ("rows", LONG),  # how many rows
        ("stream", LONG),  # the number of their stream
    ]
)
"""The rows of one stream, of which there are some."""
timed_part_of = struct.line_of(TIMED_PART)
_parts = struct.kind(TIMED_PART)[::1]

# Digits of at most 12 bits: the 4,096 counters of a pass stay in the first-level cache.
_DIGIT_BITS = 12


@kernel(nb.void(nb.int64[::1], nb.int64[::1], nb.int32[::1], nb.int32[::1]), makes_arrays=True)
def merge(times, offsets, streams, events):
    """Order the rows of all streams by time; ties by stream number, then by arrival.

    `times` holds the streams one after the other, stream s in `offsets[s]:offsets[s + 1]`, each of them
    ascending. Written: `streams[i]`, the stream of the i-th event, and `events[offsets[s] + j]`, the event
    that is row j of stream s.

    The concatenation has its ties in the right order already, so any stable sort by time is right. A radix
    sort is used, not a tree of losers: its cost does not depend on the number of streams, and the times of
    one batch span so little that one or two passes do.
    """
    m = times.shape[0]
    n = offsets.shape[0] - 1
    if m == 0:
        return
    low, high, before = times[0], times[0], np.iinfo(np.int64).min
    ordered = True
    for s in range(n):
        if offsets[s] < offsets[s + 1]:
            first, last = times[offsets[s]], times[offsets[s + 1] - 1]
            low, high = min(low, first), max(high, last)
            ordered &= first >= before
            before = last
    if ordered:
        for i in range(m):
            events[i] = i
    else:
        # Modulo 2**64, so that times at both ends of the 64-bit range are ordered too.
        span = np.uint64(high) - np.uint64(low)
        bits = np.uint64(0)
        while bits < np.uint64(64) and span >> bits != np.uint64(0):
            bits += np.uint64(1)
        passes = (bits + np.uint64(_DIGIT_BITS - 1)) // np.uint64(_DIGIT_BITS)
        width = (bits + passes - np.uint64(1)) // passes
        mask = (np.uint64(1) << width) - np.uint64(1)
        base = np.uint64(low)
        place = np.empty(np.int64(mask) + 1, np.int32)
        order = np.empty(m, np.int32)
        other = np.empty(m, np.int32)
        shift = np.uint64(0)
        for p in range(passes):
            place[:] = 0
            for i in range(m):
                place[((np.uint64(times[i]) - base) >> shift) & mask] += 1
            total = np.int32(0)
            for d in range(place.shape[0]):
                held = place[d]
                place[d] = total
                total += held
            last = p + 1 == passes
            for k in range(m):
                i = k if p == 0 else order[k]
                d = ((np.uint64(times[i]) - base) >> shift) & mask
                to = place[d]
                place[d] = to + 1
                if last:
                    events[i] = to
                else:
                    other[to] = i
            order, other = other, order
            shift += width
    for s in range(n):
        for i in range(offsets[s], offsets[s + 1]):
            streams[events[i]] = s


@kernel(nb.boolean(nb.int64[::1]))
def goes_back(times):
    """Whether time goes back somewhere."""
    back = False
    for i in range(1, times.shape[0]):
        back |= times[i] < times[i - 1]  # without a way out, so that it is vectorised
    return back


@kernel(nb.boolean(_parts, nb.int32[::1], nb.int32[::1]), makes_arrays=True)
def number(parts, streams, events):
    """Merge times that are consecutive numbers, each there once; False if they are not.

    Feeds often have the event's number for a time. Then its place is known without sorting. The times are the caller's
    own arrays, which another thread may be writing to: whatever is read, no place is outside, and the places of
    a part's rows ascend. So these are written to ``events`` first, and looked at there. No loop has a way out, so that
    all but the one over ``streams`` are vectorised.
    """
    total, low, high = streams.shape[0], np.iinfo(np.int64).max, np.iinfo(np.int64).min
    for s in range(parts.shape[0]):
        own = carray(pointer(data_of(parts[s].times)), (parts[s].rows,), np.int64)
        low, high = min(low, own[0]), max(high, own[-1])
    if np.uint64(high) - np.uint64(low) != np.uint64(total - 1):
        return False
    for i in range(total):
        streams[i] = -1
    start, fault = 0, False
    for s in range(parts.shape[0]):
        own = carray(pointer(data_of(parts[s].times)), (parts[s].rows,), np.int64)
        stop, stream = start + own.shape[0], np.int32(parts[s].stream)
        for i in range(own.shape[0]):
            place = np.uint64(own[i]) - np.uint64(low)
            fault |= place >= np.uint64(total)
            put(events, start + i, np.int32(place))
        for i in range(start + 1, stop):
            fault |= get(events, i) <= get(events, i - 1)
        if fault:
            return False
        for i in range(start, stop):
            put(streams, np.int64(get(events, i)), stream)
        start = stop
    for i in range(total):
        fault |= streams[i] < 0
    return not fault


@kernel(nb.int64(_parts, nb.int32[::1], nb.int32[::1], nb.int64[::1]), makes_arrays=True)
def arrange(parts, streams, events, merged):
    """Check and merge in one call: -1, or which part's time goes back.

    What is merged is a copy, and is checked again: another thread may be writing to the caller's arrays.
    `merged` receives the times in their new order, unless it is empty.
    """
    numbered = number(parts, streams, events)
    if numbered and merged.shape[0] == 0:
        return -1
    for s in range(0 if numbered else parts.shape[0]):
        if goes_back(carray(pointer(data_of(parts[s].times)), (parts[s].rows,), np.int64)):
            return s
    times = np.empty(streams.shape[0], np.int64)
    offsets = np.zeros(parts.shape[0] + 1, np.int64)
    for s in range(parts.shape[0]):
        offsets[s + 1] = offsets[s] + parts[s].rows
        own = carray(pointer(data_of(parts[s].times)), (parts[s].rows,), np.int64)
        for i in range(own.shape[0]):  # an assignment of slices would take seconds to compile
            times[offsets[s] + i] = own[i]
    if not numbered:
        for s in range(parts.shape[0]):
            if goes_back(times[offsets[s] : offsets[s + 1]]):
                return s
        merge(times, offsets, streams, events)
        for i in range(streams.shape[0]):
            streams[i] = parts[streams[i]].stream
    for i in range(merged.shape[0]):
        merged[events[i]] = times[i]
    return -1


@kernel(nb.void(_parts, nb.int32[::1], nb.int32[::1]), makes_arrays=True)
def take_turns(parts, streams, events):
    """Merge rows that have no times: every part's first row, then every part's second, and so on."""
    place, row = 0, 0
    while place < streams.shape[0]:
        start = 0
        for s in range(parts.shape[0]):
            if row < parts[s].rows:
                streams[place], events[start + row] = np.int32(parts[s].stream), np.int32(place)
                place += 1
            start += parts[s].rows
        row += 1
