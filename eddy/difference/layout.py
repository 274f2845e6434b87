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

from typing import Any, NamedTuple

import numpy as np
from numba import int8, int32, int64, types, uint8
from numpy.typing import NDArray

from stairs.lowlevel import struct
from stairs.lowlevel.struct import LONG

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

# -- records of as many numbers as a query has streams and keys, by places ---------------------------------------------

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

# -- structs -----------------------------------------------------------------------------------------------------------

STREAM = np.dtype(
    [
        ("low", LONG),  # its first live row
        ("count", LONG),  # its next row
        ("earlier", LONG),  # its first live row before the event
        ("ring", LONG),  # of an inner stream: where in `rings` the entries of its rows lie
        ("size", LONG),  # of an inner stream: rows for which there is room there
    ]
)
"""Where a stream stands; the base is the first."""

INNER = np.dtype(
    [
        ("place", LONG),  # its place in the order
        ("before", LONG),  # the set of the streams before it
        ("column", LONG),  # its column of keys
        ("counter", LONG),  # where in an entry its rows are counted
    ]
)
"""An inner stream under a plan, and after the last one "none"."""

COLUMN = np.dtype(
    [
        ("members", LONG),  # the set of its streams
        ("width", LONG),  # keys in it
    ]
)
"""A column of keys."""

USE = np.dtype(
    [
        ("vacant", LONG),  # the first vacant entry; -1: none
        ("used", LONG),  # entries ever used
        ("orders", LONG),  # orders so far
        ("keys", LONG),  # where in an entry the key is
        ("settled", LONG),  # holes judged
    ]
)
"""How far a directory is used."""

PROGRESS = np.dtype(
    [
        ("event", LONG),  # the next event
        ("changed", LONG),  # changes so far
    ]
)
"""How far a batch is."""

# -- tuples of arrays, and the types that kernels take them by --------------------------------------------------------


def _lines(dtype: Any) -> Any:
    return types.Array(struct.kind(dtype), 1, "C")


class Plan(NamedTuple):
    """An order of the inner streams, and what follows from it and from the conditions."""

    order: Int32s
    """The inner streams in their order."""
    inner: NDArray[Any]
    """An INNER for each, by its number."""
    columns: NDArray[Any]
    """A COLUMN for each."""
    keys: Int32s
    """For each column which keys of a base row are compared."""


class Directory(NamedTuple):
    """The keys in use."""

    heads: Int32s
    """The first entry of each bucket, column by column."""
    entries: Int32s
    use: NDArray[Any]
    """One USE."""
    sought: Int64s
    """The key that is looked for."""


class Base(NamedTuple):
    """Base rows, by row number modulo a power of two."""

    records: Int32s
    keys: Int64s


class Batch(NamedTuple):
    """A batch of events."""

    streams: Int32s
    """The stream of each."""
    marks: Int32s
    keys: Int64s
    """Those of the inner rows, stream by stream."""
    kept: NDArray[np.uint8]
    """0 for those of them that never block."""
    base_keys: Int64s
    base_flags: NDArray[np.uint8]
    """0 for each column where they are NULL and, last, for rows that are never results."""
    buckets: Int32s
    """The bucket that each event looks into first."""


class Changes(NamedTuple):
    """Base rows that become results or stop being some."""

    rows: Int64s
    signs: NDArray[np.int8]
    events: Int32s
    progress: NDArray[Any]
    """One PROGRESS."""
    cursors: Int64s
    """For each stream the next of the batch's rows."""


_ints, _int_table, _longs, _long_table = int32[::1], int32[:, ::1], int64[::1], int64[:, ::1]
PLAN = types.NamedTuple([_ints, _lines(INNER), _lines(COLUMN), _int_table], Plan)
DIRECTORY = types.NamedTuple([_int_table, _int_table, _lines(USE), _longs], Directory)
BASE = types.NamedTuple([_int_table, _long_table], Base)
BATCH = types.NamedTuple(
    [_ints, _int_table, _long_table, uint8[::1], _long_table, uint8[:, ::1], _ints], Batch
)
CHANGES = types.NamedTuple([_longs, int8[::1], _ints, _lines(PROGRESS), _longs], Changes)
STREAMS = _lines(STREAM)
INTS, LONGS = _ints, _longs
