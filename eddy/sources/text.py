"""CSV and JSON lines: blocks of lines become rows of given types, read by pyarrow, or an error that says why not."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any, Protocol

import pyarrow as pa

from eddy.errors import EddyError

_EMPTY = [""]
"""What is NULL in CSV: a field with nothing in it, and no quotes."""
_BOM = b"\xef\xbb\xbf"


class Reader(Protocol):
    """Reads blocks of one file."""

    def begin(self, header: bytes) -> str | None:
        """The first line of the file, where the format has one; a column that it lacks is returned."""

    def read(self, block: bytes, lines: int) -> pa.RecordBatch | Exception:
        """The rows of so many lines; an error if there is one, or if they are not as many rows."""

    def reason(self, error: Exception) -> str:
        """What is wrong with the one line that gave this error."""


class Format(Protocol):
    """A format of lines."""

    has_header: bool

    def reader(self, name: str, columns: dict[str, pa.DataType]) -> Any:
        """For the columns that are wanted."""

    def inferred(self, name: str, sample: bytes) -> pa.Schema:
        """The columns of a file that begins like this."""


class Csv:
    """Comma-separated values with a header; or with another separator."""

    has_header = True

    def __init__(self, delimiter: str = ",") -> None:
        self.delimiter = delimiter

    def reader(self, name: str, columns: dict[str, pa.DataType]) -> CsvReader:
        return CsvReader(self, columns)

    def inferred(self, name: str, sample: bytes) -> pa.Schema:
        if not sample.strip():
            raise EddyError(f"{name} is empty: a CSV file has a first line with the names of its columns")
        try:
            return _usable(self.table(sample, None, {}).schema)
        except pa.ArrowException as error:
            raise EddyError(
                f"{name}: {_first(error)}; give its schema, as in schema={{'ts': 'timestamp'}}"
            ) from error

    def table(self, block: bytes, names: list[str] | None, types: dict[str, pa.DataType]) -> pa.Table:
        """The rows of a block; with names it has no header."""
        import pyarrow.csv as pac

        return pac.read_csv(
            io.BytesIO(block),
            pac.ReadOptions(use_threads=False, block_size=max(len(block) + 1, 1 << 10), column_names=names),
            pac.ParseOptions(delimiter=self.delimiter, invalid_row_handler=_skip if names is None else None),
            pac.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=_EMPTY,
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )


class CsvReader:
    """Reads blocks of one CSV file."""

    def __init__(self, format: Csv, columns: dict[str, pa.DataType]) -> None:
        self.format, self.columns = format, columns
        self.names: list[str] = []

    def begin(self, header: bytes) -> str | None:
        header = header.removeprefix(_BOM)
        try:
            self.names = self.format.table(header, None, {}).column_names if header.strip() else []
        except pa.ArrowException:
            self.names = []
        return next((name for name in self.columns if name not in self.names), None)

    def read(self, block: bytes, lines: int) -> pa.RecordBatch | Exception:
        try:
            return _one(self.format.table(block, self.names, self.columns), lines)
        except pa.ArrowException as error:
            return error

    def reason(self, error: Exception) -> str:
        text = re.sub(r"^Row #\d+: ", "", _first(error).removeprefix("CSV parse error: "))
        found = re.match(r"In CSV column #(\d+): (?:Row #\d+: )?(.*)", text)
        if found:
            told = re.sub(
                r"CSV conversion error to (.*): invalid value (.*)", r"\2 does not fit \1", found[2]
            )
            return f"column {self.names[int(found[1])]}: {told}"
        count = re.match(r"Expected \d+ columns, got \d+", text)
        return count[0] if count else text


class JsonLines:
    """One JSON object in a line. A key that is missing is NULL, and one that nobody asked for is passed over."""

    has_header = False

    def reader(self, name: str, columns: dict[str, pa.DataType]) -> JsonReader:
        return JsonReader(columns)

    def inferred(self, name: str, sample: bytes) -> pa.Schema:
        import pyarrow.json as paj

        if not sample.strip():
            raise EddyError(f"{name} is empty: give its schema, as in schema={{'ts': 'timestamp'}}")
        lines = [line for line in sample.splitlines(keepends=True) if line.strip()]
        for count in (len(lines), 100, 1):
            try:
                table = paj.read_json(
                    io.BytesIO(b"".join(lines[:count])),
                    paj.ReadOptions(use_threads=False, block_size=1 << 26),
                )
                return _usable(table.schema)
            except pa.ArrowException as error:
                last = error
        raise EddyError(f"{name}: {_first(last)}; a file of JSON lines has one object in a line") from last


class JsonReader:
    """Reads blocks of one file of JSON lines."""

    def __init__(self, columns: dict[str, pa.DataType]) -> None:
        import pyarrow.json as paj

        self.schema = pa.schema(list(columns.items()))
        self.options = paj.ParseOptions(explicit_schema=self.schema, unexpected_field_behavior="ignore")
        self.read_json, self.reading = paj.read_json, paj.ReadOptions

    def begin(self, header: bytes) -> str | None:
        return None

    def read(self, block: bytes, lines: int) -> pa.RecordBatch | Exception:
        try:
            if not block.isascii():
                block.decode("utf-8")
            options = self.reading(use_threads=False, block_size=max(len(block) + 1, 1 << 10))
            table = self.read_json(io.BytesIO(block), options, self.options)
            return _one(table.select(self.schema.names), lines)
        except (pa.ArrowException, UnicodeDecodeError) as error:
            return error

    def reason(self, error: Exception) -> str:
        if isinstance(error, UnicodeDecodeError):
            return "not UTF-8"
        text = re.sub(r" in row \d+$", "", _first(error).removeprefix("JSON parse error: ").rstrip("."))
        found = re.match(r"Column\(/?(.*?)\) changed from (\w+) to (\w+)", text)
        if found:
            return (
                f"column {found[1]}: a {found[3]}, not a {found[2]}"
                if found[1]
                else f"no object, but {found[3]}"
            )
        return text


LINES: dict[str, Callable[[], Format]] = {"csv": Csv, "tsv": lambda: Csv("\t"), "jsonl": JsonLines}
"""The formats of lines."""


def _one(table: pa.Table, lines: int) -> pa.RecordBatch | Exception:
    """The table as one batch, if every line is a row of it."""
    if table.num_rows != lines:
        return ValueError("no row of its own" if table.num_rows else "empty")
    columns = [column.combine_chunks() for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def _skip(row: Any) -> str:
    """A bad line says nothing of types."""
    return "skip"


def _usable(schema: pa.Schema) -> pa.Schema:
    """The types that were inferred: a column with nothing in it may be anything, and is text; a date is a timestamp."""
    fields = []
    for one in schema:
        kind = one.type
        if pa.types.is_null(kind) or pa.types.is_time(kind):
            kind = pa.string()
        elif pa.types.is_date(kind):
            kind = pa.timestamp("s")
        elif pa.types.is_binary(kind):
            kind = pa.string()
        elif pa.types.is_timestamp(kind) and kind.unit != "ns":
            kind = pa.timestamp("us", kind.tz)
        fields.append(pa.field(one.name, kind))
    return pa.schema(fields)


def _first(error: Exception) -> str:
    """The first line of a message."""
    return (str(error).splitlines() or [type(error).__name__])[0]
