"""Low-water rows of windows that count rows, for any stretch of a feed: they follow from counts alone.

They are what a row has to bring along when its stream is dealt out: `Rows(n)` counts all rows of a stream, and a cell
has only some. Windows that end by time need nothing, as an event knows its own time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eddy.intake.lowwater_kernels import ROWS, TUMBLING_ROWS
from eddy.partition.given import checked_events
from eddy.query.query import Query
from eddy.values.types import Array

EARLIEST = np.iinfo(np.int64).min


def counted(query: Query) -> tuple[str, ...]:
    """The streams whose windows count rows."""
    kinds, _ = query.window_table()
    return tuple(name for name, kind in zip(query.names, kinds, strict=True) if kind in (ROWS, TUMBLING_ROWS))


def lows_at(kind: int, size: int, counts: Array) -> Array:
    """The first live row of a window of this kind and size, for each of ``counts``, the rows that have come."""
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
