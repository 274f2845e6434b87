"""Messages of PostgreSQL's plugin pgoutput, version 1 of its protocol, read for whole columns of messages at once.

A transaction is B, then R (a table's columns), I, U, D, T as they come, then C; transactions come in the order in which
they were committed. https://www.postgresql.org/docs/15/protocol-logicalrep-message-formats.html
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from attrs import define, field, frozen

from eddy.sources.pg_columns import binary_array
from eddy.values.types import Array

BEGIN, COMMIT, RELATION, INSERT, UPDATE, DELETE, TRUNCATE = (np.uint8(ord(letter)) for letter in "BCRIUDT")
NULL, TOO_LARGE = np.uint8(ord("n")), np.uint8(ord("u"))
NEW = np.uint8(ord("N"))
COUNTED = np.array([INSERT, UPDATE, DELETE, TRUNCATE])


@frozen
class Messages:
    """Some messages: bytes, and where each begins."""

    data: Array
    starts: Array

    @staticmethod
    def of(column: pa.BinaryArray) -> Messages:
        """Those of a column."""
        offsets = np.frombuffer(column.buffers()[1], np.int32)[
            column.offset : column.offset + len(column) + 1
        ]
        data = column.buffers()[2]
        return Messages(
            np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8), offsets[:-1]
        )

    @property
    def kinds(self) -> Array:
        """The letter of each."""
        return self.data[self.starts]

    def number(self, at: Array, size: int) -> Array:
        """Big-endian numbers at these places."""
        found = np.zeros(len(at), np.int64)
        for byte in range(size):
            found = (found << 8) | self.data[at + byte]
        return found

    def text(self, at: int) -> tuple[str, int]:
        """A text that ends with a zero, and where it ends."""
        end = at + int(np.argmax(self.data[at:] == 0))
        return self.data[at:end].tobytes().decode("utf-8", "replace"), end + 1


@frozen
class Table:
    """The columns of a table, as they are from some message on."""

    number: int
    schema: str
    name: str
    columns: tuple[str, ...]

    @staticmethod
    def of(messages: Messages, at: int) -> Table:
        """What the message R at a place says."""
        (number,) = messages.number(np.array([at + 1]), 4)
        schema, at = messages.text(at + 5)
        name, at = messages.text(at)
        (count,) = messages.number(np.array([at + 1]), 2)
        at, columns = at + 3, []
        for _ in range(int(count)):
            column, at = messages.text(at + 1)
            columns.append(column)
            at += 8
        return Table(int(number), schema, name, tuple(columns))


@define
class Place:
    """How far transactions were read. ``lsn`` and ``rows``: all that was committed before, and so many changes of the
    transaction that was committed there."""

    lsn: int = 0
    rows: int = 0


@define
class Reading:
    """Goes through messages in their order."""

    place: Place = field(factory=Place)
    """Behind the last message."""

    def places(self, messages: Messages) -> tuple[Array, Array, Array]:
        """For each message the transaction that it belongs to, by where it was committed; how many changes of it were
        before; and whether it is one. Then `place` is behind the last of them."""
        kinds = messages.kinds
        counted = np.isin(kinds, COUNTED)
        begins = np.flatnonzero(kinds == BEGIN)
        lsns = messages.number(messages.starts[begins] + 1, 8)
        which = np.searchsorted(begins, np.arange(len(kinds)), side="right")
        before: Array = np.cumsum(counted) - counted
        lsn = np.concatenate([[self.place.lsn], lsns])[which]
        rows = before - np.concatenate([[-self.place.rows], before[begins]])[which]
        if len(kinds):
            if kinds[-1] == COMMIT:
                self.place = Place(int(messages.number(messages.starts[-1:] + 10, 8)[0]), 0)
            else:
                self.place = Place(int(lsn[-1]), int(rows[-1] + counted[-1]))
        return lsn, rows, counted


@frozen
class Rows:
    """Rows of one table, their values as text."""

    columns: dict[str, pa.BinaryArray]
    large: Array
    """Rows of which a value was not sent, since it is large and has not changed."""


def rows_of(messages: Messages, at: Array, table: Table, wanted: tuple[str, ...]) -> Rows:
    """The new rows of messages I and U at these places."""
    at = at + 5
    old = np.flatnonzero(messages.data[at] != NEW)
    if len(old):  # what the row was before stands first
        at = at.copy()
        at[old] = _behind(messages, at[old] + 1, len(table.columns))
    at = at + 3
    columns, large = {}, np.zeros(len(at), np.bool_)
    for name in table.columns:
        kinds = messages.data[at]
        sent = (kinds != NULL) & (kinds != TOO_LARGE)
        sizes = np.where(sent, messages.number(np.where(sent, at + 1, 0), 4), 0)
        if name in wanted:
            large |= kinds == TOO_LARGE
            columns[name] = _gathered(messages.data, at + 5, sizes, sent)
        at = at + 1 + np.where(sent, 4 + sizes, 0)
    return Rows(columns, large)


def _behind(messages: Messages, at: Array, count: int) -> Array:
    """Where tuples of so many columns end."""
    at = at + 2
    for _ in range(count):
        sent = (messages.data[at] != NULL) & (messages.data[at] != TOO_LARGE)
        sizes = np.where(sent, messages.number(np.where(sent, at + 1, 0), 4), 0)
        at = at + 1 + np.where(sent, 4 + sizes, 0)
    return at


def _gathered(data: Array, starts: Array, sizes: Array, valid: Array) -> pa.BinaryArray:
    """Pieces of some bytes as a column."""
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    where = np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])
    return binary_array(valid, offsets, data[where])
