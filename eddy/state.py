"""The state of an engine: what its rooms share, with a name for each thing and no behaviour of its own.

`Eddy` has the doors; the functions and classes behind them are given this state. It is built in `eddy.engine.build`,
for a whole engine, for a shard of one (`eddy.threads`) and for a cell of a partitioning (`eddy.partition`). Whoever
changes it holds `EngineState.access`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from eddy.access import Access

if TYPE_CHECKING:
    from eddy.attachments.streams import AttachedStreams
    from eddy.engine.drawing import Drawing
    from eddy.engine.factory import Factory
    from eddy.engine.fast_path import FastPath
    from eddy.faults import Faults, Guarded
    from eddy.inspect.history import History
    from eddy.intake.intake import Intake
    from eddy.intake.lowwater import LowWater
    from eddy.log.events import Log
    from eddy.migration.changes import PlanChanges
    from eddy.plan.plan import Plan
    from eddy.query.query import Query
    from eddy.reorder.buffer import ReorderBuffer
    from eddy.reorder.disorder import Disorder
    from eddy.results.contents import Fetch
    from eddy.results.output import Output
    from eddy.results.recent import RecentResults
    from eddy.router.budget import Budget
    from eddy.router.executor import Executor
    from eddy.steering.sampling import Sampler
    from eddy.steering.steering import Steering
    from eddy.store.row_numbers import RowNumbers
    from eddy.store.stream import HeldStream, StoredStream
    from eddy.values.strings import StringPool
    from eddy.values.types import Column
    from policies import Feedback, Migration, Routing


@frozen
class Options:
    """What an engine is given, checked: the arguments of `Eddy` but for its first plan. They never change."""

    query: Query
    routing: Routing
    migration: Migration
    feedback: Feedback
    batch_size: int
    joins: str
    seed: int
    retractions: bool
    memory: int | None
    """Bytes that composites may take, with everything else that the engine holds; None: as many as they need."""
    advise: bool
    threads: int
    disorder: Disorder | None
    """None: rows come in order of time."""
    stays: bool
    """Whether the plan is the user's own: its policy, if it has one, is there to advise only."""


@define(eq=False)
class EngineState:
    """What an engine, a shard or a cell holds. Fields without a default are made with it, the others come later."""

    options: Options
    factory: Factory
    """Makes what the query needs: streams, executors, outputs, black boxes."""
    plan: Plan
    """The current plan, or the one that the engine is changing to."""
    first_row: int
    """The number of the first row of every stream."""
    streams: list[StoredStream]
    intake: Intake
    lowwater: LowWater
    """Where the windows of all streams stand."""
    row_numbers: RowNumbers
    """The rows that are stored, where that is not all that arrive."""
    output: Output
    """Makes results of what a batch has brought."""
    executor: Executor
    """Runs batches."""
    history: History
    faults: Faults
    feedback: Guarded
    """The feedback policy; its errors go to `faults`."""
    budget: Budget | None
    access: Access
    recent: RecentResults
    log: Log
    """Is told of late rows, and of a memory budget that is reached."""
    attached: AttachedStreams | None
    """The streams that are attached to the others; None: there are none."""

    query: Query = field(init=False)
    """What is joined here: of a query with attachments, its core."""
    fetch: Fetch = field(init=False)
    """Values of columns of a stream for the rows that results name: `stored_values`, unless a whole keeps them."""
    changes: PlanChanges = field(init=False)
    """The plan changes under way, and those that are over."""
    sampler: Callable[[], Sampler] = field(init=False)
    """Makes a sampler of the rows as they are."""
    steering: Steering = field(init=False)
    """Asks the routing policy when it is time."""
    fast_path: FastPath | None = None
    """None: a shard, whose whole has one."""
    reorder: ReorderBuffer | None = None
    """Rows that wait for the watermark; None: they come in order of time."""
    drawing: Drawing | None = None
    """The results of the last push that are still to be drawn."""
    broken: BaseException | None = None
    """What has stopped the engine in the middle of a batch, if anything has."""
    closed: bool = False
    """Whether it is over: it holds no rows, and takes none."""

    shares_strings: bool = False
    """Whether its pool is somebody else's, who sweeps it."""
    beside: Callable[[], int] = lambda: 0
    """Bytes that are held beside it, which its memory budget counts too."""

    events: int = 0
    results: int = 0
    migrations: int = 0
    batches: int = 0
    """Since the engine was made or loaded."""
    loaded: int = 0
    """Events from before, in the snapshot that it was loaded from."""
    seconds: float = 0.0
    """Time spent on batches."""
    refused: dict[str, int] = field(factory=dict)
    """Rows of batches that were refused, by stream; as far as it could be told how many these were."""

    def __attrs_post_init__(self) -> None:
        self.query = self.options.query.core
        self.fetch = self.stored_values

    @property
    def pool(self) -> StringPool:
        """The strings of all columns."""
        return self.factory.pool

    def kept_from(self) -> tuple[Sequence[HeldStream], list[int]]:
        """All streams, by their numbers, and the first row of each that is live or that somebody may ask for."""
        lows: list[int] = self.row_numbers.lows.tolist()
        if self.attached is None:
            return self.streams, lows
        return [*self.streams, *self.attached.streams], lows + self.attached.floors()

    def batch_length(self, results: bool = True) -> int:
        """Events that the executor is given at a time, at the most; ``results`` as in `Executor.take_in`."""
        return self.executor.longest(self.options.batch_size, results)

    def stored_values(self, stream: str, columns: Sequence[str], rows: NDArray[np.int64]) -> list[Column]:
        """The values of some columns for rows that are stored here, by their numbers here."""
        if self.attached is not None:
            return self.attached.reader(self.streams).columns(stream, columns, rows)
        return self.streams[self.query.names.index(stream)].payload.take_all(columns, rows)
