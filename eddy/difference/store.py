"""The memory of a chain of set differences: the terms are those of `layout`.

All sizes follow from the number of rows that each stream has room for: then the directory has room for a key of each
row, so that kernels never have to stop for want of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eddy.difference import layout
from eddy.difference.directory import move_entries
from eddy.difference.layout import Base, Directory, Int32s, Int64s
from eddy.difference.rows import Conditions

SMALLEST = 64
PERIOD = 64
"""Batches after which room is given back that was not needed in the meantime."""


class Store:
    """What is known of the live rows, found by key and by row number."""

    def __init__(self, conditions: Conditions, first_rows: Int64s) -> None:
        self.conditions = conditions
        self.table = np.zeros(len(first_rows), layout.STREAM)
        """Where each stream stands."""
        self.table["low"] = self.table["count"] = first_rows
        self._room = np.full(len(first_rows), SMALLEST)
        self._peaks = np.zeros(len(first_rows), np.int64)
        self._batches = 0
        self.directory, self.base, self.rings = self._allocate()

    @property
    def room(self) -> int:
        """How many base rows there is room for."""
        return len(self.base.records)

    @property
    def nbytes(self) -> int:
        """Bytes in use, slack included."""
        return sum(array.nbytes for array in (*self.directory, *self.base, self.rings, self.table))

    @property
    def use(self) -> Any:
        """How far the directory is used: see USE."""
        return self.directory.use[0]

    @property
    def low(self) -> int:
        """The first live base row."""
        return int(self.table["low"][0])

    @property
    def count(self) -> int:
        """The next base row."""
        return int(self.table["count"][0])

    @property
    def rows(self) -> Int64s:
        """The live base rows."""
        return np.arange(self.low, self.count)

    def judged(self) -> tuple[Int64s, Int32s, Int32s]:
        """The live base rows that may be results: their numbers, blockers, and sets of free streams."""
        rows = self.rows
        known = self.base.records[rows & (self.room - 1), : layout.LINKS]
        kept = known[:, layout.BLOCKER] >= 0
        return rows[kept], known[kept, layout.BLOCKER], known[kept, layout.FREE]

    def reserve(self, arriving: Int64s) -> None:
        """Make room for a batch with ``arriving[s]`` rows of each stream s."""
        needs = np.maximum(0, self.table["count"] - self.table["low"]) + arriving
        self._peaks = np.maximum(self._peaks, needs)
        self._batches += 1
        if (needs > self._room).any():
            self._resize(np.where(needs > self._room, _powers_of_two(needs), self._room))
        elif self._batches % PERIOD == 0:
            fitting = _powers_of_two(self._peaks)
            if (fitting * 4 <= self._room).any():
                self._resize(fitting)
            self._peaks[:] = 0

    def _allocate(self) -> tuple[Directory, Base, Int32s]:
        """Empty arrays for the room there is to be."""
        conditions, room = self.conditions, self._room
        columns = conditions.columns
        sharing = [conditions.of_streams.count(column) for column in columns]
        most = [
            room[0] + sum(room[1 + i] for i, c in enumerate(conditions.of_streams) if c == column)
            for column in columns
        ]
        keys = layout.COUNTS + max(sharing)
        use = np.zeros(1, layout.USE)
        use["vacant"], use["keys"] = -1, keys
        directory = Directory(
            np.full((len(columns), _powers_of_two(np.array(most)).max()), -1, np.int32),
            np.empty((sum(most), keys + 2 * conditions.width), np.int32),
            use,
            np.zeros(conditions.width, np.int64),
        )
        base = Base(
            np.empty((room[0], layout.LINKS + 3 * len(columns)), np.int32),
            np.empty((room[0], max(1, conditions.base_keys)), np.int64),
        )
        self.table["size"][1:] = room[1:]
        self.table["ring"][1:] = np.cumsum(room[1:]) - room[1:]
        return directory, base, np.full(room[1:].sum(), -1, np.int32)

    def _resize(self, room: Int64s) -> None:
        """Move everything into arrays of other sizes."""
        before = self.table.copy()
        (records, keys), rings, old = self.base, self.rings, self.directory
        self._room = room
        self.directory, self.base, self.rings = self._allocate()
        moved = np.full(len(old.entries) + 1, -1, np.int32)  # the last is for "no entry"
        move_entries(old, self.directory, moved)
        for name in ("orders", "settled"):
            self.use[name] = old.use[0][name]

        low, mask = self.low, len(records) - 1

        def relinked(slots: Int32s) -> NDArray[np.int64]:
            """Where rows have moved to; -1 stays."""
            wide = slots.astype(np.int64)  # row numbers pass 2**31
            return np.where(wide < 0, -1, (low + ((wide - low) & mask)) & (self.room - 1))

        rows = self.rows
        live, to = records[rows & mask], rows & (self.room - 1)
        for at in range(layout.LINKS, records.shape[1], 3):
            linked = live[:, at] >= 0
            live[linked, at] = moved[live[linked, at]]
            live[:, at + 1 : at + 3] = relinked(live[:, at + 1 : at + 3])
        self.base.records[to], self.base.keys[to] = live, keys[rows & mask]
        entries = self.directory.entries[: self.use["used"]]
        entries[:, layout.HEAD] = relinked(entries[:, layout.HEAD])
        for s in range(1, len(room)):
            here, former = self.table[s], before[s]
            rows = np.arange(here["low"], here["count"])
            of_rows = rings[former["ring"] + (rows & (former["size"] - 1))]
            self.rings[here["ring"] + (rows & (room[s] - 1))] = moved[of_rows]


def _powers_of_two(counts: Int64s) -> Int64s:
    """The least power of two that is at least each count, and SMALLEST."""
    return np.array([max(SMALLEST, 1 << (int(n) - 1).bit_length()) for n in counts])
