"""Suppressing: a match of the two sides of a join is not stored while nothing that it would meet next has its key.

Only the key is noted, once for all matches that have it, in a ring of entries without components. An edge describes
all this: its ring is what the composites meet next, ``wanted`` is the recipe of their key, its blacklist are the noted
keys, and ``limit`` is the first of these that was noted since the windows last turned over.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from stairs.chains import following
from stairs.feedback.judging_kernels import lack_all, recipe_at
from stairs.feedback.presence_kernels import find_keys
from stairs.feedback.recipe_kernels import read_column
from stairs.feedback.visit_layout import LACKING, Edge, Unit, Work, edge_at, unit_at, work_at
from stairs.feedback.waiting_kernels import take
from stairs.hashing import bucket_of
from stairs.kernel import kernel, part
from stairs.layout import (
    BASE,
    CAPACITY,
    FLAGS,
    FROM,
    KEY_HIGH,
    KEY_LOW,
    LONGS,
    LOW,
    NEXT,
    RECORDS,
    ROWS,
    SHIFT,
    TAIL,
    TO,
    WAITING,
    WIDTH,
)
from stairs.lowlevel.address import pointer
from stairs.lowlevel.flat import get_key
from stairs.program_kernels import meta_at, state_at
from stairs.ring_kernels import keep


@part
def newest_note(noted, key):
    """The newest entry under a key; below the low-water id there is none."""
    records, heads, _, meta = noted
    mask, low = records.shape[0] - 1, np.int32(meta[LOW])
    key_low, key_high = np.int32(key), np.int32(key >> 32)
    entry = heads[np.uint64(bucket_of(key, meta[SHIFT]))]
    while np.int32(entry - low) >= 0:
        slot = np.uint64(entry & mask)
        if records[slot, KEY_LOW] == key_low and records[slot, KEY_HIGH] == key_high:
            break
        entry = records[slot, NEXT]
    return entry


@part
def forget_key(state, key):
    """Take all entries with a key out of their chain."""
    records, heads, _, meta = state
    mask, low = records.shape[0] - 1, np.int32(meta[LOW])
    key_low, key_high = np.int32(key), np.int32(key >> 32)
    head = np.uint64(bucket_of(key, meta[SHIFT]))
    entry = heads[head]
    newer, first = entry, True
    while np.int32(entry - low) >= 0:
        slot = np.uint64(entry & mask)
        older = records[slot, NEXT]
        if records[slot, KEY_LOW] == key_low and records[slot, KEY_HIGH] == key_high:
            records[slot, NEXT] = entry
            if first:
                heads[head] = older
            else:
                records[np.uint64(newer & mask), NEXT] = older
        else:
            newer, first = entry, False
        entry = older


@part
def note(noted, state, key, since):
    """Note a key, unless it was noted from entry ``since`` on; there is room for it. How many entries that took.

    Nothing that a STAIR had under a key that is noted can be found any more: all of it is made anew with the rest.
    """
    records, heads, _, meta = noted
    newest = newest_note(noted, key)
    known = np.int32(newest - np.int32(meta[LOW])) >= 0  # entries may have been moved past ``since``
    if known and np.int32(newest - np.int32(since)) >= 0:
        return 0
    if not known:
        forget_key(state, key)
    tail = meta[TAIL]
    slot, head = np.uint64(tail & (records.shape[0] - 1)), np.uint64(bucket_of(key, meta[SHIFT]))
    records[slot, KEY_LOW], records[slot, KEY_HIGH] = np.int32(key), np.int32(key >> 32)
    records[slot, NEXT] = following(heads[head], np.int32(meta[LOW]))
    heads[head] = np.int32(tail)
    meta[TAIL] = tail + 1
    return 1


@kernel(nb.int64(Edge, Work, RECORDS, nb.int64, nb.int64), makes_arrays=True)
def suppress(edge, work, marks, stair, start):
    """Of the entries from ``start`` to the tail of a STAIR only those stay whose key something has that was live when
    the batch began, or has come with it, and is not noted; the keys of the others are noted. Returns how many went; -1
    if there is no room, and nothing was done.

    While the edge is not awake only those go whose keys are noted already.
    """
    state, noted = state_at(stair), state_at(edge.blacklist)
    n = work.entered = state[3][TAIL] - start
    work.lacked = -1
    if n == 0 or (edge.awake == 0 and noted[3][WAITING] == 0):
        return 0
    if n > work.space:
        return -1
    keys = carray(pointer(work.wishes), (n,), np.int64)
    flags = carray(pointer(work.flags), (n,), np.uint8)
    flags[:] = 1
    recipe = recipe_at(edge.wanted, edge.wanted_count)
    for j in range(recipe.shape[0]):
        read_column(recipe, j, state[0], start, n, keys)
    failed = 0
    if edge.awake != 0:
        ring = state_at(edge.ring)
        if ring[3][LOW] == ring[3][TAIL]:
            failed = lack_all(flags)
        else:
            streams = carray(pointer(edge.ring_streams), (ring[3][WIDTH] - ROWS,), np.int64)
            moments = carray(pointer(work.zeros), (n,), np.int32)
            failed = find_keys(ring, streams, keys, marks, moments, flags, np.uint8(LACKING))
    for i in range(n if noted[3][WAITING] > 0 else 0):
        if flags[i] == 1 and np.int32(newest_note(noted, keys[i]) - np.int32(noted[3][LOW])) >= 0:
            flags[i] = LACKING
            failed += 1
    if failed == 0:
        return 0
    if noted[3][TAIL] - noted[3][LOW] + failed > noted[3][CAPACITY]:
        work.lacked = failed
        return -1
    for i in range(n):
        if flags[i] == LACKING:
            flags[i] = 0
            noted[3][WAITING] += note(noted, state, keys[i], edge.limit)
    keep(state, start, flags)
    edge.failed += failed
    edge.suspended += failed
    return failed


@kernel(nb.int64(Edge, Work), makes_arrays=True)
def list_restored(edge, work):
    """Of what has come, list the entries with noted keys in the wishes at hand, one for each key, which is noted no
    longer. Returns how many; -1 if there is no room, and nothing was done."""
    ring, noted = state_at(edge.ring), state_at(edge.blacklist)
    records, meta = ring[0], ring[3]
    came, revealed, leaf = meta[TAIL] - meta[BASE], 0, meta[WIDTH] == ROWS + 1
    if edge.opposite != 0:
        revealed = unit_at(edge.opposite).woken_count
    work.entered, work.lacked = came + revealed, -1
    if noted[3][WAITING] == 0 or work.entered == 0:
        return 0
    if work.entered > work.space:
        return -1
    ids = carray(pointer(work.wishes), (work.entered,), np.int64)
    none, nothing = carray(pointer(0), (0,), np.int64), carray(pointer(0), (0,), np.int32)
    out = carray(pointer(0), (0, 0), np.int32)
    mask, width, found = records.shape[0] - 1, records.shape[1], 0
    woken = carray(pointer(unit_at(edge.opposite).woken if revealed > 0 else 0), (revealed,), np.int32)
    for i in range(came + revealed):
        # Rows that were stored but cannot be found have no event; those that can be found again are older.
        if i < came and leaf and ring[2][i] < 0:
            continue
        entry = meta[BASE] + i if i < came else np.int64(woken[i - came])
        taken = take(noted, none, nothing, get_key(records, np.int64(entry & mask) * width), out, 0)
        if taken > 0:
            ids[found] = entry
            noted[3][WAITING] -= taken
            found += 1
    edge.looked += came + revealed
    return found


@kernel(nb.int64(Edge, LONGS, FLAGS), makes_arrays=True)
def flag_noted(edge, keys, flags):
    """Clear the flags of the keys that are noted; how many are left."""
    noted, left = state_at(edge.blacklist), 0
    for i in range(keys.shape[0]):
        flags[i] = np.int32(newest_note(noted, keys[i]) - np.int32(noted[3][LOW])) < 0
        left += np.int64(flags[i])
    return left


@kernel(nb.int64(Unit, Edge, Work, RECORDS), makes_arrays=True)
def suppress_new(unit, edge, work, marks):
    """Suppress what the batch has put into a STAIR and nothing matches; 0 if there is no room."""
    meta = meta_at(unit.stair)
    first, before = meta[FROM], meta[TAIL]
    failed = suppress(edge, work, marks, unit.stair, first)
    if failed < 0:
        return 0
    meta[TO] = meta[TAIL]
    if edge.awake != 0:
        edge.judged += before - first
    return 1


# -- for Python, which has addresses -----------------------------------------------------------------------------------


@kernel(nb.int64(nb.int64, nb.int64, nb.int64, RECORDS, nb.int64), makes_arrays=True)
def suppress_at(edge, work, stair, marks, start):
    """`suppress`, by addresses."""
    return suppress(edge_at(edge), work_at(work), marks, stair, start)


@kernel(nb.int64(nb.int64, LONGS, FLAGS), makes_arrays=True)
def flag_noted_at(edge, keys, flags):
    """`flag_noted`, of the edge at an address."""
    return flag_noted(edge_at(edge), keys, flags)
