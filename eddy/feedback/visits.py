"""Visits: in the middle of a batch, what waits is woken, and what is new is judged.

A row that waits is in its leaf, under its number, but in no chain: nobody can find it. So when it comes back it is an
arrival: it is linked, at its place, and taken along its itinerary as older than every event of the batch. Composites
with it are stored before the batch's own entries meet them, and may wake others in turn.

All this is done by kernels (`stairs.feedback.visit_kernels`), as instructions of the plan's program. Here they are
written, and what kernels cannot do is done: make room, fill holes on the way, decide predicates.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from attrs import define
from numpy.typing import NDArray

from eddy.feedback.banded import Banded
from eddy.feedback.blacklist import Rows
from eddy.feedback.edge import BLOCK, NANO, Edge, Marks
from eddy.feedback.host import Host
from eddy.feedback.revival import Revival
from eddy.feedback.suppression import Suppression
from eddy.feedback.unit import FOUND, MILLION, Unit
from eddy.intake.intake import Part
from eddy.plan.compiler import Streams
from eddy.tracks.binding import Halt, Hop
from eddy.tracks.program import Visit
from stairs import Ring, Stair
from stairs.begin_kernels import STAIR, TABLE, begin_rings
from stairs.feedback import visit_layout as layout
from stairs.feedback.suppression_kernels import suppress_at
from stairs.feedback.visit_ends_kernels import begin_visits, end_visits
from stairs.feedback.visit_kernels import run_visits
from stairs.lowlevel import struct
from stairs.lowlevel.address import handle
from stairs.probe_kernels import CURSOR
from stairs.ring import power_of_two


@define(eq=False)
class Step:
    """A hop by which what comes back is taken along, as kernels know it."""

    source: Ring
    halt: Halt
    hop: Hop
    recipe: NDArray[Any] | None
    verified: NDArray[Any]
    record: Any
    """A STEP."""

    @property
    def address(self) -> int:
        return struct.address(self.record)


class Visits:
    """Visits the nodes of a plan, in an order in which all that an entry may wait for is up to date."""

    def __init__(self, router: Host) -> None:
        self._moment, self._nested = router.moment, router.binder.nested
        self._prober = router.prober
        self.revival = Revival(router, self._suppress_revived)
        self.seconds = 0.0
        """Time spent on judging, waking and bringing back."""
        self.pending: dict[Streams, Rows] = {}
        """What has waited for something that nobody looks for any more: it is judged anew."""
        self._work = struct.new(layout.WORK)
        self._keys = np.empty(BLOCK, np.int64)
        self._past = np.zeros((2, len(router.streams)), np.int32)
        self._work.keys, self._work.key_count = self._keys.ctypes.data, BLOCK
        self._work.past, self._work.lacked = self._past.ctypes.data, -1
        self._cursor = np.zeros(CURSOR, np.int64)
        self._work.cursor = self._cursor.ctypes.data
        self._told_at_end = struct.new(layout.TOLD)
        self._parts: Sequence[Part] = ()
        self.use([])

    def use(self, units: Sequence[Unit]) -> None:
        """Visit these from now on."""
        self._units = {unit.streams: unit for unit in units}
        self._edges = [edge for unit in units for edge in unit.edges]
        self._suppressions = {
            unit.stair: unit.suppression
            for unit in units
            if unit.stair is not None and unit.suppression is not None
        }
        self._suppressed = np.array(
            [
                (unit.stair.address, unit.suppression.address, unit.address)
                for unit in units
                if unit.stair is not None and unit.suppression is not None
            ],
            np.int64,
        ).reshape(-1, 3)
        self._work.suppressions = self._suppressed.ctypes.data
        self._work.suppression_count = len(self._suppressed)
        lists = [edge.blacklist for edge in self._edges]
        self._blacklists = np.array(
            [(STAIR, blacklist.address, blacklist.streams.ctypes.data) for blacklist in lists], np.int64
        ).reshape(-1, TABLE)
        self._streams = [unit for unit in units if unit.state is not None]
        self._arriving = {unit.streams[0]: unit.record for unit in self._streams}
        self._told, self._versions = False, [-1]
        self._at = np.array([unit.address for unit in units], np.int64)
        self._edges_at = np.array([edge.address for edge in self._edges], np.int64)
        for unit in units:
            unit.tell()
        for edge in (*self._edges, *self._suppressions.values()):
            if len(edge.opposite) == 1:
                edge.record.opposite = self._units[edge.opposite].address
        self._width = max((len(unit.streams) for unit in units), default=1)
        self._make_space(0)

    def _make_space(self, count: int) -> int:
        """Have room for ``count`` entries at hand."""
        n = power_of_two(count)
        self._flags, self._zeros = np.empty(n, np.uint8), np.zeros(n, np.int32)
        self._copies, self._wishes = np.empty((n, self._width), np.int32), np.empty(n, np.int64)
        work = self._work
        work.space, work.flags = n, self._flags.ctypes.data
        work.wishes = self._wishes.ctypes.data
        work.copies, work.zeros = self._copies.ctypes.data, self._zeros.ctypes.data
        return 0

    # -- a batch ---------------------------------------------------------------------------------------------------

    @property
    def whole(self) -> bool:
        """No STAIR has holes. Else no composite waits: to fill a hole would make it once more."""
        return bool(self._work.complete)

    def prepare(self, whole: bool) -> None:
        """A batch is about to begin; ``whole``: no STAIR has holes."""
        if not (whole and self._told):
            self._work.complete, self._told = whole, whole
            for edge in (*self._edges, *self._suppressions.values()):
                edge.prepare(whole)
        versions = [unit.state.version for unit in self._streams if unit.state is not None]
        if versions != self._versions:
            self._versions = versions
            assert all(len(unit.leaves) for unit in self._streams)  # kernels know them now

    def begin(self, floor: NDArray[np.int32], lows: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Begin a batch: what is dead at ``floor``, the low 32 bits of ``lows``, goes; ``counts`` are the next rows."""
        table = self._blacklists
        at = begin_rings(table, 0, lows, counts, floor)
        while at < len(table):
            self._edges[at].blacklist.make_room(floor)
            at = begin_rings(table, at + 1, lows, counts, floor)
        begin_visits(self._at, self._edges_at, lows, counts)
        for suppression in self._suppressions.values():
            suppression.begin(lows, counts)

    def take(self, parts: Sequence[Part]) -> None:
        """The rows of the batch; what is to be judged anew comes with them."""
        self._parts = parts
        for part in parts:
            events, kept = part.events, part.kept
            unit_record = self._arriving[part.stream]
            unit_record.events, unit_record.count = handle(events), len(events)
            unit_record.kept = 0 if kept is None else handle(kept)
        while self.pending:
            streams, rows = self.pending.popitem()
            rows = rows[(rows - self._moment.floor[0, list(streams)] >= 0).all(axis=1)]
            unit = self._units[streams]
            if len(rows) > len(unit.woken):
                unit.make_place(len(rows))
            unit.woken[: len(rows)] = rows
            unit.record.woken_count = len(rows)

    def run(
        self, program: NDArray[np.int64], at: int, stop: int, results: int, marks: Marks, *rest: Rows
    ) -> int:
        """`stairs.program_kernels.run` with visits."""
        seen = marks if len(marks) else self._moment.floor
        while True:
            at = run_visits(
                program, at, stop, results, seen, *rest, struct.address(self._work), self._moment.newest
            )
            if not self._work.short:
                return at
            (short,) = (edge for edge in self._suppressions.values() if edge.address == self._work.short)
            self._work.short = self._suppress(short)

    def judge_anew(self, unit: Unit, rows: Rows) -> None:
        """Let entries be judged by all edges when their node is next visited."""
        before = self.pending.get(unit.streams)
        self.pending[unit.streams] = rows if before is None else np.concatenate((before, rows))

    def end(self) -> float:
        """A batch is over: edges are charged with what it took, and what waits in vain is dropped. Returns what the
        composites took that it has stored, where an event takes 1."""
        told = self._told_at_end
        end_visits(self._at, struct.address(told))
        self.seconds += NANO * told.spent
        for edge in self._edges:
            if edge.drop is not None and edge.blacklist.waiting:
                edge.drop(edge.blacklist.wake_all(self._moment.floor[0]))
        made = float(told.made / MILLION)
        for unit in self._units.values():
            if unit.suppression is not None:
                made += FOUND * unit.weight * (unit.suppression.suspended - unit.suppression.counted)
                unit.suppression.counted = unit.suppression.suspended
        return made

    # -- instructions ----------------------------------------------------------------------------------------------

    def visit(self, unit: Unit) -> list[Visit]:
        """Wake entries of a node, and judge those that arrive; from now on the others can be found."""
        at = unit.address
        wakes = [Visit(partial(self._wake, unit, e), layout.WAKE, at, e.address) for e in unit.edges]
        judges = [Visit(partial(self._judge, unit, e), layout.JUDGE, at, e.address) for e in unit.edges]
        retake, take = (Visit(self._take, kind, at) for kind in (layout.RETAKE, layout.TAKE))
        back, link = (Visit(_never, kind, at) for kind in (layout.RETURN, layout.LINK))
        revive = Visit(partial(self._revive, unit), layout.REVIVE, at)
        new = [take, *judges, link] if unit.edges else []
        if unit.suppression is not None:
            call = partial(self._suppress, unit.suppression)
            wakes.insert(0, Visit(call, layout.SUPPRESS, at, unit.suppression.address))
        return [*wakes, retake, *judges, back, *new, revive, *self._carries(unit)]

    def restore(self, unit: Unit) -> list[Visit]:
        """Before a batch's composites of a node are made: see what is to be restored there."""
        suppression = unit.suppression
        if suppression is None:
            return []
        call = partial(self._restore, unit, suppression)
        return [Visit(call, layout.RESTORE, unit.address, suppression.address)]

    def _carries(self, unit: Unit) -> list[Visit]:
        """For composites, of which few come back, `Revival` does it, and for rows that several STAIRs want."""
        if unit.ways:
            unit.record.entries = layout.BY_THE_CALLER
        if unit.state is None or not unit.path:
            return []
        source: Ring = unit.entries
        unit.record.entries, unit.record.source = source.address, unit.path[0][1].source.address
        carries = []
        for halt, hop, recipe in unit.path:
            simple = hop.theta is None and not hop.step.residuals and hop.step.scope is None
            plain = simple and (recipe is not None or halt.recipe is None)
            verified = np.array(
                [(a, b.address, c, d.address) for a, b, c, d in hop.verified], layout.VERIFIED
            )
            record = struct.new(layout.STEP)
            record.plain, record.nested = plain, self._nested
            record.out, record.target = halt.out.address, hop.target.address
            record.places, record.streams = hop.place.ctypes.data, hop.streams.ctypes.data
            if recipe is not None:
                record.recipe, record.recipe_count = recipe.ctypes.data, len(recipe)
            record.verified, record.verified_count = verified.ctypes.data, len(verified)
            suppression = None if halt.stair is None else self._suppressions.get(halt.stair)
            record.suppression = 0 if suppression is None else suppression.address
            step = Step(source, halt, hop, recipe, verified, record)
            call = partial(self._carry, step)
            carries.append(Visit(call, layout.CARRY, unit.address, step.address))
            source = halt.out
        return carries

    def _wake(self, unit: Unit, edge: Edge) -> int:
        if isinstance(edge.presence, Banded):
            return self._wake_banded(unit, edge, edge.presence)
        wanted = int(unit.record.woken_count) + edge.blacklist.waiting
        if wanted > unit.record.woken_room:
            unit.make_place(wanted)
        elif edge.blacklist.waiting > self._work.space:
            self._make_space(edge.blacklist.waiting)
        else:
            edge.renew()
        return 0

    def _judge(self, unit: Unit, edge: Edge) -> int:
        failed = int(self._work.lacked)
        if failed >= 0:
            edge.blacklist.make_place(failed)
        elif isinstance(edge.presence, Banded):
            self._judge_banded(unit, edge, edge.presence)
        else:
            edge.renew()
        return 0

    def _take(self) -> int:
        return self._make_space(int(self._work.entered))

    def _revive(self, unit: Unit) -> int:
        woken = unit.woken[: unit.record.woken_count]
        if unit.state is not None and self.whole and not unit.ways:
            unit.entries.reserve(len(woken))
            return 0
        past = np.vstack((self._now, self._moment.newest.astype(np.int32)))
        if unit.state is None:
            if unit.suppression is not None:
                unit.resumed += len(woken)
                woken = unit.suppression.not_noted(woken)
                unit.resumed -= len(woken)
            self.revival.composites(unit, woken, past)
        else:
            self.revival.rows(unit, woken[:, 0], past)
        return 1

    def _carry(self, step: Step) -> int:
        work, out = self._work, step.halt.out
        if work.resumed == 2:
            assert step.halt.stair is not None
            return self._suppress(self._suppressions[step.halt.stair])
        if work.resumed:
            out.grow()
            return 0
        start, stop = int(work.start), int(work.stop)
        work.start, work.stop = self.revival.step(
            step.halt, step.hop, step.recipe, step.source, start, stop, self._past
        )
        work.carried = out.address
        return 1

    # -- bands -----------------------------------------------------------------------------------------------------

    def _judge_banded(self, unit: Unit, edge: Edge, presence: Banded) -> None:
        """Flag the rows at hand for which no row lies in the bands."""
        begun, work, n = time.thread_time_ns(), self._work, int(self._work.entered)
        mine = unit.woken if work.rows == unit.record.woken else self._copies
        rows, flags = mine.reshape(-1)[:n], self._flags[:n]
        asked = np.flatnonzero(flags == 1)
        lacking = asked[~presence.find(rows[asked], self._moment.newest, self._now[0])]
        flags[lacking] = layout.LACKING
        self._wishes[:n] = rows  # none of them are alike: each is taken out by itself
        work.lacked = len(lacking)
        edge.judged += len(asked)
        edge.failed += len(lacking)
        unit.record.spent += time.thread_time_ns() - begun

    def _wake_banded(self, unit: Unit, edge: Edge, presence: Banded) -> int:
        """Take out the rows in whose bands a row lies that has come with the batch."""
        begun = time.thread_time_ns()
        edge.looked += edge.blacklist.waiting
        woken = presence.wake(edge.blacklist, self._moment.newest, self._now[0])
        unit.add_woken(woken)
        edge.returned += len(woken)
        edge.resumed += len(woken)
        unit.record.spent += time.thread_time_ns() - begun
        return 1

    # -- pairs that are not stored ---------------------------------------------------------------------------------

    def _suppress(self, suppression: Suppression) -> int:
        """Make the room that a kernel has found missing."""
        if self._work.lacked >= 0:
            suppression.blacklist.make_place(int(self._work.lacked))
            return 0
        return self._make_space(int(self._work.entered))

    def _suppress_revived(self, stair: Stair, first: int, marks: Marks) -> None:
        """What has come back has made entries of a STAIR, from ``first`` on: they go unless something matches them."""
        suppression = self._suppressions.get(stair)
        while suppression is not None and suppression.record.awake + suppression.noted:
            at = suppression.address, struct.address(self._work), stair.address
            if suppress_at(*at, marks, first) >= 0:
                return
            self._suppress(suppression)

    def _restore(self, unit: Unit, suppression: Suppression) -> int:
        """Make all pairs under keys that something has now; they come back like what has waited."""
        begun, count = time.thread_time_ns(), int(self._work.restored)
        if count < 0:
            return self._make_space(int(self._work.entered))
        past = np.vstack((self._now, self._moment.newest.astype(np.int32)))
        keys, rows = suppression.restorable(self._wishes[:count], self._prober, past)
        for edge in unit.edges:
            unit.resumed += suppression.take_out(edge.blacklist, keys)
        unit.suspended += len(rows)
        unit.add_woken(rows)
        unit.record.spent += time.thread_time_ns() - begun
        return 1

    @property
    def _now(self) -> Marks:
        """The marks at the first event of the batch: what is dead by these is so for all of it."""
        return self._moment.marks[:1] if len(self._moment.marks) else self._moment.floor


def _never() -> int:
    raise AssertionError("kernels can always do this")
