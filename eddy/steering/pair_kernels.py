"""What rows of one stream find in another, for many pairs of streams in one call. No checks: see `sampling`."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from stairs.hashing import bucket_of, salted, share_of
from stairs.kernel import kernel, part
from stairs.layout import LONGS, NEXT, SHIFT
from stairs.lowlevel import struct
from stairs.lowlevel.struct import LONG
from stairs.program_kernels import state_at
from stairs.sample_kernels import key_at

PAIR = np.dtype(
    [
        ("base", LONG),  # the leaf that knows which rows can be found at all, by the address of its meta
        ("source", LONG),  # the leaf with the keys of the rows
        ("from_stream", LONG),  # their stream
        ("target", LONG),  # the leaf in which they are looked up
        ("to_stream", LONG),  # its stream
    ]
)
"""A pair of streams."""

FOUND = np.dtype(
    [
        ("taken", np.float64),  # rows that were looked up
        ("total", np.float64),  # what they found
        ("squares", np.float64),  # the sum of the squares of that
    ]
)
"""What is told of a pair."""


class Limits(NamedTuple):
    """When to stop looking up rows."""

    few: int
    """Rows that are looked up."""
    many: int
    """Rows that are looked up if the first have found hardly anything."""
    hardly: int
    """Matches that are more than that."""
    enough: int
    """Matches after which no row more is looked up."""


PAIRS, FOUNDS = (nb.types.Array(struct.kind(line), 1, "C") for line in (PAIR, FOUND))
LIMITS = nb.types.NamedUniTuple(nb.int64, 4, Limits)


@part
def drawn(seed, number, below):
    """A number below a bound, by chance: the ``number``-th of SplitMix64 from a seed."""
    return share_of(salted(seed, number), below)


@kernel(
    nb.void(PAIRS, nb.int64, LONGS, LONGS, LIMITS, FOUNDS),
    makes_arrays=True,
)
def count_pairs(pairs, seed, lows, counts, limits, found):
    """Look up rows of the one stream of each pair in the other; ``found`` tells what they find.

    Rows are drawn by chance, from ``seed``, where not all are taken. ``lows`` and ``counts`` have the low-water row and
    the next row of each stream.
    """
    few, many, hardly, enough = limits.few, limits.many, limits.hardly, limits.enough
    for p in range(pairs.shape[0]):
        base, source = state_at(pairs[p].base)[0], state_at(pairs[p].source)[0]
        records, heads, _, meta = state_at(pairs[p].target)
        low, live = lows[pairs[p].from_stream], counts[pairs[p].from_stream] - lows[pairs[p].from_stream]
        mask, shift, floor = records.shape[0] - 1, meta[SHIFT], np.int32(lows[pairs[p].to_stream])
        size = few
        total, squares, taken = 0, 0.0, 0
        while taken < min(size, live) and total < enough:
            row = low + (taken if live <= size else drawn(seed, taken, live))
            taken += 1
            if base[np.uint64(row & (base.shape[0] - 1)), NEXT] != np.int32(row):  # else nobody can find it
                key = key_at(source, np.uint64(row & (source.shape[0] - 1)))
                entry, matches = heads[bucket_of(key, shift)], 0
                while np.int32(entry - floor) >= 0:
                    slot = np.uint64(np.int64(entry) & mask)
                    matches += key_at(records, slot) == key
                    entry = records[slot, NEXT]
                total += matches
                squares += np.float64(matches) * matches
            if taken == size and size == few and total < hardly:
                size = many
        found[p].taken, found[p].total, found[p].squares = taken, total, squares
