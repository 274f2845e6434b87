"""The recent past of an engine: which row each event was, and where the windows stood now and then.

It serves questions asked afterwards (`eddy.why`), so it must cost next to nothing while nobody asks: a large
batch is kept as it came, small ones are gathered. Memory is bounded whatever comes: 4 bytes for each of the
last `EVENTS` events, 12 where a window uses time, one more where rows may be ruled out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from eddy.intake.intake import Part
from eddy.plan.difference_plan import Subtractions
from eddy.plan.plan import Plan

Streams = NDArray[np.int32]
Times = NDArray[np.int64]

EVENTS = 1 << 20
"""Events that are remembered, about."""
LARGE = 256
"""Batches of as many events are kept as they are. Smaller ones are gathered, up to twice as many events."""
PLANS = 4096
"""Plan changes that are remembered."""


@define(eq=False)
class Stretch:
    """Some consecutive events, and how things stood just before them."""

    event: int
    """The number of the first."""
    counts: list[int]
    """The number of each stream's next row."""
    lows: list[int]
    """The low-water row of each stream."""
    size: int = 0
    streams: NDArray[np.int32] | None = field(repr=False, default=None)
    times: NDArray[np.int64] | None = field(repr=False, default=None)
    by_row: dict[int, NDArray[np.uint8]] | None = field(repr=False, default=None)
    """Of a large batch: for streams of which rows may be ruled out, 1 for each row that is kept."""
    by_event: NDArray[np.uint8] | None = field(repr=False, default=None)
    """Of gathered batches: 1 for each event whose row is kept; None: all are."""

    def gather(self, streams: Streams, times: Times | None, parts: Iterable[Part]) -> None:
        """Take a small batch in, for which there is room."""
        start, end = self.size, self.size + len(streams)
        self.size = end
        if self.streams is None:
            self.streams = np.empty(2 * LARGE, np.int32)
        self.streams[start:end] = streams
        if times is not None:
            if self.times is None:
                self.times = np.empty(2 * LARGE, np.int64)
            self.times[start:end] = times
        for part in parts:
            if part.kept is not None:
                if self.by_event is None:
                    self.by_event = np.ones(2 * LARGE, np.uint8)
                self.by_event[part.events + start] = part.kept


@define(eq=False)
class History:
    """All events from `start` to `end` - 1, in stretches."""

    most: int = EVENTS
    end: int = 0
    """The number of the next event."""
    _stretches: deque[Stretch] = field(init=False, repr=False, factory=deque)
    _plans: deque[tuple[int, Plan | Subtractions]] = field(
        init=False, repr=False, factory=lambda: deque(maxlen=PLANS)
    )
    """The plans with the first event of each."""

    def note(
        self,
        event: int,
        counts: list[int],
        lows: list[int],
        streams: Streams,
        times: Times | None,
        plan: Plan | Subtractions,
        parts: Iterable[Part] = (),
    ) -> None:
        """A batch of events begins at number `event`: streams and times of the events, and the parts of it whose rows
        may be ruled out; `counts` and `lows` are those before it."""
        n, stretches = len(streams), self._stretches
        if event != self.end or n > self.most:
            # Events are missing, or too many to hold: what was known before does not lead up to now.
            stretches.clear()
            self._plans.clear()
        self.end = end = event + n
        if n > self.most:
            return
        if not self._plans or self._plans[-1][1] is not plan:
            self._plans.append((event, plan))
        if n >= LARGE:
            kept = {}
            for part in parts:
                if part.kept is not None:
                    kept[part.stream] = _own(part.kept)
            times = None if times is None else _own(times)
            stretches.append(Stretch(event, counts, lows, n, _own(streams), times, kept))
        else:
            if not stretches or stretches[-1].by_row is not None or stretches[-1].size + n > 2 * LARGE:
                stretches.append(Stretch(event, counts, lows))
            stretches[-1].gather(streams, times, parts)
        while end - stretches[0].event > self.most and len(stretches) > 1:
            stretches.popleft()

    # -- questions -------------------------------------------------------------------------------------------

    @property
    def first(self) -> Stretch | None:
        """Where the history begins."""
        return self._stretches[0] if self._stretches else None

    def plan_at(self, event: int) -> Plan | Subtractions | None:
        """The plan under which an event was processed; None if it is too long ago."""
        plans = list(self._plans)
        place = bisect_right(plans, event, key=lambda plan: plan[0]) - 1
        return plans[place][1] if place >= 0 else None

    def event_of(self, stream: int, row: int) -> int | None:
        """The event that brought a row; None if it is too long ago (or still to come)."""
        stretches = list(self._stretches)
        place = bisect_right(stretches, row, key=lambda stretch: stretch.counts[stream]) - 1
        if place < 0:
            return None
        stretch = stretches[place]
        events = np.flatnonzero(_filled(stretch.streams, stretch) == stream)
        place = row - stretch.counts[stream]
        return stretch.event + int(events[place]) if place < len(events) else None

    def kept(self, stream: int, row: int, event: int) -> bool:
        """Whether a row, which came at this event, passed the filters and can match something."""
        stretch = self._stretch(event)
        if stretch.by_row is None:
            return stretch.by_event is None or bool(stretch.by_event[event - stretch.event])
        flags = stretch.by_row.get(stream)
        return flags is None or bool(flags[row - stretch.counts[stream]])

    def time(self, event: int) -> int:
        """The time of an event, where a window uses time."""
        stretch = self._stretch(event)
        return int(_filled(stretch.times, stretch)[event - stretch.event])

    def first_later(self, time: int) -> int:
        """The first event that is later than a time; `end` if none is."""
        for stretch in self._stretches:
            times = _filled(stretch.times, stretch)
            if stretch.size and times[-1] > time:
                return stretch.event + int(np.searchsorted(times, time, side="right"))
        return self.end

    def passing(self, stream: int, row: int) -> tuple[int, int] | None:
        """Between which events the stream's low-water row passed a row, as closely as stretches tell it.

        None if it had passed before the history begins; the last is `end` - 1 if no later stretch says more.
        """
        stretches = list(self._stretches)
        place = bisect_right(stretches, row, key=lambda stretch: stretch.lows[stream]) - 1
        if place < 0:
            return None
        return stretches[place].event, stretches[place].event + stretches[place].size - 1

    def _stretch(self, event: int) -> Stretch:
        stretches = list(self._stretches)
        return stretches[bisect_right(stretches, event, key=lambda stretch: stretch.event) - 1]


def _own(array: Any) -> Any:
    """The array, copied if it is a part of another, which would live as long."""
    return array if array.base is None else array.copy()


def _filled(array: Any, stretch: Stretch) -> Any:
    """The part of an array that is in use."""
    return () if array is None else array[: stretch.size]
