"""Which values a STAIR has live entries for: what a row waits for is there, or is not."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from stairs import Stair
from stairs.holes import Keys
from stairs.key_kernels import mix_into, read_component_keys
from stairs.presence_kernels import enter_bits, enter_parts, find_any, find_bits, find_keys, find_parts
from stairs.ring import power_of_two
from stairs.stair import REFRESH
from stairs.waiting_kernels import gather_keys

Parts = list[tuple[int, Stair]]
"""For each attribute a component that carries it, and its leaf under that attribute."""


LEAST = 256
"""Bytes of a filter."""


def keys_of(parts: Parts, rows: NDArray[np.int32]) -> Keys:
    """The keys that rows, a column for each component, have in some attributes together; 0 if there are none."""
    keys = np.zeros(len(rows), np.int64)
    for i, (component, leaf) in enumerate(parts):
        part = keys if i == 0 else np.empty(len(rows), np.int64)
        gather_keys(leaf.state, np.ascontiguousarray(rows[:, component]), part)
        if i > 0:
            mix_into(keys, part)
    return keys


def part_keys(stair: Stair, parts: Parts, start: int, stop: int) -> Keys:
    """The same for the entries start..stop of a STAIR."""
    keys = np.zeros(stop - start, np.int64)
    for i, (component, leaf) in enumerate(parts):
        part = keys if i == 0 else np.empty(stop - start, np.int64)
        read_component_keys(stair.state, start, component, leaf.state, part)
        if i > 0:
            mix_into(keys, part)
    return keys


class Presence(ABC):
    """Looks for live entries of a STAIR."""

    nbytes = 0

    def __init__(self, stair: Stair) -> None:
        self.stair = stair
        self._read: tuple[int, int, Keys] = (0, 0, np.empty(0, np.int64))
        """Where entries begin and end whose keys were read last, and these."""

    @property
    def sure(self) -> bool:
        """Whether what is not found is not there: a STAIR with holes is no evidence of absence."""
        return self.stair.complete

    def forget(self) -> None:
        """Give memory back: nothing is looked for until further notice."""
        self._read = (0, 0, np.empty(0, np.int64))

    @abstractmethod
    def find(
        self,
        keys: Keys,
        marks: NDArray[np.int32],
        moments: NDArray[np.int32],
        flags: NDArray[np.uint8],
    ) -> None:
        """Clear the flags of the keys that no entry has which is live at the marks of that moment."""

    @abstractmethod
    def fresh(self, revealed: NDArray[np.int32]) -> Keys:
        """The keys of what this batch has put there; ``revealed`` are older rows of a leaf that waited till now."""

    def _arrived(self) -> NDArray[np.int64]:
        """The rows of this batch in a leaf, those that are in its chains."""
        base, tail = self.stair.base, self.stair.tail
        return base + np.flatnonzero(self.stair.state[2][: tail - base] >= 0)


class Whole(Presence):
    """By the key of the STAIR itself."""

    def find(self, keys, marks, moments, flags):  # type: ignore[no-untyped-def]
        find_keys(self.stair.state, self.stair.streams, keys, marks, moments, flags)

    def fresh(self, revealed: NDArray[np.int32]) -> Keys:
        stair = self.stair
        if not stair.leaf:
            return stair.keys(stair.base, stair.tail)
        rows = np.concatenate((self._arrived().astype(np.int32), revealed))
        return keys_of([(0, stair)], rows.reshape(-1, 1))


class ByPart(Presence):
    """By a part of the key, which entries get from the leaves of their components."""

    def __init__(self, stair: Stair, parts: Parts) -> None:
        super().__init__(stair)
        self.parts = parts
        self.forget()

    def fresh(self, revealed: NDArray[np.int32]) -> Keys:
        return self._keys(self.stair.base, self.stair.tail)

    def _keys(self, start: int, stop: int) -> Keys:
        """The parts of the entries start..stop; what was read last is remembered, since it is asked for twice."""
        first, last, keys = self._read
        if not (first <= start and stop <= last):
            keys, first = part_keys(self.stair, self.parts, start, stop), start
            self._read = start, stop, keys
        return keys[start - first : stop - first]


class Parted(ByPart):
    """By a directory of all entries, brought up to date when it is asked."""

    def __init__(self, stair: Stair, parts: Parts) -> None:
        super().__init__(stair, parts)
        self._seen = self._built = 0

    def forget(self) -> None:
        super().forget()
        self._directory: tuple[NDArray[np.int32], ...] = ()

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return sum(array.nbytes for array in self._directory)

    def find(self, keys, marks, moments, flags):  # type: ignore[no-untyped-def]
        self._catch_up()
        stair = self.stair
        find_parts(stair.state, stair.streams, self._directory, keys, marks, moments, flags)

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
            enter_parts(stair.state, start, self._keys(start, tail), self._directory)
        self._seen = tail


class Filtered(ByPart):
    """By a Bloom filter, which may say that something is there which is not.

    Entries that have died stay in it until it is made anew, when half as many have come as it was made of.
    """

    def __init__(self, stair: Stair, parts: Parts) -> None:
        super().__init__(stair, parts)
        self._seen = -1

    def forget(self) -> None:
        super().forget()
        self._bits = np.zeros(LEAST, np.uint8)
        self._room = -1

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return self._bits.nbytes

    def find(self, keys, marks, moments, flags):  # type: ignore[no-untyped-def]
        if len(keys):
            self._catch_up(marks, int(moments.min()))
            find_bits(self._bits, keys, flags)

    def _catch_up(self, marks: NDArray[np.int32], moment: int) -> None:
        stair, low, tail = self.stair, self.stair.low, self.stair.tail
        start = max(self._seen, low)
        if self._room < 0 or tail - start > self._room:
            keys = part_keys(stair, self.parts, low, tail)
            self._bits = np.zeros(max(LEAST, power_of_two(2 * len(keys))), np.uint8)
            entered = enter_bits(stair.state, stair.streams, low, keys, marks, moment, self._bits)
            fitting = max(LEAST, power_of_two(2 * (entered + entered // 2)))
            if fitting < len(self._bits):  # most are dead
                self._bits = np.zeros(fitting, np.uint8)
                enter_bits(stair.state, stair.streams, low, keys, marks, moment, self._bits)
            self._room = max(LEAST // 4, entered // 2)
        elif start < tail:
            keys = self._keys(start, tail)
            self._room -= enter_bits(stair.state, stair.streams, start, keys, marks, moment, self._bits)
        self._seen = tail


class Anything(Presence):
    """Whether there is any entry at all; all keys are 0."""

    def __init__(self, stair: Stair) -> None:
        super().__init__(stair)
        self._witness = -1
        self._seen = -1

    def find(self, keys, marks, moments, flags):  # type: ignore[no-untyped-def]
        if len(keys) == 0:
            return
        # Marks never go down: what is live at the first moment is all that can be.
        if not self._live(marks, int(moments.min())):
            flags[:] = 0

    def _live(self, marks: NDArray[np.int32], moment: int) -> bool:
        stair = self.stair
        state, streams, low = stair.state, stair.streams, stair.low
        seen = self._witness
        if seen < low or find_any(state, streams, marks, moment, seen, seen) < seen:
            # A composite that was not live is never so again, but a row may be linked late.
            first = low if stair.leaf else max(low, self._seen)
            found = find_any(state, streams, marks, moment, first, stair.tail - 1)
            self._witness = found if found >= first else -1
            self._seen = -1 if self._witness >= 0 else stair.base
        return self._witness >= low

    def fresh(self, revealed: NDArray[np.int32]) -> Keys:
        stair = self.stair
        new = len(revealed) + (len(self._arrived()) if stair.leaf else stair.tail - stair.base)
        return np.zeros(min(1, new), np.int64)
