"""Restoring: of the two sides of a join, those entries of which pairs are made that were suppressed."""

from __future__ import annotations

import numba as nb
import numpy as np

from stairs.feedback.recipe_kernels import key_by
from stairs.feedback.visit_layout import Recipe
from stairs.hashing import seeded
from stairs.kernel import kernel
from stairs.key_kernels import mix
from stairs.layout import BASE, INTS, LONGS, LOW, NEXT, RECORDS, ROWS, STATE, TAIL
from stairs.lowlevel.flat import get_key


@kernel(nb.void(LONGS, INTS, INTS))
def chain(parts, heads, nexts):
    """Bucket heads, a power of two of them, and for each of ``parts`` the next one in its bucket; -1: there is none."""
    heads[:] = -1
    for i in range(parts.shape[0]):
        head = seeded(parts[i]) & np.uint64(heads.shape[0] - 1)
        nexts[i] = heads[head]
        heads[head] = np.int32(i)


@kernel(nb.int64(STATE, nb.boolean, Recipe, LONGS, LONGS, INTS, INTS, RECORDS, LONGS))
def choose(state, leaf, recipe, parts, keys, heads, nexts, rows, own):
    """Entries from before the batch that have one of ``parts`` by the recipe, once for each of these: their ``rows``,
    and their ``own`` keys, mixed with that of ``keys`` which belongs to the part. Without ``keys`` an entry comes once,
    with the key it has.

    What has come back in this batch counts as older; rows that did so have the numbers they had. Returns how many
    there are; those for which there is no room are only counted.
    """
    records, _, events, meta = state
    mask, width, found = records.shape[0] - 1, records.shape[1], 0
    for entry in range(meta[LOW], meta[BASE] if leaf else meta[TAIL]):
        slot = np.int64(entry & mask)
        came = entry >= meta[BASE] and events[entry - meta[BASE]] >= 0
        if came or records[slot, NEXT] == np.int32(entry):
            continue
        part = key_by(recipe, records, slot * width + ROWS)
        i = heads[seeded(part) & np.uint64(heads.shape[0] - 1)]
        while i >= 0:
            if parts[i] == part:
                if found < own.shape[0]:
                    for j in range(rows.shape[1]):
                        rows[found, j] = records[slot, ROWS + j]
                    key = get_key(records, slot * width)
                    own[found] = mix(key, keys[i]) if keys.shape[0] > 0 else key
                found += 1
                if keys.shape[0] == 0:
                    break
            i = nexts[i]
    return found
