"""The attached streams of an engine: their windows, their rows, and what a batch brings of them.

The core counts and stores its own streams as ever; for it a row of an attached one is an event at which time goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from attrs import define, evolve, field, frozen

from eddy.attachments.layout import Int64s
from eddy.attachments.reader import Reader
from eddy.intake.intake import Arrivals, Part
from eddy.intake.lowwater import LowWater
from eddy.intake.travel import WHEN
from eddy.query.query import Query
from eddy.store.payload import Payload
from eddy.store.row_numbers import RowNumbers
from eddy.store.stream import HeldStream
from eddy.values.strings import StringPool
from eddy.values.types import INT64, Array

NO_PART = Part(-1, {}, {}, None, np.empty(0, np.int32))


@define(eq=False)
class AttachedStream:
    """The rows of one stream; ``number`` is that among all streams of the query."""

    number: int
    name: str
    payload: Payload

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        return self.payload.nbytes


@frozen(eq=False)
class Coming:
    """What a batch brings of the attached streams."""

    parts: Sequence[Part]
    """The rows of each, as they are stored."""
    lows: Int64s
    """[events + 1, streams]: the low-water rows before the batch, and at each of its events."""
    born: Int64s
    """[events, 2 x streams]: at each event the low-water row and the next row of each stream; [events, 0] where nobody
    asks for it."""

    @property
    def events(self) -> int:
        """How many events the batch has."""
        return len(self.lows) - 1


@define(eq=False)
class AttachedStreams:
    """Those of a query, in the order of its attachments."""

    query: Query
    streams: list[AttachedStream]
    lowwater: LowWater
    row_numbers: RowNumbers
    lasting: list[Callable[[], int]]
    """For each stream what tells the first row that somebody may still ask for, live or not."""
    tells_births: bool = True
    """Whether somebody asks what was there at each event."""
    coming: Coming = field(init=False)

    @staticmethod
    def of(query: Query, pool: StringPool, stored: dict[str, set[str]], first_row: int) -> AttachedStreams:
        """Empty ones, whose rows begin with this number."""
        k = len(query.core.names)
        kinds, params = query.window_table()
        lowwater = LowWater(kinds[k:], params[k:], query.window_steps()[k:], first_row)
        streams = []
        for number, name in enumerate(query.names[k:]):
            types = query.streams[name].columns
            columns = {column: types[column] for column in types if column in stored[name]}
            if query.in_order:
                columns[WHEN] = INT64
            streams.append(AttachedStream(k + number, name, Payload(columns, pool, first_row)))
        made = AttachedStreams(query, streams, lowwater, RowNumbers(lowwater, pool), [])
        made.coming = made.nothing()
        return made

    def nothing(self) -> Coming:
        """What an empty batch brings."""
        n = len(self.streams)
        born = np.empty((0, 2 * n if self.tells_births else 0), np.int64)
        return Coming([NO_PART] * n, self.row_numbers.lows.reshape(1, n).copy(), born)

    def take_in(self, arrivals: Arrivals) -> Arrivals:
        """Store the rows of the attached streams; returns what the core is to see of a batch."""
        k, n = len(self.query.core.names), len(self.streams)
        mine = arrivals.streams - np.int32(k)
        own = [evolve(part, stream=part.stream - k) for part in arrivals.parts if part.stream >= k]
        here = Arrivals(np.where(mine >= 0, mine, np.int32(-1)), arrivals.times, tuple(own))
        firsts = [stream.payload.next_row for stream in self.streams]
        batch = self.row_numbers.move(here, self.streams)
        lows = np.empty((len(arrivals.streams) + 1, n), np.int64)
        lows[0] = batch.lows
        behind = (
            batch.newest.astype(np.int32) - batch.marks
        )  # of 32 bits each: they are fewer than 2**32 rows apart
        np.subtract(batch.newest, behind.view(np.uint32), out=lows[1:])
        parts = [NO_PART] * n
        for part in batch.parts:
            parts[part.stream] = part
            self.streams[part.stream].payload.append(part.columns, len(part.events))
        born = self._born(parts, lows[1:], firsts)
        self.coming = Coming(parts, lows, born)
        rest = tuple(part for part in arrivals.parts if part.stream < k)
        seen = np.where(arrivals.streams < k, arrivals.streams, np.int32(-1))
        return Arrivals(seen, arrivals.times, rest, arrivals.given)

    def _born(self, parts: Sequence[Part], lows: Int64s, firsts: Sequence[int]) -> Int64s:
        """What composites that begin at the events of a batch know from their births; ``firsts`` are the first rows
        that it could bring."""
        events, n = lows.shape
        if not self.tells_births:
            return np.empty((events, 0), np.int64)
        born = np.empty((events, 2 * n), np.int64)
        born[:, 0::2], born[:, 1::2] = lows, firsts
        for place, part in enumerate(parts):
            come = np.zeros(events, np.int64)
            come[part.events] = 1
            born[:, 2 * place + 1] += np.cumsum(come)
        return born

    def reader(self, streams: Sequence[HeldStream]) -> Reader:
        """Reads rows of all streams of the query; ``streams`` are those of the core."""
        stored: list[HeldStream] = [*streams, *self.streams]
        return Reader(self.query.names, [stream.payload for stream in stored])

    def floors(self) -> list[int]:
        """The first row of each stream that is live or that somebody may ask for."""
        lows = self.row_numbers.lows.tolist()
        return [min(low, lasts()) for low, lasts in zip(lows, self.lasting, strict=True)]

    def number(self, rows: Array) -> Array:
        """The numbers that stored rows of the attached streams have in these: [rows, streams]; -1 stays."""
        numbered = self.row_numbers.number(np.maximum(rows, 0)) if self.row_numbers.thin else rows
        return np.where(rows < 0, -1, numbered)

    @property
    def nbytes(self) -> int:
        """Bytes that they hold."""
        return sum(stream.nbytes for stream in self.streams) + self.lowwater.nbytes + self.row_numbers.nbytes
