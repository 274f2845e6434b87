"""An index of rows by value, for predicates that ask for a range."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import define, field

from stairs.band_kernels import find_some, find_within
from stairs.sorted_kernels import add_run, find

Float64s = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]
Place = tuple[int, int, int]

_SMALLEST = 64
# Every run is over twice its successor, so 64 runs hold more rows than there are.
_MOST_RUNS = 66


@define(eq=False)
class SortedIndex:
    """Rows under a float64 value, found by range; log-structured.

    Rows live in sorted runs, each over twice as long as the next: an insert adds a run and merges from the
    end, so a row is moved O(log n) times in its life. A dead row is skipped when met, dropped when its run
    is merged, and at the latest when its whole run is dead.
    """

    low: int = 0
    """Rows below are dead."""
    next_row: int = field(init=False)
    """Above all rows that were inserted; ``low`` at first."""
    _values: Float64s = field(init=False, repr=False, factory=lambda: np.empty(_SMALLEST, np.float64))
    _rows: Int64s = field(init=False, repr=False, factory=lambda: np.empty(_SMALLEST, np.int64))
    _runs: Int64s = field(init=False, repr=False, factory=lambda: np.zeros((2, _MOST_RUNS + 1), np.int64))
    _count: int = field(default=0, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self.next_row = self.low

    def insert(self, values: Float64s, rows: Int64s) -> None:
        """Add rows under their values. NaN lies in no range, so such a row is not stored."""
        if len(rows):
            self.next_row = max(self.next_row, int(rows[-1] if len(rows) == 1 else rows.max()) + 1)
        known = ~np.isnan(values)
        if not known.all():
            values, rows = values[known], rows[known]
        m = len(values)
        if m == 0:
            return
        if m > 1:
            order = np.argsort(values, kind="stable")
            values, rows = values[order], rows[order]
        self._make_room(m)
        values, rows = np.ascontiguousarray(values), np.ascontiguousarray(rows)
        self._count = add_run(self._values, self._rows, self._runs, self._count, self.low, values, rows)

    def candidates(
        self, lower: Float64s, upper: Float64s, start: Place = (0, 0, -1), limit: int = 1 << 20
    ) -> tuple[Int64s, Int64s, Place | None]:
        """All live rows with `lower[i] <= value <= upper[i]`, for every probe i; at most `limit` of them.

        Returns (which, rows, next): probe numbers in ascending order, the rows found, and the `start` of the
        call that goes on from there, or None at the end. Infinite bounds are open ends; a NaN bound finds
        nothing. Between two such calls the index must neither be inserted into nor expired.
        """
        if limit < 1:
            raise ValueError(f"limit must be at least 1, not {limit}")
        pairs = np.empty((2, limit), np.int64)
        at = np.array(start, np.int64)
        bounds = self._runs[0, : self._count + 1]
        found = find(self._values, self._rows, bounds, self.low, lower, upper, at, pairs)
        more = (int(at[0]), int(at[1]), int(at[2])) if at[0] < len(lower) else None
        return pairs[0, :found], pairs[1, :found], more

    def within(
        self,
        table: Float64s,
        lines: Int64s,
        order: Int64s,
        ranges: Float64s,
        at: Int64s,
        pairs: Int64s,
    ) -> int:
        """Find rows that may satisfy all bands, of which the index serves the first: see `band_kernels.find_within`.

        ``low`` of the index says which rows are live. Between two calls with the same ``at`` the index must neither be
        inserted into nor expired.
        """
        runs = self._runs[0, : self._count + 1]
        found: int = find_within(
            self._values, self._rows, runs, self.low, table, lines, order, ranges, at, pairs
        )
        return found

    def some(
        self,
        low: int,
        table: Float64s,
        lines: Int64s,
        order: Int64s,
        ranges: Float64s,
        found: npt.NDArray[np.uint8],
    ) -> None:
        """Whether some row from ``low`` on may satisfy all bands, for each probe: see `band_kernels.find_some`."""
        runs = self._runs[0, : self._count + 1]
        low = max(low, self.low)
        find_some(self._values, self._rows, runs, low, table, lines, order, ranges, found)

    def expire(self, low_row: int) -> None:
        """Let the rows below `low_row` be dead; this never goes back."""
        self.low = max(self.low, int(low_row))
        if self._count and self._runs[1, 0] < self.low:
            self._make_room(0)

    def _make_room(self, m: int) -> None:
        """Drop the oldest runs while they are all dead, and fit the arrays to what is left and `m` more."""
        dropped = 0
        while dropped < self._count and self._runs[1, dropped] < self.low:
            dropped += 1
        start, end = int(self._runs[0, dropped]), int(self._runs[0, self._count])
        need = end - start + m
        size = len(self._values)
        if need > size or (need * 8 <= size and size > _SMALLEST):
            size = max(_SMALLEST, 1 << need.bit_length())
        if dropped or size != len(self._values):
            values, rows = np.empty(size, np.float64), np.empty(size, np.int64)
            values[: end - start] = self._values[start:end]
            rows[: end - start] = self._rows[start:end]
            self._values, self._rows = values, rows
            runs = np.zeros_like(self._runs)
            self._count -= dropped
            runs[:, : self._count + 1] = self._runs[:, dropped : dropped + self._count + 1]
            runs[0, : self._count + 1] -= start
            self._runs = runs

    @property
    def nbytes(self) -> int:
        """Bytes held, slack included."""
        return self._values.nbytes + self._rows.nbytes + self._runs.nbytes
