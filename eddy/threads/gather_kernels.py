"""The results of all shards in one array: in the order of their latest events, by the row numbers of the whole.

Each shard has its own in a ring, by row numbers of its own. They are counted by event, and then each is written where
it belongs: a sort in two passes, as events are small numbers.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from eddy.threads.layout import gathered_of, gathered_stream_of, int_at, long_at
from stairs.kernel import kernel
from stairs.layout import ROWS


@kernel(nb.void(nb.int64, nb.int64, nb.int64[::1], nb.int32[::1], nb.int64[:, ::1]))
def gather(shards, count, after, events, rows):
    """Read the results of ``count`` shards, a GATHERED each.

    ``after`` has a number for each event and one more, all 0. ``events`` and ``rows`` receive the results.
    """
    n = rows.shape[1]
    width = ROWS + n
    for c in range(count):
        shard = gathered_of(shards, c)
        at, places = shard.events, shard.places
        for i in range(shard.made):
            event = int_at(at, i)
            after[(int_at(places, event) if places != 0 else event) + 1] += 1
    for event in range(1, after.shape[0]):
        after[event] += after[event - 1]
    for c in range(count):
        shard = gathered_of(shards, c)
        records, mask, start, at, places = shard.records, shard.mask, shard.start, shard.events, shard.places
        for i in range(shard.made):
            event = int_at(at, i)
            event = int_at(places, event) if places != 0 else event
            to = after[event]
            after[event] = to + 1
            events[to] = np.int32(event)
            record = width * ((start + i) & mask) + ROWS
            for s in range(n):
                stream = gathered_stream_of(shard.streams, s)
                behind = np.int64(np.uint32(stream.next_row - int_at(records, record + s)))
                rows[to, s] = long_at(stream.numbers, (stream.next_row - behind) & stream.mask)
