"""How a ring of join results lies in memory, shared by every kernel.

One record per entry, int32 throughout, so that a composite of k streams takes 12 + 4k bytes:

    key (low half) | key (high half) | next | row of stream 0 | row of stream 1 | ...

An entry's id only grows; it lives in slot ``id & mask``. Ids and row numbers are 64-bit counters of which the
records keep the low 32 bits. They are compared by their difference, which is right as long as fewer than 2**31
ids (or rows of a stream) are live at once: the rings refuse to grow past ``MAX_CAPACITY``.

``next`` leads to the next older entry of the same bucket. An id below the ring's low-water id ends a chain. An
entry whose ``next`` is its own id is in no chain: a dropped insert, or a row that can never join.
"""

from __future__ import annotations

import numba as nb

KEY_LOW, KEY_HIGH, NEXT, ROWS = 0, 1, 2, 3
"""Columns of a record; the component rows follow from ROWS on."""

LOW, TAIL, BASE, SHIFT = 0, 1, 2, 3
"""Fields of ``meta``: first id that may be live, next id to give out, first id of this batch, hash shift.

Entries from BASE on were made in this batch and ``events[id - BASE]`` is the index of their latest event in it,
or -1 when all their components are older. Entries before BASE are older than every event of the batch.
"""
LANE_BITS = 8
"""SHIFT says by how much a hash is shifted to give a place among the heads, and, from this bit on, how many low bits of
the place are 0: where heads of several rings lie side by side (`directory`), those of one are 2**bits apart."""
FROM, TO, HOLES = 4, 5, 6
"""The delta: the entries that the batch has put here so far. Whether some key is a hole."""
RECORDS_AT, CAPACITY, WIDTH, HEADS, BUCKETS, EVENTS, ROOM = 7, 8, 9, 10, 11, 12, 13
"""Where the arrays are, and how large, for kernels that are given a ring by the address of its meta."""
USUAL, MOST = 14, 15
"""About how many entries a batch puts here; the most there were at once since somebody looked."""
AGES_AT, FIRST_AGE, LAST_AGE = 16, 17, 18
"""Where a STAIR's ages are, and which of them count: see `begin_kernels`."""
LIMIT = 19
"""Slots that are used between batches: fewer than there are, if a burst has left more than the usual load needs."""
LINKED = 20
"""Where the part of the delta ends whose entries are in their chains already."""
WAITING = 21
"""Of a blacklist: entries that wait; some of them may be dead."""
META_FIELDS = 22

MAX_CAPACITY = 1 << 30

RECORDS = nb.int32[:, ::1]
INTS = nb.int32[::1]
LONGS = nb.int64[::1]
FLAGS = nb.uint8[::1]
STATE = nb.types.Tuple((RECORDS, INTS, INTS, LONGS))
"""A ring as the kernels see it: records, bucket heads, events of this batch, meta."""
