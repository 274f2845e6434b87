"""An estimate as the search kernels take it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policies.optimizer.cards_kernels import adjacency
from policies.optimizer.estimate import Estimate, connections

Arrays = tuple[NDArray[Any], ...]


def query_of(estimate: Estimate) -> Arrays:
    """The predicates, and the live rows."""
    return estimate.classes, estimate.thetas, estimate.ranges, estimate.rows


def facts_of(estimate: Estimate, sets: NDArray[np.int64]) -> Arrays:
    """What is to be known of these sets of streams, given as bits."""
    cards = estimate.cards(sets)
    bits = (sets[:, None] >> np.arange(len(estimate.rows))) & 1
    adjacent = np.empty(len(sets), np.int64)
    adjacency(sets, estimate.classes, estimate.thetas, adjacent)
    return sets, cards, bits @ estimate.turnover, adjacent


def all_facts(estimate: Estimate) -> Arrays:
    """The same of all sets, numbered by their bits; found once for an estimate. Only where it has a table."""
    if estimate.memo is None:
        n = len(estimate.rows)
        sets, drive = np.arange(1 << n), np.zeros(1 << n)
        for i in range(n):
            drive[1 << i : 2 << i] = drive[: 1 << i] + estimate.turnover[i]
        facts = sets, estimate.cards(sets), drive, connections(estimate.graph)[0]
        object.__setattr__(estimate, "memo", facts)
    assert estimate.memo is not None
    return estimate.memo


def unions(units: Sequence[int]) -> NDArray[np.int64]:
    """The streams of every set of units, numbered by the bits of the units."""
    sets = np.zeros(1 << len(units), np.int64)
    for i, streams in enumerate(units):
        sets[1 << i : 2 << i] = sets[: 1 << i] | streams
    return sets
