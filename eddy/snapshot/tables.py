"""Tables of rows that never change once they are there: those of all streams, and the times of attached ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa
from attrs import frozen

from eddy.query.windows import uses_time
from eddy.snapshot import attached
from eddy.snapshot.rows import batches_of, schema_of
from eddy.state import EngineState


@frozen(eq=False)
class RowTable:
    """A table whose rows have growing numbers."""

    number: int
    """Its place among the tables of a snapshot."""
    schema: pa.Schema
    low: int
    """The first row that a snapshot needs."""
    stop: int
    """The row that is to come."""
    take: Callable[[int, int], Iterator[pa.RecordBatch]]
    """The rows from one number to another."""
    keyed: bool = False
    """Whether rows have their number in a column, since not all of them are there."""


def row_tables(state: EngineState) -> list[RowTable]:
    """All of them; to ask for them costs little."""
    found = []
    for number, stream in enumerate(state.streams):
        low, stop = int(state.lowwater.lows[number]), int(state.lowwater.counts[number])
        take = partial(batches_of, state, stream)
        found.append(RowTable(number, schema_of(state.query, stream), low, stop, take))
    if state.attached is None:
        return found
    floors, numbers = state.attached.floors(), state.attached.row_numbers
    lowwater = state.attached.lowwater
    for number, held in enumerate(state.attached.streams):
        low, stop = int(lowwater.lows[number]), int(lowwater.counts[number])
        first = numbers.number_of(number, floors[number])
        rows, times = (
            partial(take, state.attached, number) for take in (attached.rows_of, attached.times_of)
        )
        timed = uses_time(state.options.query.streams[held.name].window)
        place = len(state.streams) + attached.TABLES * number
        found.append(RowTable(place, attached.schema_of(held), first, stop, rows, keyed=True))
        found.append(RowTable(place + 1, attached.TIMES, low if timed else stop, stop, times))
    return found
