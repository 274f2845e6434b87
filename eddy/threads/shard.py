"""One of several parts of an engine: a router with the rows that were dealt out to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from eddy.intake.intake import Arrivals, Part
from eddy.intake.travel import ROW
from eddy.migration.changes import PlanChanges
from eddy.router.router import Router
from eddy.store.leaves import Leaves
from eddy.store.stream import StreamState, numbers_in_whole
from eddy.values.types import Array, Column
from stairs import Ring
from stairs.ring_kernels import order_of, read_rows

if TYPE_CHECKING:
    from eddy.state import EngineState

NONE = np.empty(0, np.int32)


class Shard:
    """One router with its rows, and what it had to do with the current batch."""

    def __init__(self, whole: EngineState, state: EngineState) -> None:
        self.whole, self.state = whole, state
        share, names = state.factory.share, state.query.names
        self.given = [] if share is None else [names.index(name) for name in sorted(share.given)]
        """Streams whose low-water rows come with the events."""
        state.fetch = self._fetch
        state.output.number = self._number
        self.events = NONE
        """The events of the batch that are here, by their place in the whole batch."""
        self.made = 0
        """Results of the batch."""
        self.newest = self.state.lowwater.counts.copy()
        """The next row of each stream, after the batch."""

    @property
    def changes(self) -> PlanChanges:
        """Its plan changes."""
        return self.state.changes

    @property
    def router(self) -> Router:
        return cast(Router, self.state.executor)

    def process(self, arrivals: Arrivals, events: NDArray[np.int32], ring: int, results: bool) -> None:
        """Take a batch in."""
        self.events, self.made, self.newest = events, 0, self.state.lowwater.counts.copy()
        if not len(events):
            self.router.results[ring].clear()
            return
        state, router = self.state, self.router
        if state.budget is not None:
            from eddy.inspect.collect import bytes_held

            state.budget.keep(router, lambda: bytes_held(state))
        batch = state.row_numbers.move(arrivals, state.streams)
        router.take_in(batch, ring, results)
        self.newest = batch.newest
        state.changes.feed(batch.copied)
        self.made = len(router.results[ring]) if results else 0

    def numbers(self, stream: int, rows: Array) -> Array:
        """The numbers that rows have in the whole of their stream."""
        found: Array = self.state.streams[stream].payload.storage(ROW, rows).values
        return found

    def lows(self, whole: Array) -> Array:
        """Its own low-water rows where those of the whole are ``whole``, which may have moved on without it."""
        lows, counts = self.state.lowwater.lows.copy(), self.state.lowwater.counts
        for s in self.given:
            lows[s] += np.searchsorted(self.numbers(s, np.arange(lows[s], counts[s])), whole[s])
        return lows

    def _number(self, rows: Array) -> Array:
        """What rows of results are called outside."""
        numbers, name = numbers_in_whole(self.state.streams, rows), self.whole.output.number
        return numbers if name is None else name(numbers)

    def _fetch(self, stream: str, columns: Sequence[str], rows: Array) -> list[Column]:
        number = self.state.query.names.index(stream)
        return self.whole.fetch(stream, columns, self.numbers(number, rows))

    def read(self, state: Any, start: int, count: int, events: Array, newest: Array) -> tuple[Array, Array]:
        """Results in a ring: events of the whole batch, ascending, and rows."""
        own, order = np.empty((count, len(newest)), np.int64), np.empty(count, np.int64)
        if count:
            order_of(state[2], len(events), order)
            read_rows(state, start, order, np.arange(len(newest)), newest, own)
            for s in range(len(newest)):
                own[:, s] = self.numbers(s, np.ascontiguousarray(own[:, s]))
        return events[state[2][:count][order]], own

    def reader(self, ring: Ring) -> Callable[[], tuple[Array, Array]]:
        """A function that reads what a ring holds now."""
        return partial(self.read, ring.state, ring.base, len(ring), self.events, self.newest)

    def restore(self, parts: Sequence[Part], numbers: Sequence[Array], first_row: int) -> None:
        """Begin with these live rows, one part for each stream; all composites are holes."""
        state, counts = self.state, []
        streams = cast(list[StreamState], state.streams)
        for part, stream in zip(parts, streams, strict=True):
            leaves = Leaves([stream])
            lows, begun = np.full(stream.number + 1, first_row), np.full(stream.number + 1, first_row)
            leaves.begin(lows, begun)
            if len(part.events):
                leaves.append([part])
            counts.append(stream.payload.next_row)
            begun[:] = counts[-1]
            leaves.begin(lows, begun)
        state.lowwater.restore(
            [first_row] * len(counts), counts, {i: n for i, n in enumerate(numbers) if i in self.given}
        )
        state.executor = state.factory.executor(streams, state.feedback, state.plan, fresh=False)
        state.events, state.loaded = self.whole.events, self.whole.loaded
        state.changes.resume()
