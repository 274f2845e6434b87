"""An estimate as the search kernels take it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policies.optimizer.cards_kernels import adjacency
from policies.optimizer.estimate import Estimate, connections
from policies.optimizer.words import Table, Words

Arrays = tuple[NDArray[Any], ...]


def facts_of(estimate: Estimate, units: Sequence[int]) -> Arrays:
    """What is to be known of all sets of these units, numbered by the bits of the units."""
    if estimate.layout is not None:
        return table_facts(estimate, estimate.layout.unions(units))
    sets = unions(units)
    adjacent = np.empty(len(sets), np.int64)
    adjacency(sets, *estimate.query[:2], adjacent)
    return sets, estimate.cards(sets), driven(estimate, sets), adjacent


def table_facts(estimate: Estimate, table: Table, drivers: Words | None = None) -> Arrays:
    """The same of sets that are rows of words; ``drivers``: the streams whose arrivals make entries, if not all do."""
    streams, has, many, widths = table
    drive = driven(estimate, streams if drivers is None else drivers)
    return streams, estimate.cards(streams), drive, has, many, widths


def driven(estimate: Estimate, sets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Arrivals per event and live row, of all streams of a set together; sets as `Estimate.sets` has them."""
    if estimate.layout is None:
        return ((sets[:, None] >> np.arange(len(estimate.rows))) & 1) @ estimate.turnover
    return estimate.layout.bits(sets) @ estimate.turnover


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
