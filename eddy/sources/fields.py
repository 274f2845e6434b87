"""Messages of named fields, all of them text, as entries of Redis streams are: a column a field."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from eddy.connect.address import Address
from eddy.errors import EddyError
from eddy.sources.brokers import needs_schema
from eddy.sources.inferring import schema_of
from eddy.sources.text import Csv

Entry = Mapping[bytes, bytes]


class Fields:
    """Rows of entries. A field that is missing is NULL, and so is an empty one of a column that is not text."""

    def __init__(self, columns: Mapping[str, pa.DataType]) -> None:
        self.columns = dict(columns)

    def read(self, entries: Sequence[Any]) -> pa.RecordBatch | Exception:
        columns = []
        for name, kind in self.columns.items():
            key = name.encode()
            values: list[Any] = [entry.get(key) for entry in entries]
            try:
                if pa.types.is_binary(kind):
                    columns.append(pa.array(values, kind))
                elif pa.types.is_string(kind):
                    columns.append(pa.array(values, pa.binary()).cast(kind))
                else:
                    values = [value or None for value in values]
                    columns.append(pa.array(values, pa.binary()).cast(pa.string()).cast(kind))
            except pa.ArrowException:
                return _Unfit(name, kind, values[0])
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(list(self.columns.items())))

    def reason(self, error: Exception) -> str:
        return str(error)


class _Unfit(Exception):
    """A value, of the one entry that was read."""

    def __init__(self, column: str, kind: pa.DataType, value: bytes | None) -> None:
        try:
            shown = f"{(value or b'').decode()!r} does not fit {kind}"
        except UnicodeDecodeError:
            shown = "not UTF-8"
        super().__init__(f"column {column}: {shown}")


def shown(entry: Entry) -> str:
    """An entry as text."""
    pairs = {
        name.decode("utf-8", "replace"): value.decode("utf-8", "replace") for name, value in entry.items()
    }
    return json.dumps(pairs, ensure_ascii=False)


def inferred(address: Address, first: Iterable[Entry]) -> pa.Schema:
    """The columns of entries that begin like this: their values as in a file of CSV."""
    entries = list(first)
    names = list(dict.fromkeys(name.decode("utf-8", "replace") for entry in entries for name in entry))
    if not names:
        raise EddyError(f"{address} has no messages that say its columns: {needs_schema()}")
    text = io.StringIO()
    rows = csv.DictWriter(text, names)
    rows.writeheader()
    rows.writerows(
        {name.decode("utf-8", "replace"): value.decode("utf-8", "replace") for name, value in entry.items()}
        for entry in entries
    )
    return schema_of(str(address), Csv().inferred(str(address), text.getvalue().encode()))
