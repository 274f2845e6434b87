"""Columns as Arrow's compute functions take them, and what they return as columns.

A constant is an Arrow scalar, everything else an array, or chunks of one where strings are too long for one array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.values import arrow
from eddy.values.arithmetic import both, rescale
from eddy.values.days import DAY
from eddy.values.decimals import rescaled
from eddy.values.types import Array, Column, ColumnType

Datum = Any
"""An array, a chunked array or a scalar of Arrow, which has no types that mypy knows."""


def coerced(column: Column, of: ColumnType, to: ColumnType) -> Column:
    """A column in another type that can hold its values: a wider number, a finer unit of time; NULL in any."""
    if of.kind == "null":
        if to.is_coded:
            empty = "" if to.kind == "string" else b""
            return Column(pa.scalar(empty, to.inside), np.zeros(1, np.bool_))
        return Column(np.zeros(1, to.dtype), np.zeros(1, np.bool_))
    if of.kind == "date" and to.kind == "timestamp":
        seconds = Column(column.values.astype(np.int64) * DAY, column.valid)
        return rescale(seconds, "s", str(to.unit))
    if to.kind == "decimal":
        values, fits = rescaled(column.values, of.scale, to.scale)
        return Column(values, both(column.valid, fits))
    if of.unit is not None and to.unit is not None:
        return rescale(column, of.unit, to.unit)
    if of.is_coded or column.values.dtype == to.dtype:
        return column
    return Column(column.values.astype(to.dtype), column.valid)


def to_datum(column: Column, kind: ColumnType, constant: bool) -> Datum:
    """The column as Arrow has it, with its nulls; a scalar if it is constant."""
    if kind.is_coded:
        text = column.values
        if isinstance(text, pa.Scalar):
            return text if column.valid is None or column.valid[0] else pa.scalar(None, kind.inside)
        if text.type != kind.inside:
            text = text.cast(kind.inside)
        if kind.kind == "opaque":
            return text
        return arrow.with_nulls(text, column.valid)
    array = arrow.from_numpy(column.values, _mask(column), kind.arrow)
    return array[0] if constant else array


def _mask(column: Column) -> Array | None:
    return None if column.valid is None else np.broadcast_to(column.valid, column.values.shape)


def from_datum(found: Datum, kind: ColumnType) -> Column:
    """What a function returned, as a column of this type; a scalar has length 1."""
    if isinstance(found, pa.Scalar):
        if kind.is_coded:
            empty = "" if kind.kind == "string" else b""
            text = found.as_py() if found.is_valid else empty
            return Column(pa.scalar(text, kind.inside), None if found.is_valid else np.zeros(1, np.bool_))
        found = pa.repeat(found, 1)
    if kind.kind == "opaque":
        return Column(found if found.type == kind.inside else found.cast(kind.inside), _valid(found))
    if kind.kind == "uuid" and found.type == kind.arrow:
        found = _storage(found)
    wanted = kind.inside if kind.is_coded else kind.arrow
    if found.type != wanted:
        found = found.cast(wanted, safe=False)
    if kind.is_coded:
        return Column(arrow.with_nulls(found, None), _valid(found))
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    return Column(arrow.to_numpy(found, kind.dtype), arrow.valid_of(found))


def _storage(found: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """What an array of an extension type consists of."""
    if isinstance(found, pa.ChunkedArray):
        return pa.chunked_array([chunk.storage for chunk in found.chunks], found.type.storage_type)
    return found.storage


def _valid(found: pa.Array | pa.ChunkedArray) -> Array | None:
    if not isinstance(found, pa.ChunkedArray):
        return arrow.valid_of(found)
    if not found.null_count:
        return None
    parts = [arrow.valid_of(chunk) for chunk in found.chunks]
    lengths = [len(chunk) for chunk in found.chunks]
    return np.concatenate(
        [np.ones(n, np.bool_) if mask is None else mask for mask, n in zip(parts, lengths, strict=True)]
    )


def repeated(column: Column, n: int) -> Column:
    """A column of length n: itself, or a constant so many times."""
    if isinstance(column.values, pa.Scalar):
        text = pa.repeat(column.values, n)
        return Column(text, None if column.valid is None else np.broadcast_to(column.valid, (n,)))
    if len(column.values) == n and (column.valid is None or len(column.valid) == n):
        return column
    values = np.broadcast_to(column.values, (n,))
    return Column(values, None if column.valid is None else np.broadcast_to(column.valid, (n,)))


def known(found: Datum, inside: Datum) -> Datum:
    """The values where ``inside`` is true, NULL elsewhere."""
    return pc.if_else(inside, found, pa.scalar(None, found.type))
