"""Row numbers where rows are ruled out: by a filter, or by a key that is NULL.

Such a row has its number and counts in its window, but it is not stored. Windows (`LowWater`) count all rows of a
stream; STAIRs and payload count the rows that they hold. The two are the same until a row is ruled out for the first
time. From then on that stream is *thin*: the numbers of its stored rows are kept here, and what windows say is told to
the router in its own count. A query of which no row is ruled out pays nothing for that.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from eddy.intake.batch import Batch
from eddy.intake.intake import Arrivals, Part
from eddy.intake.lowwater import LowWater
from eddy.intake.lowwater_kernels import BEFORE
from eddy.intake.travel import ROW
from eddy.store.payload import Payload
from eddy.store.row_number_kernels import renumber
from eddy.store.stream import HeldStream
from eddy.values.strings import StringPool
from eddy.values.types import INT64, Array, Column

REMEMBERED = 1024
"""Rows of a stream that were ruled out last and whose values are kept, for those who ask why."""
_NONE = np.empty(0, np.int64)


@frozen(eq=False)
class Found:
    """Where the values of a row are."""

    payload: Payload
    place: int
    """Its row there; -1: nowhere."""
    ruled_out: bool = False


@define(eq=False)
class Thin:
    """One stream of which rows were ruled out."""

    stored: Payload
    """The numbers of the stored rows, by their own."""
    low: int
    """The first live row of those that are stored."""
    mark: int
    """The number of the first live row of all."""
    _rejected: Payload
    """Rows that were ruled out lately."""
    _numbers: Array = field(init=False, factory=lambda: np.empty(0, np.int64))
    """Their numbers."""
    _latest: deque[tuple[dict[str, Column], Array]] = field(init=False, factory=deque)
    """Columns and numbers of rows that were ruled out since somebody asked for them: few ever do."""
    _waiting: int = field(init=False, default=0)
    """How many rows that are."""

    def take(self, part: Part, first: int, columns: Iterable[str]) -> tuple[Part, Array]:
        """The rows of a part that are to be stored, and their numbers; ``first`` is the number of the first of all."""
        if part.kept is None:
            return part, np.arange(first, first + len(part.events))
        kept = part.kept.view(np.bool_)
        here, out = kept.nonzero()[0], (~kept).nonzero()[0][-REMEMBERED:]
        if len(out):
            self._latest.append(({name: part.columns[name].take(out) for name in columns}, out + first))
            self._waiting += len(out)
            while self._waiting - len(self._latest[0][1]) >= REMEMBERED:
                self._waiting -= len(self._latest.popleft()[1])  # nobody can ask for these any more
        return chosen(part, here, columns), here + first

    def rejected(self) -> tuple[Payload, Array]:
        """The rows that were ruled out lately, and their numbers: the last rows of the payload are theirs."""
        for columns, numbers in self._latest:
            self._rejected.append(columns, len(numbers))
            self._numbers = np.concatenate((self._numbers, numbers))[-REMEMBERED:]
            self._rejected.retain_from(self._rejected.next_row - len(self._numbers))
        self._latest.clear()
        self._waiting = 0
        return self._rejected, self._numbers

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        rejected, numbers = self.rejected()
        return self.stored.nbytes + rejected.nbytes + numbers.nbytes

    def held(self, first: int) -> Array:
        """The numbers of the stored rows from this one on."""
        return self.stored.storage(ROW, np.arange(first, self.stored.next_row)).values

    def place(self, number: int) -> int:
        """The first stored row whose number is not below this one."""
        ring, mask, low = self.stored.rings[ROW], self.stored.capacity - 1, self.stored.low
        rows = range(low, self.stored.next_row)
        return low + bisect_left(rows, number, key=lambda row: int(ring[row & mask]))


def chosen(part: Part, here: Array, wanted: Iterable[str] | None = None) -> Part:
    """Some rows of a part, all of which are kept; with these columns only, if they are named."""
    return Part(part.stream, part.columns, part.keys, None, part.events).take(here, wanted)


@define(eq=False)
class RowNumbers:
    """Low-water rows and next rows of all streams, as the router counts them."""

    lowwater: LowWater
    pool: StringPool
    thins: bool = True
    """Whether rows that are ruled out are left out. A set difference stores them: they may be results."""
    _thin: dict[int, Thin] = field(init=False, factory=dict)

    @property
    def lows(self) -> NDArray[np.int64]:
        """The first live row of each stream."""
        lows = self.lowwater.lows
        return self._with(lows, [thin.low for thin in self._thin.values()]) if self._thin else lows

    @property
    def counts(self) -> NDArray[np.int64]:
        """The next row of each stream."""
        counts = self.lowwater.counts
        return self._with(counts, [t.stored.next_row for t in self._thin.values()]) if self._thin else counts

    def _with(self, array: NDArray[np.int64], values: list[int]) -> NDArray[np.int64]:
        array = array.copy()
        for s, value in zip(self._thin, values, strict=True):
            array[s] = value
        return array

    @property
    def thin(self) -> bool:
        """Whether a row of some stream was ruled out."""
        return bool(self._thin)

    @property
    def nbytes(self) -> int:
        return sum(thin.nbytes for thin in self._thin.values())

    def codes_in_use(self) -> Iterator[Array]:
        """String codes of rows that were ruled out lately."""
        for thin in self._thin.values():
            yield from thin.rejected()[0].codes_in_use()

    # -- a batch ---------------------------------------------------------------------------------------------------

    def move(self, arrivals: Arrivals, streams: Sequence[HeldStream]) -> Batch:
        """Move the windows on: a batch without the rows that are ruled out."""
        lows, counts = self.lows.copy(), self.counts.copy()
        marks, floor, _ = self.lowwater.advance(arrivals.streams, arrivals.times, arrivals.given)
        if self._concerns(arrivals):
            arrivals, floor = self._enter(arrivals, marks, lows, streams), lows.astype(np.int32)
        return Batch(arrivals, marks, floor, lows, counts, self.counts.copy())

    def _concerns(self, arrivals: Arrivals) -> bool:
        """Whether a batch has to be thinned out."""
        return bool(self._thin) or (
            self.thins and any(part.kept is not None and not part.kept.all() for part in arrivals.parts)
        )

    def _enter(
        self,
        arrivals: Arrivals,
        marks: NDArray[np.int32],
        lows: NDArray[np.int64],
        streams: Sequence[HeldStream],
    ) -> Arrivals:
        """Thin out a batch that windows have just counted: returns it without the rows that are ruled out.

        ``marks`` are written over. ``lows`` had been the first live rows of the streams, as the router counts them.
        """
        before = self.lowwater.table[BEFORE]
        for part in arrivals.parts:
            s = part.stream
            if part.kept is not None and s not in self._thin and not part.kept.all():
                payload = streams[s].payload
                held = np.arange(payload.low, before[s])  # up to now all are stored, under their own numbers
                self.restore(s, payload, payload.low, held, int(lows[s]))
        parts: list[Part] = []
        fresh: dict[int, Array] = {}
        for part in arrivals.parts:
            thin = self._thin.get(part.stream)
            if thin is not None:
                columns = streams[part.stream].payload.columns
                part, fresh[part.stream] = thin.take(part, int(before[part.stream]), columns)
            if len(part.events):
                parts.append(part)
        for s, thin in self._thin.items():
            stored, numbers = thin.stored, fresh.get(s, _NONE)
            stored.retain_from(streams[s].payload.low)
            stored.append({ROW: Column(numbers)}, len(numbers))
            thin.low = renumber(stored.rings[ROW], thin.low, stored.next_row, marks, s, thin.mark)
            thin.mark = int(self.lowwater.lows[s])
        return Arrivals(arrivals.streams, arrivals.times, tuple(parts), arrivals.given)

    def restore(self, stream: int, payload: Payload, first: int, numbers: Array, low: int) -> None:
        """A stream gets thin: these are the numbers of its stored rows from ``first`` on.

        Row ``low`` is the first live one, and up to there all are stored, or none.
        """
        stored = Payload({ROW: INT64}, self.pool, first)
        stored.append({ROW: Column(numbers)}, len(numbers))
        self._thin[stream] = Thin(stored, low, low, Payload(payload.columns, self.pool))

    # -- questions -------------------------------------------------------------------------------------------------

    def number(self, rows: Array) -> Array:
        """The numbers that stored rows have in their streams: [rows, streams]."""
        numbers = rows.copy()
        for s, thin in self._thin.items():
            numbers[:, s] = thin.stored.storage(ROW, np.ascontiguousarray(rows[:, s])).values
        return numbers

    def shares(self) -> NDArray[np.float64]:
        """Which part of the live rows of each stream is stored."""
        whole = self.lowwater.counts - self.lowwater.lows
        return (self.counts - self.lows) / np.maximum(whole, 1) if self._thin else np.ones(len(whole))

    def is_thin(self, stream: int) -> bool:
        """Whether a row of this stream was ruled out."""
        return stream in self._thin

    def stored(self, stream: int, first: int, stop: int) -> tuple[int, Array]:
        """Of the rows with these numbers those that are stored: the first of them in the store, and their numbers."""
        thin = self._thin.get(stream)
        if thin is None:
            return first, np.arange(first, stop)
        here = thin.place(first)
        return here, thin.stored.storage(ROW, np.arange(here, thin.place(stop))).values

    def number_of(self, stream: int, row: int) -> int:
        """The number of a row by its place in the store; that of the next row, if it is not there yet."""
        thin = self._thin.get(stream)
        if thin is None or row >= thin.stored.next_row:
            return row if thin is None else int(self.lowwater.counts[stream])
        return int(thin.stored.rings[ROW][row & (thin.stored.capacity - 1)])

    def held(self, stream: int, first: int) -> Array:
        """The numbers of the stored rows from ``first`` on, live or not."""
        thin = self._thin.get(stream)
        return np.arange(first, self.counts[stream]) if thin is None else thin.held(first)

    def find(self, stream: int, row: int, payload: Payload) -> Found:
        """Where a row is, by its number in the stream; ``payload`` is that of the stream."""
        thin = self._thin.get(stream)
        if thin is None:
            return Found(payload, row)
        held = thin.held(thin.stored.low)
        place = int(np.searchsorted(held, row))
        if place < len(held) and held[place] == row:
            return Found(payload, thin.stored.low + place)
        rejected, numbers = thin.rejected()
        at = int(np.searchsorted(numbers, row))
        if at < len(numbers) and numbers[at] == row:
            return Found(rejected, rejected.next_row - len(numbers) + at, True)
        return Found(rejected, -1, row >= self.lowwater.lows[stream])
