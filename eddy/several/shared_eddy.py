"""An eddy that runs several queries: its doors."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import pyarrow as pa

from eddy.checks import flag
from eddy.engine.options import DEFAULTS, thread_count
from eddy.errors import EddyError, PlanError, StateError
from eddy.query.query import Query
from eddy.reorder.disorder import Lateness
from eddy.results.result import Result
from eddy.several.loading import registry_of
from eddy.several.own_group import OwnGroup
from eddy.several.query_doors import QueryDoors, few
from eddy.several.registry import Registry
from eddy.several.results import Results
from eddy.several.saving import save
from eddy.shown import kind_of
from eddy.snapshot.format import opened
from eddy.snapshot.place import Place
from policies import Feedback, Migration, Routing

if TYPE_CHECKING:
    from eddy.page.watching import Watching

T = TypeVar("T")


class SharedEddy(QueryDoors):
    """Several queries over the same streams: `eddy.Eddy({"fraud": query, "attribution": query})`.

    Queries come (`add`) and go (`drop`) while rows flow; what a push brings is returned by query. A query's results do
    not depend on which others run beside it. Queries that join the same streams by the same predicates under the same
    windows, whatever their filters and whatever they show, have one plan and one set of STAIRs. Rows and strings are
    stored once for all. What is asked of the engine is asked of a query, by ``query=``; without that, of each.
    """

    several: ClassVar[bool] = True

    def __init__(
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
        order = tuple(given.pop(name) for name in ("lateness", "late", "idle", "clock"))
        thread_count(threads)
        self._registry, self._closed = Registry(given, order), False
        self._pending: Results | None = None
        plans = plan if isinstance(plan, Mapping) else dict.fromkeys(query, plan)
        for name in plans:
            if name not in query:
                raise PlanError(f"plan: there is no query {name!r}, only {', '.join(query)}")
        self._registry.begin(query, plans)

    # -- queries ---------------------------------------------------------------------------------------------------

    @property
    def queries(self) -> dict[str, Query]:
        """The queries by name."""
        return dict(self._registry.queries)

    @property
    def query(self) -> Any:  # type: ignore[override]
        """The queries by name."""
        return self.queries

    def add(self, name: str, query: Query, plan: str | None = None, *, history: bool = True) -> None:
        """Run one more query from now on. It sees the rows that are live; without ``history`` those to come only.

        Rows are live while a window of some query holds them. The query's STAIRs are holes, which fill when they are
        asked for. It shares the plan of queries with the same core that were given the same ``plan``, or none, as it.
        """
        self._check_open("add a query")
        flag("history", history)
        checked = self._registry.check(name, query, plan)
        self._alone(lambda: self._registry.add(name, checked, plan, history))

    def drop(self, name: str) -> None:
        """Run a query no longer. What only it used is given back; results that were handed out stay."""
        self._registry.group(name)
        self._alone(lambda: self._registry.drop(name))

    # -- pushes ----------------------------------------------------------------------------------------------------

    def push(self, stream: str, batch: Any, *, max_rows: None = None) -> Results:  # type: ignore[override]
        """Rows of one stream arrive; returns the results that they bring, by query."""
        if not isinstance(stream, str):
            raise EddyError(
                f"push takes the name of a stream and then its batch, not a {kind_of(stream)} first"
            )
        return self.push_all({stream: batch}, max_rows=max_rows)

    def push_all(self, batches: Mapping[str, Any], *, max_rows: None = None) -> Results:  # type: ignore[override]
        """Rows of several streams arrive together, merged by time; ties in the order in which streams were declared."""
        if max_rows is not None:
            raise EddyError("max_rows is for engines of one query: push less at a time")
        if not isinstance(batches, Mapping):
            raise EddyError(f"push_all takes a dict of stream name to batch, not a {kind_of(batches)}")

        def work() -> Results:
            self._check_open("push more")
            return self._registry.results(self._registry.waiting.push(batches, self._registry.take))

        return self._alone(work)

    def run(self, source: Any) -> Iterator[Results]:  # type: ignore[override]
        """Push every (stream, batch) of a source and yield what each brings, by query."""
        return super().run(source)  # type: ignore[return-value]

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
            return self._registry.results(
                self._registry.waiting.advance(ts, stream, self._registry.take, self._registry.groups)
            )

        return self._alone(work)

    def flush(self) -> Results:  # type: ignore[override]
        """Process the rows that wait for the watermark."""

        def work() -> Results:
            self._check_open("flush")
            return self._registry.results(self._registry.waiting.flush(self._registry.take))

        return self._alone(work)

    def late(self) -> dict[str, pa.Table]:
        """The late rows since the last call, by stream, in the order of their arrival; for ``late="keep"``."""
        return self._alone(self._registry.waiting.hand_out)

    def settle(self) -> Results:  # type: ignore[override]
        """Finish all migrations now."""
        for group in self._registry.groups:
            group.engine.settle()
        return self._registry.results([])

    def close(self) -> Results:  # type: ignore[override]
        """Flush, return these last results by query, and let go of all rows."""
        if self._closed:
            return Results({}, [])
        last = self.flush()
        owed = {
            group.name: partial(_same, group.engine.close())
            for group in self._registry.groups
            if isinstance(group, OwnGroup)
        }
        flushed = {name: partial(last.__getitem__, name) for name in last}
        found = Results(self.queries, [flushed, owed])
        for name in found:  # what they read of the engine goes with it
            found[name].seal()
        self._at_last = self.overall()
        self._closed = True
        self._registry.close()
        return found

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._closed = True

    def _check_open(self, what: str) -> None:
        if self._closed:
            raise StateError("the engine is closed: make a new one")
        broken = self._registry.broken
        if broken is not None:
            raise StateError(
                f"the engine stopped in the middle of a batch ({broken!r}), so its state is not to be trusted: "
                f"make a new one, and then {what}"
            ) from broken

    # -- snapshots, and what is shown ------------------------------------------------------------------------------

    def save(self, path: Any, *, metadata: Any = None) -> None:
        """Write a snapshot of all queries in one file: the live rows, once, and their plans. `Eddy.load` reads it."""
        self._check_open("save")
        if isinstance(path, Place):
            raise EddyError("several queries are saved in one file: give its path")
        self._alone(lambda: save(self._registry, path, metadata))

    @classmethod
    def restored(cls, path: Any, query: Any, options: Mapping[str, Any]) -> SharedEddy:
        """For `Eddy.load`: an engine that goes on where the saved one stood."""
        if options.get("plan") is not None:
            raise EddyError("the snapshot is of several queries: load it, and then migrate(plan, query=...)")
        self = object.__new__(cls)
        given = {name: value for name, value in options.items() if name != "plan"}
        with opened(path) as file:
            self._registry, self._metadata = registry_of(file, query, given)
        self._closed, self._pending = False, None
        return self

    def watch(self, *, port: int = 0, query: str | None = None) -> Watching:
        """A live page, with a choice of queries; ``query`` comes first: see `eddy.watch`."""
        from eddy.page.watching import watch

        return watch(self, port=port, query=query)

    def plan_svg(self, query: str | None = None) -> str:
        """The plan of a query as a picture."""
        return self._engine(query, "plan_svg(query=...)").plan_svg()

    def _repr_html_(self) -> str:
        return "".join(group.engine._repr_html_() for group in self._registry.groups)

    def __repr__(self) -> str:
        names = list(self._registry.queries)
        return f"<Eddy of {len(names)} quer{'y' if len(names) == 1 else 'ies'}: {few(names)}>"

    # -- who may come in -----------------------------------------------------------------------------------------

    def _alone(self, work: Callable[[], T]) -> T:
        """Do something as the only caller. Signals wait; if a handler raises something, results are in `pending`."""
        signals = self._registry.access.enter()
        try:
            found = work()
        except BaseException:
            self._registry.access.leave(signals)
            raise
        try:
            self._registry.access.leave(signals)
        except BaseException:
            self._pending = found if isinstance(found, Results) else None
            raise
        for group in self._registry.groups:
            if group.state.faults.untold:
                group.state.faults.warn()
        return found


def _same(result: Result) -> Result:
    return result
