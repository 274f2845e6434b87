"""The bucket heads of all rings of one key class, side by side.

A row that arrives is stored under its key, looked up under it, and what comes of that is stored and looked up again,
each time in another ring. With a table of heads for each ring that is a cache line each; here the heads of one bucket
lie next to each other, so that it is one line for all. In large windows those lines are what an event costs.

The number of buckets follows the leaves: whatever key a composite has, some row of a leaf has it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import NDArray

from stairs.ring_kernels import relink

if TYPE_CHECKING:
    from stairs.ring import Ring

LINE = 64
"""Bytes of a cache line."""

SPACE = 2
"""Buckets for each slot of the largest leaf, a third to two thirds of which are used."""


class Directory:
    """Heads for up to ``lanes`` rings, rounded up to a power of two. A ring has a lane, or heads of its own."""

    def __init__(self, lanes: int) -> None:
        self.lanes = 1 << (lanes - 1).bit_length()
        self._rings: list[ReferenceType[Ring] | None] = [None] * self.lanes
        self._next = [1] * self.lanes
        """Where the ids of a ring begin that takes a lane over: heads that are left behind are below."""
        self._refreshed = [1] * self.lanes
        self._heads = self._allocate(1)

    @property
    def buckets(self) -> int:
        return len(self._heads) // self.lanes

    @property
    def spare(self) -> int:
        """Bytes of lanes that no ring has; the others count as their rings'."""
        return 4 * self.buckets * self._rings.count(None)

    def heads(self, lane: int) -> NDArray[np.int32]:
        """The heads of a lane: every so-many-th of these."""
        return self._heads[lane:]

    def join(self, ring: Ring) -> None:
        """Give a ring a lane if there is one. A ring with rows for ids keeps them, another must be empty."""
        lane = self._free()
        if lane is None:
            return
        self._rings[lane] = ref(ring)
        if ring.leaf:
            ring.move_in(self, lane)
            relink(ring.state)
            self.fit()
        else:
            ring.start(self._next[lane], self._refreshed[lane])
            ring.move_in(self, lane)

    def leave(self, ring: Ring) -> None:
        """Take the lane back from a ring that nobody needs any more."""
        lane = self._rings.index(ref(ring))
        self._rings[lane], self._next[lane], self._refreshed[lane] = None, ring.tail, ring.refreshed

    def fit(self) -> None:
        """Have the buckets that the largest leaf needs."""
        rings = [None if known is None else known() for known in self._rings]
        wanted = SPACE * max(ring.capacity for ring in rings if ring is not None and ring.leaf)
        if wanted == self.buckets:
            return
        self._heads = self._allocate(wanted)
        for lane, ring in enumerate(rings):
            if ring is None:
                self._clear(lane)
            else:
                ring.move_in(self, lane)
                relink(ring.state)

    def _free(self) -> int | None:
        """A lane that no ring has."""
        if None in self._rings:
            return self._rings.index(None)
        for lane, known in enumerate(self._rings):
            if known is not None and known() is None:  # it was dropped halfway, in a change that failed
                self._clear(lane)
                return lane
        return None

    def _clear(self, lane: int) -> None:
        self._heads[lane :: self.lanes] = 0
        self._rings[lane], self._next[lane], self._refreshed[lane] = None, 1, 1

    def _allocate(self, buckets: int) -> NDArray[np.int32]:
        """Heads that begin with a cache line; they are 0, which is below every id that a composite has."""
        memory = np.zeros(buckets * self.lanes + LINE // 4, np.int32)
        start = -memory.ctypes.data % LINE // 4
        return memory[start : start + buckets * self.lanes]
