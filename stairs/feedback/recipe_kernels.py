"""Keys that entries have in the leaves of their components, read where they are needed.

A *recipe* has a line for each attribute of a key (RECIPE of `visit_layout`). Several are mixed, as in the keys of
STAIRs.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from stairs.feedback.visit_layout import Recipe
from stairs.hashing import bucket_of
from stairs.kernel import kernel, part
from stairs.key_kernels import mix
from stairs.layout import CAPACITY, HEADS, LONGS, RECORDS, RECORDS_AT, ROWS, SHIFT, STATE
from stairs.lowlevel.flat import get, put_key
from stairs.lowlevel.raw import long_at

FIELD, NUMBER = 8, 4
"""Bytes of a field of a ring's meta, and of a number in a record."""
RECORD = NUMBER * (ROWS + 1)
"""Bytes of a leaf's record."""


@part
def record_at(leaf, row):
    """Where the record of a row is, in the leaf whose meta is at this address; its key comes first."""
    mask = long_at(leaf + FIELD * CAPACITY) - 1
    return long_at(leaf + FIELD * RECORDS_AT) + (np.int64(row) & mask) * RECORD


@part
def head_at(leaf, key):
    """Where the newest row of a key's bucket is told in a leaf."""
    place = bucket_of(key, long_at(leaf + FIELD * SHIFT))
    return long_at(leaf + FIELD * HEADS) + NUMBER * place


@part
def key_by(recipe, rows, start):
    """The key of an entry whose rows are the numbers from ``start`` on; 0 if the recipe is empty."""
    key = np.int64(0)
    for j in range(recipe.shape[0]):
        found = long_at(record_at(recipe[j].leaf, get(rows, start + recipe[j].component)))
        key = found if j == 0 else mix(key, found)
    return key


@part
def read_column(recipe, j, records, start, count, keys):
    """Read one line of a recipe for entries of a ring, whose rows follow their keys: mix it into what the lines before
    it gave. All that does not change from entry to entry is looked up once."""
    leaf, place, width = recipe[j].leaf, ROWS + recipe[j].component, records.shape[1]
    base, last = long_at(leaf + FIELD * RECORDS_AT), long_at(leaf + FIELD * CAPACITY) - 1
    mask = records.shape[0] - 1
    for i in range(count):
        row = np.int64(get(records, np.int64((start + i) & mask) * width + place))
        found = long_at(base + (row & last) * RECORD)
        keys[i] = found if j == 0 else mix(keys[i], found)


@kernel(nb.void(Recipe, RECORDS, LONGS))
def read_by(recipe, rows, out):
    """The keys of entries, a line of ``rows`` for each; 0 if the recipe is empty."""
    out[:] = 0
    for j in range(recipe.shape[0]):
        leaf, component, width = recipe[j].leaf, recipe[j].component, rows.shape[1]
        base, last = long_at(leaf + FIELD * RECORDS_AT), long_at(leaf + FIELD * CAPACITY) - 1
        for i in range(rows.shape[0]):
            found = long_at(base + (np.int64(get(rows, i * width + component)) & last) * RECORD)
            out[i] = found if j == 0 else mix(out[i], found)


@kernel(nb.void(Recipe, STATE, nb.int64, nb.int64))
def rekey_by(recipe, state, start, stop):
    """Give the entries start..stop of a ring their keys."""
    records = state[0]
    mask, width = records.shape[0] - 1, records.shape[1]
    for entry in range(start, stop):
        at = np.int64(entry & mask) * width
        put_key(records, at, key_by(recipe, records, at + ROWS))
