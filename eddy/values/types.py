"""Column types, and columns of values.

A column has a type that the caller knows (`timestamp[us]`, `string`) and a plain storage dtype that kernels
know. Times and durations are stored as whole numbers of their own unit, dates as days, decimals as whole numbers of
their last digit; strings, bytes, UUIDs and opaque values as int64 codes of the engine's pool. NULL lives in a separate
mask, so that every dtype is nullable.
"""

from __future__ import annotations

import base64
import datetime
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from attrs import define, field, frozen

from eddy.errors import QueryError
from eddy.shown import shown
from eddy.values.views import without_views
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

DIGITS = 18
"""Decimals of at most so many digits are numbers, which int64 holds; longer ones are opaque."""

_ALIASES = {
    "int": "int64",
    "float": "float64",
    "double": "float64",
    "boolean": "bool",
    "str": "string",
    "utf8": "string",
    "large_string": "string",
    "timestamp": "timestamp[us]",
    "time": "time[us]",
    "duration": "duration[us]",
    "date32": "date",
    "date64": "date",
    "bytes": "binary",
    "large_binary": "binary",
    "binary_view": "binary",
}
_PYTHON: dict[Any, str] = {
    int: "int64",
    float: "float64",
    bool: "bool",
    str: "string",
    bytes: "binary",
    datetime.datetime: "timestamp[us]",
    datetime.date: "date",
    datetime.time: "time[us]",
    datetime.timedelta: "duration[us]",
    uuid.UUID: "uuid",
}
_TIMESTAMP = re.compile(r"(?:timestamp|datetime64)\[\s*(s|ms|us|ns)\s*(?:,\s*(?:tz=)?([^\]]+?)\s*)?\]")
_TIME = re.compile(r"time(?:32|64)?\[\s*(s|ms|us|ns)\s*\]")
_DURATION = re.compile(r"(?:duration|timedelta64)\[\s*(s|ms|us|ns)\s*\]")
_DECIMAL = re.compile(r"(?:decimal(?:32|64|128|256)?|numeric)\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\)")
_FIXED = re.compile(r"fixed_size_binary\[(\d+)\]")
_OPAQUE = re.compile(r"arrow\[([A-Za-z0-9+/=]+)\]")


@frozen
class ColumnType:
    """The type of a column or of an expression. Two types are equal when their names are."""

    name: str
    # int, uint, float, bool, string, timestamp, date, time, duration, decimal, binary, uuid or opaque; in expressions
    # also null; of results also list
    kind: str = field(eq=False)
    dtype: DType = field(eq=False, repr=False)
    arrow: pa.DataType = field(eq=False, repr=False)
    unit: str | None = field(default=None, eq=False)
    zone: str | None = field(default=None, eq=False)
    item: ColumnType | None = field(default=None, eq=False)
    """Of a list: the type of its values."""
    digits: int = field(default=0, eq=False)
    """Of a decimal: its digits, and how many of them are behind the point."""
    scale: int = field(default=0, eq=False)
    is_coded: bool = field(init=False, eq=False, repr=False)
    """Whether the engine keeps codes of a pool, and expressions and results see Arrow's values."""
    direct: DType = field(init=False, eq=False, repr=False)
    """The dtype of arrays that are columns as they are. No array has that of a type whose values are looked at."""

    @is_coded.default
    def _is_coded(self) -> bool:
        return self.kind in ("string", "binary", "uuid", "opaque")

    @direct.default
    def _direct(self) -> DType:
        looked_at = self.is_coded or self.kind in ("decimal", "time")
        return np.dtype([(self.kind, "V1")]) if looked_at else self.dtype

    def __str__(self) -> str:
        return self.name

    def with_unit(self, unit: str) -> ColumnType:
        """The same kind of time in another unit."""
        if self.kind == "time":
            return time_type(unit)
        return duration_type(unit) if self.kind == "duration" else timestamp_type(unit, self.zone)

    @property
    def written(self) -> str:
        """A text that `column_type` takes for this type; its name does, but for opaque types."""
        if self.kind != "opaque":
            return self.name
        schema = pa.schema([pa.field("value", self.arrow)]).serialize().to_pybytes()
        return f"arrow[{base64.b64encode(schema).decode()}]"

    @property
    def inside(self) -> pa.DataType:
        """Of what is coded: the Arrow type in which expressions have it."""
        if self.kind == "opaque":
            return without_views(self.arrow)
        return pa.string() if self.kind == "string" else pa.binary()

    @property
    def is_comparable(self) -> bool:
        """Whether values can be told apart: keys, groups and predicates read no others."""
        return self.kind != "opaque"

    @property
    def is_exact(self) -> bool:
        """Whole numbers and decimals."""
        return self.kind in ("int", "uint", "decimal")

    @property
    def is_day(self) -> bool:
        """A date, or a point in time."""
        return self.kind in ("date", "timestamp")

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

    `values` is an array of the storage dtype. What is coded (`ColumnType.is_coded`) is int64 codes inside the engine;
    where expressions and results see it, strings are a pyarrow string array without nulls, bytes and UUIDs a binary
    one, and opaque values an array of their type, null where they are NULL. What stands in other `values` where `valid`
    is False means nothing. (Not frozen: columns are made on the hot path, and a frozen one takes three times as long.)
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
    """A length of time, such as the difference of two timestamps."""
    return ColumnType(f"duration[{unit}]", "duration", np.dtype("int64"), pa.duration(unit), unit)


def list_type(item: ColumnType) -> ColumnType:
    """Lists of values of a type: what ARRAY_AGG shows. Columns of streams and expressions have none."""
    return ColumnType(f"list[{item}]", "list", np.dtype(np.int64), pa.list_(item.arrow), item=item)


def time_type(unit: str) -> ColumnType:
    """A time of day, stored as the number of units since midnight."""
    short = unit in ("s", "ms")
    of = pa.time32(unit) if short else pa.time64(unit)
    return ColumnType(f"time[{unit}]", "time", np.dtype("int32" if short else "int64"), of, unit)


def decimal_type(digits: int, scale: int = 0) -> ColumnType:
    """Numbers of so many digits, some of them behind the point; stored as int64, so 18 digits are the most."""
    of = pa.decimal128(digits, scale)
    name = f"decimal({digits}, {scale})"
    return ColumnType(name, "decimal", np.dtype("int64"), of, digits=digits, scale=scale)


def opaque_type(of: pa.DataType) -> ColumnType:
    """Values of any type of Arrow's, which are carried and shown, but not compared."""
    return ColumnType(str(of), "opaque", np.dtype("int64"), of)


def finest(*units: str) -> str:
    """The finest of some units of time."""
    return max(units, key=UNITS.__getitem__)


_OTHERS = {
    "string": ("string", "int64", pa.string()),
    "binary": ("binary", "int64", pa.binary()),
    "uuid": ("uuid", "int64", pa.uuid()),
    "date": ("date", "int32", pa.date32()),
}


def _plain(name: str) -> ColumnType:
    if name in _OTHERS:
        kind, storage, of = _OTHERS[name]
        return ColumnType(name, kind, np.dtype(storage), of)
    dtype = np.dtype(name)
    kind = {"i": "int", "u": "uint", "f": "float", "b": "bool"}[dtype.kind]
    return ColumnType(name, kind, dtype, pa.from_numpy_dtype(dtype))


INT64, UINT64, FLOAT64 = _plain("int64"), _plain("uint64"), _plain("float64")
BOOL, STRING, DATE = _plain("bool"), _plain("string"), _plain("date")
BINARY, UUID = _plain("binary"), _plain("uuid")
NULL = ColumnType("NULL", "null", np.dtype("bool"), pa.null())


def _name_of(spec: Any) -> str | None:
    """The name under which `column_type` knows the spec; None for what it does not know at all."""
    if isinstance(spec, str):
        return _ALIASES.get(spec.strip(), spec.strip())
    if isinstance(spec, pa.DataType):
        if pa.types.is_dictionary(spec):
            return _name_of(spec.value_type)
        name = {"float": "float32", "double": "float64", "string_view": "string"}.get(str(spec), str(spec))
        name = {"date32[day]": "date", "date64[ms]": "date", "extension<arrow.uuid>": "uuid"}.get(name, name)
        return _ALIASES.get(name, name)
    if spec is None:
        return None
    try:
        if spec in _PYTHON:
            return _PYTHON[spec]
        dtype = np.dtype(spec)
    except TypeError:
        return None
    if dtype.name == "datetime64[D]":
        return "date"
    return {"U": "string", "T": "string", "S": "binary"}.get(dtype.kind, dtype.name)


def _parametric(name: str) -> ColumnType | None:
    """A type whose name has parameters."""
    if match := _TIMESTAMP.fullmatch(name):
        return timestamp_type(match[1], match[2] and zone_named(match[2]))
    if match := _TIME.fullmatch(name):
        return time_type(match[1])
    if match := _DURATION.fullmatch(name):
        return duration_type(match[1])
    if match := _DECIMAL.fullmatch(name):
        return _decimal(name, int(match[1]), int(match[2] or 0))
    if match := _FIXED.fullmatch(name):
        return ColumnType(name, "binary", np.dtype("int64"), pa.binary(int(match[1])))
    if match := _OPAQUE.fullmatch(name):
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(match[1])))
        return opaque_type(schema.field(0).type)
    return None


def _decimal(name: str, digits: int, scale: int) -> ColumnType:
    if not (1 <= digits <= 76 and 0 <= scale <= digits):
        raise QueryError(
            f"{name} is no decimal type: it has 1 to 76 digits, and between none and all of them behind the point, "
            "such as 'decimal(18, 2)'"
        )
    if digits <= DIGITS:
        return decimal_type(digits, scale)
    return opaque_type(pa.decimal128(digits, scale) if digits <= 38 else pa.decimal256(digits, scale))


def column_type(spec: object) -> ColumnType:
    """The type that a spec names: "int64", "timestamp[ns, Europe/Berlin]", a numpy or pyarrow type, int."""
    if isinstance(spec, ColumnType):
        return spec
    name = _name_of(spec)
    if name is not None:
        if name in INTEGERS or name in FLOATS or name == "bool" or name in _OTHERS:
            return _plain(name)
        found = _parametric(name)
        if found is not None:
            return found
    if isinstance(spec, pa.DataType) and not pa.types.is_null(spec):
        return opaque_type(spec)
    if not isinstance(spec, (str, type, np.dtype, pa.DataType)) and hasattr(spec, "__len__"):
        raise QueryError(
            "values are not a type: give that of the column, such as 'int64', and push the values later, "
            f"not {shown(spec)}"
        )
    raise QueryError(
        f"unknown column type {shown(spec)}: use int8 to int64, uint8 to uint64, float32, float64, bool, string, "
        "timestamp[s|ms|us|ns] with or without a zone, such as 'timestamp[us, Europe/Berlin]', date, time[us], "
        "duration[us], decimal(18, 2), binary, uuid, or any type of pyarrow's"
    )
