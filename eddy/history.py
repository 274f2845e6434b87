"""The recent past of an engine: which row each event was, and where the windows stood now and then.

It serves questions asked afterwards (`eddy.why`), so it must cost next to nothing while nobody asks: a batch
is one or two copies into rings, and a mark. Memory is bounded whatever comes: `EVENTS` events of 2 bytes
each, 10 where a window uses time, and a mark for every `SPACING` events or plan change.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from eddy.history_kernels import REJECTED, reject
from eddy.intake import Arrivals
from eddy.plan import Plan

EVENTS = 1 << 20
"""So many events are remembered; a power of two. Memory that is not used yet is not touched either."""
SPACING = 256
"""Events between two marks, about, where batches are smaller and the plan stays the same."""


class Mark(NamedTuple):
    """How things stood just before an event."""

    event: int
    counts: Sequence[int]
    """The number of each stream's next row."""
    lows: Sequence[int]
    """The low-water row of each stream."""
    plan: Plan


@define(eq=False)
class History:
    """Every event from the first mark's on is known: event `q` sits at `q & mask` in the rings."""

    _most: int = EVENTS
    end: int = field(init=False, default=0)
    """The number of the next event."""
    _codes: NDArray[np.uint16] = field(init=False, repr=False)
    """The stream of each event, and whether its row was ruled out."""
    _times: NDArray[np.int64] | None = field(init=False, repr=False, default=None)
    _marks: deque[Mark] = field(init=False, repr=False)
    _spacing: int = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._spacing = min(SPACING, self._most // 4)
        self._codes = np.empty(self._most, np.uint16)
        self._marks = deque(maxlen=2 * self._most // self._spacing)

    def note(self, event: int, counts: list[int], lows: list[int], arrivals: Arrivals, plan: Plan) -> None:
        """A batch of events begins at number `event`; `counts` and `lows` are those before it."""
        n = len(arrivals.streams)
        marks = self._marks
        if event != self.end or n > self._most:
            # Events are missing, or too many to hold: what was known before does not lead up to now.
            marks.clear()
        self.end = end = event + n
        if n > self._most:
            return
        if not marks or marks[-1].plan is not plan or end - marks[-1].event > self._spacing:
            marks.append(Mark(event, counts, lows, plan))
        while marks[0].event < end - self._most:
            marks.popleft()
        first = event & (self._most - 1)
        _write(self._codes, first, arrivals.streams)
        if arrivals.times is not None:
            if self._times is None:
                self._times = np.empty(self._most, np.int64)
            _write(self._times, first, arrivals.times)
        for part in arrivals.parts:
            if part.kept is not None:
                reject(self._codes, first, part.events, part.kept)

    @property
    def nbytes(self) -> int:
        """The memory of the rings; marks are small beside them."""
        return self._codes.nbytes + (0 if self._times is None else self._times.nbytes)

    # -- questions -------------------------------------------------------------------------------------------

    @property
    def first(self) -> Mark | None:
        """The first mark, where the history begins; None without one."""
        return self._marks[0] if self._marks else None

    def mark_at(self, event: int) -> Mark:
        """The last mark at or before an event that is remembered: its plan is the plan of the event."""
        marks = list(self._marks)
        return marks[bisect_right(marks, event, key=lambda mark: mark.event) - 1]

    def event_of(self, stream: int, row: int) -> int | None:
        """The event that brought a row; None if it is too long ago (or still to come)."""
        marks = list(self._marks)
        place = bisect_right(marks, row, key=lambda mark: mark.counts[stream]) - 1
        if place < 0:
            return None
        start = marks[place].event
        stop = marks[place + 1].event if place + 1 < len(marks) else self.end
        codes = self._codes[np.arange(start, stop) & (self._most - 1)]
        found = np.flatnonzero(codes & (REJECTED - 1) == stream)
        place = row - marks[place].counts[stream]
        return start + int(found[place]) if place < len(found) else None

    def kept(self, event: int) -> bool:
        """Whether the row of an event passed the filters and can match something."""
        return not self._codes[event & (self._most - 1)] & REJECTED

    def time(self, event: int) -> int:
        """The time of an event, where a window uses time."""
        assert self._times is not None
        return int(self._times[event & (self._most - 1)])

    def first_later(self, start: int, time: int) -> int:
        """The first event from `start` on that is later than a time; `end` if none is."""
        return start + bisect_right(range(start, self.end), time, key=self.time)

    def passing(self, stream: int, row: int) -> tuple[int, int] | None:
        """Between which events the stream's low-water row passed a row, as closely as marks tell it.

        None if it had passed before the history begins; the last is `end` - 1 if no later mark says more.
        """
        marks = list(self._marks)
        place = bisect_right(marks, row, key=lambda mark: mark.lows[stream]) - 1
        if place < 0:
            return None
        return marks[place].event, (marks[place + 1].event if place + 1 < len(marks) else self.end) - 1


def _write(ring: NDArray[np.generic], first: int, values: NDArray[np.generic]) -> None:
    """Copy values in from place `first` on, round the end if need be."""
    stop = first + len(values)
    if stop <= len(ring):
        ring[first:stop] = values
    else:
        cut = len(ring) - first
        ring[first:] = values[:cut]
        ring[: stop - len(ring)] = values[cut:]
