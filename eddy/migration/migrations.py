"""The plan changes of an engine: begun, pumped batch by batch, and remembered."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from eddy.errors import EddyError, StateError
from eddy.intake.batch import Batch
from eddy.migration.black_box import BlackBox
from eddy.migration.change import Change
from eddy.migration.changes import PlanChanges
from eddy.migration.held import HeldResults
from eddy.migration.record import Chronicle
from eddy.migration.technique import Technique
from eddy.plan.plan import Plan
from eddy.query.query import Query
from eddy.results.result import Result
from eddy.router.executor import PlanExecutor
from eddy.statistics import MigrationStatistics
from eddy.values.types import Array
from policies import Migration

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
    if technique.holds and (retractions or query.grouped):
        raise EddyError(
            f'{name}(order="pt") holds results back, so they could be withdrawn before they are given: '
            'use order="max" with retractions and aggregates'
        )


class Migrations(PlanChanges):
    """The plan changes of an engine with one router, or of one shard."""

    def __init__(self, state: EngineState) -> None:
        super().__init__(state)
        self._changes: list[Change] = []
        """Under way, oldest first."""
        self._log: deque[MigrationStatistics] = deque(maxlen=LOGGED)
        self._held = HeldResults(state.query)
        self._fallbacks = 0
        self._technique = Technique(state.options.migration, state.faults)

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
        return not self._changes and not self._held

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

    @property
    def fallbacks(self) -> int:
        """Changes so far in which plans could not run side by side."""
        return self._fallbacks

    def check_none_held(self) -> None:
        """Refuse to go on where results would be lost."""
        if self._held:
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
            anyway = partial(self._technique.begin_anyway, unchanged=unchanged)
            call = anyway if must else state.options.migration.begin
            self._pump(change, call, unchanged, "The plan is as it was")
        except BaseException as error:
            self._changes.remove(change)
            if self._router.tracks is not tracks:
                state.broken = error
            raise
        self._fallbacks += change.chronicle.fallback is not None
        for other in self._changes[:-1]:
            other.boxed = None  # a black box for a plan that nobody wants any more
        return lambda: change.chronicle.seconds

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
        make, samples = state.factory.box, state.sampler
        return Change(plan, chronicle, self._router, state.row_numbers, make, samples, batch)

    # -- going on --------------------------------------------------------------------------------------------------

    def feed(self, make: Callable[[], Batch]) -> None:
        """A batch has arrived: black boxes get it too."""
        for change in self._changes:
            if change.boxed is not None:
                change.boxed.feed(make())

    def work(self, results: int) -> None:
        """A batch is done and has brought ``results`` results."""
        if self._changes:
            change = self._changes[-1]
            change.since = (self._changes[0].counts, self._changes[0].live)
            held = self._held.collect(self._router, self._state.fetch, self._state.output.number)
            change.note(len(self._router.marks), results, held)
            change.dropped = []
            self._pump(change, self._technique.of(change).work)

    def finish(self) -> None:
        """Be done now."""
        if self._changes:
            change, start = self._changes[-1], time.perf_counter()
            change.finish()
            self._see(change, time.perf_counter() - start)

    def released(self) -> list[Result]:
        """Results that need not be held back any longer, each once."""
        return self._held.take()

    def keep(self, results: list[Result]) -> None:
        """Results that were released, but nobody has taken them."""
        self._held.put_back(results)

    def _pump(
        self,
        change: Change,
        call: Callable[[Change], None],
        unchanged: Callable[[], bool] = lambda: False,
        so: str = "",
    ) -> None:
        """Let the technique go on, and see what has come of it; errors are dealt with as in `Technique.call`."""
        start = time.perf_counter()
        self._technique.call(change, call, unchanged, so)
        self._see(change, time.perf_counter() - start)

    def _see(self, change: Change, seconds: float) -> None:
        """See what has come of it."""
        change.chronicle.seconds += seconds
        change.note_progress()
        if change.adopted is not None:
            self._adopt(change.adopted)
        self._held.release(self._router)
        done = self._technique.is_done(change)
        for other in self._changes:
            other.chronicle.count_evaluations(self._router)
        for other in list(self._changes):
            if not done and (other is self._changes[-1] or not other.superseded):
                break  # they are told in their order
            other.chronicle.end(self._state.events)
            self._log.append(other.chronicle.statistics())
            self._changes.remove(other)

    def _adopt(self, box: BlackBox) -> None:
        """Another plan takes over with rows of its own."""
        state = self._state
        state.recent.seal()
        box.router.succeed(self._router)
        box.router.newest = state.row_numbers.counts.copy()
        box.router.attend(state.feedback, self._router.suspension)
        state.executor, state.streams = box.router, [*box.streams]
        for change in self._changes:
            change.adopted = change.boxed = None
            change.use(self._router)
