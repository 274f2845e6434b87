"""What runs the batches of an engine: a router, a crew of shards in its place, or a chain of set differences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from eddy.intake.batch import Batch
from eddy.intake.intake import Part
from eddy.plan.compiler import Compiler
from eddy.plan.difference_plan import Subtractions
from eddy.plan.plan import Plan
from eddy.statistics import StairStatistics
from eddy.store.stream import StreamState
from eddy.tracks.moment import Marks, Moment
from eddy.tracks.program import Program
from policies import Feedback
from policies.migration.base import State

if TYPE_CHECKING:
    from eddy.feedback.suspension import Suspension
    from eddy.router.budget import Budget
    from eddy.router.router import Router


Made = tuple[int, Callable[[], NDArray[np.int64]]]
"""Results that a batch has made: how many, and what finds their row numbers, a line for each and a column for each
stream, in the order of their latest events."""


class RunningPlan(Protocol):
    """A plan with its states, run over every batch: a `Track`, or the one order of a chain."""

    @property
    def plan(self) -> Plan | Subtractions: ...

    @property
    def stairs(self) -> Mapping[Any, State]: ...


class Measured(ABC):
    """What can be asked of an executor between two batches."""

    shards: Sequence[Any] = ()
    """The parts to which rows are dealt out, each with an engine of its own; none where there is one of everything."""
    suspension: Suspension | None = None
    """What feedback has put by; None: nothing waits, and nothing ever has."""

    @property
    @abstractmethod
    def tracks(self) -> Sequence[RunningPlan]:
        """The plans that run, the oldest first; the last one is the current plan."""

    @property
    def plan(self) -> Plan | Subtractions:
        """The current plan, or the one that it is changing to."""
        return self.tracks[-1].plan

    @property
    def routers(self) -> Sequence[Router]:
        """The routers that join the batches: itself, those of its shards, or none if it makes no joins."""
        return ()

    @property
    @abstractmethod
    def keys_filled(self) -> int:
        """Holes filled so far, also in STAIRs that are gone."""

    @property
    @abstractmethod
    def composites_built(self) -> int:
        """Composites that filled holes."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of rings for entries on their way; states count by themselves."""

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs of the current plan, which count what their steps find."""
        return ()

    @property
    def matches_made(self) -> int:
        """Matches of all steps so far."""
        return 0

    @property
    def probed(self) -> int:
        """Entries that probes have looked at so far."""
        return 0

    def state_statistics(self) -> tuple[StairStatistics, ...]:
        """Its states where they are no STAIRs, lowest first."""
        return ()

    def describe(self) -> list[str]:
        """How rows are dealt out, as lines of text."""
        return []


class Executor(Measured):
    """What an engine asks of it. A batch is begun, stored and run; then what it has made can be read."""

    moment: Moment
    """Which rows the batch that was run last has found live."""

    @property
    def marks(self) -> Marks:
        """Of the batch that was run last: low-water rows at each event."""
        return self.moment.marks

    @property
    def newest(self) -> NDArray[np.int64]:
        """The next row of each stream: set when a batch is stored, before it is run."""
        return self.moment.newest

    @newest.setter
    def newest(self, rows: NDArray[np.int64]) -> None:
        self.moment.newest = rows

    @property
    def reviews_next(self) -> bool:
        """Whether the next batch gives memory back."""
        return False

    def longest(self, events: int, results: bool = True) -> int:
        """Events that it should be given at a time, ``events`` at the most: fewer where a batch of that many passes
        too many entries in vain, and kernels do not cut it by themselves. ``results`` as in `take_in`."""
        return events

    def rouse(self) -> None:
        """A push begins: whoever lets others work has them awake in time."""

    def take_in(self, batch: Batch, ring: int, results: bool = True) -> None:
        """Begin, store and run a batch: this sequence, for a whole engine, a shard and a black box.

        What it makes goes to result ring number ``ring``; without ``results`` it is drawn later. Kernels go through the
        same sequence by themselves where `can_run_in_kernels` says that they can.
        """
        self.begin(batch.floor, batch.lows, batch.counts, ring)
        self.foresee(batch.parts)
        self.store(batch.parts)
        self.newest = batch.newest
        self.run(batch.marks, ring, results)

    @abstractmethod
    def begin(
        self, floor: NDArray[np.int32], low_rows: NDArray[np.int64], next_rows: NDArray[np.int64], ring: int
    ) -> None:
        """Begin a batch; its results go to result ring number ``ring``.

        ``low_rows`` are the low-water rows before it, ``floor`` has the low 32 bits of these, and ``next_rows`` are the
        first rows that it may bring.
        """

    @abstractmethod
    def foresee(self, parts: Sequence[Part]) -> None:
        """These rows are about to be stored: holes that they are going to probe may be filled before that."""

    @abstractmethod
    def store(self, parts: Sequence[Part]) -> None:
        """Store the rows of the batch."""

    @abstractmethod
    def run(self, marks: Marks, ring: int, results: bool = True) -> None:
        """Join the batch; ``marks`` has the low-water rows at each event. Without ``results`` they are drawn later."""

    @abstractmethod
    def made(self, ring: int) -> Made:
        """What the batch has made."""

    @abstractmethod
    def signed(self, ring: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """What the batch has made, as rows and their latest events by their places in the batch."""

    @abstractmethod
    def drawn(self, max_rows: int, ring: int) -> Iterator[Made]:
        """What a batch makes that was run without results, in parts of at most ``max_rows``."""

    def keep_to(self, budget: Budget, others: Callable[[], int]) -> None:
        """Composites give way where memory is short; ``others`` counts the bytes of everything else."""
        for router in self.routers:
            budget.keep(router, others)
        if not self.routers and budget.due:
            budget.judge(others() + sum(state.bytes for state in self.state_statistics()))

    def forked(self) -> None:
        """This is a forked child, in which the parent's threads are not."""


class PlanExecutor(Executor):
    """An executor that has the plans itself, and not its parts: a router or a chain. They can be changed."""

    compiler: Compiler
    streams: list[StreamState]
    filled_before: int = 0
    """Holes filled in states that are gone."""
    composites_built: int = 0
    """Composites that filled holes."""
    composites_made: int = 0
    """Composites that the current plan put into states that began empty, while another plan was running."""
    counting: bool = False
    """Whether it runs apart, so that all of its states began empty."""

    @property
    def alone(self) -> bool:
        """Whether one plan runs, which sees all rows and makes all results: always, if no two can run side by side."""
        return True

    @property
    @abstractmethod
    def stairs(self) -> Mapping[Any, State]:
        """The states of the current plan."""

    @property
    @abstractmethod
    def every_stair(self) -> Sequence[State]:
        """The states of all plans."""

    @abstractmethod
    def install(self, plan: Any, fresh: bool) -> tuple[Sequence[State], Sequence[State]]:
        """Change to a plan, of the kind that it runs: states shared with the old one are kept, others consist of holes.

        Returns the states that are new, and those that are dropped. ``fresh``: there are no rows yet.
        """

    def standing(self) -> NDArray[np.int64]:
        """Rows of all streams of the results that stand, where it knows of them itself."""
        return np.empty((0, len(self.streams)), np.int64)

    @abstractmethod
    def attend(self, policy: Feedback, former: Suspension | None = None) -> None:
        """Let rows wait as the policy says; ``former`` did so in the place of this executor."""

    @abstractmethod
    def succeed(self, former: Executor) -> None:
        """Take the place of another executor: all that is counted goes on from where that one had come."""
