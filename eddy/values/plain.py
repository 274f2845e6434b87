"""Columns that differ from plain arrays only in their make: no value of theirs has to be judged.

What `plain` takes, it takes exactly as `convert` would; what it does not, it leaves to that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.values import arrow
from eddy.values.dictionaries import is_coded
from eddy.values.text_objects import ascii_texts
from eddy.values.types import Array, Column, ColumnType

NAT = np.iinfo(np.int64).min
"""What numpy's datetimes have for NaT."""


def plain(kind: ColumnType, values: Any) -> Array | None:
    """The values as an array of the storage dtype: contiguous, aligned and writeable, but not to be written to.

    None if they are coded, if some are NULL, or if they are of a make or a type that needs a closer look.
    """
    if kind.is_coded:
        return None
    found = _READERS.get(type(values))
    if found is not None:
        return found(kind, values)
    if isinstance(values, np.ndarray):
        return None
    if isinstance(values, pa.Array):
        return _of_arrow(kind, values)
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(values, pandas.Series) or not isinstance(values.dtype, np.dtype):
        return None
    if kind.zone is not None and values.dtype.kind == "M":  # pandas knows zones, and these have none
        return None
    return _of_numpy(kind, values.to_numpy())


def plain_nulls(kind: ColumnType, values: Any) -> Column | None:
    """Arrow values of the declared type, some of them NULL; None if they are of another type or make."""
    if type(values) is pa.ChunkedArray and values.num_chunks == 1:
        values = values.chunk(0)
    if not isinstance(values, pa.Array) or kind.kind == "bool" or kind.direct is not kind.dtype:
        return None
    valid = arrow.valid_of(values)
    if valid is None or not values.type.equals(kind.arrow):
        return None
    array = arrow.to_numpy(values, kind.dtype).copy()
    array[~valid] = 0
    return Column(array, valid)


def plain_text(values: Any, coded: bool) -> Column | None:
    """Strings in one Arrow array, or Python's own, as a column; where ``coded``, they may be so by a dictionary.

    None if they are of another make or type, or if some are NULL in an array that is not coded, or if some of Python's
    own are not of ASCII characters alone.
    """
    if type(values) is pa.ChunkedArray and values.num_chunks == 1:
        values = values.chunk(0)
    if type(values) is pa.StringArray:
        return None if values.null_count else Column(values)
    if type(values) in _OBJECTS or _is_object_series(values):
        return _of_objects(values)
    if coded and type(values) is pa.DictionaryArray and is_coded(values):
        return Column(values, arrow.valid_of(values))
    return None


def _is_object_series(values: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and type(values) is pandas.Series and values.dtype == object


def _of_objects(values: Any) -> Column | None:
    if not isinstance(values, (list, tuple)):
        values = np.asarray(values)
        if values.dtype != object or values.ndim != 1:
            return None
    found = ascii_texts(values)
    return None if found is None else Column(found)


def _of_numpy(kind: ColumnType, values: Array) -> Array | None:
    dtype = values.dtype
    if values.ndim != 1:
        return None
    if dtype == kind.direct:
        return values if values.flags.carray else values.copy()
    if kind.kind == "timestamp" and dtype.kind == "M" and dtype == _datetimes(kind):
        counts = values.view(np.int64)
        if not (counts == NAT).any():
            return counts if counts.flags.carray else counts.copy()
    if kind.kind == "duration" and dtype.kind == "m" and dtype == np.dtype(f"m8[{kind.unit}]"):
        counts = values.view(np.int64)
        if not (counts == NAT).any():
            return counts if counts.flags.carray else counts.copy()
    return None


def _of_arrow(kind: ColumnType, values: Any) -> Array | None:
    """A copy: Arrow's buffers are read-only."""
    if (
        kind.kind == "bool"
        or kind.direct is not kind.dtype
        or not values.type.equals(kind.arrow)
        or values.null_count
    ):
        return None
    n, dtype = len(values), kind.dtype
    if not n:
        return np.empty(0, dtype)
    return np.frombuffer(values.buffers()[1], dtype, n, values.offset * dtype.itemsize).copy()


def _of_chunks(kind: ColumnType, values: Any) -> Array | None:
    return _of_arrow(kind, values.chunk(0)) if values.num_chunks == 1 else None


def _of_list(kind: ColumnType, values: Any) -> Array | None:
    """Python's own numbers where each is what the column holds; others may be, and are looked at one by one."""
    expected = _PYTHON.get(kind.kind)
    if expected is None or kind.dtype == np.float32:
        return None
    if kind.unit == "us" and values and type(values[0]) is datetime:
        return _of_datetimes(kind, values)
    for value in values:
        if type(value) is not expected:
            return None
    try:
        return np.array(values, kind.dtype)
    except OverflowError:
        return None


def _of_datetimes(kind: ColumnType, values: Any) -> Array | None:
    """Python's datetimes, which count microseconds: without a zone for a column without one, else in UTC."""
    zone = None if kind.zone is None else timezone.utc
    for value in values:
        if type(value) is not datetime or value.tzinfo is not zone:
            return None
    if zone is not None:
        values = [value.replace(tzinfo=None) for value in values]
    return np.array(values, _datetimes(kind)).view(np.int64)


def _datetimes(kind: ColumnType) -> np.dtype[Any]:
    return _UNITS[str(kind.unit)]


_UNITS = {unit: np.dtype(f"M8[{unit}]") for unit in ("s", "ms", "us", "ns")}
_PYTHON: dict[str, type] = {"int": int, "uint": int, "timestamp": int, "float": float, "bool": bool}
_OBJECTS = (np.ndarray, list, tuple)
_READERS: dict[type, Callable[[ColumnType, Any], Array | None]] = {
    np.ndarray: _of_numpy,
    pa.ChunkedArray: _of_chunks,
    list: _of_list,
    tuple: _of_list,
}
