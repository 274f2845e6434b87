"""The tables of a stage: composites that live, the keys that they and rows have, and the rows; and room for more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eddy.attachments import table_kernels
from eddy.attachments.layout import (
    ENTRY,
    ENTRY_FREE,
    ENTRY_LOW,
    ENTRY_NEXT,
    FREE,
    KEY,
    NODE,
    NODE_FREE,
    NODE_NEXT,
    NODES_FREE,
    NONE,
    NUMBERS,
    ROW_ASCENDS,
    ROW_HELD,
    ROW_LIVE,
    ROW_NEXT,
    Entries,
    Int8s,
    Int64s,
    Nodes,
    Rows,
)
from eddy.values.types import Array

_FEWEST = 64


class Tables:
    """Those of one stage.

    Where composites end in the order in which they came, as the rows of a stream do, they lie in a ring in this order,
    so that nobody has to look for one. Others are found by a hash of their rows.
    """

    def __init__(
        self, streams: int, births: int, words: int, banded: bool, first_row: int, in_order: bool
    ) -> None:
        self._words, self._in_order = words, in_order
        self.numbers = np.zeros(NUMBERS, np.int64)
        self.numbers[[ENTRY_FREE, NODE_FREE]] = NONE
        if in_order:
            self.numbers[ENTRY_FREE] = FREE
        self.numbers[[ROW_NEXT, ROW_HELD, ROW_LIVE, ROW_ASCENDS]] = first_row
        self.entries = Entries(
            _lines(0, ENTRY),
            _lines(0, streams),
            _lines(0, births),
            np.empty((0, 2 * banded)),
            np.full(1, NONE, np.int32),
        )
        self.nodes = Nodes(_lines(0, _node_width(words)), np.full(1, NONE, np.int32))
        self.rows = Rows(_lines(0, 2), _lines(0, 3), np.empty(0, np.int64), _lines(0, births), np.empty(0))
        self.make_room(_FEWEST, _FEWEST)

    # -- a batch ---------------------------------------------------------------------------------------------------

    def nodes_of(self, keys: Int64s, valid: NDArray[np.uint8], makes: bool = True) -> Int64s:
        """The nodes of keys; -1 where one matches nothing."""
        found = np.empty(len(keys), np.int64)
        table_kernels.resolve(keys, valid, makes, self.nodes, self.numbers, found)
        return found

    def entries_of(self, rows: Int64s, signs: Int8s) -> Int64s:
        """Where composites are that die, and where those come to be that come, or are past: in order of time."""
        if not self._in_order:
            found = np.empty(len(rows), np.int64)
            table_kernels.identify(rows, signs, self.entries, self.numbers, found)
            return found
        comes = signs >= 0
        many, mask = int(np.count_nonzero(comes)), len(self.entries.lines) - 1
        low, after = self.numbers[ENTRY_LOW], self.numbers[ENTRY_NEXT]
        found = np.empty(len(rows), np.int64)
        found[comes] = np.arange(after, after + many) & mask
        found[~comes] = np.arange(low, low + len(rows) - many) & mask
        self.numbers[ENTRY_NEXT] += many
        return found

    def free(self, signs: Int8s, which: Int64s) -> None:
        """Composites of a batch that is over have died, or are past."""
        if self._in_order:
            self.numbers[ENTRY_LOW] += int(np.count_nonzero(signs < 0))
        else:
            table_kernels.free_entries(signs, which, self.entries, self.numbers)

    def alive(self) -> Int64s:
        """The entries of composites that live."""
        if self._in_order:
            mask = len(self.entries.lines) - 1
            return np.arange(self.numbers[ENTRY_LOW], self.numbers[ENTRY_NEXT]) & mask
        return np.flatnonzero(self.entries.lines[: self.numbers[ENTRY_NEXT], NODE] > FREE)

    def slots(self, rows: Int64s) -> Int64s:
        """Where rows of the stream are."""
        return rows & (len(self.rows.links) - 1)

    # -- memory ----------------------------------------------------------------------------------------------------

    def make_room(self, composites: int, rows: int) -> None:
        """Let so many more composites and rows in."""
        numbers = self.numbers
        need = int(numbers[ENTRY_NEXT] - numbers[ENTRY_LOW]) + composites
        if need > len(self.entries.lines):
            self._grow_entries(_power(need))
        need = composites + rows + 1  # NULL has a node, too
        if need > len(self.nodes.lines) - numbers[NODE_NEXT] + numbers[NODES_FREE]:
            self._sweep_nodes(need)
        need = int(numbers[ROW_NEXT] - numbers[ROW_HELD]) + rows
        if need > len(self.rows.links):
            self._grow_rows(_power(need))

    def _grow_entries(self, size: int) -> None:
        numbers, old = self.numbers, self.entries
        alive, used = self.alive(), int(numbers[ENTRY_NEXT])
        heads = np.full(1 if self._in_order else size, NONE, np.int32)
        lines, rows, births = (_lines(size, part.shape[1]) for part in (old.lines, old.rows, old.births))
        grown = Entries(lines, rows, births, np.empty((size, old.bounds.shape[1])), heads)
        if not self._in_order:
            for part, longer in zip(old[:4], grown[:4], strict=True):
                longer[:used] = part[:used]
            table_kernels.index_entries(grown, used)
        elif len(alive):
            to = np.arange(numbers[ENTRY_LOW], numbers[ENTRY_NEXT]) & (size - 1)
            for part, longer in zip(old[:4], grown[:4], strict=True):
                longer[to] = part[alive]
            places = np.empty(len(old.lines), np.int64)
            places[alive] = to
            table_kernels.moved(grown, self.nodes, to, places)
        self.entries = grown

    def _sweep_nodes(self, need: int) -> None:
        """Let go of keys that nobody has, and see that at least half of the places are free then."""
        numbers = self.numbers
        if len(self.nodes.lines):
            table_kernels.sweep(self.nodes, self._words, numbers)
        used = int(numbers[NODE_NEXT] - numbers[NODES_FREE])
        size = _power(max(2 * used, used + need))
        if size > len(self.nodes.lines):
            made = int(numbers[NODE_NEXT])
            longer = _lines(size, self.nodes.lines.shape[1])
            longer[:made] = self.nodes.lines[:made]
            self.nodes = Nodes(longer, np.full(size, NONE, np.int32))
            table_kernels.sweep(self.nodes, self._words, numbers)

    def _grow_rows(self, size: int) -> None:
        held = np.arange(self.numbers[ROW_HELD], self.numbers[ROW_NEXT])
        old = self.slots(held)
        grown: list[Array] = []
        for ring in self.rows:
            fresh = np.empty((size, *ring.shape[1:]), ring.dtype)
            fresh[held & (size - 1)] = ring[old]
            grown.append(fresh)
        self.rows = Rows(*grown)

    @property
    def nbytes(self) -> int:
        """Bytes of all tables."""
        return sum(array.nbytes for table in (self.entries, self.nodes, self.rows) for array in table)


def _lines(many: int, width: int) -> Int64s:
    """Room for lines that begin where a line of the cache does, if they are as long."""
    memory = np.empty(many * width + 7, np.int64)
    start = -(memory.ctypes.data // 8) % 8
    return memory[start : start + many * width].reshape(many, width)


def _node_width(words: int) -> int:
    """Longs of a node with a key of so many words: a part of a line of the cache, or whole lines."""
    width = KEY + words
    return 4 if width <= 4 else -(-width // 8) * 8


def _power(n: int) -> int:
    return max(_FEWEST, 1 << (n - 1).bit_length())
