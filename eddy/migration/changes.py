"""What an engine asks of its plan changes, whether it has one router or several shards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from eddy.intake.batch import Batch
from eddy.plan.plan import Plan
from eddy.results.result import Result
from eddy.statistics import MigrationStatistics
from eddy.values.types import Array

if TYPE_CHECKING:
    from eddy.state import EngineState


class PlanChanges(ABC):
    """The plan changes of an engine: those under way, and those that are over."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    def change(self, plan: Plan, must: bool = False) -> Callable[[], float]:
        """Change to another plan; returns what tells the seconds that this has taken so far. See `begin`."""
        state = self._state
        state.factory.check(state.options.feedback, plan)
        seconds = self.begin(plan, must)
        former, state.plan = state.plan, plan
        state.migrations += 1
        state.log.tell("plan changed", former=str(former), plan=str(plan))
        return seconds

    @abstractmethod
    def begin(self, plan: Plan, must: bool = False) -> Callable[[], float]:
        """Begin a change to ``plan``; where that fails before anything has changed, nothing has.

        A shard ``must`` where others have the plan already: it takes over without the technique then, with holes.
        """

    @abstractmethod
    def resume(self) -> None:
        """After loading a snapshot, composites are holes: that is a change under way, to the plan itself."""

    @abstractmethod
    def feed(self, make: Callable[[], Batch]) -> None:
        """A batch has arrived, which ``make`` makes a copy of: black boxes get it too."""

    @abstractmethod
    def work(self, results: int) -> None:
        """A batch is done that has brought ``results`` results: the technique goes on."""

    @abstractmethod
    def finish(self) -> None:
        """Be done with all changes now."""

    @property
    @abstractmethod
    def under_way(self) -> bool:
        """Whether a change has begun that is not over."""

    @property
    @abstractmethod
    def quiet(self) -> bool:
        """Whether no change is under way, and nothing is left of one to hand out."""

    @abstractmethod
    def released(self) -> list[Result]:
        """Results that need not be held back any longer, each once."""

    @abstractmethod
    def keep(self, results: list[Result]) -> None:
        """Take results back that were released, but that nobody has taken."""

    @abstractmethod
    def check_none_held(self) -> None:
        """StateError if results are held back, or released and not taken yet."""

    @property
    @abstractmethod
    def history(self) -> tuple[MigrationStatistics, ...]:
        """The last changes, oldest first."""

    @property
    @abstractmethod
    def fallbacks(self) -> int:
        """Changes so far in which plans could not run side by side."""

    @abstractmethod
    def codes_in_use(self) -> Iterator[Array]:
        """String codes that black boxes need."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """What black boxes hold."""
