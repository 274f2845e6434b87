"""The results of a batch out of all shards: each has its own in order, and they are merged by their latest events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from eddy.intake.travel import ROW
from eddy.router.chunks import chunks
from eddy.threads.gather_kernels import gather
from eddy.threads.layout import GATHERED, GATHERED_STREAM
from eddy.values.types import Array
from stairs.lowlevel import struct

if TYPE_CHECKING:
    from eddy.threads.shard import Shard

Found = tuple[Array, Array]
"""Events, and a line of row numbers for each."""


class Reading:
    """What all shards have made of a batch, to be read before their rings are used again.

    ``told`` is what kernels say of a batch that they have done, of so many events; else shards know by themselves.
    """

    def __init__(self, shards: Sequence[Shard], ring: int, events: int, told: Array | None) -> None:
        self._shards, self._events = shards, events
        rings = [shard.router.results[ring] for shard in shards]
        self._states = [(found.state, found.base) for found in rings]
        self._given: list[tuple[int, Array | None, Array]]
        if told is None:
            self._given = [(shard.made, shard.events, shard.newest) for shard in shards]
        else:
            self._given = [(int(line[1]), None, line[2:]) for line in told]

    def __call__(self) -> Found:
        """Events of the whole batch, ascending, and rows by their numbers in the whole of their streams."""
        n, total = len(self._given[0][2]), sum(made for made, _, _ in self._given)
        table = np.zeros(len(self._shards), GATHERED)
        streams = np.zeros((len(self._shards), n), GATHERED_STREAM)
        for line, own, shard, (state, start), given in zip(
            struct.lines(table), streams, self._shards, self._states, self._given, strict=True
        ):
            made, events, newest = given
            line.made, line.start, line.streams = made, start, own.ctypes.data
            line.records, line.mask, line.events = (
                state[0].ctypes.data,
                len(state[0]) - 1,
                state[2].ctypes.data,
            )
            line.places = 0 if events is None else events.ctypes.data
            numbers = [stream.payload.rings[ROW] for stream in shard.state.streams]
            own["next_row"] = newest
            own["numbers"] = [ring.ctypes.data for ring in numbers]
            own["mask"] = [len(ring) - 1 for ring in numbers]
        found, rows = np.empty(total, np.int32), np.empty((total, n), np.int64)
        gather(table.ctypes.data, len(table), np.zeros(self._events + 1, np.int64), found, rows)
        return found, rows

    def rows(self) -> Array:
        """The rows alone."""
        return self()[1]


def pieces(shards: Sequence[Shard], width: int, max_rows: int, ring: int) -> Iterator[Array]:
    """The rows of a batch that was run without results, in parts of bounded size."""
    most = max(1, max_rows // len(shards))
    heads = []
    for shard in shards:
        if len(shard.events):
            source = (shard.reader(found)() for found in chunks(shard.router, most, ring))
            head = next(source, None)
            if head is not None:
                heads.append((shard, source, *head))
    while heads:
        bound = min(events[-1] for _, _, events, _ in heads)
        taken, left = [], []
        for shard, source, events, rows in heads:
            at = int(np.searchsorted(events, bound, side="right"))
            taken.append((events[:at], rows[:at]))
            shard.made += at
            head = (events[at:], rows[at:]) if at < len(events) else next(source, None)
            if head is not None:
                left.append((shard, source, *head))
        whole = merged(width, taken)[1]
        for start in range(0, len(whole), max_rows):
            yield whole[start : start + max_rows]
        heads = left


def merged(width: int, parts: Sequence[Found]) -> Found:
    """Events and rows of several in the order of the events."""
    events = np.concatenate([np.empty(0, np.int32), *(events for events, _ in parts)])
    rows = np.concatenate([np.empty((0, width), np.int64), *(rows for _, rows in parts)])
    order = np.argsort(events, kind="stable")
    return events[order], rows[order]
