"""Waking: what waits at an edge for something that this batch has brought."""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from stairs.feedback.judging_kernels import catch_up, find, is_ready, recipe_at, suspend
from stairs.feedback.recipe_kernels import record_at
from stairs.feedback.sieve_kernels import enter
from stairs.feedback.visit_layout import (
    ANYTHING,
    BANDED,
    FEW,
    FILTERED,
    PAIRED,
    Edge,
    Recipe,
    Unit,
    Work,
    unit_at,
)
from stairs.feedback.waiting_kernels import list_live, read_new, take
from stairs.hashing import bucket_of
from stairs.kernel import kernel, part
from stairs.layout import (
    BASE,
    FIRST_AGE,
    INTS,
    LAST_AGE,
    LONGS,
    LOW,
    RECORDS,
    ROWS,
    SHIFT,
    STATE,
    TAIL,
    WAITING,
    WIDTH,
)
from stairs.lowlevel.address import pointer
from stairs.lowlevel.prefetch import prefetch
from stairs.lowlevel.raw import long_at
from stairs.program_kernels import meta_at, state_at


@part
def forget_all(meta):
    """Nothing waits in a blacklist any more."""
    meta[WAITING] = 0
    meta[LOW] = meta[BASE] = meta[TAIL]
    meta[FIRST_AGE] = meta[LAST_AGE]


@kernel(nb.int64(STATE, LONGS, INTS, STATE, Recipe, nb.int64, LONGS, LONGS, RECORDS))
def wake_new(blacklist, streams, marks, ring, recipe, start, words, keys, out):
    """Take out what waits for entries of a ring from ``start`` on; how many. Their keys go through a sieve first, if
    there is one. ``keys`` is room for a block of them, which are looked up together."""
    records, heads, _, meta = blacklist
    mask, shift, low, taken = records.shape[0] - 1, meta[SHIFT], np.int32(meta[LOW]), 0
    last, block = ring[3][TAIL], keys.shape[0]
    for first in range(start, last, block):
        count = read_new(ring, first, min(first + block, last), recipe, keys)
        if words.shape[0] > 0:
            count = enter(words, keys, count)
        for i in range(count):
            prefetch(heads, bucket_of(keys[i], shift))
        for i in range(count):
            entry = heads[bucket_of(keys[i], shift)]
            if np.int32(entry - low) >= 0:
                prefetch(records, np.int64(entry & mask))
        for i in range(count):
            taken = take(blacklist, streams, marks, keys[i], out, taken)
    return taken


@kernel(nb.int64(STATE, LONGS, INTS, nb.int64, RECORDS, RECORDS, nb.int64))
def wake_revealed(blacklist, streams, marks, leaf, revealed, out, taken):
    """Take out what waits for rows of earlier batches that have come back to a leaf, behind ``taken``; how many now."""
    for i in range(revealed.shape[0]):
        key = long_at(record_at(leaf, revealed[i, 0]))
        taken = take(blacklist, streams, marks, key, out, taken)
    return taken


@kernel(nb.int64(RECORDS, nb.uint8[::1]))
def close_up(rows, flags):
    """Keep the rows with a flag; how many."""
    kept = 0
    for i in range(flags.shape[0]):
        if flags[i] != 0:
            for j in range(rows.shape[1]):
                rows[kept, j] = rows[i, j]
            kept += 1
    return kept


@kernel(nb.int64(Edge, Work, RECORDS, RECORDS), makes_arrays=True)
def ask_again(edge, work, marks, out):
    """Judge all that waits, where it is much less than what has come; how many need not wait."""
    blacklist = state_at(edge.blacklist)
    meta = blacklist[3]
    streams = carray(pointer(edge.waiting_streams), (meta[WIDTH] - ROWS,), np.int64)
    n = list_live(blacklist, streams, marks[0], meta[TAIL], out)
    forget_all(meta)
    edge.looked += n
    flags = carray(pointer(work.flags), (n,), np.uint8)
    flags[:] = 1
    moments = carray(pointer(work.zeros), (n,), np.int32)
    rows, keys = out[:n], carray(pointer(work.wishes), (n,), np.int64)
    room = carray(pointer(work.keys), (work.key_count,), np.int64)
    if find(edge, rows, marks, moments, flags, keys, room) == 0:
        return n
    suspend(edge, rows, keys, flags)
    return close_up(out, flags)


@part
def has_new(ring):
    """Whether the batch has put anything into a ring that can be found."""
    meta, events = ring[3], ring[2]
    if meta[WIDTH] > ROWS + 1:
        return meta[BASE] < meta[TAIL]
    for i in range(meta[TAIL] - meta[BASE]):
        if events[i] >= 0:
            return True
    return False


@kernel(nb.int64(Unit, Edge, Work, RECORDS), makes_arrays=True)
def wake(unit, edge, work, marks):
    """Take out what waits at an edge for something that has come; 0 if there is no room for it."""
    ring, meta = state_at(edge.ring), meta_at(edge.blacklist)
    waiting, came, revealed, by = meta[WAITING], ring[3][TAIL] - ring[3][BASE], 0, edge.by
    keys = carray(pointer(work.keys), (work.key_count,), np.int64)
    sieving = (by == PAIRED or by == FILTERED) and edge.awake != 0
    if sieving and not is_ready(edge):
        return 0
    opposite = unit_at(edge.opposite)
    if edge.opposite != 0:
        revealed = opposite.woken_count
    if waiting == 0 or came + revealed == 0:
        if sieving:
            catch_up(edge, keys)
        return 1
    if unit.woken_count + waiting > unit.woken_room or by == BANDED:
        return 0
    k = unit.components
    out = carray(pointer(unit.woken + 4 * k * unit.woken_count), (waiting, k), np.int32)
    blacklist, streams = state_at(edge.blacklist), carray(pointer(edge.waiting_streams), (k,), np.int64)
    if FEW * waiting < came + revealed and edge.awake != 0:  # else what is kept for judging is not there
        if waiting > work.space or not is_ready(edge):
            return 0
        found = ask_again(edge, work, marks, out)
    else:
        edge.looked += came + revealed
        if by == ANYTHING:
            found = 0
            if revealed > 0 or has_new(ring):
                found = list_live(blacklist, streams, marks[0], meta[TAIL], out)
                forget_all(meta)
        else:
            recipe, start, size = recipe_at(edge.own, edge.own_count), ring[3][BASE], 0
            if sieving:
                start, size = max(min(start, edge.seen), ring[3][LOW]), edge.size
                edge.seen = ring[3][TAIL]
            words = carray(pointer(edge.words), (size,), np.int64)
            found = wake_new(blacklist, streams, marks[0], ring, recipe, start, words, keys, out)
            if revealed > 0:
                rows = carray(pointer(opposite.woken), (revealed, 1), np.int32)
                found = wake_revealed(blacklist, streams, marks[0], edge.ring, rows, out, found)
            meta[WAITING] -= found
            if meta[WAITING] == 0:
                forget_all(meta)
    unit.woken_count += found
    edge.returned += found
    edge.resumed += found
    return 1
