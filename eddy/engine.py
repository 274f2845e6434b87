"""The eddy: its doors, and what stands behind them. What a push does is told in `pushing`."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, cast, overload

import numpy as np
from numpy.typing import NDArray

from eddy import pushing, snapshot
from eddy.budget import Budget, bytes_of
from eddy.census import take_census
from eddy.crews import dealt_out, employ
from eddy.decisions import Decision
from eddy.doors import alone, check_ready
from eddy.errors import BatchError, EddyError, PlanError
from eddy.explain import explain
from eddy.explanation import Explanation
from eddy.express import Express
from eddy.faults import Faults, Guarded
from eddy.forks import watch
from eddy.handout import Handout
from eddy.history import History
from eddy.intake import Intake
from eddy.lowwater import LowWater
from eddy.marks import ROW, Share
from eddy.migrations import Migrations, check_technique
from eddy.numbers import Numbers
from eddy.options import (
    flag,
    given,
    policy,
    reloaded,
    seed_number,
    usual_routing,
    usual_technique,
    whole,
)
from eddy.output import GroupedOutput
from eddy.plan import Plan
from eddy.query import Query
from eddy.result import Result
from eddy.statistics import Statistics
from eddy.steering import Steering
from eddy.types import Column
from eddy.why import Inquiry
from eddy.workshop import Workshop
from policies import Feedback, Migration, NoFeedback, Routing, View

if TYPE_CHECKING:
    from eddy.shards_changes import CrewChanges


class Eddy:
    """Runs a query - a join, a set difference, aggregates over them - under a plan that may change at any moment.

    Every result is given exactly once, by the push that brings its latest event, in the order of these events; it is
    withdrawn once, if the query or ``retractions`` ask for that. Batch size, plan, plan changes and policies never
    change the results. (One technique, ``ParallelTrack(order="pt")``, gives some of them later.)

    Without a plan the engine chooses one by itself, and another whenever that pays (`policies.Auto`). A plan that is
    given stays until `migrate`, unless there is a ``routing`` policy too: then it is the one to begin with. With
    ``advise`` the policy only says, in `decisions`, what it would do (`policies.Auto` if none is given).

    An engine works with copies of its own of the policies that it is given: `engine.routing` is the one that learns.
    """

    query: Query = given("query", "make another engine")
    routing: Routing = given(
        "routing",
        "freeze() stops asking the policy, and Eddy.load(path, routing=...) goes on with another where save() stood",
    )
    migration: Migration = reloaded("migration")
    feedback: Feedback = reloaded("feedback")
    batch_size: int = reloaded("batch_size")
    joins: str = reloaded("joins")
    seed: int = reloaded("seed")
    retractions: bool = reloaded("retractions")
    advise: bool = reloaded("advise")
    threads: int = reloaded("threads")

    def __init__(
        self,
        query: Query,
        plan: str | None = None,
        routing: Routing | None = None,
        migration: Migration | None = None,
        feedback: Feedback | None = None,
        batch_size: int = 4096,
        joins: str = "hash",
        seed: int = 0,
        retractions: bool = False,
        memory: int | str | None = None,
        advise: bool = False,
        threads: int = 1,
        _first_row: int = 0,
        _share: Share | None = None,
    ) -> None:
        if not isinstance(query, Query):
            raise EddyError(
                f"Eddy needs an eddy.Query, not {type(query).__name__}: make one with eddy.Query or eddy.sql"
            )
        if joins not in ("hash", "nested"):
            raise EddyError(f"joins must be 'hash' or 'nested', not {joins!r}")
        self._query = query
        self._advise = flag("advise", advise)
        self._stays = plan is not None and routing is None
        """Whether the plan is the user's own: its policy, if it has one, is there to advise only."""
        self._routing = (
            usual_routing(plan, advise) if routing is None else policy("routing", routing, Routing, None)
        )
        usual = usual_technique(query, self.routing, advise)
        self._migration = policy("migration", migration, Migration, usual)
        self._feedback = policy("feedback", feedback, Feedback, NoFeedback())
        self._retractions = flag("retractions", retractions)
        check_technique(self.migration, query, retractions)
        self._batch_size = whole("batch_size", batch_size)
        self._joins = joins
        self._seed = seed_number(seed)
        self._budget = None if memory is None else Budget(bytes_of(memory))
        self._workshop = workshop = Workshop(query, joins, _share)
        self._plan = workshop.parse(plan)
        workshop.check(self.feedback, self._plan)
        self._faults = Faults() if _share is None or _share.faults is None else _share.faults
        self._guarded = Guarded(self.feedback, self._faults)
        self._first_row = _first_row
        self._pool = workshop.pool
        self._streams: list[Any] = [workshop.stream(i, _first_row) for i in range(len(query.names))]
        self._intake = Intake(query, self._pool, workshop.stored)
        self._lowwater = LowWater(*workshop.windows(), _first_row)
        self._numbers = Numbers(self._lowwater, self._pool)
        self._history = History()
        self._output = workshop.output(retractions)
        self._output.number = None if _share is None else self._number
        self._router = workshop.router(self._streams)
        self._router.attend(self._guarded)
        self._router.install(self._plan, fresh=True)
        self._events = self._results = self._migrations = 0
        self._seconds = 0.0
        """Time spent on batches."""
        self._batches = self._loaded = 0
        """Batches since it was made; events from before, in the snapshot that it was loaded from."""
        self._handout = Handout()
        self._inside = threading.RLock()
        """Whoever is in the engine has it: there may be one at a time."""
        self._drawing: Generator[Result | None, None, None] | None = None
        self._broken: BaseException | None = None
        self._changes: Migrations | CrewChanges = Migrations(self)
        self._steering = Steering(self, advise)
        self.routing.begin(query.names, seed)
        self._threads = whole("threads", threads)
        employ(self)
        self._express = Express(self)
        watch(self)

    # -- pushes ----------------------------------------------------------------------------------------------------

    @overload
    def push(self, stream: str, batch: Any) -> Result: ...
    @overload
    def push(self, stream: str, batch: Any, *, max_rows: None) -> Result: ...
    @overload
    def push(self, stream: str, batch: Any, *, max_rows: int) -> Iterator[Result]: ...

    def push(self, stream: str, batch: Any, *, max_rows: int | None = None) -> Result | Iterator[Result]:
        """Rows of one stream arrive; returns the results they bring.

        ``batch``: a dict of arrays, a structured numpy array, a pyarrow table or record batch, a pandas or polars
        frame. With ``max_rows`` the results come as an iterator of parts of at most that many rows, and no more than
        that are ever built at a time (signed results and aggregates: those of ``batch_size`` events); draw it to its
        end before the next push. A batch that is refused (BatchError) changes nothing.
        """
        return pushing.push(self, {stream: batch}, max_rows)

    @overload
    def push_all(self, batches: Mapping[str, Any]) -> Result: ...
    @overload
    def push_all(self, batches: Mapping[str, Any], *, max_rows: None) -> Result: ...
    @overload
    def push_all(self, batches: Mapping[str, Any], *, max_rows: int) -> Iterator[Result]: ...

    def push_all(
        self, batches: Mapping[str, Any], *, max_rows: int | None = None
    ) -> Result | Iterator[Result]:
        """Rows of several streams arrive together, merged by time; ties in the order of the query's streams.

        Where not every stream has a time column, position is the time: first every stream's first row, and so on.
        Rows of static streams come before all others.
        """
        if type(batches) is not dict and not isinstance(batches, Mapping):
            raise EddyError(f"push_all takes a dict of stream name to batch, not {type(batches).__name__}")
        return pushing.push(self, batches, max_rows)

    def run(self, source: Iterable[tuple[str, Any]]) -> Iterator[Result]:
        """Push every (stream, batch) of a source and yield what each brings."""
        for item in source:
            if not isinstance(item, (tuple, list)) or len(item) != 2:
                raise BatchError(
                    f"run takes a source of (stream name, batch) pairs, but it gave a {type(item).__name__}: "
                    "for batches of several streams at once call push_all"
                )
            yield self.push(*item)

    @property
    def pending(self) -> Iterator[Result] | None:
        """The results of the last ``push(..., max_rows=...)`` that are still to be drawn, if there are any."""
        return cast("Iterator[Result] | None", self._drawing)

    @alone
    def settle(self) -> Result:
        """Finish a migration now; returns the results that it has held back (`ParallelTrack(order="pt")` does).

        States that the current plan lacks are computed at once. There is no need to call this: migrations end by
        themselves. Without one under way it does nothing.
        """
        check_ready(self, "settle")
        try:
            self._changes.finish()
        except BaseException as error:
            self._broken = error
            raise
        return pushing.and_released(self, self._output.nothing(self._fetch))

    def _fetch(self, stream: str, column: str, rows: NDArray[np.int64]) -> Column:
        return self._streams[self.query.names.index(stream)].payload.take(column, rows)

    def _number(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers that rows have in the whole of their streams, where this engine has only some of them."""
        found = [
            s.payload.storage(ROW, np.ascontiguousarray(rows[:, s.number])).values for s in self._streams
        ]
        return np.stack(found, axis=1)

    # -- plans -----------------------------------------------------------------------------------------------------

    @property
    def plan(self) -> str:
        """The current plan, or the one that it is changing to."""
        return str(self._plan)

    @alone
    def migrate(self, plan: str) -> None:
        """Change the plan now. STAIRs that both plans have are kept; the others fill as the technique says."""
        check_ready(self, "change the plan")
        if not isinstance(plan, str):
            raise PlanError(f"a plan is a string such as {self.plan!r}, not {type(plan).__name__}")
        parsed = self._workshop.parse(plan)
        self._steering.check(parsed)
        self._change_by_hand(parsed)

    def _change_by_hand(self, plan: Plan) -> None:
        if plan != self._plan:
            self._change(plan)
            self._steering.ledger.close(self._events, self._seconds)

    def _change(self, plan: Plan, must: bool = False) -> Callable[[], float]:
        """Change to another plan, which it ``must``: see `Migrations.begin`. Returns what its seconds are."""
        self._workshop.check(self.feedback, plan)
        seconds = self._changes.begin(plan, must)
        self._plan = plan
        self._migrations += 1
        return seconds

    @alone
    def pin(self, part: str) -> None:
        """Keep a sub-plan such as "(A B)": from now on every plan has it, whoever chooses it.

        Where the plan has it not yet, it is changed, as little as need be. Several pins are kept together; PlanError
        if no tree could have this one beside the others.
        """
        check_ready(self, "pin")
        self._steering.pin(part)

    def unpin(self, part: str | None = None) -> None:
        """Forget a pin; without a name, all of them. The plan stays as it is."""
        self._steering.unpin(part)

    @property
    def pinned(self) -> tuple[str, ...]:
        """The sub-plans that are kept, as they were written."""
        return self._steering.pinned

    def freeze(self) -> None:
        """Ask the routing policy no more, until `thaw`. `migrate` still works."""
        self._steering.frozen = True

    def thaw(self) -> None:
        """Let the routing policy decide again."""
        self._steering.frozen = False

    @property
    def frozen(self) -> bool:
        """Whether the routing policy is kept from deciding."""
        return self._steering.frozen

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What the routing policy has decided, oldest first: the last 256, with what came of each."""
        return self._steering.ledger.told(self._events, self._seconds)

    @property
    def memory(self) -> int | None:
        """The memory budget in bytes, if there is one.

        Above it composites give way: their keys become holes, which are filled again when they are asked for. The rows
        in the windows stay, whatever they take.
        """
        return None if self._budget is None else self._budget.limit

    # -- snapshots -------------------------------------------------------------------------------------------------

    @alone
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a snapshot: the live rows and the plan, in one file that replaces an older one in a single step.

        It is as large as the windows; composites are not in it. The engine goes on as if nothing had happened.
        """
        check_ready(self, "save")
        self._changes.check_none_held()
        snapshot.save(self, path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        query: Query | None = None,
        *,
        plan: str | None = None,
        routing: Routing | None = None,
        migration: Migration | None = None,
        feedback: Feedback | None = None,
        batch_size: int | None = None,
        joins: str | None = None,
        seed: int | None = None,
        retractions: bool | None = None,
        memory: int | str | None = None,
        advise: bool | None = None,
        threads: int = 1,
    ) -> Eddy:
        """An engine that goes on where the saved one stood, and gives exactly the results that it would have given.

        Composites are holes at first and fill as they are needed. ``query`` is needed only if the saved one has
        predicates of your own (`eddy.predicate`). Plan, batch size, joins, seed, retractions and advise are the saved
        ones unless given. Policies are not saved, only what they were called, nor are the memory budget and threads:
        pass them again. An engine that chose its plan by itself (`policies.Auto`) goes on to do so, with the options
        that it had, unless a plan is given here: that one stays, as in a new engine. So does one that the saved engine
        was given, about which it was only advised, with ``advise=False``.
        Pins are kept, and so is whether the engine was frozen; the log of decisions begins anew. StateError if there is
        no snapshot to read, or not a whole one.
        """
        options: dict[str, Any] = {
            "plan": plan,
            "routing": routing,
            "migration": migration,
            "feedback": feedback,
        }
        options |= {"batch_size": batch_size, "joins": joins, "seed": seed, "retractions": retractions}
        options |= {"memory": memory, "advise": advise}
        engine = snapshot.load(cls, path, query, options)
        engine._threads = whole("threads", threads)
        employ(engine)
        engine._express = Express(engine)
        return engine

    # -- what goes on ----------------------------------------------------------------------------------------------

    def statistics(self) -> Statistics:
        """Counts and sizes, as a frozen value. While another thread pushes, it waits for the end of the push."""
        with self._inside:
            return take_census(self)

    def view(self) -> View:
        """What the routing policy would see if it were asked now. It is cheap, and changes nothing.

        Its fan-outs are sampled when they are asked for, from the rows as they are then: use it before the next push.
        """
        return self._steering.watch.peek(self.pinned)

    def explain(self) -> str:
        """The plan, who chooses it, its STAIRs and how full each is, and what its steps have found, as text; it waits
        likewise."""
        with self._inside:
            steps, who = self._steering.watch.tell(), self._steering.tell()
            text = explain(self.query, self._router.tracks[-1].plan, self.statistics(), steps, who)
            return "\n".join((text, *dealt_out(self)))

    def table(self) -> Result:
        """The groups of an aggregate as they are now, one row each; without GROUP BY one row, always."""
        if not isinstance(self._output, GroupedOutput):
            raise EddyError("table() shows the groups of an aggregate: give the query aggregates")
        check_ready(self, "ask")
        return self._output.table()

    def why_not(self, /, **rows: int) -> Explanation:
        """Why these rows, one of each stream by number, gave no result: `print(engine.why_not(A=12, B=40, C=7))`.

        The answer gives the first reason there is: a row has not arrived, was filtered out, had left its window and at
        which event, or predicates fail. Where the rows did give a result, it says so. The last million events are
        remembered; about what is further back, and rows whose values are gone, it may say that it cannot tell.
        """
        if self._broken is not None:
            check_ready(self, "ask")
        if self.query.minus:
            raise EddyError(
                "why and why_not explain joins, not set differences: read the signs of its results"
            )
        inquiry = Inquiry(
            self.query, self._streams, self._numbers, self._history, self._events, self._first_row
        )
        return inquiry.explain(rows)

    def why(self, /, **rows: int) -> Explanation:
        """When these rows, one of each stream by number, gave a result, and under which plan.

        Where they gave none, the answer is that of `why_not`: its `verdict` tells them apart.
        """
        return self.why_not(**rows)

    def __reduce__(self) -> NoReturn:
        raise TypeError("an engine cannot be copied or pickled: save() it, and load() what was saved")

    def __repr__(self) -> str:
        return f"<Eddy {self.plan}: {self._events} events, {self._results} results>"
