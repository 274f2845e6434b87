"""The results of all shards in one array: in the order of their latest events, by the row numbers of the whole.

Each shard has its own in a ring, by row numbers of its own. They are counted by event, and then each is written where
it belongs: a sort in two passes, as events are small numbers.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from eddy.shards_layout import STAMP, int_at, long_at
from stairs.address import pointer
from stairs.kernel import kernel
from stairs.layout import ROWS

RECORDS, MASK, EVENTS, START, MADE, MAP, STREAMS = range(7)
"""A shard: where the records of its results are, and the mask of their slots; where their events are; the first result
and how many there are; where the place of each of its events in the whole batch is, or 0 if they are such places."""
NEWEST, NUMBERS, NUMBERS_MASK = range(3)
STREAM = 3
"""Then for each stream: its next row, and where the numbers of its rows are, a ring with this mask."""


@kernel(
    nb.void(nb.int64[:, ::1], nb.int64[::1], nb.int32[::1], nb.int64[:, ::1]), stamp=STAMP, makes_arrays=True
)
def gather(shards, after, events, rows):  # type: ignore[no-untyped-def]
    """Read the results of all shards; ``after`` has room for a number an event, and one more, all 0."""
    n = rows.shape[1]
    width = ROWS + n
    for c in range(shards.shape[0]):
        at, places = shards[c, EVENTS], shards[c, MAP]
        for i in range(shards[c, MADE]):
            event = int_at(at, i)
            after[(int_at(places, event) if places != 0 else event) + 1] += 1
    for event in range(1, after.shape[0]):
        after[event] += after[event - 1]
    for c in range(shards.shape[0]):
        records, mask, at, places = shards[c, RECORDS], shards[c, MASK], shards[c, EVENTS], shards[c, MAP]
        streams = carray(
            pointer(shards.ctypes.data + 8 * (c * shards.shape[1] + STREAMS)), (n, STREAM), np.int64
        )
        for i in range(shards[c, MADE]):
            event = int_at(at, i)
            event = int_at(places, event) if places != 0 else event
            to = after[event]
            after[event] = to + 1
            events[to] = np.int32(event)
            record = width * ((shards[c, START] + i) & mask) + ROWS
            for s in range(n):
                newest = streams[s, NEWEST]
                behind = np.int64(np.uint32(newest - int_at(records, record + s)))
                rows[to, s] = long_at(streams[s, NUMBERS], (newest - behind) & streams[s, NUMBERS_MASK])
