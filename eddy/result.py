"""The results of one push: counted at once, materialised late, and only the selected columns.

A result holds two closures: one finds the row numbers, one fetches payload values by row number. Both read
state that the next push may change, so the engine seals a result that somebody still holds before it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
Fetch = Callable[[str, str, Array], Column]
SHOWN = 10
"""`repr` shows the rows of a result that has no more than this many."""


@define(eq=False, repr=False)
class Result:
    """Combinations of rows, one row of each stream, in the order in which they were emitted."""

    query: Query
    count: int
    _rows_fn: RowsFunction | None
    _fetch: Fetch | None
    _rows: Array | None = field(init=False, default=None)
    _columns: dict[tuple[str, str], Column] = field(init=False, factory=dict)

    def __len__(self) -> int:
        return self.count

    @property
    def rows(self) -> Array:
        """Row numbers, int64 [count, streams], a column for each stream in the order of the query."""
        if self._rows is None:
            assert self._rows_fn is not None
            self._rows = self._rows_fn()
            self._rows_fn = None
        return self._rows

    def column(self, name: str) -> pa.Array | pa.ChunkedArray:
        """One selected column as Arrow, in its declared type."""
        for output in self.query.select:
            if output.name == name:
                return to_arrow(self._column(output.stream, output.column), output.type)
        known = ", ".join(output.name for output in self.query.select)
        raise EddyError(f"the result has no column {name!r}; its columns are: {known}")

    def to_arrow(self) -> pa.Table:
        """A table of the selected columns, in their declared types."""
        fields = [pa.field(output.name, output.type.arrow) for output in self.query.select]
        arrays = [
            to_arrow(self._column(output.stream, output.column), output.type) for output in self.query.select
        ]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame of the selected columns. pandas is imported here and nowhere else."""
        try:
            import pandas  # noqa: F401
        except ImportError as error:
            raise EddyError(
                "to_pandas() needs pandas, which is not installed: pip install pandas, or call to_arrow()"
            ) from error
        return self.to_arrow().to_pandas()

    def to_pydict(self) -> dict[str, list[Any]]:
        """Lists of Python values by column name; NULL is None."""
        values: dict[str, list[Any]] = self.to_arrow().to_pydict()
        return values

    def seal(self) -> None:
        """Materialise everything now and let go of the engine."""
        if self._fetch is None:
            return
        _ = self.rows
        for output in self.query.select:
            self._column(output.stream, output.column)
        self._fetch = None

    @staticmethod
    def concat(results: Sequence[Result]) -> Result:
        """All rows of several results of one query, in order. Lazy: the parts are asked when it is asked."""
        parts = list(results)
        if not parts:
            raise EddyError("there is nothing to concatenate: give at least one result")
        query = parts[0].query
        if any(part.query is not query for part in parts):
            raise EddyError("the results belong to different queries: concatenate those of one engine")

        def fetch(stream: str, column: str, rows: Array) -> Column:
            return _joined([part._column(stream, column) for part in parts])

        return Result(
            query, sum(len(part) for part in parts), lambda: np.concatenate([p.rows for p in parts]), fetch
        )

    def __repr__(self) -> str:
        text = f"<Result of {self.count} row{'' if self.count == 1 else 's'}"
        if not 0 < self.count <= SHOWN:
            return text + ">"
        columns = [[name, *map(str, values)] for name, values in self.to_pydict().items()]
        widths = [max(map(len, column)) for column in columns]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            for line in zip(*columns, strict=True)
        ]
        return "\n  ".join([text, *lines]) + ">"

    def _column(self, stream: str, column: str) -> Column:
        key = (stream, column)
        found = self._columns.get(key)
        if found is None:
            assert self._fetch is not None
            rows = self.rows[:, self.query.names.index(stream)]
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
