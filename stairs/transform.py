"""A STAIR as a whole: all of its keys demoted, some of its holes promoted, and the entries of a key."""

from __future__ import annotations

import numpy as np

from stairs.hole_kernels import find_entries
from stairs.holes import Keys
from stairs.stair import Stair

FEW = 64
"""Entries of a key that there is room for at first."""


def carried_keys(stair: Stair, low: int) -> Keys:
    """The keys by which holes are known, of the rows from ``low`` on that can be found in the carrying leaf."""
    leaf = stair.carrier
    assert leaf is not None
    return leaf.keys(low, leaf.tail)[leaf.linked(low, leaf.tail)]


def demote_all(stair: Stair) -> int:
    """Demote the keys of every row that the carrying leaf has; how many composites went."""
    return 0 if stair.carrier is None else stair.demote(carried_keys(stair, stair.carrier.low))


def promote_some(stair: Stair, budget: int) -> int:
    """Fill up to ``budget`` holes, those of the newest rows first, and then those that were demoted; how many."""
    filled = 0
    while stair.holes is not None and not stair.holes.passed and filled < budget:
        filled += stair.settle(budget - filled)
    if stair.holes is not None:
        filled += stair.promote(stair.holes.known()[: budget - filled])
        stair.close_if_done()
    return filled


def entries_with(stair: Stair, key: int) -> Keys:
    """The ids of the entries with a key, oldest first: a hole has none, and those not yet known dead count."""
    found = np.empty(FEW, np.int64)
    while (n := find_entries(stair.state, key, found)) > len(found):
        found = np.empty(n, np.int64)
    return found[:n][::-1]
