"""Entries that wait: into a blacklist, and out of it when something has come that they wait for.

A blacklist is a ring of entries, rows or composites, each under the key of what it waits for.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from stairs.chains import following
from stairs.feedback.recipe_kernels import read_column
from stairs.feedback.visit_layout import Recipe
from stairs.hashing import bucket_of
from stairs.kernel import kernel, part
from stairs.layout import (
    BASE,
    FLAGS,
    INTS,
    KEY_HIGH,
    KEY_LOW,
    LONGS,
    LOW,
    NEXT,
    RECORDS,
    ROWS,
    SHIFT,
    STATE,
    TAIL,
)
from stairs.lowlevel.flat import get_key
from stairs.lowlevel.prefetch import prefetch
from stairs.ring_kernels import is_live


@kernel(nb.int64(STATE, LONGS, RECORDS, FLAGS, nb.uint8))
def put_by(blacklist, keys, rows, flags, lacking):
    """Let the entries wait that are flagged as lacking something, each under its key, and clear their flags.

    Returns how many; there is room for them.
    """
    records, heads, _, meta = blacklist
    mask, shift, low, tail = records.shape[0] - 1, meta[SHIFT], np.int32(meta[LOW]), meta[TAIL]
    for i in range(keys.shape[0]):
        prefetch(heads, bucket_of(keys[i], shift))
    for i in range(rows.shape[0]):
        if flags[i] == lacking:
            flags[i] = 0
            key = keys[i]
            slot = np.uint64(tail & mask)
            records[slot, KEY_LOW], records[slot, KEY_HIGH] = np.int32(key), np.int32(key >> 32)
            for j in range(rows.shape[1]):
                records[slot, ROWS + j] = rows[i, j]
            head = np.uint64(bucket_of(key, shift))
            records[slot, NEXT] = following(heads[head], low)
            heads[head] = np.int32(tail)
            tail += 1
    put = tail - meta[TAIL]
    meta[TAIL] = tail
    return put


@part
def take(blacklist, streams, marks, key, out, taken):
    """Take all entries with a key out of their chain; the rows of the live ones go to ``out`` from ``taken`` on."""
    records, heads, _, meta = blacklist
    mask, low = records.shape[0] - 1, np.int32(meta[LOW])
    key_low, key_high = np.int32(key), np.int32(key >> 32)
    head = np.uint64(bucket_of(key, meta[SHIFT]))
    entry = heads[head]
    newer, first = entry, True
    while np.int32(entry - low) >= 0:
        slot = np.uint64(entry & mask)
        older = records[slot, NEXT]
        if records[slot, KEY_LOW] == key_low and records[slot, KEY_HIGH] == key_high:
            if is_live(records, slot, entry, streams, marks, False):
                for j in range(streams.shape[0]):
                    out[taken, j] = records[slot, ROWS + j]
                taken += 1
            records[slot, NEXT] = entry
            if first:
                heads[head] = older
            else:
                records[np.uint64(newer & mask), NEXT] = older
        else:
            newer, first = entry, False
        entry = older
    return taken


@kernel(nb.int64(STATE, nb.int64, nb.int64, Recipe, LONGS))
def read_new(ring, start, stop, recipe, keys):
    """The keys of the entries start..stop of this batch, by their own if the recipe is empty; how many.

    Rows that were stored, but can not be found, are left out.
    """
    records, _, events, meta = ring
    mask, width, count = records.shape[0] - 1, records.shape[1], stop - start
    if recipe.shape[0] > 0:
        for j in range(recipe.shape[0]):
            read_column(recipe, j, records, start, count, keys)
    else:
        for i in range(count):
            keys[i] = get_key(records, np.int64((start + i) & mask) * width)
    if width > ROWS + 1:
        return count
    found = 0
    for i in range(count):
        keys[found] = keys[i]
        found += np.int64(events[start + i - meta[BASE]] >= 0)
    return found


@kernel(nb.int64(STATE, LONGS, INTS, nb.int64, RECORDS))
def list_live(state, streams, marks, stop, out):
    """The rows of all entries before ``stop`` that are in some chain and live; how many."""
    records, _, _, meta = state
    mask, found = records.shape[0] - 1, 0
    for entry in range(meta[LOW], stop):
        slot = np.uint64(entry & mask)
        if is_live(records, slot, entry, streams, marks, False):
            for j in range(streams.shape[0]):
                out[found, j] = records[slot, ROWS + j]
            found += 1
    return found


@kernel(nb.void(STATE, RECORDS, LONGS))
def append_entries(state, rows, keys):
    """Append entries of these rows and keys, older than every event of the batch."""
    records, _, events, meta = state
    mask, tail = records.shape[0] - 1, meta[TAIL]
    for i in range(rows.shape[0]):
        slot = np.uint64(tail & mask)
        records[slot, KEY_LOW], records[slot, KEY_HIGH] = np.int32(keys[i]), np.int32(keys[i] >> 32)
        records[slot, NEXT] = np.int32(tail)
        for j in range(rows.shape[1]):
            records[slot, ROWS + j] = rows[i, j]
        events[tail - meta[BASE]] = -1
        tail += 1
    meta[TAIL] = tail


@kernel(nb.void(STATE, INTS, STATE))
def copy_rows(leaf, rows, out):
    """Append entries of rows with the keys they have in a leaf, older than every event of the batch."""
    records, orecords, events, meta = leaf[0], out[0], out[2], out[3]
    mask, omask, tail = records.shape[0] - 1, orecords.shape[0] - 1, meta[TAIL]
    for i in range(rows.shape[0]):
        slot, copy = np.uint64(rows[i] & mask), np.uint64(tail & omask)
        orecords[copy, KEY_LOW], orecords[copy, KEY_HIGH] = records[slot, KEY_LOW], records[slot, KEY_HIGH]
        orecords[copy, NEXT], orecords[copy, ROWS] = np.int32(tail), rows[i]
        events[tail - meta[BASE]] = -1
        tail += 1
    meta[TAIL] = tail


@kernel(nb.void(STATE, nb.int64, RECORDS))
def read_entries(state, start, out):
    """The rows, 32 bits of them, of the entries from ``start`` on."""
    records = state[0]
    mask = records.shape[0] - 1
    for i in range(out.shape[0]):
        slot = np.uint64((start + i) & mask)
        for j in range(out.shape[1]):
            out[i, j] = records[slot, ROWS + j]
