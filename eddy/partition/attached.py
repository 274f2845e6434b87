"""Queries with attachments: the one key that all their streams share, and where rows go by it.

A row of an outer or an anti join that finds no partner is a result, too. So no row may be copied, and none left out:
each goes to one cell, where all that it could meet goes as well. Rows whose key matches nothing go to the first.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from eddy.partition.grid import Grid, Weighed
from eddy.partition.hash import add_coordinates, key_of
from eddy.query.keys import KeyClass
from eddy.query.query import Query
from eddy.values.types import Array, Columns, ColumnType


def shared_key(query: Query) -> KeyClass | None:
    """A key of all streams: it joins the core, and every attachment has an equality with it."""
    return next(shared_keys(query), None)


def shared_keys(query: Query) -> Iterator[KeyClass]:
    """All such keys."""
    for members, types in _of_core(query):
        for one in query.attachments:
            for equal in one.equal:
                if not equal.nulls and members.get(equal.left.stream) == equal.left.column:
                    members[one.stream], types[one.stream] = equal.right.column, equal.right.type
                    break
        if len(members) == len(query.names):
            yield KeyClass(0, members, types)


def _of_core(query: Query) -> Iterator[tuple[dict[str, str], dict[str, ColumnType]]]:
    """The columns that might be such a key, in the streams of the core."""
    names = query.core.names
    if len(names) > 1:
        for key_class in query.core.key_classes:
            if set(key_class.members) == set(names):
                yield dict(key_class.members), dict(key_class.types)
        return
    sides = (equal.left for one in query.attachments for equal in one.equal if equal.left.stream == names[0])
    for side in dict.fromkeys(sides):
        yield {names[0]: side.column}, {names[0]: side.type}


def hashed(weighed: Weighed, cells: int) -> tuple[Grid, ...]:
    """One grid that is cut along the only class of keys, and along nothing else."""
    load = sum(weighed.sizes.values()) / cells
    return (Grid(0, (0,), (cells, *(1 for _ in weighed.names)), load),)


def deal_all(weighed: Weighed, cells: int, stream: str, columns: Columns) -> tuple[Array, Array]:
    """All rows, by their place in the batch, and the one cell of each."""
    (key_class,) = weighed.classes
    keys = key_of(key_class, stream, columns[key_class.members[stream]])
    found = np.zeros(len(keys.values), np.int64)
    add_coordinates(np.ascontiguousarray(keys.values), 0, cells, 1, found)
    if keys.valid is not None:
        found[~keys.valid] = 0
    return np.arange(len(found)), found.astype(np.int32)
