"""Counting what an engine holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eddy.inspect.explain import key_text
from eddy.inspect.feedback import feedback_statistics_of
from eddy.inspect.shards import together
from eddy.inspect.times import timed, watermark
from eddy.plan.compiler import StairId
from eddy.router.router import Router
from eddy.statistics import StairStatistics, Statistics, StreamStatistics

if TYPE_CHECKING:
    from eddy.state import EngineState


def statistics_of(state: EngineState, at: NDArray[np.int64] | None = None) -> Statistics:
    """The statistics of an engine. Looks at every composite once, to tell the live from the dead.

    ``at``: the low-water rows by which it does; without them, those of the engine's last event.
    """
    lowwater = state.lowwater
    whole, at = at is None, state.row_numbers.lows if at is None else at
    marks = at.astype(np.int32)
    lows, counts = lowwater.lows.tolist(), lowwater.counts.tolist()
    streams = tuple(
        StreamStatistics(
            s.name, counts[i] - state.first_row, counts[i] - lows[i], s.nbytes, *_disorder(state, i)
        )
        for i, s in enumerate(state.streams)
    )
    if state.attached is not None:
        k, (nexts, firsts) = len(streams), (state.attached.lowwater.counts, state.attached.lowwater.lows)
        streams += tuple(
            StreamStatistics(
                s.name,
                int(nexts[i]) - state.first_row,
                int(nexts[i] - firsts[i]),
                s.nbytes,
                *_disorder(state, k + i),
            )
            for i, s in enumerate(state.attached.streams)
        )
    if state.executor.shards:
        parts = [statistics_of(shard.state, shard.lows(at)) for shard in state.executor.shards]
        stairs, feedback = together(parts)
        demoted = sum(part.keys_demoted for part in parts)
        candidates = sum(part.candidates for part in parts)
    else:
        stairs, feedback = state.executor.state_statistics(), None
        for router in state.executor.routers:
            stairs += tuple(_stairs(state, router, marks))
            if router.suspension is not None:
                counts_here = state.row_numbers.counts
                feedback = feedback_statistics_of(state.query, router.suspension, at, counts_here)
        demoted = 0 if state.budget is None else state.budget.demoted
        candidates = sum(s.looked_at for router in state.executor.routers for s in router.streams)
    size = sum(s.bytes for s in stairs) + (0 if feedback is None else feedback.bytes)
    return Statistics(
        plan=str(state.plan),
        events=state.events,
        results=state.results,
        migrations=state.migrations,
        keys_filled=state.executor.keys_filled,
        composites_filled=state.executor.composites_built,
        keys_demoted=demoted,
        bytes=size + bytes_held(state),
        streams=timed(state, streams),
        stairs=stairs,
        history=state.changes.history,
        feedback=feedback,
        fault=state.faults.waiting,
        fallbacks=state.changes.fallbacks,
        probed=state.executor.probed,
        matched=state.executor.matches_made,
        candidates=candidates,
        steps=state.steering.watch.steps() if whole else (),
        seconds=state.seconds,
        batches=state.batches,
        watermark=watermark(state),
        memory=state.options.memory,
    )


def _disorder(state: EngineState, stream: int) -> tuple[int, int, int]:
    """Rows of a stream that wait for the watermark, those that were late, and those that were refused."""
    buffer, refused = state.reorder, state.refused.get(state.options.query.names[stream], 0)
    if buffer is None or stream not in buffer.waiting:
        return 0, 0, refused
    return len(buffer.waiting[stream]), buffer.late_counts[stream], refused


def bytes_held(state: EngineState) -> int:
    """What an engine holds apart from composites and feedback."""
    return (
        sum(stream.nbytes for stream in state.streams)
        + state.executor.nbytes
        + state.pool.nbytes
        + state.lowwater.nbytes
        + state.row_numbers.nbytes
        + state.output.nbytes
        + state.changes.nbytes
        + (0 if state.fast_path is None else state.fast_path.nbytes)
        + (0 if state.reorder is None else state.reorder.nbytes)
    )


def _stairs(state: EngineState, router: Router, marks: NDArray[np.int32]) -> Iterator[StairStatistics]:
    """Those of the current plan, and of plans that run beside it."""
    names, newest = state.query.names, router.tracks[-1]
    for track in router.tracks:
        for stop in track.table.stops:
            wanted = stop.out
            if isinstance(wanted, StairId):
                stair = track.stairs[wanted]
                former = (
                    track is not newest
                    or track.plan != state.plan
                    or all(step.scope is not None for step in stop.steps)
                )
                yield StairStatistics(
                    f"{stair.name} by {key_text(state.query, wanted.key)}{' (former plan)' * former}",
                    tuple(names[s] for s in wanted.streams),
                    stair.live(track.role.marks(marks)),
                    stair.nbytes,
                    stair.complete,
                    stair.fraction,
                    stair.keys_filled,
                    0 if stair.holes is None else stair.holes.counts()[1],
                    former,
                    stair.partial,
                )
