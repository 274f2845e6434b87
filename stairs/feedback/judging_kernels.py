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
    BLACKLIST,
    BY,
    CLOSED_AT,
    FILTERED,
    FIRST_AT,
    LACKING,
    LIMIT,
    LINKS,
    LINKS_AT,
    ONE,
    ONE_AT,
    OTHER,
    OTHER_AT,
    OWN,
    OWN_AT,
    PAIR_AT,
    PAIRED,
    PARTED,
    PLACES_AT,
    SECOND_AT,
    SEEN,
    SIZE,
    STREAMS_AT,
    THIRD_AT,
    WANTED,
    WANTED_AT,
    WANTED_IN,
    WHOLE,
    WITNESS,
)
from stairs.feedback.waiting_kernels import put_by, read_new
from stairs.kernel import kernel, part
from stairs.layout import BASE, CAPACITY, FLAGS, INTS, LONGS, LOW, RECORDS, ROWS, TAIL, WAITING, WIDTH
from stairs.lowlevel.address import pointer
from stairs.program_kernels import meta_at, state_at

PLACES = 4
"""Arrays to work in, of a pair."""


@part
def lines(edge, at, count):
    """A recipe, or a table of leaves."""
    return carray(pointer(edge[at]), (edge[count], 2), np.int64)


@part
def directory(edge):
    """Heads, nexts and tags."""
    size = (edge[SIZE],)
    return (
        carray(pointer(edge[FIRST_AT]), size, np.int32),
        carray(pointer(edge[SECOND_AT]), size, np.int32),
        carray(pointer(edge[THIRD_AT]), size, np.int32),
    )


@kernel(nb.boolean(LONGS), makes_arrays=True)
def is_ready(edge):
    """Whether what is kept beside the ring can take all its entries."""
    meta = meta_at(edge[WANTED_IN])
    if edge[BY] == PARTED:
        return edge[SIZE] == meta[CAPACITY] and meta[TAIL] <= edge[LIMIT]
    return edge[CLOSED_AT] == 0 or (edge[SIZE] > 0 and meta[TAIL] <= edge[LIMIT])


@kernel(nb.void(LONGS, LONGS), makes_arrays=True)
def catch_up(edge, room):
    """Enter what the ring has got since the last time into what is kept beside it; ``room`` is for keys."""
    state = state_at(edge[WANTED_IN])
    meta = state[3]
    start, stop, recipe = max(edge[SEEN], meta[LOW]), meta[TAIL], lines(edge, OWN_AT, OWN)
    if start < stop and edge[BY] == PARTED:
        enter_parts(state, start, stop, recipe, directory(edge))
    elif start < stop and edge[SIZE] > 0:
        for first in range(start, stop, room.shape[0]):
            count = read_new(state, first, min(first + room.shape[0], stop), recipe, room)
            enter(words_of(edge), room, count)
    edge[SEEN] = stop


@kernel(nb.int64(LONGS, RECORDS, RECORDS, INTS, FLAGS), makes_arrays=True)
def find_pair(edge, rows, marks, moments, flags):
    """Look for a pair of rows in their leaves."""
    places = carray(pointer(edge[PLACES_AT]), (PLACES,), np.int64)
    wide = (BLOCK, MOST + 1)
    pair = (
        lines(edge, WANTED_AT, WANTED),
        lines(edge, ONE_AT, ONE),
        lines(edge, OTHER_AT, OTHER),
        lines(edge, LINKS_AT, LINKS),
        carray(pointer(edge[PAIR_AT]), (2,), np.int64),
    )
    room = (
        carray(pointer(places[0]), (BLOCK, edge[WANTED]), np.int64),
        carray(pointer(places[1]), wide, np.int64),
        carray(pointer(places[2]), wide, np.int64),
        carray(pointer(places[3]), (3, BLOCK), np.int32),
    )
    return find_pairs(pair, rows, marks, moments, room, flags, np.uint8(LACKING))


@kernel(nb.boolean(LONGS, INTS), makes_arrays=True)
def is_any(edge, marks):
    """Whether anything is live at the marks."""
    state = state_at(edge[WANTED_IN])
    meta, leaf = state[3], state[3][WIDTH] == ROWS + 1
    streams = carray(pointer(edge[STREAMS_AT]), (meta[WIDTH] - ROWS,), np.int64)
    seen, low = edge[WITNESS], meta[LOW]
    if seen < low or find_any(state, streams, marks, seen, seen) < seen:
        # A composite that was not live is never so again, but a row may be linked late.
        first = low if leaf else max(low, edge[SEEN])
        found = find_any(state, streams, marks, first, meta[TAIL] - 1)
        edge[WITNESS] = found if found >= first else -1
        edge[SEEN] = -1 if found >= first else meta[BASE]
    return edge[WITNESS] >= low


@kernel(nb.int64(FLAGS))
def lack_all(flags):
    """Flag as lacking all with flag 1; how many."""
    failed = 0
    for i in range(flags.shape[0]):
        if flags[i] == 1:
            flags[i] = LACKING
            failed += 1
    return failed


@kernel(nb.int64(LONGS, RECORDS, RECORDS, INTS, FLAGS, LONGS, LONGS), makes_arrays=True)
def find(edge, rows, marks, moments, flags, keys, room):
    """Flag as lacking, of the entries with flag 1, those for which nothing is live at the marks of their moment; how
    many. ``keys`` gets what they want, ``room`` is for other keys. What is kept beside the ring is ready."""
    if rows.shape[0] == 0:
        return 0
    by, state, lacking = edge[BY], state_at(edge[WANTED_IN]), np.uint8(LACKING)
    read_by(lines(edge, WANTED_AT, WANTED), rows, keys)
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
        failed = sift(words_of(edge), keys, flags, lacking) if edge[SIZE] > 0 else 0
        return failed + find_pair(edge, rows, marks, moments, flags)
    streams = carray(pointer(edge[STREAMS_AT]), (state[0].shape[1] - ROWS,), np.int64)
    if by == PARTED:
        return find_parts(state, streams, directory(edge), keys, marks, moments, flags, lacking)
    return find_keys(state, streams, keys, marks, moments, flags, lacking)


@kernel(nb.void(LONGS, RECORDS, LONGS, FLAGS), makes_arrays=True)
def suspend(edge, rows, keys, flags):
    """Let the entries wait that are flagged as lacking something, and clear their flags; there is room for them."""
    lacking = np.uint8(LACKING)
    if edge[SIZE] > 0 and edge[CLOSED_AT] != 0:
        await_keys(words_of(edge), keys, flags, lacking)
    meta = meta_at(edge[BLACKLIST])
    meta[WAITING] += put_by(state_at(edge[BLACKLIST]), keys, rows, flags, lacking)


@kernel(nb.void(LONGS), makes_arrays=True)
def expect(edge):
    """A sieve is new: it learns what is waited for."""
    if edge[SIZE] > 0 and edge[CLOSED_AT] != 0:
        await_all(words_of(edge), state_at(edge[BLACKLIST]))
