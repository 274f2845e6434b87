"""Room in a ring: dropping dead entries, moving live ones out of the way, and copying between rings."""

from __future__ import annotations

import numba as nb
import numpy as np

from stairs.hashing import bucket, bucket_of
from stairs.kernel import kernel, part
from stairs.layout import (
    BASE,
    FLAGS,
    INTS,
    KEY_HIGH,
    KEY_LOW,
    LANE_BITS,
    LONGS,
    LOW,
    NEXT,
    RECORDS,
    ROWS,
    SHIFT,
    STATE,
    TAIL,
)
from stairs.lowlevel.bits import BITS, count_bits, first_bit
from stairs.lowlevel.flat import get, get_key, put
from stairs.lowlevel.lanes import any_below, consecutive, copy_all
from stairs.lowlevel.prefetch import prefetch

SOON = 16
"""How far ahead entries are asked for that are looked at in order."""


@part
def is_live(records, slot, entry, streams, marks, wide):
    """An entry in some chain, all of whose components are live; ``wide``: their streams are consecutive, and many.

    There is no way out as soon as a component is dead: which one that is could not be predicted.
    """
    start, linked = np.int64(slot) * records.shape[1] + ROWS, records[slot, NEXT] != np.int32(entry)
    if wide:
        return linked & (any_below(records, start, marks, streams[0], streams.shape[0]) == 0)
    behind = np.int32(0)
    for j in range(streams.shape[0]):
        behind |= np.int32(get(records, start + j) - marks[streams[j]])
    return linked & (behind >= 0)


@kernel(nb.int64(STATE, LONGS, INTS, nb.int64))
def count_live(state, streams, marks, step):
    """How many entries are live; with ``step`` above 1 estimated from every so-many-th entry."""
    records, _, _, meta = state
    mask, live = records.shape[0] - 1, 0
    wide = streams.shape[0] >= 4 and consecutive(streams, 0, streams.shape[0])
    for entry in range(meta[LOW], meta[TAIL], step):
        if is_live(records, np.uint64(entry & mask), entry, streams, marks, wide):
            live += 1
    return live * step


@part
def find_live(records, low, count, streams, marks, wide):
    """Which of the ``count`` <= BITS entries from ``low`` on are live: a bit for each. No branch has to be guessed."""
    mask, found = records.shape[0] - 1, np.uint64(0)
    for i in range(count):
        entry = low + i
        prefetch(records, (entry + SOON) & mask)
        live = is_live(records, np.uint64(entry & mask), entry, streams, marks, wide)
        found |= np.uint64(live) << np.uint64(i)
    return found


@part
def append_again(records, heads, shift, low, found, tail):
    """Append the entries from ``low`` on whose bits are set once more, from ``tail`` on; the tail after them.

    A copy hangs in front of its chain, which leads no further back than to the entry itself.
    """
    mask, width = records.shape[0] - 1, records.shape[1]
    while found != 0:
        entry = low + first_bit(found)
        found &= found - np.uint64(1)
        slot, copy = (entry & mask) * width, (tail & mask) * width
        head = bucket_of(get_key(records, slot), shift)
        copy_all(records, copy, records, slot, width)
        ahead = np.int32(get(heads, head) - np.int32(entry))
        put(records, copy + NEXT, np.int32(entry) + (ahead & ~(ahead >> np.int32(31))))
        put(heads, head, np.int32(tail))
        tail += 1
    return tail


@kernel(nb.int64(STATE, LONGS, INTS, nb.int64))
def reclaim(state, streams, marks, most):
    """Append live entries from the front again at the tail until ``most`` slots are used, or each was visited once.

    Returns how many were moved.

    This is a log cleaner: what is left between low-water id and tail is denser, no chain is cut (the original is below
    the low-water id), and no pause grows with the ring.
    """
    records, heads, _, meta = state
    low, tail, last = meta[LOW], meta[TAIL], meta[TAIL]
    wide = streams.shape[0] >= 4 and consecutive(streams, 0, streams.shape[0])
    while low < last and tail - low > most:
        count = min(BITS, last - low, tail - low - most)
        found = find_live(records, low, count, streams, marks, wide)
        tail = append_again(records, heads, meta[SHIFT], low, found, tail)
        low += count
    meta[LOW], meta[TAIL], meta[BASE] = low, tail, tail
    return tail - last


@kernel(nb.void(STATE, LONGS, INTS, nb.int64))
def sweep(state, streams, marks, spared):
    """The same for entries at the front of which few are live: at the most ``spared`` of each block of BITS.

    What a probe would pass again and again goes, and so does what would be brought into the cache for it.
    """
    records, heads, _, meta = state
    low, tail, last = meta[LOW], meta[TAIL], meta[TAIL]
    wide = streams.shape[0] >= 4 and consecutive(streams, 0, streams.shape[0])
    while low + BITS <= last:
        found = find_live(records, low, BITS, streams, marks, wide)
        if count_bits(found) > spared:
            break
        tail = append_again(records, heads, meta[SHIFT], low, found, tail)
        low += BITS
    meta[LOW], meta[TAIL], meta[BASE] = low, tail, tail


@kernel(nb.void(STATE, RECORDS, INTS))
def move(old, records, heads):
    """Copy all entries to other records, under the same ids, and link them under other heads."""
    orecords, _, _, meta = old
    omask, mask, low = orecords.shape[0] - 1, records.shape[0] - 1, meta[LOW]
    shift = np.int64(64)
    while np.int64(1) << (64 - shift) < heads.shape[0]:
        shift -= 1
    for i in range(heads.shape[0]):
        heads[i] = np.int32(low - 1)
    for entry in range(low, meta[TAIL]):
        slot, copy = np.uint64(entry & omask), np.uint64(entry & mask)
        for j in range(orecords.shape[1]):
            records[copy, j] = orecords[slot, j]
        if orecords[slot, NEXT] != np.int32(entry) and heads.shape[0] > 1:
            head = np.uint64(bucket(orecords[slot, KEY_LOW], orecords[slot, KEY_HIGH], shift))
            records[copy, NEXT] = heads[head]
            heads[head] = np.int32(entry)


@kernel(nb.void(STATE))
def refresh_heads(state):
    """Point heads that are below the low-water id just below it, before 32-bit ids can come round to them."""
    _, heads, _, meta = state
    low = np.int32(meta[LOW])
    for i in range(0, heads.shape[0], np.int64(1) << (meta[SHIFT] >> LANE_BITS)):
        if np.int32(heads[i] - low) < 0:
            heads[i] = np.int32(low - 1)


@kernel(nb.void(STATE))
def relink(state):
    """Make all chains anew of the entries that have some link."""
    records, heads, _, meta = state
    mask, shift, low = records.shape[0] - 1, meta[SHIFT], np.int32(meta[LOW])
    for i in range(0, heads.shape[0], np.int64(1) << (shift >> LANE_BITS)):
        heads[i] = np.int32(low - 1)
    for entry in range(meta[LOW], meta[TAIL]):
        slot = np.uint64(entry & mask)
        if records[slot, NEXT] != np.int32(entry):
            head = np.uint64(bucket(records[slot, KEY_LOW], records[slot, KEY_HIGH], shift))
            records[slot, NEXT] = heads[head]
            heads[head] = np.int32(entry)


@kernel(nb.void(STATE, nb.int64, FLAGS))
def keep(state, start, kept):
    """Close the gaps: of the entries from ``start`` to the tail only the kept ones stay, in order."""
    records, _, events, meta = state
    mask, offset, tail = records.shape[0] - 1, start - meta[BASE], start
    for i in range(kept.shape[0]):
        if kept[i] != 0:
            slot, copy = np.uint64((start + i) & mask), np.uint64(tail & mask)
            for j in range(records.shape[1]):
                records[copy, j] = records[slot, j]
            records[copy, NEXT] = np.int32(tail)
            events[tail - meta[BASE]] = events[offset + i]
            tail += 1
    meta[TAIL] = tail


@kernel(nb.void(STATE, nb.int64, LONGS, LONGS, STATE))
def expand(source, start, which, keys, out):
    """Append copies of the source entries ``start + which[i]`` under the keys ``keys[i]``."""
    records, _, events, meta = source
    orecords, _, oevents, ometa = out
    mask, omask, offset = records.shape[0] - 1, orecords.shape[0] - 1, start - meta[BASE]
    tail = ometa[TAIL]
    for i in range(which.shape[0]):
        slot, copy = np.uint64((start + which[i]) & mask), np.uint64(tail & omask)
        for j in range(ROWS, records.shape[1]):
            orecords[copy, j] = records[slot, j]
        orecords[copy, KEY_LOW], orecords[copy, KEY_HIGH] = np.int32(keys[i]), np.int32(keys[i] >> 32)
        oevents[tail - ometa[BASE]] = events[offset + which[i]]
        tail += 1
    ometa[TAIL] = tail


@kernel(nb.void(STATE, LONGS))
def append_keys(state, keys):
    """Append entries that are nothing but a key: what to look up, older than every event of the batch."""
    records, _, events, meta = state
    mask, tail = records.shape[0] - 1, meta[TAIL]
    for i in range(keys.shape[0]):
        slot = np.uint64(tail & mask)
        records[slot, KEY_LOW], records[slot, KEY_HIGH] = np.int32(keys[i]), np.int32(keys[i] >> 32)
        events[tail - meta[BASE]] = -1
        tail += 1
    meta[TAIL] = tail


@kernel(nb.void(INTS, nb.int64, LONGS), makes_arrays=True)
def order_of(events, count, order):
    """The order of entries by their events 0..count-1, stable: a counting sort."""
    after = np.zeros(count + 1, np.int64)
    for i in range(order.shape[0]):
        after[events[i] + 1] += 1
    for event in range(count):
        after[event + 1] += after[event]
    for i in range(order.shape[0]):
        order[after[events[i]]] = i
        after[events[i]] += 1


@kernel(nb.void(STATE, nb.int64, LONGS, LONGS, LONGS, nb.int64[:, ::1]))
def read_rows(state, start, order, streams, newest, out):
    """Row numbers in full, 64 bits, of the entries ``start + order[i]``; ``newest`` is each stream's next row."""
    records = state[0]
    mask = records.shape[0] - 1
    for i in range(order.shape[0]):
        slot = np.uint64((start + order[i]) & mask)
        for j in range(streams.shape[0]):
            stream = streams[j]
            behind = np.uint32(np.int32(newest[stream]) - records[slot, ROWS + j])
            out[i, stream] = newest[stream] - np.int64(behind)


@kernel(nb.void(STATE, nb.int64, RECORDS, RECORDS, FLAGS))
def owed(state, first, cuts, named, kept):
    """Set ``kept`` for entries from ``first`` on whose rows are below the cuts of all named streams of some line."""
    records = state[0]
    mask = records.shape[0] - 1
    for i in range(kept.shape[0]):
        slot = np.uint64((first + i) & mask)
        for e in range(cuts.shape[0]):
            older = True
            for j in range(cuts.shape[1]):
                older &= (named[e, j] == 0) | (np.int32(records[slot, ROWS + j] - cuts[e, j]) < 0)
            if older:
                kept[i] = 1
