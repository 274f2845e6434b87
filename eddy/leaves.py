"""Storing a batch: the rows of all streams enter their leaves in one go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eddy.intake import Part
from eddy.leaf import StreamState
from stairs.program_kernels import append_leaves, begin_leaves
from stairs.stair import ALL, Stair


class Leaves:
    """The leaf STAIRs of some streams, and their payload."""

    def __init__(self, streams: Sequence[StreamState]) -> None:
        self.streams = {stream.number: stream for stream in streams}
        self._table = np.empty((0, 2), np.int64)
        self._known: list[Stair] = []
        self._indexed = [stream for stream in streams if stream.indexes]

    def begin(self, lows: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Begin a batch: rows below ``lows`` are dead, the next ones are ``counts``; both by stream number."""
        self._look()
        begin_leaves(self._table, lows, counts)
        for stream in self._indexed:
            low = int(lows[stream.number])
            for _, index in stream.indexes.values():
                index.expire(low)

    def _look(self) -> None:
        """Plans make and drop leaves."""
        leaves = [leaf for stream in self.streams.values() for leaf in stream.stairs.values()]
        if leaves != self._known:
            self._known = leaves
            table = [(leaf.address, leaf.stream_list[0]) for leaf in leaves]
            self._table = np.array(table, np.int64)

    def append(self, parts: Sequence[Part]) -> None:
        """Store the rows of a batch; those not kept only have their number."""
        jobs, leaves, keys, offset, start = [], [], [], 0, 0
        for part in parts:
            stream, n = self.streams[part.stream], len(part.events)
            first = stream.payload.next_row
            stream.payload.append(part.columns, n)
            if stream.indexes:
                stream.index_rows(part, first)
            for key, leaf in stream.stairs.items():
                leaf.note_usual(n)
                leaves.append(leaf)
                jobs.append((leaf.address, start, offset, n))
                keys.append(stream.keys(key, part.keys, first, n))
                start += n
            offset += n
        if not parts:
            return
        events = np.concatenate([part.events for part in parts])
        table, flat, kept = np.array(jobs), np.concatenate(keys), _flags(parts, offset)
        at = append_leaves(table, 0, flat, events, kept)
        while at < len(jobs):
            leaves[at].reserve(jobs[at][3])
            at = append_leaves(table, at, flat, events, kept)


def _flags(parts: Sequence[Part], n: int) -> NDArray[np.uint8]:
    if all(part.kept is None for part in parts):
        return ALL
    flags = np.ones(n, np.uint8)
    offset = 0
    for part in parts:
        if part.kept is not None:
            flags[offset : offset + len(part.events)] = part.kept
        offset += len(part.events)
    return flags
