"""The tables of a stage, as kernels read them: named tuples of arrays, and the numbers that name their columns.

Entries, nodes and rows have a *line* each, with all that is read of one that is met by chance: it is to be in one line
of the processor's cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int8, int32, int64, types
from numpy.typing import NDArray

Int8s = NDArray[np.int8]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Float64s = NDArray[np.float64]

NONE = -1
"""No row, no entry, no node."""
FREE = -2
"""In the place of an entry's node: nobody has the entry."""

# What has happened to a composite or to a row.
DIE, LEAVE, PAST, BIRTH, COME = range(5)
OP = 5
"""The fields of such an event: what, to which entry or row, when, and its pairs from where to where."""

# Columns of the numbers of a stage.
ENTRY_FREE, ENTRY_LOW, ENTRY_NEXT, NODE_FREE, NODES_FREE, NODE_NEXT = range(6)
ROW_NEXT, ROW_HELD, ROW_LIVE, STAMP, NULL_NODE, ENTRY_ASCENDS, ROW_ASCENDS = range(6, 13)
NUMBERS = 13
"""The first free entry, or where composites end in the order in which they came, the first that lives; the next entry;
the first free node, how many there are, and the next one; the next row, the first that is held, and the first that is
live; events so far; the node of NULL; the first entry and the first row from which on bounds and measures ascend."""

# Columns of `Entries.lines`.
NODE, BEFORE, AFTER, SAME_HASH, PARTNERS, WAS, WHEN, CHOSEN = range(8)
ENTRY = 8

# Columns of `Nodes.lines`; the words of the key follow.
NEXT_NODE, FIRST_ENTRY, NEWEST, KEY = range(4)

# Columns of `Rows.links`, and of `Rows.counts`.
ROW_NODE, ROW_BEFORE = range(2)
ROW_PARTNERS, ROW_WAS, ROW_WHEN = range(3)


class Entries(NamedTuple):
    """Composites: those that live, and those that have died in this batch."""

    lines: Int64s
    """The node of its key, the entries before and after it there, and the next one in the chain of its rows' hash; how
    many partners it has (or has had, where nothing is withdrawn), how many it had before an event, which one that was,
    and the partner that it has chosen."""
    rows: Int64s
    """Row numbers of all streams; -1 where there is none."""
    births: Int64s
    """For each attached stream the low-water row and the next row when the composite came to be."""
    bounds: Float64s
    """Between which bounds the measure of a partner is."""
    heads: Int32s
    """Where the chains of hashes of rows begin."""


class Nodes(NamedTuple):
    """Keys that composites or rows have. One that no composite has, and no row that is held, is freed when room is
    needed."""

    lines: Int64s
    """The next node in the chain of a hash, the newest entry, the newest row, and the words of the key."""
    heads: Int32s


class Rows(NamedTuple):
    """The rows of the attached stream, in rings by their numbers."""

    links: Int64s
    """The node, and the row before it with its key."""
    counts: Int64s
    """Partners, as of entries."""
    values: Int64s
    """What the nearest partner is chosen by."""
    births: Int64s
    measures: Float64s


class Left(NamedTuple):
    """What happens to composites in a batch: in the order of events, at each first what dies, then what is past."""

    rows: Int64s
    signs: Int8s
    """-1: it dies. 0: it is past, and has had its life. 1: it comes."""
    events: Int32s
    entries: Int64s
    """Where each is, or is to be; -1: nobody knows it."""
    nodes: Int64s
    """Of those that come; -1 where the key cannot match."""
    births: Int64s
    values: Int64s
    """What its partner is chosen by."""
    bounds: Float64s


class Right(NamedTuple):
    """The rows that come in a batch."""

    events: Int32s
    nodes: Int64s
    values: Int64s
    measures: Float64s
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


def room_for(many: int, streams: int, births: int) -> Made:
    """Room for so many results."""
    return Made(
        np.empty((many, streams), np.int64),
        np.empty(many, np.int8),
        np.empty(many, np.int32),
        np.empty((many, births), np.int64),
    )


def concatenated(made: list[Made], streams: int, births: int) -> Made:
    """One after the other."""
    if len(made) == 1:
        return made[0]
    none = room_for(0, streams, births)
    return Made(*(np.concatenate(parts) for parts in zip(none, *made, strict=True)))


def in_order(made: Made) -> Made:
    """In the order of events; at each first what is withdrawn, then what is past."""
    order = np.argsort(made.events.astype(np.int64) * 3 + made.signs, kind="stable")
    return chosen(made, order)


_lines = int64[:, ::1]
ENTRIES = types.NamedTuple([_lines, _lines, _lines, float64[:, ::1], int32[::1]], Entries)
NODES = types.NamedTuple([int64[:, ::1], int32[::1]], Nodes)
ROWS = types.NamedTuple([_lines, _lines, int64[::1], _lines, float64[::1]], Rows)
LEFT = types.NamedTuple(
    [_lines, int8[::1], int32[::1], int64[::1], int64[::1], _lines, int64[::1], float64[:, ::1]], Left
)
RIGHT = types.NamedTuple([int32[::1], int64[::1], int64[::1], float64[::1], int64[::1], _lines], Right)
MADE = types.NamedTuple([int64[:, ::1], int8[::1], int32[::1], int64[:, ::1]], Made)
