"""Whether a STAIR has a live entry with some key, or with some part of its key.

``flags[i]`` is 1 for each thing to look for; it becomes 0 where no entry is live at ``marks[moments[i]]``. Marks never
go down, so an entry that comes later in the batch, and is live then, counts too.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from stairs.kernel import kernel, part
from stairs.layout import FLAGS, INTS, KEY_HIGH, KEY_LOW, LONGS, LOW, NEXT, RECORDS, ROWS, SHIFT, STATE
from stairs.probe_kernels import bucket

DIRECTORY = nb.types.Tuple((INTS, INTS, INTS))
"""Of a part of the key: bucket heads, and for each slot of the ring the next older entry of the bucket and a tag, which
is 32 bits of the part. Two parts with one tag look alike, so that one may seem to be there that is not."""


@part
def is_live(records, slot, entry, streams, marks, moment):
    """An entry in some chain, all of whose components are live at that moment."""
    live = records[slot, NEXT] != np.int32(entry)
    for j in range(streams.shape[0]):
        live &= np.int32(records[slot, ROWS + j] - marks[moment, streams[j]]) >= 0
    return live


@kernel(nb.void(STATE, LONGS, LONGS, RECORDS, INTS, FLAGS))
def find_keys(state, streams, keys, marks, moments, flags):
    """Look for whole keys, in the chains of the ring itself."""
    records, heads, _, meta = state
    mask, low, shift, leaf = records.shape[0] - 1, np.int32(meta[LOW]), meta[SHIFT], streams.shape[0] == 1
    for i in range(keys.shape[0]):
        if flags[i] == 0:
            continue
        key_low, key_high = np.int32(keys[i]), np.int32(keys[i] >> 32)
        moment = np.int64(moments[i])
        entry = heads[np.uint64(bucket(key_low, key_high, shift))]
        flags[i] = 0
        while np.int32(entry - low) >= 0:
            slot = np.uint64(entry & mask)
            if records[slot, KEY_LOW] == key_low and records[slot, KEY_HIGH] == key_high:
                if is_live(records, slot, entry, streams, marks, moment):
                    flags[i] = 1
                    break
            if leaf and np.int32(records[slot, ROWS] - marks[moment, streams[0]]) < 0:
                break  # older rows are dead too
            entry = records[slot, NEXT]


@part
def part_bucket(key, size):
    """Where a part belongs among ``size`` (a power of two) heads, and its tag."""
    x = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    x = x ^ (x >> np.uint64(29))
    return x & np.uint64(size - 1), np.int32(x >> np.uint64(32))


@kernel(nb.void(STATE, nb.int64, LONGS, DIRECTORY))
def enter_parts(state, start, keys, directory):
    """Enter the entries from ``start`` on, whose parts are ``keys``, into a directory."""
    heads, nexts, tags = directory
    meta = state[3]
    mask, low = state[0].shape[0] - 1, np.int32(meta[LOW])
    for i in range(keys.shape[0]):
        entry = np.int32(start + i)
        slot = np.uint64(entry & mask)
        head, tag = part_bucket(keys[i], heads.shape[0])
        older = heads[head]
        nexts[slot] = older if np.int32(older - low) >= 0 else np.int32(low - 1)
        tags[slot] = tag
        heads[head] = entry


@kernel(nb.void(STATE, LONGS, DIRECTORY, LONGS, RECORDS, INTS, FLAGS))
def find_parts(state, streams, directory, keys, marks, moments, flags):
    """Look for parts, in a directory that knows all entries."""
    heads, nexts, tags = directory
    records, _, _, meta = state
    mask, low = records.shape[0] - 1, np.int32(meta[LOW])
    for i in range(keys.shape[0]):
        if flags[i] == 0:
            continue
        head, tag = part_bucket(keys[i], heads.shape[0])
        entry = heads[head]
        flags[i] = 0
        while np.int32(entry - low) >= 0:
            slot = np.uint64(entry & mask)
            if tags[slot] == tag and is_live(records, slot, entry, streams, marks, moments[i]):
                flags[i] = 1
                break
            entry = nexts[slot]


@kernel(nb.int64(STATE, LONGS, RECORDS, nb.int64, nb.int64, nb.int64))
def find_any(state, streams, marks, moment, first, last):
    """The newest entry from ``last`` down to ``first`` that is linked and live; below ``first`` there is none."""
    records = state[0]
    mask = records.shape[0] - 1
    while last >= first:
        if is_live(records, np.uint64(last & mask), last, streams, marks, moment):
            break
        last -= 1
    return last


@part
def two_bits(key, size):
    """The two bits of a part in a filter of ``size`` bytes (a power of two)."""
    x = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    x = x ^ (x >> np.uint64(29))
    mask = np.uint64(8 * size - 1)
    return x & mask, (x >> np.uint64(32)) & mask


@kernel(nb.int64(STATE, LONGS, nb.int64, LONGS, RECORDS, nb.int64, FLAGS))
def enter_bits(state, streams, start, keys, marks, moment, bits):
    """Enter the parts of the live entries from ``start`` on, which are ``keys``, into a Bloom filter; how many."""
    records, entered = state[0], 0
    mask, seven = records.shape[0] - 1, np.uint64(7)
    for i in range(keys.shape[0]):
        entry = start + i
        if is_live(records, np.uint64(entry & mask), entry, streams, marks, moment):
            one, two = two_bits(keys[i], bits.shape[0])
            bits[one >> np.uint64(3)] |= np.uint8(1) << np.uint8(one & seven)
            bits[two >> np.uint64(3)] |= np.uint8(1) << np.uint8(two & seven)
            entered += 1
    return entered


@kernel(nb.void(FLAGS, LONGS, FLAGS))
def find_bits(bits, keys, flags):
    """Clear the flags of parts that are surely not in a Bloom filter."""
    seven = np.uint64(7)
    for i in range(keys.shape[0]):
        one, two = two_bits(keys[i], bits.shape[0])
        first = (bits[one >> np.uint64(3)] >> np.uint8(one & seven)) & np.uint8(1)
        second = (bits[two >> np.uint64(3)] >> np.uint8(two & seven)) & np.uint8(1)
        flags[i] &= first & second
