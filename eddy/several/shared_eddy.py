"""An eddy that runs several queries: its doors."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NoReturn, TypeVar

import pyarrow as pa

from eddy.access import Access
from eddy.checks import flag
from eddy.engine.build import House
from eddy.engine.eddy import Eddy, EngineOver
from eddy.engine.options import DEFAULTS, checked
from eddy.errors import EddyError, PlanError, StateError
from eddy.inspect.explanation import Explanation
from eddy.query.query import Query
from eddy.reorder.disorder import Lateness
from eddy.results.result import Result
from eddy.several.core import is_shareable, signature
from eddy.several.feed import Feed
from eddy.several.group import Group, Makers, Opening, OwnGroup, SharedGroup
from eddy.several.shares import Results
from eddy.several.waiting import Waiting
from eddy.shown import kind_of, shown
from eddy.statistics import Statistics
from eddy.steering.decisions import Decision
from policies import Feedback, Migration, Routing

T = TypeVar("T")


class SharedEddy(Eddy):
    """Several queries over the same streams: `eddy.Eddy({"fraud": query, "attribution": query})`.

    Queries come (`add`) and go (`drop`) while rows flow; what a push brings is returned by query. A query's results do
    not depend on which others run beside it. Queries that join the same streams by the same predicates under the same
    windows, whatever their filters and whatever they show, have one plan and one set of STAIRs. Rows and strings are
    stored once for all. What is asked of the engine is asked of a query, by ``query=``; without that, of each.
    """

    def __init__(  # type: ignore[override]
        self,
        query: Mapping[str, Query],
        plan: str | Mapping[str, str] | None = None,
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
        given = {name: value for name, value in locals().items() if name in DEFAULTS}
        self._options = {
            name: value for name, value in given.items() if name not in ("lateness", "late", "idle", "clock")
        }
        self._access, self._feed = Access(), Feed()
        self._house = House(self._access)
        self._groups: list[Group] = []
        self._of: dict[str, Group] = {}
        self._queries: dict[str, Query] = {}
        self._closed = False
        self._pending: Results | None = None
        if threads != 1:
            raise EddyError("several queries run in one thread: leave threads out, or make an engine for each query")
        self._waiting = Waiting(self._feed, lateness, late, idle, clock)
        plans = plan if isinstance(plan, Mapping) else dict.fromkeys(query, plan)
        for name in plans:
            if name not in query:
                raise PlanError(f"plan: there is no query {name!r}, only {', '.join(query)}")
        for name, one in query.items():
            self.add(name, one, plans.get(name))

    # -- queries ---------------------------------------------------------------------------------------------------

    @property
    def queries(self) -> dict[str, Query]:
        """The queries by name."""
        return dict(self._queries)

    @property
    def query(self) -> Any:
        """The queries by name."""
        return self.queries

    def add(self, name: str, query: Query, plan: str | None = None, *, history: bool = True) -> None:
        """Run one more query from now on. It sees the rows that are live; without ``history`` those to come only.

        Rows are live while a window of some query holds them. The query's STAIRs are holes, which fill when they are
        asked for. If a query with the same core is there, the two have one plan: ``plan``, if it is given.
        """
        flag("history", history)
        self._check_name(name)
        retractions = bool(self._options["retractions"])
        checked(query, plan, **self._options)
        query = query.as_declared() if retractions else query
        self._feed.check(name, query)
        if (self._options["migration"] is not None) and self._options["migration"].holds:
            raise EddyError('several queries take no technique that holds results back: use order="max"')

        def work() -> None:
            firsts = self._live(query) if history else {}
            before = dict(self._feed.streams)
            try:
                self._feed.declare(query)
                self._waiting.declare()
                firsts = {s: firsts.get(s, self._feed.payload(s).next_row) for s in query.streams}
                group = self._group_for(name, query, plan, history, firsts)
            except BaseException:
                self._feed.restore(before)
                raise
            if group not in self._groups:
                self._groups.append(group)
            self._of[name], self._queries[name] = group, query

        self._alone(work)

    def _group_for(
        self, name: str, query: Query, plan: str | None, history: bool, firsts: dict[str, int]
    ) -> Group:
        """The group that has taken a query in: that of its core, or one of its own."""
        if not is_shareable(query):
            own = OwnGroup(name, query, plan, self._options, self._house)
            own.state.beside = partial(self._beside, own)
            own.begin(self._feed, firsts)
            return own
        said = signature(query)
        for group in self._groups:
            if isinstance(group, SharedGroup) and group.said == said:
                parsed = None if plan is None else group.state.factory.parse(plan)
                if parsed is not None:
                    group.state.steering.check(parsed)
                group.add(name, query, history)
                if parsed is not None:
                    self._with(group.state.access, partial(group.state.steering.change, parsed))
                return group
        fresh = SharedGroup(Opening(self._feed, self._house, self._options, plan), query, said)
        fresh.state.beside = partial(self._beside, fresh)
        fresh.add_first(name, query, firsts)
        return fresh

    def drop(self, name: str) -> None:
        """Run a query no longer. What only it used is given back; results that were handed out stay."""
        group = self._group(name)

        def work() -> None:
            if isinstance(group, SharedGroup):
                group.drop(name)
            else:
                group.state.recent.seal()
            if not group.names or isinstance(group, OwnGroup):
                self._groups.remove(group)
            del self._of[name], self._queries[name]
            self._forget()

        self._alone(work)

    def _live(self, query: Query) -> dict[str, int]:
        """For each stream of a query that some window holds rows of, the first of these."""
        found: dict[str, int] = {}
        for group in self._groups:
            for stream, low in group.live().items():
                if stream in query.streams:
                    found[stream] = min(low, found.get(stream, low))
        return found

    def _check_name(self, name: object) -> None:
        if not isinstance(name, str) or not name:
            raise EddyError(f"a query has a name, which is a text, not {shown(name)}")
        if name in self._queries:
            raise EddyError(f"there is a query {name!r} already: drop it first, or give this one another name")

    def _group(self, name: object) -> Group:
        found = self._of.get(name) if isinstance(name, str) else None
        if found is None:
            known = ", ".join(self._queries) or "none"
            raise EddyError(f"there is no query {shown(name)}; the queries are: {known}")
        return found

    # -- pushes ----------------------------------------------------------------------------------------------------

    def push(self, stream: str, batch: Any, *, max_rows: None = None) -> Results:  # type: ignore[override]
        """Rows of one stream arrive; returns the results that they bring, by query."""
        if not isinstance(stream, str):
            raise EddyError(f"push takes the name of a stream and then its batch, not a {kind_of(stream)} first")
        return self.push_all({stream: batch}, max_rows=max_rows)

    def push_all(self, batches: Mapping[str, Any], *, max_rows: None = None) -> Results:  # type: ignore[override]
        """Rows of several streams arrive together, merged by time; ties in the order in which streams were declared."""
        if max_rows is not None:
            raise EddyError("max_rows is for engines of one query: push less at a time")
        if not isinstance(batches, Mapping):
            raise EddyError(f"push_all takes a dict of stream name to batch, not a {kind_of(batches)}")

        def work() -> Results:
            self._check_open("push more")
            return self._results(self._waiting.push(batches, self._take))

        return self._alone(work)

    def run(self, source: Any) -> Iterator[Results]:  # type: ignore[override]
        """Push every (stream, batch) of a source and yield what each brings, by query."""
        return super().run(source)  # type: ignore[return-value]

    def _take(self, batches: Mapping[str, Any]) -> list[Makers]:
        """Take rows in that are in order: all cores admit them before one changes."""
        for group in self._groups:
            group.state.faults.tell()
        self._feed.sweep(self._codes())
        admitted = self._feed.admit(batches)
        arrivals = [(group, group.admit(admitted)) for group in self._groups]
        taking = [(group, found) for group, found in arrivals if found is not None]
        for group, _ in taking:
            self._with(group.state.access, group.state.steering.decide)
        self._forget()
        self._feed.take(admitted)
        return [group.take(found) for group, found in taking]

    def _with(self, access: Access, work: Callable[[], T]) -> T:
        access.take()
        try:
            return work()
        finally:
            access.give()

    def _codes(self) -> Iterator[Any]:
        for group in self._groups:
            if isinstance(group, SharedGroup):
                yield from group.codes_in_use()

    def _forget(self) -> None:
        """Let go of rows that no query needs any more."""
        lows: dict[str, int] = {}
        for group in self._groups:
            for stream, low in group.lows().items():
                lows[stream] = min(low, lows.get(stream, low))
        self._feed.retain(lows)

    def _results(self, parts: list[Makers]) -> Results:
        """What was given, by query; nothing for those that no part names."""
        found: dict[str, list[Callable[[], Result]]] = {name: [] for name in self._queries}
        for part in parts:
            for name, maker in part.items():
                found[name].append(maker)
        return Results({name: _joined(makers, partial(self._nothing, name)) for name, makers in found.items()})

    def _nothing(self, name: str) -> Result:
        group = self._of.get(name)
        if isinstance(group, SharedGroup):
            return group.nothing(group.members[name])
        if group is None:
            raise StateError(f"the query {name!r} was dropped before anybody read its results")
        return group.state.output.nothing(group.state.fetch)

    @property
    def pending(self) -> Any:
        """The results of the last push, if a signal's handler has raised something when it was done."""
        found, self._pending = self._pending, None
        return found

    # -- time --------------------------------------------------------------------------------------------------------

    def advance(self, ts: Any = None, *, stream: str | None = None) -> Results:  # type: ignore[override]
        """Nothing older than ``ts`` comes any more, of one stream or of any; returns what that ends and brings."""

        def work() -> Results:
            self._check_open("advance")
            return self._results(self._waiting.advance(ts, stream, self._take, self._groups))

        return self._alone(work)

    def flush(self) -> Results:  # type: ignore[override]
        """Process the rows that wait for the watermark."""

        def work() -> Results:
            self._check_open("flush")
            return self._results(self._waiting.flush(self._take))

        return self._alone(work)

    def late(self) -> dict[str, pa.Table]:
        """The late rows since the last call, by stream, in the order of their arrival; for ``late="keep"``."""
        return self._alone(self._waiting.hand_out)

    def settle(self) -> Results:  # type: ignore[override]
        """Finish all migrations now."""
        for group in self._groups:
            group.engine.settle()
        return self._results([])

    def close(self) -> Results:  # type: ignore[override]
        """Flush, return these last results by query, and let go of all rows."""
        if self._closed:
            return Results({})
        last = self.flush()
        makers: Makers = {name: partial(last.__getitem__, name) for name in last}
        for group in self._groups:
            if isinstance(group, OwnGroup):
                before, owed = last[group.name], group.engine.close()
                makers[group.name] = partial(_both, before, owed)
        found = Results(makers)
        for name in found:  # what they read of the engine goes with it
            found[name].seal()
        self._closed = True
        self._groups, self._feed = [], Feed()
        return found

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._closed = True

    def _check_open(self, what: str) -> None:
        if self._closed:
            raise StateError("the engine is closed: make a new one")
        for group in self._groups:
            if group.state.broken is not None:
                raise StateError(
                    f"the engine stopped in the middle of a batch ({group.state.broken!r}), so its state is not to be "
                    f"trusted: make a new one, and then {what}"
                ) from group.state.broken

    # -- plans -------------------------------------------------------------------------------------------------------

    @property
    def plan(self) -> Any:
        """The plan of each query."""
        return {name: group.engine.plan for name, group in self._of.items()}

    def migrate(self, plan: str, query: str | None = None) -> None:
        """Change the plan of a query now, and that of all that have its core."""
        self._engine(query, "migrate(plan, query=...)").migrate(plan)

    def pin(self, part: str, query: str | None = None) -> None:
        """Keep a sub-plan of a query, and of all that have its core."""
        self._engine(query, "pin(part, query=...)").pin(part)

    def unpin(self, part: str | None = None, query: str | None = None) -> None:
        """Forget a pin of a query; without a name, all of them."""
        self._engine(query, "unpin(part, query=...)").unpin(part)

    @property
    def pinned(self) -> Any:
        """The sub-plans that are kept, by query."""
        return {name: group.engine.pinned for name, group in self._of.items()}

    def freeze(self, query: str | None = None) -> None:
        """Ask the routing policy no more about the plan of a query, or of all."""
        for engine in self._engines(query):
            engine.freeze()

    def thaw(self, query: str | None = None) -> None:
        """Let the routing policy decide again."""
        for engine in self._engines(query):
            engine.thaw()

    @property
    def frozen(self) -> Any:
        """Whether the routing policy is kept from deciding, by query."""
        return {name: group.engine.frozen for name, group in self._of.items()}

    @property
    def decisions(self) -> Any:
        """What the routing policy has decided, by query."""
        return {name: self.decisions_of(name) for name in self._queries}

    def decisions_of(self, query: str) -> tuple[Decision, ...]:
        """What the routing policy has decided about the plan of a query, oldest first."""
        return self._group(query).engine.decisions

    @property
    def memory(self) -> int | None:
        """The memory budget in bytes, if there is one."""
        return self._groups[0].engine.memory if self._groups else None

    def _engine(self, query: str | None, call: str) -> EngineOver:
        """The engine of a query, which may be left out where there is one."""
        if query is None and len(self._queries) == 1:
            (query,) = self._queries
        if query is None:
            raise EddyError(f"say which query is meant: {call}; there are {', '.join(self._queries)}")
        return self._group(query).engine

    def _engines(self, query: str | None) -> list[EngineOver]:
        return [group.engine for group in self._groups] if query is None else [self._group(query).engine]

    # -- what goes on --------------------------------------------------------------------------------------------------

    def statistics(self, query: str | None = None) -> Any:  # type: ignore[override]
        """Counts and sizes of the engine that runs a query, with all that have its core; of all queries by name."""
        if query is not None:
            found: Statistics = self._group(query).engine.statistics()
            return found
        return {name: group.engine.statistics() for name, group in self._of.items()}

    @property
    def nbytes(self) -> int:
        """Bytes that it holds: rows and strings, which all queries share, and the state of every core."""
        return self._feed.nbytes + sum(group.nbytes for group in self._groups) + self._waiting.nbytes

    def explain(self, query: str | None = None, *, analyze: bool = False) -> str:  # type: ignore[override]
        """Which queries share a plan, and for each plan what `Eddy.explain` says; of one query, or of all."""
        groups = self._groups if query is None else [self._group(query)]
        texts = []
        for group in groups:
            many = len(group.names)
            who = f"{', '.join(group.names)}: {'one query' if many == 1 else f'{many} queries, one core'}"
            texts.append(f"{who}\n{group.engine.explain(analyze=analyze)}")
        return "\n\n".join(texts)

    def table(self, query: str | None = None) -> Result:
        """The groups of a query that aggregates, as they are now."""
        self._engine(query, "table(query=...)")
        name = query if query is not None else next(iter(self._queries))
        group = self._group(name)
        if not self._queries[name].grouped:
            raise EddyError(f"table() shows the groups of an aggregate, and {name} has none")
        if isinstance(group, SharedGroup):
            groups = group.members[name].groups
            assert groups is not None
            return self._access.ask(groups.table)
        return group.engine.table()

    def why_not(self, /, query: str | None = None, **rows: int) -> Explanation:  # type: ignore[override]
        """Why these rows, one of each stream by number, gave a query no result."""
        engine = self._engine(query, "why_not(query=..., A=12)")
        name = query if query is not None else next(iter(self._queries))
        group = self._group(name)
        if isinstance(group, SharedGroup):
            return group.why_not(name, rows)
        return engine.why_not(**rows)

    def why(self, /, query: str | None = None, **rows: int) -> Explanation:  # type: ignore[override]
        """When these rows gave a query a result, and under which plan; else why not."""
        return self.why_not(query, **rows)

    # -- what is not there yet -------------------------------------------------------------------------------------------

    def save(self, path: Any, *, metadata: Any = None) -> NoReturn:
        """Not of several queries."""
        raise EddyError(
            "an engine of several queries cannot be saved: save an engine for each query, or push the rows again"
        )

    def watch(self, *, port: int = 0) -> NoReturn:
        """Not of several queries."""
        raise EddyError("the page shows an engine of one query: print(engine.explain()) shows all of several")

    def plan_svg(self, query: str | None = None) -> str:
        """The plan of a query as a picture."""
        return self._engine(query, "plan_svg(query=...)").plan_svg()

    def _repr_html_(self) -> str:
        return "".join(group.engine._repr_html_() for group in self._groups)

    def __repr__(self) -> str:
        return f"<Eddy of {len(self._queries)} queries: {', '.join(self._queries)}>"

    # -- who may come in -------------------------------------------------------------------------------------------------

    def _alone(self, work: Callable[[], T]) -> T:
        """Do something as the only caller. Signals wait; if a handler raises something, results are in `pending`."""
        signals = self._access.enter()
        try:
            found = work()
        except BaseException:
            self._access.leave(signals)
            raise
        try:
            self._access.leave(signals)
        except BaseException:
            self._pending = found if isinstance(found, Results) else None
            raise
        for group in self._groups:
            if group.state.faults.untold:
                group.state.faults.warn()
        return found

    def _beside(self, group: Group) -> int:
        """Bytes that are held beside a group."""
        return self.nbytes - group.nbytes


def _joined(makers: list[Callable[[], Result]], nothing: Callable[[], Result]) -> Callable[[], Result]:
    """What finds the results of a query of which there are several parts, one, or none."""
    if len(makers) < 2:
        return makers[0] if makers else nothing
    return lambda: Result.concat([maker() for maker in makers])


def _both(before: Result, after: Result) -> Result:
    before.seal()
    after.seal()
    return Result.concat([before, after]) if len(before) else after
