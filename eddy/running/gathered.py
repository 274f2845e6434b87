"""What a push of a run has brought to several queries, as it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from attrs import frozen

from eddy.several.results import QUERY

RESULTS = "results"
"""What the sink of all results takes."""


def results_of(name: str) -> str:
    """What the sink of one of several queries takes."""
    return f"{RESULTS} of {name}"


@frozen(eq=False)
class Gathered:
    """What a push has brought to several queries: a table for each sink."""

    tables: Mapping[str, pa.Table]
    """By what the sink takes."""
    counts: Mapping[str, int]
    """Rows of each query that has any."""

    def __len__(self) -> int:
        return sum(table.num_rows for table in self.tables.values())

    def pieces(self, size: int) -> Sequence[Gathered]:
        """The first so many rows, query by query."""
        tables, left = {}, size
        for what, table in self.tables.items():
            tables[what] = table.slice(0, left)
            left -= tables[what].num_rows
        return [Gathered(tables, counted(tables))]

    @staticmethod
    def concat(parts: Sequence[Gathered]) -> Gathered:
        """One after the other."""
        tables = {
            what: pa.concat_tables([part.tables[what] for part in parts if what in part.tables])
            for what in dict.fromkeys(what for part in parts for what in part.tables)
        }
        return Gathered(tables, counted(tables))


NOTHING = Gathered({}, {})


def counted(tables: Mapping[str, pa.Table]) -> dict[str, int]:
    """Rows of each query."""
    if RESULTS not in tables:
        return {
            what.removeprefix(f"{RESULTS} of "): table.num_rows
            for what, table in tables.items()
            if table.num_rows
        }
    counts: dict[str, int] = {}
    for chunk in tables[RESULTS].column(QUERY).chunks:
        places = np.bincount(np.asarray(chunk.indices), minlength=len(chunk.dictionary))
        for name, count in zip(chunk.dictionary.to_pylist(), places.tolist(), strict=True):
            if count:
                counts[name] = counts.get(name, 0) + count
    return counts
