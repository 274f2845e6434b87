"""CSV and JSON lines: blocks of lines become rows of given types, read by pyarrow, or an error that says why not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Protocol

import pyarrow as pa

from eddy.errors import EddyError
from eddy.shown import first_line
from eddy.sources.clocks import as_texts, is_timestamp, timed
from eddy.sources.inferring import Columns, Inferred, with_units
from eddy.sources.inferring_json import inferred_json
from eddy.sources.mistaken import is_open, refuse_separators
from eddy.sources.suspecting import suspect_csv, suspect_json
from eddy.sources.utf8 import marked, with_header
from eddy.sources.written import is_written, with_values

_EMPTY = [""]
"""What is NULL in CSV: a field with nothing in it, and no quotes."""
_BOM = b"\xef\xbb\xbf"


class Reader(Protocol):
    """Reads blocks of one file."""

    def begin(self, header: bytes) -> str | None:
        """The first line of the file, where the format has one; a column that it lacks is returned."""

    def read(self, block: bytes, lines: int) -> pa.RecordBatch | Exception:
        """The rows of so many lines; an error if there is one, or if they are not as many rows."""

    def suspect(self, line: bytes) -> bool:
        """Whether a line looks as if it were no row."""

    def reason(self, error: Exception) -> str:
        """What is wrong with the one line that gave this error."""


class Format(Protocol):
    """A format of lines."""

    has_header: bool

    def reader(self, name: str, columns: dict[str, pa.DataType]) -> Any:
        """For the columns that are wanted."""

    def inferred(self, name: str, sample: bytes) -> Inferred:
        """The columns of a file that begins like this."""


class Csv:
    """Comma-separated values with a header; or with another separator."""

    has_header = True

    def __init__(self, delimiter: str = ",") -> None:
        self.delimiter = delimiter

    def reader(self, name: str, columns: dict[str, pa.DataType]) -> CsvReader:
        return CsvReader(self, columns)

    def inferred(self, name: str, sample: bytes) -> Inferred:
        if not sample.strip():
            raise EddyError(f"{name} is empty: a CSV file has a first line with the names of its columns")
        sample = with_header(sample)
        try:
            table = with_units(self.table(sample, None, {}))
            refuse_separators(name, table.column_names, self.delimiter)
            named = [one for one in table.schema if one.name]  # those of pandas have an index without a name
            found = Columns({one.name: one.type for one in named})
            unsure = {one.name: pa.string() for one in named if _is_unsure(one.type)}
            if unsure:
                written = self.table(sample, None, unsure)
        except pa.ArrowException as error:
            told = f"{name}: {first_line(error)}; give its schema, as in schema={{'ts': 'timestamp'}}"
            raise EddyError(told) from error
        for column in unsure:
            take = found.floats if pa.types.is_floating(found.kinds[column]) else found.texts
            take(column, written.column(column), True)
        return found.inferred(True)

    def table(self, block: bytes, names: list[str] | None, types: dict[str, pa.DataType]) -> pa.Table:
        """The rows of a block; with names it has no header."""
        import pyarrow.csv as pac

        return pac.read_csv(
            pa.BufferReader(block),
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
        self.written = {name: kind for name, kind in columns.items() if isinstance(kind, pa.UuidType)}
        self.format, self.columns = format, columns | dict.fromkeys(self.written, pa.string())
        self.names: list[str] = []
        self.texts = as_texts(self.columns)
        self.zoned = any(is_timestamp(kind) and kind.tz is not None for kind in columns.values())
        self.suspect: Callable[[bytes], bool] = lambda line: False
        self.local = False
        """Whether times had no zone where their columns have one: then they are read as texts."""

    def begin(self, header: bytes) -> str | None:
        header = marked(header.removeprefix(_BOM))
        try:
            self.names = self.format.table(header, None, {}).column_names if header.strip() else []
        except pa.ArrowException:
            self.names = []
        missing = next((name for name in self.columns if name not in self.names), None)
        if missing is None:
            self.suspect = suspect_csv(self.names, self.columns, self.format.delimiter)
        return missing

    def read(self, block: bytes, lines: int) -> pa.RecordBatch | Exception:
        last = block[block.rfind(b"\n", 0, -1) + 1 :]
        if last.count(b'"') % 2 and is_open(last, self.format.delimiter.encode()):
            return ValueError("a quote that does not end")
        if not self.local:
            try:
                found = _one(self.format.table(block, self.names, self.columns), lines)
                return with_values(found, self.written)
            except pa.ArrowException as error:
                if not self.zoned:
                    return error
        try:
            found = _one(timed(self.format.table(block, self.names, self.texts), self.columns), lines)
            found = with_values(found, self.written)
        except (pa.ArrowException, ValueError) as error:
            return error
        self.local = True
        return found

    def reason(self, error: Exception) -> str:
        text = re.sub(r"^Row #\d+: ", "", first_line(error).removeprefix("CSV parse error: "))
        found = re.match(r"In CSV column #(\d+): (?:Row #\d+: )?(.*)", text)
        if found:
            told = re.sub(
                r"CSV conversion error to (.*): invalid value (.*)", r"\2 does not fit \1", found[2]
            )
            told = re.sub(
                r"CSV conversion error to (.*): expected no zone offset in (.*)",
                r"\2 does not fit \1, which has no zone",
                told,
            )
            return f"column {self.names[int(found[1])]}: {told}"
        count = re.match(r"Expected \d+ columns, got \d+", text)
        return count[0] if count else text


class JsonLines:
    """One JSON object in a line. A key that is missing is NULL, and one that nobody asked for is passed over."""

    has_header = False

    def reader(self, name: str, columns: dict[str, pa.DataType]) -> JsonReader:
        return JsonReader(columns)

    def inferred(self, name: str, sample: bytes) -> Inferred:
        if not sample.strip():
            raise EddyError(f"{name} is empty: give its schema, as in schema={{'ts': 'timestamp'}}")
        return inferred_json(name, sample)


class JsonReader:
    """Reads blocks of one file of JSON lines."""

    def __init__(self, columns: dict[str, pa.DataType]) -> None:
        import pyarrow.json as paj

        self.columns, self.suspect = columns, suspect_json(columns)
        self.written = {name: kind for name, kind in columns.items() if is_written(kind)}
        """Columns whose values are texts."""
        numbers = as_texts(columns)
        texts = numbers | dict.fromkeys(self.written, pa.string())
        self.options, self.numbers = (
            paj.ParseOptions(
                explicit_schema=pa.schema(list(kinds.items())), unexpected_field_behavior="ignore"
            )
            for kinds in (texts, numbers)
        )
        self.read_json, self.reading = paj.read_json, paj.ReadOptions

    def begin(self, header: bytes) -> str | None:
        return None

    def read(self, block: bytes, lines: int) -> pa.RecordBatch | Exception:
        try:
            if not block.isascii():
                block.decode("utf-8")
            options = self.reading(use_threads=False, block_size=max(len(block) + 1, 1 << 10))
            table = self.read_json(pa.BufferReader(block), options, self.options)
            found = _one(timed(table.select(list(self.columns)), self.columns), lines)
            return with_values(found, self.written)
        except UnicodeDecodeError as error:
            return error
        except (pa.ArrowException, ValueError) as error:
            return self._of_numbers(block, lines) or error

    def _of_numbers(self, block: bytes, lines: int) -> pa.RecordBatch | None:
        """The rows, if dates and times are numbers in them: days, or parts of a day."""
        if not self.written:
            return None
        try:
            options = self.reading(use_threads=False, block_size=max(len(block) + 1, 1 << 10))
            table = self.read_json(pa.BufferReader(block), options, self.numbers)
            found = _one(timed(table.select(list(self.columns)), self.columns), lines)
        except (pa.ArrowException, ValueError):
            return None
        return None if isinstance(found, Exception) else found

    def reason(self, error: Exception) -> str:
        if isinstance(error, UnicodeDecodeError):
            return "not UTF-8"
        said = first_line(error).removeprefix("JSON parse error: ").rstrip(".")
        text = re.sub(r"\.? in row \d+$", "", said)
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
    columns = [one.chunk(0) if one.num_chunks == 1 else one.combine_chunks() for one in table.columns]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def _skip(row: Any) -> str:
    """A bad line says nothing of types."""
    return "skip"


def _is_unsure(kind: pa.DataType) -> bool:
    """Whether values that are something else may have made a column what it is."""
    return bool(pa.types.is_string(kind) or pa.types.is_floating(kind))
