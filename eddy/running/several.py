"""Several queries in one run: their results go to a sink each, or all to one, with a column that names the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import field, frozen

from eddy.engine.eddy import Eddy
from eddy.errors import EddyError
from eddy.query.query import Query
from eddy.results.result import SIGN
from eddy.running.gathered import RESULTS, Gathered, counted, results_of
from eddy.running.shared import SharedEngine
from eddy.several.results import QUERY, Results
from eddy.sinks.base import Sink
from eddy.sinks.memory import Memory
from eddy.sinks.sink import sink as sink_of


@frozen(eq=False)
class Several:
    """The queries of a run by name, and how their results are written."""

    queries: dict[str, Query]
    feed: Query
    """All streams, side by side."""
    together: bool
    """Whether all results go to one sink."""
    retractions: bool = False
    final: bool = False
    """Whether the groups are written at the end, instead of their changes."""
    counts: dict[str, int] = field(factory=dict)
    """Rows that each query was given, those before a restart included."""

    @property
    def asked(self) -> dict[str, Query]:
        """What a checkpoint is of."""
        return self.queries

    def engine(self, options: Mapping[str, Any], saved: str | None = None) -> SharedEngine:
        """One that runs them; ``saved``: it goes on where the one in a file stood."""
        given = dict(options)
        plan = given.pop("plan", None) if saved is not None else None
        made: Any = Eddy(self.queries, **given) if saved is None else Eddy.load(saved, self.queries, **given)
        plans = plan if isinstance(plan, Mapping) else dict.fromkeys(self.queries, plan)
        for name, text in plans.items():
            if text is not None:
                made.migrate(text, query=name)
        return SharedEngine(made, self.feed, self.gathered)

    def signed(self, name: str) -> bool:
        """Whether results of a query are withdrawn as well as given."""
        return not self.final and (self.retractions or self.queries[name].signed)

    @property
    def any_signed(self) -> bool:
        """Whether those of some query are."""
        return any(map(self.signed, self.queries))

    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of the results, by what a sink takes; EddyError where one sink cannot take all of them."""
        found = {name: schema_of(query, self.signed(name)) for name, query in self.queries.items()}
        if not self.together:
            return {results_of(name): schema for name, schema in found.items()}
        signed = self.any_signed
        found = {name: schema_of(query, signed) for name, query in self.queries.items()}
        first, schema = next(iter(found.items()))
        for name, other in found.items():
            if other != schema:
                each = ", ".join(f"{one!r}: ..." for one in (first, name))
                raise EddyError(
                    f"{first} shows {', '.join(schema.names)}, and {name} {', '.join(other.names)}: results of queries "
                    f"that show different columns need a sink for each, sink={{{each}}}"
                )
        if QUERY in schema.names:
            raise EddyError(
                f"{first} shows a column {QUERY!r}, which is the one that names the query where all results go to one "
                "sink: give it another name, or a sink for each query"
            )
        return {RESULTS: schema.insert(0, pa.field(QUERY, pa.string()))}

    def gathered(self, results: Results) -> Gathered:
        """The results of a push as they are written."""
        if self.together:
            table = results.to_arrow(sign=self.any_signed)
            tables = {RESULTS: table} if table.num_rows else {}
        else:
            found = {name: result for name, result in results.items() if len(result)}
            tables = {
                results_of(name): result.to_arrow(sign=self.signed(name)) for name, result in found.items()
            }
        return Gathered(tables, counted(tables))

    def groups(self, engine: SharedEngine) -> Gathered:
        """The groups of each query as they are, to be written."""
        found = {name: engine.table(name) for name in self.queries}
        counts = {name: table.num_rows for name, table in found.items()}
        if not self.together:
            return Gathered({results_of(name): table for name, table in found.items()}, counts)
        named = [
            table.add_column(0, QUERY, pa.array([name] * table.num_rows, pa.string()))
            for name, table in found.items()
        ]
        return Gathered({RESULTS: pa.concat_tables(named)}, counts)

    def count(self, gathered: Any) -> None:
        """The results of a push are given."""
        for name, count in gathered.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count

    def write(self, gathered: Any, sinks: Mapping[str, Sink]) -> None:
        """Give them to the sinks."""
        for what, table in gathered.tables.items():
            if self.together:
                table = table.set_column(0, QUERY, table.column(0).cast(pa.string()))
            if table.num_rows:
                sinks[what].write(table)


def schema_of(query: Query, signed: bool) -> pa.Schema:
    """The columns of results; a sign at the end, where results are withdrawn."""
    fields = [pa.field(name, kind.arrow) for name, kind in query.outputs]
    return pa.schema([*fields, pa.field(SIGN, pa.int8())] if signed else fields)


def sinks_of(names: Sequence[str], sink: Any) -> dict[str, Sink]:
    """The sinks of several queries, by what they take: one for each, one for all, or memory."""
    if sink is None:
        return {results_of(name): Memory() for name in names}
    if not isinstance(sink, Mapping):
        return {RESULTS: sink_of(sink)}
    for name in sink:
        if name not in names:
            raise EddyError(f"sink: there is no query {name!r}, only {', '.join(names)}")
    for name in names:
        if name not in sink:
            raise EddyError(f"query {name} has no sink: give one for each, or one for all")
    return {results_of(name): sink_of(sink[name]) for name in names}
