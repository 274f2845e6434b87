"""What a result holds: closures that find its rows and values in the engine's arrays, and what they have found.

One closure finds the row numbers, one the signs, one fetches values by row number. They read arrays that the next
pushes change. So whoever calls them must hold the engine (`Access`), which materialises the contents of results that
somebody still holds before it goes on. Columns of an aggregate are there from the beginning.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, field

from eddy.errors import EddyError
from eddy.values.compute import repeated
from eddy.values.types import Array, Column, ColumnType

if TYPE_CHECKING:
    from eddy.query.query import Query

Place = tuple[str, str]
"""A stream and one of its columns; of an aggregate, the name of a column twice; of what is computed no stream."""
RowsFunction = Callable[[], Array]
SignFunction = Callable[[], Array]
Fetch = Callable[[str, Sequence[str], Array], list[Column]]
"""The values of some columns of a stream, for rows by their numbers."""
Number = Callable[[Array], Array]


@define(eq=False, repr=False)
class Contents:
    """The rows of a result of ``query``. Its methods are for who holds the engine, or for contents without closures."""

    query: Query
    count: int
    rows_fn: RowsFunction | None
    fetch: Fetch | None
    """None: everything that a result shows is here, and the engine is not needed."""
    sign_fn: SignFunction | None = None
    number: Number | None = None
    """What the row numbers of the engine are called outside, if not as they are."""
    types: Mapping[str, ColumnType] | None = None
    """The columns of an aggregate by name, under which ``columns`` has them; None for a join."""
    columns: dict[Place, Column] = field(factory=dict)
    """Those that were read."""
    parts: Sequence[Contents] = ()
    """Those that these are the rows of, one after the other; they are asked when these are asked."""
    known_sign: Array | None = field(default=None, init=False)
    """The signs, once they were read."""
    _rows: Array | None = field(init=False, default=None)
    _numbers: Array | None = field(init=False, default=None)

    @staticmethod
    def of_columns(
        query: Query,
        columns: Mapping[str, Column],
        types: Mapping[str, ColumnType],
        sign: Array | None = None,
    ) -> Contents:
        """Columns that are ready, in the order of ``types``; all rows are new unless ``sign`` is given."""
        count = len(columns[next(iter(types))])
        places = {(name, name): columns[name] for name in types}
        found = Contents(query, count, None, None, types=dict(types), columns=places)
        found.known_sign = sign
        return found

    @property
    def known_rows(self) -> Array | None:
        """The row numbers, once they were read."""
        return self._rows if self.number is None else self._numbers

    def rows(self) -> Array:
        """Row numbers as they are called outside: int64 [count, streams]."""
        if self.number is None:
            return self._own_rows()
        if self._numbers is None:
            self._numbers = self.number(self._own_rows())
        return self._numbers

    def _own_rows(self) -> Array:
        """Row numbers as the engine has them."""
        if self._rows is None:
            if self.types is not None:
                raise EddyError("an aggregate has no row numbers: read its columns, such as by to_arrow()")
            assert self.rows_fn is not None
            self._rows = self.rows_fn()
        return self._rows

    def sign(self) -> Array:
        """For each row +1 if it is new, -1 if it is withdrawn; int8."""
        if self.known_sign is None:
            self.known_sign = np.ones(self.count, np.int8) if self.sign_fn is None else self.sign_fn()
        return self.known_sign

    def column(self, place: Place) -> Column:
        """The values of a column."""
        if place not in self.columns:
            self.read((place,))
        return self.columns[place]

    def read(self, places: Iterable[Place]) -> None:
        """Find the values of several columns, those of one stream together."""
        wanted: dict[str, list[str]] = {}
        for place in dict.fromkeys(places):  # a column may be shown under two names
            if place not in self.columns:
                stream, column = place
                wanted.setdefault(stream, []).append(column)
        computed = wanted.pop("", None)
        if computed is not None:
            self._compute(computed)
        for stream, columns in wanted.items():
            assert self.fetch is not None
            rows = np.ascontiguousarray(self._own_rows()[:, self.query.names.index(stream)])
            for column, found in zip(columns, self.fetch(stream, columns, rows), strict=True):
                self.columns[stream, column] = found

    def _compute(self, names: Sequence[str]) -> None:
        """Find the values of expressions: of the columns that they read, or of the parts, which know them."""
        if self.parts:
            for name in names:
                for part in self.parts:
                    part.read([("", name)])
                self.columns["", name] = Column.concat([part.columns["", name] for part in self.parts])
            return
        expressions = {one.name: one.expression for one in self.query.computed if one.name in names}
        self.read(pair for expression in expressions.values() for pair in sorted(expression.columns))
        for name, expression in expressions.items():
            found = expression.evaluate(lambda stream, column: self.columns[stream, column])
            self.columns["", name] = repeated(found, self.count)

    def outputs(self) -> list[tuple[str, ColumnType, Place]]:
        """The columns that a result shows: name, type, and place."""
        if self.types is not None:
            return [(name, kind, (name, name)) for name, kind in self.types.items()]
        if self.query.computed:
            return [(output.name, output.type, output.place) for output in self.query.computed]
        return [(output.name, output.type, (output.stream, output.column)) for output in self.query.select]

    def materialise(self) -> None:
        """Read everything that a result shows, and let go of the engine."""
        if self.fetch is None:
            return
        self.rows()
        if self.sign_fn is not None:
            self.sign()
        shown = [place for _, _, place in self.outputs()]
        self.read(shown)
        if self.query.computed:  # what they were computed of nobody asks for again
            self.columns = {place: self.columns[place] for place in shown}
        if self.number is not None:
            self._rows, self.number = self._numbers, None
        self.rows_fn = self.sign_fn = self.fetch = None
        self.parts = ()

    def some(self, start: int, stop: int) -> Contents:
        """The rows from ``start`` to ``stop``, materialised; of the others no value is read."""
        if self.parts:
            firsts = list(itertools.accumulate((part.count for part in self.parts), initial=0))
            pieces = [
                part.some(max(start - first, 0), min(stop - first, part.count))
                for part, first in zip(self.parts, firsts, strict=False)
                if start < first + part.count and first < stop
            ]
            whole = Contents.concat(pieces)
            whole.materialise()
            return whole
        if self.fetch is None:
            return self.slice(slice(start, stop))
        rows = self._own_rows()[start:stop]
        piece = Contents(self.query, stop - start, lambda: rows, self.fetch, number=self.number)
        piece.known_sign = self.sign()[start:stop]
        piece.materialise()
        return piece

    def slice(self, here: slice) -> Contents:
        """Some of the rows, which were materialised."""
        columns = {place: column.take(here) for place, column in self.columns.items()}
        sign = self.sign()[here]
        piece = Contents(self.query, len(sign), None, None, types=self.types, columns=columns)
        piece.known_sign = sign
        if self.types is None:
            piece.give_rows(self.rows()[here])
        return piece

    def give_rows(self, rows: Array) -> None:
        """These are the row numbers."""
        self._rows = rows

    @staticmethod
    def concat(parts: Sequence[Contents]) -> Contents:
        """All rows of several contents of one query, in order. The parts of a join are asked when it is asked."""

        def rows() -> Array:
            return np.concatenate([part.rows() for part in parts])

        def sign() -> Array:
            return np.concatenate([part.sign() for part in parts])

        def fetch(stream: str, columns: Sequence[str], rows: Array) -> list[Column]:
            places = [(stream, column) for column in columns]
            for part in parts:
                part.read(places)
            return [Column.concat([part.columns[place] for part in parts]) for place in places]

        types = parts[0].types
        if types is not None:
            columns = {name: Column.concat([part.column((name, name)) for part in parts]) for name in types}
            return Contents.of_columns(parts[0].query, columns, types, sign())
        return Contents(parts[0].query, sum(part.count for part in parts), rows, fetch, sign, parts=parts)
