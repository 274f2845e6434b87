"""Rows that a program has, or yields: tables, frames, dicts of arrays, and iterables of these."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from eddy.errors import EddyError
from eddy.shown import kind_of
from eddy.sources.awaited import Awaited
from eddy.sources.base import BATCH, Piece, Source


class Table(Source):
    """One table, in pieces."""

    def __init__(self, table: pa.Table, time: str | None, batch: int = BATCH) -> None:
        self.table, self.time, self.batch = table, time, batch
        self.schema, self.name = table.schema, "a table"

    def narrowed(self, columns: Mapping[str, pa.DataType], batch: int | None = None) -> Source:
        wanted = [name for name in columns if name in self.table.column_names]
        return Table(self.table.select(wanted), self.time, batch or self.batch)

    def read(self, position: Any) -> Iterator[Piece]:
        for start in range(position or 0, self.table.num_rows, self.batch):
            rows = self.table.slice(start, self.batch)
            yield Piece(rows, start + rows.num_rows, first=start + 1)

    def size(self) -> int | None:
        return int(self.table.num_rows)

    def reached(self, position: Any) -> int | None:
        return int(position)

    def disorder(self, column: str, kind: pa.DataType) -> int | None:
        from eddy.sources.progress import worst

        return worst(self.read(None), column, kind)


class Yielded(Source):
    """What an iterable yields, once: batches, with no way back."""

    seekable = False

    def __init__(self, batches: Iterable[Any], schema: Any, time: str | None, bounded: bool = True) -> None:
        self.schema, self.time, self.bounded, self.name = schema, time, bounded, "an iterable"
        self._batches: Iterator[Any] | None = iter(batches)

    def read(self, position: Any) -> Iterator[tuple[Any, Any]]:
        if self._batches is None or position is not None:
            raise EddyError("an iterable is read once: give one for each stream and each run")
        batches, self._batches = self._batches, None
        return ((batch, number) for number, batch in enumerate(batches, 1))


def in_memory(rows: Any, schema: Any, time: str | None) -> Source:
    """The source that an object is."""
    table = as_table(rows)
    if table is not None:
        return Table(table, time)
    if isinstance(rows, AsyncIterable):
        return Awaited(rows, schema, time)
    if not isinstance(rows, Iterable) or isinstance(rows, (str, bytes)):
        raise EddyError(
            f"a source is a path, a table, a frame, a dict of columns or an iterable of batches, not a {kind_of(rows)}"
        )
    batches = iter(rows)
    if schema is None:
        first = next(batches, None)
        table = None if first is None else as_table(first)
        if table is None:
            raise EddyError(
                "an iterable of batches needs its schema: eddy.source(batches, schema={'ts': 'int64'})"
            )
        schema, batches = table.schema, _first_and(first, batches)
    return Yielded(batches, schema, time)


def as_table(rows: Any) -> pa.Table | None:
    """Arrow, pandas, polars or a dict of columns as an Arrow table; None for anything else."""
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if isinstance(rows, pa.Table):
        return rows
    if isinstance(rows, Mapping):
        return pa.table(dict(rows))
    if kind_of(rows) == "pandas.DataFrame":
        return pa.Table.from_pandas(rows, preserve_index=False)
    if hasattr(rows, "__arrow_c_stream__") and not isinstance(rows, pa.RecordBatchReader):
        return pa.table(rows)
    return None


def _first_and(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest
