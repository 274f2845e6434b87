"""Rows as a stream declares them: what has other types is converted, and rows that do not fit are told apart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, frozen

from eddy.query.stream import Stream
from eddy.sources.base import Bad, Piece
from eddy.sources.isolating import isolated
from eddy.sources.memory import as_table
from eddy.values.types import ColumnType

CONTENT = 500
"""Characters of a bad row that are kept."""


@frozen(eq=False)
class Checked:
    """The good rows of a piece, in declared types, and what was bad."""

    table: pa.Table | None
    bad: tuple[Bad, ...]
    rows: Any = None
    """Which row of the piece each good one is, where some are bad."""

    def __len__(self) -> int:
        return 0 if self.table is None else int(self.table.num_rows)


@define(eq=False)
class Checker:
    """Checks the rows of one stream."""

    stream: Stream

    def check(self, piece: Piece) -> Checked:
        """The rows of a piece that are such of the stream."""
        if piece.rows is None:
            return Checked(None, piece.bad)
        rows, bad = self._table(piece)
        if rows is None or not rows.num_rows:
            return Checked(None, (*piece.bad, *bad))
        columns, wrong = {}, np.zeros(rows.num_rows, np.bool_)
        for name, kind in self.stream.columns.items():
            if name not in rows.schema.names:
                whole = Bad(f"column {name} is missing", row=piece.line(0), rows=rows.num_rows)
                return Checked(None, (*piece.bad, *bad, whole))
            column, failed = fitting(rows.column(name), kind)
            if name == self.stream.time and column.null_count:
                nulls = set(np.flatnonzero(pc.is_null(column).to_numpy(zero_copy_only=False)).tolist())
                failed |= dict.fromkeys(nulls - failed.keys(), "the time is NULL")
            columns[name] = column
            for row, reason in failed.items():
                if not wrong[row]:
                    bad.append(
                        Bad(
                            _reason(name, reason), _content(rows, row), piece.line(row), file=piece.place(row)
                        )
                    )
                wrong[row] = True
        table = pa.table(columns)
        found = sorted((*piece.bad, *bad), key=lambda one: one.row or 0)
        if not wrong.any():
            return Checked(table, tuple(found))
        return Checked(table.filter(pa.array(~wrong)), tuple(found), np.flatnonzero(~wrong))

    def _table(self, piece: Piece) -> tuple[Any, list[Bad]]:
        """The rows as Arrow."""
        if isinstance(piece.rows, (pa.RecordBatch, pa.Table)):
            return piece.rows, []
        rows = piece.rows
        try:
            return as_table(rows), []
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            if not isinstance(rows, Mapping):
                raise
            return self._isolated(rows, piece, error)

    def _isolated(self, rows: Mapping[str, Any], piece: Piece, error: Exception) -> tuple[Any, list[Bad]]:
        """The rows of a dict of columns that Arrow does not take as a whole."""
        lengths = {name: len(values) for name, values in rows.items()}
        if len(set(lengths.values())) != 1:
            whole = Bad(
                f"columns of different lengths: {lengths}", row=piece.line(0), rows=max(lengths.values())
            )
            return None, [whole]
        wanted = {name: kind.arrow for name, kind in self.stream.columns.items() if name in rows}

        def some(start: int, stop: int) -> Any:
            try:
                return pa.table(
                    {name: pa.array(rows[name][start:stop], kind) for name, kind in wanted.items()}
                )
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as wrong:
                return wrong

        good, failed = isolated(some, 0, next(iter(lengths.values())))
        bad = [
            Bad(str(wrong).splitlines()[0], row=piece.line(row), file=piece.place(row))
            for row, wrong in failed
        ]
        return (pa.concat_tables(good) if good else None), bad


def fitting(column: Any, kind: ColumnType) -> tuple[Any, dict[int, str]]:
    """A column as its declared type, and the rows that it has no such value of, with the reason."""
    want, have = kind.arrow, column.type
    if have == want:
        return column, {}
    text = pa.types.is_string(have) or pa.types.is_large_string(have) or pa.types.is_string_view(have)
    coded = pa.types.is_dictionary(have) and kind.kind == "string"
    if coded and pa.types.is_string(have.value_type):
        return column, {}
    zones = (
        pa.types.is_timestamp(have) and pa.types.is_timestamp(want) and (have.tz is None) != (want.tz is None)
    )
    if zones or (text != (kind.kind == "string") and not coded):
        return pa.nulls(len(column), want), dict.fromkeys(range(len(column)), f"{have}, not {kind}")

    def some(start: int, stop: int) -> Any:
        try:
            return column.slice(start, stop - start).cast(want)
        except pa.ArrowException as error:
            if stop - start > 1:
                return error
            return _Failed(error)

    whole = some(0, len(column))
    if not isinstance(whole, (Exception, _Failed)):
        return whole, {}
    parts, _ = isolated(some, 0, len(column))
    failed: dict[int, str] = {}
    chunks: list[Any] = []
    row = 0
    for part in parts:
        if isinstance(part, _Failed):
            failed[row] = f"{column[row].as_py()!r} does not fit {kind}"
            part = pa.nulls(1, want)
        chunks += part.chunks if isinstance(part, pa.ChunkedArray) else [part]
        row += len(part)
    return pa.chunked_array(chunks, want), failed


@frozen
class _Failed:
    """One value that cannot be converted."""

    error: Exception


def _reason(column: str, reason: str) -> str:
    return f"column {column}: {reason}"


def _content(rows: Any, row: int) -> str:
    """A row as text."""
    (found,) = rows.slice(row, 1).to_pylist()
    return json.dumps(found, ensure_ascii=False, default=str)[:CONTENT]
