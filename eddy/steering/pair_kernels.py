"""What rows of one stream find in another, for many pairs of streams in one call. No checks: see `sampling`."""

from __future__ import annotations

import numba as nb
import numpy as np

from stairs.hashing import bucket_of, salted, share_of
from stairs.kernel import kernel, part
from stairs.layout import LONGS, NEXT, SHIFT
from stairs.program_kernels import state_at
from stairs.sample_kernels import key_at

BASE, SOURCE, FROM, TARGET, TO = range(5)
"""Of a pair: the leaf that knows which rows can be found at all, the one with the keys of the rows, its stream, the
leaf in which they are looked up, and its stream; leaves by the address of their meta."""


@part
def drawn(seed, number, below):
    """A number below a bound, by chance: the ``number``-th of SplitMix64 from a seed."""
    return share_of(salted(seed, number), below)


@kernel(
    nb.void(nb.int64[:, ::1], nb.int64, LONGS, LONGS, LONGS, nb.float64[:, ::1]),
    makes_arrays=True,
)
def count_pairs(pairs, seed, lows, counts, limits, found):
    """For each pair the rows that were looked up, what they found, and the sum of the squares of that.

    Rows are drawn by chance, from ``seed``, where not all are taken. ``limits``: rows that are looked up; how many if
    these find less than the third number; matches that are enough.
    """
    few, many, hardly, enough = limits[0], limits[1], limits[2], limits[3]
    for p in range(pairs.shape[0]):
        base, source = state_at(pairs[p, BASE])[0], state_at(pairs[p, SOURCE])[0]
        records, heads, _, meta = state_at(pairs[p, TARGET])
        low, live = lows[pairs[p, FROM]], counts[pairs[p, FROM]] - lows[pairs[p, FROM]]
        mask, shift, floor = records.shape[0] - 1, meta[SHIFT], np.int32(lows[pairs[p, TO]])
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
        found[p, 0], found[p, 1], found[p, 2] = taken, total, squares
