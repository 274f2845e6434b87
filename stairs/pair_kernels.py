"""Whether two streams have a pair of live rows with some key, without a directory of their pairs.

The rows of the one with their part of the key are found in its leaf, and those of the other in its own; then the keys
by which the two match each other are compared. Where there are many of them, something will match: no more than a few
are looked at.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from stairs.kernel import kernel, part
from stairs.key_kernels import mix
from stairs.layout import FLAGS, INTS, LONGS, NEXT, RECORDS
from stairs.raw import int_at, long_at
from stairs.recipe_kernels import COMPONENT, LEAF, NUMBER, RECIPE, newest_of, record_at

PAIR = nb.types.Tuple((RECIPE, RECIPE, RECIPE, RECIPE, LONGS))
"""What to look for, as a recipe; for either stream its leaves under the attributes that it carries, each with the line
of the recipe (the second may have none); the leaves by which they match, of the one and of the other; both streams."""

AT, LINE = range(2)
"""Columns of the leaves of a stream."""

MOST, STEPS = 64, 1024
"""Rows of the first stream, and steps along chains, after which something is taken to be there."""


@part
def agrees(leaves, wanted, row):
    """Whether a row has what is wanted in all leaves but the first, by which it was found."""
    same = True
    for j in range(1, leaves.shape[0]):
        same &= long_at(record_at(leaves[j, AT], row)) == wanted[leaves[j, LINE]]
    return same


@part
def match_key(links, side, row):
    """The key by which a row of one stream matches rows of the other."""
    key = np.int64(0)
    for j in range(links.shape[0]):
        found = long_at(record_at(links[j, side], row))
        key = found if j == 0 else mix(key, found)
    return key


@kernel(nb.int64(RECIPE, LONGS, RECIPE, nb.int32, LONGS))
def first_rows(leaves, wanted, links, floor, out):
    """The match keys of the live rows of the first stream that have what is wanted; how many, MOST if too many."""
    leaf, key = leaves[0, AT], wanted[leaves[0, LINE]]
    row, found = newest_of(leaf, key), 0
    for _ in range(STEPS):
        if np.int32(row - floor) < 0:
            return found
        at = record_at(leaf, row)
        if long_at(at) == key and agrees(leaves, wanted, row):
            out[found] = match_key(links, 0, row)
            found += 1
            if found == MOST:
                return MOST
        row = int_at(at + NUMBER * NEXT)
    return MOST


@kernel(nb.boolean(nb.int64, nb.int64, RECIPE, LONGS, RECIPE, nb.int32, LONGS, nb.int64))
def second_row(leaf, key, leaves, wanted, links, floor, firsts, count):
    """Whether some live row of the second stream, found by a key in a leaf, matches one of so many first ones."""
    row = newest_of(leaf, key)
    for _ in range(STEPS):
        if np.int32(row - floor) < 0:
            return False
        at = record_at(leaf, row)
        if long_at(at) == key and agrees(leaves, wanted, row):
            mine = match_key(links, 1, row)
            for i in range(count):
                if firsts[i] == mine:
                    return True
        row = int_at(at + NUMBER * NEXT)
    return True


@kernel(nb.int64(PAIR, RECORDS, RECORDS, INTS, LONGS, LONGS, FLAGS, nb.uint8))
def find_pairs(pair, rows, marks, moments, wanted, firsts, flags, lacking):
    """Flag entries, of those with flag 1, for which there is no pair live at ``marks[moments[i]]``; how many.

    ``wanted`` and ``firsts`` are room to work in, for a key of each line and for MOST keys.
    """
    recipe, one, other, links, streams = pair
    failed = 0
    for i in range(rows.shape[0]):
        if flags[i] != 1:
            continue
        for j in range(recipe.shape[0]):
            wanted[j] = long_at(record_at(recipe[j, LEAF], rows[i, recipe[j, COMPONENT]]))
        moment = moments[i]
        found = first_rows(one, wanted, links, marks[moment, streams[0]], firsts)
        there, floor = found == MOST, marks[moment, streams[1]]
        if not there and other.shape[0] > 0:
            key = wanted[other[0, LINE]]
            there = found > 0 and second_row(other[0, AT], key, other, wanted, links, floor, firsts, found)
        elif not there and links.shape[0] == 1:
            for f in range(found):
                there |= second_row(links[0, 1], firsts[f], other, wanted, links, floor, firsts, found)
        elif found > 0:
            there = True
        if not there:
            flags[i] = lacking
            failed += 1
    return failed
