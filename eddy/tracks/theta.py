"""Steps without an equality: which rows of one stream does a predicate accept for the entries at hand?

The STAIR that such a step probes is keyed by the row number of the stream that the predicate reads there. So a theta
join is an equality join with a list of rows found first: by a sorted index where the predicate implies a range, else
by nested loops. Lazy filling then works row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from eddy.plan.compiler import Step
from eddy.query.residual import Residual
from eddy.store.stream import StreamState, as_bounds
from eddy.values.types import Column
from stairs import Ring, SortedIndex, Stair
from stairs.ring_kernels import expand, read_rows

LIMIT = 1 << 16
"""Pairs that are built and judged at a time."""

Rows = NDArray[np.int64]


def rows_of(streams: Sequence[int], ring: Ring, start: int, newest: Rows) -> Rows:
    """Row numbers of the entries from ``start`` on, a column for each stream of the query."""
    count = ring.tail - start
    rows = np.empty((count, len(newest)), np.int64)
    read_rows(ring.state, start, np.arange(count), np.array(streams, np.int64), newest, rows)
    return rows


def decide(
    residuals: Sequence[Residual],
    streams: Sequence[int],
    states: list[StreamState],
    ring: Ring,
    start: int,
    newest: Rows,
) -> NDArray[np.uint8]:
    """1 for each entry from ``start`` on that satisfies all the predicates."""
    rows = rows_of(streams, ring, start, newest)
    kept = np.ones(len(rows), np.bool_)
    for residual in residuals:
        kept &= judge(residual, rows, states)
    return kept.view(np.uint8)


def judge(residual: Residual, rows: Rows, states: list[StreamState]) -> NDArray[np.bool_]:
    """Whether a predicate holds for each combination of rows (only the columns of its streams are read)."""
    by_name = {state.name: state for state in states}

    def get(stream: str, column: str) -> Column:
        state = by_name[stream]
        return state.payload.take(column, rows[:, state.number])

    return residual.holds(get, len(rows))


class Theta:
    """Finds the keys with which a step probes a STAIR that no equality reaches."""

    def __init__(self, step: Step, states: list[StreamState], nested: bool) -> None:
        self.streams = step.source.streams
        self.states = states
        self.residual = step.theta
        self.row = step.target.key.row
        self.index: SortedIndex | None = None
        if step.theta is not None and self.row is not None and not nested:
            self.form = step.theta.range_for(states[self.row].name)
            found = states[self.row].indexes.get(step.theta)
            self.index = found[1] if found is not None and self.form is not None else None

    def pairs(self, source: Ring, start: int, stop: int, out: Ring, newest: Rows) -> Iterator[None]:
        """Fill ``out`` with copies of the source's entries, each under a row that the predicate accepts.

        Yields whenever some are there, LIMIT at the most; the caller empties ``out`` before it goes on.
        """
        count = stop - start
        if self.residual is None or self.row is None:
            out.reserve(count)
            expand(source.state, start, np.arange(count), np.zeros(count, np.int64), out.state)
            yield
            return
        chosen = np.arange(count)
        if isinstance(source, Stair) and source.leaf:
            # Rows that a filter ruled out join with nothing, and no predicate is asked about them.
            chosen = chosen[self.states[int(source.streams[0])].linked(start, count).view(np.bool_)]
        mine = np.empty((len(chosen), len(newest)), np.int64)
        streams = np.array(self.streams, np.int64)
        read_rows(source.state, start, chosen, streams, newest, mine)
        candidates = self._everything(len(chosen)) if self.index is None else self._ranges(mine)
        for which, found in candidates:
            rows = mine[which]
            rows[:, self.row] = found
            kept = judge(self.residual, rows, self.states)
            which, found = which[kept], found[kept]
            if len(which):
                out.reserve(len(which))
                expand(source.state, start, chosen[which], found & 0xFFFFFFFF, out.state)
                yield

    def _everything(self, count: int) -> Iterator[tuple[Rows, Rows]]:
        """Nested loops: every entry with every live row."""
        assert self.row is not None
        state = self.states[self.row]
        leaf = state.base
        for first in range(leaf.low, leaf.tail, LIMIT):
            live = np.arange(first, min(first + LIMIT, leaf.tail))
            live = live[state.linked(first, len(live)).view(np.bool_)]
            if len(live) == 0:
                continue
            at_once = max(1, LIMIT // len(live))
            for i in range(0, count, at_once):
                which = np.arange(i, min(i + at_once, count))
                yield np.repeat(which, len(live)), np.tile(live, len(which))

    def _ranges(self, mine: Rows) -> Iterator[tuple[Rows, Rows]]:
        """By the sorted index: every entry with the rows in the range that the predicate implies."""
        assert self.index is not None
        lower, upper = self.bounds(mine)
        start: tuple[int, int, int] | None = (0, 0, -1)
        while start is not None:
            which, rows, start = self.index.candidates(lower, upper, start, LIMIT)
            yield which, rows

    def bounds(self, mine: Rows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The range in which the predicate wants the indexed value, for each combination of rows."""
        assert self.form is not None
        by_name = {state.name: state for state in self.states}

        def get(stream: str, column: str) -> Column:
            state = by_name[stream]
            return state.payload.take(column, mine[:, state.number])

        n = len(mine)
        lower = (
            np.full(n, -np.inf)
            if self.form.lower is None
            else as_bounds(self.form.lower.evaluate(get), n, np.nan)
        )
        upper = (
            np.full(n, np.inf)
            if self.form.upper is None
            else as_bounds(self.form.upper.evaluate(get), n, np.nan)
        )
        return lower, upper
