"""The rows of a stream that wait, as a few sorted runs in the order of their arrival.

A push adds a run, and a watermark takes the beginnings of all of them. Rows are never moved one by one: a run is sorted
once, a beginning is a slice, and beginnings are merged by a stable sort of their times, which takes a little more than
a look at each where they are in order already. Many small runs become few by merging neighbours, the smaller ones more
often: each row is copied as often as the number of rows can be halved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from attrs import define
from numpy.typing import NDArray

from eddy.errors import BatchError
from eddy.reorder.order_kernels import order_of
from eddy.values.types import Array, Column, ColumnType

Int64s = NDArray[np.int64]
Values = Array | Column
"""A column that waits: numbers without NULLs as an array."""

FEW = 4
"""Times as many rows as have come may wait, to be put in order together with them;"""
SMALL = 1024
"""and so many in any case."""
MOST = 32
"""Runs of a stream, at most."""


@define(eq=False)
class Run:
    """Rows in the order of time; those of the same time in the order of arrival."""

    times: Int64s
    """In the query's unit."""
    columns: dict[str, Values]
    spare: int = 0
    """Rows before and after these that their arrays hold as well."""

    def __len__(self) -> int:
        return len(self.times)

    def take(self, where: slice | Array) -> Run:
        """The rows at ``where``: a slice shares memory, an array of indexes makes copies."""
        times = self.times[where]
        columns = self.changed(times, lambda values: _taken(values, where))
        return Run(times, columns, self.spare + len(self) - len(times) if isinstance(where, slice) else 0)

    def before(self, time: int) -> int:
        """How many rows are older."""
        return _older(self.times, time)

    def own(self) -> Run:
        """The same in memory of its own."""
        times = self.times.copy()
        return Run(times, self.changed(times, _compact))

    def changed(self, times: Int64s, change: Callable[[Values], Values]) -> dict[str, Values]:
        """The columns changed; the one that is the times themselves, as it mostly is, has been: it is ``times``."""
        own = self.times
        return {name: times if values is own else change(values) for name, values in self.columns.items()}

    @property
    def nbytes(self) -> int:
        """Bytes of its columns."""
        held = 0
        for values in self.columns.values():
            column = as_column(values)
            held += column.values.nbytes + (0 if column.valid is None else column.valid.nbytes)
        return self.times.nbytes + held


def sorted_run(run: Run) -> Run:
    """Rows as they have arrived, in order. They may share memory with what was given."""
    order = _order(run.times)
    return run if order is None else run.take(order)


def _order(times: Int64s) -> Int64s | None:
    """The places of times in ascending order; None if they are."""
    order = np.empty(len(times), np.int64)
    return order if order_of(times, order) else None


def merged(runs: Sequence[Run]) -> Run:
    """One run of several, at least one, that are given in the order of their arrival."""
    return runs[0] if len(runs) == 1 else sorted_run(joined(runs))


def joined(runs: Sequence[Run]) -> Run:
    """The rows of several, one after the other."""
    times, columns = np.concatenate([run.times for run in runs]), {}
    for name in runs[0].columns:
        shared = all(run.columns[name] is run.times for run in runs)
        columns[name] = times if shared else _one([run.columns[name] for run in runs])
    return Run(times, columns)


def _older(times: Int64s, time: int) -> int:
    """How many of some ascending times are before another, which may be out of the range of 64 bits."""
    return int(times.searchsorted(max(time, -(2**63)))) if time < 2**63 else len(times)


def _part(whole: Run, order: Int64s | None, times: Int64s, start: int, stop: int) -> Run:
    """Some rows of those that an order, if there is one, puts in order; those after the first are copied."""
    if order is None:
        run = whole.take(slice(start, stop))
        return run.own() if start else run
    where, own = order[start:stop], times[start:stop].copy() if start else times[:stop]
    return Run(own, whole.changed(own, lambda values: _taken(values, where)))


@define(eq=False)
class Runs:
    """The rows of one stream that wait; it is never changed, but replaced."""

    runs: tuple[Run, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.runs))

    @property
    def nbytes(self) -> int:
        return sum(run.nbytes for run in self.runs)

    def cut(self, time: int, fresh: Run | None) -> tuple[Run | None, Runs]:
        """What is older than a time, in order, if anything is, and the rest.

        ``fresh`` are rows that have just come, in any order. The rest has memory of its own: they may be in the
        caller's.
        """
        if fresh is None:
            return self._beginnings(time, None)
        if len(self) > max(FEW * len(fresh), SMALL):
            return self._beginnings(time, sorted_run(fresh))
        # Few rows wait: all are put in order at once, so that each is copied once or twice.
        whole = joined((*self.runs, fresh)) if self.runs else fresh
        order = _order(whole.times)
        times = whole.times if order is None else whole.times.take(order)
        n, size = _older(times, time), len(times)
        out = _part(whole, order, times, 0, n) if n else None
        if n == size:
            return out, Runs()
        rest = _part(whole, order, times, n, size)
        return out, Runs((rest.own() if whole is fresh and order is None and not n else rest,))

    def _beginnings(self, time: int, fresh: Run | None) -> tuple[Run | None, Runs]:
        """The same by runs: those of which nothing goes are not touched."""
        runs = self.runs if fresh is None else (*self.runs, fresh)
        out, left = [], []
        for run in runs:
            n = run.before(time)
            if n:
                out.append(run if n == len(run) else run.take(slice(0, n)))
            if n < len(run):
                rest = run.take(slice(n, len(run))) if n else run
                left.append(rest.own() if run is fresh or rest.spare > len(rest) else rest)
        return merged(out) if out else None, Runs(_few(left))

    def whole(self) -> Run | None:
        """All rows in order, if there are any."""
        return merged(self.runs) if self.runs else None


def _few(runs: list[Run]) -> tuple[Run, ...]:
    """The same rows in fewer runs, if there are too many: the last ones are merged with those that are not larger."""
    if len(runs) > MOST:
        first, size = len(runs) - 1, len(runs[-1])
        while first > 0 and 2 * size > len(runs[first - 1]):
            first -= 1
            size += len(runs[first])
        runs[first:] = [merged(runs[first:])]
        if len(runs) > MOST:  # many that grow from the newest to the oldest
            runs = [merged(runs)]
    return tuple(runs)


def plain(column: Column, kind: ColumnType) -> Values:
    """The column as it is kept here: an array without NULLs by itself, if such arrays are columns as they are."""
    return column.values if column.valid is None and kind.direct is kind.dtype else column


def as_column(values: Values) -> Column:
    """What is kept here as a column."""
    return values if isinstance(values, Column) else Column(values)


def _taken(values: Values, where: slice | Array) -> Values:
    if isinstance(values, Column):
        return values.take(where)
    taken: Array = values[where] if isinstance(where, slice) else values.take(where)
    return taken


def _one(parts: list[Values]) -> Values:
    """The values of several, one after the other; strings in one array."""
    if not any(isinstance(values, Column) for values in parts):
        whole: Array = np.concatenate(parts)  # type: ignore[arg-type]
        return whole
    column = Column.concat([as_column(values) for values in parts])
    if isinstance(column.values, pa.ChunkedArray):
        column.values = column.values.combine_chunks()
        if isinstance(column.values, pa.ChunkedArray):
            raise BatchError(
                "more than 2 GB of text in the reorder buffer is to be put in order: push smaller pieces"
            )
    return column


def _compact(values: Values) -> Values:
    """A copy; of strings too, which may be a small part of a large array."""
    if not isinstance(values, Column):
        return values.copy()
    return values.copied() if isinstance(values.values, np.ndarray) else values.take(np.arange(len(values)))
