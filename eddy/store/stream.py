"""One stream's live rows: payload, a leaf STAIR for each way the rows are looked up, sorted indexes for ranges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eddy.intake.intake import Part
from eddy.intake.travel import ROW
from eddy.plan.compiler import Key
from eddy.query.expressions import Expression
from eddy.query.residual import Residual
from eddy.store.payload import Payload
from eddy.values.types import Column
from stairs import SortedIndex, Stair
from stairs.key_kernels import mix_into, read_keys
from stairs.layout import BASE, KEY_HIGH, NEXT, TAIL

Keys = NDArray[np.int64]
NONE: NDArray[np.int32] = np.empty(0, np.int32)


class StoredStream(Protocol):
    """What an engine asks of one of its streams, wherever its rows are."""

    number: int
    name: str
    classes: tuple[int, ...]
    payload: Payload

    @property
    def low(self) -> int:
        """The first row whose keys are here for sure."""

    @property
    def tail(self) -> int:
        """The next row."""

    def stored_keys(self, c: int, first: int, n: int) -> Keys:
        """The keys that n live rows from ``first`` on have in key class ``c``."""

    def kept(self, first: int, n: int) -> NDArray[np.uint8]:
        """1 for each of n live rows from ``first`` on, 0 for those that a filter or a NULL key rules out."""

    @property
    def nbytes(self) -> int:
        """Bytes that it holds, with its leaves."""


class StreamState:
    """Rows of stream number ``number``.

    Every key class that the stream takes part in has its leaf STAIR from the start, so that a plan change need not
    build one and holes can be filled by any attribute; a stream without one is found by row number. Leaves under
    several classes together, or under none, are built from these when a plan first wants them.
    """

    def __init__(
        self, number: int, name: str, classes: tuple[int, ...], payload: Payload, first_row: int
    ) -> None:
        self.number = number
        self.name = name
        self.payload = payload
        self.classes = classes
        self.own = [Key((c,)) for c in classes] or [Key(row=number)]
        self.stairs = {key: Stair(name, (number,), first_row) for key in self.own}
        self.version = 0
        """Counts the changes of ``stairs``."""
        self.indexes: dict[Residual, tuple[Expression, SortedIndex]] = {}
        self.suspended: Callable[[], NDArray[np.int32]] = lambda: NONE
        """Rows that nobody can find for the time being, since they would be of no use: the low 32 bits of each."""

    @property
    def base(self) -> Stair:
        """A leaf that always exists."""
        return self.stairs[self.own[0]]

    @property
    def low(self) -> int:
        return self.base.low

    @property
    def tail(self) -> int:
        return self.base.tail

    def stair(self, key: Key) -> Stair:
        """The leaf under this key; built now if nobody asked before."""
        found = self.stairs.get(key)
        if found is None:
            base = self.base
            low, n = base.low, base.tail - base.low
            keys = {c: self.stored_keys(c, low, n) for c in self.classes}
            found = self.stairs[key] = Stair(self.name, (self.number,), low)
            self.version += 1
            found.append_rows(self.keys(key, keys, low, n), np.full(n, -1, np.int32), self.linked(low, n))
            found.state[3][BASE] = found.state[3][TAIL]
            found.delta = base.delta
        return found

    def forget(self, wanted: set[Key]) -> None:
        """Drop leaves that neither the plan nor filling needs any more."""
        self.stairs = {key: stair for key, stair in self.stairs.items() if key in wanted or key in self.own}
        self.version += 1

    def stored_keys(self, c: int, first: int, n: int) -> Keys:
        """The keys that n live rows from ``first`` on have in a key class."""
        out = np.empty(n, np.int64)
        read_keys(self.stairs[Key((c,))].state, first, out)
        return out

    def keys_of(self, c: int, rows: Keys) -> Keys:
        """The keys that these live rows have in a key class."""
        leaf = self.stairs[Key((c,))]
        halves = leaf.state[0][rows & (leaf.capacity - 1), : KEY_HIGH + 1]
        return halves.view(np.int64)[:, 0]

    def linked(self, first: int, n: int) -> NDArray[np.uint8]:
        """1 for each of n live rows from ``first`` on that others can find, 0 for those ruled out or suspended."""
        base, rows = self.base, np.arange(first, first + n)
        linked: NDArray[np.bool_] = base.state[0][rows & (base.capacity - 1), NEXT] != rows.astype(np.int32)
        return linked.view(np.uint8)

    def kept(self, first: int, n: int) -> NDArray[np.uint8]:
        """1 for each of n live rows from ``first`` on, 0 for those that a filter or a NULL key rules out."""
        kept = self.linked(first, n)
        places = self.suspended() - np.int64(first).astype(np.int32)
        kept[places[(places >= 0) & (places < n)]] = 1
        return kept

    def keys(self, key: Key, by_class: dict[int, Keys], first: int, n: int) -> Keys:
        """The keys that n rows from ``first`` on have in the leaf under ``key``."""
        classes = key.classes
        if len(classes) == 1:
            return by_class[classes[0]]
        if key.row is not None:
            return np.arange(first, first + n) & 0xFFFFFFFF
        if not key.classes:
            return np.zeros(n, np.int64)
        keys = by_class[key.classes[0]].copy()
        for c in key.classes[1:]:
            mix_into(keys, by_class[c])
        return keys

    def index_rows(self, part: Part, first: int) -> None:
        """Enter rows from number ``first`` on into the sorted indexes."""
        n = len(part.events)
        for expression, index in self.indexes.values():
            values = as_bounds(expression.evaluate(lambda _, column: part.columns[column]), n, np.nan)
            rows = np.arange(first, first + n)
            if part.kept is not None:
                values, rows = values[part.kept.view(np.bool_)], rows[part.kept.view(np.bool_)]
            index.insert(values, rows)

    def review(self) -> None:
        """Now and then: give memory back."""
        for stair in self.stairs.values():
            stair.review()

    @property
    def nbytes(self) -> int:
        return (
            self.payload.nbytes
            + sum(stair.nbytes for stair in self.stairs.values())
            + sum(index.nbytes for _, index in self.indexes.values())
        )


def as_bounds(column: Column, n: int, missing: float) -> NDArray[np.float64]:
    """Numbers as float64, which keeps their order; NULL is NaN, which lies in no range."""
    values = np.broadcast_to(np.asarray(column.values), (n,)).astype(np.float64)
    if column.valid is not None:
        values[~np.broadcast_to(column.valid, (n,))] = missing
    return values


def numbers_in_whole(streams: Sequence[StoredStream], rows: Keys) -> Keys:
    """The numbers that rows, [results, streams], have in the whole of their streams, where only some are here."""
    found = [s.payload.storage(ROW, np.ascontiguousarray(rows[:, s.number])).values for s in streams]
    return np.stack(found, axis=1)
