"""The rows that the results of a black box depend on: copies of what was pushed, for as long as they count.

HybMig extracts old rows from the plan, or keeps a copy of the streams (section 4.1, footnote 3); a black box has no
door to its rows, so they are copied. A push is remembered as it came, in the same form, and each stream of it is
forgotten as a whole: so what is replayed has the arrival order that it had, whatever the box makes of ties and of
streams without a time.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define, evolve, field, frozen
from numpy.typing import NDArray

from eddy.errors import BatchError, OrderError, QueryError
from eddy.intake.columns import normalise
from eddy.intake.lowwater import LowWater
from eddy.query.clock import Clock, clock_of, lacking, window_numbers
from eddy.query.stream import Stream
from eddy.query.windows import Range, Unbounded, uses_time
from eddy.values.types import Array

Int64s = NDArray[np.int64]

_ALWAYS = np.iinfo(np.int64).min
"""The time of what is static."""


@frozen(eq=False)
class Reading:
    """What a push is to the windows."""

    streams: NDArray[np.int32]
    """The stream of each event, in arrival order; where no time counts, stream by stream."""
    times: Int64s | None
    counts: Mapping[str, int]
    """Rows of each stream."""


@define(eq=False)
class Pushed:
    """A push that is remembered, or what is left of it."""

    batches: dict[str, Any]
    counts: dict[str, int]
    """Rows of each stream."""

    @property
    def events(self) -> int:
        return sum(self.counts.values())

    @classmethod
    def of(cls, batches: Mapping[str, Any], reading: Reading) -> Pushed:
        """A copy of a push that was looked at."""
        return cls({name: copied(batches[name]) for name in reading.counts}, dict(reading.counts))

    def copied(self) -> Pushed:
        """The same rows, of which streams may be forgotten apart from this."""
        return Pushed(dict(self.batches), dict(self.counts))


@define(eq=False)
class History:
    """What was pushed, back to the first row that a result may still depend on.

    That is the first row of each stream that is live in its window; or was, at the first event of the time that an
    operator ``above`` the windows looks back: w + w' of rows where both are ranges of time.
    """

    _streams: Mapping[str, Stream]
    _above: int | None
    _clock: Clock | None
    _times: Mapping[str, Stream]
    """Streams with nothing but their time, where times count."""
    _lowwater: LowWater
    _now: int | None = field(default=None, init=False)
    _pushes: dict[int, Pushed] = field(factory=dict, init=False)
    """By number, oldest first."""
    _next: int = field(default=0, init=False)
    _parts: dict[str, deque[tuple[int, int]]] = field(init=False)
    """For each stream the pushes that have rows of it: their number, and the row that comes after these rows."""
    _looked: deque[tuple[int, Int64s]] = field(factory=deque, init=False)
    """What the operator above looks back at: the time when each push ended, and the low-water rows before it."""
    _firsts: Int64s = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._parts = {name: deque() for name in self._streams}
        self._firsts = self._lowwater.lows.copy()

    @classmethod
    def of(cls, streams: Mapping[str, Stream], above: Range | None) -> History:
        clock = clock_of(streams)
        if above is not None and clock is None:
            raise QueryError(f"above={above!r} counts time, but {lacking(streams)}")
        timed = above is not None or any(uses_time(stream.window) for stream in streams.values())
        times = {
            name: evolve(stream, columns={stream.time: stream.columns[stream.time]}, window=Unbounded())
            for name, stream in streams.items()
            if timed and stream.time is not None
        }
        back = None if above is None or clock is None else _width(clock, above)
        return cls(streams, back, clock, times, LowWater(*window_numbers(streams, clock)))

    @property
    def counts(self) -> Int64s:
        """The next row of each stream."""
        return self._lowwater.counts

    @property
    def firsts(self) -> Int64s:
        """The first row of each stream that results to come depend on."""
        return self._firsts

    @property
    def rows(self) -> int:
        """Rows that results to come depend on."""
        return int((self.counts - self._firsts).sum())

    def pushes(self) -> Iterator[Pushed]:
        """What is remembered, oldest first."""
        return iter(self._pushes.values())

    def read(self, batches: Mapping[str, Any]) -> Reading:
        """Look at a push; an error leaves nothing changed."""
        for name in batches:
            if name not in self._streams:
                raise BatchError(f"there is no stream {name!r}: push to one of {', '.join(self._streams)}")
        counts: dict[str, int] = {}
        times: list[Array] = []
        for name in sorted(self._streams, key=lambda name: not self._streams[name].static):
            if name in batches:
                found, count = self._read(name, batches[name])
                if count:
                    counts[name] = count
                    times.append(found)
        numbers = {name: number for number, name in enumerate(self._streams)}
        streams = np.repeat(np.array([numbers[name] for name in counts], np.int32), list(counts.values()))
        if not self._times or not counts:
            return Reading(streams, None, counts)
        whole = np.concatenate(times)
        order = np.argsort(whole, kind="stable")
        whole = whole[order]
        moving = whole[whole > _ALWAYS]
        if self._now is not None and len(moving) and moving[0] < self._now:
            raise OrderError(
                f"time goes back: the batch starts at {moving[0]}, but an event at {self._now} was already pushed",
                ". Push the streams together with push_all, or say how late rows may be, lateness=...",
            )
        return Reading(streams[order], whole, counts)

    def _read(self, name: str, batch: Any) -> tuple[Array, int]:
        """The times of a batch, where they count, and its number of rows."""
        stream = self._times.get(name)
        column = next(iter(self._streams[name].columns)) if stream is None else str(stream.time)
        try:
            values = batch[column]
        except Exception as error:
            raise BatchError(
                f"stream {name}: this {type(batch).__name__} has no column {column!r}; give a dict of arrays, a "
                "structured numpy array, a pyarrow Table or RecordBatch, or a data frame of pandas or polars"
            ) from error
        if stream is None or self._clock is None:
            count = len(values)
            when = _ALWAYS if self._now is None else self._now
            return np.full(count if self._times else 0, when), count
        columns, count = normalise(name, stream, {column: values})
        times = self._clock.time_of(name, columns[column].values)
        if (times[1:] < times[:-1]).any():
            at = int(np.argmax(times[1:] < times[:-1])) + 1
            raise OrderError(
                f"stream {name}: time goes back at row {at} of the batch", f": sort the batch by {column}"
            )
        return times, count

    def take(self, pushed: Pushed, reading: Reading) -> None:
        """Remember a push, and forget what no result depends on any more."""
        if not len(reading.streams):
            return
        before = self._lowwater.lows.copy()
        self._lowwater.advance(reading.streams, reading.times)
        self._lowwater.shrink()
        self._pushes[self._next] = pushed.copied()
        for number, name in enumerate(self._streams):
            if name in pushed.counts:
                self._parts[name].append((self._next, int(self.counts[number])))
        self._next += 1
        if reading.times is not None:
            self._now = int(reading.times[-1]) if reading.times[-1] > _ALWAYS else self._now
        self._firsts = self._needed(before)
        self._forget()

    def _needed(self, before: Int64s) -> Int64s:
        """The first rows that count, after a push, ``before`` which the windows stood there."""
        if self._above is None or self._now is None:
            return self._lowwater.lows.copy()
        self._looked.append((self._now, before))
        while self._looked[0][0] < self._now - self._above:
            self._looked.popleft()
        return self._looked[0][1]

    def _forget(self) -> None:
        for (name, parts), first in zip(self._parts.items(), self._firsts.tolist(), strict=True):
            while parts and parts[0][1] <= first:
                number, _ = parts.popleft()
                pushed = self._pushes[number]
                del pushed.batches[name], pushed.counts[name]
                if not pushed.counts:
                    del self._pushes[number]


def _width(clock: Clock, above: Range) -> int:
    """How far an operator above looks back, in the common unit of time."""
    return clock.width(next(iter(clock.factors)), above.width, above, False)


def copied(batch: Any) -> Any:
    """A batch in the same form, with memory of its own: the caller may use his arrays again. Arrow's never change."""
    if isinstance(batch, Mapping):
        return {name: copied(values) for name, values in batch.items()}
    if isinstance(batch, (pa.Table, pa.RecordBatch, pa.Array, pa.ChunkedArray)):
        return batch
    return batch.copy() if isinstance(batch, (np.ndarray, list)) else copy.deepcopy(batch)
