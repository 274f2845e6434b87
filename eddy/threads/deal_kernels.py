"""Dealing rows out: each shard finds its own among those of a portion, by their hashes, and copies their keys.

That needs the rows' keys and their numbers only. So it can be done while a batch is still being merged; when it is
known which event each row is, a shard has only to look that up.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from eddy.threads.layout import (
    BatchPart,
    Shard,
    ShardStream,
    batch_part_of,
    byte_at,
    dimension_of,
    long_at,
    set_byte,
    set_int,
    set_long,
    shard_stream_of,
)
from stairs.hashing import salted
from stairs.kernel import kernel, part
from stairs.lowlevel.address import data_of


@part
def spread(key, salt):
    """32 bits that any two keys share by chance only."""
    return np.int64(salted(key, salt) >> np.uint64(32))


@kernel(nb.void(nb.int64[::1], nb.int64, nb.int64[::1]))
def spread_keys(keys, salt, out):
    """The same for many."""
    for i in range(keys.shape[0]):
        out[i] = spread(keys[i], salt)


@kernel(nb.void(nb.int64, nb.int64))
def look_up(parts, count):
    """Put the addresses of a batch's arrays in the place of their handles, in ``count`` parts."""
    for s in range(count):
        own = batch_part_of(parts, s)
        if own.rows != 0:
            own.events = data_of(own.events)
            if own.kept != 0:
                own.kept = data_of(own.kept)
            for k in range(own.class_count):
                set_long(own.keys, k, data_of(long_at(own.keys, k)))


@kernel(nb.void(BatchPart, nb.int64, nb.int64, nb.int64, nb.int64))
def _test(own, bounds, flags, start, n):
    """Which of n rows of a stream, from ``start`` on, are a shard's own: a byte for each."""
    kept = own.kept
    for j in range(n):
        set_byte(flags, j, byte_at(kept, start + j) if kept != 0 else 1)
    for d in range(own.dimension_count):
        dimension = dimension_of(own.dimensions, d)
        salt = dimension.salt
        low, high = long_at(bounds, 2 * dimension.number), long_at(bounds, 2 * dimension.number + 1)
        if dimension.key >= 0:
            keys = long_at(own.keys, dimension.key) + 8 * start
            for j in range(n):
                h = spread(long_at(keys, j), salt)
                set_byte(flags, j, byte_at(flags, j) & np.int64(low <= h) & np.int64(h < high))
        else:
            first = own.first_row + start
            for j in range(n):
                h = spread(first + j, salt)
                set_byte(flags, j, byte_at(flags, j) & np.int64(low <= h) & np.int64(h < high))


@kernel(nb.int64(BatchPart, ShardStream, nb.int64, nb.int64, nb.int64))
def _choose(own, stream, flags, start, n):
    """Copy those rows; returns how many they are.

    Every row is written, and stays if it counts: no branch has to be guessed.
    """
    first, p = own.first_row + start, np.int64(0)
    numbers, ranks, mask, local = stream.numbers, stream.ranks, stream.rank_slots - 1, stream.next_row
    if ranks == 0:  # all into one place that nobody reads: behind the flags
        ranks, mask = flags + n + (8 - (flags + n) % 8) % 8, np.int64(0)
    for j in range(n):
        set_long(numbers, p, first + j)
        set_int(ranks, (first + j) & mask, local + p)
        p += byte_at(flags, j)
    set_int(ranks, (first + n) & mask, local + p)
    for k in range(own.class_count):
        keys, into, p = long_at(own.keys, k) + 8 * start, long_at(stream.keys, k), np.int64(0)
        for j in range(n):
            set_long(into, p, long_at(keys, j))
            p += byte_at(flags, j)
    return p


@kernel(nb.void(Shard, nb.int64, nb.int64, nb.int64))
def deal(shard, width, parts, cuts):
    """Let a shard take its rows of a portion: their numbers and keys, and how many of its rows come before each.

    By their addresses: the ``parts`` of the batch, one for each of ``width`` streams; ``cuts``: for each stream, which
    of the batch's rows is the first of the portion, and then of the next.
    """
    for s in range(width):
        own, stream = batch_part_of(parts, s), shard_stream_of(shard.streams, s)
        start = long_at(cuts, s)
        n = long_at(cuts, width + s) - start
        stream.rows = 0
        if n > 0:
            _test(own, shard.bounds, shard.flags, start, n)
            stream.rows = _choose(own, stream, shard.flags, start, n)
