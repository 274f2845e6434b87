"""Snapshots that share their rows: each writes only those that have come since the one before.

    000000012.eddy     a snapshot but for rows; it names the segments that these lie in
    000000007.rows     rows of one stream (`segments`)

Who pushes takes a *view* between two pushes, and goes on; another thread writes it. Rows are copied out of the engine
for that, since it overwrites those that have left their windows: not all when the view is taken, but a piece after each
push (`follow`), so that never more than TAIL bytes are left. Rows whose window has ended by then are never copied.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pyarrow as pa
from attrs import asdict, define, field

from eddy.snapshot import attached, disorder
from eddy.snapshot.format import SnapshotFile, Table, opened, sync_folder, write
from eddy.snapshot.rows import PIECE
from eddy.snapshot.segments import ENDING, Beside, Log
from eddy.snapshot.tables import RowTable, row_tables
from eddy.state import EngineState

FORMAT = 4
"""A file whose rows lie beside it."""
TAIL = 1 << 23
"""Bytes of rows that may be left to a view, about."""
STEP = 1 << 22
"""Bytes that are copied after a push, at least, if more than TAIL is left."""
BACKLOG = 1 << 28
"""Bytes that may wait to be written before no more are copied ahead."""
_NAMED = re.compile(rf"^(\d{{9}}){re.escape(ENDING)}$")
ELSEWHERE: Table = (pa.schema([]), ())

Later = Callable[[Callable[[], None]], object]
"""Does something in another thread, one after the other."""


@define(eq=False)
class View:
    """What a snapshot will hold: nothing that happens to the engine changes it."""

    header: dict[str, Any]
    tables: Sequence[Table]
    """Those that are written whole."""
    lows: Mapping[int, tuple[int, bool]]
    """Of each table of rows the first that lives, and whether they are keyed."""


@define(eq=False)
class Copied:
    """How far the rows of a table were copied."""

    next: int = -1
    """The row that is to be copied next."""
    width: float = 0.0
    """Bytes of a row, of those that were copied last."""


@define(eq=False)
class Incremental:
    """The snapshots in a folder, of one engine."""

    folder: str
    later: Later
    """Where files are written."""
    waiting: int = 0
    """Bytes that were copied, and are not yet written."""
    _copied: dict[int, Copied] = field(init=False, factory=dict)
    _lows: dict[int, int] = field(init=False, factory=dict)
    """The first rows that somebody may need: those that live, or did when the view was taken that is being written."""
    _views: int = field(init=False, default=0)
    """Views that were taken and are not yet written."""
    _logs: dict[int, Log] = field(init=False, factory=dict)
    """Used by whoever writes."""
    _serial: int = field(init=False, default=0)
    _lock: Any = field(init=False, factory=threading.Lock)

    def __attrs_post_init__(self) -> None:
        found = (_NAMED.match(name) for name in os.listdir(self.folder))
        self._serial = max((int(m[1]) for m in found if m), default=0)

    def resumed(self, header: Mapping[str, Any]) -> None:
        """The engine was loaded from the snapshot with this header: its segments are of use."""
        for number, said in header.get("beside", {}).items():
            table = Beside.read(self.folder, said)
            log = self._logs[int(number)] = Log(closed=list(table.segments))
            if table.segments:
                self._copied[int(number)] = Copied(log.stop)

    # -- in the engine's thread ------------------------------------------------------------------------------------

    def follow(self, state: EngineState) -> None:
        """After a push: copy the oldest rows that are not copied, so that not too many are left to the next view."""
        tables = row_tables(state)
        if self.waiting > BACKLOG:
            return
        left = {table.number: self._left(table) for table in tables}
        more = sum(left.values()) - TAIL
        if more <= 0:
            return
        # half of what is too much, so that one that is far behind comes up in steps
        more = max(more // 2, STEP)
        for table in sorted(tables, key=lambda table: -left[table.number]):
            share = min(more, left[table.number])
            if share > 0:
                copied = self._copied[table.number]
                self._copy(table, min(table.stop, copied.next + max(1, int(share / copied.width))))
                more -= share

    def behind(self, state: EngineState) -> bool:
        """Whether a view would have much more to copy than it should."""
        return self.waiting <= BACKLOG and sum(map(self._left, row_tables(state))) > 2 * TAIL

    def view(self, state: EngineState, header: dict[str, Any]) -> View:
        """What a snapshot holds now; ``header`` is that of a whole one."""
        tables = row_tables(state)
        for table in tables:
            self._copy(table, table.stop)
        whole = [ELSEWHERE for _ in state.streams] + attached.tables(state)
        lows = {table.number: (table.low, table.keyed) for table in tables}
        for table, first in zip((t for t in tables if t.keyed), attached.first_held(state), strict=True):
            lows[table.number] = (first, True)
        for number in lows:
            whole[number] = ELSEWHERE
        with self._lock:
            self._views += 1
        return View({**header, "format": FORMAT}, [*whole, *disorder.tables(state.reorder)], lows)

    def _left(self, table: RowTable) -> float:
        """Bytes of a table that are not copied, about."""
        copied = self._copied.setdefault(table.number, Copied())
        copied.next = max(copied.next, table.low)
        copied.width = copied.width or 8.0 * len(table.schema)
        if not self._views:
            self._lows[table.number] = table.low
        return (table.stop - copied.next) * copied.width

    def _copy(self, table: RowTable, stop: int) -> None:
        """Copy rows up to ``stop``, and let them be written."""
        self._left(table)
        copied = self._copied[table.number]
        while copied.next < stop:
            first, upto = copied.next, min(copied.next + PIECE, stop)
            batches = list(table.take(first, upto))
            size = sum(batch.nbytes for batch in batches)
            if table.keyed and not batches:
                batches = [pa.RecordBatch.from_pylist([], table.schema)]
            copied.next, copied.width = upto, max(1.0, size / (upto - first))
            with self._lock:
                self.waiting += size
            self.later(lambda b=batches, f=first, u=upto, s=size: self._append(table, b, f, u, s))  # type: ignore[misc]

    # -- where files are written -----------------------------------------------------------------------------------

    def _append(
        self, table: RowTable, batches: list[pa.RecordBatch], first: int, stop: int, size: int
    ) -> None:
        with self._lock:
            self.waiting -= size
        if stop <= self._lows[table.number]:
            return  # their window has ended meanwhile
        log = self._logs.setdefault(table.number, Log())
        for number, batch in enumerate(batches):
            upto = stop if number == len(batches) - 1 else first + batch.num_rows
            log.append(batch, first, upto, self.folder, self._name)
            first = upto

    def _name(self) -> str:
        self._serial += 1
        return f"{self._serial:09d}{ENDING}"

    def write(self, view: View, name: str) -> set[str]:
        """Write a snapshot; it is on the disk when this returns. The files of rows that it has.

        Views are written in the order in which they were taken.
        """
        beside = {}
        for number, (low, keyed) in view.lows.items():
            segments = self._logs.setdefault(number, Log()).settled(low)
            beside[number] = Beside(self.folder, low, keyed, segments)
        sync_folder(self.folder)
        said = {number: table.said() for number, table in beside.items()}
        write(os.path.join(self.folder, name), {**view.header, "beside": said}, view.tables)
        with self._lock:
            self._views -= 1
        return {one.file for table in beside.values() for one in table.segments}

    def files(self) -> set[str]:
        """The files of rows that are in use, or will be."""
        return {file for log in self._logs.values() for file in log.files()}

    @property
    def written(self) -> int:
        """Bytes of rows that were written."""
        return sum(log.written for log in self._logs.values())

    def close(self) -> None:
        """Nothing more is written."""
        for log in self._logs.values():
            log.clear()


@define(eq=False)
class Taking:
    """In the place of a path for `engine.save`: takes a view, which is to be written later."""

    snapshots: Incremental
    found: View | None = None

    def save(self, state: EngineState, metadata: Any) -> None:
        """Take it."""
        from eddy.snapshot.snapshot import header_of

        self.found = self.snapshots.view(state, asdict(header_of(state, metadata)[1]))

    def opened(self) -> AbstractContextManager[SnapshotFile]:
        """It has not been written."""
        return opened("")


@define(eq=False)
class Following:
    """In the place of a path for `engine.save`: copies what it is time to copy."""

    snapshots: Incremental
    ahead: bool = True
    """Whether anything is to be copied, or only to be looked whether that could be."""
    behind: bool = False

    def save(self, state: EngineState, metadata: Any) -> None:
        """Copy it."""
        if self.ahead:
            self.snapshots.follow(state)
            self.behind = self.snapshots.behind(state)

    def opened(self) -> AbstractContextManager[SnapshotFile]:
        """There is nothing to be read."""
        return opened("")
