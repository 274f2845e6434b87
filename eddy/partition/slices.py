"""Slices of time, or of events: each cell has a stretch of the feed, and before it the windows that this needs.

A result belongs to the slice of its latest event. Its other rows are live then, so they are in the window of their
stream at the beginning of the slice, or came since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import frozen

from eddy.errors import EddyError
from eddy.partition.marks import EARLIEST, lows_at
from eddy.query.query import Query
from eddy.query.windows import Range, Rows, Sliding, Tumbling, uses_time
from eddy.values.conversion import convert
from eddy.values.types import Array, Columns, Sample


@frozen
class Slices:
    """Where each slice begins, and the first rows that it needs of every stream."""

    by: str
    """"time", in the unit of the query, or "event"."""
    starts: tuple[int, ...]
    """The first time, or event number, of each slice; the first slice begins with the feed."""
    firsts: dict[str, tuple[int, ...]]
    """For each slice the first that it needs of a stream, by time, event or row number as ``measures`` says."""
    measures: dict[str, str]
    """"time", "row", or "all": every row of this and of earlier slices is needed; "static": so are later ones."""

    def deal(
        self,
        query: Query,
        stream: str,
        columns: Columns,
        numbers: Array | None,
        events: Array | None,
    ) -> tuple[Array, Array]:
        """Rows by their place in the batch, and the slices that each is sent to."""
        measure, last = self.measures[stream], len(self.starts) - 1
        if measure == "static":
            n = len(next(iter(columns.values())))
            return np.repeat(np.arange(n), last + 1), np.tile(np.arange(last + 1, dtype=np.int32), n)
        order = self.order(query, stream, columns, events)
        return self.reach(stream, order, _given("numbers", numbers) if measure == "row" else order)

    def reach(self, stream: str, order: Array, place: Array) -> tuple[Array, Array]:
        """Rows and slices that need them: by ``order`` a row lies in a slice, by ``place`` later ones need it too."""
        measure, last = self.measures[stream], len(self.starts) - 1
        own = np.searchsorted(self.starts, order, side="right") - 1
        until = np.full(len(own), last)
        if measure != "all":
            until = np.searchsorted(self.firsts[stream], place, side="right") - 1
        copies = np.maximum(until, own) - own + 1
        rows = np.repeat(np.arange(len(own)), copies)
        into = np.arange(len(rows)) - np.repeat(np.cumsum(copies) - copies, copies)
        return rows, (np.repeat(own, copies) + into).astype(np.int32)

    def order(self, query: Query, stream: str, columns: Columns, events: Array | None) -> Array:
        """What says in which slice an event is."""
        if self.by == "event":
            return _given("events", events)
        declared = query.streams[stream]
        assert declared.time is not None
        kind = declared.columns[declared.time]
        return query.time_of(stream, convert(declared.time, kind, columns[declared.time]).values)


def _given(what: str, values: object) -> Array:
    if values is None:
        raise EddyError(f"slices of this query need {what}=, an int64 number for each row")
    return np.asarray(values, np.int64)


def times_of(query: Query, sample: Sample) -> dict[str, Array]:
    """The times in a sample, in the unit of the query, by stream."""
    found = {}
    for name, batch in sample.items():
        declared = query.streams[name]
        if declared.time is not None and not declared.static:
            own = convert(declared.time, declared.columns[declared.time], batch[declared.time]).values
            found[name] = query.time_of(name, own)
    return found


def slices(query: Query, starts: Sequence[int], counts: Mapping[str, Sequence[int]] | None = None) -> Slices:
    """Slices that begin at these times, or at these event numbers where no window uses time.

    ``counts``: of each stream with a window of rows, how many rows come before each start, the first included.
    """
    by = "time" if query.time_windows else "event"
    begins = np.array([EARLIEST, *sorted(starts)[1:]], np.int64)
    kinds, params = query.window_table()
    firsts: dict[str, tuple[int, ...]] = {}
    measures: dict[str, str] = {}
    for i, (name, stream) in enumerate(query.streams.items()):
        window = stream.window
        if stream.static:
            measures[name] = "static"
        elif uses_time(window):
            width = int(params[i])
            low = begins - (width if isinstance(window, (Range, Sliding)) else begins % width)
            if isinstance(window, Sliding):
                low -= begins % int(query.window_steps()[i])
            measures[name] = "time"
            firsts[name] = tuple(np.where(low > begins, EARLIEST, low).tolist())
        elif isinstance(window, (Rows, Tumbling)):
            if counts is None or name not in counts:
                raise EddyError(
                    f"slices need counts= of stream {name}: its rows before each slice, for {window!r}"
                )
            measures[name] = "row"
            found = np.asarray(counts[name], np.int64)
            firsts[name] = (0, *lows_at(int(kinds[i]), int(params[i]), found[1:]).tolist())
        else:
            measures[name] = "all"
    return Slices(by, tuple(begins.tolist()), firsts, measures)
