"""Rows that cannot be found for a time: out of a leaf's chains and into them again.

A stream has several leaves. They are given by the addresses of their meta, so that one call does for all.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from stairs.chains import following
from stairs.hashing import bucket
from stairs.kernel import kernel
from stairs.layout import (
    BASE,
    FLAGS,
    INTS,
    KEY_HIGH,
    KEY_LOW,
    LONGS,
    LOW,
    NEXT,
    ROWS,
    SHIFT,
    STATE,
    TAIL,
)
from stairs.program_kernels import state_at
from stairs.ring_kernels import relink

STEPS = 4
"""Steps along the chains of a leaf, for each of its rows, before all its chains are made anew instead."""


@kernel(nb.void(STATE, INTS, FLAGS))
def admit_one(leaf, events, chosen):
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


@kernel(nb.void(LONGS, INTS, FLAGS), makes_arrays=True)
def admit(leaves, events, chosen):
    """Link the chosen rows of this batch, which are in no chain so far, in all ``leaves`` of their stream."""
    for i in range(leaves.shape[0]):
        admit_one(state_at(leaves[i]), events, chosen)


@kernel(nb.int64(STATE, INTS, nb.int64))
def link_rows(leaf, rows, steps):
    """Link rows of former batches at their places in the chains, which run from the newest row to the oldest.

    Returns how many were linked before as many ``steps`` along chains were used up.
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


@kernel(nb.void(LONGS, INTS), makes_arrays=True)
def reveal(leaves, rows):
    """Let rows of former batches be found again, in all leaves: one by one, or, where chains are long, all anew."""
    for i in range(leaves.shape[0]):
        leaf = state_at(leaves[i])
        records, meta = leaf[0], leaf[3]
        done = link_rows(leaf, rows, STEPS * (meta[TAIL] - meta[LOW]))
        if done < rows.shape[0]:
            for j in range(done, rows.shape[0]):
                records[rows[j] & (records.shape[0] - 1), NEXT] = np.int32(meta[LOW] - 1)
            relink(leaf)


@kernel(nb.int64(STATE, INTS))
def list_linked(leaf, out):
    """The rows of a leaf that can be found; how many."""
    records, _, _, meta = leaf
    mask, found = records.shape[0] - 1, 0
    for row in range(meta[LOW], meta[TAIL]):
        if records[np.uint64(row & mask), NEXT] != np.int32(row):
            out[found] = np.int32(row)
            found += 1
    return found


@kernel(nb.int64(STATE, nb.int64, nb.int64, FLAGS))
def hide(state, component, first, chosen):
    """Take entries out of their chains whose component is a chosen row, counted from row ``first``; how many."""
    records, _, _, meta = state
    mask, hidden = records.shape[0] - 1, 0
    for entry in range(meta[LOW], meta[TAIL]):
        slot = np.uint64(entry & mask)
        place = np.int64(np.int32(records[slot, ROWS + component] - np.int32(first)))
        if 0 <= place < chosen.shape[0] and chosen[place] != 0 and records[slot, NEXT] != np.int32(entry):
            records[slot, NEXT] = np.int32(entry)
            hidden += 1
    if hidden > 0:
        relink(state)
    return hidden
