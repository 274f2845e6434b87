"""The changes of a table of PostgreSQL, by logical replication: what was inserted are rows, as it was committed.

A slot of the server keeps what was not yet read. It is only looked into; what a checkpoint has is given up afterwards,
so a restart finds all that is behind its position.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
from attrs import evolve, field, frozen

from eddy.connect.patience import Patience
from eddy.connect.postgresql import Bulk, Lost, Server
from eddy.errors import EddyError
from eddy.sources import pgoutput
from eddy.sources.base import BATCH, Bad, Piece, Source
from eddy.sources.pg_columns import PgColumn, from_text, schema_of
from eddy.sources.pg_slot import Slot, ends
from eddy.sources.pgoutput import Messages, Reading, Table
from eddy.values.types import Array

BYTES = 1 << 24
"""Bytes of messages that are fetched at a time, about."""
_OTHERS = {"D": "DELETE", "U": "UPDATE", "T": "TRUNCATE"}


@frozen(eq=False)
class Changes(Source):
    """Rows that are inserted into a table while its slot is there."""

    server: Server
    title: str
    every: tuple[PgColumn, ...]
    slot: Slot
    time: str | None
    bounded: bool
    """Whether it ends where the table is now."""
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
        return f"{self.title}, changes"

    def narrowed(self, columns: Mapping[str, pa.DataType], batch: int | None = None) -> Source:
        wanted = tuple(column for column in self.every if column.name in columns)
        return evolve(self, wanted=wanted, batch=batch or self.batch)

    def read(self, position: Any) -> Iterator[Piece]:
        at = position
        patience = Patience(self.server.address)
        seen = passed = -1
        with contextlib.ExitStack() as opened:
            control: psycopg.Connection[Any] | None = None
            bulk: Bulk | None = None
            while True:
                try:
                    if control is None or bulk is None:
                        opened.close()
                        control = opened.enter_context(contextlib.closing(self.server.connect()))
                        bulk = opened.enter_context(contextlib.closing(self.server.bulk()))
                        start = self._begun(control, at)
                        at = at or {"lsn": start, "rows": 0, "row": 0}
                    with self.server.explained():
                        inserted, flushed = ends(control)
                    if flushed != seen:
                        for piece in self._round(bulk, at):
                            at = piece.position
                            yield piece
                    patience.fine()
                except Lost as error:
                    control = bulk = None
                    patience.failed(error)
                    patience.wait()
                    continue
                if at["lsn"] < passed <= flushed:  # where a record ended: all before it was read
                    at = {**at, "lsn": passed, "rows": 0}
                seen, passed = flushed, passed if passed > flushed else inserted
                yield Piece(None, at)
                if self.bounded:
                    return

    def committed(self, position: Any) -> None:
        """What lies before a position is not asked for again, so the server need not keep it."""
        with contextlib.suppress(Lost, EddyError, psycopg.Error), self.server.connect() as control:
            self.slot.advance(control, position["lsn"])

    def _begun(self, control: psycopg.Connection[Any], at: Any) -> int:
        """Where the slot begins, which is made if nothing was read before."""
        with self.server.explained():
            return self.slot.prepared(control, None if at is None else at["lsn"])

    def _round(self, bulk: Bulk, at: dict[str, Any]) -> Iterator[Piece]:
        """All changes behind a position that the slot has now."""
        reading, tables = Reading(), dict[int, Table]()
        for batch in bulk.read(self.slot.query, BYTES):
            column = batch.column(0)
            for start in range(0, len(column), self.batch):
                messages = Messages.of(column.slice(start, self.batch))
                piece = self._piece(messages, reading, tables, at)
                if piece is not None:
                    at = piece.position
                    yield piece

    def _piece(
        self, messages: Messages, reading: Reading, tables: dict[int, Table], at: dict[str, Any]
    ) -> Piece | None:
        """What is new in some messages; None if nothing is."""
        lsn, before, counted = reading.places(messages)
        place, kinds = reading.place, messages.kinds
        new = counted & ((lsn > at["lsn"]) | ((lsn == at["lsn"]) & (before >= at["rows"])))
        first = at["row"] + 1
        parts, lines, bad = [], [], list[Bad]()
        ends = [*np.flatnonzero(kinds == pgoutput.RELATION).tolist(), len(kinds)]
        begin = 0
        for end in ends:  # a table may have other columns from here on
            part, where, wrong = self._rows(
                messages, kinds, np.flatnonzero(new[begin:end]) + begin, tables, first
            )
            first += int(new[begin:end].sum())
            parts += part
            lines += where
            bad += wrong
            if end < len(kinds):
                table = Table.of(messages, int(messages.starts[end]))
                tables[table.number] = table
            begin = end
        if (place.lsn, place.rows) <= (at["lsn"], at["rows"]):
            return None
        position = {"lsn": place.lsn, "rows": place.rows, "row": first - 1}
        rows = pa.concat_tables(parts).combine_chunks() if parts else None
        return Piece(rows, position, tuple(bad), self.title, 1, np.concatenate(lines) if lines else None)

    def _rows(
        self, messages: Messages, kinds: Array, which: Array, tables: Mapping[int, Table], first: int
    ) -> tuple[list[pa.Table], list[Array], list[Bad]]:
        """The rows among these messages, the number of each, and what is bad."""
        parts, lines, bad = list[pa.Table](), list[Array](), list[Bad]()
        if not len(which):
            return parts, lines, bad
        numbers = first + np.arange(len(which))
        relations = messages.number(
            messages.starts[which] + np.where(kinds[which] == pgoutput.TRUNCATE, 6, 1), 4
        )
        rows = (kinds[which] == pgoutput.INSERT) | (
            (kinds[which] == pgoutput.UPDATE) & ("update" in self.slot.ops)
        )
        ours = [table.number for table in tables.values() if self._is_ours(table)]
        for letter, told in _OTHERS.items():
            some = numbers[~rows & (kinds[which] == np.uint8(ord(letter))) & np.isin(relations, ours)]
            if len(some):
                what = " or ".join(f"{op}{'d' if op.endswith('e') else 'ed'}" for op in sorted(self.slot.ops))
                reason = f"{told}: only what is {what} is a row of a stream"
                bad.append(Bad(reason, row=int(some[0]), rows=len(some)))
        for number in np.unique(relations[rows]).tolist():
            table, chosen = tables[number], rows & (relations == number)
            if not self._is_ours(table):
                continue  # another table of a publication
            part, where, wrong = self._decoded(
                messages, messages.starts[which[chosen]], table, numbers[chosen]
            )
            parts.append(part)
            lines.append(where)
            bad += wrong
        return parts, lines, bad

    def _is_ours(self, table: Table) -> bool:
        return (table.schema, table.name) == (self.slot.relation.schema, self.slot.relation.name)

    def _decoded(
        self, messages: Messages, at: Array, table: Table, numbers: Array
    ) -> tuple[pa.Table, Array, list[Bad]]:
        """Rows of the table of which all values fit."""
        names = tuple(column.name for column in self.wanted)
        gone = [name for name in names if name not in table.columns]
        if gone:
            reason = f"column {gone[0]} is no longer in the table"
            return (
                self._nothing(),
                np.empty(0, np.int64),
                [Bad(reason, row=int(numbers[0]), rows=len(numbers))],
            )
        found = pgoutput.rows_of(messages, at, table, names)
        columns, wrong = {}, dict[int, str]()
        for row in np.flatnonzero(found.large).tolist():
            wrong[row] = (
                "a large value that has not changed is not sent: ALTER TABLE ... REPLICA IDENTITY FULL"
            )
        for column in self.wanted:
            columns[column.name], failed = from_text(found.columns[column.name], column.kind)
            for row, reason in failed.items():
                wrong.setdefault(row, f"column {column.name}: {reason}")
        rows = pa.table(columns, schema=schema_of(self.wanted))
        if not wrong:
            return rows, numbers, []
        kept = np.ones(len(numbers), np.bool_)
        kept[list(wrong)] = False
        bad = [
            Bad(wrong[row], str(rows.slice(row, 1).to_pylist()[0])[:500], int(numbers[row]))
            for row in sorted(wrong)
        ]
        return rows.filter(pa.array(kept)), numbers[kept], bad

    def _nothing(self) -> pa.Table:
        return schema_of(self.wanted).empty_table()
