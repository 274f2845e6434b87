"""Writing keys into records and linking records into the chains of their keys."""

from __future__ import annotations

import numba as nb
import numpy as np

from stairs.chains import AHEAD, NEAR, following
from stairs.hashing import bucket, seeded_pair
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
    ROWS,
    SHIFT,
    STATE,
    TAIL,
)
from stairs.lowlevel.prefetch import prefetch


@part
def mix(key, other):
    """Two keys in one, 64 bits: different pairs may collide, so a match on a mixed key is verified."""
    return np.int64(seeded_pair(key, other))


@kernel(nb.void(LONGS, LONGS))
def mix_into(keys, others):
    """``keys[i] = mix(keys[i], others[i])``."""
    for i in range(keys.shape[0]):
        keys[i] = mix(keys[i], others[i])


@kernel(nb.void(STATE, LONGS, INTS, FLAGS))
def append_rows(leaf, keys, events, kept):
    """Append rows to a leaf, whose ids are row numbers, and link those that are kept (``kept`` empty: all)."""
    records, heads, own_events, meta = leaf
    mask, shift, low, first = records.shape[0] - 1, meta[SHIFT], np.int32(meta[LOW]), meta[TAIL]
    offset, far = first - meta[BASE], heads.shape[0] > NEAR
    for i in range(keys.shape[0]):
        if far and i + AHEAD < keys.shape[0]:
            later = keys[i + AHEAD]
            prefetch(heads, bucket(np.int32(later), np.int32(later >> 32), shift))
        row = first + i
        slot = np.uint64(row & mask)
        key = keys[i]
        key_low, key_high = np.int32(key), np.int32(key >> 32)
        records[slot, KEY_LOW], records[slot, KEY_HIGH], records[slot, ROWS] = (
            key_low,
            key_high,
            np.int32(row),
        )
        if kept.shape[0] > 0 and kept[i] == 0:
            records[slot, NEXT] = np.int32(row)
            own_events[np.uint64(offset + i)] = -1  # before every event: it finds nothing either
            continue
        own_events[np.uint64(offset + i)] = events[i]
        head = np.uint64(bucket(key_low, key_high, shift))
        older = heads[head]
        records[slot, NEXT] = following(older, low)
        heads[head] = np.int32(row)
    meta[TAIL] = first + keys.shape[0]


@kernel(nb.void(STATE, nb.int64, nb.int64, FLAGS))
def link(state, start, stop, kept):
    """Link the entries start..stop into their chains; those not kept (``kept`` empty: all are) into none."""
    records, heads, _, meta = state
    mask, shift, low = records.shape[0] - 1, meta[SHIFT], np.int32(meta[LOW])
    far = heads.shape[0] > NEAR
    for entry in range(start, stop):
        if far:
            later = np.uint64((entry + AHEAD) & mask)  # past the end it may be any record, which does no harm
            prefetch(heads, bucket(records[later, KEY_LOW], records[later, KEY_HIGH], shift))
        slot = np.uint64(entry & mask)
        if kept.shape[0] > 0 and kept[entry - start] == 0:
            records[slot, NEXT] = np.int32(entry)
            continue
        head = np.uint64(bucket(records[slot, KEY_LOW], records[slot, KEY_HIGH], shift))
        older = heads[head]
        records[slot, NEXT] = following(older, low)
        heads[head] = np.int32(entry)


@kernel(nb.void(STATE, nb.int64, nb.int64, nb.int64, STATE, nb.int64))
def fetch_keys(state, start, stop, component, leaf, mixed):
    """Give the entries the key that their component has in ``leaf``, alone or mixed into the key they have."""
    records, lrecords = state[0], leaf[0]
    mask, lmask = records.shape[0] - 1, lrecords.shape[0] - 1
    for entry in range(start, stop):
        slot = np.uint64(entry & mask)
        row = np.uint64(records[slot, ROWS + component] & lmask)
        key_low, key_high = lrecords[row, KEY_LOW], lrecords[row, KEY_HIGH]
        if mixed != 0:
            mine = (np.int64(records[slot, KEY_HIGH]) << 32) | np.int64(np.uint32(records[slot, KEY_LOW]))
            both = mix(mine, (np.int64(key_high) << 32) | np.int64(np.uint32(key_low)))
            key_low, key_high = np.int32(both), np.int32(both >> 32)
        records[slot, KEY_LOW], records[slot, KEY_HIGH] = key_low, key_high


@kernel(nb.void(STATE, nb.int64, nb.int64, nb.int64))
def key_by_row(state, start, stop, component):
    """Give the entries the row number of their component as key; 0 for every entry if there is none (-1)."""
    records = state[0]
    mask = records.shape[0] - 1
    for entry in range(start, stop):
        slot = np.uint64(entry & mask)
        records[slot, KEY_LOW] = records[slot, ROWS + component] if component >= 0 else np.int32(0)
        records[slot, KEY_HIGH] = np.int32(0)


@kernel(nb.void(STATE, nb.int64, LONGS))
def read_keys(state, start, out):
    """The keys of the entries from ``start`` on."""
    records = state[0]
    mask = records.shape[0] - 1
    for i in range(out.shape[0]):
        slot = np.uint64((start + i) & mask)
        out[i] = (np.int64(records[slot, KEY_HIGH]) << 32) | np.int64(np.uint32(records[slot, KEY_LOW]))


@kernel(nb.void(STATE, nb.int64, nb.int64, STATE, LONGS))
def read_component_keys(state, start, component, leaf, out):
    """The keys that a component of the entries from ``start`` on has in ``leaf``."""
    records, lrecords = state[0], leaf[0]
    mask, lmask = records.shape[0] - 1, lrecords.shape[0] - 1
    for i in range(out.shape[0]):
        row = np.uint64(records[np.uint64((start + i) & mask), ROWS + component] & lmask)
        out[i] = (np.int64(lrecords[row, KEY_HIGH]) << 32) | np.int64(np.uint32(lrecords[row, KEY_LOW]))


@kernel(nb.void(STATE, nb.int64, nb.int64, STATE, nb.int64, STATE, FLAGS))
def verify(state, start, one, one_leaf, other, other_leaf, kept):
    """Clear ``kept`` where two components differ in an attribute: the exact test behind a mixed key."""
    records, ones, others = state[0], one_leaf[0], other_leaf[0]
    mask, one_mask, other_mask = records.shape[0] - 1, ones.shape[0] - 1, others.shape[0] - 1
    for i in range(kept.shape[0]):
        slot = np.uint64((start + i) & mask)
        a = np.uint64(records[slot, ROWS + one] & one_mask)
        b = np.uint64(records[slot, ROWS + other] & other_mask)
        if ones[a, KEY_LOW] != others[b, KEY_LOW] or ones[a, KEY_HIGH] != others[b, KEY_HIGH]:
            kept[i] = 0
