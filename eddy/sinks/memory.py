"""Results in memory, and on standard output."""

from __future__ import annotations

import io
import sys
from typing import Any, BinaryIO

import pyarrow as pa

from eddy.errors import EddyError
from eddy.sinks.base import Sink
from eddy.sinks.formats import LINES, Writer


class Memory(Sink):
    """Keeps the tables."""

    overlaps = True

    def __init__(self) -> None:
        self.schema: Any = None
        self.tables: list[pa.Table] = []

    def open(self, schema: pa.Schema, token: Any) -> None:
        self.schema = schema

    def write(self, table: pa.Table) -> None:
        self.tables.append(table)

    def to_arrow(self) -> pa.Table:
        """All that was written, as one table."""
        return pa.concat_tables([self.schema.empty_table(), *self.tables])


class StandardOutput(Sink):
    """Lines on standard output, or an Arrow stream: each result at least once, since what a reader has is gone."""

    overlaps = True

    def __init__(self, format: str, file: BinaryIO | None = None) -> None:
        if format not in (*LINES, "arrow"):
            raise EddyError(f"standard output takes jsonl, csv, tsv or arrow, not {format!r}")
        self.format, self.file = format, file
        self._writer: Any = None

    def open(self, schema: pa.Schema, token: Any) -> None:
        file: Any = sys.stdout.buffer if self.file is None else self.file
        if isinstance(file, io.RawIOBase):  # of `python -u`: it may write a part only, as when a signal comes
            file = open(file.fileno(), "wb", closefd=False)
        self.file = file
        if self.format == "arrow":
            self._writer = pa.ipc.new_stream(file, schema)
        else:
            self._writer = Writer(self.format, file, schema)

    def write(self, table: pa.Table) -> None:
        self._writer.write(table)
        assert self.file is not None
        self.file.flush()

    def close(self) -> None:
        if self.format == "arrow":
            self._writer.close()
        assert self.file is not None
        self.file.flush()
