"""Partitioning: which rows go to which cell, so that cells that know nothing of each other join exactly.

A *cell* is a part of the work: a thread's shard, a Spark partition. `choose` finds a way to deal the rows out;
`Partitioning.deal` deals them; `Cell` joins what a cell gets. Every result is made in exactly one cell, and with the
results of all cells one has what a single `Eddy` gives. Nothing here depends on the plan: **when the join order
changes, no row has to move**, which a chain of binary joins, each shuffled by its own key, cannot do.

Kinds:

- ``hash``: one key class joins all streams, and a row goes where its key says.
- ``hypercube``: a grid with a dimension for each key class that is worth it, and for the rows of streams that have
  none. A row is copied along the dimensions that it lacks.
- ``slices``: of time, or of events where no window uses time. Each begins with the windows that it needs; a result
  belongs to the slice of its latest event.
- ``single``: everything to cell 0; set differences and aggregates are not dealt out.

Outer, semi, anti and as-of joins (``query.attachments``) are hashed by a key that all streams share, where no window
counts rows, or single: no row is copied, and every row is sent. Of these `Cell.close` gives what is owed at the end.

Heavy keys, which a sample shows, have grids of their own in the first two.

What travels with a row, as columns beside its own (`Cell.push` takes them out again; all int64):

- ``__event``: the number of its event, ascending in the order of the whole feed. Not needed where every stream has a
  time and ties go in the order of the query's streams: then it is found from the times.
- ``__row``: its number in its stream, from 0, filtered rows counted. Without it `Result.rows` are the cell's own
  numbers, and dealing by rows (streams without keys) and windows of rows are not possible.
- ``__mark_S`` for each stream S whose window counts rows (`counted(query)`): the low-water row of S at this event, by
  number. `row_marks` computes them for any stretch of a feed from the counts before it. Every row of every stream
  brings them, as it may complete a result.

Rows that `deal` does not list need not be sent: their key is NULL, or matches nothing; they have counted in the marks.

May import: values, query, intake; a `Cell`, which is an engine, is loaded when it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eddy.engine.cell import Cell
    from eddy.intake.travel import EVENT, ROW, mark_column
    from eddy.partition.choice import KINDS, Partitioning, choose, gridded, sliced
    from eddy.partition.marks import counted, row_marks
    from eddy.partition.slices import Slices

__all__ = [
    "EVENT",
    "KINDS",
    "ROW",
    "Cell",
    "Partitioning",
    "Slices",
    "choose",
    "counted",
    "gridded",
    "mark_column",
    "row_marks",
    "sliced",
]

_HOMES = {
    "Cell": "eddy.engine.cell",
    **dict.fromkeys(("EVENT", "ROW", "mark_column"), "eddy.intake.travel"),
    **dict.fromkeys(("KINDS", "Partitioning", "choose", "gridded", "sliced"), "eddy.partition.choice"),
    **dict.fromkeys(("counted", "row_marks"), "eddy.partition.marks"),
    "Slices": "eddy.partition.slices",
}


def __getattr__(name: str) -> Any:
    """Modules are loaded when a name of theirs is first used: some have kernels, and a `Cell` is an engine."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
