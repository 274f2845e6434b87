"""The bucket heads of the rings of one key class, side by side.

A row that arrives is stored under its key, looked up under it, and what comes of that is stored and looked up again,
each time in another ring. With a table of heads for each ring that is a cache line each; here the heads of one bucket
lie next to each other, in one line for all. In large windows those lines are what an event costs; in small ones they
are in the cache, and rings have heads of their own.

The number of buckets follows the largest leaf: whatever key a composite has, some row of a leaf has it too. A ring that
is much smaller has heads of its own, which are small, and so have all where more than a line's worth would share.
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

LEAST = 1 << 16
"""Slots of the largest leaf below which all have heads of their own: these are in the cache as they are."""

ALIKE = 4
"""The largest leaf has at most so many times the slots of a ring that has a lane."""


class Directory:
    """Heads for the leaves of a class and for up to ``stairs`` STAIRs at a time. A ring that joins has a *lane* of them
    while it is of about the size of the leaves, and while there is one."""

    def __init__(self, stairs: int) -> None:
        self._stairs = stairs
        self._rings: list[ReferenceType[Ring]] = []
        """All that have joined."""
        self.lanes = self.buckets = self._largest = 0
        self._heads = self._allocate()
        self._owners: list[ReferenceType[Ring] | None] = []
        self._next: list[int] = []
        """Where the ids of a ring begin that takes a lane over: heads that are left behind are below."""
        self._refreshed: list[int] = []

    @property
    def spare(self) -> int:
        """Bytes of lanes that no ring has; the others count as their rings'."""
        owned = sum(owner is not None and owner() is not None for owner in self._owners)
        return 4 * self.buckets * (self.lanes - owned)

    def heads(self, lane: int) -> NDArray[np.int32]:
        """The heads of a lane: every so-many-th of these."""
        return self._heads[lane:]

    def join(self, ring: Ring) -> None:
        """Give a ring a lane from now on, whenever one suits it; it leaves another directory for that."""
        housed = ring.lane is not None
        if ring.home is not None:
            ring.home.leave(ring)
        ring.home, ring.lane = self, None
        self._rings.append(ref(ring))
        self.resized(ring)
        if housed and ring.lane is None:
            ring.move_out()

    def leave(self, ring: Ring) -> None:
        """Nobody needs the ring any more."""
        self._rings.remove(ref(ring))
        if ring.lane is not None:
            self._free(ring)

    def resized(self, ring: Ring) -> None:
        """A ring has another number of slots."""
        if ring.leaf:
            self._fit()
        self.settle(ring)

    def settle(self, ring: Ring) -> None:
        """Let a ring have a lane, or heads of its own, whichever suits it."""
        suits = self.lanes > 0 and ALIKE * ring.capacity >= self._largest
        if ring.lane is not None and not suits:
            self._free(ring)
            ring.move_out()
        elif ring.lane is None and suits and (lane := self._vacant()) is not None:
            self._owners[lane] = ref(ring)
            if ring.unused:  # nothing need be cleared
                ring.start(self._next[lane], self._refreshed[lane])
                ring.move_in(lane)
            else:
                ring.move_in(lane)
                relink(ring.state)

    def _fit(self) -> None:
        """Have the lanes and buckets that the leaves need."""
        self._rings = [known for known in self._rings if known() is not None]
        rings = [ring for known in self._rings if (ring := known()) is not None]
        slots = [ring.capacity for ring in rings if ring.leaf]
        alike = sum(ALIKE * capacity >= max(slots) for capacity in slots)
        lanes = 1 << (alike + min(alike, self._stairs) - 1).bit_length()
        if max(slots) < LEAST or alike < 2 or lanes > LINE // 4:
            lanes = 0
        buckets = SPACE * max(slots) if lanes else 0
        if (lanes, buckets) == (self.lanes, self.buckets):
            return
        self.lanes, self.buckets, self._largest = lanes, buckets, max(slots)
        self._heads = self._allocate()
        self._owners = [None] * lanes
        self._next, self._refreshed = [1] * lanes, [1] * lanes
        housed = [ring for ring in rings if ring.lane is not None]
        for ring in housed:
            ring.lane = None
        for ring in sorted(rings, key=lambda ring: not ring.leaf):  # leaves come first
            self.settle(ring)
        for ring in housed:
            if ring.lane is None:
                ring.move_out()

    def _vacant(self) -> int | None:
        """A lane that no ring has."""
        if None in self._owners:
            return self._owners.index(None)
        for lane, owner in enumerate(self._owners):
            if owner is not None and owner() is None:  # it was dropped halfway, in a change that failed
                self._heads[lane :: self.lanes] = 0
                self._next[lane], self._refreshed[lane] = 1, 1
                return lane
        return None

    def _free(self, ring: Ring) -> None:
        lane = ring.lane
        assert lane is not None
        self._owners[lane], self._next[lane], self._refreshed[lane] = None, ring.tail, ring.refreshed

    def _allocate(self) -> NDArray[np.int32]:
        """Heads that begin with a cache line; they are 0, which is below every id that a composite has."""
        places = self.buckets * self.lanes
        memory = np.zeros(places + LINE // 4, np.int32)
        start = -memory.ctypes.data % LINE // 4
        return memory[start : start + places]
