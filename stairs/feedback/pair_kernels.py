"""Whether two streams have a pair of live rows with some key, without a directory of their pairs.

The rows of the one with their part of the key are found in its leaf, and those of the other in its own; then the keys
by which the two match each other are compared. Where there are many of them, something will match: no more than a few
are looked at.

Chains lead to records all over a leaf, so a block of entries takes one step along all its chains at a time, and what
the next step needs is asked for.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from stairs.feedback.recipe_kernels import NUMBER, head_at, record_at
from stairs.feedback.visit_layout import Recipe
from stairs.kernel import kernel, part
from stairs.key_kernels import mix
from stairs.layout import FLAGS, INTS, LONGS, NEXT, RECORDS
from stairs.lowlevel.raw import ask_for, int_at, long_at

TABLE = nb.int64[:, ::1]
PAIR = nb.types.Tuple((Recipe, TABLE, TABLE, TABLE, LONGS))
"""What to look for, as a recipe; for either stream its leaves under the attributes that it carries, each with the line
of the recipe (the second may have none); the leaves by which they match, of the one and of the other; both streams."""

AT, LINE = range(2)
"""Columns of the leaves of a stream."""

BLOCK, MOST, STEPS = 64, 32, 1024
"""Entries of a block; rows of a stream, and steps along chains, after which something is taken to be there."""

ROOM = nb.types.Tuple((TABLE, TABLE, TABLE, RECORDS))
"""Room to work in: for each entry of a block what it wants, and what was found of the one stream and of the other, how
many first; and where its chain has come to, what is live, and a list of entries."""

ROW, FLOOR, LIST = range(3)
"""Lines of the last."""


@part
def agrees(leaves, wanted, i, row):
    """Whether a row has what entry i wants in all leaves but the first, by which it was found."""
    same = True
    for j in range(1, leaves.shape[0]):
        same &= long_at(record_at(leaves[j, AT], row)) == wanted[i, leaves[j, LINE]]
    return same


@part
def match_key(links, side, row):
    """The key by which a row of one stream matches rows of the other."""
    key = np.int64(0)
    for j in range(links.shape[0]):
        found = long_at(record_at(links[j, side], row))
        key = found if j == 0 else mix(key, found)
    return key


@kernel(nb.void(TABLE, TABLE, TABLE, nb.int64, RECORDS, nb.int64, TABLE))
def walk(leaves, wanted, links, side, work, active, found):
    """Find the live rows of a stream that have what the listed entries want: so many of them, MOST if too many."""
    leaf = leaves[0, AT]
    for a in range(active):
        ask_for(head_at(leaf, wanted[work[LIST, a], leaves[0, LINE]]))
    for a in range(active):
        i = work[LIST, a]
        work[ROW, i] = int_at(head_at(leaf, wanted[i, leaves[0, LINE]]))
        ask_for(record_at(leaf, work[ROW, i]))
        found[i, 0] = 0
    for _ in range(STEPS):
        left = 0
        for a in range(active):
            i = work[LIST, a]
            row = work[ROW, i]
            if np.int32(row - work[FLOOR, i]) >= 0:
                at = record_at(leaf, row)
                if long_at(at) == wanted[i, leaves[0, LINE]] and agrees(leaves, wanted, i, row):
                    found[i, 0] += 1
                    found[i, found[i, 0]] = np.int64(row)
                    if links.shape[0] > 0:
                        ask_for(record_at(links[0, side], row))
                work[ROW, i] = int_at(at + NUMBER * NEXT)
                ask_for(record_at(leaf, work[ROW, i]))
                work[LIST, left] = i
                left += np.int64(found[i, 0] < MOST)
        active = left
        if active == 0:
            return
    for a in range(active):
        found[work[LIST, a], 0] = MOST


@part
def match(links, ones, others, i):
    """Whether one of the first rows that were found for entry i matches one of the second."""
    for a in range(1, ones[i, 0] + 1):
        ones[i, a] = match_key(links, 0, ones[i, a])
    for b in range(1, others[i, 0] + 1):
        key = match_key(links, 1, others[i, b])
        for a in range(1, ones[i, 0] + 1):
            if ones[i, a] == key:
                return True
    return False


@kernel(nb.boolean(TABLE, TABLE, nb.int64, nb.int32))
def partnered(links, ones, i, floor):
    """Whether one of the first rows that were found for entry i has a live partner, by the first link."""
    for a in range(1, ones[i, 0] + 1):
        key = long_at(record_at(links[0, 0], ones[i, a]))
        row = int_at(head_at(links[0, 1], key))
        for _ in range(STEPS):
            if np.int32(row - floor) < 0:
                break
            at = record_at(links[0, 1], row)
            if long_at(at) == key:
                return True
            row = int_at(at + NUMBER * NEXT)
    return False


@kernel(nb.int64(FLAGS, nb.int64, nb.int64, TABLE, RECORDS))
def listed(flags, start, n, found, work):
    """List those of n entries that have flag 1, and for which something was found, but not too much."""
    active = 0
    for i in range(n):
        work[LIST, active] = i
        active += np.int64(flags[start + i] == 1 and 0 < found[i, 0] < MOST)
    return active


@kernel(nb.int64(PAIR, RECORDS, RECORDS, INTS, ROOM, FLAGS, nb.uint8))
def find_pairs(pair, rows, marks, moments, room, flags, lacking):
    """Flag entries, of those with flag 1, for which there is no pair live at ``marks[moments[i]]``; how many."""
    recipe, one, other, links, streams = pair
    wanted, ones, others, work = room
    failed = 0
    for start in range(0, rows.shape[0], BLOCK):
        n = min(BLOCK, rows.shape[0] - start)
        for i in range(n):
            ones[i, 0] = 1
            if flags[start + i] == 1:
                for j in range(recipe.shape[0]):
                    wanted[i, j] = long_at(record_at(recipe[j].leaf, rows[start + i, recipe[j].component]))
                work[FLOOR, i] = marks[moments[start + i], streams[0]]
        walk(one, wanted, links, 0, work, listed(flags, start, n, ones, work), ones)
        for i in range(n):
            work[FLOOR, i] = marks[moments[start + i], streams[1]]
        if other.shape[0] > 0:
            walk(other, wanted, links, 1, work, listed(flags, start, n, ones, work), others)
        for i in range(n):
            if flags[start + i] != 1 or ones[i, 0] == MOST:
                continue
            there = ones[i, 0] > 0
            if there and other.shape[0] == 0 and links.shape[0] > 0:
                there = partnered(links, ones, i, work[FLOOR, i])
            elif there and other.shape[0] > 0 and others[i, 0] < MOST:
                there = match(links, ones, others, i)
            if not there:
                flags[start + i] = lacking
                failed += 1
    return failed
