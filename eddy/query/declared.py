"""The columns that a stream is declared with: names and types, or a table that has them. Of a table no row is kept."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.errors import QueryError
from eddy.shown import kind_of, shown
from eddy.values.types import ColumnType, column_type

Columns = Mapping[Any, Any]


def columns_of(given: object) -> dict[str, ColumnType]:
    """The types by name, of a dict, a schema, or a table with such columns; QueryError for anything else."""
    columns = _named(given)
    if not columns:
        raise QueryError('a stream needs at least one column, such as {"x": "int64"}')
    if not all(isinstance(name, str) and name for name in columns):
        raise QueryError(f"column names must be texts: {shown(list(columns))}")
    found = {}
    for name, spec in columns.items():
        try:
            found[name] = column_type(_of_a_frame(spec))
        except QueryError as error:
            raise QueryError(f"column {name!r}: {error}{_advice(spec)}") from None
    return found


def _named(given: object) -> Columns:
    if isinstance(given, pa.Schema):
        twice = [name for name in given.names if given.names.count(name) > 1]
        if twice:
            raise QueryError(f"the schema has two columns called {twice[0]!r}: give each a name of its own")
        return dict(zip(given.names, given.types, strict=True))
    if isinstance(given, Mapping):
        return given
    found = _of_numpy(given) or _of_pandas(given) or _of_polars(given)
    if found is None and isinstance(given, (pa.Table, pa.RecordBatch)):
        found = _named(given.schema)
    if found is None and hasattr(given, "__arrow_c_stream__") and not isinstance(given, type):
        found = _streamed(given)
    if found is not None:
        return found
    raise QueryError(
        "a stream needs its columns as a dict of names and types, an Arrow schema, or a table with such columns, "
        f"not {shown(given)}"
    )


def _of_numpy(given: object) -> Columns | None:
    """A structured array or its dtype."""
    dtype = given.dtype if isinstance(given, np.ndarray) else given
    if not isinstance(dtype, np.dtype) or dtype.names is None:
        return None
    return {name: dtype[name] for name in dtype.names}


def _of_pandas(given: object) -> Columns | None:
    """A data frame, of which Arrow finds the types of objects, or its dtypes."""
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return None
    if isinstance(given, pandas.DataFrame):
        try:
            return _named(pa.Schema.from_pandas(given, preserve_index=False))
        except (pa.ArrowException, ValueError, TypeError) as error:
            reason = str(error).splitlines()[0]
            raise QueryError(
                f"the data frame has a column of no one type ({reason}): give its types"
            ) from None
    if isinstance(given, pandas.Series) and all(_is_dtype(of) for of in given):
        return dict(given.items())
    return None


def _is_dtype(of: object) -> bool:
    return isinstance(of, np.dtype) or isinstance(of, sys.modules["pandas"].api.extensions.ExtensionDtype)


def _of_polars(given: object) -> Columns | None:
    """A lazy frame; others give Arrow's stream, and a schema is a dict."""
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(given, polars.LazyFrame):
        return dict(given.collect_schema())
    return None


def _streamed(given: Any) -> Columns | None:
    """What gives its rows as Arrow's batches: none of them is asked for."""
    try:
        return _named(pa.RecordBatchReader.from_stream(given).schema)
    except (pa.ArrowException, ValueError, TypeError):
        raise QueryError(
            f"a {kind_of(given)} is no table: give a dict of columns and types, or a table"
        ) from None


def _of_a_frame(spec: Any) -> Any:
    """The Arrow type of a dtype of pandas or polars; anything else as it is."""
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None and isinstance(spec, pandas.api.extensions.ExtensionDtype):
        return pa.array(pandas.Series([], dtype=spec), from_pandas=True).type
    if polars is not None and (
        isinstance(spec, polars.DataType) or (isinstance(spec, type) and issubclass(spec, polars.DataType))
    ):
        return pa.chunked_array(polars.Series([], dtype=spec)).type
    return spec


def _advice(spec: object) -> str:
    if isinstance(spec, np.dtype) and spec.kind == "O":
        return "; a column of objects has no type of its own, so give one, or the data frame itself"
    if isinstance(spec, pa.DataType) and pa.types.is_null(spec):
        return "; all its values are NULL, so they do not tell: give the types as a dict"
    return ""
