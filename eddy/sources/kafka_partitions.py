"""What was read of the partitions of a topic and not yet given, and in which order it is given.

Each partition has an order of its own, and none with the others. So rows are merged by time: a row is given when all
partitions that may have an older one have been read beyond it. One that was read to its end holds nobody up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define, field, frozen

from eddy.sources.base import Bad, Piece
from eddy.sources.kafka_messages import Chunk

BEFORE = -(2**62)
AFTER = 2**62
"""Before and after all times."""


@define(eq=False)
class Partition:
    """One partition."""

    number: int
    at: int
    """The offset of the next message that is to be given."""
    end: int | None
    """Where to stop; None: nowhere."""
    fetched: int = field(init=False)
    """The offset of the next message that is to be read."""
    newest: int = BEFORE
    """The highest key that was read."""
    caught_up: bool = False
    """Whether there was nothing more when it was asked last."""
    paused: bool = False
    _held: deque[Chunk] = field(factory=deque)
    _used: int = 0
    """Rows of the first chunk that were given."""
    _rows: int = 0

    @fetched.default
    def _nothing_yet(self) -> int:
        return self.at

    @property
    def ended(self) -> bool:
        """Whether all of it was read that is to be read."""
        return self.end is not None and (self.caught_up or self.fetched >= self.end)

    @property
    def count(self) -> int:
        """Rows that are held."""
        return self._rows - self._used

    def hold(self, chunk: Chunk) -> None:
        """More messages were read."""
        self._held.append(chunk)
        self._rows += len(chunk.offsets)
        self.fetched = chunk.end
        if len(chunk.keys):
            self.newest = int(chunk.keys[-1])

    def horizon(self, batch: int) -> int:
        """The key up to which rows may be given as far as this partition is concerned, if about so many are wanted."""
        found = AFTER if self.ended or self.caught_up else self.newest if self.count else BEFORE
        rows = -self._used
        for chunk in self._held:
            if rows + len(chunk.keys) >= batch:
                return min(found, int(chunk.keys[batch - rows - 1]))
            rows += len(chunk.keys)
        return found

    def reach(self, horizon: int) -> int:
        """The offset behind the last message that may be given."""
        to, used = self.at, self._used
        for chunk in self._held:
            count = int(np.searchsorted(chunk.keys, horizon, "right"))
            if count < len(chunk.keys):
                return max(to, int(chunk.offsets[count])) if count >= used else to
            to, used = chunk.end, 0
        return to

    def take(self, to: int) -> list[tuple[Any, Any, Any]]:
        """Rows before an offset, with keys and offsets; and let go of them."""
        parts = []
        while self._held:
            chunk = self._held[0]
            stop = int(np.searchsorted(chunk.offsets, to))
            if stop > self._used:
                rows = slice(self._used, stop)
                parts.append(
                    (chunk.rows.slice(self._used, stop - self._used), chunk.keys[rows], chunk.offsets[rows])
                )
            if chunk.end > to:
                self._used = max(self._used, stop)
                break
            self._held.popleft()
            self._rows -= len(chunk.offsets)
            self._used = 0
        return parts

    def bad(self, to: int) -> list[Bad]:
        """Bad messages before an offset that were not told of yet."""
        return [
            one
            for chunk in self._held
            for one in chunk.bad
            if one.row is not None and self.at <= one.row < to
        ]


def merged(
    partitions: Mapping[int, Partition], to: Mapping[int, int], position: Any, names: Mapping[int, str]
) -> Piece:
    """The messages before these offsets, merged by their keys; partitions go on behind them."""
    tables, keys, offsets, sizes, bad = [], [], [], [], list[Bad]()
    for number, partition in sorted(partitions.items()):
        stop = to.get(number, partition.at)
        bad += partition.bad(stop)
        parts = partition.take(stop)
        partition.at = max(partition.at, stop)
        for table, key, offset in parts:
            tables.append(table)
            keys.append(key)
            offsets.append(offset)
            sizes.append((number, len(key)))
    if not tables:
        return Piece(None, position, tuple(bad))
    rows = pa.concat_tables(tables) if len(tables) > 1 else tables[0]
    lines = np.concatenate(offsets)
    numbers = np.repeat([number for number, _ in sizes], [size for _, size in sizes])
    key = np.concatenate(keys)
    if len(partitions) > 1 and (key[1:] < key[:-1]).any():
        order = np.argsort(key, kind="stable")
        rows, lines, numbers = rows.take(pa.array(order)), lines[order], numbers[order]
    return Piece(rows, position, tuple(bad), None, int(lines[0]), lines, Places(numbers, names))


@frozen(eq=False)
class Places:
    """What the partition of each row is called; as a list of texts, which is not made."""

    numbers: Any
    names: Mapping[int, str]

    def __getitem__(self, row: Any) -> Any:
        found = self.numbers[row]
        return Places(found, self.names) if isinstance(row, slice) else self.names[int(found)]
