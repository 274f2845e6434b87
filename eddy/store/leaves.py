"""Storing a batch: the rows of all streams enter their leaves in one go."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eddy.intake.intake import Part
from eddy.store.stream import StreamState
from stairs.begin_kernels import LEAF, TABLE, begin_rings
from stairs.lowlevel.address import handle
from stairs.program_kernels import JOB, append_leaves, store
from stairs.stair import Stair

NONE = np.empty(0, np.int32)
"""In place of a floor, which leaves do not need."""

REVIEW = 64
"""Batches between two looks at whether rings have become too large."""


class Leaves:
    """The leaf STAIRs of some streams, and their payload."""

    def __init__(self, streams: Sequence[StreamState]) -> None:
        self.streams = {stream.number: stream for stream in streams}
        self._table = np.empty((0, TABLE), np.int64)
        self._versions: list[int] = []
        self.batches = 0

    @property
    def rings(self) -> NDArray[np.int64]:
        """The leaves as a table for the kernel that begins a batch in them. Plans make and drop leaves."""
        versions = [stream.version for stream in self.streams.values()]
        if versions != self._versions:
            self._versions = versions
            leaves = [(s.number, leaf) for s in self.streams.values() for leaf in s.stairs.values()]
            self._table = np.array([(LEAF, leaf.address, number) for number, leaf in leaves], np.int64)
        return self._table

    @property
    def reviews_next(self) -> bool:
        """Whether the next batch gives memory back."""
        return (self.batches + 1) % REVIEW == 0

    def begin(self, lows: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Begin a batch: rows below ``lows`` are dead, the next ones are ``counts``; both by stream number."""
        begin_rings(self.rings, 0, lows, counts, NONE)
        self.begun()

    def begun(self) -> None:
        """A batch has begun in the leaves: now and then memory is given back."""
        self.batches += 1
        if self.batches % REVIEW == 0:
            for stream in self.streams.values():
                stream.review()

    def append(self, parts: Sequence[Part], unlinked: Collection[int] = ()) -> None:
        """Store the rows of a batch; those not kept only have their number, and so have all of ``unlinked`` streams."""
        jobs: list[int] = []
        columns: list[int] = []
        leaves: list[Stair] = []
        held: list[Any] = []
        for part in parts:
            stream, n = self.streams[part.stream], len(part.events)
            first = stream.payload.next_row
            columns += stream.payload.reserve(part.columns, n)
            if stream.measures:
                stream.measures.append(part, first)
            kept = np.zeros(n, np.uint8) if part.stream in unlinked else part.kept
            events, flags = handle(part.events), 0 if kept is None else handle(kept)
            held.append(kept)
            for key, leaf in stream.stairs.items():
                keys = stream.keys(key, part.keys, first, n)
                leaves.append(leaf)
                held.append(keys)  # for as long as its handle is used
                jobs += (leaf.address, handle(keys), events, flags, n, 0)
        table = np.array(columns + jobs, np.int64)
        at = store(table, len(columns) // JOB, len(leaves))
        if at < len(leaves):
            appended = table[len(columns) :].reshape(-1, JOB)
            while at < len(leaves):
                leaves[at].reserve(int(appended[at, 4]))
                at = append_leaves(appended, at)
