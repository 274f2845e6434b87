"""Plan changes where there are several shards: each changes by itself, and no row moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve

from eddy.errors import PolicyError
from eddy.intake.batch import Batch
from eddy.migration.changes import PlanChanges
from eddy.migration.migrations import LOGGED
from eddy.plan.plan import Plan
from eddy.results.result import Result
from eddy.statistics import MigrationStatistics
from eddy.threads.crew import Crew
from eddy.values.types import Array

if TYPE_CHECKING:
    from eddy.migration.migrations import Migrations
    from eddy.state import EngineState


class CrewChanges(PlanChanges):
    """The plan changes of all shards."""

    def __init__(self, state: EngineState, crew: Crew) -> None:
        super().__init__(state)
        self._crew = crew
        self._released: list[Result] = []

    @property
    def _each(self) -> list[Migrations]:
        return [shard.changes for shard in self._crew.shards]

    @property
    def quiet(self) -> bool:
        """Whether no change is under way, and nothing is left of one to hand out."""
        return not self._released and all(changes.quiet for changes in self._each)

    @property
    def under_way(self) -> bool:
        return any(changes.under_way for changes in self._each)

    @property
    def nbytes(self) -> int:
        return sum(changes.nbytes for changes in self._each)

    def codes_in_use(self) -> Iterator[Array]:
        for changes in self._each:
            yield from changes.codes_in_use()

    @property
    def history(self) -> tuple[MigrationStatistics, ...]:
        """The last changes that are over, oldest first, and then those under way, each as all shards made it.

        Each shard tells of them in the order in which its own were over. One that was loaded without rows has nothing
        to tell of that.
        """
        told: dict[tuple[Any, ...], list[MigrationStatistics]] = {}
        for changes in self._each:
            seen: Counter[tuple[Any, ...]] = Counter()
            for change in changes.history:
                name = change.begun, change.former, change.plan
                told.setdefault((*name, seen[name]), []).append(change)
                seen[name] += 1
        every = sorted(map(_together, told.values()), key=lambda change: change.begun)
        over = [change for change in every if change.ended is not None]
        over.sort(key=lambda change: change.ended or 0)
        return (*over[-LOGGED:], *(change for change in every if change.ended is None))

    @property
    def fallbacks(self) -> int:
        return sum(changes.fallbacks for changes in self._each)

    def check_none_held(self) -> None:
        for changes in self._each:
            changes.check_none_held()

    def begin(self, plan: Plan, must: bool = False) -> Callable[[], float]:
        """Change every shard's plan; returns what tells how long that takes all of them."""
        self._crew.write_back()
        self._state.recent.seal()  # a technique may put other rows in place of those that results still name
        each: list[Callable[[], float]] = []
        try:
            for shard in self._crew.shards:
                shard.state.events, shard.state.loaded = self._state.events, self._state.loaded
                shard.state.batches = self._state.batches
                each.append(shard.changes.change(plan, must=bool(each)))
        except PolicyError:  # the first shard, and nothing has changed
            raise
        except BaseException as error:
            self._state.broken = error
            raise
        return lambda: sum(seconds() for seconds in each)

    def resume(self) -> None:
        """Shards have begun by themselves."""

    def feed(self, make: Callable[[], Batch]) -> None:
        """Shards feed their own."""

    def work(self, results: int) -> None:
        """A batch is done."""
        if not self.under_way:
            return
        self._crew.write_back()
        self._state.recent.seal()
        for shard in self._crew.shards:
            if len(shard.events):
                shard.state.events, shard.state.loaded = self._state.events, self._state.loaded
                shard.state.batches = self._state.batches
                shard.state.changes.work(shard.made)

    def finish(self) -> None:
        self._crew.write_back()
        self._state.recent.seal()
        for changes in self._each:
            changes.finish()

    def released(self) -> list[Result]:
        """Results that need not be held any longer, once."""
        released, self._released = self._released, []
        for changes in self._each:
            released += changes.released()
        return released

    def keep(self, results: list[Result]) -> None:
        self._released = results + self._released


def _together(changes: Sequence[MigrationStatistics]) -> MigrationStatistics:
    """One plan change as all shards made it."""
    ends = [change.ended for change in changes]
    times = [change.ended_at for change in changes]
    return evolve(
        changes[0],
        begun=min(change.begun for change in changes),
        ended=None if None in ends else max(end for end in ends if end is not None),
        begun_at=min(change.begun_at for change in changes),
        ended_at=None if None in times else max(time for time in times if time is not None),
        seconds=sum(change.seconds for change in changes),
        keys_filled=sum(change.keys_filled for change in changes),
        composites_built=sum(change.composites_built for change in changes),
        results_held=sum(change.results_held for change in changes),
        longest_gap=max(change.longest_gap for change in changes),
        longest_pause=max(change.longest_pause for change in changes),
        peak_bytes=sum(change.peak_bytes for change in changes),
        tracks=tuple(track for change in changes for track in change.tracks),
        entries_demoted=sum(change.entries_demoted for change in changes),
        entries_promoted=sum(change.entries_promoted for change in changes),
        evaluations=sum(change.evaluations for change in changes),
        fallback=next((change.fallback for change in changes if change.fallback is not None), None),
    )
