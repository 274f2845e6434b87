"""Counting what an engine holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eddy.explain import key_text
from eddy.statistics import StairStatistics, Statistics, StreamStatistics

if TYPE_CHECKING:
    from eddy.engine import Eddy


def take_census(engine: Eddy) -> Statistics:
    """The statistics of an engine. Looks at every composite once, to tell the live from the dead."""
    lowwater, names = engine._lowwater, engine.query.names
    marks = lowwater.lows.astype(np.int32)
    lows, counts = lowwater.lows.tolist(), lowwater.counts.tolist()
    streams = tuple(
        StreamStatistics(s.name, counts[i] - engine._first_row, counts[i] - lows[i], s.nbytes)
        for i, s in enumerate(engine._streams)
    )
    newest = engine._router.tracks[-1]
    stairs = tuple(
        StairStatistics(
            f"{stair.name} by {key_text(engine.query, wanted.key)}{' (former plan)' * (track is not newest)}",
            tuple(names[s] for s in wanted.streams),
            stair.live(track.marks(marks)),
            stair.nbytes,
            stair.complete,
            stair.fraction,
            stair.keys_filled,
            0 if stair.holes is None else stair.holes.counts()[1],
        )
        for track in engine._router.tracks
        for wanted, stair in track.stairs.items()
    )
    held = sum(s.bytes for s in streams) + sum(s.bytes for s in stairs)
    return Statistics(
        plan=engine.plan,
        events=engine._events,
        results=engine._results,
        migrations=engine._migrations,
        keys_filled=engine._router.keys_filled,
        composites_filled=engine._router.composites_built,
        bytes=held + engine._router.nbytes + engine._pool.nbytes + lowwater.nbytes,
        streams=streams,
        stairs=stairs,
        history=(*engine._log, *(change.statistics() for change in engine._changes)),
    )
