"""Plan changes where there are several shards: each changes by itself, and no row moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from attrs import evolve

from eddy.box import Batch
from eddy.errors import PolicyError
from eddy.plan import Plan
from eddy.result import Result
from eddy.shards import Crew
from eddy.statistics import MigrationStatistics
from eddy.types import Array

if TYPE_CHECKING:
    from eddy.engine import Eddy
    from eddy.migrations import Migrations


class CrewChanges:
    """The plan changes of all shards, with the doors of those of an engine."""

    def __init__(self, engine: Eddy, crew: Crew) -> None:
        self._engine = engine
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
    def nbytes(self) -> int:
        return sum(changes.nbytes for changes in self._each)

    def codes_in_use(self) -> Iterator[Array]:
        for changes in self._each:
            yield from changes.codes_in_use()

    @property
    def history(self) -> tuple[MigrationStatistics, ...]:
        """The last changes, oldest first, each as all shards together made it."""
        return tuple(
            _together(of_one) for of_one in zip(*(changes.history for changes in self._each), strict=False)
        )

    def check_none_held(self) -> None:
        for changes in self._each:
            changes.check_none_held()

    def begin(self, plan: Plan, must: bool = False) -> Callable[[], float]:
        """Change every shard's plan; returns what tells how long that takes all of them."""
        self._crew.settle()
        self._engine._handout.seal()  # a technique may put other rows in place of those that results still name
        each: list[Callable[[], float]] = []
        try:
            for shard in self._crew.shards:
                shard.engine._events, shard.engine._loaded = self._engine._events, self._engine._loaded
                shard.engine._batches = self._engine._batches
                each.append(shard.engine._change(plan, must=bool(each)))
        except PolicyError:  # the first shard, and nothing has changed
            raise
        except BaseException as error:
            self._engine._broken = error
            raise
        return lambda: sum(seconds() for seconds in each)

    def resume(self) -> None:
        """Shards have begun by themselves."""

    def feed(self, make: Callable[[], Batch]) -> None:
        """Shards feed their own."""

    def work(self, results: int) -> None:
        """A batch is done."""
        if not any(changes._changes for changes in self._each):
            return
        self._crew.settle()
        self._engine._handout.seal()
        for shard in self._crew.shards:
            if len(shard.events):
                shard.engine._events, shard.engine._loaded = self._engine._events, self._engine._loaded
                shard.engine._batches = self._engine._batches
                shard.engine._changes.work(shard.made)

    def finish(self) -> None:
        self._crew.settle()
        self._engine._handout.seal()
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


def _together(changes: tuple[MigrationStatistics, ...]) -> MigrationStatistics:
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
    )
