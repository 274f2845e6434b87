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
from eddy.demand import Designer, Edge, Tally, Unit
from eddy.dropped import Dropped
from eddy.intake import Part
from eddy.itinerary import Key, Streams
from eddy.late import suspend_late
from eddy.leaf import NONE, StreamState
from eddy.payoff import Payoff
from eddy.presence import keys_of
from eddy.program import Program, compile_program
from eddy.revival import Revival
from eddy.track import Track
from stairs.holes import Keys
from stairs.ring_kernels import keep
from stairs.waiting_kernels import admit, read_entries

if TYPE_CHECKING:
    from eddy.router import Router
    from policies import Feedback

TRIAL = 4
"""Batches after which an edge is reviewed."""

RELEASED = 4
"""What waits at an edge that begins to rest is let go if so many times as much was judged there: many rows at once
would delay a batch, and they go by themselves."""

VISIT = 1000
"""What a visit to an edge costs however little is judged there, where a look at a key costs 1."""

LATE, SOME = 4, 32
"""Rows in the windows are judged again when one in so many of them is new, but not for fewer new rows than SOME."""

Marks = NDArray[np.int32]


class Suspension:
    """What waits, in all nodes of the current plan."""

    def __init__(self, policy: Feedback, router: Router) -> None:
        self.policy = policy
        self.router = router
        self.units: list[Unit] = []
        self._edges: list[Edge] = []
        self.former: dict[Streams, Tally] = {}
        """What was counted under plans that are gone, by the streams of the unit."""
        self.seconds = 0.0
        """Time spent on judging, waking and bringing back."""
        self.clock = time.thread_time
        """What batches are timed by: waiting for the processor counts against nobody."""
        self._payoff = Payoff()
        self._begun = 0.0
        self._allowed = True
        """Whether judging pays, by the clock."""
        self._judging = False
        self._revival = Revival(router)
        self._static = router.compiler.static
        self._programs: tuple[Program, Program] | None = None
        """That of the plan as it is, and the same with visits."""
        self._watching = False
        self._alone = True
        """No other plan runs beside the current one."""
        self._whole = True
        """No STAIR has holes. Else no composite waits: to fill a hole would make it once more."""
        self._pending: dict[Streams, Rows] = {}
        """What has waited for something that nobody looks for any more: it is judged anew."""
        self._parts: dict[int, Part] = {}
        self._revealed: dict[int, NDArray[np.int32]] = {}
        """Rows that this batch has brought back, by stream."""
        self._new = 0
        """Rows that came since those in the windows were judged."""
        self._loaded = False
        """Whether a row has come of a stream that is not static: from then on static relations have all their rows."""
        self._dropped = Dropped()

    # -- a batch ---------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """A batch is about to begin: see what plan there is, and whether anything is to be watched."""
        self._begun = self.clock()
        track = self.router.tracks[-1]
        alone = len(self.router.tracks) == 1 and track.hybrid is None and track.born is None
        known = self._programs is not None and any(track.program is program for program in self._programs)
        if not known or alone is not self._alone:
            self._design(track, alone)
        assert self._programs is not None
        for unit in self.units:
            if unit.stair is not None:
                low, high = unit.stair.delta
                unit.made += high - low
        self._whole = all(stair.complete for stair in track.stairs.values())
        if self._allowed is not self._payoff.allowed:
            self._allowed = self._payoff.allowed
            for edge in self._edges:
                edge.bar(not self._allowed)
        self._judging = self._allowed and any(edge.resting == 0 for edge in self._edges)
        waiting = bool(self._pending) or any(edge.blacklist.waiting for edge in self._edges)
        self._watching = self._judging or waiting
        track.program = self._programs[self._watching]

    def done(self, events: int) -> None:
        """A batch is over: see what it took, and whether judging pays."""
        if self.policy.restrained and self._edges:
            self._payoff.note(self._judging, self._watching, events, self.clock() - self._begun)

    def _design(self, track: Track, alone: bool) -> None:
        """The plan is another: what waits is judged under it when its stream is next visited."""
        self._put_by()
        self.units = []
        schedule: Sequence[Halt | Unit] = track.halts
        self._alone = alone
        if alone:
            self.units, schedule = Designer(self.policy, self.router.binder, track).design()
        assert self.units or not self._pending
        self._edges = [edge for unit in self.units for edge in unit.edges]
        for edge in self._edges:
            edge.bar(not self._allowed)
        if self._loaded:
            self._end_loading()
        plain = compile_program(track.halts)
        for unit in self.units:
            if unit.state is not None:
                unit.state.suspended = partial(self.hidden, unit)
            elif unit.stair is not None:
                unit.stair.forewarned = self._release_all
                if unit.edges:
                    unit.halt.visit = partial(self._visit_composites, unit)
        steps = [item if isinstance(item, Halt) else partial(self._visit_rows, item) for item in schedule]
        self._programs = plain, compile_program(steps)

    def _put_by(self) -> None:
        """Remember the rows that wait, apart from what they wait for."""
        for unit in self.units:
            if unit.state is not None:
                rows = self.suspended(unit)
                unit.state.suspended = partial(np.copy, self.hidden(unit))
                if len(rows):
                    self._pending[unit.streams] = rows.reshape(-1, 1)
            unit.edges = []
            told = self.former.setdefault(unit.streams, Tally())
            told.arrived += unit.arrived
            told.suspended += unit.suspended
            told.resumed += unit.resumed

    def suspended(self, unit: Unit, marks: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        """The rows of a stream that wait and are live at the marks, or when the last batch began."""
        marks, s = self.router.floor[0] if marks is None else marks, unit.streams[0]
        found = [edge.blacklist.rows(marks)[:, 0] for edge in unit.edges if edge.blacklist.waiting]
        rows = np.concatenate(
            (self._pending[unit.streams][:, 0] if unit.streams in self._pending else NONE, *found)
        )
        return rows[rows - marks[s] >= 0]

    def hidden(self, unit: Unit) -> NDArray[np.int32]:
        """The rows of a stream that nobody can find, though no filter has ruled them out."""
        s = unit.streams[0]
        return np.concatenate((self.suspended(unit), self._dropped.live(s, self.router.floor[0, s])))

    def begin(self, lows: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Begin a batch: what has left its window need not wait any longer."""
        if not self._watching:
            for edge in self._edges:
                edge.resting = max(0, edge.resting - 1)
            return
        start, floor = time.perf_counter(), self.router.floor
        self._parts, self._revealed = {}, {}
        for edge in self._edges:
            if edge.blacklist.waiting:
                edge.blacklist.begin(floor[0], lows, counts)
        if self._new > max(SOME, int((counts - lows).sum()) // LATE):
            self._new = 0
            if self._whole and self._allowed:
                suspend_late(self.units, floor)
        if self._allowed:
            for unit in self.units:
                for edge in unit.edges:
                    self._consider(unit, edge)
        else:
            self._let_go()
        self.seconds += time.perf_counter() - start

    def _let_go(self) -> None:
        """Nothing is judged: what waits at one edge comes back with this batch. All at once would delay it."""
        for unit in self.units:
            for edge in unit.edges:
                if edge.blacklist.waiting:
                    self._wake_all(unit, edge)
                    return

    def _wake_all(self, unit: Unit, edge: Edge) -> None:
        """Let nothing wait at an edge: it is judged anew by the others."""
        rows = edge.blacklist.wake_all(self.router.floor[0])
        edge.resumed += len(rows)
        self._pending[unit.streams] = np.concatenate((*self._waiting(unit.streams), rows))

    def review(self) -> None:
        """Now and then: give memory back."""
        for unit in self.units:
            for edge in unit.edges:
                edge.blacklist.review(self.router.floor[0])
        self._dropped.review(self.router.floor[0])

    def _consider(self, unit: Unit, edge: Edge) -> None:
        """Now and then the policy is asked whether an edge is worth its while."""
        if edge.resting > 0:
            edge.resting -= 1
            return
        edge.batches += 1
        if edge.batches >= TRIAL and edge.judged + edge.looked:
            edge.worth = unit.look(self.router.binder.nested)
            spared = max(0, edge.failed - edge.returned) * edge.worth
            self._payoff.count(spared, edge.judged + edge.looked + VISIT * edge.batches)
            edge.patience = max(0, int(self.policy.rest(edge)))
            edge.rest(edge.patience)
            if edge.resting and 0 < RELEASED * edge.blacklist.waiting <= edge.judged:
                self._wake_all(unit, edge)
            edge.batches = edge.judged = edge.failed = edge.returned = edge.looked = 0

    def hold(self, parts: Sequence[Part]) -> bool:
        """A batch's rows are about to be stored; whether they are to be linked later, when they are visited."""
        if not self._loaded and any(part.stream not in self._static for part in parts):
            self._loaded = True
            self._end_loading()
        if self._watching:
            self._parts = {part.stream: part for part in parts}
            self._new += sum(len(part.events) for part in parts)
        return self._watching

    def _end_loading(self) -> None:
        """Nobody need wait for static relations any more: their rows are there, or come first in this batch."""
        for unit in self.units:
            for edge in unit.edges:
                if edge.static:
                    edge.drop = partial(self._dropped.add, unit)

    # -- visits ----------------------------------------------------------------------------------------------------

    def _visit_rows(self, unit: Unit) -> None:
        """Wake rows of a stream, and judge those that arrive; from now on the others can be found."""
        start, router = time.perf_counter(), self.router
        s, state = unit.streams[0], unit.state
        assert state is not None
        woken = self._woken(unit)
        if len(woken):
            self._revealed[s] = woken[:, 0]
            self._revival.rows(unit, woken[:, 0], self._before())
        part = self._parts.get(s)
        if part is not None:
            first, n = state.base.base, len(part.events)
            flags = np.ones(n, np.uint8) if part.kept is None else part.kept.copy()
            if unit.edges:
                rows = np.arange(first, first + n).astype(np.int32).reshape(-1, 1)
                keys = partial(_arriving_keys, state, part.keys, first, n)
                unit.suspended += self._judge(unit, rows, keys, router.marks, part.events, flags)
            for leaf in state.stairs.values():
                admit(leaf.state, part.events, flags)
            unit.arrived += n
        self.seconds += time.perf_counter() - start

    def _visit_composites(self, unit: Unit) -> None:
        """The same for composites that are about to be stored."""
        start, stair = time.perf_counter(), unit.stair
        assert stair is not None
        woken = self._woken(unit)  # first: what this batch suspends was judged by all that it has brought
        low, high = stair.delta
        unit.arrived += high - low
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
            self._revival.composites(unit, woken, self._before())
        self.seconds += time.perf_counter() - start

    def _woken(self, unit: Unit) -> Rows:
        """Entries that waited for something which this batch has brought, and wait for nothing else."""
        floor, found = self._now, self._waiting(unit.streams)
        for edge in unit.edges:
            if edge.blacklist.waiting:
                opposite = edge.opposite
                keys = edge.presence.fresh(
                    self._revealed.get(opposite[0], NONE) if len(opposite) == 1 else NONE
                )
                if len(keys):
                    edge.looked += len(keys)
                    found.append(edge.blacklist.wake(keys, floor[0]))
                    edge.returned += len(found[-1])
                    edge.resumed += len(found[-1])
                if edge.drop is not None:  # what is left of loading
                    edge.drop(edge.blacklist.wake_all(floor[0]))
        if not any(map(len, found)):
            return np.empty((0, len(unit.streams)), np.int32)
        rows = np.concatenate(found)
        flags, moments = np.ones(len(rows), np.uint8), np.zeros(len(rows), np.int32)
        self._judge(unit, rows, partial(_keys, rows), floor, moments, flags)
        return rows[flags.view(np.bool_)]

    def _waiting(self, streams: Streams) -> list[Rows]:
        """What is to be judged anew, once, without what is dead."""
        if streams not in self._pending:
            return []
        rows = self._pending.pop(streams)
        return [rows[(rows - self._now[0, list(streams)] >= 0).all(axis=1)]]

    @staticmethod
    def _judge(
        unit: Unit,
        rows: Rows,
        keys: Callable[[Edge], Keys],
        marks: Marks,
        moments: NDArray[np.int32],
        flags: NDArray[np.uint8],
    ) -> int:
        """Suspend entries for which something is missing, and clear their flags; how many."""
        before = left = int(np.count_nonzero(flags))
        for edge in unit.edges:
            if left and edge.awake:
                failed = edge.judge(rows, keys(edge), marks, moments, flags)
                edge.judged += left
                edge.failed += failed
                left -= failed
        return before - left

    @property
    def _now(self) -> Marks:
        """The marks at the first event of the batch: what is dead by these is so for all of it."""
        return self.router.marks[:1] if len(self.router.marks) else self.router.floor

    def _before(self) -> Marks:
        """Marks for entries older than every event of the batch, which meet only their like: nothing that has come
        with the batch is live by these."""
        return np.vstack((self._now, self.router.newest.astype(np.int32)))

    # -- between batches -------------------------------------------------------------------------------------------

    def release(self, rows: bool) -> None:
        """Let composites wait no longer, nor, if ``rows``, any row."""
        self._release_composites()
        if rows:
            self._release_rows()

    def _release_all(self) -> None:
        """A STAIR is about to get holes: no composite waits any more.

        Rows are judged anew: they could wait for what comes back now, which no batch would show them.
        """
        self._release_composites()
        for unit in self.units:
            for edge in unit.edges if unit.state is not None else ():
                if edge.blacklist.waiting:
                    self._wake_all(unit, edge)

    def _release_composites(self) -> None:
        for unit in self.units:
            for edge in unit.edges if unit.stair is not None else ():
                if edge.blacklist.waiting:
                    found = edge.blacklist.wake_all(self.router.floor[0])
                    edge.resumed += len(found)
                    self._revival.composites(unit, found, self.router.filling_marks())

    def _release_rows(self) -> None:
        if self._pending:  # the plan was changed twice in a row
            self.prepare()
        for unit in self.units:
            if unit.state is not None:
                rows = self.suspended(unit)
                self._pending.pop(unit.streams, None)
                for edge in unit.edges:
                    edge.resumed += len(edge.blacklist.wake_all(self.router.floor[0]))
                if len(rows):
                    self._revival.rows(unit, rows, self.router.filling_marks())


def _keys(rows: Rows, edge: Edge) -> Keys:
    """The keys that entries wait for at an edge."""
    return keys_of(edge.parts, rows)


def _arriving_keys(state: StreamState, by_class: dict[int, Keys], first: int, n: int, edge: Edge) -> Keys:
    """The same for rows that arrive."""
    return state.keys(Key(edge.classes), by_class, first, n)
