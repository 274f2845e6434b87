"""Integer shares of a grid of cells: how finely each dimension is cut.

A stream's row is sent to one place along the dimensions that cover the stream, and is copied along the others. So with
shares s, stream i of N rows sends N times the product of the shares of the dimensions that it lacks, and a cell gets
the sum over streams of N divided by the shares of the dimensions that they have. (Afrati and Ullman's Shares;
integers, and a product of at most the cells there are, after Chu, Balazinska and Suciu.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen

from eddy.values.types import Array

Dimension = frozenset[str]
"""The streams that a dimension covers."""

MANY = 300_000
"""Vectors of shares that are compared; where there are more, only shares from a coarser list are."""


@frozen
class Shares:
    """One way to cut."""

    shares: tuple[int, ...]
    cells: int
    load: float
    """Rows that a cell gets, on average."""
    sent: float
    """Rows that are sent, copies counted."""


def undominated(dimensions: Sequence[Dimension]) -> list[int]:
    """Which dimensions are worth cutting: not those that cover a part of what another one covers."""
    kept: list[int] = []
    for i, one in enumerate(dimensions):
        worse = (one < other or (one == other and j < i) for j, other in enumerate(dimensions))
        if not any(worse):
            kept.append(i)
    return kept


def frontier(sizes: dict[str, float], dimensions: Sequence[Dimension], most: int) -> list[Shares]:
    """The ways worth having with at most ``most`` cells: more cells only where each gets fewer rows.

    Of two ways with the same load and the same number of cells the one that sends fewer rows is taken.
    """
    vectors = _vectors(len(dimensions), undominated(dimensions), most)
    cells = vectors.prod(axis=1)
    load = np.zeros(len(vectors))
    for stream, size in sizes.items():
        covering = [d for d, dimension in enumerate(dimensions) if stream in dimension]
        load += size / vectors[:, covering].prod(axis=1)
    order = np.lexsort((load, cells))
    found: list[Shares] = []
    best = np.inf
    for i in order[np.minimum.accumulate(load[order]) == load[order]]:
        if load[i] < best * (1 - 1e-9):
            best = float(load[i])
            found.append(Shares(tuple(vectors[i].tolist()), int(cells[i]), best, best * float(cells[i])))
    return found


def best(sizes: dict[str, float], dimensions: Sequence[Dimension], most: int) -> Shares:
    """The way in which a cell gets the fewest rows; of such ways the one with the fewest cells."""
    return frontier(sizes, dimensions, most)[-1]


def allot(frontiers: Sequence[Sequence[Shares]], most: int) -> list[Shares]:
    """One way for each of several grids that share the cells, so that the largest load of a cell is small.

    There are at least as many cells as grids.
    """
    loads = sorted({way.load for ways in frontiers for way in ways})
    low, high = 0, len(loads) - 1
    while low < high:
        middle = (low + high) // 2
        if _needed(frontiers, loads[middle]) <= most:
            high = middle
        else:
            low = middle + 1
    return [_least(ways, loads[low]) or ways[0] for ways in frontiers]


def _least(ways: Sequence[Shares], load: float) -> Shares | None:
    return next((way for way in ways if way.load <= load), None)


def _needed(frontiers: Sequence[Sequence[Shares]], load: float) -> float:
    chosen = [_least(ways, load) for ways in frontiers]
    return float("inf") if None in chosen else sum(way.cells for way in chosen if way is not None)


def _vectors(count: int, wanted: Sequence[int], most: int) -> Array:
    """All vectors of shares with a product of at most ``most``; only ``wanted`` dimensions are cut."""
    steps = np.arange(1, most + 1)
    while True:
        vectors = np.ones((1, count), np.int64)
        for d in wanted:
            products = vectors.prod(axis=1)
            choices = np.searchsorted(steps, most // products, side="right")
            if choices.sum() > MANY and len(steps) > 2:
                break
            vectors = np.repeat(vectors, choices, axis=0)
            starts = np.cumsum(choices) - choices
            vectors[:, d] = steps[np.arange(len(vectors)) - np.repeat(starts, choices)]
        else:
            return vectors
        # Every other step only, among the larger ones: 1, 2, 3, 4, 6, 8, 12, 16, ...
        coarse = {1, 2, 3, most} | {s << k for s in (2, 3) for k in range(most.bit_length())}
        steps = np.array(sorted(s for s in coarse if s <= most)) if len(steps) > len(coarse) else steps[::2]
