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
from typing import TYPE_CHECKING, Any

from eddy.express_lane import Lane, RouterLane
from eddy.intake import Arrivals
from eddy.leaves import REVIEW
from eddy.result import Result
from eddy.router import Router
from stairs.address import OPEN
from stairs.program_kernels import ASK, OPERATION

if TYPE_CHECKING:
    from eddy.engine import Eddy

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
        if lane is not None:
            lane.rouse()
        if self._never or engine._numbers.thin or type(batches) is not dict:
            return None
        if not engine._changes.quiet:
            return None
        if lane is None or not lane.fits():
            self._lane, lane, opened = None, self._open(), True
        if lane is None or engine._router.reviews_next:
            return None
        handles, held = _handles(lane, batches)
        now = engine._intake.now
        if handles is not None and engine._steering.due:
            if not lane.admit(handles, held, now):
                self._refused(opened and lane.fits())
                return None
            engine._steering.decide()
            if not engine._changes.quiet or not lane.fits():  # nothing of the batch has been taken in yet
                return None
        if handles is None:
            self._refused(opened)
            return None
        return self._process(lane, handles, held, opened)

    def _refused(self, opened: bool) -> None:
        """A batch must take the long way; after the first of a lane others are likely to."""
        self._wait = PATIENCE if opened else 0

    @property
    def nbytes(self) -> int:
        """Arrays that it holds for itself; a lane that fits no more is as good as gone."""
        return 0 if self._lane is None or not self._lane.fits() else self._lane.nbytes

    def _open(self) -> Lane | None:
        """A lane, if the engine is in its ordinary state now."""
        router = self._engine._router
        if isinstance(router, Router) and not router.at_ease:
            return None
        self._wait -= 1
        if self._wait > 0:
            return None
        lane = _lane(self._engine)
        if lane is None and self._engine.threads == 1:
            self._wait = REVIEW
        return lane

    def _process(self, lane: Lane, handles: list[int], held: list[Any], opened: bool) -> Result | None:
        """Take a batch in, as `pushing.take` and `batch.process` would. While others work on it, it is written down."""
        engine = self._engine
        handout, start = engine._handout, time.perf_counter()
        handout.make_way()
        try:
            if not lane.begin(handles, held, engine._intake.now, handout.next_ring):
                wider = None if lane.fits() else _lane(engine)  # tables with more room have been made
                if wider is not None:
                    return self._process(wider, handles, held, opened)
                self._refused(opened)
                return None
            self._lane, m = lane, lane.events
            lows, counts = lane.begun()
            lane.make_room(handout.turn(lows))
            arrivals = Arrivals(lane.order[:m], None if lane.times is None else lane.times[:m], ())
            engine._intake.accept(arrivals)
            engine._history.note(engine._events, counts, lows, arrivals, engine._router.tracks[-1].plan)
            lane.finish(handout.ring)
            result = engine._output.of(engine._router, handout.ring, engine._streams, engine._fetch)
        except BaseException as error:
            lane.give_up()
            engine._broken = error
            raise
        lane.review()
        engine._events += m
        engine._batches += lane.portions
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
        and not engine._output.signed
        and engine._output.number is None
        and engine._budget is None
        and engine._intake.is_plain
    )


def _lane(engine: Eddy) -> Lane | None:
    """A lane, if kernels alone can do a batch as things are now."""
    router = engine._router
    if engine.threads > 1:
        from eddy.express_crew import CrewLane  # its kernels are compiled only where there are threads

        return None if router.fast is None else CrewLane(engine, router.fast)
    if not isinstance(router, Router) or not router.at_ease or len(router.tracks) != 1:
        return None
    track = router.tracks[0]
    ordinary = (
        track.hybrid is None
        and track.held is None
        and track.born is None
        and all(stair.complete for stair in track.every_stair)
        and all(not s.indexes and all(len(key.classes) == 1 for key in s.stairs) for s in router.streams)
        and not (track.program.table[:, OPERATION] == ASK).any()
    )
    return RouterLane(engine) if ordinary else None
