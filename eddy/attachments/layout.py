"""The tables of a stage, as kernels read them: named tuples of arrays, and the numbers that name their columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int8, int32, int64, types, uint8
from numpy.typing import NDArray

Int8s = NDArray[np.int8]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

NONE = -1
"""No row, no entry, no node."""

# What a stage does, as bits of one number.
PAIRS = 1
"""A composite is given with each of its partners."""
KEEPS_LEFT = 2
"""A composite without a partner is given with NULLs."""
KEEPS_RIGHT = 4
"""A row that is no composite's partner is given with NULLs."""
SEMI = 8
"""A composite is given once if it has a partner."""
ANTI = 16
"""A composite is given if it has none."""
NEAREST = 32
"""A composite takes one partner when it comes, and keeps it."""
CHANGES = 64
"""What is given holds at every event: it is withdrawn when it does no longer."""
FURTHER = 128
"""Somebody has to know of the ends of what is given."""
SOLE = 256
"""One partner tells as much as all of them: there is no predicate beside the keys."""
STRICT = 512
"""The nearest partner comes before the composite, not with it."""
ORDERED = 1024
"""What the nearest partner is chosen by ascends with the rows."""

# What has happened to a composite or to a row.
DIE, LEAVE, PAST, BIRTH, COME = range(5)
OP = 5
"""The fields of such an event: what, to which entry or row, when, and its pairs from where to where."""

# Columns of the numbers of a stage.
ENTRY_FREE, ENTRY_NEXT, NODE_FREE, NODE_NEXT, ROW_NEXT, ROW_HELD, ROW_LIVE, STAMP = range(8)
NUMBERS = 8

# Columns of `Entries.links` and `Entries.counts`.
NODE, BEFORE, AFTER, SAME_HASH = range(4)
PARTNERS, WAS, WHEN, CHOSEN = range(4)

# Columns of `Nodes.links`.
NEXT_NODE, FIRST_ENTRY, LIVE, HELD = range(4)


class Entries(NamedTuple):
    """Composites: those that live, and those that have just died."""

    rows: Int64s
    """Row numbers of all streams; -1 where there is none."""
    links: Int32s
    """The node of its key, the entries before and after it there, and the next one in the chain of its rows' hash."""
    counts: Int64s
    """How many partners it has (or has had, where nothing is withdrawn), how many it had before an event, which one
    that was, and the partner that it has chosen."""
    births: Int64s
    """For each attached stream the low-water row and the next row when the composite came to be."""
    heads: Int32s
    """Where the chains of hashes begin."""


class Nodes(NamedTuple):
    """Keys that composites or rows have."""

    keys: Int64s
    links: Int64s
    """The next node in the chain of a hash, the newest entry, and how many rows are live, and held."""
    newest: Int64s
    """The newest row."""
    heads: Int32s


class Rows(NamedTuple):
    """The rows of the attached stream, in rings by their numbers."""

    nodes: Int32s
    before: Int64s
    """The row before it with its key."""
    counts: Int64s
    """As those of entries; nothing is chosen."""
    values: Int64s
    """What the nearest partner is chosen by."""
    births: Int64s


class Left(NamedTuple):
    """What happens to composites in a batch: in the order of events, at each first what dies, then what is past."""

    rows: Int64s
    signs: Int8s
    """-1: it dies. 0: it is past, and has had its life. 1: it comes."""
    events: Int32s
    keys: Int64s
    valid: NDArray[np.uint8]
    """Whether its key can match at all."""
    births: Int64s
    values: Int64s
    """What its partner is chosen by."""


class Right(NamedTuple):
    """The rows that come in a batch."""

    events: Int32s
    keys: Int64s
    valid: NDArray[np.uint8]
    values: Int64s
    lows: Int64s
    """The low-water row before the batch, and at each of its events."""
    born: Int64s
    """For each event what a composite that comes at it is to know of the attached streams."""


class Made(NamedTuple):
    """What a stage gives."""

    rows: Int64s
    signs: Int8s
    events: Int32s
    births: Int64s


def chosen(made: Made, where: NDArray[Any]) -> Made:
    """Those of a stage's results that a mask or indexes name."""
    pick = np.ascontiguousarray
    return Made(
        pick(made.rows[where]), pick(made.signs[where]), pick(made.events[where]), pick(made.births[where])
    )


ENTRIES = types.NamedTuple([int64[:, ::1], int32[:, ::1], int64[:, ::1], int64[:, ::1], int32[::1]], Entries)
NODES = types.NamedTuple([int64[:, ::1], int64[:, ::1], int64[::1], int32[::1]], Nodes)
ROWS = types.NamedTuple([int32[::1], int64[::1], int64[:, ::1], int64[::1], int64[:, ::1]], Rows)
LEFT = types.NamedTuple(
    [int64[:, ::1], int8[::1], int32[::1], int64[:, ::1], uint8[::1], int64[:, ::1], int64[::1]], Left
)
RIGHT = types.NamedTuple(
    [int32[::1], int64[:, ::1], uint8[::1], int64[::1], int64[::1], int64[:, ::1]], Right
)
MADE = types.NamedTuple([int64[:, ::1], int8[::1], int32[::1], int64[:, ::1]], Made)
