"""Dealing rows out: each shard finds its own among those of a portion, by their hashes, and copies their keys.

That needs the rows' keys and their numbers only. So it can be done while a batch is still being merged; when it is
known which event each row is, a shard has only to look that up.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray, uint64

from eddy.shards_layout import (
    BOUNDS,
    FLAGS,
    KEYS,
    NEXT_ROW,
    NUMBERS,
    PART_CLASSES,
    PART_DIMENSIONS,
    PART_EVENTS,
    PART_FIRST,
    PART_KEPT,
    PART_KEYS,
    PART_ROWS,
    RANK_SLOTS,
    RANKS,
    ROWS,
    STAMP,
    byte_at,
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


@kernel(nb.void(nb.int64[::1], _table, nb.int64[::1], nb.int64, nb.int64, nb.int64), stamp=STAMP)
def _test(own, dimensions, bounds, flags, start, n):  # type: ignore[no-untyped-def]
    """Which of n rows of a stream, from ``start`` on, are a shard's own: a byte for each."""
    for j in range(n):
        set_byte(flags, j, byte_at(own[PART_KEPT], start + j) if own[PART_KEPT] != 0 else 1)
    for d in range(own[PART_DIMENSIONS]):
        source, salt, which = dimensions[d, 0], dimensions[d, 1], dimensions[d, 2]
        low, high = bounds[2 * which], bounds[2 * which + 1]
        if source >= 0:
            keys = own[PART_KEYS + source] + 8 * start
            for j in range(n):
                h = spread(long_at(keys, j), salt)
                set_byte(flags, j, byte_at(flags, j) & np.int64(low <= h) & np.int64(h < high))
        else:
            first = own[PART_FIRST] + start
            for j in range(n):
                h = spread(first + j, salt)
                set_byte(flags, j, byte_at(flags, j) & np.int64(low <= h) & np.int64(h < high))


@kernel(nb.int64(nb.int64[::1], nb.int64[::1], nb.int64, nb.int64, nb.int64), stamp=STAMP)
def _choose(own, line, flags, start, n):  # type: ignore[no-untyped-def]
    """Copy those rows; returns how many they are.

    Every row is written, and stays if it counts: no branch has to be guessed.
    """
    first, p = own[PART_FIRST] + start, np.int64(0)
    numbers, ranks, mask, local = line[NUMBERS], line[RANKS], line[RANK_SLOTS] - 1, line[NEXT_ROW]
    if ranks == 0:  # all into one place that nobody reads: behind the flags
        ranks, mask = flags + n + (8 - (flags + n) % 8) % 8, np.int64(0)
    for j in range(n):
        set_long(numbers, p, first + j)
        set_int(ranks, (first + j) & mask, local + p)
        p += byte_at(flags, j)
    set_int(ranks, (first + n) & mask, local + p)
    for k in range(own[PART_CLASSES]):
        keys, into, p = own[PART_KEYS + k] + 8 * start, line[KEYS + k], np.int64(0)
        for j in range(n):
            set_long(into, p, long_at(keys, j))
            p += byte_at(flags, j)
    return p


@kernel(nb.void(nb.int64[::1], _table, _table, _lines, _table), stamp=STAMP, makes_arrays=True)
def deal(shard, lines, parts, dimensions, cuts):  # type: ignore[no-untyped-def]
    """Let a shard take its rows of a portion: their numbers and keys, and how many of its rows come before each.

    ``cuts``: for each stream, which of the batch's rows is the first of the portion, and of the next.
    """
    bounds = carray(pointer(shard[BOUNDS]), (2 * (dimensions.shape[1] + 1),), np.int64)
    for s in range(parts.shape[0]):
        start, n = cuts[0, s], cuts[1, s] - cuts[0, s]
        lines[s, ROWS] = 0
        if n > 0:
            _test(parts[s], dimensions[s], bounds, shard[FLAGS], start, n)
            lines[s, ROWS] = _choose(parts[s], lines[s], shard[FLAGS], start, n)
