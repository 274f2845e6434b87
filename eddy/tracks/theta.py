"""Steps without an equality: which rows of one stream do predicates accept for the entries at hand?

The STAIR that such a step probes is keyed by the row number of the stream that the predicates read there. So a theta
join is an equality join with a list of rows found first: by bands where the predicates imply some, of which one is
served by a sorted index (`eddy.tracks.driver`), else by nested loops. Lazy filling then works row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from eddy.plan.compiler import Step
from eddy.query.residual import Residual
from eddy.store.stream import StreamState
from eddy.tracks.bands import Bands, Rows, holds, reader_of_pairs
from eddy.tracks.driver import Driver
from stairs import Ring, SortedIndex, Stair
from stairs.band_kernels import scan
from stairs.ring_kernels import expand, read_rows

LIMIT = 1 << 16
"""Pairs that are built and judged at a time."""
ENTRIES = 1 << 13
"""Entries whose ranges are worked out at a time."""
ROOM = 256
"""Pairs that there is room for at first: most steps have few entries, and find few rows."""


class Decision:
    """Decides predicates on matches, where both sides of a step together have all that they read."""

    def __init__(self, residuals: Sequence[Residual], states: list[StreamState], nested: bool) -> None:
        self._states = states
        by_stream: dict[int, list[Residual]] = {}
        self._others: list[Residual] = []
        for residual in residuals:
            told = (s.number for s in states if not nested and residual.is_told_by(s.name))
            stream = next(told, None)
            (self._others if stream is None else by_stream.setdefault(stream, [])).append(residual)
        self._bands = [Bands(few, stream, states) for stream, few in by_stream.items()]

    def kept(self, streams: Sequence[int], ring: Ring, start: int, newest: Rows) -> NDArray[np.uint8]:
        """1 for each entry from ``start`` on, made of rows of these streams, that satisfies all the predicates."""
        count = ring.tail - start
        rows = np.empty((count, len(newest)), np.int64)
        read_rows(ring.state, start, np.arange(count), np.array(streams, np.int64), newest, rows)
        kept = np.ones(count, np.bool_)
        for bands in self._bands:
            kept &= bands.decide(rows)
        if self._others:
            left = np.flatnonzero(kept)
            kept[left] = holds(self._others, rows[left], self._states)
        return kept.view(np.uint8)


class Theta:
    """Finds the keys with which a step probes a STAIR that no equality reaches."""

    def __init__(self, step: Step, states: list[StreamState], nested: bool) -> None:
        self._streams = np.array(step.source.streams, np.int64)
        self._states = states
        self._thetas = step.thetas
        self._row = step.target.key.row
        self._bands: Bands | None = None
        if self._row is not None and not nested:
            bands = Bands(step.thetas, self._row, states)
            if bands.count:
                self._bands, self._driver = bands, Driver(bands)

    @property
    def looked_at(self) -> int:
        """Candidates that were tested so far, by this step or others that look for rows of the same stream."""
        return 0 if self._row is None else self._states[self._row].looked_at

    def pairs(self, source: Ring, start: int, stop: int, out: Ring, newest: Rows) -> Iterator[None]:
        """Fill ``out`` with copies of the source's entries, each under a row that the predicates accept.

        Yields whenever some are there, LIMIT at the most; the caller empties ``out`` before it goes on.
        """
        count = stop - start
        if not self._thetas:
            out.reserve(count)
            expand(source.state, start, np.arange(count), np.zeros(count, np.int64), out.state)
            yield
            return
        chosen = np.arange(count)
        if isinstance(source, Stair) and source.leaf:
            # Rows that a filter ruled out join with nothing, and no predicate is asked about them.
            chosen = chosen[self._states[int(source.streams[0])].linked(start, count).view(np.bool_)]
        mine = np.empty((len(chosen), len(newest)), np.int64)
        read_rows(source.state, start, chosen, self._streams, newest, mine)
        for which, found in self._everything(mine) if self._bands is None else self._within(mine):
            if len(which):
                out.reserve(len(which))
                expand(source.state, start, chosen[which], found & 0xFFFFFFFF, out.state)
                yield

    def range(self, mine: Rows) -> tuple[int, NDArray[np.float64], NDArray[np.float64]] | None:
        """The line of the measure by which rows are found best, and its range for each combination of rows.

        None where there are no bands. An index over that measure can serve; none is made here.
        """
        if self._bands is None:
            return None
        state, ranges = self._bands.state, self._bands.ranges(mine)
        if state.low < state.tail:
            self._driver.look(ranges, state.low, state.tail)
        first = int(self._driver.order[0])
        return int(self._bands.lines[first]), ranges[:, first, 0].copy(), ranges[:, first, 1].copy()

    def _everything(self, mine: Rows) -> Iterator[tuple[Rows, Rows]]:
        """Nested loops: of every entry with every live row, those that the predicates accept."""
        assert self._row is not None
        state = self._states[self._row]
        for first in range(state.low, state.tail, LIMIT):
            live = np.arange(first, min(first + LIMIT, state.tail))
            live = live[state.linked(first, len(live)).view(np.bool_)]
            if len(live) == 0:
                continue
            at_once = max(1, LIMIT // len(live))
            for i in range(0, len(mine), at_once):
                entries = mine[i : i + at_once]
                state.looked_at += len(entries) * len(live)
                which, found = self._accepted(entries, live)
                yield which + i, found

    def _accepted(self, entries: Rows, live: Rows) -> tuple[Rows, Rows]:
        """Of all pairs of an entry and a row those that the predicates accept: places of entries, and rows."""
        assert self._row is not None
        first, *others = self._thetas
        get = reader_of_pairs(entries, live, self._row, self._states)
        which, place = np.divmod(np.flatnonzero(first.holds(get, len(entries) * len(live))), len(live))
        found = live[place]
        if others:
            rows = entries[which]
            rows[:, self._row] = found
            kept = holds(others, rows, self._states)
            which, found = which[kept], found[kept]
        return which, found

    def _within(self, mine: Rows) -> Iterator[tuple[Rows, Rows]]:
        """By bands: of every entry with the rows in the range of one band, those that satisfy all of them."""
        assert self._bands is not None
        if self._bands.state.low < self._bands.state.tail:
            for first in range(0, len(mine), ENTRIES):
                for which, found in self._search(mine[first : first + ENTRIES]):
                    yield which + first, found

    def _search(self, mine: Rows) -> Iterator[tuple[Rows, Rows]]:
        """The same for a few entries."""
        assert self._bands is not None
        bands, state, driver = self._bands, self._bands.state, self._driver
        low, tail = state.low, state.tail
        ranges, table, lines = bands.ranges(mine), state.measures.table, bands.lines
        index: SortedIndex | None = None
        if driver.indexed(low, tail):
            driver.look(ranges, low, tail)
            index = state.measures.index(int(lines[driver.order[0]]), low)
        order, room, before = driver.order, ROOM, 0
        at = np.array((0, -1, 0, 0) if index is None else (0, 0, -1, 0), np.int64)
        while at[0] < len(mine):
            pairs = np.empty((3, room), np.int64)
            if index is None:
                count = scan(low, tail, table, lines, order, ranges, at, pairs)
            else:
                count = index.within(table, lines, order, ranges, at, pairs)
            looked_at = int(at[3]) - before
            before += looked_at
            state.looked_at += looked_at
            driver.worked(looked_at)
            yield self._confirmed(mine, pairs[:, :count])
            room = min(4 * room, LIMIT)

    def _confirmed(self, mine: Rows, pairs: Rows) -> tuple[Rows, Rows]:
        """Of pairs (entry, row, verdict of the bands) those that the predicates accept."""
        assert self._row is not None and self._bands is not None
        which, found, verdicts = pairs
        if self._bands.untold or (verdicts == 1).any():
            rows = mine[which]
            rows[:, self._row] = found
            kept = self._bands.confirmed(rows, verdicts)
            which, found = which[kept], found[kept]
        return which, found
