"""Parquet and Arrow IPC files: tables that know their rows, so a position is a file and a row in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from attrs import evolve, field, frozen

from eddy.errors import EddyError
from eddy.sources.base import BATCH, Bad, Piece, Seen, Source, joined, names_in
from eddy.sources.looking import looked
from eddy.sources.places import Files
from eddy.sources.progress import before, first_with_columns, known_files, total, worst

ROWS = 2 * BATCH
"""Rows of a batch, about, where nobody asks for another number: columns need no room in caches for their text."""


@frozen(eq=False)
class TableFiles(Source):
    """The rows of files that are tables. All have the columns of the first; a row's number is that in its file."""

    files: Files
    format: str
    given: Mapping[str, object] | None = None
    time: str | None = None
    columns: tuple[str, ...] | None = None
    batch: int = ROWS
    follow: bool = False
    seen: Seen | None = None
    schema: pa.Schema = field(init=False)

    @schema.default
    def _schema(self) -> Any:
        if self.given is not None:
            return self.given
        names = self.files.names()
        if not names and self.follow:
            return None  # it is still to come, and the query says what it is to have
        if not names:
            raise self.files.absent()
        return first_with_columns(names, self.files.open, lambda name, file: self._opened(name, file).schema)

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        return not self.follow

    @property
    def ahead(self) -> bool:  # type: ignore[override]
        return not self.follow

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.files.path

    def narrowed(self, columns: Mapping[str, pa.DataType], batch: int | None = None) -> Source:
        schema = dict(columns) if self.given is not None else None
        return evolve(self, columns=tuple(columns), batch=batch or self.batch, given=schema or self.given)

    def completed(self) -> Source:
        names = self.files.names()
        if self.given is None or self.seen is not None or (not names and (self.follow or self.files.many)):
            return self
        schema = evolve(self, given=None).schema
        seen = Seen(tuple(schema.names), names_in(self.given), len(names) == 1 and not self.follow)
        return evolve(self, given=joined(schema, self.given), seen=seen)

    def read(self, position: Any) -> Iterator[Piece]:
        at = position or {"file": "", "row": 0}
        while True:
            names = known_files(self.files, at["file"], self.follow)
            for name in names:
                start = at["row"] if name == at["file"] else 0
                for piece in self._of(name, start, self.follow and name == names[-1]):
                    at = piece.position
                    yield piece
            if not self.follow:
                return
            yield Piece(None, at)

    def _of(self, name: str, start: int, growing: bool) -> Iterator[Piece]:
        """The pieces of a file from a row on. One that is no whole file is bad; or still being written, if it is the
        last of those that grow in number: then it is waited for."""
        with self.files.open(name) as file:
            try:
                table = self._opened(name, file)
            except EddyError as error:
                if not start and not growing:
                    yield Piece(None, {"file": name, "row": 1, "of": 1}, (Bad(str(error), rows=0),), name)
                return
            missing = [column for column in self.columns or () if column not in table.schema.names]
            if missing:
                reason = f"column {missing[0]} is not in the file"
                left = max(table.rows - start, 0)
                yield Piece(
                    None,
                    {"file": name, "row": table.rows, "of": table.rows},
                    (Bad(reason, rows=left),) * bool(left),
                    name,
                )
                return
            row = start
            try:
                for rows in table.batches(start, self.columns, self.batch):
                    yield Piece(
                        rows,
                        {"file": name, "row": row + rows.num_rows, "of": table.rows},
                        file=name,
                        first=row + 1,
                    )
                    row += rows.num_rows
            except (pa.ArrowException, OSError) as error:
                reason = f"the file is damaged from row {row + 1} on: {str(error).splitlines()[0]}"
                left = max(table.rows - row, 0)
                yield Piece(
                    None,
                    {"file": name, "row": table.rows, "of": table.rows},
                    (Bad(reason, row=row + 1, rows=left),),
                    name,
                )

    def _opened(self, name: str, file: BinaryIO) -> Any:
        try:
            return Parquet(file) if self.format == "parquet" else Ipc(file)
        except (pa.ArrowException, OSError) as error:
            kind = "Parquet" if self.format == "parquet" else "Arrow"
            raise EddyError(
                f"{name} is no whole {kind} file: {str(error).splitlines()[0].rstrip('.')}"
            ) from error

    def there(self) -> bool:
        return bool(self.files.names())

    def size(self) -> int | None:
        return total(self.files)

    def reached(self, position: Any) -> int | None:
        done = position["row"] / max(position["of"], 1)
        return before(self.files, position["file"]) + int(self.files.size(position["file"]) * done)

    def disorder(self, column: str, kind: pa.DataType) -> int | None:
        if self.follow:
            return None
        return worst(self._alone(column, kind).read(None), column, kind)

    def look(self, column: str, kind: pa.DataType, room: int) -> tuple[int | None, Source]:
        if self.follow:
            return None, self
        return looked(self, self._alone(column, kind), column, kind, room)

    def _alone(self, column: str, kind: pa.DataType) -> TableFiles:
        """One column, in large pieces."""
        return evolve(self, columns=(column,), batch=2**17)


class Parquet:
    """An open Parquet file."""

    def __init__(self, file: BinaryIO) -> None:
        import pyarrow.parquet as pq

        self.file = pq.ParquetFile(file)
        self.schema: pa.Schema = self.file.schema_arrow
        self.rows: int = self.file.metadata.num_rows

    def batches(self, start: int, columns: tuple[str, ...] | None, size: int) -> Iterator[pa.RecordBatch]:
        """The rows from ``start`` on; row groups before it are not read."""
        meta = self.file.metadata
        ends = np.cumsum([meta.row_group(g).num_rows for g in range(meta.num_row_groups)], dtype=np.int64)
        first = int(np.searchsorted(ends, start, side="right"))
        skip = start - (int(ends[first - 1]) if first else 0)
        groups = list(range(first, meta.num_row_groups))
        if groups:
            found = self.file.iter_batches(
                size, row_groups=groups, columns=None if columns is None else list(columns)
            )
            yield from behind(found, skip)


class Ipc:
    """An open Arrow IPC file, or a stream of one."""

    def __init__(self, file: BinaryIO) -> None:
        magic = file.read(6)
        file.seek(0)
        self.file = pa.ipc.open_file(file) if magic == b"ARROW1" else None
        self.stream = pa.ipc.open_stream(file) if self.file is None else None
        opened: Any = self.stream if self.file is None else self.file
        self.schema: pa.Schema = opened.schema
        counts = self.file and [self.file.get_batch(i).num_rows for i in range(self.file.num_record_batches)]
        self.rows: int = sum(counts or ())

    def batches(self, start: int, columns: tuple[str, ...] | None, size: int) -> Iterator[pa.RecordBatch]:
        """The rows from ``start`` on."""
        whole: Any = self.stream
        if self.file is not None:
            whole = (self.file.get_batch(i) for i in range(self.file.num_record_batches))
        chosen = (batch if columns is None else batch.select(list(columns)) for batch in whole)
        for batch in behind(chosen, start):
            for first in range(0, batch.num_rows, size):
                yield batch.slice(first, size)


def behind(batches: Iterator[pa.RecordBatch], skip: int) -> Iterator[pa.RecordBatch]:
    """The rows behind the first ``skip`` ones."""
    for batch in batches:
        if skip < batch.num_rows:
            yield batch.slice(skip)
        skip = max(skip - batch.num_rows, 0)
