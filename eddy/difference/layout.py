"""How a chain of set differences lies in memory, shared by its kernels, and how these are compiled.

A base row is *blocked* by an inner stream that has a live row with its key. Inner streams with the same condition
share a *column* of keys. Two things are known of each base row: its *blocker*, the first inner stream of the order
that blocks it (the number of inner streams if none does: then it is a result), and which streams are *free*, known
not to block it: those before the blocker. When another order is chosen both stay true, but other streams are before
the blocker now: the row is a *hole* until it is judged again. Its blocker still shows that it is no result, so it can
wait.

The directory has an entry for each key in use: the number of live rows of each inner stream, and a list of base rows,
those of which something is known about a stream of this column. So the first row of a stream with some key finds all
rows of which the stream was known to be free, and the end of its last one finds all rows that it blocked. But a row
that another stream blocks first is in no list of the columns after that.
"""

from __future__ import annotations

from numba import int8, int32, int64, njit, types, uint8

HASH, NEXT, HEAD, STAMP, COUNTS = range(5)
"""An entry: hash, next entry of the bucket, first row of its list, the order under which the list was last seen to be
without holes; then the live rows of each inner stream of the column; then the key, in halves."""

BLOCKER, FREE, LINKS = range(3)
"""A base row: blocker (-1 if it is never a result), set of free streams, then for each column its entry and its newer
and older neighbour in the entry's list."""

UNLINKED, NULL = -1, -2
"""In place of an entry: the row is not in the list; its key is NULL, so that it never is."""

ENDING = -1
"""In place of a number of live rows: the last one expires at this event, and the list is still to be walked. Below 1,
so it blocks nothing; not 0, so the entry is not given up before."""

LOW, COUNT, EARLIER, RING, SIZE = range(5)
"""Of each stream: first live row, next row, first live row before the event; of the inner ones also where in `rings`
the entries of their rows lie, and for how many rows there is room."""

VACANT, USED, ORDERS, KEYS, SETTLED, SOUGHT = range(6)
"""First vacant entry, entries ever used, orders so far, where in an entry the key is, holes judged; and from SOUGHT on
the key looked for."""

EVENT, CHANGED, CURSORS = range(3)
"""How far a batch is: next event, number of changes, next of the batch's rows for each stream."""

ORDER, PLACE, BEFORE, COLUMN, COUNTER, MEMBERS, WIDTH, WORDS = range(8)
"""Rows of a plan: the inner streams in their order; then of each stream its place, and the set of those before it (of
"none" too), its column, and where in an entry its rows are counted; and of each column the set of its streams, the
number of its keys and, from WORDS on, which keys of a base row these are."""

PLAN = int32[:, ::1]

DIRECTORY = types.Tuple((int32[:, ::1], int32[:, ::1], int64[::1]))
"""Buckets of each column, entries, and the numbers from VACANT on."""

BASE = types.Tuple((int32[:, ::1], int64[:, ::1]))
"""Base rows and their keys, by row number modulo a power of two."""

INTS = int32[::1]

BATCH = types.Tuple((INTS, int32[:, ::1], int64[:, ::1], uint8[::1], int64[:, ::1], uint8[:, ::1], INTS))
"""Streams and marks of the events; keys of the inner rows, stream by stream, and 0 for those that never block; keys of
the base rows, and 0 for each column where they are NULL and, last, for rows that are never results; and the bucket
that each event looks into first."""

CHANGES = types.Tuple((int64[::1], int8[::1], int32[::1], int64[::1]))
"""Rows, signs and events of the changes, and the numbers from EVENT on."""


part = njit(_nrt=False, inline="always")
"""For a piece of a kernel, which becomes part of each. No memory is managed in these: they make no arrays, and counting
the references to those they are given, with atomic operations at every turn, took more than half of the time."""

routine = njit(_nrt=False)
"""The same for a piece that is called, since it is long, and not needed at every event."""
