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


def batches_of(
    state: EngineState, stream: StoredStream, first: int | None = None, stop: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The live rows of a stream, PIECE at a time; those from ``first`` to ``stop`` only, if these are given."""
    query, lowwater, number = state.query, state.lowwater, stream.number
    schema = schema_of(query, stream)
    members = {c.members[stream.name]: c.index for c in query.key_classes if stream.name in c.members}
    low, next_row = int(lowwater.lows[number]), int(lowwater.counts[number])
    first, stop = low if first is None else max(first, low), next_row if stop is None else stop
    timed = uses_time(query.streams[stream.name].window)
    thin = state.row_numbers.is_thin(number)

    def stored(own: int, n: int) -> dict[str, Any]:
        """The columns of n rows that are stored, from ``own`` on in the store."""
        payload, found = stream.payload, dict[str, Any]()
        names = list(payload.columns)
        taken = payload.take_all(names, np.arange(own, own + n))  # one call: who copies often waits but once
        for name, column in zip(names, taken, strict=True):
            found[f"value {name}"] = to_arrow(column, payload.columns[name])
        found["kept"] = arrow.from_numpy(stream.kept(own, n).view(np.bool_), None, pa.bool_())
        for name in schema.names:
            if name.startswith("key "):
                keys = stream.stored_keys(members[name.removeprefix("key ")], own, n)
                found[name] = arrow.from_numpy(keys, None, pa.int64())
        return found

    def columns(first: int, n: int) -> dict[str, Any]:
        """All columns of these rows. Of rows that are not stored there is their time, and that they are not kept."""
        if thin:
            own, numbers = state.row_numbers.stored(number, first, first + n)
            places = np.full(n, -1)
            places[numbers - first] = np.arange(len(numbers))
            where = pa.array(places, mask=places < 0)
            found = {name: array.take(where) for name, array in stored(own, len(numbers)).items()}
            found["kept"] = found["kept"].fill_null(False)
        else:
            found = stored(first, n)
        if timed:
            clock, times = str(query.streams[stream.name].time), lowwater.times(number, first, n)
            if f"value {clock}" not in found:
                found["time"] = arrow.from_numpy(times, None, pa.int64())
            elif thin:
                kind, factor = stream.payload.columns[clock], query.time_of(stream.name, np.ones(1, np.int64))
                found[f"value {clock}"] = to_arrow(Column((times // factor).astype(kind.dtype)), kind)
        return found

    def cut(first: int, n: int) -> Iterator[pa.RecordBatch]:
        found = columns(first, n)
        if any(isinstance(column, pa.ChunkedArray) for column in found.values()):  # too much text for one
            yield from cut(first, n // 2)
            yield from cut(first + n // 2, n - n // 2)
        else:
            yield pa.RecordBatch.from_arrays([found[name] for name in schema.names], schema=schema)

    for start in range(first, stop, PIECE):
        yield from cut(start, min(PIECE, stop - start))


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
