"""What the kernels of the fast path are told of an engine: where its arrays are, and what a batch must look like."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from operator import itemgetter
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eddy.fast import kernels as kernels
from eddy.fast import layout
from eddy.intake.intake import Arrivals, Part
from eddy.intake.merge import TIMED_PART
from eddy.values.types import Column
from stairs.lowlevel import struct

if TYPE_CHECKING:
    from eddy.state import EngineState

NDARRAY = id(np.ndarray)

LARGEST = 1 << 20
"""Events of a push that kernels take at once: their results are in one ring."""

SEGMENT = 1 << 16
"""Events of a push that kernels take in before the routing policy may be asked again."""

REVIEW = 64
"""Batches between two looks at whether there is too much room."""

EARLIEST = int(np.iinfo(np.int64).min)


class PushTables(ABC):
    """An engine's arrays as far as every batch needs them: its columns, its windows, its payload."""

    shared = False
    """Whether others are at work on a batch once it has begun."""

    def __init__(self, state: EngineState) -> None:
        query = state.query
        self._state, self._lowwater = state, state.lowwater
        self._executor = state.executor
        n = len(query.names)
        self.columns: list[tuple[str, Any, tuple[int, ...]]] = []
        """For each stream its name, what gets its columns out of a batch, and handles where it has no batch."""
        self._streams = np.zeros(n, layout.STREAM)
        self._rows, self._lines = self._streams["rows"], struct.lines(self._streams)
        self._keys: list[dict[int, int]] = []
        """For each stream the columns that are its keys, by key class."""
        columns: list[tuple[int, int, int]] = []
        for s, (name, stream) in enumerate(query.streams.items()):
            names = list(stream.columns)
            columns_of: Any = itemgetter(*names) if len(names) > 1 else _only(names[0])
            self.columns.append((name, columns_of, (0,) * len(names)))
            time_at = names.index(stream.time) if query.timed and stream.time is not None else -1
            line = self._lines[s]
            line.first_column, line.column_count, line.time = len(columns), len(names), time_at
            own = state.intake.own_columns(name)
            self._keys.append({c: len(columns) + names.index(member) for c, member in own})
            columns += [(id(kind.direct), 0, 0) for kind in stream.columns.values()]
        self._columns, self._given = np.array(columns, layout.COLUMN), np.zeros(len(columns), np.int64)
        self._give = partial(Struct(f"{len(columns)}q").pack_into, self._given.data, 0)
        """Writes handles into ``_given``: in half the time that an assignment takes."""
        self.order, self._places = np.empty(0, np.int32), np.empty(0, np.int32)
        self.times: NDArray[np.int64] | None = None
        """Stream and time of each event; None: no window uses time."""
        self._marks, self._times = np.empty((0, n), np.int32), np.empty(0, np.int64)
        """The windows' arrays, which are asked for with the first batch."""
        self.before, self._before = np.empty((2, n), np.int64), np.empty((2, n), np.int64)
        """Low-water rows, and next rows, before the batch, and before a portion of it: when it is counted."""
        self._ends, self._floor = np.empty((2, n), np.int32), np.empty((1, n), np.int32)
        self._parts_used = np.empty(n, TIMED_PART)
        """The streams that have rows in a batch."""
        self.events = self._largest = self._batches = 0
        """Of the last batch, and the most since somebody looked; and batches since then."""
        self.first = 0
        """The first event of the segment."""
        self._kept: list[Any] = []
        """The columns of a batch, by stream, while their handles are used."""
        self._stored = state.streams
        self._payloads = [stream.payload for stream in state.streams]
        self._versions: list[int] = []
        """Of the payloads' rings."""
        self._push = push = struct.new(layout.PUSH)
        self._address = struct.address(push)
        push.width, push.timed = n, query.time_windows
        push.column_count, push.portion = len(columns), state.options.batch_size
        self._tell(
            streams=self._streams,
            columns=self._columns,
            given=self._given,
            windows=self._lowwater.table,
            begun=self.before,
            before=self._before,
            ends=self._ends,
            floor=self._floor,
            parts=self._parts_used,
        )
        self._widen(min(state.options.batch_size, LARGEST))
        self._place()

    def _widen(self, most: int) -> None:
        """Make room for so many events."""
        self.order, self._places = np.empty(most, np.int32), np.empty(most, np.int32)
        self._tell(order=self.order, places=self._places)
        if self._state.query.time_windows:
            self.times = np.empty(most, np.int64)
            self._tell(times=self.times)
        self._push.most = most

    def review(self) -> None:
        """A batch is done: now and then give room back that a large one has left, if an eighth of it was enough."""
        self._largest = max(self._largest, self.events)
        self._batches += 1
        if self._batches < REVIEW:
            return
        usual = min(self._state.options.batch_size, LARGEST)
        if len(self.order) > max(usual, 8 * self._largest):
            self._widen(max(usual, 2 * self._largest))
            self._lowwater.shrink()
        self._batches = self._largest = 0

    def _crowded(self) -> bool:
        """A batch has too many events; whether there is room for them now."""
        events: int = self._push.events
        if events > LARGEST:
            return False
        self._widen(1 << (events - 1).bit_length())
        return True

    @property
    def done(self) -> int:
        """Events that were taken in."""
        start: int = self._push.start
        return start

    def portions(self, stop: int) -> int:
        """In how many the events of the segment up to ``stop`` are joined."""
        portion: int = self._push.portion
        return -(-(stop - self.first) // portion)

    def _tell(self, **arrays: NDArray[Any]) -> None:
        """Write where arrays are into fields of these names."""
        for name, array in arrays.items():
            setattr(self._push, name, array.ctypes.data)

    @property
    def nbytes(self) -> int:
        """What it holds besides the engine's arrays."""
        return self.order.nbytes + self._places.nbytes + (0 if self.times is None else self.times.nbytes)

    def fits(self) -> bool:
        """Whether it is still about the engine as it is."""
        state = self._state
        return (
            state.executor is self._executor
            and state.streams is self._stored
            and [payload.version for payload in self._payloads] == self._versions
        )

    def _place(self) -> None:
        """Tell where the rings of the payload are."""
        payloads = self._payloads
        self._versions = [payload.version for payload in payloads]
        streams = self._state.query.streams.values()
        for s, (stream, payload) in enumerate(zip(streams, payloads, strict=True)):
            line = self._lines[s]
            line.capacity = payload.capacity
            for c, name in enumerate(stream.columns):
                ring = payload.rings.get(name)
                if ring is not None:
                    self._columns["ring"][line.first_column + c] = ring.ctypes.data
                    self._columns["size"][line.first_column + c] = ring.itemsize

    def _watch_windows(self) -> None:
        """Tell where the windows' arrays are, if that has changed."""
        marks, rings = self._lowwater.room(len(self.order)), self._lowwater.rings
        if marks is not self._marks or rings is not self._times:
            self._marks, self._times = marks, rings
            self._tell(marks=marks, window_times=rings)
            self._push.window_slots = len(rings)

    def rouse(self) -> None:  # noqa: B027
        """A push begins: whoever lets others work has them awake in time."""

    def admit(self, handles: list[int], columns: list[Any], now: int | None) -> bool:
        """Check and merge a batch; False, and nothing has changed, if kernels cannot take it as it is.

        ``columns`` are those that the handles are of, by stream.
        """
        self._give(*handles)
        self._kept = columns
        self._push.now = EARLIEST if now is None else now
        self.events = kernels.admit(self._address, NDARRAY)
        if self.events == layout.CROWDED and self._crowded():
            self.events = kernels.admit(self._address, NDARRAY)
        return self.events >= 0

    def make_room(self, oldest: list[int]) -> None:
        """Let the payload take the batch in; rows below ``oldest`` may be forgotten."""
        moved = False
        for payload, low, n in zip(self._payloads, oldest, self._rows.tolist(), strict=True):
            if (n or low > payload.low) and payload.reserve_plain(low, n):
                moved = True
        if moved:
            self._place()

    def cut(self) -> int:
        """Let the events that were taken in so far be a segment of their own; returns the one after the last.

        The engine is then as after a batch of these. `begin_segment` when they are written down; and `go_on`, if the
        rest can be taken in here.
        """
        raise NotImplementedError("a batch that is dealt out to shards is not cut")

    def begin_segment(self) -> None:
        """The events that were not taken in yet are another segment."""
        self.first = self._push.first = self.done

    def go_on(self) -> None:  # noqa: B027
        """Let the payload take in the rows of what was not taken in yet."""

    def rest(self) -> Arrivals:
        """The events that were not taken in yet, as the long way has them."""
        done, parts, kept, place = self.first, [], iter(self._kept), 0
        for s, (line, stream) in enumerate(zip(self._lines, self._state.query.streams.values(), strict=True)):
            rows, first, taken = line.rows, line.first_column, (line.behind + line.here if done else 0)
            values = next(kept) if self._given[first] else ()
            if taken < rows:
                columns = zip(stream.columns, values, strict=True)
                events = self._places[place + taken : place + rows] - np.int32(done)
                keys = {c: values[at - first][taken:] for c, at in self._keys[s].items()}
                parts.append(
                    Part(s, {n: Column(column[taken:]) for n, column in columns}, keys, None, events)
                )
            place += rows
        times = None if self.times is None else self.times[done : self.events]
        return Arrivals(self.order[done : self.events], times, tuple(parts))

    @abstractmethod
    def begin(self, handles: list[int], columns: list[Any], now: int | None, ring: int) -> bool:
        """Check a batch, and perhaps let others begin with it; False, and nothing has changed, if kernels cannot take
        it as it is. Its results go to this ring, which nobody reads any more."""

    @abstractmethod
    def begun(self) -> tuple[list[int], list[int]]:
        """Low-water rows, and next rows, before the batch that was begun."""

    @abstractmethod
    def finish(self, ring: int) -> bool:
        """Have the batch done that was begun, or its next portion; False if there are more."""

    def give_up(self) -> None:  # noqa: B027
        """There was an error after a batch was begun; whoever lets others work sees to it that they end."""


def _only(name: str) -> Any:
    """What gets a single column out of a batch, as a tuple."""
    return lambda batch: (batch[name],)
