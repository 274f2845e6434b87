"""Windows as numbers: the first live row of every stream at every event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from attrs import define, field

from eddy.intake import lowwater_kernels as kernels

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

_SMALLEST_RING = 64


@define(eq=False)
class Given:
    """What events bring along where an engine has only some rows of the streams."""

    rows: Int64s
    """The number of each event's row in the whole of its stream."""
    marks: Int64s
    """[events, streams whose marks are given]: low-water rows, by such numbers."""

    def cut(self, start: int, stop: int) -> Given:
        return Given(self.rows[start:stop], self.marks[start:stop])


@define(eq=False, init=False)
class LowWater:
    """The low-water rows of all streams, moved on batch by batch.

    Every kind of window comes down to one number per event and stream, the first row that is live once the
    event is counted: count - n for `Rows(n)`, the first row of the current pane for `Tumbling`, the first
    row with ts >= now - w for `Range(w)`, where `now` is the time of the event, whichever stream it is of; for
    `Sliding(w, every=s)` that is the last multiple of s.
    A mark never goes down.

    Rows are numbered from `first_row` in every stream, with 64 bits; panes of rows are counted from there.

    Where an engine has only some rows of a stream, its marks may be of kind `GIVEN`: they come with the events.
    """

    _table: Int64s = field(repr=False)
    _timed: bool = field(repr=False)
    _given: bool = field(repr=False)
    _rings: Int64s = field(repr=False)
    _marks: Int32s = field(repr=False)

    def __init__(
        self, kinds: Int64s, params: Int64s, steps: Int64s | None = None, first_row: int = 0
    ) -> None:
        n = len(kinds)
        self._table = np.zeros((kernels.FIELDS, n), np.int64)
        self._table[kernels.KIND] = kinds
        self._table[kernels.PARAM] = params
        self._table[kernels.STEP] = 0 if steps is None else steps
        self._table[kernels.ORIGIN : kernels.LOW + 1] = first_row
        timed = np.isin(kinds, (kernels.RANGE, kernels.TUMBLING_TIME, kernels.SLIDING))
        given = kinds == kernels.GIVEN
        self._timed, self._given = bool(timed.any()), bool(given.any())
        self._table[kernels.SIZE] = np.where(timed | given, _SMALLEST_RING, 0)
        self._table[kernels.RING] = np.cumsum(self._table[kernels.SIZE]) - self._table[kernels.SIZE]
        self._rings = np.zeros(self._table[kernels.SIZE].sum(), np.int64)
        self._marks = np.empty((0, n), np.int32)

    @property
    def lows(self) -> Int64s:
        """The low-water row of each stream at the newest event."""
        lows: Int64s = self._table[kernels.LOW]
        return lows

    @property
    def counts(self) -> Int64s:
        """The number of the next row of each stream: `first_row` and the rows so far."""
        counts: Int64s = self._table[kernels.NEXT]
        return counts

    def advance(
        self, streams: Int32s, times: Int64s | None, given: Given | None = None
    ) -> tuple[Int32s, Int32s, Int32s]:
        """Count a batch of events; returns (marks, first, last).

        `marks[i, c]` is the low-water row of stream c at event i, cut to its low 32 bits: compare marks and
        rows by their difference modulo 2**32. `first` are the marks before the batch, `last` those after.
        `times` never go back, and are needed only where a window uses time; `given` only where marks are. `marks` is
        overwritten by the next call.
        """
        if self._timed and times is None:
            raise TypeError("a window that uses time needs the times of the events")
        m = len(streams)
        marks = self.room(m)[:m]
        ends = np.empty((2, self._table.shape[1]), np.int32)
        kernels.mark_rows(streams, self._table, marks, ends)
        if self._timed and not kernels.mark_times(streams, times, self._table, self._rings, marks, ends):
            self.resize()
            kernels.mark_times(streams, times, self._table, self._rings, marks, ends)
        if self._given:
            if given is None:
                raise TypeError("marks that are given must come with the events")
            while not kernels.mark_given(
                streams, given.rows, given.marks, self._table, self._rings, marks, ends
            ):
                self.resize()
        return marks, ends[0], ends[1]

    def room(self, events: int) -> Int32s:
        """Room for the marks of so many events: an array that serves until more are asked for."""
        if events > len(self._marks):
            self._marks = np.empty((1 << (events - 1).bit_length(), self._table.shape[1]), np.int32)
        return self._marks

    def shrink(self) -> None:
        """Give back the room for marks."""
        self._marks = np.empty((0, self._table.shape[1]), np.int32)

    @property
    def table(self) -> Int64s:
        """The streams' windows as kernels know them; always the same array."""
        return self._table

    @property
    def rings(self) -> Int64s:
        """The times of live rows, of all streams whose windows end by time; another array after `resize`."""
        return self._rings

    def times(self, c: int, first: int | None = None, n: int = 0) -> Int64s:
        """The times of the live rows of stream c, whose window ends by time; or their numbers, if marks are given.

        Those of ``n`` from ``first`` on only, if these are given.
        """
        return self._rings[self._slots(c) if first is None else self._slots_of(c, first, first + n)]

    def restore(self, lows: Sequence[int], counts: Sequence[int], times: Mapping[int, Int64s]) -> None:
        """Take on the marks and counts of another, and the `times` of streams whose windows end by time."""
        self._table[kernels.LOW] = self._table[kernels.BEFORE] = lows
        self._table[kernels.NEXT] = counts
        self.resize()
        for c, values in times.items():
            self._rings[self._slots(c)] = values

    def _slots(self, c: int) -> Int64s:
        """Where the rings hold the times of the live rows of stream c."""
        return self._slots_of(c, int(self.lows[c]), int(self.counts[c]))

    def _slots_of(self, c: int, first: int, stop: int) -> Int64s:
        rows = np.arange(first, stop)
        slots: Int64s = self._table[kernels.RING, c] + (rows & (self._table[kernels.SIZE, c] - 1))
        return slots

    def resize(self) -> None:
        """Give every ring that has the wrong size the one that its rows now need, up to twice that."""
        old_sizes, old_starts = self._table[kernels.SIZE].copy(), self._table[kernels.RING].copy()
        needs = self.counts + 1 - self.lows
        wrong = (needs > old_sizes) | (self._table[kernels.LARGE] >= kernels.PATIENCE)
        sizes = [
            max(_SMALLEST_RING, 1 << int(need).bit_length()) if old and other else int(old)
            for need, old, other in zip(needs, old_sizes, wrong, strict=True)
        ]
        self._table[kernels.SIZE], self._table[kernels.LARGE] = sizes, 0
        self._table[kernels.RING] = np.cumsum(sizes) - sizes
        rings = np.zeros(sum(sizes), np.int64)
        for c, size in enumerate(sizes):
            if size:
                rows = np.arange(self.lows[c], self._table[kernels.BEFORE, c])
                to = self._table[kernels.RING, c] + (rows & (size - 1))
                rings[to] = self._rings[old_starts[c] + (rows & (old_sizes[c] - 1))]
        self._rings = rings

    @property
    def nbytes(self) -> int:
        """Bytes held, slack included."""
        return self._table.nbytes + self._marks.nbytes + self._rings.nbytes
