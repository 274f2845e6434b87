"""Beginning a batch: what is dead goes out of all rings, in one kernel call; now and then memory is given back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eddy.store.leaves import REVIEW, Leaves
from eddy.tracks.prober import Prober
from eddy.tracks.tracks import RESULT_RINGS, Tracks
from stairs import Stair
from stairs.begin_kernels import SCRATCH, begin_rings
from stairs.holes import Keys
from stairs.key_kernels import read_keys


class Beginning:
    """Begins batches in the rings of all tracks, and in the leaves."""

    def __init__(self, plans: Tracks, leaves: Leaves, prober: Prober) -> None:
        self._plans, self._leaves, self._prober = plans, leaves, prober
        self._tables: list[tuple[NDArray[np.int64], ...] | None] = [None] * RESULT_RINGS
        self.batches = 0
        """Batches that were begun so far, here or by kernels alone."""

    def begin(
        self, floor: NDArray[np.int32], low_rows: NDArray[np.int64], next_rows: NDArray[np.int64], ring: int
    ) -> None:
        """Drop what is dead at ``floor``, and empty the rings that are not kept; result ring ``ring`` is one of them.

        ``floor`` has the low 32 bits of ``low_rows``.
        """
        self.batches += 1
        first = self.table(ring)
        for number, track in enumerate(self._plans.tracks):
            table, before = first if number == 0 else (track.rings, 0)
            lows, low = low_rows, floor
            if not track.role.ordinary:
                lows = track.role.lows(low_rows)
                low = lows.astype(np.int32)
            at = begin_rings(table, 0, lows, next_rows, low)
            while at < len(table):
                track.every_stair[at - before].make_room(low)
                at = begin_rings(table, at + 1, lows, next_rows, low)
        self._leaves.begun()

    def table(self, ring: int) -> tuple[NDArray[np.int64], int]:
        """The result ring, the leaves and the rings of the first track in one table; and where those begin."""
        leaves, rings = self._leaves.rings, self._plans.tracks[0].rings
        known = self._tables[ring]
        if known is None or known[0] is not leaves or known[1] is not rings:
            results = [[SCRATCH, self._plans.results[ring].address, 0]]
            known = self._tables[ring] = leaves, rings, np.concatenate((results, leaves, rings))
        return known[2], len(leaves) + 1

    @property
    def reviewing(self) -> bool:
        """Whether memory is given back in this batch."""
        return self.batches % REVIEW == 0

    @property
    def reviews_next(self) -> bool:
        """Whether the next batch gives memory back."""
        return (self.batches + 1) % REVIEW == 0 or self._leaves.reviews_next

    def review(self, low_rows: NDArray[np.int64], ring: int) -> None:
        """Give memory back that STAIRs, result ring ``ring`` and other rings do not need."""
        for track in self._plans.tracks:
            floor = track.role.lows(low_rows).astype(np.int32)
            for stair in track.every_stair:
                stair.review(floor)
            for place in track.scratch:
                place.shrink()
        for place in (self._plans.results[ring], *self._prober.spare):
            place.shrink()

    def expiring(self, low_rows: NDArray[np.int64]) -> list[tuple[Stair, Keys]]:
        """STAIRs with holes, and for each the keys whose rows die when a batch begins with these low-water rows."""
        return [
            (stair, _expired(stair, low_rows))
            for track in self._plans.tracks
            for stair in track.every_stair
            if stair.holes is not None
        ]


def _expired(stair: Stair, lows: NDArray[np.int64]) -> Keys:
    """Keys of the carrying rows that die now and for which inserts may have been dropped."""
    assert stair.holes is not None and isinstance(stair.carrier, Stair)
    low = int(lows[stair.carrier.stream_list[0]])
    stop = low if stair.holes.demoted else min(low, stair.holes.created)
    keys = np.empty(max(0, stop - stair.carrier.low), np.int64)
    read_keys(stair.carrier.state, stair.carrier.low, keys)
    return keys
