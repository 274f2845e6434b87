"""Dealing a batch out: each row is hashed once, and its keys are copied to the shards that it belongs to.

That needs the rows' keys and their numbers only. So it can be done while the batch is still being merged: when it is
known which event each row is, a shard finds the places of its events by itself.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray, uint64

from eddy.shards_layout import (
    BOUNDS,
    COUNT,
    EVENTS,
    FIELDS,
    KEYS,
    MAP,
    NEXT_ROW,
    NUMBERS,
    PART_CLASSES,
    PART_DIMENSIONS,
    PART_EVENTS,
    PART_FIRST,
    PART_FLAGS,
    PART_HASHES,
    PART_KEPT,
    PART_KEYS,
    PART_ROWS,
    RANK_SLOTS,
    RANKS,
    ROWS,
    SCRATCH,
    SENT,
    STAMP,
    byte_at,
    int_at,
    long_at,
    set_byte,
    set_int,
    set_long,
)
from stairs.address import data_of, pointer
from stairs.kernel import kernel, part

_table, _lines = nb.int64[:, ::1], nb.int64[:, :, ::1]


@part
def spread(key, salt):  # type: ignore[no-untyped-def]
    """32 bits that any two keys share by chance only."""
    h = (uint64(key) + uint64(salt)) * uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> uint64(32))) * uint64(0xD6E8FEB86659FD93)
    return np.int64(h >> uint64(32))


@kernel(nb.void(nb.int64[::1], nb.int64, nb.int64[::1]), stamp=STAMP)
def spread_keys(keys, salt, out):  # type: ignore[no-untyped-def]
    """The same for many."""
    for i in range(keys.shape[0]):
        out[i] = spread(keys[i], salt)


@kernel(nb.void(_table), stamp=STAMP)
def look_up(parts):  # type: ignore[no-untyped-def]
    """Put the addresses of a batch's arrays in the place of their handles."""
    for s in range(parts.shape[0]):
        if parts[s, PART_ROWS] != 0:
            parts[s, PART_EVENTS] = data_of(parts[s, PART_EVENTS])
            if parts[s, PART_KEPT] != 0:
                parts[s, PART_KEPT] = data_of(parts[s, PART_KEPT])
            for k in range(parts[s, PART_CLASSES]):
                parts[s, PART_KEYS + k] = data_of(parts[s, PART_KEYS + k])


@kernel(nb.void(nb.int64[::1], _table), stamp=STAMP, makes_arrays=True)
def _hash(own, dimensions):  # type: ignore[no-untyped-def]
    """The hashes of a stream's rows, for one dimension after the other."""
    n, first = own[PART_ROWS], own[PART_FIRST]
    for d in range(own[PART_DIMENSIONS]):
        source, salt, into = dimensions[d, 0], dimensions[d, 1], own[PART_HASHES] + 4 * d * n
        keys = own[PART_KEYS + source] if source >= 0 else 0
        for j in range(n):
            set_int(into, j, spread(long_at(keys, j) if keys != 0 else first + j, salt))


@kernel(nb.void(nb.int64[::1], _table, nb.int64[::1]), stamp=STAMP, makes_arrays=True)
def _test(own, dimensions, bounds):  # type: ignore[no-untyped-def]
    """Which rows of a stream are a shard's own: a byte for each."""
    n, flags = own[PART_ROWS], own[PART_FLAGS]
    if own[PART_KEPT] != 0 or own[PART_DIMENSIONS] == 0:
        for j in range(n):
            set_byte(flags, j, byte_at(own[PART_KEPT], j) if own[PART_KEPT] != 0 else 1)
    for d in range(own[PART_DIMENSIONS]):
        which, hashes = dimensions[d, 2], own[PART_HASHES] + 4 * d * n
        low, high = bounds[2 * which], bounds[2 * which + 1]
        fresh = np.int64(d == 0 and own[PART_KEPT] == 0)
        for j in range(n):
            h = int_at(hashes, j)
            set_byte(flags, j, (byte_at(flags, j) | fresh) & np.int64(low <= h) & np.int64(h < high))


@kernel(nb.int64(nb.int64[::1], nb.int64[::1]), stamp=STAMP, makes_arrays=True)
def _choose(own, line):  # type: ignore[no-untyped-def]
    """Copy the rows of a stream that are a shard's own; returns how many they are.

    Every row is written, and stays if it counts: no branch has to be guessed.
    """
    n, first, flags, p = own[PART_ROWS], own[PART_FIRST], own[PART_FLAGS], np.int64(0)
    numbers, ranks, mask, local = line[NUMBERS], line[RANKS], line[RANK_SLOTS] - 1, line[NEXT_ROW]
    if ranks == 0:  # all into one place that nobody reads: behind the flags
        ranks, mask = flags + n + (8 - (flags + n) % 8) % 8, np.int64(0)
    for j in range(n):
        set_long(numbers, p, first + j)
        set_int(ranks, (first + j) & mask, local + p)
        p += byte_at(flags, j)
    set_int(ranks, (first + n) & mask, local + p)
    for k in range(own[PART_CLASSES]):
        keys, into, p = own[PART_KEYS + k], line[KEYS + k], np.int64(0)
        for j in range(n):
            set_long(into, p, long_at(keys, j))
            p += byte_at(flags, j)
    return p


@kernel(nb.void(nb.int64, _lines, nb.int64[::1], _table, nb.int64), stamp=STAMP, makes_arrays=True)
def deal_stream(shards, lines, own, dimensions, s):  # type: ignore[no-untyped-def]
    """Give each shard its rows of a stream: their numbers and keys, and how many rows came before each."""
    if own[PART_ROWS] != 0:
        _hash(own, dimensions)
    for c in range(lines.shape[0]):
        lines[c, s, ROWS] = 0
        if own[PART_ROWS] != 0:
            at = long_at(shards, FIELDS * c + BOUNDS)
            _test(own, dimensions, carray(pointer(at), (2 * (dimensions.shape[0] + 1),), np.int64))
            lines[c, s, ROWS] = _choose(own, lines[c, s])


@kernel(nb.void(nb.int64[::1], _table, _table, nb.int64), stamp=STAMP, makes_arrays=True)
def place(shard, lines, parts, m):  # type: ignore[no-untyped-def]
    """Find which events a shard's rows are: among all of the batch, and among its own."""
    n, hits = parts.shape[0], shard[SCRATCH]
    ranks = hits + m + (8 - (hits + m) % 8) % 8
    for i in range(m):
        set_byte(hits, i, 0)
    for s in range(n):
        places, first, numbers, at = (
            parts[s, PART_EVENTS],
            parts[s, PART_FIRST],
            lines[s, NUMBERS],
            lines[s, EVENTS],
        )
        for p in range(lines[s, ROWS]):
            event = int_at(places, long_at(numbers, p) - first)
            set_int(at, p, event)
            set_byte(hits, event, 1)
        lines[s, SENT] += lines[s, ROWS]
    e = np.int64(0)
    for i in range(m):
        set_int(ranks, i, e)
        set_int(shard[MAP], e, i)
        e += byte_at(hits, i)
    shard[COUNT] = e
    for s in range(n):
        at = lines[s, EVENTS]
        for p in range(lines[s, ROWS]):
            set_int(at, p, int_at(ranks, int_at(at, p)))
