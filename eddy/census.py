"""Counting what an engine holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eddy.crews import is_crew
from eddy.explain import key_text
from eddy.feedback_census import take_feedback_census
from eddy.itinerary import StairId
from eddy.shards_census import together
from eddy.statistics import StairStatistics, Statistics, StreamStatistics

if TYPE_CHECKING:
    from eddy.engine import Eddy


def take_census(engine: Eddy) -> Statistics:
    """The statistics of an engine. Looks at every composite once, to tell the live from the dead."""
    lowwater = engine._lowwater
    marks = engine._numbers.lows.astype(np.int32)
    lows, counts = lowwater.lows.tolist(), lowwater.counts.tolist()
    streams = tuple(
        StreamStatistics(s.name, counts[i] - engine._first_row, counts[i] - lows[i], s.nbytes)
        for i, s in enumerate(engine._streams)
    )
    if is_crew(engine._router):
        parts = [take_census(shard.engine) for shard in engine._router.shards]
        stairs, feedback = together(parts)
        demoted = sum(part.keys_demoted for part in parts)
    else:
        stairs = engine._router.census() if engine.query.minus else tuple(_stairs(engine, marks))
        suspension = engine._router.suspension
        feedback = (
            None
            if suspension is None
            else take_feedback_census(engine.query, suspension, engine._numbers.lows, engine._numbers.counts)
        )
        demoted = 0 if engine._budget is None else engine._budget.demoted
    held = 0 if feedback is None else feedback.bytes
    held += sum(s.bytes for s in stairs)
    return Statistics(
        plan=engine.plan,
        events=engine._events,
        results=engine._results,
        migrations=engine._migrations,
        keys_filled=engine._router.keys_filled,
        composites_filled=engine._router.composites_built,
        keys_demoted=demoted,
        bytes=held + bytes_held(engine),
        streams=streams,
        stairs=stairs,
        history=engine._changes.history,
        feedback=feedback,
    )


def bytes_held(engine: Eddy) -> int:
    """What an engine holds apart from composites and feedback."""
    return (
        sum(stream.nbytes for stream in engine._streams)
        + engine._router.nbytes
        + engine._pool.nbytes
        + engine._lowwater.nbytes
        + engine._numbers.nbytes
        + engine._output.nbytes
        + engine._changes.nbytes
        + engine._express.nbytes
    )


def _stairs(engine: Eddy, marks: NDArray[np.int32]) -> Iterator[StairStatistics]:
    """Those of the current plan, and of plans that run beside it."""
    names, newest = engine.query.names, engine._router.tracks[-1]
    for track in engine._router.tracks:
        for stop in track.table.stops:
            wanted = stop.out
            if isinstance(wanted, StairId):
                stair = track.stairs[wanted]
                former = (
                    track is not newest
                    or track.plan != engine._plan
                    or all(step.duty is not None for step in stop.steps)
                )
                yield StairStatistics(
                    f"{stair.name} by {key_text(engine.query, wanted.key)}{' (former plan)' * former}",
                    tuple(names[s] for s in wanted.streams),
                    stair.live(track.marks(marks)),
                    stair.nbytes,
                    stair.complete,
                    stair.fraction,
                    stair.keys_filled,
                    0 if stair.holes is None else stair.holes.counts()[1],
                    former,
                    stair.partial,
                )
