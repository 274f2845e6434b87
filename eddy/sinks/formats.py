"""Tables as bytes of files: Parquet, CSV, JSON lines, Arrow IPC."""

from __future__ import annotations

import contextlib
import json
from typing import Any, BinaryIO

import pyarrow as pa

from eddy.errors import EddyError

ENDINGS = {
    **{".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "tsv"},
    **{".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"},
    **{".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow"},
}
LINES = ("csv", "tsv", "jsonl")
"""Formats to whose files more can be appended."""
ENDING = {"parquet": ".parquet", "csv": ".csv", "tsv": ".tsv", "jsonl": ".jsonl", "arrow": ".arrow"}

GROUP = 1 << 17
"""Rows of a group in a file that is a table, about: small ones are read slowly."""


def csv_bytes(table: pa.Table, header: bool, delimiter: str = ",") -> bytes:
    """Rows as CSV."""
    import pyarrow.csv as pac

    if not table.num_rows and not header:
        return b""
    out = pa.BufferOutputStream()
    plain = pa.Table.from_arrays([as_text(column) for column in table.columns], table.column_names)
    # an empty chunk would be written as whatever stands in the writer's memory
    pac.write_csv(plain.combine_chunks(), out, pac.WriteOptions(include_header=header, delimiter=delimiter))
    return bytes(out.getvalue())


def json_bytes(table: pa.Table) -> bytes:
    """Rows as JSON lines. Timestamps are texts as ISO 8601 has them, and what JSON has no number for is null."""
    import pyarrow.compute as pc

    if not table.num_rows:
        return b""
    fields: list[Any] = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        start = f"{', ' if fields else '{'}{json.dumps(name, ensure_ascii=False)}: "
        fields += [start, pc.fill_null(_json(column), "null")]
    lines = pc.binary_join_element_wise(*fields, "}", "")
    return ("\n".join(lines.to_pylist()) + "\n").encode()


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values that have no form of their own in CSV, as text: bytes, which must be UTF-8; UUIDs; JSON of what is nested.
    All others stay as they are."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return as_text(column.cast(kind.value_type))
    if isinstance(kind, pa.UuidType):
        return _of([None if value is None else str(value) for value in column.to_pylist()])
    if pa.types.is_nested(kind):
        return _of(_dumped(column))
    if any(test(kind) for test in _BYTES):
        try:
            return column.cast(pa.binary()).cast(pa.string())
        except pa.ArrowInvalid as error:
            raise EddyError(
                "a result has bytes that are no text (UTF-8), which JSON and CSV cannot hold: write Parquet or Arrow"
            ) from error
    return column


_BYTES = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
)


def _of(texts: list[str | None]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(texts, pa.string())])


def _dumped(column: pa.ChunkedArray) -> list[str | None]:
    """Each value as JSON has it, one by one."""
    values = column.to_pylist()
    return [None if v is None else json.dumps(v, ensure_ascii=False, default=str) for v in values]


def _json(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Each value as JSON writes it; NULL stays NULL."""
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _json(column.cast(kind.value_type))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.string())
    if pa.types.is_floating(kind):
        return pc.if_else(pc.is_finite(column), column.cast(pa.string()), None)
    if pa.types.is_temporal(kind):
        if pa.types.is_timestamp(kind) and kind.tz:
            column = column.cast(pa.timestamp(kind.unit, "UTC"))
        texts = pc.replace_substring(column.cast(pa.string()), " ", "T")
        return pc.binary_join_element_wise('"', texts, '"', "")
    if pa.types.is_string(kind) and not pc.any(pc.match_substring_regex(column, "[\\x00-\\x1f]")).as_py():
        texts = pc.replace_substring(pc.replace_substring(column, "\\", "\\\\"), '"', '\\"')
        return pc.binary_join_element_wise('"', texts, '"', "")
    if any(test(kind) for test in _BYTES):
        return _json(as_text(column))
    return _of(_dumped(column))


class Writer:
    """Writes tables of one schema to an open file."""

    def __init__(self, format: str, file: BinaryIO, schema: pa.Schema, header: bool = True) -> None:
        self.format, self.file, self.header = format, file, header
        self._tables: Any = None
        self._held: list[pa.Table] = []
        self._rows = 0
        if format == "parquet":
            import pyarrow.parquet as pq

            self._tables = pq.ParquetWriter(file, schema)
        elif format == "arrow":
            self._tables = pa.ipc.new_file(file, schema)
        elif format in ("csv", "tsv") and header:
            self._write_csv(schema.empty_table())

    def write(self, table: pa.Table) -> None:
        """More rows."""
        if self._tables is not None:
            self._held.append(table)
            self._rows += table.num_rows
            if self._rows >= GROUP:
                self._put()
        elif self.format == "jsonl":
            self.file.write(json_bytes(table))
        else:
            self._write_csv(table)

    def end(self) -> None:
        """Write what stands at the end of a file; it stays open."""
        if self._tables is not None:
            self._put()
            self._tables.close()

    def abandon(self) -> None:
        """Nobody wants the file: what cannot be written, as on a full disk, is no matter."""
        self._held, self._rows = [], 0
        with contextlib.suppress(OSError, ValueError, pa.ArrowException):
            self.end()
        with contextlib.suppress(OSError, ValueError):
            self.file.close()

    def _put(self) -> None:
        """The rows that are held, as one group of the file."""
        if self._held:
            self._tables.write_table(pa.concat_tables(self._held).combine_chunks())
        self._held, self._rows = [], 0

    def _write_csv(self, table: pa.Table) -> None:
        self.file.write(csv_bytes(table, self.header, "\t" if self.format == "tsv" else ","))
        self.header = False
