"""Counting what feedback has spared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eddy.explain import key_text
from eddy.itinerary import Key
from eddy.query import Query
from eddy.statistics import EdgeStatistics, FeedbackStatistics
from stairs.layout import ROWS

if TYPE_CHECKING:
    from eddy.demand import Unit
    from eddy.suspension import Suspension


def take_feedback_census(
    query: Query, suspension: Suspension, lows: NDArray[np.int64], counts: NDArray[np.int64]
) -> FeedbackStatistics:
    """The statistics of what waits, and of what has waited."""
    marks, names = lows.astype(np.int32), query.names

    def name(streams: Sequence[int]) -> str:
        return " ".join(names[s] for s in streams)

    edges = tuple(
        EdgeStatistics(
            name(edge.streams),
            name(edge.opposite),
            key_text(query, Key(edge.classes)) if edge.classes else "anything",
            edge.blacklist.live(marks),
            edge.suspended,
            edge.resumed,
            edge.resting > 0,
        )
        for unit in suspension.units
        for edge in unit.edges
    )
    every = [*suspension.former, *suspension.units]
    rows = [unit for unit in every if unit.state is not None]
    composites = [unit for unit in every if unit.state is None]
    waiting = {
        unit.streams[0]: len(suspension.suspended(unit, marks))
        for unit in suspension.units
        if unit.state is not None
    }
    held = sum(
        edge.blacklist.nbytes + edge.presence.nbytes for unit in suspension.units for edge in unit.edges
    )
    suspended, resumed = (sum(getattr(unit, what) for unit in rows) for what in ("suspended", "resumed"))
    return FeedbackStatistics(
        policy=type(suspension.policy).__name__,
        suspended=suspended,
        resumed=resumed,
        dropped=suspended - resumed - sum(waiting.values()),
        waiting=sum(waiting.values()),
        composites_suspended=sum(unit.suspended for unit in composites),
        composites_resumed=sum(unit.resumed for unit in composites),
        composites_avoided=_avoided(every),
        bytes=held,
        bytes_saved=_spared(suspension.units, waiting, lows, counts) - held,
        seconds=suspension.seconds,
        edges=edges,
    )


def _avoided(units: Sequence[Unit]) -> int:
    """If rows that waited would have had as many partners as others: what all rows would have made, less what was."""
    arrived: dict[int, int] = {}
    left: dict[int, int] = {}
    for unit in units:
        if unit.state is not None:
            s = unit.streams[0]
            arrived[s] = arrived.get(s, 0) + unit.arrived
            left[s] = left.get(s, 0) + unit.suspended - unit.resumed
    total = 0.0
    for unit in units:
        if unit.state is None:
            shares = [max(arrived[s] - left[s], 1) / max(arrived[s], 1) for s in unit.streams]
            total += unit.made * (1 / float(np.prod(shares)) - 1) + unit.suspended - unit.resumed
    return int(total)


def _spared(
    units: Sequence[Unit], waiting: dict[int, int], lows: NDArray[np.int64], counts: NDArray[np.int64]
) -> int:
    """The same for composites that would be live now, in bytes of their records."""
    total = 0.0
    for unit in units:
        if unit.stair is not None:
            live = unit.stair.live(lows.astype(np.int32))
            rows = {s: max(int(counts[s] - lows[s]), 1) for s in unit.streams}
            shares = [max(rows[s] - waiting.get(s, 0), 1) / rows[s] for s in unit.streams]
            held = sum(edge.blacklist.live(lows.astype(np.int32)) for edge in unit.edges)
            total += (live * (1 / float(np.prod(shares)) - 1) + held) * 4 * (ROWS + len(unit.streams))
    return int(total)
