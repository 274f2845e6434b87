"""Batches of any make, turned into columns in the types that the stream declares.

A numpy array of exactly the storage dtype is used as it is: that is the hot path, about a microsecond a
column; what differs from that only in its make (`plain`) comes next. So a column may alias the caller's memory; it
must not be written to, nor kept beyond the push (a payload copies). Every array that leaves here is contiguous,
aligned and writeable, as compiled kernels ask.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy import ndarray

from eddy.errors import BatchError
from eddy.shown import kind_of
from eddy.values.conversion import FAILURES, convert
from eddy.values.plain import plain, plain_nulls, plain_text
from eddy.values.types import Array, Column, ColumnType

if TYPE_CHECKING:
    from eddy.query.query import Stream


def normalise(
    name: str, stream: Stream, batch: Any, coded: Collection[str] = ()
) -> tuple[dict[str, Column], int]:
    """The batch of stream `name` as one column for each that is declared, and its number of rows.

    Columns of strings that are named in `coded` stay coded by a dictionary if they come so.

    Columns that are not declared are passed over, unless the stream is strict. Raises BatchError, and has changed
    nothing, if a column is missing, if they differ in length, hold a value that does not fit, or lack a time.
    """
    if type(batch) is not dict:
        batch = _mapping(name, batch)
    columns: dict[str, Column] = {}
    n = -1
    for column, kind in stream.columns.items():
        values = batch.get(column)
        if (
            type(values) is ndarray
            and values.dtype == kind.direct
            and values.ndim == 1
            and values.flags.carray
        ):
            size = len(values)
            columns[column] = Column(values, None)
        elif values is None:
            raise _mismatch(name, stream, batch)
        elif type(values) is Column:  # of the reorder buffer, which has checked it
            size = len(values.values)
            columns[column] = values
        else:
            found = _column(kind, values, column in coded)
            if found is None:
                found = convert(f"stream {name}, column {column!r}", kind, values, stream.parse)
            columns[column] = found
            size = len(found.values)
        if size != n:
            if n >= 0:
                raise _ragged(name, batch)
            n = size
    if stream.strict and len(batch) != len(columns):
        raise _mismatch(name, stream, batch)
    if stream.time is not None:
        valid = columns[stream.time].valid
        if valid is not None and not valid.all():
            row = int(np.argmin(valid))
            raise BatchError(
                f"stream {name}: the time {stream.time!r} of row {row} of this batch is NULL; give it one"
            )
    return columns, n


def _column(kind: ColumnType, values: Any, coded: bool) -> Column | None:
    """A column that needs no closer look; None if it does."""
    if kind.kind == "string":
        return plain_text(values, coded)
    if kind.is_coded:
        return None
    array = plain(kind, values)
    return plain_nulls(kind, values) if array is None else Column(array)


def plain_columns(name: str, stream: Stream, batch: Any) -> list[Array] | None:
    """The columns of a batch as arrays that need no preparation, in the order in which they are declared.

    None if something has to be looked at more closely, or is wrong: `normalise` finds what it is.
    """
    if type(batch) is not dict:
        try:
            batch = _mapping(name, batch)
        except BatchError:
            return None
    if len(batch) != len(stream.columns) and (stream.strict or len(batch) < len(stream.columns)):
        return None
    arrays = []
    for column, kind in stream.columns.items():
        array = plain(kind, batch.get(column))
        if array is None:
            return None
        arrays.append(array)
    return arrays


def _mapping(name: str, batch: Any) -> Mapping[str, Any]:
    """The columns of a batch by name."""
    if isinstance(batch, (pa.Table, pa.RecordBatch)):
        names = batch.schema.names
        _refuse_repeated(name, names)
        return dict(zip(names, batch.columns, strict=True))
    if isinstance(batch, Mapping):
        return batch
    if isinstance(batch, np.ndarray):
        if batch.dtype.names is None:
            raise BatchError(
                f"stream {name}: an array of {batch.dtype} has no column names; "
                "give a structured array, or a dict of column name to array"
            )
        return {column: batch[column] for column in batch.dtype.names}
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(batch, pandas.DataFrame):
        columns = list(batch.items())  # quicker than to look them up one by one
        _refuse_repeated(name, [column for column, _ in columns])
        return dict(columns)
    return _mapping(name, _table(name, batch))


def _table(name: str, batch: Any) -> pa.Table:
    """What comes by Arrow's interface, if that is a table."""
    hint = ""
    if isinstance(batch, type):
        hint = f"; this is the class {batch.__name__} itself: give an object of it"
    elif hasattr(batch, "__arrow_c_stream__") or hasattr(batch, "__arrow_c_array__"):
        try:
            return pa.table(batch)
        except FAILURES as error:
            if not _is_column(batch):
                raise BatchError(
                    f"stream {name}: this {type(batch).__name__} cannot be read ({str(error).splitlines()[0]}); "
                    "convert its columns to types that Arrow knows"
                ) from error
            called = getattr(batch, "name", None) or "x"
            raise BatchError(
                f"stream {name}: a {kind_of(batch)} is one column, and a batch has all of the stream: give it with its "
                f"name, beside the others, as in {{{called!r}: ...}}, or a data frame"
            ) from error
    elif hasattr(batch, "collect"):
        hint = "; call collect() on it first"
    elif isinstance(batch, list) and batch and isinstance(batch[0], Mapping):
        hint = "; a list of rows becomes one with pyarrow.Table.from_pylist(rows)"
    raise BatchError(
        f"stream {name}: a {kind_of(batch)} is not a batch; give a dict of arrays, a "
        f"structured numpy array, a pyarrow Table or RecordBatch, or a data frame of pandas or polars{hint}"
    )


def _is_column(values: Any) -> bool:
    """Whether Arrow takes it for an array."""
    try:
        pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else pa.array(values)
    except FAILURES:
        return False
    return True


def _refuse_repeated(name: str, columns: list[Any]) -> None:
    if len(set(columns)) == len(columns):
        return
    seen: set[Any] = set()
    for column in columns:
        if column in seen:
            raise BatchError(f"stream {name}: the batch has two columns named {column!r}; rename or drop one")
        seen.add(column)


def _mismatch(name: str, stream: Stream, batch: Mapping[Any, Any]) -> BatchError:
    """Says which columns are missing or unknown, and which name may have been meant."""
    problems = []
    for column in stream.columns:
        if column not in batch:
            near = difflib.get_close_matches(column, [str(c) for c in batch if c not in stream.columns], 1)
            meant = f" (is it the batch's {near[0]!r}?)" if near else ""
            problems.append(f"column {column!r} is missing{meant}")
        elif batch[column] is None:
            problems.append(f"column {column!r} is None; give an array, with None where a value is NULL")
    for column in batch if stream.strict else ():
        if column not in stream.columns:
            near = difflib.get_close_matches(str(column), list(stream.columns), 1)
            meant = f" (did you mean {near[0]!r}?)" if near else ""
            problems.append(f"column {column!r} is unknown{meant}")
    declared = ", ".join(stream.columns)
    exactly = "exactly " if stream.strict else ""
    return BatchError(f"stream {name}: {'; '.join(problems)}; give {exactly}the columns {declared}")


def _ragged(name: str, batch: Mapping[str, Any]) -> BatchError:
    lengths = ", ".join(
        f"{column}: {len(values)}" for column, values in batch.items() if hasattr(values, "__len__")
    )
    return BatchError(
        f"stream {name}: the columns differ in length ({lengths}); give each a value for every row"
    )
