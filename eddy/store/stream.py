"""One stream's live rows: payload, a leaf STAIR for each way the rows are looked up, measures for bands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eddy.intake.travel import ROW
from eddy.plan.compiler import Key
from eddy.query.bands import Measure
from eddy.store.measures import Measures
from eddy.store.payload import Payload
from stairs import Stair
from stairs.key_kernels import mix_into, read_keys
from stairs.layout import BASE, KEY_HIGH, NEXT, TAIL

Keys = NDArray[np.int64]
NONE: NDArray[np.int32] = np.empty(0, np.int32)


class HeldStream(Protocol):
    """A stream whose rows have values here, and numbers."""

    number: int
    payload: Payload


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
        self,
        number: int,
        name: str,
        classes: tuple[int, ...],
        payload: Payload,
        first_row: int,
        measures: Iterable[Measure] = (),
    ) -> None:
        self.number = number
        self.name = name
        self.payload = payload
        self.classes = classes
        self.own = [Key((c,)) for c in classes] or [Key(row=number)]
        self.stairs = {key: Stair(name, (number,), first_row) for key in self.own}
        self.version = 0
        """Counts the changes of ``stairs``."""
        self.measures = Measures(measures, payload)
        self.looked_at = 0
        """Its rows that were tested as candidates by theta predicates, counted for each entry that asked."""
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

    def review(self) -> None:
        """Now and then: give memory back."""
        for stair in self.stairs.values():
            stair.review()
        self.measures.review()

    @property
    def nbytes(self) -> int:
        return (
            self.payload.nbytes + sum(stair.nbytes for stair in self.stairs.values()) + self.measures.nbytes
        )


def numbers_in_whole(streams: Sequence[StoredStream], rows: Keys) -> Keys:
    """The numbers that rows, [results, streams], have in the whole of their streams, where only some are here."""
    found = [s.payload.storage(ROW, np.ascontiguousarray(rows[:, s.number])).values for s in streams]
    return np.stack(found, axis=1)
