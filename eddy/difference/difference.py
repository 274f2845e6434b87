"""Chains of set differences, `A - B - C - D`, whose order can change between any two batches (JISC, section 4.7).

The plan of a chain is an order of its inner streams. `((A - D) - B) - C` has the states A-D, A-D-B and A-D-B-C: what is
left of A's live rows after each stream. One store stands for all of them: each base row has its *blocker*, the first
stream of the order with a live match for it, and is in the states before that one's. It costs nothing at the streams
after its blocker.

A change of the order moves nothing. What is known of a row, that one stream blocks it and that those before do not,
stays true, and often tells in which of the new states it is. Where it does not, the row is a *hole* until something
touches it: an arrival or an expiry in a stream of which something is known. This differs from the paper in two ways.
There a row of an inner stream is sent up past incomplete states. That is not enough when it expires: base rows may
have to come back through states that were never filled. Here a touched row is judged anew from the first stream on. And
there a state is complete or it is not; here this is known row by row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from eddy.difference import layout
from eddy.difference.judgement import settle
from eddy.difference.kernels import AHEAD, foresee, step
from eddy.difference.layout import Int32s, Int64s
from eddy.difference.rows import Conditions, KeyedRows
from eddy.difference.store import Store
from eddy.errors import PlanError, QueryError

MOST_INNER = 31
"""Sets of inner streams are the bits of a positive 32-bit number."""

Changes = tuple[Int64s, NDArray[np.int8], Int32s]


class Difference:
    """Rows of stream 0, the base, that no live row of the streams 1 to ``inner`` matches.

    ``conditions[i - 1]`` says which of the base's keys stream i is compared with; its own keys come in the same order.
    All of them must be equal, and they are compared whole: nothing is mixed, so nothing can collide. By default stream
    i has key i - 1 to itself. Streams with the same condition share one look-up.

    Up to ``background`` holes are settled after each batch, those of the newest rows first.
    """

    def __init__(
        self,
        inner: int,
        conditions: Sequence[Sequence[int]] | None = None,
        order: Sequence[int] | None = None,
        background: int = 0,
        first_row: int = 0,
    ) -> None:
        if not 1 <= inner <= MOST_INNER:
            raise QueryError(f"cannot subtract {inner} streams: subtract 1 to {MOST_INNER}")
        if conditions is not None and len(conditions) != inner:
            raise QueryError(f"{inner} streams have {len(conditions)} conditions: give one for each")
        self.inner = inner
        self.background = background
        self._conditions = Conditions([(i,) for i in range(inner)] if conditions is None else conditions)
        self._store = Store(self._conditions, np.full(1 + inner, first_row))
        self._order = tuple(range(1, inner + 1))
        self._plan = self._planned()
        self._changes = _room_for(0)
        self._newest = self._open = first_row - 1
        if order is not None:
            self.reorder(order)

    @property
    def order(self) -> tuple[int, ...]:
        """The inner streams in the order in which they are subtracted."""
        return self._order

    def reorder(self, order: Sequence[int]) -> None:
        """Subtract in another order from now on. What this costs depends on the number of streams alone."""
        if sorted(order) != list(range(1, self.inner + 1)):
            raise PlanError(
                f"the order {list(order)} does not fit: name each of the streams 1 to {self.inner} once"
            )
        if tuple(order) == self._order:
            return
        self._order = tuple(order)
        self._plan = self._planned()
        self._store.use["orders"] += 1
        self._newest = self._open = self._store.count - 1

    def _planned(self) -> layout.Plan:
        """The order, and what follows from it and from the conditions, as the kernels take it."""
        conditions = self._conditions
        inner, columns = np.zeros(self.inner + 1, layout.INNER), np.zeros(self.inner, layout.COLUMN)
        keys = np.zeros((self.inner, conditions.width), np.int32)
        before = 0
        for place, stream in enumerate(self._order):
            inner["place"][stream - 1], inner["before"][stream - 1] = place, before
            before |= 1 << (stream - 1)
        inner["place"][self.inner], inner["before"][self.inner] = self.inner, before
        sharing = [0] * self.inner
        for stream, condition in enumerate(conditions.of_streams):
            column = conditions.columns.index(condition)
            inner["column"][stream], inner["counter"][stream] = column, layout.COUNTS + sharing[column]
            columns["members"][column] |= 1 << stream
            columns["width"][column] = len(condition)
            keys[column, : len(condition)] = condition
            sharing[column] += 1
        return layout.Plan(np.array(self._order, np.int32) - 1, inner, columns, keys)

    # -- a batch -------------------------------------------------------------------------------------------------

    def step(self, streams: Int32s, marks: Int32s, rows: Mapping[int, KeyedRows]) -> Changes:
        """Process a batch of events; returns the base rows, signs and events of all changes of the result.

        ``streams[e]`` is the stream of event e, and ``marks[e, s]`` the low-water row of stream s at it, cut to 32 bits
        as `LowWater` does; ``rows[s]`` are the rows of stream s in their order. A base row comes with sign 1 when it
        becomes a result, and with -1 when it stops being one; at each event first those with -1, and each in ascending
        order. A refused batch changes nothing.
        """
        arriving, laid_out = self._conditions.lay_out(streams, marks, rows)
        store = self._store
        store.reserve(arriving)
        least = store.room + len(streams) + 1
        if not least <= len(self._changes[0]) <= 8 * least:
            self._changes = _room_for(least)
        batch = layout.Batch(*laid_out, np.empty(len(streams) + 2 * AHEAD, np.int32))
        progress, cursors = np.zeros(1, layout.PROGRESS), np.zeros(1 + self.inner, np.int64)
        cursors[2:] = np.cumsum(arriving[1:-1])
        foresee(batch, self._plan, store.directory, cursors.copy())
        stores = self._plan, store.directory, store.base, store.table, store.rings
        while not step(batch, *stores, layout.Changes(*self._changes, progress, cursors)):
            found, signs, events = self._changes
            self._changes = (
                np.tile(found, 2),
                np.tile(signs, 2),
                np.tile(events, 2),
            )  # what is there stays in front
        self._settle()
        found, signs, events = (array[: progress["changed"][0]].copy() for array in self._changes)
        return found, signs, events

    def _settle(self) -> None:
        """Settle holes in the background. When the oldest row is reached none is left."""
        if self.background:
            self.settle(self.background)
        elif self._newest < self._store.low:
            self._open = self._newest

    def settle(self, budget: int) -> None:
        """Settle up to ``budget`` holes now, those of the newest rows first."""
        low = self._store.low
        if self._newest >= low:
            self._newest = settle(
                self._plan, self._store.directory, self._store.base, self._newest, low, budget
            )
        if self._newest < low:
            self._open = self._newest

    def restore(self, lows: Sequence[int], counts: Sequence[int], rows: Mapping[int, KeyedRows]) -> None:
        """Forget all rows and take on the live ones of each stream: row ``lows[s]`` to row ``counts[s]`` - 1."""
        first = np.array(lows, np.int64)
        marks = (first & 0xFFFFFFFF).astype(np.uint32).view(np.int32)
        batches = []
        for s in (*self._order, 0):
            streams = np.full(max(0, counts[s] - lows[s]), s, np.int32)
            batch = streams, np.tile(marks, (len(streams), 1)), {s: rows.get(s, KeyedRows())}
            self._conditions.lay_out(*batch)
            batches.append(batch)
        self._store = Store(self._conditions, first)
        self._newest = self._open = lows[0] - 1
        for batch in batches:
            self.step(*batch)
        self._store.table["count"] = counts

    # -- readers -------------------------------------------------------------------------------------------------

    def standing(self) -> Int64s:
        """The base rows that are results now."""
        rows, blockers, _ = self._store.judged()
        return rows[blockers == self.inner]

    def known(self) -> tuple[Int64s, Int32s, NDArray[np.bool_]]:
        """What is known of the base rows that no filter rejects: (rows, blockers, free).

        A row's blocker is the number of an inner stream that has a live match for it, or 0 if none has.
        ``free[i, s - 1]`` says that stream s is known to have none for the i-th of these rows. Unless that is a hole,
        so it is for the streams before its blocker, and for no others.
        """
        rows, blockers, free = self._store.judged()
        streams = np.where(blockers < self.inner, blockers + 1, 0).astype(np.int32)
        return rows, streams, (free[:, None] >> np.arange(self.inner) & 1).astype(bool)

    @property
    def settled_all(self) -> bool:
        """Whether it is certain, without a look at the rows, that no hole is left."""
        return bool(self._open < self._store.low)

    @property
    def complete(self) -> tuple[float, ...]:
        """For each state, in the order, the share of base rows of which it is known whether they are in it.

        States that an order has in common with the one before stay as complete as they were; the last one, the result,
        always is.
        """
        if self._open < self._store.low:
            return (1.0,) * self.inner
        _, blockers, free = self._store.judged()
        subtracted = np.cumsum([1 << (stream - 1) for stream in self._order])
        unknown = [np.count_nonzero((s >> blockers & 1 == 0) & (s & ~free != 0)) for s in subtracted]
        return tuple(1 - count / max(1, len(free)) for count in unknown)

    @property
    def holes(self) -> int:
        """The base rows of which other streams are known to be free than those before their blocker in this order."""
        if self._open < self._store.low:
            return 0
        _, blockers, free = self._store.judged()
        return int(np.count_nonzero(free != self._plan.inner["before"][blockers]))

    @property
    def unsettled(self) -> int:
        """Base rows that may be holes, at most."""
        return max(0, self._open + 1 - self._store.low)

    @property
    def settled(self) -> int:
        """How many holes were settled so far."""
        return int(self._store.use["settled"])

    @property
    def nbytes(self) -> int:
        """Bytes held, slack included."""
        return self._store.nbytes + sum(array.nbytes for array in self._changes)


def _room_for(changes: int) -> Changes:
    return np.empty(changes, np.int64), np.empty(changes, np.int8), np.empty(changes, np.int32)
