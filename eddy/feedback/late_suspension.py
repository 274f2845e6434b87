"""Suspending late: rows that were of use, until their last partner left its window.

They are judged again now and then, all of a stream in one go. One that is suspended must leave no trace, since it will
be joined anew when it comes back: its composites go, those that wait too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eddy.feedback.edge import BLOCK
from eddy.feedback.unit import Unit
from stairs import Stair
from stairs.feedback.hiding_kernels import hide
from stairs.feedback.visit_ends_kernels import judge_again
from stairs.feedback.visit_layout import LACKING, MARKED

FEW = 16
"""Chains are made anew for no fewer rows than one in so many, those that wait already included."""


def suspend_late(units: Sequence[Unit], floor: NDArray[np.int32]) -> None:
    """Judge the rows of all streams, when a batch has begun and nothing of it is there yet.

    No STAIR may have holes. ``units``: what is waited for comes first.
    """
    for unit in units:
        if unit.state is None or not any(edge.awake for edge in unit.edges):
            continue
        base = unit.state.base
        for edge in unit.edges:
            if edge.awake:
                edge.make_ready()
        n = base.tail - base.low
        rows, keys = np.empty((n, 1), np.int32), np.empty((len(unit.edges), n), np.int64)
        flags, moments, counts = (
            np.ones(n, np.uint8),
            np.zeros(n, np.int32),
            np.zeros(len(unit.edges), np.int64),
        )
        found = judge_again(
            unit.address, floor, rows, moments, flags, keys, counts, np.empty(BLOCK, np.int64)
        )
        rows, flags, keys, count = rows[:found], flags[:found], keys[:, :found], int(counts.sum())
        if FEW * count <= n or count == 0:
            continue
        chosen = np.zeros(n, np.uint8)
        chosen[(rows[flags != 1, 0] - np.int64(base.low).astype(np.int32))] = 1
        for i, edge in enumerate(unit.edges):
            if counts[i]:
                flags[flags == MARKED + i] = LACKING
                edge.suspend(rows, np.ascontiguousarray(keys[i]), flags, int(counts[i]))
        unit.suspended += count
        _forget(unit, units, base.low, chosen)


def _forget(unit: Unit, units: Sequence[Unit], low: int, chosen: NDArray[np.uint8]) -> None:
    """Take the chosen rows, counted from ``low``, out of all chains, and every composite that one is part of."""
    assert unit.state is not None
    (stream,) = unit.streams
    for leaf in unit.state.stairs.values():
        hide(leaf.state, 0, low, chosen)
    for other in units:
        if other.stair is not None and stream in other.streams:
            chained: list[Stair] = [other.stair, *(edge.blacklist for edge in other.edges)]
            for stair in chained:
                hide(stair.state, other.streams.index(stream), low, chosen)
