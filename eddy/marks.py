"""Low-water rows of windows that count rows, for any stretch of a feed: they follow from counts alone.

They are what a row has to bring along when its stream is dealt out: `Rows(n)` counts all rows of a stream, and a cell
has only some. Windows that end by time need nothing, as an event knows its own time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from eddy.faults import Faults
from eddy.lowwater_kernels import ROWS, TUMBLING_ROWS
from eddy.partition_given import checked_events
from eddy.query import Query
from eddy.strings import StringPool
from eddy.types import Array

EARLIEST = np.iinfo(np.int64).min
EVENT, ROW = "__event", "__row"
"""Columns that travel with a row: the number of its event, and its own in its stream."""


def mark_column(stream: str) -> str:
    """The column that carries the marks of a stream."""
    return f"__mark_{stream}"


@frozen
class Share:
    """What makes an engine a part of a whole: it has only some rows of the streams."""

    given: frozenset[str]
    """Streams whose marks come with the events."""
    pool: StringPool | None = None
    """The whole's, if that keeps what results show; then the part has only what predicates read."""
    faults: Faults | None = None
    """The whole's, if that raises what policies of its parts have raised."""


def counted(query: Query) -> tuple[str, ...]:
    """The streams whose windows count rows."""
    kinds, _ = query.window_table()
    return tuple(name for name, kind in zip(query.names, kinds, strict=True) if kind in (ROWS, TUMBLING_ROWS))


def lows_at(kind: int, size: int, counts: Array) -> Array:
    """The first live row once so many rows have come."""
    if kind == ROWS:
        return np.maximum(counts - size, 0)
    return np.maximum((counts - 1) // size, 0) * size


def row_marks(query: Query, streams: NDArray[np.int32], counts: Sequence[int]) -> Array:
    """The marks of consecutive events, int64 [events, counted streams], each event counted itself.

    ``streams`` has the stream of each, by its place in the query; ``counts`` how many rows of every stream came before
    them. So a feed can be marked in stretches, at many places at once: count first, then mark.
    """
    streams, counts = checked_events(query.names, streams, counts)
    kinds, params = query.window_table()
    wanted = [query.names.index(name) for name in counted(query)]
    marks = np.empty((len(streams), len(wanted)), np.int64)
    for place, s in enumerate(wanted):
        so_far = counts[s] + np.cumsum(streams == s)
        marks[:, place] = lows_at(int(kinds[s]), int(params[s]), so_far)
    return marks
