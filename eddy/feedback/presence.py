"""Which values a STAIR has live entries for: what an entry waits for is there, or is not.

Here is what kernels are told of it (`stairs.feedback.visit_layout`), and what is kept beside a STAIR for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stairs import Stair
from stairs.feedback import visit_layout as layout
from stairs.feedback.pair_kernels import BLOCK, MOST
from stairs.feedback.sieve_kernels import PER_WORD
from stairs.ring import power_of_two
from stairs.stair import REFRESH

Parts = Sequence[tuple[int, Stair]]
"""For each attribute a component that carries it, and its leaf under that attribute."""

Recipe = NDArray[Any]
"""These parts for kernels: see `stairs.feedback.recipe_kernels`."""

LEAST = 32
"""Words of an array of a sieve."""


def recipe_of(parts: Parts) -> Recipe:
    """By which kernels read keys."""
    return np.array([(component, leaf.address) for component, leaf in parts], layout.RECIPE)


class Presence:
    """Looks in a STAIR for what entries want, whose keys are made by a recipe of their own."""

    by: int
    """How, for kernels."""
    nbytes = 0
    text = "anything"
    """What is wanted, where that is no key."""

    def __init__(self, stair: Stair, wanted: Parts = (), parts: Parts = ()) -> None:
        self.stair = stair
        self.wanted = recipe_of(wanted)
        self._own = recipe_of(parts)
        """How entries of the STAIR get the same key; by an empty recipe it is the key they have."""

    def describe(self, edge: Any) -> None:
        """Tell kernels about it, in what they know of an edge (EDGE), and go on with that from now on."""
        self._edge = edge
        edge.by = self.by
        edge.ring, edge.ring_streams = self.stair.address, self.stair.streams.ctypes.data
        edge.wanted, edge.wanted_count = self.wanted.ctypes.data, len(self.wanted)
        edge.own, edge.own_count = self._own.ctypes.data, len(self._own)
        edge.seen = edge.witness = -1

    @property
    def sure(self) -> bool:
        """Whether what is not found is not there: a STAIR with holes is no evidence of absence."""
        return self.stair.complete

    def forget(self) -> None:
        """Give memory back: nothing is looked for until further notice."""
        return

    def renew(self) -> None:
        """Make anew what is kept beside the STAIR, which can take no more."""
        return


class Whole(Presence):
    """By the key of the STAIR itself."""

    by = layout.WHOLE


class Anything(Presence):
    """Whether there is any entry at all; all keys are 0."""

    by = layout.ANYTHING


class Parted(Presence):
    """By a part of the key, in a directory of all entries."""

    by = layout.PARTED

    def __init__(self, stair: Stair, wanted: Parts, parts: Parts) -> None:
        super().__init__(stair, wanted, parts)
        self._directory = np.empty((3, 0), np.int32)

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return self._directory.nbytes

    def forget(self) -> None:
        self._hold(np.empty((3, 0), np.int32))

    def renew(self) -> None:
        """As many places as the STAIR has, since entries are known by theirs."""
        directory = np.empty((3, self.stair.capacity), np.int32)
        directory[0] = np.int64(self.stair.low - 1).astype(np.int32)
        self._hold(directory)
        self._edge.seen, self._edge.limit = self.stair.low, self.stair.tail + REFRESH

    def _hold(self, directory: NDArray[np.int32]) -> None:
        self._directory = directory
        at, size = directory.ctypes.data, directory.shape[1]
        edge = self._edge
        edge.heads, edge.nexts, edge.tags = at, at + 4 * size, at + 8 * size
        self._edge.size = size


class Filtered(Presence):
    """By a part of the key, in a sieve: it may say that something is there which is not."""

    by = layout.FILTERED

    def __init__(self, stair: Stair, wanted: Parts, parts: Parts) -> None:
        super().__init__(stair, wanted, parts)
        self._words = np.empty(0, np.int64)
        self._closed = np.zeros(stair.components, np.int64)

    def describe(self, edge: Any) -> None:
        super().describe(edge)
        edge.closed = self._closed.ctypes.data

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return self._words.nbytes

    def forget(self) -> None:
        self._hold(np.empty(0, np.int64))

    def renew(self) -> None:
        """Room for as many entries as there are. They count as newer ones, until the next batch begins."""
        size = max(LEAST, power_of_two(self.stair.tail - self.stair.low) // PER_WORD)
        self._hold(np.zeros(size, np.int64))
        self._closed[:] = 0  # there are no older ones
        self._edge.seen = self.stair.low
        self._edge.limit = self.stair.tail + PER_WORD * size

    def _hold(self, words: NDArray[np.int64]) -> None:
        self._words = words
        self._edge.words, self._edge.size = words.ctypes.data, len(words)


class Paired(Filtered):
    """By a part of the key of a STAIR of two streams: what may be there, by a sieve, is looked for in their leaves.

    Where very many rows have the attributes something is taken to be there.
    """

    by = layout.PAIRED

    def __init__(self, stair: Stair, wanted: Parts, parts: Parts, leaves: PairLeaves) -> None:
        super().__init__(stair, wanted, parts)
        one, other, links = leaves
        self._streams = np.array([one[0], other[0]], np.int64)
        self._one, self._other = (
            np.array([(leaf.address, line) for leaf, line in side], np.int64).reshape(-1, 2)
            for _, side in (one, other)
        )
        self._links = np.array([(a.address, b.address) for a, b in links], np.int64).reshape(-1, 2)
        shapes = (BLOCK, len(wanted)), (BLOCK, MOST + 1), (BLOCK, MOST + 1)
        self._room = [np.empty(shape, np.int64) for shape in shapes]
        self._walk = np.empty((3, BLOCK), np.int32)

    def describe(self, edge: Any) -> None:
        super().describe(edge)
        edge.one, edge.one_count = self._one.ctypes.data, len(self._one)
        edge.other, edge.other_count = self._other.ctypes.data, len(self._other)
        edge.links, edge.link_count = self._links.ctypes.data, len(self._links)
        edge.pair = self._streams.ctypes.data
        edge.pair_wanted, edge.pair_ones, edge.pair_others = (array.ctypes.data for array in self._room)
        edge.pair_walk = self._walk.ctypes.data


PairLeaves = tuple[
    tuple[int, list[tuple[Stair, int]]], tuple[int, list[tuple[Stair, int]]], list[tuple[Stair, Stair]]
]
"""For each of two streams its number, and its leaves under the attributes that it carries, each with the place of the
attribute; and the leaves of both under the attributes in which they match."""
