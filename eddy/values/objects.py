"""Python values, in lists and in arrays of objects, as Arrow.

The type is inferred, not imposed: imposing int64 on 1.5 would cut it to 1 without a word. But where Arrow's inference
goes by the first value and changes others to suit it, or fails on a value that the column can hold, it is not asked.
"""

from __future__ import annotations

import decimal
import math
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.errors import BatchError
from eddy.values import arrow
from eddy.values.special_objects import OBJECTS, ZONED, alike
from eddy.values.types import ColumnType

_LONG: Any = np.longdouble
_TEXTS, _STRING = {str, type(None)}, pa.string()


def inferred(kind: ColumnType, values: list[object], nan_is_null: bool) -> pa.Array:
    """The values in whatever type they are, for a column of this kind."""
    types = set(map(type, values))
    if kind.kind == "string" and types <= _TEXTS:
        return pa.array(values, _STRING)
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        missing = {type(pandas.NA), type(pandas.NaT)}
        if not types.isdisjoint(missing):
            values = [None if type(value) in missing else value for value in values]
            types = set(map(type, values))
    if kind.kind == "timestamp":
        return _times(values, nan_is_null)
    if kind.kind in OBJECTS:
        return OBJECTS[kind.kind](kind, values, nan_is_null)
    if kind.kind == "float" and any(issubclass(of, (decimal.Decimal, _LONG)) for of in types):
        return floats(kind, values)
    if kind.is_integer and _LONG in types:
        values = [_whole(value) if isinstance(value, _LONG) else value for value in values]
    try:
        return pa.array(values, from_pandas=nan_is_null)
    except (OverflowError, pa.ArrowInvalid):
        if kind.kind == "float" and all(issubclass(of, _NUMBERS) for of in types):
            return floats(kind, values)
        if kind.kind != "uint" or any(issubclass(of, (float, np.floating)) for of in types):
            raise
        return pa.array(values, pa.uint64())


def _times(values: list[object], nan_is_null: bool) -> pa.Array:
    """Times of one make; nanoseconds are kept, which only pandas' Timestamp has."""
    makes = alike(values)
    if any(getattr(value, "nanosecond", 0) for value in values):
        nanoseconds = pa.timestamp("ns", "UTC" if ZONED in makes else None)
        return pa.array(values, nanoseconds, from_pandas=nan_is_null)
    return pa.array(values, from_pandas=nan_is_null)


def _whole(value: Any) -> int:
    if not value.is_integer():
        raise BatchError(f"{value} is no integer; round it first, or declare the column as float64")
    return int(value)


_NUMBERS = (int, float, np.integer, np.floating, np.bool_, decimal.Decimal, type(None))


def floats(kind: ColumnType, values: Iterable[object]) -> pa.Array:
    """Numbers as a float column takes them: fractions are rounded to the nearest, integers must be exact."""
    found = [None if value is None else _float(kind, value) for value in values]
    valid = np.array([value is not None for value in found], bool)
    stored = np.array([0.0 if value is None else value for value in found], kind.dtype)
    return arrow.from_numpy(stored, None if valid.all() else valid, kind.arrow)


def _float(kind: ColumnType, value: object) -> Any:
    wide: Any
    if isinstance(value, (int, np.integer, np.bool_)):
        return _exact(kind, int(value))
    if isinstance(value, decimal.Decimal):
        infinite, wide = value.is_infinite(), _sticky(value) if kind.dtype.itemsize < 8 else float(value)
    elif isinstance(value, (float, np.floating)):
        infinite, wide = bool(np.isinf(value)), value
    else:
        raise TypeError(f"{value!r} is no number")
    with np.errstate(over="ignore"):
        near = np.asarray(wide).astype(kind.dtype)[()]
    if np.isinf(near) and not infinite:
        raise too_large(kind)
    return near


def _exact(kind: ColumnType, value: int) -> Any:
    try:
        with np.errstate(over="ignore"):
            near = kind.dtype.type(float(value))
    except OverflowError:
        raise too_large(kind) from None
    if not np.isfinite(near):
        raise too_large(kind)
    if int(near) != value:
        raise BatchError(
            f"{kind} cannot hold the integer {value} exactly; declare the column with a type that does"
        )
    return near


def _sticky(value: decimal.Decimal) -> float:
    """A float64 from which float32 is the nearest of the value itself: its last bit is set if it is not exact.

    Rounded twice, a value just beside the middle of two float32 could become that middle, and go the wrong way.
    """
    near = float(value)
    if not math.isfinite(near) or decimal.Decimal(near) == value or np.float64(near).view(np.int64) & 1:
        return near
    return math.nextafter(near, math.inf if value > decimal.Decimal(near) else -math.inf)


def too_large(kind: ColumnType) -> BatchError:
    """For a finite number that would become infinite."""
    wider = "; declare the column as float64" if kind.name == "float32" else "; give a smaller one, or None"
    return BatchError(f"a value is too large for {kind}{wider}")
