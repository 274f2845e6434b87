"""A plan as a black box: it takes batches, returns results, and shares nothing with the plan in use.

The generalised techniques (HybMig, section 4) need no more of a plan than this, so they would do for any operator.
A box has rows of its own: those it is given.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np
from attrs import define, evolve, field
from numpy.typing import NDArray

from eddy.intake.batch import Batch
from eddy.intake.intake import Arrivals, Part
from eddy.router.executor import PlanExecutor
from eddy.store.stream import StoredStream, StreamState
from eddy.values.types import Array

PIECE = 512
"""Old rows that are replayed at a time: as many are processed after a batch at the least."""


@define(eq=False)
class BlackBox:
    """A plan that runs apart. What it is given is queued until it is drained."""

    streams: list[StreamState]
    router: PlanExecutor
    firsts: NDArray[np.int64]
    """The first row of each stream that it may be given."""
    behind: int = field(default=0, init=False)
    """Events that are queued."""
    _queue: deque[Batch] = field(factory=deque, init=False)
    _queued_bytes: int = field(default=0, init=False)

    @property
    def nbytes(self) -> int:
        """Its rows and its STAIRs, and what is queued."""
        rows = self._queued_bytes + sum(stream.nbytes for stream in self.streams)
        return rows + self.router.nbytes + sum(stair.nbytes for stair in self.router.every_stair)

    def codes_in_use(self) -> Iterator[Array]:
        """The string codes of its rows, and of those that are queued."""
        for stream in self.streams:
            yield from stream.payload.codes_in_use()
        for batch in self._queue:
            for part in batch.arrivals.parts:
                for name, kind in self.streams[part.stream].payload.columns.items():
                    if kind.is_coded:
                        yield part.columns[name].values

    def feed(self, batch: Batch) -> None:
        self._queue.append(batch)
        self.behind += len(batch.arrivals.streams)
        self._queued_bytes += batch.nbytes

    def drain(self, events: int | None = None) -> None:
        """Process what is queued, oldest first, until at least ``events`` are done (None: all); results are dropped."""
        done = 0
        while self._queue and (events is None or done < events):
            batch = self._queue.popleft()
            self._process(batch)
            done += len(batch.arrivals.streams)
            self.behind -= len(batch.arrivals.streams)
            self._queued_bytes -= batch.nbytes

    def _process(self, batch: Batch) -> None:
        lows, firsts = np.maximum(batch.lows, self.firsts), self.firsts.astype(np.int32)
        for stream in self.streams:
            stream.payload.retain_from(int(lows[stream.number]))
        marks = np.where(firsts - batch.marks > 0, firsts, batch.marks)
        self.router.take_in(evolve(batch, marks=marks, floor=lows.astype(np.int32), lows=lows), 0)


def history(streams: Sequence[StoredStream], lows: NDArray[np.int64]) -> Iterator[Batch]:
    """The live rows as batches, stream by stream.

    All of them are live together, so what a plan makes of them does not depend on their order.
    """
    counts, events = lows.copy(), np.arange(PIECE, dtype=np.int32)
    for stream in streams:
        s, first, stop = stream.number, int(lows[stream.number]), stream.payload.next_row
        rows = np.arange(first, stop)
        columns = {name: stream.payload.storage(name, rows) for name in stream.payload.columns}
        keys = {c: stream.stored_keys(c, first, len(rows)) for c in stream.classes}
        kept = stream.kept(first, len(rows))
        whole = Part(s, columns, keys, None if kept.all() else kept, events)
        for start in range(0, len(rows), PIECE):
            n = min(PIECE, len(rows) - start)
            part = whole.take(slice(start, start + n))
            part.events = events[:n]
            marks = np.broadcast_to(lows.astype(np.int32), (n, len(lows)))
            before = counts.copy()
            counts[s] += n
            arrivals = Arrivals(np.full(n, s, np.int32), None, (part,))
            yield Batch(arrivals, marks, marks[0], lows.copy(), before, counts.copy())
