"""The plan changes of an engine: begun, pumped batch by batch, and remembered."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from eddy.errors import EddyError, PolicyError, StateError
from eddy.faults import is_own, named, stopped
from eddy.intake.batch import Batch
from eddy.migration.black_box import Box
from eddy.migration.change import Change
from eddy.migration.changes import PlanChanges
from eddy.migration.record import Chronicle
from eddy.plan.plan import Plan
from eddy.query.query import Query
from eddy.results.handout import emit
from eddy.results.result import Result
from eddy.router.executor import PlanExecutor
from eddy.statistics import MigrationStatistics
from eddy.tracks.track import Track
from eddy.values.types import Array
from policies import Migration
from stairs import Ring

if TYPE_CHECKING:
    from eddy.state import EngineState

LOGGED = 64
"""Migrations that are remembered when they are over."""


def check_technique(technique: Migration, query: Query, retractions: bool) -> None:
    """Refuse a technique that cannot work for the query, before anything is begun."""
    name = type(technique).__name__
    if not query.accepts(technique):
        raise EddyError(
            f"{name} cannot migrate a set difference: it tells results apart by their old and new rows, but here "
            "they depend on rows that are not in them. Use Jisc, MovingState, EagerStairs, Gms, Gpt or Ghm"
        )
    if technique.holds and (retractions or query.aggregates):
        raise EddyError(
            f'{name}(order="pt") holds results back, so they could be withdrawn before they are given: '
            'use order="max" with retractions and aggregates'
        )


def _outboxes(router: PlanExecutor) -> Iterator[tuple[Track, Ring]]:
    """The tracks whose results wait, the oldest first, and where they are."""
    for track in router.tracks:
        if isinstance(track, Track) and track.role.outbox is not None:
            yield track, track.role.outbox


class Migrations(PlanChanges):
    """The plan changes of an engine with one router, or of one shard."""

    def __init__(self, state: EngineState) -> None:
        super().__init__(state)
        self._changes: list[Change] = []
        """Under way, oldest first."""
        self._log: deque[MigrationStatistics] = deque(maxlen=LOGGED)
        self._held: list[tuple[Track, list[Result]]] = []
        """Results that a track may not emit yet."""
        self._released: list[Result] = []
        """Results that need not be held any longer."""

    @property
    def _router(self) -> PlanExecutor:
        router = self._state.executor
        assert isinstance(router, PlanExecutor)  # shards have changes of their own
        return router

    @property
    def under_way(self) -> bool:
        return bool(self._changes)

    @property
    def quiet(self) -> bool:
        """Whether no change is under way, and nothing is left of one to hand out."""
        return not self._changes and not self._held and not self._released

    @property
    def nbytes(self) -> int:
        """What black boxes hold."""
        return sum(change.boxed.nbytes for change in self._changes if change.boxed is not None)

    def codes_in_use(self) -> Iterator[Array]:
        """String codes that black boxes need."""
        for change in self._changes:
            if change.boxed is not None:
                yield from change.boxed.codes_in_use()

    @property
    def history(self) -> tuple[MigrationStatistics, ...]:
        """The last changes, oldest first."""
        return (*self._log, *(change.chronicle.statistics() for change in self._changes))

    def check_none_held(self) -> None:
        """Refuse to go on where results would be lost."""
        if self._held or self._released:
            raise StateError(
                "results are held back, or were and are not given yet, and a snapshot has no place for them: "
                "call settle(), which returns them, then save"
            )

    # -- beginning -------------------------------------------------------------------------------------------------

    def begin(self, plan: Plan, must: bool = False) -> Callable[[], float]:
        """Change to a plan; where that fails before anything has changed, nothing has. Returns what its seconds are.

        A shard ``must`` where others have the plan already: it takes over without the technique then, with holes.
        """
        state = self._state
        change, tracks = self._new_change(plan), self._router.tracks
        self._changes.append(change)
        try:
            unchanged = lambda: self._router.tracks is tracks  # noqa: E731
            call = self._begin_anyway if must else state.options.migration.begin
            self._pump(change, call, unchanged, "The plan is as it was")
        except BaseException as error:
            self._changes.remove(change)
            if self._router.tracks is not tracks:
                state.broken = error
            raise
        for other in self._changes[:-1]:
            other.boxed = None  # a black box for a plan that nobody wants any more
        return lambda: change.chronicle.seconds

    def _begin_anyway(self, change: Change) -> None:
        technique, tracks = self._state.options.migration, self._router.tracks
        try:
            technique.begin(change)
        except Exception as error:
            if not is_own(error):
                raise
            self._state.faults.note("migration", technique, error)
            if self._router.tracks is tracks:
                change.shift()

    def resume(self) -> None:
        """After loading a snapshot, composites are holes: that is a change under way, to the plan itself."""
        change = self._new_change(self._state.plan)
        if change.running:
            self._changes.append(change)
            self._pump(change, self._state.options.migration.resume, lambda: True, "Nothing was loaded")

    def _new_change(self, plan: Plan) -> Change:
        state = self._state
        chronicle = Chronicle(type(state.options.migration).__name__, state.plan, plan, state.events)
        batch = (state.events - state.loaded) / state.batches if state.batches else 0.0
        return Change(plan, chronicle, self._router, state.row_numbers, state.factory.box, batch)

    # -- going on --------------------------------------------------------------------------------------------------

    def feed(self, make: Callable[[], Batch]) -> None:
        """A batch has arrived: black boxes get it too."""
        for change in self._changes:
            if change.boxed is not None:
                change.boxed.feed(make())

    def work(self, results: int) -> None:
        """A batch is done and has brought so many results."""
        if self._changes:
            change = self._changes[-1]
            change.since = (self._changes[0].counts, self._changes[0].live)
            change.note(len(self._router.marks), results, self._hold())
            change.dropped = []
            self._pump(change, self._state.options.migration.work)

    def finish(self) -> None:
        """Be done now."""
        if self._changes:
            change, start = self._changes[-1], time.perf_counter()
            change.finish()
            self._see(change, time.perf_counter() - start)

    def released(self) -> list[Result]:
        """Results that need not be held any longer, once."""
        if not self._released:
            return []
        released, self._released = self._released, []
        return released

    def keep(self, results: list[Result]) -> None:
        """Results that were released, but nobody has taken them."""
        self._released = results + self._released

    def _hold(self) -> int:
        """Put results by that a track may not emit yet; how many."""
        state, router, count = self._state, self._router, 0
        for track, outbox in _outboxes(router):
            if len(outbox):
                result = emit(state.query, router, outbox, state.fetch, state.output.number)
                result.seal()
                if all(of is not track for of, _ in self._held):
                    self._held.append((track, []))
                    self._held.sort(key=lambda held: router.tracks.index(held[0]))  # oldest first
                next(parts for of, parts in self._held if of is track).append(result)
                outbox.clear()  # each of them once, whoever asks again
                count += len(result)
        return count

    def _pump(
        self,
        change: Change,
        call: Callable[[Change], None],
        unchanged: Callable[[], bool] = lambda: False,
        so: str = "",
    ) -> None:
        """Let the technique go on, and see what has come of it.

        An error of its own is kept for the next push, unless nothing has changed so far: then it is raised.
        """
        start, technique = time.perf_counter(), self._state.options.migration
        try:
            call(change)
        except Exception as error:
            if not is_own(error):
                raise error if unchanged() else stopped("migration", technique, error) from error
            if unchanged():
                raise PolicyError(f"{named('migration', technique, error)}. {so}") from error
            self._state.faults.note("migration", technique, error)
        self._see(change, time.perf_counter() - start)

    def _see(self, change: Change, seconds: float) -> None:
        """See what has come of it."""
        change.chronicle.seconds += seconds
        change.note_progress()
        if change.adopted is not None:
            self._adopt(change.adopted)
        holding = {id(track) for track, _ in _outboxes(self._router)}
        while self._held and id(self._held[0][0]) not in holding:
            self._released += self._held.pop(0)[1]
        done = self._is_done(change)
        for other in list(self._changes):
            if done or (other is not self._changes[-1] and other.superseded):
                other.chronicle.end(self._state.events)
                self._log.append(other.chronicle.statistics())
                self._changes.remove(other)

    def _is_done(self, change: Change) -> bool:
        technique = self._state.options.migration
        try:
            return technique.done(change)
        except Exception as error:
            self._state.faults.note("migration", technique, error)
            return not change.running

    def _adopt(self, box: Box) -> None:
        """Another plan takes over with rows of its own."""
        state = self._state
        state.handout.seal()
        box.router.succeed(self._router)
        box.router.newest = state.row_numbers.counts.copy()
        box.router.attend(state.feedback, self._router.suspension)
        state.executor, state.streams = box.router, [*box.streams]
        for change in self._changes:
            change.adopted = change.boxed = None
            change.use(self._router)
