"""Rows without a time, as of a line of JSON that could not be read: they cannot be placed, and belong to no cell.

They go to cell 0, once each, whatever their keys are, so that they are found and counted in one place: there they are
an error, or are dropped and counted in its report.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from eddy.checks import checked
from eddy.errors import BatchError
from eddy.query.query import Query
from eddy.spark.layout import STREAM, TIME, Layout
from eddy.values import arrow
from eddy.values.types import Array
from policies.options import one_of

BAD = ("error", "drop")


def check_bad(bad: Any) -> None:
    """What to do with such rows."""
    checked("bad", bad, one_of(BAD), "says what to do with rows whose time is NULL:")


def has_time(query: Query, stream: str) -> bool:
    """Whether rows of a stream must have a time: what is static has none, and is before everything."""
    return query.timed and not query.streams[stream].static


def missing(rows: pa.RecordBatch | pa.Table) -> Array | None:
    """Which rows have no time; None if all have one."""
    times = rows.column(TIME)
    if not times.null_count:
        return None
    valid = arrow.valid_of(times.combine_chunks() if isinstance(times, pa.ChunkedArray) else times)
    assert valid is not None
    return ~np.asarray(valid, np.bool_)


def dealt_apart(rows: Array, cells: Array, without: Array | None) -> tuple[Array, Array]:
    """Places of rows and their cells, as `Partitioning.deal` has them, but for those without a time."""
    if without is None:
        return rows, cells
    timed, others = ~without[rows], np.flatnonzero(without)
    return np.concatenate((rows[timed], others)), np.concatenate(
        (cells[timed], np.zeros(len(others), np.int32))
    )


def dropped(layout: Layout, rows: Any, bad: str) -> tuple[Any, int]:
    """Rows that travelled, but for those that have no time, and how many these are; BatchError if that is an error."""
    without = missing(rows)
    if without is None:
        return rows, 0
    tags = np.asarray(rows.column(STREAM))
    for number, name in enumerate(layout.query.names):
        own = tags == number
        if not has_time(layout.query, name):
            without &= ~own
        elif bad == "error" and (n := int(np.count_nonzero(without & own))):
            raise BatchError(
                f"stream {name}: {n:,} row{'' if n == 1 else 's'} of a partition ha{'s' if n == 1 else 've'} no time "
                f'(column {layout.query.streams[name].time!r} is NULL): pass bad="drop" to eddy.spark.join or stream, '
                "which drops such rows and counts them in its report, or filter them out before"
            )
    without &= tags >= 0  # markers are no rows
    return (rows.filter(pa.array(~without)) if without.any() else rows), int(np.count_nonzero(without))
