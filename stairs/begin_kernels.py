"""Beginning a batch: in every ring dead entries go, and what is appended from now on belongs to the batch.

A STAIR remembers *ages*: now and then, the next id together with the rows so far of each of its streams. All entries
before that id have rows below these counts in every stream, so when one stream's window has passed its count they are
all dead, and go without being looked at.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from stairs.kernel import kernel
from stairs.layout import (
    AGES_AT,
    BASE,
    FIRST_AGE,
    FROM,
    INTS,
    LAST_AGE,
    LIMIT,
    LONGS,
    LOW,
    MOST,
    ROWS,
    TAIL,
    TO,
    USUAL,
    WIDTH,
)
from stairs.lowlevel.address import pointer
from stairs.program_kernels import meta_at, state_at
from stairs.ring_kernels import reclaim, sweep

LEAF, STAIR, SCRATCH = range(3)
"""Kinds of rings. The ids of a leaf are rows; what a scratch ring holds is forgotten."""

KIND, ADDRESS, STREAMS = range(3)
"""Columns of a table of rings: the kind, the address of its meta, its stream (a leaf) or where its streams are."""
TABLE = 3

AGES, STEP, FINEST = 64, 5, 16
"""How many ages a STAIR has room for; it takes one when its entries are more by 1 / 2**STEP since the last, and by
FINEST. What counts is what it holds, not the slots it has: where few entries are live, few that are dead stay in the
way of those who follow a chain, however large a burst has made it."""

MANY, WIDE, SPARED = 64, 5, 16
"""Where batches put MANY entries or more into a STAIR, dead ones at its front go while at the most SPARED of 64 are
live: a look at 64 costs little beside the batch then. An entry of k streams is live for about a k-th part of a window,
so that ages alone would leave k - 1 dead ones for each: from WIDE streams on it is worth the look."""

SPARE = 64
"""A STAIR should have room for twice what a batch usually puts there, and this many more."""


@kernel(nb.void(LONGS, LONGS, LONGS), makes_arrays=True)
def take_age(meta, streams, counts):
    """Take an age, if it is time: the first one before there is anything."""
    k, low, tail = meta[WIDTH] - ROWS, meta[LOW], meta[TAIL]
    ages = carray(pointer(meta[AGES_AT]), (AGES, 1 + k), np.int64)
    first, last = meta[FIRST_AGE], meta[LAST_AGE]
    newest = max(low, ages[(last - 1) % AGES, 0]) if first < last else low
    due = last == 0 or tail - newest > max((tail - low) >> STEP, FINEST)
    if due and last - first < AGES:
        ages[last % AGES, 0] = tail
        for j in range(k):
            ages[last % AGES, 1 + j] = counts[streams[j]]
        meta[LAST_AGE] = last + 1


@kernel(nb.void(LONGS, LONGS, LONGS), makes_arrays=True)
def drop_ages(meta, streams, lows):
    """Forget the ages that are past, with the entries before them."""
    k, first, last = meta[WIDTH] - ROWS, meta[FIRST_AGE], meta[LAST_AGE]
    ages = carray(pointer(meta[AGES_AT]), (AGES, 1 + k), np.int64)
    dead = True
    while dead and first < last:
        dead = False
        for j in range(k):
            dead |= lows[streams[j]] >= ages[first % AGES, 1 + j]
        if dead:
            meta[LOW] = max(meta[LOW], ages[first % AGES, 0])
            first += 1
    meta[FIRST_AGE] = first


@kernel(nb.boolean(LONGS, LONGS, LONGS, LONGS), makes_arrays=True)
def mostly_dead(meta, streams, lows, counts):
    """Whether most of what a STAIR holds was made since its last age, and has died since: of the rows of some stream
    that have come since then, three in four are dead.

    Ages cannot tell which of these entries live. A probe would pass all of them, where to look at each once takes no
    more than to make it did.
    """
    last, low, tail, k = meta[LAST_AGE], meta[LOW], meta[TAIL], meta[WIDTH] - ROWS
    if last == 0:
        return False
    ages = carray(pointer(meta[AGES_AT]), (AGES, 1 + k), np.int64)
    newest = (last - 1) % AGES  # it may be past
    made = tail - max(low, ages[newest, 0])
    if made <= FINEST or 2 * made < tail - low:
        return False
    for j in range(k):
        came = counts[streams[j]] - ages[newest, 1 + j]
        live = counts[streams[j]] - max(lows[streams[j]], ages[newest, 1 + j])
        if 4 * live < came:
            return True
    return False


@kernel(nb.boolean(nb.int64, nb.int64, LONGS, LONGS, INTS), makes_arrays=True)
def begin_stair(address, streams_at, lows, counts, floor):
    """Begin a batch in one STAIR. False if it has too little room, or had to move much to have it."""
    meta = meta_at(address)
    streams = carray(pointer(streams_at), (meta[WIDTH] - ROWS,), np.int64)
    meta[USUAL] += (meta[TAIL] - meta[BASE] - meta[USUAL]) // 8
    meta[BASE] = meta[TAIL]
    drop_ages(meta, streams, lows)
    if mostly_dead(meta, streams, lows, counts):
        reclaim(state_at(address), streams, floor, 0)
    elif meta[USUAL] >= MANY and meta[WIDTH] - ROWS >= WIDE:
        sweep(state_at(address), streams, floor, SPARED)
    take_age(meta, streams, counts)
    low, tail = meta[LOW], meta[TAIL]
    wanted = 2 * meta[USUAL] + SPARE
    if meta[LIMIT] - (tail - low) >= wanted:
        return True
    moved = reclaim(state_at(address), streams, floor, meta[LIMIT] - wanted)
    freed = meta[LOW] - low - moved
    return moved <= freed and meta[LIMIT] - (meta[TAIL] - meta[LOW]) >= wanted


@kernel(nb.int64(nb.int64[:, ::1], nb.int64, LONGS, LONGS, INTS), makes_arrays=True)
def begin_rings(rings, at, lows, counts, floor):
    """Begin a batch in the rings of a table, from line ``at`` on; returns the line of a STAIR that needs more room.

    By stream number: rows below ``lows`` are dead, ``counts`` is the next row, and ``floor`` are the lows in 32 bits.
    """
    while at < rings.shape[0]:
        kind, address = rings[at, KIND], rings[at, ADDRESS]
        meta = meta_at(address)
        if kind == LEAF:
            meta[LOW] = lows[rings[at, STREAMS]]
            meta[BASE] = meta[FROM] = meta[TO] = counts[rings[at, STREAMS]]
        elif kind == SCRATCH:
            meta[MOST] = max(meta[MOST], meta[TAIL] - meta[LOW])
            meta[LOW] = meta[BASE] = meta[TAIL] = 0  # the same slots again, which are in the cache
        elif not begin_stair(address, rings[at, STREAMS], lows, counts, floor):
            return at
        at += 1
    return at
