"""A stream of an engine that has shards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eddy.values.types import Array

if TYPE_CHECKING:
    from eddy.threads.crew import Crew


class CrewStream:
    """One stream: what results show of its live rows; their keys are with the shards."""

    def __init__(self, crew: Crew, number: int, name: str, classes: tuple[int, ...], payload: Any) -> None:
        self.crew, self.number, self.name, self.classes, self.payload = crew, number, name, classes, payload

    @property
    def low(self) -> int:
        """The first row whose keys are with the shards for sure: the payload has rows that left their window too."""
        return int(self.crew.state.row_numbers.lows[self.number])

    @property
    def tail(self) -> int:
        tail: int = self.payload.next_row
        return tail

    def stored_keys(self, c: int, first: int, n: int) -> Array:
        """The keys that n live rows from ``first`` on have in a key class, where they are with a shard."""
        out = np.zeros(n, np.int64)
        for state, low, count, places, here in self._held(first, n):
            out[places] = state.stored_keys(c, low, count)[here]
        return out

    def kept(self, first: int, n: int) -> NDArray[np.uint8]:
        """1 for each of n live rows from ``first`` on that can match, 0 for those ruled out."""
        out = np.zeros(n, np.uint8)
        for state, low, count, places, here in self._held(first, n):
            out[places] = state.kept(low, count)[here]
        return out

    def _held(self, first: int, n: int) -> Iterator[tuple[Any, int, int, Array, Array]]:
        """Each shard's rows: its stream, from which row on and how many, and where some of them are in first..n."""
        for shard in self.crew.shards:
            state = shard.state.streams[self.number]
            low, count = state.base.low, state.base.tail - state.base.low
            places = shard.numbers(self.number, np.arange(low, low + count)) - first
            here = np.flatnonzero((places >= 0) & (places < n))
            yield state, low, count, places[here], here

    @property
    def nbytes(self) -> int:
        own: int = self.payload.nbytes
        return own + sum(shard.state.streams[self.number].nbytes for shard in self.crew.shards)
