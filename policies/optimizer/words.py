"""Sets of streams, and of key classes, as rows of 64-bit words: for any number of streams.

In Python a set of streams is an int, bit i for stream i, of any number of bits. Where there are few streams kernels
take it as one number, which is also its place in a table. Of more (see `estimate.EXACT`) there are no tables, and
kernels take rows of words. What they ask most often of two sets is which key classes these share: so each set comes
with the classes that it has a stream of, and those that it has several of, as words too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from policies.graph import Graph

BITS = 64
"""Of a word."""

Words = NDArray[np.int64]
Table = tuple[Words, Words, Words, NDArray[np.int64]]
"""Of each set its streams, the classes that it has a stream of, those that it has several of, and how many streams."""


@frozen(eq=False)
class Layout:
    """How the sets of a query are written."""

    graph: Graph
    members: NDArray[np.float32]
    """For each stream and key class 1 where the stream has a column of it."""
    thetas: Words
    ranges: NDArray[np.uint8]
    """Which of these a sorted index serves."""

    def words(self, masks: Sequence[int]) -> Words:
        """Sets of streams."""
        return as_words(masks, len(self.graph.names))

    def bits(self, sets: Words) -> NDArray[np.uint8]:
        """The same, a number for each stream."""
        return np.unpackbits(sets.view(np.uint8), axis=1, count=len(self.graph.names), bitorder="little")

    def table(self, sets: Words) -> Table:
        """Sets of streams with all that is to be known of them."""
        bits = self.bits(sets)
        inside = bits.astype(np.float32) @ self.members
        return sets, _packed(inside >= 1), _packed(inside >= 2), bits.sum(axis=1, dtype=np.int64)

    def unions(self, units: Sequence[int]) -> Table:
        """Of every set of units, which have no stream in common, numbered by the bits of the units."""
        size = 1 << len(units)
        one = self.table(self.words(units))
        streams, has, many = (np.zeros((size, part.shape[1]), np.int64) for part in one[:3])
        widths = np.zeros(size, np.int64)
        for i in range(len(units)):
            old, new = slice(0, 1 << i), slice(1 << i, 2 << i)
            streams[new] = streams[old] | one[0][i]
            many[new] = many[old] | one[2][i] | (has[old] & one[1][i])
            has[new] = has[old] | one[1][i]
            widths[new] = widths[old] + one[3][i]
        return streams, has, many, widths


@lru_cache(maxsize=64)
def layout_of(graph: Graph) -> Layout:
    """How sets of streams of a query are written."""
    place = {name: i for i, name in enumerate(graph.names)}
    members = np.zeros((len(place), len(graph.classes)), np.float32)
    for c, names in enumerate(graph.classes):
        members[[place[name] for name in names], c] = 1
    thetas = as_words([_mask(place, names) for names in graph.thetas], len(place))
    ranges = np.array([i in graph.ranges for i in range(len(graph.thetas))], np.uint8)
    return Layout(graph, members, thetas, ranges)


def as_words(masks: Sequence[int], bits: int) -> Words:
    """Ints of so many bits, the lowest bits in the first word."""
    words = max(1, -(-bits // BITS))
    size = words * BITS // 8
    text = b"".join([mask.to_bytes(size, "little") for mask in masks])
    return np.frombuffer(text, "<i8").astype(np.int64).reshape(len(masks), words)


def _mask(place: dict[str, int], names: Iterable[str]) -> int:
    return sum(1 << place[name] for name in names)


def _packed(flags: NDArray[np.bool_]) -> Words:
    """Rows of flags as words; where there are none, one word that is empty."""
    words = max(1, -(-flags.shape[1] // BITS))
    text = np.zeros((len(flags), words * BITS // 8), np.uint8)
    packed = np.packbits(flags, axis=1, bitorder="little")
    text[:, : packed.shape[1]] = packed
    return text.view("<i8").astype(np.int64)
