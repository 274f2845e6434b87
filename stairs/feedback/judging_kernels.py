"""Judging by an edge: is there a live entry that matches, in the way in which this edge looks for it?"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from stairs.feedback.pair_kernels import BLOCK, MOST, find_pairs
from stairs.feedback.presence_kernels import enter_parts, find_any, find_keys, find_parts
from stairs.feedback.recipe_kernels import read_by
from stairs.feedback.sieve_kernels import await_all, await_keys, enter, sift, words_of
from stairs.feedback.visit_layout import (
    ANYTHING,
    BANDED,
    FILTERED,
    LACKING,
    PAIRED,
    PARTED,
    RECIPE,
    WHOLE,
    Edge,
    edge_at,
)
from stairs.feedback.waiting_kernels import put_by, read_new
from stairs.kernel import kernel, part
from stairs.layout import BASE, CAPACITY, FLAGS, INTS, LONGS, LOW, RECORDS, ROWS, TAIL, WAITING, WIDTH
from stairs.lowlevel.address import pointer
from stairs.program_kernels import meta_at, state_at


@part
def recipe_at(address, count):
    """A recipe of ``count`` lines."""
    return carray(pointer(address), (count,), RECIPE)


@part
def leaves_at(address, count):
    """A table of ``count`` leaves of a pair."""
    return carray(pointer(address), (count, 2), np.int64)


@part
def directory(edge):
    """Heads, nexts and tags."""
    size = (edge.size,)
    return (
        carray(pointer(edge.heads), size, np.int32),
        carray(pointer(edge.nexts), size, np.int32),
        carray(pointer(edge.tags), size, np.int32),
    )


@kernel(nb.boolean(Edge), makes_arrays=True)
def is_ready(edge):
    """Whether what is kept beside the ring can take all its entries, and kernels can look there."""
    if edge.by == BANDED:
        return False
    meta = meta_at(edge.ring)
    if edge.by == PARTED:
        return edge.size == meta[CAPACITY] and meta[TAIL] <= edge.limit
    return edge.closed == 0 or (edge.size > 0 and meta[TAIL] <= edge.limit)


@kernel(nb.void(Edge, LONGS), makes_arrays=True)
def catch_up(edge, room):
    """Enter what the ring has got since the last time into what is kept beside it; ``room`` is for keys."""
    state = state_at(edge.ring)
    meta = state[3]
    start, stop, recipe = max(edge.seen, meta[LOW]), meta[TAIL], recipe_at(edge.own, edge.own_count)
    if start < stop and edge.by == PARTED:
        enter_parts(state, start, stop, recipe, directory(edge))
    elif start < stop and edge.size > 0:
        for first in range(start, stop, room.shape[0]):
            count = read_new(state, first, min(first + room.shape[0], stop), recipe, room)
            enter(words_of(edge), room, count)
    edge.seen = stop


@kernel(nb.int64(Edge, RECORDS, RECORDS, INTS, FLAGS), makes_arrays=True)
def find_pair(edge, rows, marks, moments, flags):
    """Look for a pair of rows in their leaves."""
    wide = (BLOCK, MOST + 1)
    pair = (
        recipe_at(edge.wanted, edge.wanted_count),
        leaves_at(edge.one, edge.one_count),
        leaves_at(edge.other, edge.other_count),
        leaves_at(edge.links, edge.link_count),
        carray(pointer(edge.pair), (2,), np.int64),
    )
    room = (
        carray(pointer(edge.pair_wanted), (BLOCK, edge.wanted_count), np.int64),
        carray(pointer(edge.pair_ones), wide, np.int64),
        carray(pointer(edge.pair_others), wide, np.int64),
        carray(pointer(edge.pair_walk), (3, BLOCK), np.int32),
    )
    return find_pairs(pair, rows, marks, moments, room, flags, np.uint8(LACKING))


@kernel(nb.boolean(Edge, INTS), makes_arrays=True)
def is_any(edge, marks):
    """Whether anything is live at the marks."""
    state = state_at(edge.ring)
    meta, leaf = state[3], state[3][WIDTH] == ROWS + 1
    streams = carray(pointer(edge.ring_streams), (meta[WIDTH] - ROWS,), np.int64)
    seen, low = edge.witness, meta[LOW]
    if seen < low or find_any(state, streams, marks, seen, seen) < seen:
        # A composite that was not live is never so again, but a row may be linked late.
        first = low if leaf else max(low, edge.seen)
        found = find_any(state, streams, marks, first, meta[TAIL] - 1)
        edge.witness = found if found >= first else -1
        edge.seen = -1 if found >= first else meta[BASE]
    return edge.witness >= low


@kernel(nb.int64(FLAGS))
def lack_all(flags):
    """Flag as lacking all with flag 1; how many."""
    failed = 0
    for i in range(flags.shape[0]):
        if flags[i] == 1:
            flags[i] = LACKING
            failed += 1
    return failed


@kernel(nb.int64(Edge, RECORDS, RECORDS, INTS, FLAGS, LONGS, LONGS), makes_arrays=True)
def find(edge, rows, marks, moments, flags, keys, room):
    """Flag as lacking, of the entries with flag 1, those for which nothing is live at the marks of their moment; how
    many. ``keys`` gets what they want, ``room`` is for other keys. What is kept beside the ring is ready."""
    if rows.shape[0] == 0 or edge.by == BANDED:
        return 0
    by, state, lacking = edge.by, state_at(edge.ring), np.uint8(LACKING)
    read_by(recipe_at(edge.wanted, edge.wanted_count), rows, keys)
    if state[3][LOW] == state[3][TAIL]:
        return lack_all(flags)
    if by == ANYTHING:
        first = np.int64(moments[0])
        for i in range(
            moments.shape[0]
        ):  # marks never go down: what is live at the first moment is all that can be
            first = min(first, np.int64(moments[i]))
        return 0 if is_any(edge, marks[first]) else lack_all(flags)
    if by != WHOLE:
        catch_up(edge, room)
    if by == FILTERED:
        return sift(words_of(edge), keys, flags, lacking)
    if by == PAIRED:
        failed = sift(words_of(edge), keys, flags, lacking) if edge.size > 0 else 0
        return failed + find_pair(edge, rows, marks, moments, flags)
    streams = carray(pointer(edge.ring_streams), (state[0].shape[1] - ROWS,), np.int64)
    if by == PARTED:
        return find_parts(state, streams, directory(edge), keys, marks, moments, flags, lacking)
    return find_keys(state, streams, keys, marks, moments, flags, lacking)


@kernel(nb.void(Edge, RECORDS, LONGS, FLAGS), makes_arrays=True)
def suspend(edge, rows, keys, flags):
    """Let the entries wait that are flagged as lacking something, and clear their flags; there is room for them."""
    lacking = np.uint8(LACKING)
    if edge.size > 0 and edge.closed != 0:
        await_keys(words_of(edge), keys, flags, lacking)
    meta = meta_at(edge.blacklist)
    meta[WAITING] += put_by(state_at(edge.blacklist), keys, rows, flags, lacking)


# -- for Python, which has the address of an edge ----------------------------------------------------------------------


@kernel(nb.boolean(nb.int64), makes_arrays=True)
def is_ready_at(address):
    """`is_ready`, of the edge at ``address``."""
    return is_ready(edge_at(address))


@kernel(nb.void(nb.int64, RECORDS, LONGS, FLAGS), makes_arrays=True)
def suspend_at(address, rows, keys, flags):
    """`suspend`, at the edge at ``address``."""
    suspend(edge_at(address), rows, keys, flags)


@kernel(nb.void(nb.int64), makes_arrays=True)
def expect_at(address):
    """The sieve of the edge at ``address`` is new: it learns what is waited for."""
    edge = edge_at(address)
    if edge.size > 0 and edge.closed != 0:
        await_all(words_of(edge), state_at(edge.blacklist))
