"""The rows of a stream in a snapshot: the columns that the engine holds, in their own types.

Canonical keys and times are saved only where they come from columns that it does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eddy.intake.intake import Part
from eddy.query.query import Query
from eddy.query.windows import uses_time
from eddy.results.result import to_arrow
from eddy.state import EngineState
from eddy.store.leaves import Leaves
from eddy.store.row_numbers import chosen
from eddy.store.stream import StoredStream, StreamState
from eddy.values import arrow
from eddy.values.conversion import convert
from eddy.values.types import Array, Column

PIECE = 1 << 16
"""Rows that are written, and loaded, at a time."""


def schema_of(query: Query, stream: StoredStream) -> pa.Schema:
    """What is saved of the rows of a stream."""
    held, declared = stream.payload.columns, query.streams[stream.name]
    keys = [c.members[stream.name] for c in query.key_classes if stream.name in c.members]
    return pa.schema(
        [pa.field("kept", pa.bool_())]
        + [pa.field(f"value {name}", kind.arrow) for name, kind in held.items()]
        + [pa.field(f"key {name}", pa.int64()) for name in keys if name not in held]
        + [
            pa.field("time", pa.int64())
            for _ in (1,)
            if uses_time(declared.window) and declared.time not in held
        ]
    )


def batches_of(state: EngineState, stream: StoredStream) -> Iterator[pa.RecordBatch]:
    """The live rows of a stream, PIECE at a time."""
    query, lowwater, number = state.query, state.lowwater, stream.number
    schema = schema_of(query, stream)
    members = {c.members[stream.name]: c.index for c in query.key_classes if stream.name in c.members}
    low, stop = int(lowwater.lows[number]), int(lowwater.counts[number])
    times = lowwater.times(number) if uses_time(query.streams[stream.name].window) else np.empty(0, np.int64)
    stored, own = state.row_numbers.live(number), int(state.row_numbers.lows[number])

    def array(name: str, first: int, n: int) -> Any:
        what, _, column = name.partition(" ")
        if what == "value":
            rows = np.arange(first, first + n)
            return to_arrow(stream.payload.take(column, rows), stream.payload.columns[column])
        if what == "kept":
            return arrow.from_numpy(stream.kept(first, n).view(np.bool_), None, pa.bool_())
        if what == "key":
            return arrow.from_numpy(stream.stored_keys(members[column], first, n), None, pa.int64())
        return arrow.from_numpy(times[first - low : first - low + n], None, pa.int64())

    def thinned(name: str, first: int, n: int) -> Any:
        """An array where only some rows are stored: of the others there is their time, and that they are not kept."""
        assert stored is not None
        clock = query.streams[stream.name].time
        if name == "time":
            return array(name, first, n)
        if name == f"value {clock}" and len(times):
            factor = query.time_of(stream.name, np.ones(1, np.int64))
            kind, values = stream.payload.columns[str(clock)], times[first - low : first - low + n] // factor
            return to_arrow(Column(values.astype(kind.dtype)), kind)
        start, stop = np.searchsorted(stored, (first, first + n)).tolist()
        places = np.full(n, -1)
        places[stored[start:stop] - first] = np.arange(stop - start)
        spread = array(name, own + start, stop - start).take(pa.array(places, mask=places < 0))
        return spread.fill_null(False) if name == "kept" else spread

    def cut(first: int, n: int) -> Iterator[pa.RecordBatch]:
        arrays = [(array if stored is None else thinned)(name, first, n) for name in schema.names]
        if any(isinstance(column, pa.ChunkedArray) for column in arrays):  # too much text for one
            yield from cut(first, n // 2)
            yield from cut(first + n // 2, n - n // 2)
        else:
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    for first in range(low, stop, PIECE):
        yield from cut(first, min(PIECE, stop - first))


def append(
    state: EngineState, stream: StreamState, leaves: Leaves, batch: pa.RecordBatch, kept: NDArray[np.bool_]
) -> Array:
    """Append rows as if they had come in former batches; returns their times, where the window needs them.

    Those not kept are left out, but their times are not.
    """
    query, name, n = state.query, stream.name, batch.num_rows
    columns: dict[str, Column] = {}
    for column, kind in stream.payload.columns.items():
        found = convert(f"stream {name}, column {column!r}", kind, batch.column(f"value {column}"))
        if kind.is_coded:
            found = state.intake.coded(name, column, found)
        columns[column] = found
    keys = {}
    for key_class in query.key_classes:
        member = key_class.members.get(name)
        if member in columns:
            keys[key_class.index] = key_class.encode(name, columns[member].values, columns[member].valid)[0]
        elif member is not None:
            keys[key_class.index] = _longs(batch.column(f"key {member}"))
    flags = None if kept.all() else kept.view(np.uint8)
    part = Part(stream.number, columns, keys, flags, np.full(n, -1, np.int32))
    leaves.append(
        [part if flags is None or not state.row_numbers.thins else chosen(part, np.flatnonzero(kept))]
    )
    declared = query.streams[name]
    if not uses_time(declared.window):
        return np.empty(0, np.int64)
    if declared.time in columns:
        return query.time_of(name, columns[declared.time].values)
    return _longs(batch.column("time"))


def _longs(array: pa.Array) -> Array:
    return np.require(arrow.to_numpy(array, np.dtype(np.int64)), np.int64, ["C", "A", "W"])
