"""Sets of rows, one of each stream of a core, and the queries that want rows of all of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eddy.several.sets import Sets, Slots
from eddy.several.split import NOBODY, Wanted

MOST = 1 << 62
"""Beyond this lines have no number of their own in 64 bits."""
TABLE = 1 << 13
"""Up to so many lines that can be are looked up in a table, and more by search."""
KNOWN = 1 << 20
"""Queries of all lines together that are remembered."""


class Lines:
    """The lines that results have had so far. A line is a set of queries for each stream; each has a key, one number.

    The key of a line has a digit for each set, its number less one: a result has no row that nobody wants. A digit has
    room for as many sets as there are, and for more up to a power of two.
    """

    def __init__(self, sets: Sequence[Sets]) -> None:
        """``sets``: those of each stream."""
        self._sets = sets
        self.forget()

    def forget(self) -> None:
        """Sets have other numbers now, or their digits no room."""
        self._sizes = [1 << max(0, len(sets) - 2).bit_length() for sets in self._sets]
        total = 1
        for size in self._sizes:
            total *= size
        self._fits = total < MOST
        self._table: Any = np.full(total, -1, np.int32) if total <= TABLE else None
        self._keys, self._at = NOBODY, NOBODY
        self._wanted = Wanted(NOBODY, NOBODY, NOBODY)

    def of(self, numbers: Sequence[Slots]) -> tuple[Slots, Wanted]:
        """Results whose rows have these sets, stream by stream: of what kind each is, and who wants each kind."""
        full = len(self._wanted.queries) + 8 * len(self._wanted.counts) > KNOWN
        if full or any(len(sets) - 1 > size for sets, size in zip(self._sets, self._sizes, strict=True)):
            self.forget()
        if not self._fits:
            return self._anew(numbers)
        keys = numbers[0] - 1
        for size, more in zip(self._sizes[1:], numbers[1:], strict=True):
            if size > 1:
                keys = keys * size + (more - 1)
        if self._table is not None:
            kinds = self._table[keys]
            unknown = kinds < 0
            if unknown.any():
                new = np.unique(keys[unknown])
                self._table[new] = self._learn(self._lines(new))
                kinds = self._table[keys]
            return kinds, self._wanted
        some, inverse = np.unique(keys, return_inverse=True)
        new = some[~np.isin(some, self._keys, assume_unique=True)]
        if len(new):
            known, at = np.concatenate((self._keys, new)), self._learn(self._lines(new))
            order = known.argsort()
            self._keys, self._at = known[order], np.concatenate((self._at, at))[order]
        return self._at[self._keys.searchsorted(some)][inverse.reshape(-1)], self._wanted

    def _anew(self, numbers: Sequence[Slots]) -> tuple[Slots, Wanted]:
        """The same where keys have no room in 64 bits: nothing is remembered."""
        _, inverse = np.unique(numbers[0], return_inverse=True)
        firsts = NOBODY
        for more in numbers[1:]:
            _, digits = np.unique(more, return_inverse=True)
            keys = inverse.reshape(-1) * len(more) + digits.reshape(-1)
            _, inverse = np.unique(keys, return_inverse=True)
        _, firsts, kinds = np.unique(inverse, return_index=True, return_inverse=True)
        self._wanted = Wanted(NOBODY, NOBODY, NOBODY)
        self._learn(np.stack([found[firsts] for found in numbers], axis=1))
        return kinds.reshape(-1), self._wanted

    def _lines(self, keys: Slots) -> Slots:
        """The sets of the lines that have these keys: a column for each stream."""
        columns = []
        for size in reversed(self._sizes):
            keys, digit = np.divmod(keys, size)
            columns.append(digit + 1)
        return np.stack(columns[::-1], axis=1)

    def _learn(self, lines: Slots) -> Slots:
        """Note who wants the results of some lines; returns the kinds, which are new."""
        members = [self._intersection(line) for line in lines.tolist()]
        counts, known = np.array([len(some) for some in members], np.int64), self._wanted
        self._wanted = Wanted(
            np.concatenate((known.queries, *members)),
            np.concatenate((known.starts, len(known.queries) + np.cumsum(counts) - counts)),
            np.concatenate((known.counts, counts)),
        )
        return np.arange(len(known.counts), len(known.counts) + len(counts))

    def _intersection(self, line: Sequence[int]) -> Slots:
        """The queries that want rows of all of these sets, one of each stream."""
        found = self._sets[0].members[line[0]]
        for sets, number in zip(self._sets[1:], line[1:], strict=True):
            found = np.intersect1d(found, sets.members[number], assume_unique=True)
        return found

    @property
    def nbytes(self) -> int:
        """Bytes of all that is remembered."""
        known = self._wanted
        arrays = (known.queries, known.starts, known.counts, self._keys, self._at)
        return sum(array.nbytes for array in arrays) + (0 if self._table is None else self._table.nbytes)
