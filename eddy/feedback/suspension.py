"""Suspension: what no consumer can use now waits, and comes back when one can.

Here is what happens between visits (`eddy.feedback.visits`): finding the edges of a plan, beginning and ending batches,
and going on when the plan is changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eddy.feedback.dropped import Dropped
from eddy.feedback.edge import Edge
from eddy.feedback.host import Host
from eddy.feedback.payoff import Payoff
from eddy.feedback.release import Release, dissolve
from eddy.feedback.restraint import Restraint
from eddy.feedback.stored_rows import suspend_stored
from eddy.feedback.unit import Tally, Unit
from eddy.feedback.visits import Visits
from eddy.feedback.wait_graph import Designer
from eddy.intake.intake import Part
from eddy.plan.compiler import Streams
from eddy.tracks.binding import Halt
from eddy.tracks.program import Program, Visit, compile_program
from eddy.tracks.track import Track
from stairs.program_kernels import run

if TYPE_CHECKING:
    from policies import Feedback

SHARE, SOME, SELDOM = 1, 32, 8
"""Rows in the windows are judged again when one in SHARE of them is new, but not for fewer new rows than SOME; and not
where that happens within SELDOM batches, since rows that leave their windows so soon need not be hidden before."""

RELEASED, PART = 16, 256
"""Of what waits at an edge that rests, RELEASED entries come back with a batch, or one in PART if that is more. (More
at once would delay the batch, and make rings grow for good.)"""


class Suspension:
    """What waits, in all nodes of the current plan.

    ``clock`` is what batches and visits are timed by. ``former`` has waited for the same streams under another router;
    what it has counted goes on.
    """

    def __init__(
        self,
        policy: Feedback,
        router: Host,
        clock: Callable[[], float] = time.thread_time,
        former: Suspension | None = None,
    ) -> None:
        self.policy = policy
        self.router = router
        self.clock = clock
        self.units: list[Unit] = []
        self.visits = Visits(router)
        self._release = Release(self.visits, router.moment)
        self.former: dict[Streams, Tally] = {}
        """What was counted under plans that are gone, by the streams of the unit."""
        self._edges: list[Edge] = []
        self._payoff = Payoff()
        self._restraint = Restraint(policy, self._payoff)
        self._begun = self._spent = 0.0
        """When the batch began, and what had been spent on visits by then."""
        self._static = router.compiler.static
        self._programs: tuple[Program, Program] | None = None
        """That of the plan as it is, and the same with visits."""
        self.watching = False
        """Whether nodes are visited."""
        self.follow: Callable[..., int] = run
        """Runs the program of the batch."""
        self._asleep = self._slept = 0
        """Batches for which nothing is to be done, and how many there were when that began."""
        self._visited: frozenset[int] = frozenset()
        """Streams whose rows may wait."""
        self._rows: dict[int, Unit] = {}
        """The streams of the current plan."""
        self._alone = True
        """No other plan runs beside the current one."""
        self._new = self._since = 0
        """Rows, and batches, that came since those in the windows were judged."""
        self._enough = SOME
        """Of these, before the rows in the windows are judged again."""
        self._loaded = False
        """Whether a row has come of a stream that is not static: from then on static relations have all their rows."""
        self._dropped = Dropped()
        if former is not None:
            self._inherit(former)

    @property
    def seconds(self) -> float:
        """Time spent on judging, waking and bringing back."""
        return self.visits.seconds

    def _inherit(self, former: Suspension) -> None:
        """What waited there has come with all other rows, to be judged here."""
        for unit in former.units:
            if unit.state is not None:
                unit.resumed += len(former.suspended(unit))
            else:
                unit.resumed += sum(
                    len(edge.blacklist.rows(former.router.moment.floor[0])) for edge in unit.edges
                )
        former.put_by()
        self.former, self.visits.seconds = former.former, former.seconds

    @property
    def programs(self) -> tuple[Program, Program] | None:
        """The program of the plan without visits and with them; None before the first batch."""
        return self._programs

    # -- a batch ---------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """A batch is about to begin: see what plan there is, and whether anything is to be watched."""
        self.follow_plan()
        assert self._programs is not None
        track = self.router.tracks[-1]
        if self._asleep:
            self._asleep -= 1
            if self._asleep:
                return
            self._wake_up()
        self._begun, self._spent = self.clock(), self.seconds
        self.watching = bool(self.visits.pending) or any(
            edge.resting == 0 or edge.blacklist.waiting for edge in self._edges
        )
        if self.watching:
            self.visits.prepare(all(stair.complete for stair in track.stairs.values()))
        track.program = self._programs[self.watching]
        self.follow = self.visits.run if self.watching else run

    def follow_plan(self) -> None:
        """See whether the plan is another: then what waits is judged under it when its stream is next visited."""
        track = self.router.tracks[-1]
        alone = self.router.alone
        known = self._programs is not None and track.program in self._programs
        if not known or alone is not self._alone:
            self.put_by()
            self._design(track, alone)
            self._asleep = 0

    def _design(self, track: Track, alone: bool) -> None:
        schedule: Sequence[Halt | Unit] = track.halts
        self._alone = alone
        if alone:
            self.units, schedule = Designer(self.policy, self.router.binder, track).design()
        assert self.units or not self.visits.pending
        self._edges = [edge for unit in self.units for edge in unit.watched]
        self._rows = {unit.streams[0]: unit for unit in self.units if unit.state is not None}
        self.visits.use(self.units)
        self._restraint.begin(self.units)
        if self._loaded:
            self._end_loading()
        for halt in track.halts:
            halt.visits = halt.additions = ()
        plain = compile_program(track.halts)
        for unit in self.units:
            if unit.state is not None:
                unit.state.suspended = partial(self.hidden, unit)
            elif unit.stair is not None:
                unit.stair.forewarned = lambda: self._release.make_way(self.units)
                if unit.watched:
                    *unit.halt.visits, revive = self.visits.visit(unit)
                    unit.halt.additions = (revive,)
        # Rows of other streams can be found from the beginning, as those of streams that are visited before.
        self._visited = frozenset(s for s, unit in self._rows.items() if unit.edges)
        steps: list[Halt | Visit] = []
        composites = {id(unit.halt): unit for unit in self.units if unit.state is None}
        for item in schedule:
            if isinstance(item, Halt):
                if id(item) in composites:
                    steps += self.visits.restore(composites[id(item)])
                steps.append(item)
            elif item.edges or item.streams in self.visits.pending:
                steps += self.visits.visit(item)
        self._programs = plain, compile_program(steps)

    def put_by(self) -> None:
        """Remember the rows that wait, apart from what they wait for, and what was counted."""
        dissolve(self.units)
        for unit in self.units:
            if unit.state is not None:
                rows = self.suspended(unit)
                unit.state.suspended = partial(np.copy, self.hidden(unit))
                if len(rows):
                    self.visits.pending[unit.streams] = rows.reshape(-1, 1)
            self.former.setdefault(unit.streams, Tally()).add(unit)
            unit.edges, unit.suppression = [], None
        self.units, self._edges = [], []

    def suspended(self, unit: Unit, marks: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        """The rows of a stream that wait and are live at the marks, or when the last batch began."""
        return self._release.rows(unit, marks)

    def hidden(self, unit: Unit) -> NDArray[np.int32]:
        """The rows of a stream that nobody can find, though no filter has ruled them out."""
        s = unit.streams[0]
        return np.concatenate((self.suspended(unit), self._dropped.live(s, self.router.moment.floor[0, s])))

    def begin(self, lows: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Begin a batch: what has left its window need not wait any longer."""
        if not self.watching:
            if not self._asleep and self._edges:
                # All edges rest, and nothing waits: nothing is to be done until one of them has rested.
                self._asleep = self._slept = min(edge.resting for edge in self._edges)
            return
        start, floor = self.clock(), self.router.moment.floor
        self.visits.begin(floor[0], lows, counts)
        for unit, edge in self._restraint.consider(self.units, lows, counts):
            count = max(RELEASED, edge.blacklist.waiting // PART)
            self.visits.judge_anew(unit, edge.wake_some(floor[0], count))
            edge.blacklist.give_back()
        self._since += 1
        if self._new > self._enough:
            due = self._since >= SELDOM and self.visits.whole
            self._new, self._since, self._enough = 0, 0, max(SOME, int((counts - lows).sum()) // SHARE)
            if due:
                suspend_stored(self.units, floor)
        self.visits.seconds += self.clock() - start

    @property
    def asleep(self) -> bool:
        """Whether nothing is to be done in the next batch, nor at its beginning."""
        return self._asleep > 1 and self._loaded

    def passed(self, batches: int) -> None:
        """As many ``batches`` have passed while nothing was to be done."""
        self._asleep = max(1, self._asleep - batches)

    def _wake_up(self) -> None:
        for unit in self.units:
            for edge in unit.watched:
                edge.resting -= self._slept
                if edge.resting == 0:
                    self._restraint.rested(unit, edge)

    def hold(self, parts: Sequence[Part]) -> Collection[int]:
        """A batch's rows are about to be stored; of which streams they are to be linked later, by a visit."""
        if not self._loaded and any(part.stream not in self._static for part in parts):
            self._loaded = True
            self._end_loading()
        if not self.watching:
            return ()
        self.visits.take(parts)
        self._new += sum(len(part.events) for part in parts)
        return self._visited

    def _end_loading(self) -> None:
        """Nobody need wait for static relations any more: their rows are there, or come first in this batch."""
        for unit in self.units:
            for edge in unit.edges:
                if edge.static:
                    edge.drop = partial(self._dropped.add, unit)

    def done(self, events: int) -> None:
        """A batch is over: see what it made, and what it took."""
        if self._asleep:
            return
        work = events + self.visits.end()
        if self._edges:
            spent = self.clock() - self._begun - (self.seconds - self._spent)
            self._payoff.note(work, spent)

    def review(self) -> None:
        """Now and then: give memory back."""
        for edge in self._edges:
            edge.blacklist.review(self.router.moment.floor[0])
        self._dropped.forget_dead(self.router.moment.floor[0])

    # -- between batches -------------------------------------------------------------------------------------------

    def release(self, rows: bool) -> None:
        """Let composites wait no longer, nor, if ``rows``, any row."""
        self._release.free_composites(self.units)
        if rows:
            self.follow_plan()  # it may have been changed since the last batch: rows come back to STAIRs that are there
            if self.visits.pending:
                self.prepare()
            self._release.free_rows(self.units)
            for unit in self.units:  # two plans may run from now on, and for these no STAIR has holes
                if unit.stair is not None and unit.suppression is not None:
                    unit.stair.fill()
