"""What the engine still knows about the values of some rows, and which predicates they fail."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from attrs import define, frozen

from eddy.query.expressions import Expression, Literal
from eddy.query.keys import KeyClass, is_equality
from eddy.query.logic import conjuncts
from eddy.query.query import Query
from eddy.store.row_numbers import Found
from eddy.store.stream import StoredStream
from eddy.values.instants import format_instant
from eddy.values.types import DIGITS, FLOAT64, INT64, UINT64, Array, Column, ColumnType, decimal_type


@frozen
class Judgement:
    """What is known of one predicate."""

    predicate: str
    holds: bool | None
    how: str = ""
    """How it fails, or would fail, in words."""
    missing: tuple[str, ...] = ()
    """Streams whose values would be needed, and are not known."""


@define(eq=False)
class Evidence:
    """One row of every stream; all have arrived.

    Values are read where the engine keeps them: in the payload, and keys also in the leaves. Both let go of a
    row some time after it has left its window, and a column that no result shows and no later step reads is
    not in the payload at all. So every answer may be "not known".
    """

    query: Query
    states: Sequence[StoredStream]
    rows: dict[str, Found]

    def _state(self, stream: str) -> StoredStream:
        return self.states[self.query.names.index(stream)]

    def _row(self, stream: str) -> Array:
        return np.array([self.rows[stream].place])

    def has(self, stream: str, column: str) -> bool:
        """Whether the value of this column is known."""
        payload = self.rows[stream].payload
        return column in payload.columns and payload.low <= self.rows[stream].place < payload.next_row

    def get(self, stream: str, column: str) -> Column:
        """A column of one value, which must be known."""
        return self.rows[stream].payload.take(column, self._row(stream))

    def time(self, stream: str) -> int | None:
        """The row's time in the unit of the query."""
        column = self.query.streams[stream].time
        if column is None or not self.has(stream, column):
            return None
        return int(self.query.time_of(stream, self.get(stream, column).values)[0])

    # -- what happened to a row when it arrived --------------------------------------------------------------

    def kept(self, stream: str) -> bool | None:
        """Whether the row passed its filters and can match something: its leaf knows, or its values tell."""
        state, row = self._state(stream), self.rows[stream]
        if row.ruled_out:
            return False
        if state.low <= row.place < state.tail:
            return bool(state.kept(row.place, 1)[0])
        found = [objection.holds for objection in self.objections(stream)]
        return False if False in found else None if None in found else True

    def objections(self, stream: str) -> Iterator[Judgement]:
        """What may have ruled a row out on arrival: each filter on the stream, and each of its keys."""
        for part in conjuncts(self.query.filters[stream]) if stream in self.query.filters else ():
            yield self._judge(part)
        for key_class in self.query.key_classes:
            if stream in key_class.members:
                yield self._match(key_class, stream)

    def _match(self, key_class: KeyClass, stream: str) -> Judgement:
        """Whether the row's key can equal anything: NULL and NaN cannot, nor 1.5 beside an integer."""
        column = f"{stream}.{key_class.members[stream]}"
        others = " or ".join(f"{s}.{c}" for s, c in key_class.members.items() if s != stream)
        if not self.has(stream, key_class.members[stream]):
            how = f"{column} was NULL, or else no {others} could equal it"
            return Judgement(str(key_class), None, how, (stream,))
        if self._fits(key_class, stream):
            return Judgement(str(key_class), True)
        value = self._shown(stream, key_class.members[stream])
        return Judgement(str(key_class), False, f"{column} is {value}, which no {others} can equal")

    def _fits(self, key_class: KeyClass, stream: str) -> bool:
        """Whether the row's value can equal anything."""
        stored = self.rows[stream].payload.storage(key_class.members[stream], self._row(stream))
        _, valid = key_class.encode(stream, stored.values, stored.valid)
        return valid is None or bool(valid[0])

    # -- the predicates between the rows ---------------------------------------------------------------------

    def judgements(self) -> Iterator[Judgement]:
        """Every predicate between streams. (The rows have passed their filters.)

        Equalities are judged by class, with keys, so that one that only follows from others is found to fail
        too; wherever the query has one of its own, that is the one that is named.
        """
        for key_class in self.query.key_classes:
            yield from self._equalities(key_class)
        for residual in self.query.residuals:
            yield from map(self._judge, conjuncts(residual.expression))

    def _judge(self, predicate: Expression) -> Judgement:
        missing = {stream for stream, column in predicate.columns if not self.has(stream, column)}
        if missing:
            return Judgement(str(predicate), None, f"{predicate} failed", self._ordered(missing))
        if predicate.holds(self.get, 1)[0]:
            return Judgement(str(predicate), True)
        valid = predicate.evaluate(self.get).valid
        fails = "fails" if valid is None or valid[0] else "is unknown, which is not enough"
        columns = sorted(predicate.columns, key=lambda pair: (self.query.names.index(pair[0]), pair[1]))
        values = ", ".join(f"{s}.{c} is {self._shown(s, c)}" for s, c in columns)
        return Judgement(str(predicate), False, f"{predicate} {fails}" + (f": {values}" if values else ""))

    def _equalities(self, key_class: KeyClass) -> Iterator[Judgement]:
        keys = {stream: self._key(key_class, stream) for stream in key_class.members}
        failed = False
        for predicate in _members(self.query, key_class):
            streams = self._ordered(predicate.streams)
            missing = tuple(stream for stream in streams if keys[stream] is None)
            if missing:
                yield Judgement(str(predicate), None, missing=missing)
            elif keys[streams[0]] == keys[streams[1]]:
                yield Judgement(str(predicate), True)
            else:
                failed = True
                yield self._differ(key_class, str(predicate), dict(predicate.columns), keys)
        known = [stream for stream, key in keys.items() if key is not None]
        odd = [stream for stream in known if keys[stream] != keys[known[0]]]
        if odd and not failed:
            columns = {stream: key_class.members[stream] for stream in (known[0], odd[0])}
            text = " = ".join(f"{stream}.{column}" for stream, column in columns.items())
            yield self._differ(key_class, text, columns, keys)

    def _ordered(self, streams: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(streams, key=self.query.names.index))

    def _differ(
        self, key_class: KeyClass, text: str, columns: dict[str, str], keys: dict[str, int | None]
    ) -> Judgement:
        """An equality that fails. A column that is not in the payload has the value that its key says."""
        values = []
        for stream in self._ordered(columns):
            column = columns[stream]
            if self.has(stream, column):
                value = self._shown(stream, column)
            else:
                value = _key_text(key_class, keys[stream], self.query.streams[stream].columns[column])
            values.append(f"{stream}.{column} is {value}")
        return Judgement(text, False, f"{text} fails: {', '.join(values)}")

    def _key(self, key_class: KeyClass, stream: str) -> int | None:
        """The row's canonical key."""
        state, row, column = self._state(stream), self.rows[stream], key_class.members[stream]
        if not row.ruled_out and state.low <= row.place < state.tail:
            return int(state.stored_keys(key_class.index, row.place, 1)[0])
        if not self.has(stream, column):
            return None
        stored = row.payload.storage(column, self._row(stream))
        return int(key_class.encode(stream, stored.values, stored.valid)[0][0])

    def _shown(self, stream: str, column: str) -> str:
        return _value_text(self.get(stream, column), self.query.streams[stream].columns[column])


def _members(query: Query, key_class: KeyClass) -> list[Expression]:
    """The user's own equalities between streams that make up a class."""
    equalities = [predicate for predicate in query.predicates if is_equality(predicate)]
    columns = frozenset(key_class.members.items())
    for _ in equalities:
        columns = columns.union(*(e.columns for e in equalities if e.columns & columns))
    return [e for e in equalities if e.columns <= columns and len(e.streams) > 1]


def _value_text(column: Column, of: ColumnType) -> str:
    """The first value of a column, as SQL writes it."""
    if column.valid is not None and not column.valid[0]:
        return "NULL"
    value = column.values[0]
    value = value.as_py() if of.is_coded else value.item()
    if of.kind in ("binary", "opaque"):
        return str(value)
    if of.kind == "timestamp":
        return format_instant(value, str(of.unit), of.zone)
    return "NaN" if isinstance(value, float) and math.isnan(value) else str(Literal(value, of))


def _key_text(key_class: KeyClass, key: int | None, column: ColumnType) -> str:
    """The value that a column has if this is its key. Strings are always in the payload."""
    if column.kind == "bool":
        return str(Literal(bool(key), column))
    of = {"int": INT64, "uint": UINT64, "float": FLOAT64}.get(key_class.kind)
    if key_class.kind == "decimal":
        of = decimal_type(DIGITS, key_class.scale)
    elif of is None:
        of = column if key_class.unit is None else column.with_unit(key_class.unit)
        return _value_text(Column(np.array([key]).astype(of.dtype)), of)
    return _value_text(Column(np.array([key]).view(of.dtype)), of)
