"""A core's engine that begins with rows that are there already: it sees those that its windows hold."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from eddy.intake.intake import Part
from eddy.intake.lowwater_kernels import LOW, ORIGIN, TUMBLING_ROWS
from eddy.intake.travel import WHEN
from eddy.query.expressions import Get
from eddy.query.windows import Tumbling
from eddy.several.core import QUERIES, CoreQuery
from eddy.several.feed import Feed
from eddy.several.lineage import Lineage
from eddy.several.sets import Slots
from eddy.snapshot.snapshot import live_results
from eddy.state import EngineState
from eddy.store.leaves import Leaves
from eddy.store.stream import StreamState
from eddy.values.types import Array, Column

PIECE = 1 << 20
"""Rows that are stored at a time: so many that rings seldom have to grow, and what is in them to be linked again."""
MARKED = 1 << 16
"""Rows that windows take in at a time."""


def plant(
    state: EngineState, core: CoreQuery, feed: Feed, lineage: Lineage, firsts: Mapping[str, int]
) -> None:
    """Give a new state the rows of the feed from ``firsts`` on, by stream, as far as its windows hold them.

    Its composites are holes, as after a snapshot was loaded: to add a query is a plan change.
    """
    nexts = {name: feed.payload(name).next_row for name in core.names}
    _move_windows(state, core, feed, firsts, nexts)
    lows = state.lowwater.lows.tolist()
    streams: list[StreamState] = []
    for number, name in enumerate(core.names):
        stream = state.factory.stream(number, lows[number])
        streams.append(stream)
        leaves, ends = Leaves([stream]), np.full((2, number + 1), lows[number])
        gap = max(0, firsts[name] - lows[number])
        for start in range(lows[number], nexts[name], PIECE):
            leaves.begin(*ends)
            part = _part(state, feed, lineage, name, np.arange(start, min(start + PIECE, nexts[name])), gap)
            part.stream, gap = number, max(0, gap - PIECE)
            leaves.append([part])
            ends[1, number] = stream.payload.next_row
        leaves.begin(*ends)
    state.streams = [*streams]
    state.intake.loaded = any(nexts[n] > firsts[n] and not core.streams[n].static for n in core.names)
    state.executor = state.factory.executor(streams, state.feedback, state.plan, fresh=False)
    if core.base is not None:  # a chain knows of no rows but those that it was given
        _, box = live_results(state)
        state.executor, state.streams = box.router, [*box.streams]
    state.changes.resume()


def reader(columns: Mapping[str, Column]) -> Get:
    """What finds the columns of one stream for its filters."""
    return lambda _, column: columns[column]


def rows_of(feed: Feed, stream: str, rows: Slots) -> dict[str, Column]:
    """All columns of these rows of a stream, strings as text."""
    payload = feed.payload(stream)
    names = [name for name in payload.columns if name != WHEN]
    return dict(zip(names, payload.take_all(names, rows), strict=True))


def reading(feed: Feed, stream: str, rows: Slots) -> Get:
    """What finds the columns of these rows of a stream for its filters; none that they do not read."""
    return cache(lambda _, column: feed.payload(stream).take(column, rows))


def _part(state: EngineState, feed: Feed, lineage: Lineage, name: str, rows: Slots, gap: int) -> Part:
    """Rows of a stream as its core stores them; the first ``gap`` of them are gone, and have their numbers only."""
    payload = feed.payload(name)
    wanted = [column for column in state.query.streams[name].columns if column != QUERIES]
    there, gap = rows[gap:], min(gap, len(rows))
    columns = dict(zip(wanted, payload.storage_all(wanted, there), strict=True))
    if state.query.filters:
        columns[QUERIES] = Column(lineage.numbers(name, reading(feed, name, there), len(there)))
    if state.query.in_order:  # before all events that are still to come, in the order of the feed
        columns[WHEN] = Column(payload.storage(WHEN, there).values - feed.events + state.events)
    if gap:
        columns = {column: _after(gap, values) for column, values in columns.items()}
    part = state.intake.part(name, columns, np.full(len(rows), -1, np.int32))
    if gap:
        part.kept = np.ones(len(rows), np.uint8) if part.kept is None else part.kept
        part.kept[:gap] = 0
    return part


def _after(gap: int, column: Column) -> Column:
    """A column whose values come after so many that nobody reads."""
    nothing = Column(
        np.zeros(gap, column.values.dtype), None if column.valid is None else np.ones(gap, np.bool_)
    )
    return Column.concat([nothing, column])


def _move_windows(
    state: EngineState, core: CoreQuery, feed: Feed, firsts: Mapping[str, int], nexts: Mapping[str, int]
) -> None:
    """Have the windows take in the rows from ``firsts`` on, in order of time."""
    lowwater, begin = state.lowwater, [firsts[name] for name in core.names]
    lowwater.restore(begin, begin, {})
    lowwater.table[ORIGIN] = begin
    for number, name in enumerate(core.names):
        window = core.streams[name].window
        if (
            isinstance(window, Tumbling) and window.rows is not None
        ):  # panes begin at multiples of their length
            assert lowwater.table[0, number] == TUMBLING_ROWS
            lowwater.table[LOW, number] = begin[number] // window.rows * window.rows
    counts = [nexts[name] - firsts[name] for name in core.names]
    streams = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    times = None
    if core.time_windows:
        times = np.concatenate([_times(core, feed, name, firsts[name]) for name in core.names])
        order = times.argsort(kind="stable")
        times, streams = times[order], streams[order]
    for start in range(0, len(streams), MARKED):
        here = slice(start, start + MARKED)
        lowwater.advance(streams[here], None if times is None else times[here])
    newest = [
        int(core.time_of(name, one.values)[0])
        for name in core.names
        for one in (feed.streams[name].newest,)
        if one is not None and not core.streams[name].static
    ]
    if core.time_windows and newest:
        state.intake.now = max(newest)
        lowwater.advance(np.array([-1], np.int32), np.array([state.intake.now]))


def _times(core: CoreQuery, feed: Feed, name: str, first: int) -> Array:
    """The times of a stream's rows from ``first`` on; what is static is older than all of them."""
    payload, stream = feed.payload(name), core.streams[name]
    rows = np.arange(first, payload.next_row)
    if stream.static or stream.time is None:
        return np.full(len(rows), np.iinfo(np.int64).min)
    return core.time_of(name, payload.storage(stream.time, rows).values)
