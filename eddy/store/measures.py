"""What bands ask of the rows of one stream: its measures, in rings, and sorted indexes over some of them.

An index is made when somebody first asks for it, from the rows that are live, and takes in what has come since when it
is asked for again. So which of them there are can change at any time, and one that nobody uses costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from eddy.intake.intake import Part
from eddy.query.bands import Measure
from eddy.store.payload import Payload
from stairs import SortedIndex


class Measures:
    """The measures of the live rows of a stream: line i of ``table`` has that of number i, row r in slot
    ``r & (capacity - 1)``. NaN: NULL, or a row that is not kept."""

    def __init__(self, wanted: Iterable[Measure], payload: Payload) -> None:
        self.lines = {measure: line for line, measure in enumerate(dict.fromkeys(wanted))}
        self._payload = payload
        self.table: NDArray[np.float64] = np.empty((len(self.lines), payload.capacity))
        self._next = payload.next_row
        self._indexes: dict[int, SortedIndex] = {}
        self._asked: set[int] = set()
        """The indexes that somebody has used since the last review."""

    def __bool__(self) -> bool:
        return bool(self.lines)

    def append(self, part: Part, first: int) -> None:
        """Take in the rows of a part, from number ``first`` on. The payload has room for them already."""
        n, capacity = len(part.events), self._payload.capacity
        if self.table.shape[1] != capacity:
            self._resize(capacity)
        start = first & (capacity - 1)
        cut = min(n, capacity - start)
        left_out = None if part.kept is None else part.kept == 0
        for measure, line in self.lines.items():
            values = measure.values(lambda _, column: part.columns[column], n)
            if left_out is not None:
                values[left_out] = np.nan
            self.table[line, start : start + cut] = values[:cut]
            self.table[line, : n - cut] = values[cut:]
        self._next = first + n

    def take(self, line: int, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The measures of some live rows."""
        return self.table[line].take(rows & (self.table.shape[1] - 1))

    def index(self, line: int, low: int) -> SortedIndex:
        """The sorted index over a measure: of all rows from ``low`` on, which are live, and perhaps of dead ones."""
        found = self._indexes.get(line)
        if found is None:
            found = self._indexes[line] = SortedIndex(low)
        self._asked.add(line)
        found.expire(low)
        self._catch_up(found, line)
        return found

    def glimpse(self, line: int, low: int) -> SortedIndex:
        """The same for one who only looks: it leaves no trace."""
        found = self._indexes.get(line)
        if found is None or found.next_row < self._next:
            found = SortedIndex(low)
            self._catch_up(found, line)
        return found

    def _catch_up(self, index: SortedIndex, line: int) -> None:
        first = max(index.low, index.next_row)
        if first < self._next:
            rows = np.arange(first, self._next)
            index.insert(self.take(line, rows), rows)

    def review(self) -> None:
        """Now and then: indexes are dropped that nobody has used for a while."""
        self._indexes = {line: index for line, index in self._indexes.items() if line in self._asked}
        self._asked.clear()

    def _resize(self, capacity: int) -> None:
        rows = np.arange(max(self._payload.low, self._next - self.table.shape[1]), self._next)
        table = np.empty((len(self.lines), capacity))
        table[:, rows & (capacity - 1)] = self.table[:, rows & (self.table.shape[1] - 1)]
        self.table = table

    @property
    def nbytes(self) -> int:
        """Bytes held, slack included."""
        return self.table.nbytes + sum(index.nbytes for index in self._indexes.values())
