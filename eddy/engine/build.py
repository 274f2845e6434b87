"""Putting an engine together: its state, who steers it, and the threads and kernels that run it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from attrs import frozen

from eddy.access import Access
from eddy.compiling import ready
from eddy.engine.factory import Factory
from eddy.engine.fast_path import FastPath
from eddy.engine.forks import watch
from eddy.engine.needs import kernels_of
from eddy.faults import Faults, Guarded
from eddy.inspect.history import History
from eddy.intake.intake import Intake, stored_columns
from eddy.intake.lowwater import LowWater
from eddy.intake.travel import Share
from eddy.log.events import Log
from eddy.migration.migrations import Migrations
from eddy.results.output import Output
from eddy.results.recent import RecentResults
from eddy.router.budget import Budget
from eddy.state import EngineState, Options
from eddy.steering.steering import Steering
from eddy.steering.view import sampler_of
from eddy.store.row_numbers import RowNumbers
from eddy.store.stream import numbers_in_whole
from eddy.threads.employ import employ
from eddy.values.strings import StringPool


@frozen(eq=False)
class House:
    """What the engines of several queries have in common."""

    access: Access
    pool: StringPool | None = None
    """The strings of all streams; None: the engine has those of its rows."""
    output: Callable[[], Output] | None = None
    """Makes what turns the results of a core into those of its queries; None: it has one query, and rows of its own."""


def build(
    options: Options,
    plan: str | None = None,
    share: Share | None = None,
    first_row: int = 0,
    house: House | None = None,
) -> EngineState:
    """An empty state under a plan, or under one to start with. PlanError if the plan is none.

    Its rows are numbered from ``first_row`` on. ``share`` is given where it is a part of a whole. A core in a
    ``house`` stores the rows that are ruled out too: queries to come may want them.
    """
    factory = Factory(options.query, options.joins, share, None if house is None else house.pool)
    query, attached = factory.query, factory.attached(first_row)
    parsed = factory.parse(plan)
    factory.check(options.feedback, parsed)
    faults = Faults() if share is None or share.faults is None else share.faults
    feedback = Guarded(options.feedback, faults)
    streams = [factory.stream(number, first_row) for number in range(len(query.names))]
    lowwater, log = LowWater(*factory.windows(), first_row), Log(muted=share is not None)
    access = Access() if house is None else house.access
    output = None if house is None else house.output
    thins = query.base is None and output is None
    state = EngineState(
        options=options,
        factory=factory,
        plan=parsed,
        first_row=first_row,
        streams=[*streams],
        intake=Intake(
            options.query, factory.pool, stored_columns(options.query) if attached else factory.stored, thins
        ),
        lowwater=lowwater,
        row_numbers=RowNumbers(lowwater, factory.pool, thins=thins),
        output=factory.output(options.retractions, attached) if output is None else output(),
        attached=attached,
        executor=factory.executor(streams, feedback, parsed),
        history=History(),
        faults=faults,
        feedback=feedback,
        budget=None if options.memory is None else Budget(options.memory, log),
        access=access,
        recent=RecentResults(access),
        log=log,
    )
    if share is not None and state.executor.routers:  # a set difference is never cut into parts
        state.output.number = lambda rows: numbers_in_whole(state.streams, rows)
    if options.disorder is not None:
        from eddy.reorder.buffer import ReorderBuffer  # loaded only where rows may come out of order

        state.reorder = ReorderBuffer(options.query, options.disorder)
    state.changes = Migrations(state)
    state.sampler = partial(sampler_of, state)
    ready(kernels_of(state))
    return state


def steered(state: EngineState) -> EngineState:
    """The state with its routing policy at work."""
    state.options.routing.begin(state.query.names, state.options.seed)
    state.steering = Steering(state)
    return state


def started(state: EngineState) -> EngineState:
    """The state, new or loaded, ready for pushes: its rows dealt out to threads, if there are to be several."""
    employ(state, build)
    state.fast_path = FastPath(state)
    watch(state)
    return state
