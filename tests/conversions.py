"""One column of a batch, converted: what tests of conversion have in common."""

from __future__ import annotations

import datetime as dt
import math
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from eddy.errors import BatchError
from eddy.intake.columns import normalise
from eddy.values.types import Column, column_type

NAN = math.nan
UTC = dt.timezone.utc
NOON = dt.datetime(2024, 1, 1, 12)
NOON_US = 1_704_110_400_000_000
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def stream_of(time: str | None = None, strict: bool = False, **columns: str) -> Any:
    kinds = {name: column_type(kind) for name, kind in columns.items()}
    return SimpleNamespace(columns=kinds, time=time, strict=strict, parse=False)


def one(kind: str, values: Any) -> Column:
    """A batch of one column, normalised."""
    columns, n = normalise("A", stream_of(x=kind), {"x": values})
    column = columns["x"]
    assert n == len(column.values)
    if kind.startswith("string"):
        assert column.values.type == pa.string() and column.values.null_count == 0
    else:
        assert column.values.dtype == column_type(kind).dtype and column.values.flags.carray
    return column


def listed(kind: str, values: Any) -> list:
    """The values as Python sees them, NULL as None."""
    column = one(kind, values)
    plain = column.values.to_pylist() if kind == "string" else column.values.tolist()
    valid = column.known.tolist()
    return [value if known else None for value, known in zip(plain, valid, strict=True)]


def refused(kind: str, values: Any, match: str | None = None) -> None:
    with pytest.raises(BatchError, match=match) as caught:
        one(kind, values)
    assert "stream A, column 'x'" in str(caught.value)


def same(left: list, right: list) -> bool:
    return [repr(value) for value in left] == [repr(value) for value in right]
