"""Suspending late: rows that were of use, until their last partner left its window.

They are judged again now and then, all of a stream in one go. One that is suspended must leave no trace, since it will
be joined anew when it comes back: its composites go, those that wait too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eddy.demand import Unit
from eddy.leaf import NONE
from eddy.presence import keys_of
from stairs import Ring
from stairs.waiting_kernels import hide, relink

FEW = 16
"""Chains are made anew for no fewer rows than one in so many."""


def suspend_late(units: Sequence[Unit], floor: NDArray[np.int32]) -> None:
    """Judge the rows of all streams, when a batch has begun and nothing of it is there yet.

    No STAIR may have holes. ``units``: what is waited for comes first.
    """
    for unit in units:
        if unit.state is None or not any(edge.awake for edge in unit.edges):
            continue
        base = unit.state.base
        low, n = base.low, base.tail - base.low
        flags = unit.state.linked(low, n).copy()
        places = np.flatnonzero(flags)
        rows = (low + places).astype(np.int32).reshape(-1, 1)
        left, moments = np.ones(len(rows), np.uint8), np.zeros(len(rows), np.int32)
        chosen = []
        for edge in unit.edges:
            if edge.awake:
                before, keys = left.copy(), keys_of(edge.parts, rows)
                edge.presence.find(keys, floor, moments, left)
                chosen.append((edge, np.flatnonzero(before != left), keys))
        count = sum(len(failed) for _, failed, _ in chosen)
        if FEW * count <= len(rows) or count == 0:
            continue
        for edge, failed, keys in chosen:
            edge.suspend(rows[failed], keys[failed])
        unit.suspended += count
        flags[places] = left ^ 1
        _forget(unit, units, low, flags)


def _forget(unit: Unit, units: Sequence[Unit], low: int, flags: NDArray[np.uint8]) -> None:
    """Take the flagged rows, counted from ``low``, out of all chains, and every composite that one is part of."""
    assert unit.state is not None
    (stream,) = unit.streams
    rings: list[Ring] = list(unit.state.stairs.values())
    for other in units:
        if other.stair is not None and stream in other.streams:
            rings += [other.stair, *(edge.blacklist for edge in other.edges)]
    for ring in rings:
        component = 0 if ring.components == 1 else _streams(ring).index(stream)
        if hide(ring.state, component, low, flags):
            relink(ring.state, NONE)


def _streams(ring: Ring) -> tuple[int, ...]:
    streams: tuple[int, ...] = ring.stream_list  # type: ignore[attr-defined]
    return streams
