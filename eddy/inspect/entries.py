"""Entries of a STAIR as a user sees them: row numbers for each stream, and the values that are kept of these rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen

from eddy.inspect.stair_names import stream_names
from eddy.results.result import SHOWN, to_arrow
from eddy.values.types import Array, Column, ColumnType

Values = Mapping[str, tuple[ColumnType, Column]]
"""Columns by name, "A.x", with their types."""


def each_once(rows: Array) -> Array:
    """Where the lines of ``rows`` are in ascending order, the first of those that are the same."""
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    first = np.ones(len(rows), np.bool_)
    first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return order[first]


@frozen(eq=False, repr=False)
class Entries:
    """Combinations of rows of some streams, each once, in the order of their row numbers.

    They are a copy of what was there: what the engine does later changes nothing in them.
    """

    streams: tuple[str, ...]
    """In the order of the query."""
    rows: Array
    """Row numbers, int64 [entries, streams], a column for each of the streams."""
    _values: Values
    """What the engine keeps of the rows: columns that are selected, or that predicates read. `to_arrow` has them."""

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, streams: str | Iterable[str]) -> Entries:
        """What is left of the entries when they are stripped of all other streams: each part once."""
        names = stream_names(streams, self.streams)
        rows = self.rows[:, [self.streams.index(name) for name in names]]
        first = each_once(rows)
        own = tuple(f"{name}." for name in names)
        kept = {
            c: (kind, column.take(first)) for c, (kind, column) in self._values.items() if c.startswith(own)
        }
        return Entries(names, rows[first], kept)

    def to_arrow(self) -> pa.Table:
        """A table of the values, a column "A.x" for each that the engine keeps."""
        fields = [pa.field(name, kind.arrow) for name, (kind, _) in self._values.items()]
        return pa.Table.from_arrays(
            [to_arrow(column, kind) for kind, column in self._values.values()], schema=pa.schema(fields)
        )

    def to_pydict(self) -> dict[str, list[Any]]:
        """Lists of Python values by column name; NULL is None."""
        found: dict[str, list[Any]] = self.to_arrow().to_pydict()
        return found

    def __repr__(self) -> str:
        count = f"{len(self)} entr{'y' if len(self) == 1 else 'ies'}"
        text = f"<{count} of {' '.join(self.streams)}"
        if not 0 < len(self) <= SHOWN:
            return text + ">"
        columns = [
            [f"{name} row", *map(str, self.rows[:, i].tolist())] for i, name in enumerate(self.streams)
        ]
        columns += [[name, *map(str, values)] for name, values in self.to_pydict().items()]
        widths = [max(map(len, column)) for column in columns]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            for line in zip(*columns, strict=True)
        ]
        return "\n  ".join([text, *lines]) + ">"
