"""The express lane: batches of plain arrays that kernels take in by themselves.

What a batch costs in Python is the same for ten rows and for ten thousand, and in a fast engine it is much of the
whole. So while an engine is in its ordinary state - one plan of probes, no holes, nothing that waits - a push of numpy
arrays of the declared types goes to two kernels. Everything else takes the long way, through `Intake` and `Router`:
other batches, wrong ones, an engine that is changing its plan. Both ways lead to the same state, so a push may take
either.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from eddy import express_kernels as kernels
from eddy.intake import Arrivals
from eddy.leaves import REVIEW
from eddy.result import Result
from eddy.router import Router
from eddy.tracks import RESULT_RINGS
from stairs.address import OPEN
from stairs.program_kernels import ASK, OPERATION

if TYPE_CHECKING:
    from eddy.engine import Eddy

NDARRAY = id(np.ndarray)

LARGEST = 1 << 14
"""Events of a batch that there is room for: beyond that what Python costs is next to nothing."""

PATIENCE = 16
"""Pushes that go the long way before another try, where the first batch could not take the short one."""


class Express:
    """Takes what it can of an engine's pushes."""

    def __init__(self, engine: Eddy) -> None:
        self._engine = engine
        self._lane: Lane | None = None
        self._wait = 0
        """Pushes until it is worth a look whether the engine is in its ordinary state."""
        self._never = not OPEN or not _is_plain(engine)

    def push(self, batches: Mapping[str, Any]) -> Result | None:
        """The results of a push; None, and nothing has changed, if it must take the long way."""
        engine, lane, opened = self._engine, self._lane, False
        if self._never or type(batches) is not dict or not engine._changes.quiet or engine._steering.due:
            return None
        if lane is None or not lane.fits():
            self._lane, lane, opened = None, self._open(), True
        if lane is None or lane.router.reviews_next:
            return None
        handles, _held = _handles(lane, batches)
        if handles is None or not lane.admit(handles, engine._intake.now):
            self._wait = PATIENCE if opened else 0
            return None
        self._lane = lane
        return self._process(lane)

    @property
    def nbytes(self) -> int:
        """Arrays that it holds for itself."""
        return 0 if self._lane is None else self._lane.nbytes

    def _open(self) -> Lane | None:
        """A lane, if the engine is in its ordinary state now."""
        self._wait -= 1
        if self._wait > 0:
            return None
        if not _is_ordinary(self._engine):
            self._wait = REVIEW
            return None
        return Lane(self._engine)

    def _process(self, lane: Lane) -> Result:
        """Take in what was admitted, as `Eddy._take` and `Eddy._route` would."""
        engine = self._engine
        start = time.perf_counter()
        try:
            handout, m = engine._handout, lane.events
            lows = engine._lowwater.lows.tolist()
            lane.make_room(handout.turn(lows))
            lane.run(handout.ring)
            arrivals = Arrivals(lane.order[:m], None if lane.times is None else lane.times[:m], ())
            engine._intake.accept(arrivals)
            counts = lane.before[1].tolist()
            engine._history.note(engine._events, counts, lows, arrivals, lane.track.plan)
            result = engine._output.of(lane.router, handout.ring, engine._streams, engine._fetch)
        except BaseException as error:
            engine._broken = error
            raise
        engine._events += m
        engine._batches += 1
        engine._results += result.count
        engine._seconds += time.perf_counter() - start
        return handout.give(result)


def _handles(lane: Lane, batches: Mapping[str, Any]) -> tuple[list[int] | None, list[Any]]:
    """The handles of the columns of all streams, and the columns: kept for as long as their handles are used.

    No handles if there is anything else in the batches, or less.
    """
    handles: list[int] = []
    held: list[Any] = []
    for name, columns, absent in lane.columns:
        batch = batches.get(name)
        if batch is None:
            handles += absent
            continue
        if type(batch) is not dict or len(batch) != len(absent):
            return None, held
        try:
            values = columns(batch)
        except KeyError:
            return None, held
        held.append(values)
        handles += map(id, values)
    return (handles if len(held) == len(batches) else None), held


def _is_plain(engine: Eddy) -> bool:
    """Whether a query, and what is asked of its results, leaves nothing to do but to join arrays as they are."""
    query = engine.query
    return (
        not query.minus
        and engine.threads == 1
        and not engine._output.signed
        and engine._output.number is None
        and engine._budget is None
        and not engine.feedback.watches
        and engine._intake.is_plain
    )


def _is_ordinary(engine: Eddy) -> bool:
    """Whether kernels alone can do a batch as things are now."""
    router = engine._router
    if not isinstance(router, Router) or router.suspension is not None or len(router.tracks) != 1:
        return False
    track = router.tracks[0]
    return (
        track.hybrid is None
        and track.held is None
        and track.born is None
        and all(stair.complete for stair in track.every_stair)
        and all(not s.indexes and all(len(key.classes) == 1 for key in s.stairs) for s in router.streams)
        and all(not s.payload.has_nulls for s in router.streams)
        and not (track.program.table[:, OPERATION] == ASK).any()
    )


class Lane:
    """An engine's arrays as the kernels are told of them."""

    def __init__(self, engine: Eddy) -> None:
        router, query = engine._router, engine.query
        self._engine, self.router, self.track = engine, router, router.tracks[0]
        self._program, self._versions = self.track.program, [s.version for s in router.streams]
        self._lowwater = engine._lowwater
        n = len(query.names)
        most = min(engine.batch_size, LARGEST)
        self.columns = []
        """For each stream its name, what gets its columns out of a batch, and handles where it has no batch."""
        streams = np.zeros((n, kernels.CAPACITY + 1), np.int64)
        columns: list[tuple[int, int, int]] = []
        leaves: list[tuple[int, int, int]] = []
        for s, (name, stream) in enumerate(query.streams.items()):
            names = list(stream.columns)
            columns_of: Any = itemgetter(*names) if len(names) > 1 else _only(names[0])
            self.columns.append((name, columns_of, (0,) * len(names)))
            time_at = names.index(stream.time) if query.timed and stream.time is not None else -1
            streams[s] = 0, len(columns), len(names), time_at, 0
            keys = {c: len(columns) + names.index(member) for c, member in engine._intake.own_columns(name)}
            for key, leaf in router.streams[s].stairs.items():
                leaves.append((leaf.address, keys[key.classes[0]], s))
            columns += [(id(kind.direct), 0, 0) for kind in stream.columns.values()]
        self._streams, self._columns = streams, np.array(columns, np.int64)
        self._leaves = np.array(leaves, np.int64).reshape(-1, kernels.OF + 1)
        self.order, self._places = np.empty(most, np.int32), np.empty(most, np.int32)
        self.times = np.empty(most, np.int64) if query.time_windows else None
        """Stream and time of each event; None: no window uses time."""
        self._marks, self._times = np.empty((0, n), np.int32), np.empty(0, np.int64)
        """The windows' arrays, which are asked for with the first batch."""
        self.before = np.empty((2, n), np.int64)
        """Low-water rows, and next rows, before the batch."""
        self._ends = np.empty((2, n), np.int32)
        self.events = 0
        self._begin = [router._beginning(ring)[0] for ring in range(RESULT_RINGS)]
        self._leading = router._beginning(0)[1]
        self._results = [
            (ring.address, begin.ctypes.data) for ring, begin in zip(router.results, self._begin, strict=True)
        ]
        """For each of the rings for results, where it is and where the rings are that begin with it."""
        self._given = np.zeros(len(columns), np.int64)
        self._rings: list[int] = []
        """Versions of the payload's rings."""
        self._box = box = np.zeros(kernels.FIELDS, np.int64)
        box[kernels.MOST], box[kernels.WIDTH], box[kernels.TIMED] = most, n, query.time_windows
        box[kernels.COLUMN_COUNT], box[kernels.LEAF_COUNT] = len(columns), len(leaves)
        held = {
            kernels.STREAMS: self._streams,
            kernels.COLUMNS: self._columns,
            kernels.LEAVES: self._leaves,
            kernels.GIVEN: self._given,
            kernels.ORDER: self.order,
            kernels.PLACES: self._places,
            kernels.TIMES: self._given if self.times is None else self.times,
            kernels.WINDOWS: self._lowwater.table,
            kernels.BEFORE: self.before,
            kernels.ENDS: self._ends,
            kernels.PROGRAM: self._program.table,
            kernels.CURSOR: router._cursor,
            kernels.WAITING: router._waiting,
        }
        for place, array in held.items():
            box[place] = array.ctypes.data
        box[kernels.STOP], box[kernels.BLOCK] = len(self._program.table), router._waiting.shape[1]
        box[kernels.BEGIN], box[kernels.LINES] = self._begin[0].ctypes.data, len(self._begin[0])
        self._place()

    @property
    def nbytes(self) -> int:
        """What it holds besides the engine's arrays."""
        return self.order.nbytes + self._places.nbytes + (0 if self.times is None else self.times.nbytes)

    def fits(self) -> bool:
        """Whether it is still about the engine as it is."""
        router = self._engine._router
        return (
            router is self.router
            and len(router.tracks) == 1
            and router.tracks[0] is self.track
            and self.track.program is self._program
            and [s.version for s in router.streams] == self._versions
            and [s.payload.version for s in router.streams] == self._rings
        )

    def _place(self) -> None:
        """Tell where the rings of the payload are."""
        payloads = [stream.payload for stream in self.router.streams]
        self._rings = [payload.version for payload in payloads]
        for s, (stream, payload) in enumerate(
            zip(self._engine.query.streams.values(), payloads, strict=True)
        ):
            first = self._streams[s, kernels.FIRST]
            self._streams[s, kernels.CAPACITY] = payload.capacity
            for c, name in enumerate(stream.columns):
                ring = payload.rings.get(name)
                if ring is not None:
                    self._columns[first + c, kernels.RING :] = ring.ctypes.data, ring.itemsize

    def _watch_windows(self) -> None:
        """Tell where the windows' arrays are."""
        marks, rings = self._lowwater.room(len(self.order)), self._lowwater.rings
        self._marks, self._times = marks, rings
        self._box[kernels.MARKS], self._box[kernels.RINGS] = marks.ctypes.data, rings.ctypes.data
        self._box[kernels.RING_SLOTS] = len(rings)

    def admit(self, handles: list[int], now: int | None) -> bool:
        """Check and merge a batch; False, and nothing has changed, if kernels cannot take it as it is."""
        self._given[:] = handles
        if now is not None:
            self._box[kernels.NOW] = now
        else:
            self._box[kernels.NOW] = np.iinfo(np.int64).min
        self.events = kernels.admit(self._box, NDARRAY)
        return self.events >= 0

    def make_room(self, oldest: list[int]) -> None:
        """Let the payload take the batch in; rows below ``oldest`` may be forgotten."""
        rows = self._streams[:, kernels.ROWS].tolist()
        for stream, low, n in zip(self.router.streams, oldest, rows, strict=True):
            stream.payload.reserve_plain(low, n)
        if [stream.payload.version for stream in self.router.streams] != self._rings:
            self._place()

    def run(self, ring: int) -> None:
        """Process what was admitted; results go to this ring."""
        router, box, lowwater = self.router, self._box, self._lowwater
        if lowwater.rings is not self._times or lowwater.room(0) is not self._marks:
            self._watch_windows()
        box[kernels.RESULTS], box[kernels.BEGIN] = self._results[ring]
        stage = kernels.process(box)
        while stage != kernels.DONE:
            self._assist(stage, ring)
            stage = kernels.process(box)
        router.taken(self._ends[0], self._marks[: self.events], lowwater.counts.copy())

    def _assist(self, stage: int, ring: int) -> None:
        """Do what stopped a batch."""
        box, router, at = self._box, self.router, int(self._box[kernels.AT])
        if stage == kernels.TIMING:
            self._lowwater.resize()
            self._watch_windows()
        elif stage == kernels.BEGINNING:
            self.track.every_stair[at - self._leading].make_room(self._ends[0])
            box[kernels.AT] += 1
        elif stage == kernels.STORING:
            address, _, s = self._leaves[at].tolist()
            (leaf,) = (found for found in router.streams[s].stairs.values() if found.address == address)
            leaf.reserve(int(self._streams[s, kernels.ROWS]))
        else:
            box[kernels.AT] = router._assist(self.track, at, router.results[ring])


def _only(name: str) -> Any:
    """What gets a single column out of a batch, as a tuple."""
    return lambda batch: (batch[name],)
