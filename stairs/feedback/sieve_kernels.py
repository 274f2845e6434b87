"""A sieve: which parts of keys the entries of a STAIR may have, and which of them somebody may wait for.

A Bloom filter three times over, in words of one array: a key has a word and two of the bits of each of its fields. All
entries of the STAIR go into the field of the newer ones. When all that are in the older one have left their windows it
gives way to the newer one, which is empty then: so nothing is ever taken out, and what is dead is forgotten after two
windows. The third field has the keys that are waited for: so an entry that has just come looks for those who wait for
it, and is entered for those who will look for it, in one place.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from stairs.feedback.visit_layout import Edge
from stairs.hashing import seeded
from stairs.kernel import kernel, part
from stairs.layout import FLAGS, LONGS, LOW, NEXT, ROWS, STATE, TAIL, WIDTH
from stairs.lowlevel.address import pointer
from stairs.lowlevel.flat import get_key
from stairs.lowlevel.prefetch import prefetch
from stairs.program_kernels import meta_at, state_at

FIELD = 21
"""Bits of a field: that of newer entries comes first, then that of older ones, then that of those who wait."""

PER_WORD = 4
"""Entries of a field for which a word serves: then one key in ten that is not there seems to be."""


@part
def bits_of(key, words):
    """Where a key belongs among as many ``words`` (a power of two), and its bits in the first field."""
    x, low = seeded(key), np.uint64(0xFFFF)
    one = ((x & low) * np.uint64(FIELD)) >> np.uint64(16)
    two = (((x >> np.uint64(16)) & low) * np.uint64(FIELD)) >> np.uint64(16)
    bits = (np.uint64(1) << one) | (np.uint64(1) << two)
    return np.int64((x >> np.uint64(32)) & np.uint64(words - 1)), np.int64(bits)


@part
def words_of(edge):
    return carray(pointer(edge.words), (edge.size,), np.int64)


@kernel(nb.int64(LONGS, LONGS, nb.int64))
def enter(words, keys, count):
    """Enter the first ``count`` keys; those of them that somebody may wait for come first now. Returns how many."""
    wanted = 0
    for i in range(count):
        prefetch(words, bits_of(keys[i], words.shape[0])[0])
    for i in range(count):
        key = keys[i]
        at, bits = bits_of(key, words.shape[0])
        word = words[at]
        words[at] = word | bits
        keys[wanted] = key
        wanted += np.int64((word >> (2 * FIELD)) & bits == bits)
    return wanted


@kernel(nb.int64(LONGS, LONGS, FLAGS, nb.uint8))
def sift(words, keys, flags, lacking):
    """Flag as lacking, of the keys with flag 1, those that surely nothing has; how many."""
    failed = 0
    for i in range(keys.shape[0]):
        prefetch(words, bits_of(keys[i], words.shape[0])[0])
    for i in range(keys.shape[0]):
        at, bits = bits_of(keys[i], words.shape[0])
        word = words[at]
        if flags[i] == 1 and word & bits != bits and (word >> FIELD) & bits != bits:
            flags[i] = lacking
            failed += 1
    return failed


@kernel(nb.void(LONGS, LONGS, FLAGS, nb.uint8))
def await_keys(words, keys, flags, lacking):
    """Somebody waits for the flagged ones of these keys."""
    for i in range(keys.shape[0]):
        if flags[i] == lacking:
            at, bits = bits_of(keys[i], words.shape[0])
            words[at] |= bits << (2 * FIELD)


@kernel(nb.void(LONGS, STATE))
def await_all(words, blacklist):
    """Somebody waits for the keys of a blacklist."""
    records, _, _, meta = blacklist
    mask, width = records.shape[0] - 1, records.shape[1]
    for entry in range(meta[LOW], meta[TAIL]):
        slot = np.int64(entry & mask)
        if records[slot, NEXT] != np.int32(entry):
            at, bits = bits_of(get_key(records, slot * width), words.shape[0])
            words[at] |= bits << (2 * FIELD)


@kernel(nb.void(LONGS))
def age(words):
    """Newer entries are older ones from now on."""
    for i in range(words.shape[0]):
        words[i] = (words[i] & ((1 << FIELD) - 1)) << FIELD


@kernel(nb.void(Edge, LONGS, LONGS), makes_arrays=True)
def turn(edge, lows, counts):
    """Let the newer entries of a sieve take the place of the older ones if these are dead."""
    meta = meta_at(edge.ring)
    k = meta[WIDTH] - ROWS
    streams = carray(pointer(edge.ring_streams), (k,), np.int64)
    closed = carray(pointer(edge.closed), (k,), np.int64)
    dead = False
    for j in range(k):
        dead |= lows[streams[j]] >= closed[j]
    if dead:
        age(words_of(edge))
        await_all(words_of(edge), state_at(edge.blacklist))
        for j in range(k):
            closed[j] = counts[streams[j]]
        edge.limit = max(meta[TAIL], edge.seen) + PER_WORD * edge.size
