"""Rows of several queries that come in any order: one reorder buffer and one watermark before all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import evolve

from eddy.engine import passing
from eddy.errors import EddyError
from eddy.reorder.buffer import Offer, ReorderBuffer
from eddy.reorder.disorder import disorder_of
from eddy.reorder.watermark import LAST, NEVER, Watermarks
from eddy.several.feed import Feed
from eddy.several.group import Group, Makers
from eddy.values.types import UNITS

Take = Callable[[Mapping[str, Any]], list[Makers]]
"""Takes rows in that are in order."""


class Waiting:
    """What stands before the queries: nothing, or a buffer whose rows wait for the watermark."""

    def __init__(self, feed: Feed, lateness: Any, late: Any, idle: Any, clock: Any) -> None:
        self._feed, self._given = feed, (late, idle, clock)
        self.lateness = lateness
        self.buffer: ReorderBuffer | None = None
        if lateness is None and any(value is not None for value in (late, idle, clock)):
            raise EddyError("late=, idle= and clock= are for rows that come out of order: give lateness= too")

    def declare(self) -> None:
        """Streams were declared."""
        if self.lateness is None:
            return
        query, old = self._feed.query, self.buffer
        if old is not None and len(old.query.names) == len(query.names):
            return
        lateness = self.lateness
        if isinstance(lateness, Mapping):  # it may name streams of queries to come
            lateness = {name: value for name, value in lateness.items() if name in query.streams}
        disorder = disorder_of(query, lateness, *self._given)
        assert disorder is not None
        new = self.buffer = ReorderBuffer(query, disorder)
        if old is not None:  # streams keep their numbers
            fresh, known = new.watermarks, old.watermarks
            new.watermarks = Watermarks(
                {**fresh.newest, **known.newest},
                {**fresh.promised, **known.promised},
                {**fresh.heard, **known.heard},
                known.at,
            )
            new.waiting.update(old.waiting)
            new.late_counts[: len(old.late_counts)] = old.late_counts
            new.kept, new.seen = old.kept, old.seen

    def need(self, used: Collection[str]) -> None:
        """These are the streams that queries have: time does not wait for others."""
        if self.buffer is None:
            return
        marks, now = self.buffer.watermarks, self.buffer.disorder.clock()
        idle = [number for name, number in self.buffer.numbers.items() if name not in used]
        back = {n for name, n in self.buffer.numbers.items() if name in used and marks.promised[n] == LAST}
        promised = {n: NEVER if n in back else time for n, time in marks.promised.items()}
        self.buffer.watermarks = evolve(marks, promised=promised).told(idle, LAST, now)

    def push(self, batches: Mapping[str, Any], take: Take) -> list[Makers]:
        """Rows arrive; what the watermark has passed is taken in."""
        if self.buffer is None:
            return take(batches)
        return self._release(self.buffer, self.buffer.offer(batches), take)

    def advance(self, ts: Any, stream: str | None, take: Take, groups: Sequence[Group]) -> list[Makers]:
        """Nothing older than a time comes any more."""
        buffer, found = self.buffer, list[Makers]()
        if buffer is None and (stream is not None or ts is None):
            raise EddyError(
                "without lateness= all streams have one time, which their rows tell: advance(ts) moves it; "
                "with Eddy(queries, lateness=0) each stream has its own"
            )
        time = None if ts is None else passing.time_in(self._feed.query, ts, stream)
        if buffer is not None:
            before = buffer.watermarks.at
            found = self._release(buffer, buffer.advanced(time, stream), take)
            time = buffer.watermarks.at if buffer.watermarks.at > before else None
        if time is None or time == NEVER:
            return found
        for group in groups:
            found.append(group.passed(self._own_time(group, time)))
        return found

    def _own_time(self, group: Group, time: int) -> int:
        """A time of the feed in the unit of a group's query, which may be coarser."""
        ours, theirs = self._feed.query.time_unit, group.state.options.query.time_unit
        return time if ours is None or theirs is None else time * UNITS[theirs] // UNITS[ours]

    def flush(self, take: Take) -> list[Makers]:
        """Nothing waits any longer."""
        return [] if self.buffer is None else self._release(self.buffer, self.buffer.flushed(), take)

    def hand_out(self) -> dict[str, pa.Table]:
        """The late rows that were kept."""
        if self.buffer is None or self.buffer.disorder.late != "keep":
            raise EddyError("late() hands out the rows that Eddy(queries, lateness=..., late='keep') keeps")
        return self.buffer.hand_out()

    @property
    def nbytes(self) -> int:
        """Bytes of the rows that wait."""
        return 0 if self.buffer is None else self.buffer.nbytes

    def _release(self, buffer: ReorderBuffer, offer: Offer, take: Take) -> list[Makers]:
        found = take(offer.released) if offer.released else []
        buffer.accept(offer)
        return found
