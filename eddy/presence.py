"""Which values a STAIR has live entries for: what an entry waits for is there, or is not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eddy.blacklist import Blacklist, Rows
from stairs import Stair
from stairs.pair_kernels import BLOCK, MOST, find_pairs
from stairs.presence_kernels import enter_bits, enter_parts, find_any, find_bits, find_keys, find_parts
from stairs.recipe_kernels import read_by
from stairs.ring import power_of_two
from stairs.stair import REFRESH

Marks = NDArray[np.int32]
Moments = NDArray[np.int32]
Flags = NDArray[np.uint8]

Parts = Sequence[tuple[int, Stair]]
"""For each attribute a component that carries it, and its leaf under that attribute."""

Recipe = NDArray[np.int64]
"""The same for kernels: see `stairs.recipe_kernels`."""

LEAST = 256
"""Bytes of a filter."""


def recipe_of(parts: Parts) -> Recipe:
    """By which kernels read keys."""
    return np.array([(component, leaf.address) for component, leaf in parts], np.int64).reshape(-1, 2)


class Presence(ABC):
    """Looks in a STAIR for what entries want, whose keys are made by a recipe of their own."""

    nbytes = 0

    def __init__(self, stair: Stair, wanted: Parts) -> None:
        self.stair = stair
        self.wanted = recipe_of(wanted)
        self._own = recipe_of(())
        """How entries of the STAIR get the same key; by an empty recipe it is the key they have."""

    @property
    def sure(self) -> bool:
        """Whether what is not found is not there: a STAIR with holes is no evidence of absence."""
        return self.stair.complete

    def forget(self) -> None:
        """Give memory back: nothing is looked for until further notice."""
        return

    @abstractmethod
    def find(self, rows: Rows, marks: Marks, moments: Moments, flags: Flags, lacking: int) -> int:
        """Of the entries with flag 1, flag as lacking those for which nothing is live at the marks of that moment."""

    def wake(self, blacklist: Blacklist, revealed: NDArray[np.int32], marks: NDArray[np.int32]) -> Rows:
        """What waits for something that this batch has put there; ``revealed`` are older rows that waited till now."""
        found = blacklist.wake_for(self.stair, self._own, marks)
        if len(revealed):
            keys = np.empty(len(revealed), np.int64)
            read_by(recipe_of([(0, self.stair)]), revealed.reshape(-1, 1), keys)
            found = np.concatenate((found, blacklist.wake(keys, marks)))
        return found


class Whole(Presence):
    """By the key of the STAIR itself."""

    def find(self, rows: Rows, marks: Marks, moments: Moments, flags: Flags, lacking: int) -> int:
        stair = self.stair
        return find_keys(stair.state, stair.streams, self.wanted, rows, marks, moments, flags, lacking)


class Paired(Presence):
    """By a part of the key of a STAIR of two streams, which is looked for in their leaves: no memory is needed.

    Where very many rows have the attributes something is taken to be there.
    """

    def __init__(self, stair: Stair, wanted: Parts, parts: Parts, leaves: PairLeaves) -> None:
        super().__init__(stair, wanted)
        self._own = recipe_of(parts)
        one, other, links = leaves
        streams = np.array([one[0], other[0]], np.int64)
        sides = (
            np.array([(leaf.address, line) for leaf, line in side], np.int64) for _, side in (one, other)
        )
        matched = np.array([(a.address, b.address) for a, b in links], np.int64)
        self._pair = (self.wanted, *(side.reshape(-1, 2) for side in sides), matched.reshape(-1, 2), streams)
        shapes = (BLOCK, len(wanted)), (BLOCK, MOST + 1), (BLOCK, MOST + 1)
        self._room = (*(np.empty(shape, np.int64) for shape in shapes), np.empty((3, BLOCK), np.int32))

    def find(self, rows: Rows, marks: Marks, moments: Moments, flags: Flags, lacking: int) -> int:
        return find_pairs(self._pair, rows, marks, moments, self._room, flags, lacking)


PairLeaves = tuple[
    tuple[int, list[tuple[Stair, int]]], tuple[int, list[tuple[Stair, int]]], list[tuple[Stair, Stair]]
]
"""For each of two streams its number, and its leaves under the attributes that it carries, each with the place of the
attribute; and the leaves of both under the attributes in which they match."""


class ByPart(Presence):
    """By a part of the key, which entries get from the leaves of their components."""

    def __init__(self, stair: Stair, wanted: Parts, parts: Parts) -> None:
        super().__init__(stair, wanted)
        self._own = recipe_of(parts)
        self.forget()


class Parted(ByPart):
    """By a directory of all entries, brought up to date when it is asked."""

    def __init__(self, stair: Stair, wanted: Parts, parts: Parts) -> None:
        super().__init__(stair, wanted, parts)
        self._seen = self._built = 0

    def forget(self) -> None:
        self._directory: tuple[NDArray[np.int32], ...] = ()

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return sum(array.nbytes for array in self._directory)

    def find(self, rows: Rows, marks: Marks, moments: Moments, flags: Flags, lacking: int) -> int:
        self._catch_up()
        stair, directory = self.stair, self._directory
        return find_parts(
            stair.state, stair.streams, directory, self.wanted, rows, marks, moments, flags, lacking
        )

    def _catch_up(self) -> None:
        stair = self.stair
        low, tail, size = stair.low, stair.tail, stair.capacity
        known = len(self._directory[0]) if self._directory else 0
        if size != known or tail - self._built > REFRESH:
            heads = np.full(size, np.int64(low - 1).astype(np.int32), np.int32)
            self._directory = heads, np.empty(size, np.int32), np.empty(size, np.int32)
            self._seen, self._built = low, tail
        start = max(self._seen, low)
        if start < tail:
            enter_parts(stair.state, start, tail, self._own, self._directory)
        self._seen = tail


class Filtered(ByPart):
    """By a Bloom filter, which may say that something is there which is not.

    Entries that have died stay in it until it is made anew, when half as many have come as it was made of.
    """

    def __init__(self, stair: Stair, wanted: Parts, parts: Parts) -> None:
        super().__init__(stair, wanted, parts)
        self._seen = -1

    def forget(self) -> None:
        self._bits = np.zeros(LEAST, np.uint8)
        self._room = -1

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return self._bits.nbytes

    def find(self, rows: Rows, marks: Marks, moments: Moments, flags: Flags, lacking: int) -> int:
        if len(rows) == 0:
            return 0
        self._catch_up(marks[int(moments.min())])
        return find_bits(self._bits, self.wanted, rows, flags, lacking)

    def _catch_up(self, marks: NDArray[np.int32]) -> None:
        low, tail = self.stair.low, self.stair.tail
        start = max(self._seen, low)
        if self._room < 0 or tail - start > self._room:
            self._bits = np.zeros(max(LEAST, power_of_two(2 * (tail - low))), np.uint8)
            entered = self._enter(low, marks)
            fitting = max(LEAST, power_of_two(2 * (entered + entered // 2)))
            if fitting < len(self._bits):  # most are dead
                self._bits = np.zeros(fitting, np.uint8)
                self._enter(low, marks)
            self._room = max(LEAST // 4, entered // 2)
        elif start < tail:
            self._room -= self._enter(start, marks)
        self._seen = tail

    def _enter(self, start: int, marks: NDArray[np.int32]) -> int:
        stair = self.stair
        return enter_bits(stair.state, stair.streams, start, stair.tail, self._own, marks, self._bits)


class Anything(Presence):
    """Whether there is any entry at all; all keys are 0."""

    def __init__(self, stair: Stair) -> None:
        super().__init__(stair, ())
        self._witness = -1
        self._seen = -1

    def find(self, rows: Rows, marks: Marks, moments: Moments, flags: Flags, lacking: int) -> int:
        # Marks never go down: what is live at the first moment is all that can be.
        if len(rows) == 0 or self._live(marks[int(moments.min())]):
            return 0
        failed = int(np.count_nonzero(flags == 1))
        flags[flags == 1] = lacking
        return failed

    def _live(self, marks: NDArray[np.int32]) -> bool:
        stair = self.stair
        state, streams, low = stair.state, stair.streams, stair.low
        seen = self._witness
        if seen < low or find_any(state, streams, marks, seen, seen) < seen:
            # A composite that was not live is never so again, but a row may be linked late.
            first = low if stair.leaf else max(low, self._seen)
            found = find_any(state, streams, marks, first, stair.tail - 1)
            self._witness = found if found >= first else -1
            self._seen = -1 if self._witness >= 0 else stair.base
        return self._witness >= low

    def wake(self, blacklist: Blacklist, revealed: NDArray[np.int32], marks: NDArray[np.int32]) -> Rows:
        stair = self.stair
        new = len(stair) > 0
        if new and stair.leaf:  # rows that are in no chain have no event
            new = bool((stair.state[2][: len(stair)] >= 0).any())
        if new or len(revealed):
            return blacklist.wake_all(marks)
        return np.empty((0, blacklist.components), np.int32)
