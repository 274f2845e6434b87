"""The eddy: takes batches in, keeps the streams and the router in step, hands results out."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, cast, overload

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from eddy import snapshot
from eddy.box import Batch
from eddy.budget import Budget, bytes_of
from eddy.census import bytes_held, take_census
from eddy.chunks import chunks
from eddy.crews import is_crew
from eddy.decisions import Decision
from eddy.doors import alone
from eddy.errors import BatchError, EddyError, PlanError, StateError
from eddy.explain import explain
from eddy.explanation import Explanation
from eddy.express import Express
from eddy.faults import Faults, Guarded
from eddy.forks import watch
from eddy.handout import Handout, emit
from eddy.history import History
from eddy.intake import Arrivals, Intake
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
        self._employ(whole("threads", threads))
        self._express = Express(self)
        watch(self)

    def _employ(self, threads: int) -> None:
        """Deal the rows out to so many shards, and run each in a thread of its own from now on."""
        self._threads = threads
        if threads == 1 or self.query.minus:
            return
        # What only threads need is compiled only where they are asked for.
        import eddy.express_crew  # noqa: F401
        from eddy.partition_choice import gridded
        from eddy.shards import Crew
        from eddy.shards_changes import CrewChanges
        from eddy.shards_deal import whole_part

        before = dict(zip(self.query.names, (self._lowwater.counts - self._first_row).tolist(), strict=True))
        crew = Crew(self, evolve(gridded(self.query, threads), before=before))
        lows = self._numbers.lows.tolist()
        if self._lowwater.counts.tolist() != [self._first_row] * len(lows):
            wholes = [whole_part(stream, low) for stream, low in zip(self._streams, lows, strict=True)]
            crew.restore(wholes, lows, self._first_row)
        self._streams, self._router = crew.streams, crew
        self._changes = CrewChanges(self, crew)

    # -- doors -----------------------------------------------------------------------------------------------------

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
        return self._push({stream: batch}, max_rows)

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
        return self._push(batches, max_rows)

    def run(self, source: Iterable[tuple[str, Any]]) -> Iterator[Result]:
        """Push every (stream, batch) of a source and yield what each brings."""
        for item in source:
            if not isinstance(item, (tuple, list)) or len(item) != 2:
                raise BatchError(
                    f"run takes a source of (stream name, batch) pairs, but it gave a {type(item).__name__}: "
                    "for batches of several streams at once call push_all"
                )
            yield self.push(*item)

    @alone
    def _push(self, batches: Mapping[str, Any], max_rows: int | None) -> Result | Iterator[Result]:
        if max_rows is not None:
            max_rows = whole("max_rows", max_rows)
        elif self._broken is None and self._drawing is None and not self._faults.waiting:
            result = self._express.push(batches)
            if result is not None:
                return result
        if is_crew(self._router):
            self._router.rouse()
        self._prepare()
        return self._take(self._intake.admit(batches), max_rows)

    def _prepare(self) -> None:
        """Before a push: forget strings that nobody needs, and perhaps change the plan."""
        self._check_ready("push more")
        if self._pool.wants_sweep:  # before the batch is encoded: its codes are in no payload yet
            in_use = [codes for stream in self._streams for codes in stream.payload.codes_in_use()]
            in_use += self._numbers.codes_in_use()
            self._pool.sweep((*in_use, *self._output.codes_in_use(), *self._changes.codes_in_use()))

    def _take(self, arrivals: Arrivals, max_rows: int | None) -> Result | Iterator[Result]:
        """Process what has been admitted."""
        self._faults.tell()
        self._steering.decide()
        self._handout.begin(self._streams, self._numbers.lows.tolist())
        self._intake.accept(arrivals)
        if max_rows is not None:
            if len(arrivals.streams) > self.batch_size:
                arrivals = (
                    arrivals.copied()
                )  # it is read after this call, when the caller may use his arrays again
            self._drawing = self._draw(arrivals, max_rows)
            next(self._drawing)
            return cast(Iterator[Result], self._drawing)
        if len(arrivals.streams) <= self.batch_size:
            return self._and_released(self._process(arrivals))
        parts = []
        for piece in arrivals.cut(self.batch_size):
            part = self._process(piece)
            if not self._output.signed:
                _ = part.rows  # read now: the next piece uses the ring again
            parts.append(self._and_released(part))
        return self._handout.give(Result.concat(parts))

    @property
    def pending(self) -> Iterator[Result] | None:
        """The results of the last ``push(..., max_rows=...)`` that are still to be drawn, if there are any."""
        return cast("Iterator[Result] | None", self._drawing)

    def _check_ready(self, what: str) -> None:
        if self._broken is not None:
            raise StateError(
                f"the engine stopped in the middle of a batch ({self._broken!r}), so its state is not to be trusted: "
                "make a new one, or load the last snapshot"
            ) from self._broken
        if self._drawing is not None:
            raise StateError(
                "the results of the last push(..., max_rows=...) are not all drawn: draw the iterator, which is also "
                f"engine.pending, to its end, then {what}"
            )

    # -- a batch ---------------------------------------------------------------------------------------------------

    def _process(self, arrivals: Arrivals, results: bool = True) -> Result:
        """Take a batch in; returns its results, or none of them if they are drawn in another way."""
        start = time.perf_counter()
        try:
            return self._route(arrivals, results)
        except BaseException as error:
            self._broken = error
            raise
        finally:
            self._seconds += time.perf_counter() - start

    def _route(self, arrivals: Arrivals, results: bool) -> Result:
        router, ring = self._router, self._handout.ring
        if self._budget is not None and not self.query.minus:
            if is_crew(router):
                router.look(self._budget.every, self._budget.limit)
            else:
                self._budget.look(router, lambda: bytes_held(self))
        lows, counts = self._numbers.lows.copy(), self._numbers.counts.copy()
        whole = self._lowwater.counts.tolist(), self._lowwater.lows.tolist()
        marks, first, _ = self._lowwater.advance(arrivals.streams, arrivals.times, arrivals.given)
        self._history.note(self._events, *whole, arrivals, router.tracks[-1].plan)
        if not self.query.minus and self._numbers.concerns(arrivals):
            arrivals, first = self._thinned(arrivals, marks, lows)
        router.begin(first, lows, counts, ring)
        router.foresee(arrivals.parts)
        router.store(arrivals.parts)
        router.newest = self._numbers.counts.copy()
        router.run(marks, ring, results)
        self._changes.feed(lambda: Batch(arrivals.copied(), marks.copy(), lows, counts))
        self._events += len(arrivals.streams)
        self._batches += 1
        if not results:
            return self._output.nothing(self._fetch)
        emitted = self._handout.give(self._output.of(router, ring, self._streams, self._fetch))
        self._results += len(emitted)
        self._changes.work(len(emitted))
        return emitted

    def _thinned(
        self, arrivals: Arrivals, marks: NDArray[np.int32], lows: NDArray[np.int64]
    ) -> tuple[Arrivals, NDArray[np.int32]]:
        """A batch without the rows that are ruled out; and the first live rows before it."""
        if self._output.number is None:
            self._output.number = self._numbers.number
        return self._numbers.enter(arrivals, marks, lows, self._streams), lows.astype(np.int32)

    @alone
    def settle(self) -> Result:
        """Finish a migration now; returns the results that it has held back (`ParallelTrack(order="pt")` does).

        States that the current plan lacks are computed at once. There is no need to call this: migrations end by
        themselves. Without one under way it does nothing.
        """
        self._check_ready("settle")
        try:
            self._changes.finish()
        except BaseException as error:
            self._broken = error
            raise
        return self._and_released(self._output.nothing(self._fetch))

    def _and_released(self, result: Result) -> Result:
        """A result and, after it, what need not be held any longer."""
        released = self._changes.released()
        if not released:
            return result
        self._results += sum(len(part) for part in released)
        return self._handout.give(Result.concat([result, *released] if len(result) else released))

    def _draw(self, arrivals: Arrivals, max_rows: int) -> Generator[Result | None, None, None]:
        """Yields nothing once, when the first rows are stored, then the results in parts.

        Closing it gives up the results of this push that are left, but never a row.
        """
        pieces = arrivals.cut(self.batch_size)
        signed, primed, worked = self._output.signed, False, False
        try:
            for piece in pieces:
                worked = signed
                whole = self._process(piece, results=signed)
                if not primed:
                    primed = True
                    yield None
                if signed:  # withdrawals are found for a batch at a time
                    yield from whole.pieces(max_rows)
                    continue
                made = 0
                for result in self._parts(max_rows):
                    made += len(result)
                    self._results += len(result)
                    self._handout.give(result)
                    _ = result.rows  # read now: the next part uses the ring again
                    yield result
                self._changes.work(made)
                worked = True
                yield from self._draw_released(max_rows)
        except GeneratorExit:
            self._store(pieces, worked)
            raise
        except BaseException as error:
            self._broken = error
            raise
        finally:
            self._drawing = None

    def _parts(self, max_rows: int) -> Iterator[Result]:
        """The results of a batch that was processed without them, in parts."""
        if is_crew(self._router):
            yield from self._router.parts(max_rows, self._handout.ring, self._fetch)
        else:
            for ring in chunks(self._router, max_rows, self._handout.ring):
                yield emit(self.query, self._router, ring, self._fetch, self._output.number)

    def _draw_released(self, max_rows: int) -> Iterator[Result]:
        """Results of earlier pushes that need not be held any longer; what is not drawn is not lost."""
        left = [part for result in self._changes.released() for part in result.pieces(max_rows)]
        try:
            while left:
                part = left.pop(0)
                self._results += len(part)
                yield part
        finally:
            self._changes.keep(left)

    def _store(self, pieces: Iterator[Arrivals], worked: bool) -> None:
        """Process what is left of a push whose results nobody wants."""
        try:
            if not worked:
                self._changes.work(0)
            for piece in pieces:
                self._process(piece, results=self._output.signed)
                if not self._output.signed:
                    self._changes.work(0)
        except BaseException as error:
            self._broken = error
            raise

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
        self._check_ready("change the plan")
        if not isinstance(plan, str):
            raise PlanError(f"a plan is a string such as {self.plan!r}, not {type(plan).__name__}")
        parsed = self._workshop.parse(plan)
        self._steering.check(parsed)
        self._change_by_hand(parsed)

    def _change_by_hand(self, plan: Plan) -> None:
        if plan != self._plan:
            self._change(plan)
            self._steering.ledger.close(self._events, self._seconds)

    def _change(self, plan: Plan) -> Callable[[], float]:
        """Change to another plan; returns what tells how long the migration takes."""
        self._workshop.check(self.feedback, plan)
        seconds = self._changes.begin(plan)
        self._plan = plan
        self._migrations += 1
        return seconds

    @alone
    def pin(self, part: str) -> None:
        """Keep a sub-plan such as "(A B)": from now on every plan has it, whoever chooses it.

        Where the plan has it not yet, it is changed, as little as need be. Several pins are kept together; PlanError
        if no tree could have this one beside the others.
        """
        self._check_ready("pin")
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
        self._check_ready("save")
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
        options["memory"] = memory
        options["advise"] = advise
        engine = snapshot.load(cls, path, query, options)
        engine._employ(whole("threads", threads))
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
            return self._explain()

    def _explain(self) -> str:
        steps = self._steering.watch.tell()
        who = self._steering.tell()
        text = explain(self.query, self._router.tracks[-1].plan, self.statistics(), steps, who)
        if is_crew(self._router):
            return f"{text}\n{self._router.explain()}"
        return text if self.threads == 1 else f"{text}\none thread: a set difference is not dealt out"

    def table(self) -> Result:
        """The groups of an aggregate as they are now, one row each; without GROUP BY one row, always."""
        if not isinstance(self._output, GroupedOutput):
            raise EddyError("table() shows the groups of an aggregate: give the query aggregates")
        self._check_ready("ask")
        return self._output.table()

    def why_not(self, /, **rows: int) -> Explanation:
        """Why these rows, one of each stream by number, gave no result: `print(engine.why_not(A=12, B=40, C=7))`.

        The answer gives the first reason there is: a row has not arrived, was filtered out, had left its window and at
        which event, or predicates fail. Where the rows did give a result, it says so. The last million events are
        remembered; about what is further back, and rows whose values are gone, it may say that it cannot tell.
        """
        if self._broken is not None:
            self._check_ready("ask")
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
