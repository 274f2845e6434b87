"""Which rows belong to which shard: a part of the hashes of every dimension of a grid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from eddy.intake.intake import Arrivals, Part
from eddy.intake.lowwater import Given
from eddy.intake.travel import ROW
from eddy.partition.choice import Partitioning
from eddy.store.stream import StoredStream
from eddy.threads.deal_kernels import spread_keys
from eddy.values.types import Array, Column

LEADS = 0.05
"""So much of a shard's part is spared to who leads."""
WHOLE = 1 << 32
"""Hashes are below this."""


class Deal:
    """Which part of the hashes of every dimension belongs to which shard."""

    def __init__(self, partitioning: Partitioning) -> None:
        (grid,) = partitioning.grids
        self._partitioning = partitioning
        self.shares, self._strides = grid.shares, grid.strides
        self._classes = [c.index for c in partitioning.classes]

    def dimensions(self, stream: int) -> list[tuple[int, int | None]]:
        """The dimensions that cover a stream: the number of each, and the class of its keys; None: the row number."""
        name, first = self._partitioning.query.names[stream], len(self._classes)
        found: list[tuple[int, int | None]] = []
        for d, share in enumerate(self.shares):
            if share > 1 and d < first and name in self._partitioning.classes[d].members:
                found.append((d, self._classes[d]))
            elif share > 1 and d == first + stream:
                found.append((d, None))
        return found

    def bounds(self, shard: int) -> Array:
        """From which hash on, and below which, each dimension belongs to a shard."""
        places = [shard // stride % share for share, stride in zip(self.shares, self._strides, strict=True)]
        bounds = [
            _bound(share, place)
            for share, own in zip(self.shares, places, strict=True)
            for place in (own, own + 1)
        ]
        return np.array([*bounds, 0, 0], np.int64)

    def cells(self, part: Part, first: int) -> tuple[Array, Array]:
        """Which rows of a part go to which shards; a row that is ruled out goes to none."""
        rows = np.arange(len(part.events)) if part.kept is None else np.flatnonzero(part.kept)
        hashes = []
        for d, index in self.dimensions(part.stream):
            keys = rows + first if index is None else part.keys[index][rows]
            hashes.append((d, np.empty(len(rows), np.int64)))
            spread_keys(keys, d, hashes[-1][1])
        places, cells = [], []
        for c in range(self._partitioning.cells):
            bounds, here = self.bounds(c), np.ones(len(rows), np.bool_)
            for d, found in hashes:
                here &= (bounds[2 * d] <= found) & (found < bounds[2 * d + 1])
            places.append(rows[here])
            cells.append(np.full(len(places[-1]), c))
        return np.concatenate(places), np.concatenate(cells)

    def batch(
        self, parts: Sequence[Part], lows: Array, counts: Array, marks: NDArray[np.int32], given: list[int]
    ) -> list[tuple[Arrivals, NDArray[np.int32]]]:
        """What each shard gets of a batch: arrivals, and the places of its events in the whole.

        ``lows`` and ``counts`` are those before it; ``given`` are the streams whose marks come with the events.
        """
        m, k = len(marks), self._partitioning.cells
        here = np.zeros((k, m), np.bool_)
        numbers, streams = np.empty(m, np.int64), np.empty(m, np.int32)
        mine: list[list[Array]] = []
        for part in parts:
            places, cells = self.cells(part, int(counts[part.stream]))
            numbers[part.events] = np.arange(len(part.events)) + counts[part.stream]
            streams[part.events] = part.stream
            mine.append([places[cells == shard] for shard in range(k)])
            here[cells, part.events[places]] = True
        wide = lows + (marks - lows.astype(np.int32)).astype(np.int64)
        found = []
        for shard in range(k):
            events = np.flatnonzero(here[shard]).astype(np.int32)
            rank = np.cumsum(here[shard], dtype=np.int32) - np.int32(1)
            own = tuple(
                chosen(part, places[shard], rank, int(counts[part.stream]))
                for part, places in zip(parts, mine, strict=True)
                if len(places[shard])
            )
            brought = Given(numbers[events], np.ascontiguousarray(wide[events][:, given]))
            found.append((Arrivals(streams[events], None, own, brought), events))
        return found

    def wholes(self, wholes: Sequence[Part], lows: Sequence[int]) -> Iterator[tuple[list[Part], list[Array]]]:
        """What each shard gets of streams' live rows, of which the first have these numbers: parts, and numbers."""
        dealt = [self.cells(whole, low) for whole, low in zip(wholes, lows, strict=True)]
        for shard in range(self._partitioning.cells):
            parts, numbers = [], []
            for whole, low, (places, cells) in zip(wholes, lows, dealt, strict=True):
                mine = places[cells == shard]
                parts.append(chosen(whole, mine, np.full(len(whole.events), -1, np.int32), low))
                numbers.append(mine + low)
            yield parts, numbers


def _bound(share: int, place: int) -> int:
    """Where a part begins. The first is larger: who leads has more to do, and takes a later one."""
    return min(WHOLE, (share + place * WHOLE - 1) // share + (0 < place < share) * int(LEADS * WHOLE / share))


def whole_part(stream: StoredStream, low: int) -> Part:
    """All live rows of a stream."""
    n = stream.payload.next_row - low
    rows = np.arange(low, low + n)
    columns = {name: stream.payload.storage(name, rows) for name in stream.payload.columns}
    keys = {c: stream.stored_keys(c, low, n) for c in stream.classes}
    return Part(stream.number, columns, keys, stream.kept(low, n), np.zeros(n, np.int32))


def chosen(part: Part, places: Array, rank: NDArray[np.int32], first: int) -> Part:
    """Some rows of a part, whose events have other places, with their numbers."""
    rows = part.take(places, [name for name, c in part.columns.items() if isinstance(c.values, np.ndarray)])
    rows.columns[ROW] = Column(places + first)
    rows.kept, rows.events = None, rank[rows.events]
    return rows
