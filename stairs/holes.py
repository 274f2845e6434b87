"""The holes of a STAIR that is not complete."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stairs.hole_kernels import DEMOTED, FILLED, HOLE, classify, enter, expire, rehash, settle
from stairs.ring import Ring, power_of_two

STEPS = 16_384
"""Rows that one call of ``settle`` walks at the most: a few microseconds' work."""

Keys = NDArray[np.int64]


class Holes:
    """Which keys are filled, judged by the *carrying leaf*: a stream's rows under the part of the key it carries.

    A key never touched is a hole while the leaf has a live row with it older than ``created``. Two ends close in on
    these rows: expiry from the oldest, and ``settle`` from the newest. When they meet, no hole is left.
    """

    def __init__(self, leaf: Ring, created: int) -> None:
        self.leaf = leaf
        self.created = created
        self.cursor = created - 1
        self.rows = created - leaf.low
        self.demoted = 0
        self.filled = 0
        # Room for every key there is, which costs nothing until it is used: a larger map later would delay a batch.
        self._map = self._allocate(power_of_two(self.rows * 5 // 4 + 1024))

    @staticmethod
    def _allocate(size: int) -> tuple[Keys, NDArray[np.uint8], Keys]:
        return np.empty(size, np.int64), np.zeros(size, np.uint8), np.zeros(1, np.int64)

    @property
    def done(self) -> bool:
        """Whether no hole can be left."""
        return self.demoted == 0 and self.passed

    @property
    def passed(self) -> bool:
        """Whether both ends have met: only demoted keys can still be holes."""
        return self.cursor < self.leaf.low

    @property
    def fraction(self) -> float:
        """The share of the rows from before ``created`` that both ends have passed."""
        return 1.0 - max(0, self.cursor + 1 - self.leaf.low) / max(1, self.rows)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._map)

    def _reserve(self, n: int) -> None:
        """Keep the map at most four fifths full. Keys that would be filled without being in it are left behind."""
        wanted = (int(self._map[2][0]) + n) * 5 // 4
        if wanted > len(self._map[0]):
            least = HOLE if self.created <= self.leaf.low else FILLED
            kept = int(np.count_nonzero(self._map[1] >= least))
            grown = self._allocate(power_of_two(2 * (kept + n) * 5 // 4))
            rehash(self._map, grown, least)
            self._map = grown

    def filled_of(self, keys: Keys) -> NDArray[np.uint8]:
        """1 for each key that is filled, 0 for each hole."""
        self._reserve(len(keys))
        flags = np.empty(len(keys), np.uint8)
        classify(self._map, self.leaf.state, self.created, keys, 0, flags, keys[:0])
        return flags

    def count(self, keys: Keys) -> int:
        """How many of the keys are holes, and nothing is entered for having been asked for."""
        self._reserve(len(keys))
        copied, flags = (
            (self._map[0].copy(), self._map[1].copy(), self._map[2].copy()),
            np.empty(len(keys), np.uint8),
        )
        classify(copied, self.leaf.state, self.created, keys, 0, flags, keys[:0])
        return int(np.count_nonzero(flags == 0))

    def demand(self, keys: Keys) -> Keys:
        """The holes among the keys, once each. They count as filled from now on: the caller fills them."""
        self._reserve(len(keys))
        holes = np.empty(len(keys), np.int64)
        n = classify(self._map, self.leaf.state, self.created, keys, 1, np.empty(len(keys), np.uint8), holes)
        return self._taken(holes[:n])

    def expire(self, keys: Keys) -> Keys:
        """The known holes among the keys of rows that just died, to be filled: inserts were dropped for them.

        A key never touched since the STAIR was made lost nothing, so it needs no filling.
        """
        holes = np.empty(len(keys), np.int64)
        return self._taken(holes[: expire(self._map, self.leaf.state, keys, holes)])

    def settle(self, budget: int) -> Keys:
        """Up to ``budget`` holes, those of the newest rows first, to be filled; passes over what is filled."""
        self._reserve(budget)
        holes, listed = np.empty(budget, np.int64), np.zeros(1, np.int64)
        self.cursor = settle(self._map, self.leaf.state, self.cursor, STEPS, budget, holes, listed)
        return self._taken(holes[: int(listed[0])])

    def _taken(self, holes: Keys) -> Keys:
        self.filled += len(holes)
        if self.demoted:
            self.demoted = int(np.count_nonzero(self._map[1] == DEMOTED))
        return holes

    def demote(self, keys: Keys) -> None:
        """Make these keys holes until somebody asks for them."""
        self._reserve(len(keys))
        enter(self._map, keys, DEMOTED)
        self.demoted = int(np.count_nonzero(self._map[1] == DEMOTED))

    def reopen(self, rows: Keys) -> None:
        """Rows of the leaf that could not be found can be again: the cursor goes back to those from before."""
        self.cursor = max(self.cursor, int(rows[rows < self.created].max(initial=-1)))

    def known(self) -> Keys:
        """The keys that are known to be holes."""
        return self._map[0][self._map[1] >= HOLE]

    def counts(self) -> tuple[int, int]:
        """How many keys are known to be filled, and how many to be holes."""
        states = self._map[1]
        return int(np.count_nonzero(states == FILLED)), int(np.count_nonzero(states >= HOLE))
