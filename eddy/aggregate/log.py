"""The values of rows that are live, in the order of these, by ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from attrs import define, field

from eddy.aggregate.encoding import as_words, from_words
from eddy.values.types import Array, Column, ColumnType

SMALLEST = 64


@define(eq=False)
class Log:
    """Values of some types for each row, under ids that ascend.

    A row that goes stays until the next batch, for what was shown before it went is still asked for. Mostly
    rows are new, and come at the end; one with a smaller id is put in its place.
    """

    types: tuple[ColumnType, ...]
    _used: int = field(init=False, default=0)
    _live: int = field(init=False, default=0)
    _ids: Array = field(init=False, repr=False)
    _flags: Array = field(init=False, repr=False)
    """Whether the row is live, and then of each of its values whether it is one, and not NULL."""
    _words: Array = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._ids = np.zeros(0, np.int64)
        self._flags = np.zeros((0, 1 + len(self.types)), np.bool_)
        self._words = np.zeros((0, len(self.types)), np.int64)
        self._resize(np.zeros(0, np.int64), SMALLEST)

    def follow(self, ids: Array, weights: Array, columns: Sequence[Column]) -> None:
        """Let rows of a batch come (weight 1) and go (-1), in that order; what went in former ones may be forgotten."""
        if 2 * self._live < self._used - SMALLEST:
            self._resize(np.flatnonzero(self._flags[: self._used, 0]), 2 * self._live)
        come = np.flatnonzero(weights > 0)
        fresh, first = np.unique(ids[come], return_index=True)
        self._make(fresh)
        places, rows = self.find(fresh), come[first]
        for j, (column, of) in enumerate(zip(columns, self.types, strict=True)):
            known = column.known[rows]
            self._flags[places, 1 + j] = known
            self._words[places, j] = np.where(known, as_words(column.values, of)[rows], 0)
        moving = np.flatnonzero(weights)
        places = self.find(ids[moving])
        touched = np.unique(places)
        self._live -= int(self._flags[touched, 0].sum())
        self._flags[places, 0] = weights[moving] > 0  # of several the last one holds
        self._live += int(self._flags[touched, 0].sum())

    def find(self, ids: Array) -> Array:
        """The places of rows that are there."""
        return np.searchsorted(self._ids[: self._used], ids)

    def columns(self, places: Array) -> list[Column]:
        """The values of the rows at these places, strings as codes."""
        found = []
        for j, of in enumerate(self.types):
            valid = self._flags[places, 1 + j]
            values = from_words(np.ascontiguousarray(self._words[places, j]), of)
            found.append(Column(values, None if valid.all() else valid))
        return found

    def codes_in_use(self) -> Iterator[Array]:
        """The codes of strings of rows that are live."""
        flags = self._flags[: self._used]
        for j, of in enumerate(self.types):
            if of.kind == "string":
                yield self._words[: self._used, j][flags[:, 0] & flags[:, 1 + j]]

    @property
    def nbytes(self) -> int:
        """Slack included."""
        return int(self._ids.nbytes + self._flags.nbytes + self._words.nbytes)

    def _make(self, ids: Array) -> None:
        """Have a place for each of these ids, which ascend."""
        places = self.find(ids)
        old = np.zeros(len(ids), np.bool_)
        inside = places < self._used
        old[inside] = self._ids[places[inside]] == ids[inside]
        ids, places = ids[~old], places[~old]
        before, after = self._used, self._used + len(ids)
        if after > len(self._ids):
            self._resize(np.arange(before), 2 * after)
        if len(ids) and places[0] < before:  # not all at the end
            moved = np.arange(before) + np.searchsorted(places, np.arange(before), "right")
            for array in (self._ids, self._flags, self._words):
                array[moved] = array[:before].copy()
        self._used = after
        fresh = places + np.arange(len(ids))
        self._ids[fresh], self._flags[fresh], self._words[fresh] = ids, False, 0

    def _resize(self, kept: Array, capacity: int) -> None:
        """Keep the rows at these places only, with room for so many."""
        room = max(SMALLEST, capacity)
        for name in ("_ids", "_flags", "_words"):
            held = getattr(self, name)
            fresh = np.zeros((room, *held.shape[1:]), held.dtype)
            fresh[: len(kept)] = held[kept]
            setattr(self, name, fresh)
        self._used = len(kept)
