"""What is asked of one of several queries, or of each: plans, statistics, tables, reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from attrs import frozen

from eddy.engine.eddy import Eddy, EngineOver
from eddy.engine.stair import StairView
from eddy.errors import EddyError
from eddy.inspect.explanation import Explanation
from eddy.query.query import Query
from eddy.results.result import Result
from eddy.several.overall import Overall, overall_of
from eddy.several.registry import Registry
from eddy.several.shared_group import SharedGroup
from eddy.statistics import Statistics
from eddy.steering.decisions import Decision
from policies import View

T = TypeVar("T")

SHOWN = 10
"""Names that are shown of many queries."""


def few(names: Iterable[str]) -> str:
    """The first of some names."""
    every = list(names)
    more = len(every) - SHOWN
    return ", ".join(every[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")


@frozen(eq=False)
class Core:
    """A core as it is at a moment."""

    called: str
    """What it goes by as long as it is there: its first query, which may have been dropped."""
    engine: EngineOver
    queries: Mapping[str, Query]


class QueryDoors(Eddy):
    """The doors of `SharedEddy` that lead to the engine of a query."""

    _registry: Registry
    _at_last: Overall | None = None
    """What there was when it was closed."""

    @property
    def cores(self) -> tuple[tuple[str, ...], ...]:
        """The names of the queries, those together that have one core, and so one plan."""
        return tuple(group.names for group in tuple(self._registry.groups))

    def cores_with_queries(self) -> tuple[Core, ...]:
        """All cores with their queries, as they are at one moment.

        For who reads while another thread adds and drops: an engine whose queries have gone may raise anything.
        """
        registry = self._registry

        def found() -> tuple[Core, ...]:
            queries = registry.queries
            return tuple(
                Core(name, group.engine, {n: queries[n] for n in group.names})
                for name, group in registry.called.items()
            )

        return registry.access.ask(found)

    def engine_of(self, query: str) -> EngineOver:
        """The engine that runs a query, with all that have its core: for pages and metrics, which read it."""
        return self._registry.group(query).engine

    # -- plans -------------------------------------------------------------------------------------------------------

    @property
    def plan(self) -> Any:
        """The plan of each query."""
        return self._each(lambda engine: engine.plan)

    def migrate(self, plan: str, query: str | None = None) -> None:
        """Change the plan of a query now, and that of all that share it; see `add` for one of its own."""
        self._engine(query, "migrate(plan, query=...)").migrate(plan)

    def pin(self, part: str, query: str | None = None) -> None:
        """Keep a sub-plan of a query, and of all that share its plan."""
        self._engine(query, "pin(part, query=...)").pin(part)

    def unpin(self, part: str | None = None, query: str | None = None) -> None:
        """Forget a pin of a query; without a name, all of them."""
        self._engine(query, "unpin(part, query=...)").unpin(part)

    @property
    def pinned(self) -> Any:
        """The sub-plans that are kept, by query."""
        return self._each(lambda engine: engine.pinned)

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
        return self._each(lambda engine: engine.frozen)

    @property
    def decisions(self) -> Any:
        """What the routing policy has decided, by query."""
        return self._each(lambda engine: engine.decisions)

    def decisions_of(self, query: str) -> tuple[Decision, ...]:
        """What the routing policy has decided about the plan of a query, oldest first."""
        return self._registry.group(query).engine.decisions

    @property
    def memory(self) -> int | None:
        """The memory budget in bytes, if there is one."""
        return next((group.engine.memory for group in tuple(self._registry.groups)), None)

    def _engine(self, query: str | None, call: str) -> EngineOver:
        """The engine of a query, which may be left out where there is one."""
        if query is None and len(self._registry.queries) == 1:
            (query,) = self._registry.queries
        if query is None:
            raise EddyError(f"say which query is meant: {call}; there are {few(self._registry.queries)}")
        return self._registry.group(query).engine

    def _each(self, ask: Callable[[EngineOver], T]) -> dict[str, T]:
        """What the engine of each query answers. Queries may come and go meanwhile, in another thread."""
        return {name: ask(group.engine) for name, group in self._registry.of.copy().items()}

    def _engines(self, query: str | None) -> list[EngineOver]:
        return (
            [group.engine for group in tuple(self._registry.groups)]
            if query is None
            else [self._registry.group(query).engine]
        )

    # -- what it was made with -------------------------------------------------------------------------------------

    @property
    def routing(self) -> Any:  # type: ignore[override]
        """The routing policy of each query; those of one core have one."""
        return self._each(lambda engine: engine.routing)

    @property
    def migration(self) -> Any:  # type: ignore[override]
        """The migration technique of each query."""
        return self._each(lambda engine: engine.migration)

    @property
    def feedback(self) -> Any:  # type: ignore[override]
        """The feedback policy of each query."""
        return self._each(lambda engine: engine.feedback)

    @property
    def batch_size(self) -> Any:  # type: ignore[override]
        """As it was given."""
        return self._registry.options["batch_size"]

    @property
    def joins(self) -> Any:  # type: ignore[override]
        """As it was given."""
        return self._registry.options["joins"]

    @property
    def seed(self) -> Any:  # type: ignore[override]
        """As it was given."""
        return self._registry.options["seed"]

    @property
    def retractions(self) -> Any:  # type: ignore[override]
        """As it was given."""
        return self._registry.options["retractions"]

    @property
    def advise(self) -> Any:  # type: ignore[override]
        """As it was given."""
        return self._registry.options["advise"]

    @property
    def threads(self) -> Any:  # type: ignore[override]
        """As it was given."""
        return self._registry.options["threads"]

    # -- what goes on --------------------------------------------------------------------------------------------------

    def statistics(self, query: str | None = None) -> Any:
        """Counts and sizes of the engine that runs a query, with all that have its core; of all queries by name."""
        if query is not None:
            found: Statistics = self._registry.group(query).engine.statistics()
            return found
        return self._each(lambda engine: engine.statistics())

    def overall(self) -> Overall:
        """What all queries hold together: rows of the streams, late ones too, the watermark, bytes.

        Of an engine that is closed, what there was at last.
        """
        if self._at_last is not None:
            return self._at_last
        found: Overall = self._registry.access.ask(partial(overall_of, self._registry))
        return found

    @property
    def nbytes(self) -> int:
        """Bytes that it holds: rows and strings, which all queries share, and the state of every core."""
        return self._registry.nbytes

    def explain(self, query: str | None = None, *, analyze: bool = False) -> str:
        """Which queries share a plan, and for each plan what `Eddy.explain` says; of one query, or of all."""
        groups = tuple(self._registry.groups) if query is None else [self._registry.group(query)]
        texts = []
        for group in groups:
            many = len(group.names)
            who = f"{few(group.names)}: {'one query' if many == 1 else f'{many} queries, one core'}"
            texts.append(f"{who}\n{group.engine.explain(analyze=analyze)}")
        return "\n\n".join(texts)

    @property
    def log(self) -> Any:
        """What tells `logging` of the engine of each query."""
        return self._each(lambda engine: engine.log)

    def view(self, query: str | None = None) -> View:
        """What the routing policy of a query would see if it were asked now."""
        return self._engine(query, "view(query=...)").view()

    def stair(
        self, streams: str | Iterable[str], by: str | None = None, query: str | None = None
    ) -> StairView:
        """The STAIR of these streams in the plan of a query."""
        return self._engine(query, "stair(streams, query=...)").stair(streams, by)

    def table(self, query: str | None = None) -> Result:
        """The groups of a query that aggregates, as they are now."""
        self._engine(query, "table(query=...)")
        name = query if query is not None else next(iter(self._registry.queries))
        group = self._registry.group(name)
        if not self._registry.queries[name].grouped:
            raise EddyError(f"table() shows the groups of an aggregate, and {name} has none")
        if isinstance(group, SharedGroup):
            groups = group.members[name].groups
            assert groups is not None
            return self._registry.access.ask(groups.table)
        return group.engine.table()

    def why_not(self, /, query: str | None = None, **rows: int) -> Explanation:  # type: ignore[override]
        """Why these rows, one of each stream by number, gave a query no result."""
        stream = next(iter(rows or next(iter(self._registry.queries.values())).names))
        engine = self._engine(query, f"why_not(query=..., {stream}=12)")
        name = query if query is not None else next(iter(self._registry.queries))
        group = self._registry.group(name)
        if isinstance(group, SharedGroup):
            return group.why_not(name, rows)
        return engine.why_not(**rows)

    def why(self, /, query: str | None = None, **rows: int) -> Explanation:  # type: ignore[override]
        """When these rows gave a query a result, and under which plan; else why not."""
        return self.why_not(query, **rows)
