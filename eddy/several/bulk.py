"""The results of many queries of one core in one table: read together, not query by query."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from eddy.results.result import Result
from eddy.several.shares import Alike, CoreContents, Parts, Places
from eddy.values.types import Array


def table_of(parts: Parts, called: str, sign: bool) -> list[pa.Table]:
    """The results of all queries of a core that do not aggregate, query by query: a table for those that show the same.

    The column ``called`` has their names.
    """
    return [parts.access.read(partial(_table, parts, alike, called, sign)) for alike in parts.alike]


def _table(parts: Parts, alike: Alike, called: str, sign: bool) -> pa.Table:
    """The same for queries of one kind."""
    first, tables = alike.members[0], []
    for share in parts.shares:
        contents = share.changes if first.signed and share.changes is not None else share.new
        owners, here = _places(alike, contents)
        found = Result(contents.some_of(first, here)).to_arrow(sign)
        owner = pa.array(owners.astype(np.int32, copy=False))
        tables.append(found.add_column(0, called, pa.DictionaryArray.from_arrays(owner, alike.names)))
    if not tables:
        none = parts.nothing(first).to_arrow(sign)
        nobody = pa.array([], pa.int32())
        tables = [none.add_column(0, called, pa.DictionaryArray.from_arrays(nobody, alike.names))]
    if len(tables) == 1:
        return tables[0]
    whole = pa.concat_tables(tables)
    owner = np.concatenate([np.asarray(chunk.indices) for chunk in whole.column(0).chunks])
    return whole.take(pa.array(owner.argsort(kind="stable")))


def _places(alike: Alike, contents: CoreContents) -> tuple[Array, Places]:
    """Which of the queries each result is of, ascending, and where it is."""
    if alike.whole:
        split = contents.split()
        if split is not None:
            return split.of_all(alike.slots)
        if len(alike.members) == 1:
            return np.zeros(contents.count, np.int32), slice(None)
    found = [np.arange(contents.count)[contents.places(member)] for member in alike.members]
    return np.repeat(np.arange(len(found)), [len(some) for some in found]), np.concatenate(found)
