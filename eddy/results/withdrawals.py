"""The results of a join whose rows are all live, and which of them an event withdraws."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from eddy.results import withdrawal_kernels as kernels
from eddy.results.withdrawal_kernels import WIDTH
from eddy.results.withdrawal_layout import Batch, Deaths, Store

Int8s = npt.NDArray[np.int8]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

_FEWEST_BLOCKS = 32


@frozen(eq=False)
class Signed:
    """Results that come (+1) and go (-1), in the order of events; at one event those that go are first."""

    rows: Int64s
    signs: Int8s
    events: Int32s


@define(eq=False, init=False)
class LiveResults:
    """The results whose rows are all live, in the order of their emission.

    A result ends with the first of its rows, and nobody knows beforehand which that will be. So the results lie in
    blocks, under a tree that knows the oldest row of each stream below each of its nodes: a batch looks only at blocks
    in which something dies, and at the few nodes above them. What it costs goes with what comes and goes, not with
    what is live. Gaps that the dead leave are closed when room is needed, or when they would be too much of the whole:
    there are places for at most 1.75 times the live results.
    """

    _streams: int
    _store: Store = field(repr=False)
    _used: int
    _count: int
    _newest: Int64s = field(repr=False)

    def __init__(self, streams: int) -> None:
        self._streams = streams
        self.restore(np.empty((0, streams), np.int64))

    def step(self, rows: Int64s, events: Int32s, marks: Int32s, newest: Int64s) -> Signed:
        """The changes of a batch: its new results, and all that are withdrawn at one of its events.

        `rows` are the new results and `events`, ascending, the events of the batch that complete them. `marks[e, c]`
        is the low-water row of stream c at event e, cut to 32 bits; `newest[c]` is the number of its next row after
        the batch. Where nothing is withdrawn, the answer holds `rows` and `events` themselves.
        """
        rows, events = np.ascontiguousarray(rows), np.ascontiguousarray(events)
        if not len(marks):
            return Signed(rows, np.ones(len(rows), np.int8), events)
        self._newest = newest.astype(np.int64)
        next_rows, cut = newest.astype(np.uint32), np.ascontiguousarray(marks).view(np.uint32)
        reach = next_rows - cut[-1]
        stale = np.empty(self._used, np.int32)
        stale = stale[: kernels.find(self._store, self._used, next_rows, reach, stale)]
        most = int(self._store.filled[stale].sum()) + len(rows)
        buckets = len(marks) if most > len(marks) else 0
        chart = np.empty((self._streams, buckets + 3), np.int32)
        tables = np.empty((2, self._streams), np.int64)
        batch = Batch(cut, next_rows, reach, chart, *tables, *np.empty((3, WIDTH), np.uint32))
        kernels.draw(batch)
        deaths = Deaths(np.empty((most, self._streams), np.uint32), np.empty(most, np.int32))
        died = kernels.withdraw(self._store, stale, batch, deaths)
        self._count -= died
        kept = np.empty(len(rows), np.int32)
        kept = kept[: kernels.outlive(rows, batch, died, deaths, kept)]
        self._append(rows, kept, stale)
        died += len(rows) - len(kept)
        if not died:
            return Signed(rows, np.ones(len(rows), np.int8), events)
        many = died + len(rows)
        signed = Signed(
            np.empty((many, self._streams), np.int64), np.empty(many, np.int8), np.empty(many, np.int32)
        )
        places, deaths = np.zeros(len(marks) + 1, np.int64), Deaths(deaths.rows[:died], deaths.events[:died])
        kernels.interleave(
            rows, events, deaths, self._newest, places, signed.rows, signed.signs, signed.events
        )
        return signed

    def restore(self, rows: Int64s) -> None:
        """Go on where another was that has given `rows`, all of which are live."""
        self._store, self._used, self._count = _store(_FEWEST_BLOCKS, self._streams), 0, 0
        self._newest = rows.max(axis=0, initial=-1) + 1
        self._append(np.ascontiguousarray(rows), np.arange(len(rows), dtype=np.int32), np.empty(0, np.int32))

    @property
    def nbytes(self) -> int:
        """Bytes in use, gaps and slack included."""
        return sum(array.nbytes for array in self._store)

    def _append(self, rows: Int64s, kept: Int32s, changed: Int32s) -> None:
        """Take the `kept` ones of new results; the blocks that have `changed` before get their nodes too."""
        first = max(self._used - 1, 0)
        if self._make_room(len(kept)):
            first, changed = 0, changed[:0]
        self._used = kernels.append(self._store, self._used, rows, kept)
        self._count += len(kept)
        changed = np.concatenate([changed, np.arange(first, self._used, dtype=np.int32)])
        kernels.update_nodes(self._store, self._used, changed, self._newest.astype(np.uint32))

    def _make_room(self, more: int) -> bool:
        """See that `more` results fit behind the others, in no more memory than said above; whether it took packing."""
        blocks, need = len(self._store.filled), -(-(self._count + more) // WIDTH)
        large = blocks > _FEWEST_BLOCKS and 4 * blocks > 7 * need
        if self._used * WIDTH + more <= blocks * WIDTH and not large:
            return False
        target = self._store
        if large or 8 * blocks < 9 * need:
            target = _store(max(_FEWEST_BLOCKS, 5 * need // 4 + 1), self._streams)
        self._used = kernels.pack(self._store, self._used, target)
        self._store = target
        return True


def _store(blocks: int, streams: int) -> Store:
    """Room for `blocks` blocks, and the tree above them; its top level is at most as wide as a block."""
    levels = [blocks]
    while levels[-1] > WIDTH:
        levels.append(-(-levels[-1] // WIDTH))
    return Store(
        np.empty((blocks, streams, WIDTH), np.uint32),
        np.zeros(blocks, np.uint8),
        np.empty((sum(levels), streams), np.uint32),
        np.cumsum([0, *levels[:-1]]),
    )
