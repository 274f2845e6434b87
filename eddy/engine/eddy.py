"""The eddy: its doors, and what stands behind them. What a push does is told in `pushing`."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, overload

import pyarrow as pa
from attrs import evolve

from eddy.checks import flag
from eddy.engine import passing, pushing
from eddy.engine.build import build, started, steered
from eddy.engine.doors import alone, asked, check_ready
from eddy.engine.options import check_known, checked, given, reloaded, thread_count
from eddy.engine.stair import StairView
from eddy.errors import BatchError, EddyError, PlanError
from eddy.inspect.collect import statistics_of
from eddy.inspect.explain import analysis, explain
from eddy.inspect.explanation import Explanation
from eddy.inspect.why import Inquiry
from eddy.log.events import Log
from eddy.query.query import Query
from eddy.reorder.disorder import Lateness
from eddy.results.result import Result
from eddy.shown import html_table, kind_of
from eddy.snapshot import snapshot
from eddy.snapshot.place import Path
from eddy.state import EngineState
from eddy.statistics import Statistics
from eddy.steering.decisions import Decision
from eddy.threads.employ import dealt_out
from policies import Feedback, Migration, Routing, View

if TYPE_CHECKING:
    from eddy.page.watching import Watching


SEVERAL = "this engine has one query, without a name: queries come and go in eddy.Eddy({'name': query, ...})"


class Eddy:
    """Runs a query - a join, a set difference, aggregates over them - under a plan that may change at any moment.

    Every result is given exactly once, by the push that brings its latest event, in the order of these events; it is
    withdrawn once, if the query or ``retractions`` ask for that. Batch size, plan, plan changes and policies never
    change the results. (One technique, ``ParallelTrack(order="pt")``, gives some of them later.)

    Without a plan the engine chooses one by itself, and another whenever that pays (`policies.Auto`). A plan that is
    given stays until `migrate`, unless there is a ``routing`` policy too: then it is the one to begin with. With
    ``advise`` the policy only says, in `decisions`, what it would do (`policies.Auto` if none is given).

    An engine works with copies of its own of the policies that it is given: `engine.routing` is the one that learns.

    Args:
        query: What to join; or a dict of several queries by name: see `SharedEddy`.
        plan: The plan to begin with, such as ``"(A B) C"``, ``"stems"`` or orderings.
        routing: Who chooses plans: `policies.Fixed` if there is a plan, else `policies.Auto`.
        migration: How one plan becomes another: `policies.Jisc`.
        feedback: Which rows wait for partners higher up: `policies.NoFeedback`.
        batch_size: The most events that are worked for at once.
        joins: "hash"; or "nested", as most experiments in the papers.
        seed: For policies that choose at random.
        retractions: Whether results are withdrawn when they are no longer true.
        memory: A budget in bytes, or as a text such as ``"512 MB"``: above it composites give way.
        advise: Whether the policy only says what it would do.
        threads: How many cores join.
        lateness: How far rows may be out of order; a dict has one for each stream.
        late: What becomes of rows that come later still: "error", "drop" or "keep".
        idle: After how long a silent stream holds up the others no longer.
        clock: What tells that time, in seconds: `time.monotonic`.
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

    several: ClassVar[bool] = False
    """Whether it runs queries that have names: see `SharedEddy`."""
    _metadata: Any = None

    def __new__(cls, query: Query | Mapping[str, Query] | None = None, *_: Any, **options: Any) -> Eddy:
        """An engine; of several queries one that shares what it can between them."""
        if cls is Eddy:
            check_known(options)
        if cls is Eddy and isinstance(query, Mapping):
            from eddy.several.shared_eddy import SharedEddy  # which is an Eddy itself

            return object.__new__(SharedEddy)
        return object.__new__(cls)

    def __init__(
        self,
        query: Query | Mapping[str, Query],
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
        lateness: Lateness | None = None,
        late: str | None = None,
        idle: str | float | datetime.timedelta | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        options = checked(
            query,
            plan,
            routing=routing,
            migration=migration,
            feedback=feedback,
            batch_size=batch_size,
            joins=joins,
            seed=seed,
            retractions=retractions,
            memory=memory,
            advise=advise,
            threads=threads,
            lateness=lateness,
            late=late,
            idle=idle,
            clock=clock,
        )
        self._state = started(steered(build(options, plan)))

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
        if not isinstance(stream, str):
            raise EddyError(
                f"push takes the name of a stream and then its batch, not a {kind_of(stream)} first: "
                f"as in push({self.query.names[0]!r}, batch)"
            )
        return pushing.push(self._state, {stream: batch}, max_rows)

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
            raise EddyError(
                f"push_all takes a dict of stream name to batch, not a {kind_of(batches)}: say whose rows these are, "
                f"as in push({self.query.names[0]!r}, batch) or push_all({{{self.query.names[0]!r}: batch, ...}})"
            )
        return pushing.push(self._state, batches, max_rows)

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
        """The results of the last push that are still to be drawn, if there are any.

        They are those of a ``push(..., max_rows=...)``, or of a push that a signal has ended (Ctrl-C): its rows were
        taken in if this is not None, and what is left of them is as the results are drawn.
        """
        return self._state.drawing

    @alone
    def settle(self) -> Result:
        """Finish a migration now; returns the results that it has held back (`ParallelTrack(order="pt")` does).

        States that the current plan lacks are computed at once. There is no need to call this: migrations end by
        themselves. Without one under way it does nothing.
        """
        check_ready(self._state, "settle")
        try:
            self._state.changes.finish()
        except BaseException as error:
            self._state.broken = error
            raise
        return pushing.and_released(self._state, self._state.output.nothing(self._state.fetch))

    # -- time ------------------------------------------------------------------------------------------------------

    def advance(self, ts: Any = None, *, stream: str | None = None) -> Result:
        """Nothing older than ``ts`` comes any more, of one stream or of any: time goes on without rows.

        Rows that wait and are older are processed, rows leave their windows, and what that brings and withdraws is
        returned. With ``lateness`` and without ``ts`` the clock alone is looked at, for streams that are ``idle``.
        """
        return passing.advance(self._state, ts, stream)

    def flush(self) -> Result:
        """Process the rows that wait for the watermark; what comes later and is older than these is late."""
        return passing.flush(self._state)

    def late(self) -> dict[str, pa.Table]:
        """The late rows since the last call, by stream, in the order of their arrival; for ``late="keep"``."""
        return self._hand_out()

    @alone
    def _hand_out(self) -> dict[str, pa.Table]:
        buffer = self._state.reorder
        if buffer is None or buffer.disorder.late != "keep":
            raise EddyError("late() hands out the rows that Eddy(query, lateness=..., late='keep') keeps")
        return buffer.hand_out()

    def close(self) -> Result:
        """Flush, return these last results, and let go of all rows. The engine takes no more calls that change it.

        All windows end: what an outer or an anti join still owes is among the results, and what a change of plan holds
        back. Nothing is withdrawn. To close it again does nothing.
        """
        state = self._state
        if state.closed:
            return state.output.nothing(state.fetch)
        last = passing.owed(state, passing.settled(state, self.flush(), self.settle))
        self._end()
        return last

    @alone
    def _end(self) -> None:
        if not self._state.closed:
            self._state = passing.ended(self._state)

    def __enter__(self) -> Eddy:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close it; after an error, or while results are still to be drawn, without a flush."""
        if kind is None and self._state.drawing is None:
            self.close()
        else:
            self._end()

    # -- queries ---------------------------------------------------------------------------------------------------

    @property
    def queries(self) -> dict[str, Query]:
        """The queries of an engine of several, by name: see `SharedEddy`. One that has no name is not among them."""
        return {}

    def add(self, name: str, query: Query, plan: str | None = None, *, history: bool = True) -> None:
        """One more query, in an engine of several: see `SharedEddy`."""
        raise EddyError(SEVERAL)

    def drop(self, name: str) -> None:
        """A query less, in an engine of several: see `SharedEddy`."""
        raise EddyError(SEVERAL)

    # -- plans -----------------------------------------------------------------------------------------------------

    @property
    def plan(self) -> str:
        """The current plan, or the one that it is changing to."""
        return str(self._state.plan)

    @alone
    def migrate(self, plan: str) -> None:
        """Change the plan now. STAIRs that both plans have are kept; the others fill as the technique says."""
        check_ready(self._state, "change the plan")
        if not isinstance(plan, str):
            raise PlanError(f"a plan is a string such as {self.plan!r}, not {type(plan).__name__}")
        parsed = self._state.factory.parse(plan)
        self._state.steering.check(parsed)
        self._state.steering.change(parsed)

    @alone
    def pin(self, part: str) -> None:
        """Keep a sub-plan such as "(A B)": from now on every plan has it, whoever chooses it.

        Where the plan has it not yet, it is changed, as little as need be. Several pins are kept together; PlanError
        if no tree could have this one beside the others.
        """
        check_ready(self._state, "pin")
        self._state.steering.pin(part)

    @alone
    def unpin(self, part: str | None = None) -> None:
        """Forget a pin; without a name, all of them. The plan stays as it is."""
        self._state.steering.unpin(part)

    @property
    def pinned(self) -> tuple[str, ...]:
        """The sub-plans that are kept, as they were written."""
        return self._state.steering.pinned

    def freeze(self) -> None:
        """Ask the routing policy no more, until `thaw`. `migrate` still works."""
        self._state.steering.frozen = True

    def thaw(self) -> None:
        """Let the routing policy decide again."""
        self._state.steering.frozen = False

    @property
    def frozen(self) -> bool:
        """Whether the routing policy is kept from deciding."""
        return self._state.steering.frozen

    @property
    @asked
    def decisions(self) -> tuple[Decision, ...]:
        """What the routing policy has decided, oldest first: the last 256, with what came of each."""
        return self._state.steering.ledger.told(self._state.events, self._state.seconds)

    @property
    def memory(self) -> int | None:
        """The memory budget in bytes, if there is one.

        Above it composites give way: their keys become holes, which are filled again when they are asked for. The rows
        in the windows stay, whatever they take.
        """
        return self._state.options.memory

    # -- snapshots -------------------------------------------------------------------------------------------------

    @alone
    def save(self, path: Path, *, metadata: Any = None) -> None:
        """Write a snapshot: the live rows and the plan, in one file that replaces an older one in a single step.

        It is as large as the windows; composites are not in it. The engine goes on as if nothing had happened. ``path``
        may be an address that fsspec knows, such as "s3://bucket/eddy". ``metadata``, such as the positions of your
        sources, is anything that JSON can hold; the loaded engine has it as `metadata`.
        """
        drawing = self._state.drawing
        if drawing is not None and drawing.interrupted:
            drawing.complete()
        else:
            check_ready(self._state, "save")
        self._state.changes.check_none_held()
        snapshot.save(self._state, path, metadata)

    @classmethod
    def load(
        cls,
        path: Path,
        query: Query | Mapping[str, Query] | None = None,
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
        lateness: Lateness | None = None,
        late: str | None = None,
        idle: str | float | datetime.timedelta | None = None,
        clock: Callable[[], float] | None = None,
    ) -> Eddy:
        """An engine that goes on where the saved one stood, and gives exactly the results that it would have given.

        Composites are holes at first and fill as they are needed. ``query`` is needed only if the saved one has
        predicates of your own (`eddy.predicate`). Plan, batch size, joins, seed, retractions, advise, lateness, late
        and idle are the saved ones unless given. Policies are not saved, only what they were called, nor are the memory
        budget, threads and the clock: pass them again. An engine that chose its plan by itself (`policies.Auto`) goes
        on to do so, with the options that it had, unless a plan is given here: that one stays, as in a new engine. So
        does one that the saved engine was given, about which it was only advised, with ``advise=False``.
        Pins are kept, and so is whether the engine was frozen; the log of decisions begins anew. StateError if there is
        no snapshot to read, or not a whole one.
        """
        options = {
            **{"plan": plan, "routing": routing, "migration": migration, "feedback": feedback},
            **{"batch_size": batch_size, "joins": joins, "seed": seed, "retractions": retractions},
            **{"memory": memory, "advise": advise, "threads": thread_count(threads)},
            **{"lateness": lateness, "late": late, "idle": idle, "clock": clock},
        }
        self = cls.__new__(cls)
        try:
            state, self._metadata = snapshot.load(path, query, options, _empty)
        except snapshot.OfSeveral:
            from eddy.several.shared_eddy import SharedEddy  # which is an Eddy itself

            return SharedEddy.restored(path, query, options)
        self._state = started(state)
        return self

    @property
    def metadata(self) -> Any:
        """What `save` was given beside the snapshot that this engine was loaded from; None if there was nothing."""
        return self._metadata

    # -- what goes on ----------------------------------------------------------------------------------------------

    @asked
    def statistics(self) -> Statistics:
        """Counts and sizes, as a frozen value.

        While another thread pushes, it waits for the end of the batch at hand, or of a large push that kernels take in
        at once."""
        return statistics_of(self._state)

    @property
    def log(self) -> Log:
        """Tells `logging` of late rows, and of a memory budget that is reached or cannot be kept."""
        return self._state.log

    @asked
    def view(self) -> View:
        """What the routing policy would see if it were asked now. It is cheap, and changes nothing.

        Its fan-outs are sampled when they are asked for, from the rows as they are then.
        """
        return self._state.steering.watch.view(self.pinned)

    @asked
    def stair(self, streams: str | Iterable[str], by: str | None = None) -> StairView:
        """The STAIR of these streams in the current plan, `engine.stair("A B")`, to be probed, promoted and demoted.

        `engine.stair("A")` is that of the rows of one stream. Where the plan has several of the same streams, ``by``
        says which: the column that it is keyed by. PlanError, which names those there are, if the plan has none.
        """
        return StairView(self._state, streams, by)

    @asked
    def explain(self, *, analyze: bool = False) -> str:
        """The plan, who chooses it, why it did so last and which plans came next; its STAIRs and how full each is, and
        what its steps have found, as text; it waits likewise. With ``analyze`` also the time so far, and the rows and
        the share of the time of each step."""
        steps, who = self._state.steering.watch.tell(), self._state.steering.tell()
        statistics = statistics_of(self._state)
        text = explain(self.query, self._state.executor.plan, statistics, steps, who)
        more = analysis(statistics) if flag("analyze", analyze) else []
        return "\n".join((text, *dealt_out(self._state), *more))

    @asked
    def table(self) -> Result:
        """The groups of an aggregate as they are now, one row each; without GROUP BY one row, always."""
        if not self.query.grouped:
            raise EddyError("table() shows the groups of an aggregate: give the query aggregates")
        check_ready(self._state, "ask")
        return self._state.output.table()

    @asked
    def why_not(self, /, **rows: int) -> Explanation:
        """Why these rows, one of each stream by number, gave no result: `print(engine.why_not(A=12, B=40, C=7))`.

        The answer gives the first reason there is: a row has not arrived, was filtered out, had left its window and at
        which event, or predicates fail. Where the rows did give a result, it says so. The last million events are
        remembered; about what is further back, and rows whose values are gone, it may say that it cannot tell.
        """
        if self._state.broken is not None:
            check_ready(self._state, "ask")
        if self.query.attachments:
            raise EddyError(
                f"why and why_not explain inner joins, and this query has {self.query.attachments[0]}: ask an engine "
                "with the joins of the others alone"
            )
        if not self._state.executor.routers:
            what = "aggregates" if self.query.grouped else "set differences"
            raise EddyError(f"why and why_not explain joins, not {what}: read the signs of its results")
        state = self._state
        inquiry = Inquiry(
            self.query, state.streams, state.row_numbers, state.history, state.events, state.first_row
        )
        return inquiry.explain(rows)

    def why(self, /, **rows: int) -> Explanation:
        """When these rows, one of each stream by number, gave a result, and under which plan.

        Where they gave none, the answer is that of `why_not`: its `verdict` tells them apart.
        """
        return self.why_not(**rows)

    def __reduce__(self) -> NoReturn:
        raise TypeError("an engine cannot be copied or pickled: save() it, and load() what was saved")

    def plan_svg(self) -> str:
        """The plan as a picture, in SVG: streams, STAIRs and how full they are, and what flows."""
        from eddy.page.svg import plan_svg

        return plan_svg(self)

    def watch(self, *, port: int = 0) -> Watching:
        """A live page of this engine, on this machine only: see `eddy.watch`."""
        from eddy.page.watching import watch

        return watch(self, port=port)

    def _repr_html_(self) -> str:
        return self.plan_svg() + html_table(
            ("plan", "events", "results", "plan changes"),
            [(self.plan, f"{self._state.events:,}", f"{self._state.results:,}", self._state.migrations)],
        )

    def __repr__(self) -> str:
        return f"<Eddy {self.plan}: {self._state.events} events, {self._state.results} results>"


class EngineOver(Eddy):
    """An `Eddy` over a state that was built elsewhere: a cell's, which has only some rows of each stream; a core's."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    @property
    def state(self) -> EngineState:
        """For who has built it."""
        return self._state

    def replace(self, state: EngineState) -> None:
        """Go on with another."""
        self._state = state


def _empty(query: Query, options: dict[str, Any], stays: bool, first_row: int) -> EngineState:
    """The state that a snapshot is loaded into; ``stays``: its plan is the user's own."""
    given = checked(query, **options)
    return steered(build(evolve(given, stays=stays or given.stays), options["plan"], first_row=first_row))
