"""The tables of `LiveResults`: tuples of arrays, and the types that kernels take them by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import int32, int64, types, uint8, uint32
from numpy.typing import NDArray

Uint32s = NDArray[np.uint32]


class Store(NamedTuple):
    """Results in blocks, and the tree above them."""

    records: Uint32s
    """Rows [block, stream, place]."""
    filled: NDArray[np.uint8]
    """How many places of each block are filled."""
    nodes: Uint32s
    """The oldest row of each stream below each node, level by level [node, stream]."""
    starts: NDArray[np.int64]
    """The first node of each level."""


class Batch(NamedTuple):
    """What a batch lets live."""

    marks: Uint32s
    """Low-water rows [event, stream]."""
    newest: Uint32s
    """The next row of each stream."""
    reach: Uint32s
    """The age of each stream's last mark: what is older is dead."""
    chart: NDArray[np.int32]
    """Where to look for the event at which a row dies: see `draw`."""
    shifts: NDArray[np.int64]
    tops: NDArray[np.int64]
    """Of the chart, for each stream."""
    flags: Uint32s
    gone: Uint32s
    kept: Uint32s
    """Room for a number for each place of a block: whether its result has died, and the places of either sort."""


class Deaths(NamedTuple):
    """Results that died."""

    rows: Uint32s
    """In the order of their emission."""
    events: NDArray[np.int32]
    """The event at which each died."""


STORE = types.NamedTuple([uint32[:, :, ::1], uint8[::1], uint32[:, ::1], int64[::1]], Store)
_chart = int32[:, ::1], int64[::1], int64[::1]
_room = uint32[::1], uint32[::1], uint32[::1]
BATCH = types.NamedTuple(
    [uint32[:, ::1], uint32[::1], uint32[::1], *_chart, *_room],
    Batch,
)
DEATHS = types.NamedTuple([uint32[:, ::1], int32[::1]], Deaths)
