"""Whether a STAIR has a live entry with some key, or with some part of its key.

What is looked for are the keys of entries with flag 1. Those for which no entry is live at
``marks[moments[i]]`` get the flag ``lacking``; kernels return how many. Marks never go down, so an entry that comes
later in the batch, and is live then, counts too.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from stairs.feedback.recipe_kernels import key_by
from stairs.feedback.visit_layout import Recipe
from stairs.hashing import bucket_of, seeded
from stairs.kernel import kernel, part
from stairs.layout import FLAGS, INTS, KEY_HIGH, KEY_LOW, LONGS, LOW, NEXT, RECORDS, ROWS, SHIFT, STATE
from stairs.lowlevel.prefetch import prefetch
from stairs.ring_kernels import is_live

DIRECTORY = nb.types.Tuple((INTS, INTS, INTS))
"""Of a part of the key: bucket heads, and for each slot of the ring the next older entry of the bucket and a tag, which
is 32 bits of the part. Two parts with one tag look alike, so that one may seem to be there that is not."""


@kernel(nb.int64(STATE, LONGS, LONGS, RECORDS, INTS, FLAGS, nb.uint8))
def find_keys(state, streams, keys, marks, moments, flags, lacking):
    """Look for whole keys, in the chains of the ring itself."""
    records, heads, _, meta = state
    mask, low, shift, leaf = records.shape[0] - 1, np.int32(meta[LOW]), meta[SHIFT], streams.shape[0] == 1
    failed = 0
    for i in range(keys.shape[0]):
        prefetch(heads, bucket_of(keys[i], shift))
    for i in range(keys.shape[0]):
        prefetch(records, np.int64(heads[bucket_of(keys[i], shift)] & mask))
    for i in range(keys.shape[0]):
        if flags[i] != 1:
            continue
        key = keys[i]
        key_low, key_high = np.int32(key), np.int32(key >> 32)
        entry, moment, found = heads[np.uint64(bucket_of(key, shift))], np.int64(moments[i]), False
        while np.int32(entry - low) >= 0 and not found:
            slot = np.uint64(entry & mask)
            if leaf and np.int32(records[slot, ROWS] - marks[moment, streams[0]]) < 0:
                break  # older rows are dead too
            if records[slot, KEY_LOW] == key_low and records[slot, KEY_HIGH] == key_high:
                found = is_live(records, slot, entry, streams, marks[moment], False)
            entry = records[slot, NEXT]
        if not found:
            flags[i] = lacking
            failed += 1
    return failed


@part
def part_bucket(key, size):
    """Where a part belongs among ``size`` (a power of two) heads, and its tag."""
    x = seeded(key)
    return x & np.uint64(size - 1), np.int32(x >> np.uint64(32))


@kernel(nb.void(STATE, nb.int64, nb.int64, Recipe, DIRECTORY))
def enter_parts(state, start, stop, recipe, directory):
    """Enter the entries start..stop into a directory, under their parts by the recipe."""
    heads, nexts, tags = directory
    records, meta = state[0], state[3]
    mask, width, low = records.shape[0] - 1, records.shape[1], np.int32(meta[LOW])
    for entry in range(start, stop):
        slot = np.uint64(entry & mask)
        head, tag = part_bucket(key_by(recipe, records, np.int64(slot) * width + ROWS), heads.shape[0])
        older = heads[head]
        nexts[slot] = older if np.int32(older - low) >= 0 else np.int32(low - 1)
        tags[slot] = tag
        heads[head] = np.int32(entry)


@kernel(nb.int64(STATE, LONGS, DIRECTORY, LONGS, RECORDS, INTS, FLAGS, nb.uint8))
def find_parts(state, streams, directory, keys, marks, moments, flags, lacking):
    """Look for parts, in a directory that knows all entries."""
    heads, nexts, tags = directory
    records, _, _, meta = state
    mask, low, failed = records.shape[0] - 1, np.int32(meta[LOW]), 0
    for i in range(keys.shape[0]):
        if flags[i] != 1:
            continue
        head, tag = part_bucket(keys[i], heads.shape[0])
        entry, moment, found = heads[head], np.int64(moments[i]), False
        while np.int32(entry - low) >= 0 and not found:
            slot = np.uint64(entry & mask)
            found = tags[slot] == tag and is_live(records, slot, entry, streams, marks[moment], False)
            entry = nexts[slot]
        if not found:
            flags[i] = lacking
            failed += 1
    return failed


@kernel(nb.int64(STATE, LONGS, INTS, nb.int64, nb.int64))
def find_any(state, streams, marks, first, last):
    """The newest entry from ``last`` down to ``first`` that is linked and live; below ``first`` there is none."""
    records = state[0]
    mask = records.shape[0] - 1
    while last >= first:
        if is_live(records, np.uint64(last & mask), last, streams, marks, False):
            break
        last -= 1
    return last
