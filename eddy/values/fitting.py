"""Arrow's values as columns of dates, times, durations, decimals, bytes, UUIDs and opaque types.

A value is taken if the column can hold exactly that value, else it is refused.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from eddy.errors import BatchError
from eddy.values import arrow
from eddy.values.decimals import scaled_floats
from eddy.values.types import UNITS, Array, Column, ColumnType

DAY = 86_400
"""Seconds."""

HINTS = {
    "date": "give dates, or times at midnight that have no zone",
    "time": "give times of day without a zone",
    "duration": "give timedeltas, durations or integers in its unit",
    "decimal": "give Decimals or integers that it holds exactly; what a float stands for is round(Decimal(x), 2)",
    "binary": "give bytes",
    "uuid": "give UUIDs, or 16 bytes each",
    "opaque": "give values of that type",
}


def fit(kind: ColumnType, array: pa.Array) -> Column:
    """The values of one Arrow array without a dictionary, in the storage of their declared type."""
    if array.null_count == len(array):
        array = pa.nulls(len(array), kind.inside if kind.is_coded else kind.arrow)
    found = _FIT[kind.kind](kind, array)
    if found is None:
        raise BatchError(f"this column is {kind}, the values are {array.type}; {HINTS[kind.kind]}")
    valid = arrow.valid_of(array)
    if kind.is_coded:
        return Column(found if kind.kind == "opaque" else arrow.with_nulls(found, None), valid)
    values = found if isinstance(found, np.ndarray) else arrow.to_numpy(found, kind.dtype)
    if valid is not None:
        values = np.where(valid, values, np.zeros((), kind.dtype))
    return Column(np.require(values, kind.dtype, ["C", "A", "W"]), valid)


def _dates(kind: ColumnType, array: pa.Array) -> pa.Array | Array | None:
    if pat.is_date(array.type):
        return array.cast(pa.date32())
    if pat.is_timestamp(array.type) and array.type.tz is None:
        return array.cast(pa.int64()) if not len(array) else _days(array)
    return array.cast(pa.int32()) if pat.is_integer(array.type) else None


def _days(array: pa.Array) -> Array:
    """Times at midnight as days."""
    counts, valid = arrow.to_numpy(array, np.dtype(np.int64)), arrow.valid_of(array)
    days, rest = np.divmod(counts, DAY * UNITS[array.type.unit])
    wrong = (rest != 0) | (days != days.astype(np.int32))
    if (wrong if valid is None else wrong & valid).any():
        raise BatchError(
            "a date column takes no times of day: cut them off first, or declare it as a timestamp"
        )
    return days.astype(np.int32)


def _times(kind: ColumnType, array: pa.Array) -> pa.Array | None:
    if not pat.is_time(array.type):
        return None
    found = array.cast(kind.arrow)
    counts, valid = arrow.to_numpy(found, kind.dtype), arrow.valid_of(found)
    wrong = (counts < 0) | (counts >= DAY * UNITS[str(kind.unit)])
    if (wrong if valid is None else wrong & valid).any():
        raise BatchError("a time of day lies between 00:00 and 24:00")
    return found


def _durations(kind: ColumnType, array: pa.Array) -> pa.Array | None:
    if pat.is_integer(array.type):
        return array.cast(pa.int64())
    return array.cast(kind.arrow) if pat.is_duration(array.type) else None


def _decimals(kind: ColumnType, array: pa.Array) -> pa.Array | Array | None:
    if pat.is_decimal(array.type):
        return array.cast(kind.arrow)
    if pat.is_floating(array.type):
        wide = array.cast(pa.float64())
        return scaled_floats(arrow.to_numpy(wide, np.dtype(np.float64)), arrow.valid_of(wide), kind)
    if not pat.is_integer(array.type):
        return None
    counts, valid = arrow.to_numpy(array, array.type.to_pandas_dtype()), arrow.valid_of(array)
    limit = 10 ** (kind.digits - kind.scale)
    wrong = (counts >= limit) | (counts <= -limit) if counts.dtype.kind == "i" else counts >= limit
    if (wrong if valid is None else wrong & valid).any():
        raise BatchError(f"an integer has too many digits for {kind}")
    whole: Array = counts.astype(np.int64) * 10**kind.scale
    return whole


def _bytes(kind: ColumnType, array: pa.Array) -> pa.Array | None:
    of = array.type
    if not (
        pat.is_binary(of) or pat.is_large_binary(of) or pat.is_binary_view(of) or pat.is_fixed_size_binary(of)
    ):
        return None
    plain = array.cast(pa.binary())
    return plain if pat.is_binary(kind.arrow) else plain.cast(kind.arrow).cast(pa.binary())


def _uuids(kind: ColumnType, array: pa.Array) -> pa.Array | None:
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    found = _bytes(kind, array) if not pat.is_binary(array.type) else array
    return None if found is None else found.cast(pa.binary(16)).cast(pa.binary())


def _opaque(kind: ColumnType, array: pa.Array) -> pa.Array | None:
    of = kind.inside
    if array.type == of:
        return array
    if not _covers(of, array.type):
        return None
    return array.cast(of)


def _covers(to: pa.DataType, of: pa.DataType) -> bool:
    """Whether a type has all the fields of another: Arrow would leave the others out without a word."""
    if pat.is_struct(to) and pat.is_struct(of):
        known = {to.field(i).name: to.field(i).type for i in range(to.num_fields)}
        fields = [of.field(i) for i in range(of.num_fields)]
        return all(field.name in known and _covers(known[field.name], field.type) for field in fields)
    if pat.is_nested(to) != pat.is_nested(of):
        return pat.is_null(of)
    if pat.is_nested(to) and to.num_fields == of.num_fields == 1 and not pat.is_struct(to):
        return _covers(to.field(0).type, of.field(0).type)
    return True


_FIT: dict[str, Callable[[ColumnType, pa.Array], pa.Array | Array | None]] = {
    "date": _dates,
    "time": _times,
    "duration": _durations,
    "decimal": _decimals,
    "binary": _bytes,
    "uuid": _uuids,
    "opaque": _opaque,
}
FITTED = frozenset(_FIT)
"""The kinds of types that `fit` knows."""


def presented(
    kind: ColumnType, values: pa.Array | pa.ChunkedArray, valid: Array | None
) -> pa.Array | pa.ChunkedArray:
    """What is coded, as Arrow has it in its declared type."""
    if kind.kind == "opaque":
        if valid is not None and values.null_count != len(values) - int(np.count_nonzero(valid)):
            values = values.take(arrow.from_numpy(np.arange(len(values)), valid, pa.int64()))
        return values if values.type == kind.arrow else values.cast(kind.arrow)
    found = arrow.with_nulls(values, valid)
    if found.type == kind.arrow:
        return found
    if isinstance(found, pa.ChunkedArray):
        return pa.chunked_array([_fixed(kind, chunk) for chunk in found.chunks], kind.arrow)
    return _fixed(kind, found)


def _fixed(kind: ColumnType, found: pa.Array) -> pa.Array:
    if kind.kind != "uuid":
        return found.cast(kind.arrow)
    return pa.ExtensionArray.from_storage(kind.arrow, found.cast(kind.arrow.storage_type))
