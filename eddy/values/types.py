"""Column types, and columns of values.

A column has a type that the caller knows (`timestamp[us]`, `string`) and a plain storage dtype that kernels
know. Timestamps are stored as int64 in their own unit, strings as int64 codes of the engine's pool; NULL
lives in a separate mask, so that every dtype is nullable.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from attrs import define, field, frozen

from eddy.errors import QueryError
from eddy.shown import shown
from eddy.values.zones import zone_named

Array = np.ndarray[Any, Any]
DType = np.dtype[np.generic]


class Values(Protocol):
    """A column as somebody gives it: a list, an array of numpy, or one of Arrow, pandas or polars."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: int, /) -> object: ...


Columns = Mapping[str, Values]
"""The columns of some rows of one stream, by name."""
Sample = Mapping[str, Columns]
"""Some rows of some streams."""

# Units of time, coarse to fine, with the number of them in a second.
UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")

_ALIASES = {
    "int": "int64",
    "float": "float64",
    "double": "float64",
    "boolean": "bool",
    "str": "string",
    "utf8": "string",
    "large_string": "string",
    "timestamp": "timestamp[us]",
}
_PYTHON: dict[Any, str] = {
    int: "int64",
    float: "float64",
    bool: "bool",
    str: "string",
    datetime.datetime: "timestamp[us]",
}
_TIMESTAMP = re.compile(r"(?:timestamp|datetime64)\[\s*(s|ms|us|ns)\s*(?:,\s*(?:tz=)?([^\]]+?)\s*)?\]")


@frozen
class ColumnType:
    """The type of a column or of an expression. Two types are equal when their names are."""

    name: str
    # int, uint, float, bool, string or timestamp; in expressions also duration and null; of results also list
    kind: str = field(eq=False)
    dtype: DType = field(eq=False, repr=False)
    arrow: pa.DataType = field(eq=False, repr=False)
    unit: str | None = field(default=None, eq=False)
    zone: str | None = field(default=None, eq=False)
    item: ColumnType | None = field(default=None, eq=False)
    """Of a list: the type of its values."""
    direct: DType = field(init=False, eq=False, repr=False)
    """The dtype of arrays that are columns as they are. Strings are coded first, so no array has theirs."""

    @direct.default
    def _direct(self) -> DType:
        return np.dtype([("string", "V1")]) if self.kind == "string" else self.dtype

    def __str__(self) -> str:
        return self.name

    def with_unit(self, unit: str) -> ColumnType:
        """The same kind of time in another unit."""
        return duration_type(unit) if self.kind == "duration" else timestamp_type(unit, self.zone)

    @property
    def is_integer(self) -> bool:
        """Signed or unsigned, of any width."""
        return self.kind in ("int", "uint")

    @property
    def is_number(self) -> bool:
        """Integer or float, not bool."""
        return self.kind in ("int", "uint", "float")


@define(eq=False)
class Column:
    """Values and, where some are NULL, a mask of those that are not.

    `values` is an array of the storage dtype; strings are a pyarrow string array without nulls where
    expressions and results see them, int64 codes inside the engine. What stands in `values` where `valid` is
    False means nothing. (Not frozen: columns are made on the hot path, and a frozen one takes three times as long.)
    """

    values: Any
    valid: Array | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def known(self) -> Array:
        """Which values are not NULL, as a mask of the length of the column."""
        return np.ones(len(self.values), np.bool_) if self.valid is None else self.valid

    def take(self, where: slice | Array) -> Column:
        """The values at ``where``: those of a slice, which share memory, or copies of those at an array of indexes."""
        if isinstance(where, slice):
            return Column(self.values[where], None if self.valid is None else self.valid[where])
        indexes = where if isinstance(self.values, np.ndarray) else _arrow_indexes(where)
        return Column(self.values.take(indexes), None if self.valid is None else self.valid.take(where))

    def copied(self) -> Column:
        """The same column in memory of its own. Arrow's values never change, so they stay where they are."""
        values = self.values.copy() if isinstance(self.values, np.ndarray) else self.values
        return Column(values, None if self.valid is None else self.valid.copy())

    @staticmethod
    def concat(columns: Sequence[Column]) -> Column:
        """The values of several columns of one type, at least one, in their order."""
        valid = None
        if any(column.valid is not None for column in columns):
            valid = np.concatenate([column.known for column in columns])
        if isinstance(columns[0].values, np.ndarray):
            return Column(np.concatenate([column.values for column in columns]), valid)
        chunks = [
            chunk
            for c in columns
            for chunk in (c.values.chunks if isinstance(c.values, pa.ChunkedArray) else [c.values])
        ]
        return Column(pa.chunked_array(chunks, chunks[0].type if chunks else pa.string()), valid)


def _arrow_indexes(where: Array) -> pa.Array:
    """Indexes as Arrow takes them. (Given an array of numpy, it would import pandas wherever that is installed.)"""
    indexes = np.ascontiguousarray(where, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(indexes), [None, pa.py_buffer(indexes.view(np.uint8))])


def timestamp_type(unit: str, zone: str | None = None) -> ColumnType:
    """A point in time, stored as int64 since 1970; with a zone it is an instant, and stored in UTC."""
    name = f"timestamp[{unit}, {zone}]" if zone else f"timestamp[{unit}]"
    return ColumnType(name, "timestamp", np.dtype("int64"), pa.timestamp(unit, zone), unit, zone)


def duration_type(unit: str) -> ColumnType:
    """A length of time: the difference of two timestamps. Expressions have it, columns do not."""
    return ColumnType(f"duration[{unit}]", "duration", np.dtype("int64"), pa.duration(unit), unit)


def list_type(item: ColumnType) -> ColumnType:
    """Lists of values of a type: what ARRAY_AGG shows. Columns of streams and expressions have none."""
    return ColumnType(f"list[{item}]", "list", np.dtype(np.int64), pa.list_(item.arrow), item=item)


def finest(*units: str) -> str:
    """The finest of some units of time."""
    return max(units, key=UNITS.__getitem__)


def _plain(name: str) -> ColumnType:
    if name == "string":
        return ColumnType(name, "string", np.dtype("int64"), pa.string())
    dtype = np.dtype(name)
    kind = {"i": "int", "u": "uint", "f": "float", "b": "bool"}[dtype.kind]
    return ColumnType(name, kind, dtype, pa.from_numpy_dtype(dtype))


INT64, UINT64, FLOAT64 = _plain("int64"), _plain("uint64"), _plain("float64")
BOOL, STRING = _plain("bool"), _plain("string")
NULL = ColumnType("NULL", "null", np.dtype("bool"), pa.null())


def _name_of(spec: Any) -> str | None:
    """The name under which `column_type` knows the spec; None for what it does not know at all."""
    if isinstance(spec, str):
        return _ALIASES.get(spec.strip(), spec.strip())
    if isinstance(spec, pa.DataType):
        if pa.types.is_dictionary(spec):
            return _name_of(spec.value_type)
        if pa.types.is_string(spec) or pa.types.is_large_string(spec) or pa.types.is_string_view(spec):
            return "string"
        return {"float": "float32", "double": "float64"}.get(str(spec), str(spec))
    if spec is None:
        return None
    try:
        if spec in _PYTHON:
            return _PYTHON[spec]
        dtype = np.dtype(spec)
    except TypeError:
        return None
    return "string" if dtype.kind in "UT" else dtype.name


def column_type(spec: object) -> ColumnType:
    """The type that a spec names: "int64", "timestamp[ns, Europe/Berlin]", a numpy or pyarrow type, int."""
    if isinstance(spec, ColumnType):
        return spec
    name = _name_of(spec)
    if name is not None:
        if name in INTEGERS or name in FLOATS or name in ("bool", "string"):
            return _plain(name)
        match = _TIMESTAMP.fullmatch(name)
        if match:
            return timestamp_type(match[1], match[2] and zone_named(match[2]))
    if not isinstance(spec, (str, type, np.dtype, pa.DataType)) and hasattr(spec, "__len__"):
        raise QueryError(
            "values are not a type: give that of the column, such as 'int64', and push the values later, "
            f"not {shown(spec)}"
        )
    raise QueryError(
        f"unknown column type {shown(spec)}: use int8 to int64, uint8 to uint64, float32, float64, bool, string, "
        "or timestamp[s|ms|us|ns] with or without a zone, such as 'timestamp[us, Europe/Berlin]'"
    )
