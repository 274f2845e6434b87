"""The payload of one stream: the values of its live rows, column by column, in rings indexed by row number.

Row numbers are 64-bit and only grow; row `r` sits at `r & mask` in every ring. Rows in `[low, next_row)` are
kept, so the capacity is a power of two of at least `next_row - low`. Values are copied in: what the caller
does with its arrays after a push cannot matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from attrs import define, field

from eddy.store.payload_kernels import take_columns
from eddy.values.strings import StringPool
from eddy.values.types import Array, Column, ColumnType
from stairs.lowlevel.address import handle
from stairs.program_kernels import JOB, copy_columns

SMALLEST = 64
REVIEW_EVERY = 64
"""Calls of `retain_from` between two looks at whether the rings have become too large."""


@define(eq=False)
class Payload:
    """Rings of column values; what is coded is kept as codes of `pool`."""

    columns: dict[str, ColumnType]
    pool: StringPool
    first_row: int = 0
    low: int = field(init=False)
    """The first row still kept."""
    next_row: int = field(init=False)
    """The number that the next row will get."""
    _capacity: int = field(init=False, default=SMALLEST)
    _peak: int = field(init=False, default=0)
    """The most rows held at once since the last review."""
    _calls: int = field(init=False, default=0)
    _rings: dict[str, Array] = field(init=False, factory=dict, repr=False)
    version: int = field(init=False, default=0)
    """Counts how often the rings were replaced by others."""
    _places: list[tuple[str, Array, int]] = field(init=False, factory=list, repr=False)
    """Name, ring and bytes a value of every column."""
    _valids: dict[str, Array] = field(init=False, factory=dict, repr=False)
    """Masks of the columns in which a NULL was seen; a column that is absent here is valid throughout."""

    def __attrs_post_init__(self) -> None:
        self.low = self.next_row = self.first_row
        for name, kind in self.columns.items():
            self._rings[name] = np.empty(SMALLEST, kind.dtype)
        self._place()

    def append(self, columns: dict[str, Column], n: int) -> None:
        """Copy the next `n` rows in. Strings come as codes."""
        jobs = np.array(self.reserve(columns, n), np.int64)
        copy_columns(jobs.reshape(-1, JOB))

    def reserve(self, columns: dict[str, Column], n: int) -> list[int]:
        """Take the next `n` rows in, but leave the values to `copy_columns`: returns its jobs, one after the other."""
        row = self.next_row
        self.make_room(n)
        capacity = self._capacity
        start = row & (capacity - 1)
        jobs: list[int] = []
        for name, ring, size in self._places:
            column = columns[name]
            jobs += (handle(ring), handle(column.values), start, n, capacity, size)
            if column.valid is not None or self._valids:
                self._append_valid(name, column.valid, start, n)
        self.next_row = row + n
        return jobs

    def reserve_plain(self, low: int, n: int) -> bool:
        """Take in `n` rows without a NULL, but leave all values to the caller; rows below `low` may be forgotten.

        Whether the rings were replaced by others.
        """
        row, version = self.next_row, self.version
        if low > self.low:
            self.low = min(low, row)
        self._calls += 1
        live = row + n - self.low
        if live > self._peak:
            self.make_room(n)
        if self._valids:
            for name in self._valids:  # a slot may have had a NULL when it was last used
                self._append_valid(name, None, row & (self._capacity - 1), n)
        self.next_row = row + n
        return version != self.version

    def make_room(self, n: int) -> None:
        """Let `n` more rows fit."""
        live = self.next_row + n - self.low
        if live > self._peak:
            self._peak = live
        if live > self._capacity:
            self._resize(live)

    @property
    def capacity(self) -> int:
        """The slots of every ring: row `r` is in slot `r & (capacity - 1)`."""
        return self._capacity

    def moved_to(self, next_row: int, low: int) -> None:
        """Kernels have written rows below ``next_row``; those below ``low`` may be forgotten."""
        self.next_row, self.low = next_row, low
        self._peak = max(self._peak, next_row - low)

    @property
    def rings(self) -> dict[str, Array]:
        """The rings by column; others after `version` has changed."""
        return self._rings

    def take(self, name: str, rows: Array) -> Column:
        """The values of these rows, in this order; strings as text."""
        return self.take_all((name,), rows)[0]

    def take_all(self, names: Sequence[str], rows: Array) -> list[Column]:
        """The same of several columns."""
        found = self.storage_all(names, rows)
        for name, column in zip(names, found, strict=True):
            if self.columns[name].is_coded:
                column.values = self.pool.decode(column.values, self.columns[name])
        return found

    def storage(self, name: str, rows: Array) -> Column:
        """The values of these rows, as they are stored: strings as codes."""
        return self.storage_all((name,), rows)[0]

    def storage_all(self, names: Sequence[str], rows: Array) -> list[Column]:
        """The same of several columns, in one call of a kernel."""
        rows, n = np.ascontiguousarray(rows), len(rows)
        table: list[int] = []
        found = []
        for name in names:
            ring, valid = self._rings[name], None
            values = np.empty(n, ring.dtype)
            table += (handle(ring), handle(values), ring.itemsize)
            if name in self._valids:
                valid = np.empty(n, np.bool_)
                table += (handle(self._valids[name]), handle(valid), 1)
            found.append(Column(values, valid))
        take_columns(np.array(table, np.int64), self._capacity - 1, rows)
        return found

    def retain_from(self, row: int) -> None:
        """Rows below `row` may be forgotten. Now and then this gives memory back."""
        if row > self.low:
            self.low = min(row, self.next_row)
        self._calls += 1
        if self._calls >= REVIEW_EVERY:
            self._review()

    def give_back(self) -> None:
        """Shrink the rings to what is held now, if that is much less: what needed them has gone."""
        live = self.next_row - self.low
        if self._capacity > SMALLEST and 4 * live <= self._capacity:
            self._resize(2 * live)
            self._peak = live

    def codes_in_use(self) -> Iterator[Array]:
        """The string codes of all live rows, in views that hold until the next append."""
        first = self.low & (self._capacity - 1)
        live = self.next_row - self.low
        for name, kind in self.columns.items():
            if kind.is_coded:
                ring = self._rings[name]
                yield ring[first : first + live]
                yield ring[: max(0, first + live - self._capacity)]

    @property
    def nbytes(self) -> int:
        """The memory of all rings, slack included."""
        return sum(ring.nbytes for ring in (*self._rings.values(), *self._valids.values()))

    def _append_valid(self, name: str, valid: Array | None, start: int, n: int) -> None:
        ring = self._valids.get(name)
        if ring is None:
            if valid is None or valid.all():
                return
            ring = self._valids[name] = np.ones(self._capacity, np.bool_)
        cut = min(n, self._capacity - start)
        if valid is None:
            ring[start : start + cut] = True
            ring[: n - cut] = True
        else:
            ring[start : start + cut] = valid[:cut]
            ring[: n - cut] = valid[cut:]

    def _review(self) -> None:
        """Shrink if even the fullest moment since the last review used an eighth of the rings or less."""
        if self._capacity > SMALLEST and 8 * self._peak <= self._capacity:
            self._resize(2 * self._peak)
        self._peak = self.next_row - self.low
        self._calls = 0

    def _resize(self, rows: int) -> None:
        """Move the live rows to rings for at least `rows` rows, and drop masks that no longer hold a NULL."""
        capacity = max(SMALLEST, 1 << (rows - 1).bit_length())
        self._rings = {name: self._moved(ring, capacity) for name, ring in self._rings.items()}
        moved = {name: self._moved(ring, capacity, fill=True) for name, ring in self._valids.items()}
        self._valids = {name: ring for name, ring in moved.items() if not ring.all()}
        self._capacity = capacity
        self.version += 1
        self._place()

    def _place(self) -> None:
        self._places = [(name, ring, ring.itemsize) for name, ring in self._rings.items()]

    def _moved(self, ring: Array, capacity: int, fill: bool = False) -> Array:
        fresh = np.ones(capacity, ring.dtype) if fill else np.empty(capacity, ring.dtype)
        row = self.low
        while row < self.next_row:
            source, target = row & (self._capacity - 1), row & (capacity - 1)
            n = min(self.next_row - row, self._capacity - source, capacity - target)
            fresh[target : target + n] = ring[source : source + n]
            row += n
        return fresh
