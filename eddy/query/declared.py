"""The columns that a stream is declared with: names and types, and never the rows themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from eddy.errors import QueryError
from eddy.shown import kind_of, shown
from eddy.values.types import ColumnType, column_type

SCHEMAS = {
    "pandas.DataFrame": "Stream(pyarrow.Schema.from_pandas(frame, preserve_index=False))",
    "polars.DataFrame": "Stream(frame.to_arrow().schema)",
    "pyarrow.Table": "Stream(table.schema)",
    "pyarrow.RecordBatch": "Stream(batch.schema)",
}
"""How to declare a stream like a table of each kind."""


def columns_of(given: object) -> dict[str, ColumnType]:
    """The types by name, of a dict or an Arrow schema; QueryError for anything else."""
    columns = _named(given)
    if not columns:
        raise QueryError('a stream needs at least one column, such as {"x": "int64"}')
    if not all(isinstance(name, str) and name for name in columns):
        raise QueryError(f"column names must be texts: {shown(list(columns))}")
    found = {}
    for name, spec in columns.items():
        try:
            found[name] = column_type(spec)
        except QueryError as error:
            raise QueryError(f"column {name!r}: {error}") from None
    return found


def _named(given: object) -> Mapping[Any, Any]:
    if isinstance(given, Mapping):
        return given
    if isinstance(given, pa.Schema):
        twice = [name for name in given.names if given.names.count(name) > 1]
        if twice:
            raise QueryError(f"the schema has two columns called {twice[0]!r}: give each a name of its own")
        return dict(zip(given.names, given.types, strict=True))
    own = SCHEMAS.get(kind_of(given))
    advice = "" if own is None else f": rows are pushed later; to declare a stream like it, give {own}"
    raise QueryError(
        f"a stream needs its columns as a dict of names and types, or an Arrow schema, not {shown(given)}{advice}"
    )
