"""The results of one push: counted at once, materialised when asked for, and only the selected columns.

What a result shows is found when it is asked for, in arrays of the engine (`Contents`), which only its `Access` allows.
So a result may be read at any time, in any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pyarrow as pa
from attrs import define

from eddy.access import Access
from eddy.errors import EddyError
from eddy.results.contents import Contents, Place
from eddy.shown import html_table
from eddy.values import arrow, compute
from eddy.values.fitting import presented
from eddy.values.types import Array, Column, ColumnType

if TYPE_CHECKING:
    import pandas
    import polars

    from eddy.query.query import Query

T = TypeVar("T")
SHOWN = 10
"""`repr` shows all rows of a result that has no more than this many; else the first half of so many, and the last."""

RECORDS = 4096
"""Rows of which `records` makes Python values at a time."""
SIGN = "sign"
"""The name of the column of signs, where it is asked for."""


@define(eq=False, repr=False)
class Result:
    """Combinations of rows, one row of each stream, or rows of an aggregate, in the order in which they were emitted.

    Each is new (+1), or is withdrawn (-1) and was new before.
    """

    contents: Contents
    """For the engine, which reads it without waiting for itself."""
    access: Access | None = None
    """Of the engine whose arrays the contents read, once somebody may read them while that goes on."""

    @property
    def query(self) -> Query:
        """The query whose results these are."""
        return self.contents.query

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self.contents.count

    def __len__(self) -> int:
        return self.contents.count

    def _safely(self, read: Callable[[], T]) -> T:
        """What a function reads of the engine, while nobody changes that."""
        return read() if self.access is None else self.access.read(read)

    @property
    def rows(self) -> Array:
        """Row numbers, int64 [count, streams], a column for each stream in the order of the query."""
        found = self.contents.known_rows
        return self._safely(self.contents.rows) if found is None else found

    @property
    def sign(self) -> Array:
        """For each row +1 if it is new, -1 if it is withdrawn; int8."""
        found = self.contents.known_sign
        return self._safely(self.contents.sign) if found is None else found

    def column(self, name: str) -> pa.Array | pa.ChunkedArray:
        """One selected column as Arrow, in its declared type."""
        outputs = self.contents.outputs()
        for known, kind, key in outputs:
            if known == name:
                return to_arrow(self._column(key), kind)
        raise EddyError(
            f"the result has no column {name!r}; its columns are: {', '.join(known for known, _, _ in outputs)}"
        )

    def to_arrow(self, sign: bool = False) -> pa.Table:
        """A table of the selected columns, in their declared types; `sign` adds the column of signs at the end."""
        outputs = self.contents.outputs()
        if sign and any(name == SIGN for name, _, _ in outputs):
            raise EddyError(
                f"an output is already called {SIGN!r}: rename it, such as 'A.{SIGN} AS other', or read .sign"
            )
        fields = [pa.field(name, kind.arrow) for name, kind, _ in outputs]
        columns, places = self.contents.columns, [place for _, _, place in outputs]
        if not all(map(columns.__contains__, places)):
            self._safely(lambda: self.contents.read(places))
        arrays = [to_arrow(columns[place], kind) for _, kind, place in outputs]
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

    def to_polars(self, sign: bool = False) -> polars.DataFrame:
        """A polars data frame of the selected columns. polars is imported here and nowhere else."""
        try:
            import polars
        except ImportError as error:
            raise EddyError(
                "to_polars() needs polars, which is not installed: pip install polars, or call to_arrow()"
            ) from error
        return cast("polars.DataFrame", polars.from_arrow(self.to_arrow(sign)))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The selected columns for any library that reads Arrow: `pa.table(result)`, `polars.DataFrame(result)`."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, each as a dict by the names of the columns."""
        return self.records()

    def records(self, sign: bool = False) -> Iterator[dict[str, Any]]:
        """The same; `sign` adds the sign. Values become Python's a few thousand rows at a time, when needed."""
        for batch in self.to_arrow(sign).to_batches(max_chunksize=RECORDS):
            yield from batch.to_pylist()

    def to_pydict(self, sign: bool = False) -> dict[str, list[Any]]:
        """Lists of Python values by column name; NULL is None."""
        values: dict[str, list[Any]] = self.to_arrow(sign).to_pydict()
        return values

    def seal(self) -> None:
        """Materialise everything now and let go of the engine."""
        if self.contents.fetch is not None:
            self._safely(self.contents.materialise)
        self.access = None  # nothing is left to wait for, and a lock cannot be pickled

    def pieces(self, size: int) -> Iterator[Result]:
        """These rows in results of at most `size` rows each."""
        if size < 1:
            raise EddyError(f"pieces takes a number of rows of at least 1, not {size}")
        self.seal()
        for start in range(0, self.count, size):
            yield Result(self.contents.slice(slice(start, start + size)))

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
        accesses = {part.access for part in parts if part.contents.fetch is not None}
        if len(accesses) != 1:  # of several engines, or of none: let go of all of them
            for part in parts:
                part.seal()
            accesses = {Access()}  # what is read is remembered: one reader at a time
        (access,) = accesses
        whole = Result(Contents.concat([part.contents for part in parts]))
        whole.access = None if whole.contents.fetch is None else access
        return whole

    def __reduce__(self) -> tuple[object, ...]:
        self.seal()  # what it reads of the engine cannot be copied to another process
        return Result, (self.contents,)

    def __repr__(self) -> str:
        text = f"<Result of {self.count} row{'' if self.count == 1 else 's'}"
        if self.count == 0:
            return text + ">"
        columns = self._preview()
        widths = [max(map(len, column)) for column in columns]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            for line in zip(*columns, strict=True)
        ]
        if self.count > SHOWN:
            lines.insert(1 + SHOWN // 2, "  ".join("...".rjust(width) for width in widths))
        return "\n  ".join([text, *lines]) + ">"

    def _repr_html_(self) -> str:
        columns = self._preview() if self.count else [[name] for name in self.to_pydict()]
        rows = [list(row) for row in zip(*(column[1:] for column in columns), strict=True)]
        if self.count > SHOWN:
            rows.insert(SHOWN // 2, ["..."] * len(columns))
        count = f"{self.count:,} row{'' if self.count == 1 else 's'}"
        return html_table([column[0] for column in columns], rows, count)

    def _preview(self) -> list[list[str]]:
        """The first and the last rows, column by column, each with its name before it."""
        shown = self if self.count <= SHOWN else self._ends(SHOWN // 2)
        columns = [[name, *map(str, values)] for name, values in shown.to_pydict().items()]
        if (self.sign < 0).any():
            columns.append([SIGN, *(f"{value:+d}" for value in shown.sign.tolist())])
        return columns

    def _ends(self, count: int) -> Result:
        """The first and the last ``count`` rows; of the others only the row numbers are read."""

        def read() -> Contents:
            ends = self.contents.some(0, count), self.contents.some(self.count - count, self.count)
            return Contents.concat(ends)

        return Result(self._safely(read))

    def _column(self, place: Place) -> Column:
        found = self.contents.columns.get(place)
        return self._safely(lambda: self.contents.column(place)) if found is None else found


def to_arrow(column: Column, kind: ColumnType) -> pa.Array | pa.ChunkedArray:
    """A column in exactly its declared Arrow type."""
    if kind.is_coded:
        return presented(kind, column.values, column.valid)
    if kind.kind == "list":
        return column.values if column.valid is None else compute.known(column.values, pa.array(column.valid))
    return arrow.from_numpy(column.values, column.valid, kind.arrow)
