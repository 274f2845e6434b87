"""Looking a few rows up in a leaf, to see what joining them would give."""

from __future__ import annotations

import numba as nb
import numpy as np

from stairs.hashing import bucket_of
from stairs.kernel import kernel, part
from stairs.layout import KEY_HIGH, KEY_LOW, LONGS, NEXT, SHIFT, STATE


@part
def key_at(records, slot):
    return (np.int64(records[slot, KEY_HIGH]) << 32) | np.int64(np.uint32(records[slot, KEY_LOW]))


@kernel(nb.void(STATE, LONGS, LONGS))
def read_row_keys(leaf, rows, out):
    """The keys that rows have in a leaf."""
    records = leaf[0]
    mask = records.shape[0] - 1
    for i in range(rows.shape[0]):
        out[i] = key_at(records, np.uint64(rows[i] & mask))


@kernel(nb.void(STATE, LONGS, nb.boolean[::1]))
def read_linked(leaf, rows, out):
    """Whether others can find these rows: neither ruled out nor suspended."""
    records = leaf[0]
    mask = records.shape[0] - 1
    for i in range(rows.shape[0]):
        out[i] = records[np.uint64(rows[i] & mask), NEXT] != np.int32(rows[i])


@kernel(nb.int64(STATE, LONGS, nb.int64, nb.int64, LONGS, LONGS, LONGS))
def look_up(leaf, keys, low, enough, which, rows, taken):
    """The rows from ``low`` on that have each key, until there are ``enough``; returns how many.

    ``which`` gets the number of the key, ``rows`` the row, and ``taken[0]`` how many keys were looked up, each to its
    end. If one has so many rows that the arrays are too short, the rest is only counted.
    """
    records, heads, _, meta = leaf
    mask, shift, room, found = records.shape[0] - 1, meta[SHIFT], rows.shape[0], 0
    floor, i = np.int32(low), 0
    while i < keys.shape[0] and found < enough:
        key = keys[i]
        entry = heads[bucket_of(key, shift)]
        ahead = np.int32(entry - floor)
        while ahead >= 0:
            slot = np.uint64(np.int64(entry) & mask)
            if key_at(records, slot) == key:
                if found < room:
                    which[found], rows[found] = i, low + np.int64(ahead)
                found += 1
            entry = records[slot, NEXT]
            ahead = np.int32(entry - floor)
        i += 1
    taken[0] = i
    return found


@kernel(nb.void(STATE, LONGS, nb.int64, nb.int64, LONGS))
def count_alike(leaf, keys, low, most, out):
    """How many rows from ``low`` on have each key, up to ``most``."""
    records, heads, _, meta = leaf
    mask, shift, floor = records.shape[0] - 1, meta[SHIFT], np.int32(low)
    for i in range(keys.shape[0]):
        entry, count = heads[bucket_of(keys[i], shift)], 0
        while np.int32(entry - floor) >= 0 and count < most:
            slot = np.uint64(np.int64(entry) & mask)
            count += key_at(records, slot) == keys[i]
            entry = records[slot, NEXT]
        out[i] = count
