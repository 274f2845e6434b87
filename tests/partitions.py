"""A case dealt out to cells: the whole feed with what travels with its rows, and what the cells make of it."""

from __future__ import annotations

import numpy as np
from attrs import define, field

from eddy import partition
from tests.cases import batch, expected, make_query, step_events


@define
class Dealt:
    """A case's feed: for each stream its rows, their events and marks, and the cells that each row is sent to."""

    case: object
    query: object = field(init=False)
    rows: dict = field(init=False)
    events: dict = field(init=False)
    marks: dict = field(init=False)
    order: list = field(init=False)

    def __attrs_post_init__(self):
        self.query = make_query(self.case)
        names = self.query.names
        feed = [event for step in self.case.steps for event in step_events(self.case, step)]
        self.order = [name for name, _ in feed]
        self.rows = {name: [row for other, row in feed if other == name] for name in names}
        self.events = {
            name: np.array([i for i, other in enumerate(self.order) if other == name], np.int64)
            for name in names
        }
        numbers = np.array([names.index(name) for name in self.order], np.int32)
        whole = partition.row_marks(self.query, numbers, [0] * len(names))
        self.marks = {name: whole[self.events[name]] for name in names}

    def results(self):
        """All results of the oracle: row numbers, in the order of emission."""
        return [rows for step in expected(self.case) for found in step for rows in found]

    def columns(self, name, places):
        """Some rows of a stream as a batch, with the columns that travel."""
        columns = batch(self.case, name, [self.rows[name][i] for i in places])
        columns = {c: columns[c] for c in (columns.schema.names if hasattr(columns, "schema") else columns)}
        columns[partition.EVENT] = self.events[name][places]
        columns[partition.ROW] = np.asarray(places, np.int64)
        for i, other in enumerate(partition.counted(self.query)):
            columns[partition.mark_column(other)] = self.marks[name][places, i]
        return columns

    def sent(self, partitioning, pick):
        """For each cell and stream the rows that it is sent; dealt in batches of random sizes."""
        sent = [{name: [] for name in self.query.names} for _ in range(partitioning.cells)]
        for name, rows in self.rows.items():
            start = 0
            while start < len(rows):
                places = np.arange(start, min(len(rows), start + pick.integer(1, 40)))
                columns = batch(self.case, name, [rows[i] for i in places])
                found, cells = partitioning.deal(name, columns, places, self.events[name][places])
                for place, cell in zip(places[found].tolist(), cells.tolist(), strict=True):
                    sent[cell][name].append(place)
                start = int(places[-1]) + 1
        return sent

    def owner(self, partitioning, result):
        """The slice that a result belongs to."""
        names = self.query.names
        last = max(zip(names, result, strict=True), key=lambda pair: self.events[pair[0]][pair[1]])
        name, row = last
        columns = batch(self.case, name, [self.rows[name][row]])
        columns = {c: columns[c] for c in (columns.schema.names if hasattr(columns, "schema") else columns)}
        order = partitioning.slices.order(self.query, name, columns, self.events[name][[row]])
        return int(np.searchsorted(partitioning.slices.starts, order[0], side="right")) - 1


def chosen(dealt, cells, kind, pick):
    """A partitioning of this kind for the feed, by a sample of it; slices begin anywhere."""
    query = dealt.query
    if kind == "slices":
        n = len(dealt.order)
        at = sorted({0, *(pick.integer(0, n) for _ in range(cells - 1))}) if n else [0]
        counts = {name: [dealt.order[:i].count(name) for i in at] for name in query.names}
        if query.time_windows:
            at, counts = _times(dealt, at, counts)
        return partition.sliced(query, at, counts)
    sample = {
        name: batch(dealt.case, name, rows[: pick.integer(0, 60)])
        for name, rows in dealt.rows.items()
        if pick.chance(50)
    }
    sizes = {name: len(rows) for name, rows in dealt.rows.items()} if pick.chance(70) else None
    return partition.choose(query, cells, sizes, sample, kind)


def _times(dealt, at, counts):
    """The starts of slices by time: at the times of these events, and the rows before the first event of that time."""
    clock = {}
    for name, rows in dealt.rows.items():
        stream = dealt.query.streams[name]
        columns = batch(dealt.case, name, rows)
        place = partition.Slices("time", (0,), {}, {})
        columns = {stream.time: columns[stream.time]}
        for event, time in zip(
            dealt.events[name], place.order(dealt.query, name, columns, None), strict=True
        ):
            clock[int(event)] = int(time)
    times = sorted({clock[min(i, len(clock) - 1)] for i in at})
    before = [sum(clock[i] < time for i in clock) for time in times]
    return times, {name: [dealt.order[:i].count(name) for i in before] for name in counts}
