"""Suspension: what no consumer can use now is put by, and comes back when one can.

A row that waits is in its leaf, under its number, but in no chain: nobody can find it. So when it comes back it is an
arrival: it is linked, at its place, and taken along its itinerary as older than every event of the batch. Composites
with it are stored before the batch's own entries meet them, and may wake others in turn.

A batch visits the nodes in such an order that all that an entry may wait for is up to date (`eddy.demand`). A visit
wakes what this batch has brought a partner for, and judges what is new.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eddy.binding import Halt
from eddy.blacklist import Rows
from eddy.demand import Designer, Edge, Unit
from eddy.intake import Part
from eddy.itinerary import Key
from eddy.leaf import NONE, StreamState
from eddy.presence import keys_of
from eddy.program import Program, compile_program
from eddy.track import Track
from stairs import Ring
from stairs.holes import Keys
from stairs.ring_kernels import keep
from stairs.waiting_kernels import admit, append_entries, link_rows, read_entries, relink

if TYPE_CHECKING:
    from eddy.router import Router
    from policies import Feedback

TRIAL = 8
"""Batches after which an edge is reviewed."""

Flags = NDArray[np.uint8]
Marks = NDArray[np.int32]


class Suspension:
    """What waits, in all nodes of the current plan."""

    def __init__(self, policy: Feedback, router: Router) -> None:
        self.policy = policy
        self.router = router
        self.units: list[Unit] = []
        self.seconds = 0.0
        """Time spent on judging, waking and bringing back."""
        self.gone = [0, 0]
        """Entries suspended and resumed under plans that are gone."""
        self._programs: tuple[Program, Program] | None = None
        """That of the plan as it is, and the same with visits."""
        self._watching = False
        self._whole = True
        """No STAIR has holes. Else no composite waits: to fill a hole would make it once more."""
        self._pending: dict[int, Rows] = {}
        """Rows that have waited under a former plan, by stream: they are judged anew."""
        self._parts: dict[int, Part] = {}
        self._revealed: dict[int, list[NDArray[np.int32]]] = {}
        """Rows that this batch has brought back, by stream."""

    # -- a batch ---------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """A batch is about to begin: see what plan there is, and whether anything is to be watched."""
        track = self.router.tracks[-1]
        if self._programs is None or all(track.program is not program for program in self._programs):
            self._design(track)
        assert self._programs is not None
        self._whole = all(stair.complete for stair in track.stairs.values())
        edges = [edge for unit in self.units for edge in unit.edges]
        self._watching = bool(self._pending) or any(
            edge.resting == 0 or edge.blacklist.waiting for edge in edges
        )
        track.program = self._programs[self._watching]

    def _design(self, track: Track) -> None:
        """The plan is another: what waits is judged under it when its stream is next visited."""
        self._put_by()
        self.units = []
        schedule: Sequence[Halt | Unit] = track.halts
        if len(self.router.tracks) == 1 and track.hybrid is None and track.born is None:
            self.units, schedule = Designer(self.policy, self.router.binder, track).design()
        assert self.units or not self._pending
        plain = compile_program(track.halts)
        for unit in self.units:
            if unit.state is not None:
                unit.state.suspended = partial(self._suspended, unit)
            elif unit.stair is not None:
                unit.stair.forewarned = self._release_composites
                if unit.edges:
                    unit.halt.visit = partial(self._visit_composites, unit)
        steps = [item if isinstance(item, Halt) else partial(self._visit_rows, item) for item in schedule]
        self._programs = plain, compile_program(steps)

    def _put_by(self) -> None:
        """Remember the rows that wait, apart from what they wait for."""
        for unit in self.units:
            self.gone[0] += unit.suspended
            self.gone[1] += unit.resumed
            if unit.state is not None:
                rows = self._suspended(unit)
                unit.state.suspended = partial(np.copy, rows)
                if len(rows):
                    self._pending[unit.streams[0]] = rows.reshape(-1, 1)

    def _suspended(self, unit: Unit) -> NDArray[np.int32]:
        """The rows of a stream that wait."""
        floor, s = self.router.floor[0], unit.streams[0]
        found = [edge.blacklist.rows(floor)[:, 0] for edge in unit.edges if edge.blacklist.waiting]
        return np.concatenate((NONE, self._pending.get(s, NONE.reshape(-1, 1))[:, 0], *found))

    def begin(self, lows: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Begin a batch: what has left its window need not wait any longer."""
        floor = self.router.floor[0]
        self._parts, self._revealed = {}, {}
        for unit in self.units:
            for edge in unit.edges:
                edge.blacklist.begin(floor, lows, counts)
                self._review(edge)

    def review(self) -> None:
        """Now and then: give memory back."""
        for unit in self.units:
            for edge in unit.edges:
                edge.blacklist.review(self.router.floor[0])

    def _review(self, edge: Edge) -> None:
        """Now and then the policy is asked whether an edge is worth its while."""
        if edge.resting > 0:
            edge.resting -= 1
            return
        edge.batches += 1
        if edge.batches >= TRIAL and edge.judged + edge.looked:
            edge.resting = edge.patience = self.policy.rest(edge)
            edge.batches = edge.judged = edge.failed = edge.returned = edge.looked = 0

    def hold(self, parts: Sequence[Part]) -> bool:
        """A batch's rows are about to be stored; whether they are to be linked later, when they are visited."""
        if self._watching:
            self._parts = {part.stream: part for part in parts}
        return self._watching

    # -- visits ----------------------------------------------------------------------------------------------------

    def _visit_rows(self, unit: Unit) -> None:
        """Wake rows of a stream, and judge those that arrive; from now on the others can be found."""
        start = time.perf_counter()
        assert unit.state is not None
        woken = self._woken(unit)
        if len(woken):
            self._reveal(unit, woken, self._before())
        part = self._parts.get(unit.streams[0])
        if part is not None:
            state, n = unit.state, len(part.events)
            first = state.base.base
            flags = np.ones(n, np.uint8) if part.kept is None else part.kept.copy()
            rows = np.arange(first, first + n).astype(np.int32).reshape(-1, 1)
            keys = partial(_arriving_keys, state, part.keys, first, n)
            unit.suspended += self._judge(unit, rows, keys, self.router.marks, part.events, flags)
            for leaf in state.stairs.values():
                admit(leaf.state, part.events, flags)
        self.seconds += time.perf_counter() - start

    def _visit_composites(self, unit: Unit) -> None:
        """The same for composites that are about to be stored."""
        start = time.perf_counter()
        stair = unit.stair
        assert stair is not None
        woken = self._woken(unit)  # first: what this batch suspends was judged by all that it has brought
        low, high = stair.delta
        if low < high and self._whole:
            rows = np.empty((high - low, stair.components), np.int32)
            read_entries(stair.state, low, rows)
            moments = stair.state[2][low - stair.base : high - stair.base].copy()
            flags = np.ones(high - low, np.uint8)
            failed = self._judge(unit, rows, partial(_keys, rows), self.router.marks, moments, flags)
            if failed:
                unit.suspended += failed
                keep(stair.state, low, flags)
                stair.delta = low, stair.tail
        if len(woken):
            self._store(unit, woken, self._before())
        self.seconds += time.perf_counter() - start

    def _woken(self, unit: Unit) -> Rows:
        """Entries that waited for something which this batch has brought, and wait for nothing else."""
        floor = self.router.floor
        found = []
        if unit.state is not None and self._pending:
            rows = self._pending.pop(unit.streams[0], NONE.reshape(-1, 1))
            found.append(rows[rows[:, 0] - floor[0, unit.streams[0]] >= 0])
        for edge in unit.edges:
            if edge.blacklist.waiting:
                keys = edge.presence.fresh(self._revealed_rows(edge.opposite))
                edge.looked += len(keys)
                found.append(edge.blacklist.wake(keys, floor[0]))
                edge.returned += len(found[-1])
        rows = np.concatenate((np.empty((0, len(unit.streams)), np.int32), *found))
        if len(rows) == 0:
            return rows
        flags, moments = np.ones(len(rows), np.uint8), np.zeros(len(rows), np.int32)
        self._judge(unit, rows, partial(_keys, rows), floor, moments, flags)
        return rows[flags.view(np.bool_)]

    def _revealed_rows(self, streams: tuple[int, ...]) -> NDArray[np.int32]:
        found = self._revealed.get(streams[0], []) if len(streams) == 1 else []
        return np.concatenate((NONE, *found))

    def _judge(
        self,
        unit: Unit,
        rows: Rows,
        keys: Callable[[Edge], Keys],
        marks: Marks,
        moments: NDArray[np.int32],
        flags: Flags,
    ) -> int:
        """Suspend entries for which something is missing, and clear their flags; how many."""
        before = int(flags.sum())
        left = before
        for edge in unit.edges:
            if edge.resting or left == 0 or not edge.presence.sure:
                continue
            wanted, old = keys(edge), flags.copy()
            edge.presence.find(wanted, marks, moments, flags)
            failed = np.flatnonzero(old != flags)
            edge.blacklist.suspend(rows[failed], wanted[failed])
            edge.judged += left
            edge.failed += len(failed)
            left -= len(failed)
        return before - left

    # -- coming back -----------------------------------------------------------------------------------------------

    def _before(self) -> Marks:
        """Marks for entries older than every event of the batch, which meet only their like: nothing that has come
        with the batch is live by these."""
        return np.vstack((self.router.floor, self.router.newest.astype(np.int32)))

    def _reveal(self, unit: Unit, rows: Rows, marks: Marks) -> None:
        """Rows that waited can be found again, and are joined with all that is there."""
        state = unit.state
        assert state is not None
        unit.resumed += len(rows)
        numbers = -np.sort(-rows[:, 0]) if len(rows) > 1 else rows[:, 0].copy()
        self._revealed.setdefault(unit.streams[0], []).append(numbers)
        for leaf in state.stairs.values():
            done = link_rows(leaf.state, numbers, 4 * (leaf.tail - leaf.low))
            if done < len(numbers):
                relink(leaf.state, numbers[done:])
        self._reopen(unit, numbers)
        if unit.path:
            source = unit.path[0][1].source
            assert isinstance(source, Ring)
            entries = self.router.take(1)
            entries.reserve(len(numbers))
            append_entries(entries.state, numbers.reshape(-1, 1), self._leaf_keys(source, numbers))
            self._carry(unit, entries, entries.base, entries.tail, marks)
            self.router.give(entries)

    @staticmethod
    def _leaf_keys(leaf: Ring, numbers: NDArray[np.int32]) -> Keys:
        return keys_of([(0, leaf)], numbers.reshape(-1, 1))  # type: ignore[list-item]

    def _reopen(self, unit: Unit, numbers: NDArray[np.int32]) -> None:
        """Holes are known by the rows of a leaf: those that come back must be passed once more."""
        assert unit.state is not None
        newest = int(self.router.newest[unit.streams[0]])
        behind = (np.int64(newest).astype(np.int32) - numbers).astype(np.uint32).astype(np.int64)
        leaves = list(unit.state.stairs.values())
        for stair in self.router.every_stair:
            if stair.holes is not None and any(stair.carrier is leaf for leaf in leaves):
                stair.holes.reopen(newest - behind)

    def _store(self, unit: Unit, rows: Rows, marks: Marks) -> None:
        """The same for composites."""
        stair = unit.stair
        assert stair is not None
        unit.resumed += len(rows)
        start = stair.tail
        stair.reserve(len(rows))
        append_entries(stair.state, np.ascontiguousarray(rows), np.zeros(len(rows), np.int64))
        self.router.rekey(unit.recipe, stair, start, stair.tail)
        stair.insert(start, stair.tail)
        self._carry(unit, stair, start, stair.tail, marks)

    def _carry(self, unit: Unit, source: Ring, start: int, stop: int, marks: Marks) -> None:
        """Take entries to the STAIRs above. They are part of no result: it would have had a partner all the time."""
        for halt, hop in unit.path:
            if start == stop:
                return
            assert halt.stair is not None
            first = halt.out.tail
            self.router.hop(hop, source, start, stop, halt.out, marks)
            self.router.rekey(halt.recipe, halt.out, first, halt.out.tail)
            halt.stair.insert(first, halt.out.tail)
            source, start, stop = halt.out, first, halt.out.tail

    # -- between batches -------------------------------------------------------------------------------------------

    def release(self, rows: bool) -> None:
        """Let composites wait no longer, nor, if ``rows``, any row."""
        self._release_composites()
        if rows:
            self._release_rows()

    def _release_composites(self) -> None:
        for unit in self.units:
            for edge in unit.edges if unit.stair is not None else ():
                if edge.blacklist.waiting:
                    found = edge.blacklist.wake_all(self.router.floor[0])
                    self._store(unit, found, self.router.filling_marks())

    def _release_rows(self) -> None:
        if self._pending:  # the plan was changed twice in a row
            self.prepare()
        floor = self.router.floor[0]
        for unit in self.units:
            if unit.state is not None:
                found = [e.blacklist.wake_all(floor) for e in unit.edges if e.blacklist.waiting]
                pending = self._pending.pop(unit.streams[0], NONE.reshape(-1, 1))
                rows = np.concatenate((pending[pending[:, 0] - floor[unit.streams[0]] >= 0], *found))
                if len(rows):
                    self._reveal(unit, rows, self.router.filling_marks())


def _keys(rows: Rows, edge: Edge) -> Keys:
    """The keys that entries wait for at an edge."""
    return keys_of(edge.parts, rows)


def _arriving_keys(state: StreamState, by_class: dict[int, Keys], first: int, n: int, edge: Edge) -> Keys:
    """The same for rows that arrive."""
    return state.keys(Key(edge.classes), by_class, first, n)
