"""The table of an aggregate's groups, sorted and cut as the query says."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.query.sorting import Cut
from eddy.results.result import to_arrow
from eddy.values.types import Array, Column, ColumnType


def places(cut: Cut, columns: Mapping[str, Column], types: Mapping[str, ColumnType]) -> Array:
    """Which rows are shown, in their order. Of rows that are the same by all keys the first stays first."""
    n = len(next(iter(columns.values())))
    order = np.arange(n)
    if cut.keys and n:
        values: dict[str, pa.Array | pa.ChunkedArray] = {}
        by: list[tuple[str, str]] = []
        for i, key in enumerate(cut.keys):
            column = to_arrow(columns[key.name], types[key.name])
            way = "descending" if key.descending else "ascending"
            values[f"null {i}"] = pc.is_null(column)
            by.append((f"null {i}", "descending" if key.nulls_first else "ascending"))
            if types[key.name].kind == "float":  # NaN is larger than every number
                values[f"nan {i}"] = pc.fill_null(pc.is_nan(column), False)
                by.append((f"nan {i}", way))
            values[f"value {i}"] = column
            by.append((f"value {i}", way))
        found = pc.sort_indices(pa.table(values), sort_keys=by)
        order = np.asarray(found).astype(np.int64)
    stop = None if cut.limit is None else cut.offset + cut.limit
    return order[cut.offset : stop]
