"""Which keys of a STAIR are filled and which are holes, while it is not complete.

A map from key to FILLED, HOLE or DEMOTED, open addressing with linear probing. A key that is not in it was never
touched since the STAIR was made. Then it is a hole exactly if its carrying leaf still has a live row with that key from
before (``created``): otherwise no result with that key existed and none was dropped since, so it is filled.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from stairs.hashing import bucket, seeded
from stairs.kernel import kernel, part
from stairs.layout import FLAGS, KEY_HIGH, KEY_LOW, LONGS, LOW, NEXT, SHIFT, STATE, TAIL

UNKNOWN, FILLED, HOLE, DEMOTED = 0, 1, 2, 3
"""A demoted key is a hole by choice: it stays one while its rows come and go, until it is asked for."""

KEYMAP = nb.types.Tuple((LONGS, FLAGS, LONGS))
"""Keys, their states, and one number: how many are in the map."""


@part
def place(keys, states, key):
    """The slot that holds the key, or the empty one where it belongs."""
    mask = np.uint64(keys.shape[0] - 1)
    slot = seeded(key) & mask
    while states[slot] != UNKNOWN and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@part
def has_older_row(leaf, key, created):
    """Whether the leaf has a row with this key, not yet known dead, that is older than ``created``."""
    records, heads, _, meta = leaf
    mask, low, before = records.shape[0] - 1, np.int32(meta[LOW]), np.int32(created)
    key_low, key_high = np.int32(key), np.int32(key >> 32)
    row = heads[np.uint64(bucket(key_low, key_high, meta[SHIFT]))]
    while np.int32(row - low) >= 0:
        slot = np.uint64(row & mask)
        if (
            np.int32(row - before) < 0
            and records[slot, KEY_LOW] == key_low
            and records[slot, KEY_HIGH] == key_high
        ):
            return True
        row = records[slot, NEXT]
    return False


@kernel(nb.int64(KEYMAP, STATE, nb.int64, LONGS, nb.int64, FLAGS, LONGS))
def classify(keymap, leaf, created, wanted, demand, filled, holes):
    """Set ``filled[i]`` for each wanted key; with ``demand`` list the holes once each and enter them as filled.

    Returns how many were listed. The map must have room for all the wanted keys.
    """
    keys, states, count = keymap
    listed, settled = 0, created <= leaf[3][LOW]
    for i in range(wanted.shape[0]):
        key = wanted[i]
        slot = place(keys, states, key)
        state = states[slot]
        if state == UNKNOWN and settled:
            state = FILLED  # no row from before is left, so what is not in the map is filled
        elif state == UNKNOWN:
            state = HOLE if has_older_row(leaf, key, created) else FILLED
            keys[slot] = key
            states[slot] = state
            count[0] += 1
        if state >= HOLE and demand != 0:
            holes[listed] = key
            listed += 1
            states[slot] = FILLED
            state = FILLED
        filled[i] = 1 if state == FILLED else 0
    return listed


@kernel(nb.int64(KEYMAP, STATE, LONGS, LONGS))
def expire(keymap, leaf, expired, holes):
    """List the known holes among the keys of expired rows, once each, and enter them as filled; how many.

    Demoted keys stay holes, but one without a live row is filled by definition.
    """
    keys, states, _ = keymap
    listed = 0
    for i in range(expired.shape[0]):
        slot = place(keys, states, expired[i])
        if states[slot] == HOLE:
            states[slot] = FILLED
            holes[listed] = expired[i]
            listed += 1
        elif states[slot] == DEMOTED and not has_older_row(leaf, expired[i], leaf[3][TAIL]):
            states[slot] = FILLED
    return listed


@kernel(nb.void(KEYMAP, LONGS, nb.uint8))
def enter(keymap, wanted, state):
    """Enter keys with a state, replacing the one they had."""
    keys, states, count = keymap
    for i in range(wanted.shape[0]):
        slot = place(keys, states, wanted[i])
        if states[slot] == UNKNOWN:
            keys[slot] = wanted[i]
            count[0] += 1
        states[slot] = state


@kernel(nb.void(KEYMAP, KEYMAP, nb.uint8))
def rehash(old, new, least):
    """Enter the keys of one map into another; those whose state is below ``least`` are left out."""
    keys, states, _ = old
    for i in range(keys.shape[0]):
        if states[i] >= least:
            slot = place(new[0], new[1], keys[i])
            new[0][slot] = keys[i]
            new[1][slot] = states[i]
            new[2][0] += 1


@kernel(nb.int64(KEYMAP, STATE, nb.int64, nb.int64, nb.int64, LONGS, LONGS))
def settle(keymap, leaf, cursor, steps, budget, holes, listed):
    """Walk the leaf's rows from ``cursor`` down, newest first, past keys that are filled.

    A hole is listed and entered as filled while the budget lasts, else the walk ends there. ``listed[0]`` counts
    the holes. Returns the next cursor; below the leaf's low-water row nothing is left to do.
    """
    keys, states, count = keymap
    records, _, _, meta = leaf
    mask, low = records.shape[0] - 1, meta[LOW]
    listed[0] = 0
    while cursor >= low and steps > 0:
        slot = np.uint64(cursor & mask)
        if records[slot, NEXT] != np.int32(cursor):
            key = (np.int64(records[slot, KEY_HIGH]) << 32) | np.int64(np.uint32(records[slot, KEY_LOW]))
            where = place(keys, states, key)
            if states[where] != FILLED:
                if listed[0] >= budget:
                    return cursor
                if states[where] == UNKNOWN:
                    keys[where] = key
                    count[0] += 1
                states[where] = FILLED
                holes[listed[0]] = key
                listed[0] += 1
        cursor -= 1
        steps -= 1
    return cursor


@kernel(nb.int64(STATE, nb.int64, FLAGS))
def unlink(state, start, chosen):
    """Take the chosen entries, counted from ``start``, out of their chains; how many were in one.

    ``start`` is not above the oldest entry. A chain that has a chosen entry is gone through once, however many it has.
    """
    records, heads, _, meta = state
    mask, low, first = records.shape[0] - 1, np.int32(meta[LOW]), np.int32(start)
    found = 0
    for i in range(chosen.shape[0]):
        slot = np.uint64((start + i) & mask)
        if chosen[i] == 0 or records[slot, NEXT] == np.int32(start + i):
            continue
        head = np.uint64(bucket(records[slot, KEY_LOW], records[slot, KEY_HIGH], meta[SHIFT]))
        entry, kept = heads[head], np.int64(-1)
        while np.int32(entry - low) >= 0:
            here = np.uint64(entry & mask)
            after = records[here, NEXT]
            if chosen[np.int64(np.int32(entry - first))] != 0:
                records[here, NEXT] = entry
                found += 1
                if kept < 0:
                    heads[head] = after
                else:
                    records[np.uint64(kept), NEXT] = after
            else:
                kept = np.int64(here)
            entry = after
    return found


@kernel(nb.int64(STATE, nb.int64, LONGS))
def find_entries(state, key, out):
    """Put the ids of the entries with a key into ``out``, the newest first, as many as fit; how many there are."""
    records, heads, _, meta = state
    mask, low, tail = records.shape[0] - 1, np.int32(meta[LOW]), meta[TAIL]
    key_low, key_high = np.int32(key), np.int32(key >> 32)
    found = 0
    entry = heads[np.uint64(bucket(key_low, key_high, meta[SHIFT]))]
    while np.int32(entry - low) >= 0:
        slot = np.uint64(entry & mask)
        if records[slot, KEY_LOW] == key_low and records[slot, KEY_HIGH] == key_high:
            if found < out.shape[0]:
                out[found] = tail - np.int64(np.uint32(np.int32(tail) - entry))
            found += 1
        entry = records[slot, NEXT]
    return found


@kernel(nb.void(STATE, LONGS, FLAGS))
def present(state, wanted, out):
    """Whether some entry has the key; entries that died but are not yet trimmed count."""
    records, heads, _, meta = state
    mask, low = records.shape[0] - 1, np.int32(meta[LOW])
    for i in range(wanted.shape[0]):
        key_low, key_high = np.int32(wanted[i]), np.int32(wanted[i] >> 32)
        entry = heads[np.uint64(bucket(key_low, key_high, meta[SHIFT]))]
        out[i] = 0
        while np.int32(entry - low) >= 0:
            slot = np.uint64(entry & mask)
            if records[slot, KEY_LOW] == key_low and records[slot, KEY_HIGH] == key_high:
                out[i] = 1
                break
            entry = records[slot, NEXT]
