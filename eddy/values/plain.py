"""Columns that differ from plain arrays only in their make: no value of theirs has to be judged.

What `plain` takes, it takes exactly as `convert` would; what it does not, it leaves to that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.values.types import Array, ColumnType

NAT = np.iinfo(np.int64).min
"""What numpy's datetimes have for NaT."""


def plain(kind: ColumnType, values: Any) -> Array | None:
    """The values as an array of the storage dtype: contiguous, aligned and writeable, but not to be written to.

    None if they are strings, if some are NULL, or if they are of a make or a type that needs a closer look.
    """
    found = _READERS.get(type(values))
    if found is not None:
        return found(kind, values)
    if kind.kind == "string" or isinstance(values, np.ndarray):
        return None
    if isinstance(values, pa.Array):
        return _of_arrow(kind, values)
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(values, pandas.Series):
        return _of_numpy(kind, values.to_numpy()) if isinstance(values.dtype, np.dtype) else None
    return None


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
    return None


def _of_arrow(kind: ColumnType, values: Any) -> Array | None:
    """A copy: Arrow's buffers are read-only."""
    if kind.kind in ("string", "bool") or not values.type.equals(kind.arrow) or values.null_count:
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
    for value in values:
        if type(value) is not expected:
            return None
    try:
        return np.array(values, kind.dtype)
    except OverflowError:
        return None


def _datetimes(kind: ColumnType) -> np.dtype[Any]:
    return _UNITS[str(kind.unit)]


_UNITS = {unit: np.dtype(f"M8[{unit}]") for unit in ("s", "ms", "us", "ns")}
_PYTHON: dict[str, type] = {"int": int, "uint": int, "timestamp": int, "float": float, "bool": bool}
_READERS: dict[type, Callable[[ColumnType, Any], Array | None]] = {
    np.ndarray: _of_numpy,
    pa.ChunkedArray: _of_chunks,
    list: _of_list,
    tuple: _of_list,
}
