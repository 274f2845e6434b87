"""Visits: in the middle of a batch, what waits is woken, and what is new is judged.

A row that waits is in its leaf, under its number, but in no chain: nobody can find it. So when it comes back it is an
arrival: it is linked, at its place, and taken along its itinerary as older than every event of the batch. Composites
with it are stored before the batch's own entries meet them, and may wake others in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eddy.blacklist import Rows
from eddy.edge import Edge, Unit
from eddy.intake import Part
from eddy.itinerary import Streams
from eddy.leaf import NONE
from eddy.presence import Marks
from eddy.revival import Revival
from stairs.hiding_kernels import admit
from stairs.ring_kernels import keep
from stairs.waiting_kernels import read_entries

if TYPE_CHECKING:
    from eddy.router import Router


class Visits:
    """Visits the nodes of a plan, in an order in which all that an entry may wait for is up to date."""

    def __init__(self, router: Router, clock: Callable[[], float]) -> None:
        self.router = router
        self.clock = clock
        self.revival = Revival(router)
        self.seconds = 0.0
        """Time spent on judging, waking and bringing back."""
        self.whole = True
        """No STAIR has holes. Else no composite waits: to fill a hole would make it once more."""
        self.pending: dict[Streams, Rows] = {}
        """What has waited for something that nobody looks for any more: it is judged anew."""
        self._parts: dict[int, Part] = {}
        self._revealed: dict[int, NDArray[np.int32]] = {}
        """Rows that this batch has brought back, by stream."""
        self._past: Marks | None = None

    def begin(self) -> None:
        """A batch has begun."""
        self._parts, self._revealed, self._past = {}, {}, None

    def take(self, parts: Sequence[Part]) -> None:
        """The rows of the batch."""
        self._parts = {part.stream: part for part in parts}

    def judge_anew(self, unit: Unit, rows: Rows) -> None:
        """Let entries be judged by all edges when their node is next visited."""
        self.pending[unit.streams] = np.concatenate((*self._take_pending(unit.streams), rows))

    def rows(self, unit: Unit) -> None:
        """Wake rows of a stream, and judge those that arrive; from now on the others can be found."""
        start, s, state = self.clock(), unit.streams[0], unit.state
        assert state is not None
        woken = self._woken(unit)
        if len(woken):
            self._revealed[s] = woken[:, 0]
            self.revival.rows(unit, woken[:, 0], self._before(), self.whole)
        part = self._parts.get(s) if unit.edges else None
        if part is None:
            self.bill(unit.edges, start)
            return
        n, first = len(part.events), state.base.base
        flags = np.ones(n, np.uint8) if part.kept is None else part.kept.copy()
        left = n if part.kept is None else int(np.count_nonzero(flags))
        rows = np.arange(first, first + n).astype(np.int32).reshape(-1, 1)
        unit.suspended += unit.judge(rows, self.router.marks, part.events, flags, left)
        self.bill(unit.edges, start)
        admit(unit.leaves, part.events, flags)

    def composites(self, unit: Unit) -> None:
        """The same for composites that are about to be stored."""
        start, stair = self.clock(), unit.stair
        assert stair is not None
        woken = self._woken(unit)  # first: what this batch suspends was judged by all that it has brought
        low, high = stair.delta
        unit.arrived += high - low
        if low < high and self.whole:
            rows = np.empty((high - low, stair.components), np.int32)
            read_entries(stair.state, low, rows)
            moments = stair.state[2][low - stair.base : high - stair.base].copy()
            flags = np.ones(high - low, np.uint8)
            failed = unit.judge(rows, self.router.marks, moments, flags, high - low)
            if failed:
                unit.suspended += failed
                keep(stair.state, low, flags)
                stair.delta = low, stair.tail
        if len(woken):
            self.revival.composites(unit, woken, self._before())
        self.bill(unit.edges, start)

    def bill(self, edges: Sequence[Edge], start: float) -> None:
        """Something has been done since ``start``: these edges share the time by what they have done."""
        spent = self.clock() - start
        self.seconds += spent
        if len(edges) == 1:
            edges[0].charge(spent)
            return
        done = [1 + edge.judged + edge.looked for edge in edges]
        share = spent / sum(done, 0.0) if done else 0.0
        for edge, part in zip(edges, done, strict=True):
            edge.charge(share * part)

    def _woken(self, unit: Unit) -> Rows:
        """Entries that waited for something which this batch has brought, and wait for nothing else."""
        found = self._take_pending(unit.streams)
        for edge in unit.edges:
            if edge.blacklist.waiting:
                woken = self._woken_at(edge)
                if len(woken):
                    found.append(woken)
        if not found:
            return np.empty((0, len(unit.streams)), np.int32)
        rows = found[0] if len(found) == 1 else np.concatenate(found)
        flags, moments = np.ones(len(rows), np.uint8), np.zeros(len(rows), np.int32)
        unit.judge(rows, self.now, moments, flags, len(rows))
        return rows[flags.view(np.bool_)]

    def _woken_at(self, edge: Edge) -> Rows:
        opposite = edge.opposite
        revealed = self._revealed.get(opposite[0], NONE) if len(opposite) == 1 else NONE
        found = edge.wake(revealed, self.now)
        if edge.drop is not None:  # what is left of loading
            edge.drop(edge.blacklist.wake_all(self.now[0]))
        return found

    def _take_pending(self, streams: Streams) -> list[Rows]:
        """What is to be judged anew, once, without what is dead."""
        if streams not in self.pending:
            return []
        rows = self.pending.pop(streams)
        rows = rows[(rows - self.now[0, list(streams)] >= 0).all(axis=1)]
        return [rows] if len(rows) else []

    @property
    def now(self) -> Marks:
        """The marks at the first event of the batch: what is dead by these is so for all of it."""
        return self.router.marks[:1] if len(self.router.marks) else self.router.floor

    def _before(self) -> Marks:
        """Marks for entries older than every event of the batch, which meet only their like: nothing that has come
        with the batch is live by these."""
        if self._past is None:
            self._past = np.vstack((self.now, self.router.newest.astype(np.int32)))
        return self._past
