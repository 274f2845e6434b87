"""Rows that wait: out of a leaf's chains and into them again, into a blacklist and out of it.

A blacklist is a ring of entries, rows or composites, each under the key of what it waits for.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from stairs.kernel import kernel
from stairs.key_kernels import following
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
from stairs.probe_kernels import bucket
from stairs.ring_kernels import is_live


@kernel(nb.void(STATE, INTS, FLAGS))
def admit(leaf, events, chosen):
    """Link the chosen rows of this batch, which are in no chain so far; ``events`` are those of all its rows."""
    records, heads, own_events, meta = leaf
    mask, shift, low = records.shape[0] - 1, meta[SHIFT], np.int32(meta[LOW])
    for i in range(events.shape[0]):
        if chosen[i] != 0:
            row = np.int32(meta[BASE] + i)
            slot = np.uint64(row & mask)
            head = np.uint64(bucket(records[slot, KEY_LOW], records[slot, KEY_HIGH], shift))
            older = heads[head]
            records[slot, NEXT] = following(older, low)
            heads[head] = row
            own_events[i] = events[i]


@kernel(nb.int64(STATE, INTS, nb.int64))
def link_rows(leaf, rows, steps):
    """Link rows of former batches at their places in the chains, which run from the newest row to the oldest.

    Returns how many were linked before so many steps along chains were used up.
    """
    records, heads, _, meta = leaf
    mask, shift, low = records.shape[0] - 1, meta[SHIFT], np.int32(meta[LOW])
    for i in range(rows.shape[0]):
        row = rows[i]
        slot = np.uint64(row & mask)
        head = np.uint64(bucket(records[slot, KEY_LOW], records[slot, KEY_HIGH], shift))
        older, newer = heads[head], row
        while np.int32(older - low) >= 0 and np.int32(older - row) > 0:
            newer = older
            older = records[np.uint64(older & mask), NEXT]
            steps -= 1
        records[slot, NEXT] = following(older, low)
        if newer == row:
            heads[head] = row
        else:
            records[np.uint64(newer & mask), NEXT] = row
        if steps < 0:
            return i + 1
    return rows.shape[0]


@kernel(nb.void(STATE, INTS))
def relink(leaf, rows):
    """The same by making all chains anew: for many rows, or long chains."""
    records, heads, _, meta = leaf
    mask, shift, low = records.shape[0] - 1, meta[SHIFT], np.int32(meta[LOW])
    for i in range(rows.shape[0]):
        records[np.uint64(rows[i] & mask), NEXT] = np.int32(low - 1)
    for i in range(heads.shape[0]):
        heads[i] = np.int32(low - 1)
    for entry in range(meta[LOW], meta[TAIL]):
        slot = np.uint64(entry & mask)
        if records[slot, NEXT] != np.int32(entry):
            head = np.uint64(bucket(records[slot, KEY_LOW], records[slot, KEY_HIGH], shift))
            records[slot, NEXT] = heads[head]
            heads[head] = np.int32(entry)


@kernel(nb.void(STATE, INTS, LONGS))
def gather_keys(leaf, rows, out):
    """The keys that rows have in a leaf."""
    records = leaf[0]
    mask = records.shape[0] - 1
    for i in range(rows.shape[0]):
        slot = np.uint64(rows[i] & mask)
        out[i] = (np.int64(records[slot, KEY_HIGH]) << 32) | np.int64(np.uint32(records[slot, KEY_LOW]))


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


@kernel(nb.void(STATE, nb.int64, RECORDS))
def read_entries(state, start, out):
    """The rows, 32 bits of them, of the entries from ``start`` on."""
    records = state[0]
    mask = records.shape[0] - 1
    for i in range(out.shape[0]):
        slot = np.uint64((start + i) & mask)
        for j in range(out.shape[1]):
            out[i, j] = records[slot, ROWS + j]


@kernel(nb.int64(STATE, LONGS, INTS, LONGS, RECORDS))
def take(blacklist, streams, marks, keys, out):
    """Take all entries with one of these keys out of their chains; the rows of the live ones go to ``out``.

    Returns how many.
    """
    records, heads, _, meta = blacklist
    mask, shift, low, taken = records.shape[0] - 1, meta[SHIFT], np.int32(meta[LOW]), 0
    for i in range(keys.shape[0]):
        key_low, key_high = np.int32(keys[i]), np.int32(keys[i] >> 32)
        head = np.uint64(bucket(key_low, key_high, shift))
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


@kernel(nb.int64(STATE, LONGS, INTS, RECORDS))
def list_live(state, streams, marks, out):
    """The rows of all entries that are in some chain and live; how many."""
    records, _, _, meta = state
    mask, found = records.shape[0] - 1, 0
    for entry in range(meta[LOW], meta[TAIL]):
        slot = np.uint64(entry & mask)
        if is_live(records, slot, entry, streams, marks, False):
            for j in range(streams.shape[0]):
                out[found, j] = records[slot, ROWS + j]
            found += 1
    return found


@kernel(nb.int64(STATE, nb.int64, nb.int64, FLAGS))
def hide(state, component, first, chosen):
    """Take entries out of their chains whose component is a chosen row, counted from row ``first``; how many.

    Their links are cleared; `relink` makes the chains anew.
    """
    records, _, _, meta = state
    mask, hidden = records.shape[0] - 1, 0
    for entry in range(meta[LOW], meta[TAIL]):
        slot = np.uint64(entry & mask)
        place = np.int64(np.int32(records[slot, ROWS + component] - np.int32(first)))
        if 0 <= place < chosen.shape[0] and chosen[place] != 0 and records[slot, NEXT] != np.int32(entry):
            records[slot, NEXT] = np.int32(entry)
            hidden += 1
    return hidden
