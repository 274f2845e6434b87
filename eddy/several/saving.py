"""Saving an engine of several queries: the live rows of all streams, once, and its queries with their plans.

A core follows from its rows, as in `eddy.snapshot`; a query that shares no core has a snapshot of its own inside.
"""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from eddy.intake.travel import WHEN
from eddy.query.stream import Stream
from eddy.results.result import to_arrow
from eddy.several.feed import FeedStream
from eddy.several.own_group import OwnGroup
from eddy.several.shared_group import SharedGroup
from eddy.snapshot import disorder
from eddy.snapshot.format import Table, pack, write
from eddy.snapshot.header import SEVERAL
from eddy.snapshot.metadata import check_metadata
from eddy.snapshot.query import describe
from eddy.snapshot.rows import PIECE
from eddy.snapshot.snapshot import contents_of
from eddy.values.durations import nanoseconds
from eddy.values.types import INT64

if TYPE_CHECKING:
    import os

    from eddy.several.group import Group
    from eddy.several.registry import Registry

FORMAT = 5
NESTED = pa.schema([pa.field("snapshot", pa.large_binary())])
"""Of a query that shares no core: a table whose rows are the pieces of a snapshot."""
LONGEST = 1 << 28
"""Bytes of a piece."""
OPTIONS = ("batch_size", "joins", "seed", "retractions", "advise")


def save(registry: Registry, path: str | os.PathLike[str], metadata: Any) -> None:
    """Write a snapshot of all queries in one file."""
    from eddy import __version__

    check_metadata(metadata)
    for group in registry.groups:
        group.state.changes.check_none_held()
    feed, buffer = registry.feed, registry.waiting.buffer
    lows = registry.lows()
    tables: list[Table] = [_rows(one, lows[name]) for name, one in feed.streams.items()]
    tables += disorder.tables(buffer)
    groups = []
    for group in registry.groups:
        groups.append({**_described(group), "table": len(tables)})
        if isinstance(group, OwnGroup):
            tables.append((NESTED, _nested(group)))
    several = {
        "options": {name: registry.options[name] for name in OPTIONS},
        "events": feed.events,
        "changes_dropped": registry.changes_dropped,
        "streams": {name: {**_stream(one), "low": lows[name]} for name, one in feed.streams.items()},
        "lateness": _lateness(registry.waiting.lateness),
        "disorder": disorder.describe(buffer),
        "groups": groups,
        "metadata": metadata,
    }
    write(path, {"format": FORMAT, "library": __version__, SEVERAL: several}, tables)


def schema_of(declared: Stream) -> pa.Schema:
    """What is saved of the rows of a stream: all of it, and the numbers of their events."""
    columns = [pa.field(f"value {name}", kind.arrow) for name, kind in declared.columns.items()]
    return pa.schema([*columns, pa.field("event", pa.int64())])


def _rows(one: FeedStream, low: int) -> Table:
    """The rows of a stream from ``low`` on."""
    schema, payload = schema_of(one.declared), one.payload
    kinds = {**one.declared.columns, WHEN: INT64}

    def taken(first: int, n: int) -> Iterator[pa.RecordBatch]:
        columns = payload.take_all(list(kinds), np.arange(first, first + n))
        found = [to_arrow(column, kind) for column, kind in zip(columns, kinds.values(), strict=True)]
        if any(isinstance(array, pa.ChunkedArray) for array in found):  # too much text for one
            yield from taken(first, n // 2)
            yield from taken(first + n // 2, n - n // 2)
        else:
            yield pa.RecordBatch.from_arrays(found, schema=schema)

    def pieces() -> Iterator[pa.RecordBatch]:
        for first in range(low, payload.next_row, PIECE):
            yield from taken(first, min(PIECE, payload.next_row - first))

    return schema, pieces()


def _stream(one: FeedStream) -> dict[str, Any]:
    declared = one.declared
    return {
        "columns": {column: kind.written for column, kind in declared.columns.items()},
        **{what: getattr(declared, what) for what in ("time", "static", "strict", "parse")},
        "next": one.payload.next_row,
        "newest": None if one.newest is None else int(one.newest.values[0]),
    }


def _described(group: Group) -> dict[str, Any]:
    """A group without its rows."""
    state = group.state
    if isinstance(group, OwnGroup):
        return {"own": group.name, "query": describe(group.query), "before": dict(group.before)}
    assert isinstance(group, SharedGroup)
    return {
        "queries": [
            {
                "name": name,
                "query": describe(member.query),
                "firsts": None if member.firsts is None else member.firsts.tolist(),
            }
            for name, member in group.members.items()
        ],
        "order": list(group.core.names),
        "plan": str(state.plan),
        "given": group.given_plan,
        "pins": list(state.steering.pinned),
        "frozen": state.steering.frozen,
        "decided": state.steering.decided,
        "lows": list(group.live().values()),
        "now": state.intake.now,
        "counters": {"events": state.events, "results": state.results, "migrations": state.migrations},
    }


def _nested(group: OwnGroup) -> Iterator[pa.RecordBatch]:
    file = io.BytesIO()
    pack(file, *contents_of(group.state))
    whole = file.getvalue()
    for start in range(0, len(whole), LONGEST):
        yield pa.RecordBatch.from_arrays(
            [pa.array([whole[start : start + LONGEST]], pa.large_binary())], schema=NESTED
        )


def _lateness(given: Any) -> Any:
    """The lateness that was given, as JSON can hold it."""
    if isinstance(given, Mapping):
        return {name: _lateness(value) for name, value in given.items()}
    return f"{nanoseconds(given)} ns" if isinstance(given, datetime.timedelta) else given
