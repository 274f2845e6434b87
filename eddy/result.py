"""The results of one push: counted at once, materialised late, and only the selected columns.

A result of a join holds closures: one finds the row numbers, one the signs, one fetches payload values by row number.
They read state that the next push may change, so the engine seals a result that somebody still holds before it goes
on. A result of an aggregate is made of columns that are ready, and has no row numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from attrs import define, field

from eddy import arrow
from eddy.errors import EddyError
from eddy.types import Array, Column, ColumnType

if TYPE_CHECKING:
    import pandas

    from eddy.query import Query

RowsFunction = Callable[[], Array]
SignFunction = Callable[[], Array]
Fetch = Callable[[str, str, Array], Column]
Number = Callable[[Array], Array]
SHOWN = 10
"""`repr` shows the rows of a result that has no more than this many."""

SIGN = "sign"
"""The name of the column of signs, where it is asked for."""


@define(eq=False, repr=False)
class Result:
    """Combinations of rows, one row of each stream, or rows of an aggregate, in the order in which they were emitted.

    Each is new (+1), or is withdrawn (-1) and was new before.
    """

    query: Query
    count: int
    _rows_fn: RowsFunction | None
    _fetch: Fetch | None
    _sign_fn: SignFunction | None = None
    _number: Number | None = None
    """What the row numbers of the engine are called outside, if not as they are."""
    _rows: Array | None = field(init=False, default=None)
    _numbers: Array | None = field(init=False, default=None)
    _sign: Array | None = field(init=False, default=None)
    _columns: dict[tuple[str, str], Column] = field(init=False, factory=dict)
    # The columns of an aggregate by name, under which `_columns` has them too; None for a join.
    _types: dict[str, ColumnType] | None = field(init=False, default=None)

    @staticmethod
    def of_columns(
        query: Query,
        columns: Mapping[str, Column],
        types: Mapping[str, ColumnType],
        sign: Array | None = None,
    ) -> Result:
        """A result of columns that are ready, in the order of `types`; all rows are new unless `sign` is given."""
        result = Result(query, len(columns[next(iter(types))]), None, None)
        result._types = dict(types)
        result._columns = {(name, name): columns[name] for name in types}
        result._sign = sign
        return result

    def __len__(self) -> int:
        return self.count

    @property
    def rows(self) -> Array:
        """Row numbers, int64 [count, streams], a column for each stream in the order of the query."""
        if self._number is None:
            return self._own_rows()
        if self._numbers is None:
            self._numbers = self._number(self._own_rows())
        return self._numbers

    def _own_rows(self) -> Array:
        """Row numbers as the engine has them."""
        if self._rows is None:
            if self._types is not None:
                raise EddyError("an aggregate has no row numbers: read its columns, such as by to_arrow()")
            assert self._rows_fn is not None
            self._rows = self._rows_fn()
            self._rows_fn = None
        return self._rows

    @property
    def sign(self) -> Array:
        """For each row +1 if it is new, -1 if it is withdrawn; int8."""
        if self._sign is None:
            self._sign = np.ones(self.count, np.int8) if self._sign_fn is None else self._sign_fn()
            self._sign_fn = None
        return self._sign

    def column(self, name: str) -> pa.Array | pa.ChunkedArray:
        """One selected column as Arrow, in its declared type."""
        outputs = self._outputs()
        for known, kind, key in outputs:
            if known == name:
                return to_arrow(self._column(*key), kind)
        raise EddyError(
            f"the result has no column {name!r}; its columns are: {', '.join(known for known, _, _ in outputs)}"
        )

    def to_arrow(self, sign: bool = False) -> pa.Table:
        """A table of the selected columns, in their declared types; `sign` adds the column of signs at the end."""
        outputs = self._outputs()
        if sign and any(name == SIGN for name, _, _ in outputs):
            raise EddyError(
                f"an output is already called {SIGN!r}: rename it, such as 'A.{SIGN} AS other', or read .sign"
            )
        fields = [pa.field(name, kind.arrow) for name, kind, _ in outputs]
        arrays = [to_arrow(self._column(*key), kind) for _, kind, key in outputs]
        if sign:
            fields.append(pa.field(SIGN, pa.int8()))
            arrays.append(arrow.from_numpy(self.sign, None, pa.int8()))
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def to_pandas(self, sign: bool = False) -> pandas.DataFrame:
        """A data frame of the selected columns. pandas is imported here and nowhere else."""
        try:
            import pandas  # noqa: F401
        except ImportError as error:
            raise EddyError(
                "to_pandas() needs pandas, which is not installed: pip install pandas, or call to_arrow()"
            ) from error
        return self.to_arrow(sign).to_pandas()

    def to_pydict(self, sign: bool = False) -> dict[str, list[Any]]:
        """Lists of Python values by column name; NULL is None."""
        values: dict[str, list[Any]] = self.to_arrow(sign).to_pydict()
        return values

    def seal(self) -> None:
        """Materialise everything now and let go of the engine."""
        if self._fetch is None:
            return
        _ = self.rows
        if self._sign_fn is not None:
            _ = self.sign
        for _, _, key in self._outputs():
            self._column(*key)
        self._fetch = None

    def pieces(self, size: int) -> Iterator[Result]:
        """The same rows in results of at most `size` rows each."""
        if size < 1:
            raise EddyError(f"pieces takes a number of rows of at least 1, not {size}")
        self.seal()
        for start in range(0, self.count, size):
            here = slice(start, min(start + size, self.count))
            piece = Result(self.query, here.stop - start, None, None)
            piece._rows = None if self._types is not None else self.rows[here]
            piece._sign, piece._types = self.sign[here], self._types
            piece._columns = {
                key: Column(c.values[here], None if c.valid is None else c.valid[here])
                for key, c in self._columns.items()
            }
            yield piece

    @staticmethod
    def concat(results: Sequence[Result]) -> Result:
        """All rows of several results of one query, in order.

        Lazy for a join: the parts are asked when it is asked. The columns of an aggregate are there already.
        """
        parts = list(results)
        if not parts:
            raise EddyError("there is nothing to concatenate: give at least one result")
        query = parts[0].query
        if any(part.query is not query for part in parts):
            raise EddyError("the results belong to different queries: concatenate those of one engine")

        def sign() -> Array:
            return np.concatenate([part.sign for part in parts])

        def fetch(stream: str, column: str, rows: Array) -> Column:
            return _joined([part._column(stream, column) for part in parts])

        types = parts[0]._types
        if types is not None:
            columns = {name: _joined([part._column(name, name) for part in parts]) for name in types}
            return Result.of_columns(query, columns, types, sign())
        count = sum(len(part) for part in parts)
        return Result(query, count, lambda: np.concatenate([part.rows for part in parts]), fetch, sign)

    def __repr__(self) -> str:
        text = f"<Result of {self.count} row{'' if self.count == 1 else 's'}"
        if not 0 < self.count <= SHOWN:
            return text + ">"
        columns = [[name, *map(str, values)] for name, values in self.to_pydict().items()]
        if (self.sign < 0).any():
            columns.append([SIGN, *(f"{value:+d}" for value in self.sign.tolist())])
        widths = [max(map(len, column)) for column in columns]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            for line in zip(*columns, strict=True)
        ]
        return "\n  ".join([text, *lines]) + ">"

    def _outputs(self) -> list[tuple[str, ColumnType, tuple[str, str]]]:
        """The columns: name, type, and where `_columns` has or will have their values."""
        if self._types is not None:
            return [(name, kind, (name, name)) for name, kind in self._types.items()]
        return [(output.name, output.type, (output.stream, output.column)) for output in self.query.select]

    def _column(self, stream: str, column: str) -> Column:
        key = (stream, column)
        found = self._columns.get(key)
        if found is None:
            assert self._fetch is not None
            rows = self._own_rows()[:, self.query.names.index(stream)]
            found = self._columns[key] = self._fetch(stream, column, np.ascontiguousarray(rows))
        return found


def to_arrow(column: Column, kind: ColumnType) -> pa.Array | pa.ChunkedArray:
    """A column in exactly its declared Arrow type."""
    if kind.kind == "string":
        return arrow.with_nulls(column.values, column.valid)
    return arrow.from_numpy(column.values, column.valid, kind.arrow)


def _joined(columns: list[Column]) -> Column:
    valid = None
    if any(column.valid is not None for column in columns):
        masks = [np.ones(len(c.values), np.bool_) if c.valid is None else c.valid for c in columns]
        valid = np.concatenate(masks)
    if isinstance(columns[0].values, np.ndarray):
        return Column(np.concatenate([column.values for column in columns]), valid)
    chunks = [
        chunk
        for c in columns
        for chunk in (c.values.chunks if isinstance(c.values, pa.ChunkedArray) else [c.values])
    ]
    return Column(pa.chunked_array(chunks, pa.string()), valid)
