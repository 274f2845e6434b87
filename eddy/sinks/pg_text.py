"""Results as PostgreSQL takes them: types of columns, and rows as CSV for COPY."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_PLAIN = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_uint64, "numeric(20)"),
    (pa.types.is_float32, "real"),
    (pa.types.is_floating, "double precision"),
    (pa.types.is_date, "date"),
    (pa.types.is_time, "time"),
    (pa.types.is_duration, "interval"),
)
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)


def type_of(kind: pa.DataType) -> str:
    """The type of a column that is made for values of this type. What has no counterpart is JSON."""
    if isinstance(kind, pa.UuidType):
        return "uuid"
    if pa.types.is_dictionary(kind):
        return type_of(kind.value_type)
    for test, name in _PLAIN:
        if test(kind):
            return name
    if pa.types.is_integer(kind):
        bits = kind.bit_width * (2 if pa.types.is_unsigned_integer(kind) else 1)
        return {8: "smallint", 16: "smallint", 32: "integer"}.get(bits, "bigint")
    if pa.types.is_timestamp(kind):
        return "timestamptz" if kind.tz else "timestamp"
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    if _is_text(kind):
        return "text"
    return "bytea" if _is_bytes(kind) else "jsonb"


def csv_rows(table: pa.Table) -> bytes:
    """Rows for COPY ... FROM STDIN (FORMAT csv)."""
    import pyarrow.csv as pac

    columns = [_written(column) for column in table.columns]
    out = pa.BufferOutputStream()
    whole = pa.Table.from_arrays(columns, names=[str(place) for place in range(len(columns))])
    pac.write_csv(whole, out, pac.WriteOptions(include_header=False))
    return bytes(out.getvalue())


def _written(column: pa.ChunkedArray) -> Any:
    """A column as types that Arrow writes to CSV in a way that PostgreSQL reads."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _written(column.cast(kind.value_type))
    if isinstance(kind, pa.UuidType):
        return _hex(
            pc.cast(pa.chunked_array([chunk.storage for chunk in column.chunks], pa.binary(16)), pa.binary())
        )
    if pa.types.is_timestamp(kind) and kind.tz:
        return column.cast(pa.timestamp(kind.unit, "UTC"))
    if pa.types.is_duration(kind):
        units = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "microseconds"}[kind.unit]
        counts = column.cast(pa.int64())
        if kind.unit == "ns":
            counts = pc.divide(counts, 1000)
        return pc.binary_join_element_wise(counts.cast(pa.string()), units, " ")
    if pa.types.is_decimal(kind):
        return column.cast(pa.string())
    if _is_bytes(kind):
        return pc.binary_join_element_wise(r"\x", _hex(column.cast(pa.binary())), "")
    if type_of(kind) == "jsonb":
        texts = [
            None if v is None else json.dumps(v, ensure_ascii=False, default=str) for v in column.to_pylist()
        ]
        return pa.array(texts, pa.string())
    return column


def _hex(column: Any) -> Any:
    """The hexadecimal digits of bytes."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], pa.binary())
    valid = np.asarray(whole.is_valid().to_numpy(zero_copy_only=False))
    whole = pc.fill_null(whole, b"")
    offsets = np.frombuffer(whole.buffers()[1], np.int32)[whole.offset : whole.offset + len(whole) + 1]
    buffer = whole.buffers()[2]
    data = (
        np.empty(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)[offsets[0] : offsets[-1]]
    )
    digits = np.empty(2 * len(data), np.uint8)
    digits[0::2], digits[1::2] = _HEX[data >> 4], _HEX[data & 15]
    places = ((offsets - offsets[0]) * 2).astype(np.int32)
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(pa.string(), len(whole), [bits, pa.py_buffer(places), pa.py_buffer(digits)])


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    tests = (
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_binary_view,
        pa.types.is_fixed_size_binary,
    )
    return any(test(kind) for test in tests)
