"""Counting what feedback has spared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eddy.faults import unguarded
from eddy.inspect.explain import key_text
from eddy.plan.compiler import Key, Streams
from eddy.query.query import Query
from eddy.statistics import EdgeStatistics, FeedbackStatistics
from eddy.store.stream import StreamState
from stairs.layout import ROWS

if TYPE_CHECKING:
    from eddy.feedback.suspension import Suspension
    from eddy.feedback.unit import Tally, Unit

Longs = NDArray[np.int64]


def feedback_statistics_of(
    query: Query, suspension: Suspension, lows: Longs, counts: Longs
) -> FeedbackStatistics:
    """The statistics of what waits, and of what has waited."""
    suspension.follow_plan()
    marks, names = lows.astype(np.int32), query.names

    def name(streams: Sequence[int]) -> str:
        return " ".join(names[s] for s in streams)

    edges = tuple(
        EdgeStatistics(
            name(edge.streams),
            name(edge.opposite),
            key_text(query, Key(edge.classes)) if edge.classes else edge.presence.text,
            edge.blacklist.live(marks),
            edge.suspended,
            edge.resumed,
            edge.resting > 0,
        )
        for unit in suspension.units
        for edge in unit.edges
    )
    every: list[tuple[Streams, Tally | Unit]] = [*suspension.former.items()]
    every += ((unit.streams, unit) for unit in suspension.units)
    rows = [told for streams, told in every if len(streams) == 1]
    composites = [told for streams, told in every if len(streams) > 1]
    waiting = {
        unit.streams[0]: len(suspension.suspended(unit, marks))
        for unit in suspension.units
        if unit.state is not None
    }
    size = sum(
        edge.blacklist.nbytes + edge.presence.nbytes for unit in suspension.units for edge in unit.watched
    )
    avoided, spared = _spared(suspension, waiting, lows, counts)
    suspended, resumed = (sum(getattr(unit, what) for unit in rows) for what in ("suspended", "resumed"))
    return FeedbackStatistics(
        policy=type(unguarded(suspension.policy)).__name__,
        suspended=suspended,
        resumed=resumed,
        dropped=suspended - resumed - sum(waiting.values()),
        waiting=sum(waiting.values()),
        composites_suspended=sum(unit.suspended for unit in composites),
        composites_resumed=sum(unit.resumed for unit in composites),
        pairs_suppressed=sum(unit.suppressed for unit in composites),
        pairs_restored=sum(unit.restored for unit in composites),
        keys_noted=sum(unit.suppression.keys for unit in suspension.units if unit.suppression is not None),
        composites_avoided=avoided,
        bytes=size,
        bytes_saved=spared - size,
        seconds=suspension.seconds,
        edges=edges,
    )


def _matches(states: Sequence[StreamState], classes: Sequence[int], lows: Longs, counts: Longs) -> int:
    """Pairs of live rows of two streams, those that wait included, that are alike in all these key classes."""
    sides = []
    for state in states:
        low, n = int(lows[state.number]), int(counts[state.number] - lows[state.number])
        keys = state.keys(
            Key(tuple(classes)), {c: state.stored_keys(c, low, n) for c in state.classes}, low, n
        )
        sides.append(np.unique(keys[state.kept(low, n).view(np.bool_)], return_counts=True))
    (one, here), (other, there) = sides
    _, i, j = np.intersect1d(one, other, assume_unique=True, return_indices=True)
    return int((here[i] * there[j]).sum())


def _spared(suspension: Suspension, waiting: dict[int, int], lows: Longs, counts: Longs) -> tuple[int, int]:
    """Composites that were not made, and bytes of those that would be live now, estimated.

    Of two streams: by the pairs of live rows that match now, and as many for each time that a window has turned over.
    Of more: as if rows that wait had as many partners as others.
    """
    streams, shared = suspension.router.streams, suspension.router.compiler.shared
    live = np.maximum(counts - lows, 1)
    arrived = {s: told.arrived for (s, *others), told in suspension.former.items() if not others}
    for unit in suspension.units:
        if unit.state is not None:
            arrived[unit.streams[0]] = arrived.get(unit.streams[0], 0) + unit.arrived
    made = size = spared = missing = 0.0
    for unit in suspension.units:
        if unit.stair is None:
            continue
        suspended = sum(edge.blacklist.live(lows.astype(np.int32)) for edge in unit.edges)
        here = unit.stair.live(lows.astype(np.int32))
        classes = shared(unit.streams[:1], unit.streams[1:]) if len(unit.streams) == 2 else ()
        if classes:
            whole = _matches([streams[s] for s in unit.streams], classes, lows, counts)
            turns = sum(arrived[s] / int(live[s]) for s in unit.streams)
            spared, missing = whole * turns - unit.made, whole - here
        else:
            shares = [max(int(live[s]) - waiting.get(s, 0), 1) / int(live[s]) for s in unit.streams]
            more = 1 / float(np.prod(shares)) - 1
            spared = unit.made * more + unit.suspended - unit.resumed + unit.suppressed - unit.restored
            missing = here * more + suspended
        made += max(0.0, spared)
        size += max(0.0, missing) * 2 * 4 * (1 + ROWS + len(unit.streams))  # with bucket heads
    return int(made), int(size)
