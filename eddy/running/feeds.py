"""What one stream of a run has read and not yet pushed, and the position that a checkpoint keeps of it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define, field

from eddy.errors import EddyError
from eddy.query.query import Query
from eddy.running.ahead import Ahead
from eddy.running.checking import Checked, Checker
from eddy.running.letters import Letters
from eddy.running.sizing import Sizing
from eddy.sources.base import Piece, Source
from eddy.values import arrow
from eddy.values.types import Array

BEFORE = -(2**63)
"""Before all times."""


@define(eq=False)
class Entry:
    """Rows that wait to be pushed."""

    piece: Piece
    checked: Checked
    used: int
    times: Array

    def place(self, row: int) -> str | None:
        """The file, and the line or row in it, of a good row; None where there are no files."""
        there = row if self.checked.rows is None else int(self.checked.rows[row])
        file, line = self.piece.place(there), self.piece.line(there)
        return None if file is None else file if line is None else f"{file}, row {line}"


@define(eq=False)
class Feed:
    """Reads a source, piece by piece. What is behind its position was pushed, and its bad rows are told of."""

    name: str
    query: Query
    source: Source
    letters: Letters
    at: Any = None
    """The position of the source before the first row that waits."""
    skip: int = 0
    """Rows behind it that were pushed already."""
    waiting: list[Entry] = field(factory=list)
    ended: bool = False
    silent: bool = False
    """Whether it had nothing when it was asked last."""
    rows: int = 0
    """Rows that were pushed."""
    newest: int = BEFORE
    """The newest time that was read, in the unit of the query."""
    sizing: Sizing | None = None
    """How many rows are read at a time, where that is to be found out."""
    clock: Callable[[], float] = time.perf_counter
    read_at: float | None = None
    """When the first row of a batch was read; None: none was yet. Whoever measures batches sets it back."""
    read_rows: int = 0
    """Rows that were read since then."""
    heard: float = field(init=False)
    """When there were rows last, or it began."""
    _taken: list[tuple[Entry, int, int]] = field(factory=list)
    """Of the rows that were taken last: whose they are, from which one on, and how many."""
    _read: int = 0
    _pieces: Iterator[Any] | None = None
    _checker: Checker = field(init=False)

    @_checker.default
    def _its_checker(self) -> Checker:
        return Checker(self.query.streams[self.name])

    @property
    def static(self) -> bool:
        """Whether its rows come before all others."""
        return self.query.streams[self.name].static

    @property
    def position(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        used = self.waiting[0].used if self.waiting else self.skip
        return {"at": self.at, "used": used, "rows": self.rows}

    def go_to(self, position: dict[str, Any]) -> None:
        """Go on at a position that was kept."""
        self.at, self.skip, self.rows = position["at"], position["used"], position["rows"]

    @heard.default
    def _now(self) -> float:
        return self.clock()

    def pull(self) -> bool:
        """Read one more piece, or several small ones. Whether there were rows; else look whether it has `ended`, or is
        `silent`."""
        found = self._pull()
        if found and self.sizing is not None:
            while self.sizing.wants(self.count, self.read_at or 0.0) and self._pull():
                pass
        return found

    def _pull(self) -> bool:
        item = self._next()
        if item is None:
            self.ended = True
            return False
        piece = self._piece(item)
        checked = self._checker.check(piece)
        if self.letters.way == "error":
            self._tell(piece, checked)
        self.silent = piece.rows is None and not checked.bad
        used = min(self.skip, len(checked))
        self.skip -= used
        entry = Entry(piece, checked, used, self._times(checked))
        self.waiting.append(entry)
        if len(entry.times):
            self.newest = max(self.newest, int(entry.times.max()))
        if used < len(checked):
            self.heard = self.clock()
            self.read_at, self.read_rows = self.read_at or self.heard, self.read_rows + len(checked) - used
        self._pass()
        return used < len(checked)

    @property
    def silence(self) -> float:
        """For how many seconds there was nothing."""
        return self.clock() - self.heard if self.silent else 0.0

    @property
    def low(self) -> bool:
        """Whether less than half a piece waits."""
        return not self.waiting or 2 * self.count < len(self.waiting[-1].checked)

    @property
    def count(self) -> int:
        """Rows that wait."""
        return sum(len(entry.checked) - entry.used for entry in self.waiting)

    def take(self, count: int) -> pa.RecordBatch | None:
        """The next rows, to be pushed now; in one piece, since kernels take columns that are."""
        parts, self._taken = [], []
        for entry in self.waiting:
            some = min(count, len(entry.checked) - entry.used)
            if some:
                parts.append(entry.checked.table.slice(entry.used, some))  # type: ignore[union-attr]
                self._taken.append((entry, entry.used, some))
                entry.used += some
                count -= some
                self.rows += some
        self._pass()
        if not parts:
            return None
        whole = parts[0] if len(parts) == 1 else pa.concat_tables(parts)
        return whole.combine_chunks().to_batches()[0]

    def place(self, row: int) -> str:
        """Where a row of those that were taken last stands."""
        number = row
        for entry, first, count in self._taken:
            if row < count:
                return (
                    entry.place(first + row)
                    or f"{self.source}, row {self.rows - self._count_taken + number + 1}"
                )
            row -= count
        return str(self.source)

    @property
    def _count_taken(self) -> int:
        return sum(count for _, _, count in self._taken)

    def close(self) -> None:
        """Nothing more is read: what the source has opened for it can go."""
        close = getattr(self._pieces, "close", None)
        if close is not None:
            with contextlib.suppress(
                ValueError
            ):  # a thread is still in it, and lets go of it when it comes out
                close()

    def below(self, time: int) -> int:
        """How many of the rows that wait, which are in order of time, are older than a time."""
        return sum(int(np.searchsorted(entry.times[entry.used :], time)) for entry in self.waiting)

    def _pass(self) -> None:
        """Pieces of which all rows were taken are done with."""
        while self.waiting and self.waiting[0].used == len(self.waiting[0].checked):
            entry = self.waiting.pop(0)
            if self.letters.way != "error":
                self._tell(entry.piece, entry.checked)
            self.at = entry.piece.position

    def _tell(self, piece: Piece, checked: Checked) -> None:
        self.letters.take(self.name, piece.file, checked.bad)

    def _next(self) -> Any:
        try:
            if self._pieces is None:
                ahead = self.source.ahead and self.sizing is None  # small pieces are not worth a thread
                read = partial(self.source.read, self.at)
                self._pieces = Ahead(read) if ahead else iter(read())
            return next(self._pieces, None)
        except OSError as error:
            raise EddyError(f"cannot read {self.source}: {error.strerror or error}") from error

    def _piece(self, item: Any) -> Piece:
        """What the source has yielded."""
        if isinstance(item, Piece):
            return item
        if not isinstance(item, tuple) or len(item) != 2:
            raise EddyError(
                f"the source {self.source} must yield (batch, position), not a {type(item).__name__}"
            )
        piece = Piece(item[0], item[1], first=self._read + 1)
        if item[0] is not None:
            columns = item[0].values() if isinstance(item[0], dict) else ()
            self._read += len(next(iter(columns), ())) if columns else len(item[0])
        return piece

    def _times(self, checked: Checked) -> Array:
        """The times of rows, in the unit of the query."""
        time = self.query.streams[self.name].time
        if time is None or not len(checked) or not self.query.timed:
            return np.empty(0, np.int64)
        column = checked.table.column(time).combine_chunks()  # type: ignore[union-attr]
        if isinstance(column, pa.ChunkedArray):
            column = column.chunk(0)
        dtype = self.query.streams[self.name].columns[time].dtype
        return self.query.time_of(self.name, arrow.to_numpy(column, dtype))
