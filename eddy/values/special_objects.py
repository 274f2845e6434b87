"""Python's dates, times, durations, Decimals, bytes and UUIDs, and values of opaque types, as Arrow.

Arrow's inference goes by the first value, and changes others to suit it without a word: a datetime among dates loses
its time of day. So values of different makes are refused.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.errors import BatchError
from eddy.values.types import ColumnType

ZONED, ZONELESS = "datetimes with a zone", "datetimes without a zone"


def alike(values: list[object]) -> set[str]:
    """What sort of time the values are, one at most; values that are no times have none."""
    makes = {_make(value) for value in values} - {""}
    if len(makes) > 1:
        raise BatchError(f"these values mix {' and '.join(sorted(makes))}; give all of them alike")
    return makes


def _make(value: object) -> str:
    """What sort of time a value is; nothing if it is none."""
    if isinstance(value, datetime.datetime):
        return ZONELESS if value.tzinfo is None else ZONED
    if isinstance(value, datetime.date):
        return "dates"
    if isinstance(value, datetime.time):
        return "times of day without a zone" if value.tzinfo is None else "times of day with a zone"
    if isinstance(value, np.datetime64):
        return "" if np.isnat(value) else "datetime64"
    if isinstance(value, datetime.timedelta):
        return "timedeltas"
    if isinstance(value, np.timedelta64):
        return "" if np.isnat(value) else "timedelta64"
    if isinstance(value, str):
        return "texts"
    return "integers" if isinstance(value, (int, np.integer)) else ""


def _times(kind: ColumnType, values: list[object], nan_is_null: bool) -> pa.Array:
    """Dates, times of day and durations; nanoseconds are kept, which only pandas' Timedelta has."""
    makes = alike(values)
    if "times of day with a zone" in makes:
        raise BatchError("a time of day has no zone in a column: give times without one")
    if kind.kind == "duration" and any(getattr(value, "nanoseconds", 0) for value in values):
        return pa.array(values, pa.duration("ns"), from_pandas=nan_is_null)
    return pa.array(values, from_pandas=nan_is_null)


def _decimals(kind: ColumnType, values: list[object], nan_is_null: bool) -> pa.Array:
    types = set(map(type, values))
    if str in types or not any(issubclass(of, decimal.Decimal) for of in types):
        return pa.array(values, from_pandas=nan_is_null)
    numbers = [_decimal(value, nan_is_null) for value in values]
    try:
        return pa.array(numbers, kind.arrow)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise BatchError(
            f"not all of these numbers are decimals that {kind} holds exactly; round them first, such as "
            f"round(x, {kind.scale}), or declare more digits"
        ) from None


def _decimal(value: object, nan_is_null: bool) -> Any:
    if isinstance(value, (float, np.floating)):
        if nan_is_null and value != value:
            return None
        value = decimal.Decimal(float(value))
    if isinstance(value, decimal.Decimal) and not value.is_finite():
        if nan_is_null and value.is_nan():
            return None
        raise BatchError(f"{value} is no decimal number: give None in its place")
    return int(value) if isinstance(value, np.integer) else value


def _bytes(kind: ColumnType, values: list[object], nan_is_null: bool) -> pa.Array:
    if any(isinstance(value, str) for value in values):
        raise BatchError(
            f"this column is {kind}, and texts are no bytes: encode them first, such as by x.encode()"
        )
    return pa.array(values, from_pandas=nan_is_null)


def _opaque(kind: ColumnType, values: list[object], nan_is_null: bool) -> pa.Array:
    """In whatever type they are; where Arrow does not know it, in that of the column, if that changes nothing."""
    of = kind.inside
    try:
        found = pa.array(values, from_pandas=nan_is_null)
        found.cast(of)
        return found
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        found = pa.array(values, of, from_pandas=nan_is_null)
        if found.to_pylist() != [None if value is None else value for value in values]:
            raise BatchError(f"not all of these values are {kind} exactly; convert them first") from None
        return found


Reader = Callable[[ColumnType, list[object], bool], pa.Array]
OBJECTS: dict[str, Reader] = {
    **dict.fromkeys(("date", "time", "duration"), _times),
    "decimal": _decimals,
    "binary": _bytes,
    "opaque": _opaque,
}
