"""Which band of a step drives the sorted index: the one that lets least through, as measured.

Pairs of a probe and a live row are tried now and then, as many as do not count beside the work that was done, and for
each band those that pass are counted. The band with the fewest serves; the others are tested on what it finds, the most
selective first. What the bands say decides, never the order in which the query names them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eddy.tracks.bands import Bands
from stairs.band_kernels import sample

FEW = 64
"""Live rows that are looked through without an index."""
TRIED, MOST = 4096, 1 << 16
"""Pairs that are tried at a time: one for each fourth live row, but no fewer, and no more, than these."""
WORK = 16
"""Candidates are looked at for each pair tried, before others are tried."""
ASKED = 256
"""Times that a step is taken before, however little it did."""
BETTER = 2
"""How many times fewer pairs another band must let through to take over."""
NOISE = 8
"""Pairs that pass by chance."""


class Driver:
    """Orders the bands of a step."""

    def __init__(self, bands: Bands) -> None:
        self._bands = bands
        self.order: NDArray[np.int64] = np.arange(bands.count)
        """Numbers of the bands as they are to be tested; the first one drives the index."""
        self._passed = np.zeros(bands.count, np.int64)
        self._due = 0
        """Candidates that may be looked at before pairs are tried again."""
        self._asked = ASKED
        self._chosen = False
        """Whether there is a band that serves already: another must be clearly better."""

    def indexed(self, low: int, tail: int) -> bool:
        """Whether an index pays for live rows from ``low`` to ``tail``."""
        return tail - low > FEW

    def look(self, ranges: NDArray[np.float64], low: int, tail: int) -> None:
        """These probes are about to look for live rows: choose the order anew if that is due."""
        self._asked += 1
        if self._bands.count == 1 or len(ranges) == 0 or (self._due > 0 and self._asked < ASKED):
            return
        tried = min(max(TRIED, (tail - low) // 4), MOST)
        self._due, self._asked = WORK * tried, 0
        self._passed >>= 1  # what was found before counts half
        table = self._bands.state.measures.table
        sample(tried, low, tail - low, table, self._bands.lines, ranges, self._passed)
        order = np.argsort(self._passed, kind="stable")
        first, best = int(self.order[0]), int(order[0])
        if BETTER * int(self._passed[best]) + NOISE >= int(self._passed[first]) and self._chosen:
            order = np.concatenate(([first], order[order != first]))
        self._chosen = True
        self.order = order

    def worked(self, looked_at: int) -> None:
        """So many candidates were looked at."""
        self._due -= looked_at
