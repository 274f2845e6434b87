"""Rows as messages: a JSON object each, or named fields of text."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eddy.connect.address import Address
from eddy.errors import EddyError
from eddy.sinks.formats import as_text, json_bytes


def check_json(address: Address, format: str | None) -> None:
    """EddyError for another format than JSON."""
    if format not in (None, "json", "jsonl"):
        raise EddyError(f"results go to {address} as json, not as {format!r}")


def json_payloads(table: pa.Table) -> list[bytes]:
    """Each row as a JSON object."""
    return json_bytes(table).splitlines()


def field_payloads(table: pa.Table) -> list[dict[str, Any]]:
    """Each row as fields of text. NULL is a field that is not there; in a row of nothing else the first is empty."""
    names = table.column_names
    columns = [_texts(column).to_pylist() for column in table.columns]
    rows = [
        {name: value for name, value in zip(names, row, strict=True) if value is not None}
        for row in zip(*columns, strict=True)
    ]
    return [row or {names[0]: ""} for row in rows]


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values as text; timestamps as ISO 8601 has them."""
    column = as_text(column)
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz:
        column = column.cast(pa.timestamp(kind.unit, "UTC"))
    if pa.types.is_temporal(kind):
        return pc.replace_substring(column.cast(pa.string()), " ", "T")
    return column.cast(pa.string())
