"""MIN and MAX of strings: the tree of each group holds ranks, the places of strings among all that are known.

A string that is new moves the ranks of those behind it, in all trees at once: the order of what a tree holds stays as
it is, so only its numbers change.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field

from eddy.aggregate.accumulators import COUNT, FIRST, Touches
from eddy.aggregate.extremes import Extreme
from eddy.aggregate.order_kernels import CHILD, FILL, KEY, UPPER, WEIGHT
from eddy.values.compute import to_datum
from eddy.values.types import STRING, Array, Column

FEW = 1024
"""So many strings are never worth a look at which of them are still needed."""


@define(eq=False)
class TextExtreme(Extreme):
    """MIN or MAX of strings, by code point. What it is given is text, and what it shows are ranks."""

    _texts: Array = field(init=False, repr=False, factory=lambda: np.empty(0, object))
    """All strings that are known, in order."""

    def step(self, touches: Touches, arguments: Sequence[Column]) -> Column:
        (argument,) = arguments
        text = to_datum(argument, STRING, False)
        coded = (text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text).dictionary_encode()
        given = np.array(coded.dictionary.to_pylist(), object)
        self._learn(given)
        ranks = np.searchsorted(self._texts, given).astype(np.int64)
        codes = pc.fill_null(coded.indices, 0).to_numpy(zero_copy_only=False)
        values = ranks[codes] if len(ranks) else np.zeros(len(codes), np.int64)
        return Extreme.step(self, touches, [Column(values, argument.valid)])

    def finish(self, ranks: Column) -> Column:
        """The strings of these ranks."""
        known = ranks.known
        texts = np.full(len(ranks), "", object)
        texts[known] = self._texts[ranks.values[known]]
        return Column(pa.array(texts.tolist(), pa.string()), ranks.valid)

    def trim(self) -> None:
        super().trim()
        if len(self._texts) > FEW:
            self._forget()

    @property
    def nbytes(self) -> int:
        return super().nbytes + self._texts.nbytes

    def _learn(self, given: Array) -> None:
        """Know these strings too."""
        fresh = np.setdiff1d(given, self._texts) if len(self._texts) else np.sort(given)
        if not len(fresh):
            return
        places = np.searchsorted(self._texts, fresh)
        self._renumber(
            np.arange(len(self._texts)) + np.searchsorted(places, np.arange(len(self._texts)), "right")
        )
        self._texts = np.insert(self._texts, places, fresh)

    def _entries(self) -> Array:
        """Which places of nodes hold values."""
        return np.arange(WEIGHT - KEY) < self._nodes[1:, FILL, None]

    def _renumber(self, ranks: Array) -> None:
        """The string of each rank has another one now."""
        if not len(ranks):
            return
        keys, here = self._nodes[1:, KEY:WEIGHT], self._entries()
        keys[here] = ranks[keys[here]]
        shown, some = self._state[:, FIRST : UPPER + 1], self._state[:, COUNT] > 0
        shown[some] = ranks[shown[some]]

    def _forget(self) -> None:
        """Let go of the strings that no tree names."""
        used = np.unique(self._nodes[1:, KEY:WEIGHT][self._entries()])
        if 2 * len(used) < len(self._texts):
            ranks = np.zeros(len(self._texts), np.int64)
            ranks[used] = np.arange(len(used))
            self._renumber(ranks)
            self._texts = self._texts[used]


assert CHILD - WEIGHT == WEIGHT - KEY, "a node has as many weights as values"
