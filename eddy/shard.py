"""One of several parts of an engine: a router with the rows that were dealt out to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from eddy.box import Batch
from eddy.intake import Arrivals, Part
from eddy.leaves import Leaves
from eddy.marks import ROW, Share
from eddy.router import Router
from eddy.types import Array, Column
from stairs import Ring
from stairs.ring_kernels import order_of, read_rows

if TYPE_CHECKING:
    from eddy.engine import Eddy
    from eddy.migrations import Migrations

NONE = np.empty(0, np.int32)


class Shard:
    """One router with its rows, and what it had to do with the current batch."""

    def __init__(self, whole: Eddy, share: Share, plan: str, options: dict[str, Any]) -> None:
        self.engine = type(whole)(whole.query, plan, **options, _share=share)
        self.engine._fetch = self._fetch  # type: ignore[method-assign]
        self.engine._output.number = self._number
        self.whole = whole
        self.events = NONE
        """The events of the batch that are here, by their place in the whole batch."""
        self.made = 0
        """Results of the batch."""
        self.newest = self.engine._lowwater.counts.copy()
        """The next row of each stream, after the batch."""

    @property
    def changes(self) -> Migrations:
        """Its plan changes."""
        return cast("Migrations", self.engine._changes)

    @property
    def router(self) -> Router:
        router: Router = self.engine._router
        return router

    def process(self, arrivals: Arrivals, events: NDArray[np.int32], ring: int, results: bool) -> None:
        """Take a batch in."""
        self.events, self.made, self.newest = events, 0, self.engine._lowwater.counts.copy()
        if not len(events):
            self.router.results[ring].clear()
            return
        engine, router = self.engine, self.router
        if engine._budget is not None:
            from eddy.census import bytes_held

            engine._budget.look(router, lambda: bytes_held(engine))
        lowwater = engine._lowwater
        lows, counts = lowwater.lows.copy(), lowwater.counts.copy()
        marks, first, _ = lowwater.advance(arrivals.streams, None, arrivals.given)
        router.begin(first, lows, counts, ring)
        router.foresee(arrivals.parts)
        router.store(arrivals.parts)
        self.newest = router.newest = lowwater.counts.copy()
        router.run(marks, ring, results)
        engine._changes.feed(lambda: Batch(arrivals, marks.copy(), lows, counts))
        self.made = len(router.results[ring]) if results else 0

    def numbers(self, stream: int, rows: Array) -> Array:
        """The numbers that rows have in the whole of their stream."""
        found: Array = self.engine._streams[stream].payload.storage(ROW, rows).values
        return found

    def _number(self, rows: Array) -> Array:
        """What rows of results are called outside."""
        numbers, name = self.engine._number(rows), self.whole._output.number
        return numbers if name is None else name(numbers)

    def _fetch(self, stream: str, column: str, rows: Array) -> Column:
        number = self.engine.query.names.index(stream)
        return self.whole._fetch(stream, column, self.numbers(number, rows))

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
        engine = self.engine
        counts = []
        for part, state in zip(parts, engine._streams, strict=True):
            leaves = Leaves([state])
            lows, begun = np.full(state.number + 1, first_row), np.full(state.number + 1, first_row)
            leaves.begin(lows, begun)
            if len(part.events):
                leaves.append([part])
            counts.append(state.payload.next_row)
            begun[:] = counts[-1]
            leaves.begin(lows, begun)
        given = {i for i, name in enumerate(engine.query.names) if name in engine._workshop.share.given}  # type: ignore[union-attr]
        engine._lowwater.restore(
            [first_row] * len(counts), counts, {i: n for i, n in enumerate(numbers) if i in given}
        )
        engine._router = engine._workshop.router(engine._streams)
        engine._router.attend(engine._guarded)
        engine._router.install(engine._plan, fresh=False)
        engine._changes.resume()
