"""The results of many queries of one core in one table: read together, not query by query."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from eddy.errors import EddyError
from eddy.results.result import Result
from eddy.several.shares import CoreContents, Part
from eddy.values.types import Array


def table_of(parts: Sequence[Part], called: str, sign: bool) -> pa.Table:
    """The results of these queries, query by query; the column ``called`` has their names."""
    kinds: dict[Hashable, list[Part]] = {}
    for part in parts:
        kinds.setdefault(_kind(part), []).append(part)
    tables = [alike[0].access.read(partial(_table, alike, called, sign)) for alike in kinds.values()]
    schema = tables[0].schema
    for table in tables[1:]:
        if table.schema != schema:
            raise EddyError(
                f"the queries show different columns ({', '.join(schema.names[1:])}; "
                f"{', '.join(table.schema.names[1:])}): read them by name, as results[name].to_arrow()"
            )
    return pa.concat_tables(tables).unify_dictionaries()


def _kind(part: Part) -> Hashable:
    """Queries of one kind are read together: they show the same of the same results, in the same order of streams."""
    member, query = part.member, part.member.query
    shown: tuple[Hashable, ...] = tuple((one.name, str(one.expression)) for one in query.computed)
    shown = shown or tuple((one.name, one.stream, one.column) for one in query.select)
    return id(part.shares), member.signed, member.order.tobytes(), shown


def _table(parts: Sequence[Part], called: str, sign: bool) -> pa.Table:
    """The same for queries of one kind."""
    first = parts[0]
    names = pa.array([part.member.name for part in parts])
    slots = np.array([part.member.slot for part in parts], np.int64)
    by_slot = slots.argsort()
    tables = []
    for share in first.shares:
        contents = share.changes if first.member.signed and share.changes is not None else share.new
        owners, here = _places(parts, contents)
        found = Result(contents.some_of(first.member, here)).to_arrow(sign)
        owner = by_slot[slots[by_slot].searchsorted(owners)].astype(np.int32)
        tables.append(found.add_column(0, called, pa.DictionaryArray.from_arrays(pa.array(owner), names)))
    if not tables:
        none = first.nothing(first.member).to_arrow(sign)
        tables = [none.add_column(0, called, pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), names))]
    whole = pa.concat_tables(tables)
    if len(tables) == 1:
        return whole
    owner = np.asarray(whole.column(0).combine_chunks().indices)
    return whole.take(pa.array(owner.argsort(kind="stable")))


def _places(parts: Sequence[Part], contents: CoreContents) -> tuple[Array, Array]:
    """The query of each result, ascending, and its place."""
    split = contents.split()
    young = [part for part in parts if part.member.firsts is not None]
    if split is None or young:
        found = [np.arange(contents.count)[contents.places(part.member)] for part in parts]
        order = np.argsort([part.member.slot for part in parts])
        owners = [np.full(len(found[i]), parts[i].member.slot) for i in order]
        return np.concatenate(owners), np.concatenate([found[i] for i in order])
    return split.of_all(np.sort([part.member.slot for part in parts]))
