"""A table of PostgreSQL, or a query, as rows in the order of their time.

A position is the time of the last row and how many rows of that time, or behind it, were read. What is older than that
may change or go in the meantime.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, field, frozen
from psycopg import sql

from eddy.connect.patience import Patience
from eddy.connect.postgresql import Lost, Server
from eddy.sources.base import BATCH, Bad, Piece, Source
from eddy.sources.pg_columns import PgColumn, schema_of

BYTES = 1 << 22
"""Bytes that are fetched at a time, about."""
WRONG = "eddy wrong"
"""The column that says what is wrong with a row."""


@frozen(eq=False)
class Rows(Source):
    """Rows of a table or a query, as they are when reading begins."""

    server: Server
    origin: sql.Composable
    """What stands behind FROM."""
    title: str
    every: tuple[PgColumn, ...]
    """All columns."""
    key: tuple[str, ...]
    """The primary key; nothing where there is none."""
    ascii: bool
    time: str | None = None
    static: bool = False
    by: str | None = None
    """The column by which rows are ordered."""
    wanted: tuple[PgColumn, ...] = field()
    batch: int = BATCH

    @wanted.default
    def _all(self) -> tuple[PgColumn, ...]:
        return self.every

    @property
    def schema(self) -> pa.Schema:  # type: ignore[override]
        return schema_of(self.every)

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.title

    def narrowed(self, columns: Mapping[str, pa.DataType], batch: int | None = None) -> Source:
        wanted = tuple(column for column in self.every if column.name in columns)
        return evolve(self, wanted=wanted, batch=batch or self.batch)

    def disorder(self, column: str, kind: pa.DataType) -> int | None:
        return 0 if column == self.by else None

    def look(self, column: str, kind: pa.DataType, room: int) -> tuple[int | None, Source]:
        return 0, evolve(self, by=column)

    def read(self, position: Any) -> Iterator[Piece]:
        at = position or {"by": self.by, "at": None, "rows": 0, "row": 0}
        patience = Patience(self.server.address)
        while not at.get("end"):
            try:
                for piece in self._pieces(at):
                    patience.fine()
                    at = piece.position
                    yield piece
                at = {**at, "end": True}
                yield Piece(None, at)
            except Lost as error:
                patience.failed(error)
                patience.wait()

    def _pieces(self, at: dict[str, Any]) -> Iterator[Piece]:
        """The rows behind a position, by one query."""
        with closing(self.server.bulk()) as bulk:
            for batch in bulk.read(self.query(at), BYTES):
                for start in range(0, batch.num_rows, self.batch):
                    piece = self._piece(batch.slice(start, self.batch), at)
                    at = piece.position
                    yield piece

    def query(self, at: Mapping[str, Any]) -> str:
        """The text that gives the rows behind a position."""
        columns = self._asked(at["by"])
        named = [
            sql.SQL("{} AS {}").format(column.expression(self.ascii), sql.Identifier(column.name))
            for column in columns
        ]
        endless = [column for column in columns if column.endless]
        if endless:
            cases = sql.SQL(" ").join(
                sql.SQL("WHEN NOT {} THEN {} || {}::text").format(
                    column.finite, sql.Literal(f"column {column.name}: "), sql.Identifier(column.name)
                )
                for column in endless
            )
            named.append(sql.SQL("CASE {} END AS {}").format(cases, sql.Identifier(WRONG)))
        parts = [sql.SQL("SELECT"), sql.SQL(", ").join(named), sql.SQL("FROM"), self.origin, sql.SQL("AS r")]
        if at["at"] is not None:
            parts.append(sql.SQL("WHERE r.{} >= {}").format(sql.Identifier(at["by"]), sql.Literal(at["at"])))
        order = self._order(at["by"], columns)
        if order:
            parts += [sql.SQL("ORDER BY"), sql.SQL(", ").join(order)]
        parts.append(sql.SQL("OFFSET {}").format(sql.Literal(at["rows"])))
        return sql.SQL(" ").join(parts).as_string(None)

    def _asked(self, by: str | None) -> Sequence[PgColumn]:
        """The columns that are wanted, and the one by which they are ordered."""
        more = [column for column in self.every if column.name == by and column not in self.wanted]
        return [*self.wanted, *more]

    def _order(self, by: str | None, columns: Sequence[PgColumn]) -> list[sql.Composable]:
        """A total order, but for rows that are the same: by the time, and by the key, or else by all that is read.

        What has no order of its own is ordered by its text.
        """
        first = [] if by is None else [sql.SQL("r.{} NULLS FIRST").format(sql.Identifier(by))]
        if self.key:
            return [*first, *(sql.SQL("r.{}").format(sql.Identifier(name)) for name in self.key)]
        rest = [column for column in columns if column.name != by]
        return [*first, *(_sorting(column) for column in rest)]

    def _piece(self, batch: pa.RecordBatch, at: dict[str, Any]) -> Piece:
        """Rows as they are wanted, and the position behind them."""
        first, count = at["row"] + 1, batch.num_rows
        columns, wrong = dict[str, Any](), dict[int, str]()
        for column in self.wanted:
            values, failed = column.taken(batch.column(column.name))
            columns[column.name] = values
            for row, reason in failed.items():
                wrong.setdefault(row, f"column {column.name}: {reason}")
        if WRONG in batch.schema.names:
            told = batch.column(WRONG)
            for row in np.flatnonzero(pc.is_valid(told).to_numpy(zero_copy_only=False)).tolist():
                wrong[row] = f"{told[row].as_py()} is no time that can be told"
        rows, lines = pa.table(columns), None
        bad: tuple[Bad, ...] = ()
        if wrong:
            kept = np.ones(count, np.bool_)
            kept[list(wrong)] = False
            bad = tuple(Bad(wrong[row], _content(rows, row), first + row) for row in sorted(wrong))
            rows, lines = rows.filter(pa.array(kept)), np.flatnonzero(kept) + first
        return Piece(rows, self._behind(batch, at), bad, self.title, first, lines)

    def _behind(self, batch: pa.RecordBatch, at: dict[str, Any]) -> dict[str, Any]:
        """The position behind these rows."""
        count = batch.num_rows
        found = {**at, "rows": at["rows"] + count, "row": at["row"] + count}
        if at["by"] is None:
            return found
        times = batch.column(at["by"])
        known = times.drop_null()
        if not len(known):
            return found
        last = known[len(known) - 1]
        text = pa.array([last.as_py()], last.type).cast(pa.string())[0].as_py()
        place = pc.index(times, last).as_py()
        if text == at["at"] or place < 0:
            return found
        return {**found, "at": text, "rows": count - place}


def _sorting(column: PgColumn) -> sql.Composable:
    name = sql.SQL("r.{}").format(sql.Identifier(column.name))
    return sql.SQL("{}::text").format(name) if column.as_text else name


def _content(rows: pa.Table, row: int) -> str:
    (found,) = rows.slice(row, 1).to_pylist()
    return str({name: value for name, value in found.items() if value is not None})[:500]
