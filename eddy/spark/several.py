"""`join` of several queries: one shuffle serves all, and each partition has one engine for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa

from eddy.checks import flag
from eddy.engine.eddy import Eddy
from eddy.errors import EddyError
from eddy.partition import Partitioning, choose
from eddy.partition.together import dealing
from eddy.query.query import Query, changed
from eddy.query.stream import Stream
from eddy.several.query_doors import few
from eddy.several.results import QUERY, Results
from eddy.spark.layout import Layout, layout_of, result_schema, trimmed
from eddy.spark.work import LARGEST, Job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


class Frames(dict[str, "DataFrame"]):
    """The results of each query: parts of one DataFrame that is kept once it is computed, until `unpersist`."""

    def __init__(self, whole: DataFrame, frames: Mapping[str, DataFrame]) -> None:
        super().__init__(frames)
        self.whole = whole

    def unpersist(self) -> None:
        """Keep the results no longer; who uses them then computes them anew."""
        self.whole.unpersist()


@attrs.frozen
class Columns:
    """Where the results of each query are in the rows that partitions give."""

    schema: pa.Schema
    places: dict[str, dict[str, str]]
    """For each query its columns, and what they are called in those rows."""
    signed: dict[str, bool]


@attrs.frozen
class Told:
    """What the engine of a partition tells of itself."""

    plan: str
    results: int
    bytes: int
    history: tuple[Any, ...] = ()


class SharedCell:
    """The engine of a partition, for several queries."""

    def __init__(self, number: int, queries: Mapping[str, Query], options: Mapping[str, Any]) -> None:
        self.number, self._results = number, 0
        self._engine: Any = Eddy(dict(queries), **options)

    def push(self, arrived: Mapping[str, Any]) -> Results:
        """Rows arrive, later than all before."""
        return self._counted(self._engine.push_all(arrived))

    def close(self) -> Results:
        """What is owed at the end."""
        return self._counted(self._engine.close())

    def statistics(self) -> Told:
        """Its plans, each with its queries."""
        cores = self._engine.cores_with_queries()
        told = "; ".join(f"{few(core.queries)}: {core.engine.plan}" for core in cores)
        return Told(told, self._results, self._engine.nbytes)

    def _counted(self, results: Results) -> Results:
        self._results += sum(results.counts.values())
        return results


@attrs.frozen
class SharedJob(Job):
    """The joins of one cell."""

    queries: dict[str, Query] = attrs.field(factory=dict)
    columns: Columns | None = None

    def _cell(self, number: int) -> SharedCell:
        return SharedCell(number, self.queries, self.options)

    def _owes(self) -> bool:
        return any(query.attachments for query in self.queries.values())

    def _as_spark(self, result: Any) -> Iterable[pa.RecordBatch]:
        assert self.columns is not None
        schema = self.columns.schema
        for name, found in result.items():
            if not len(found):
                continue
            table = found.to_arrow(self.columns.signed[name])
            own = {place: table.column(i) for i, place in enumerate(self.columns.places[name].values())}
            arrays = [
                pa.array([name] * len(found), pa.string())
                if field.name == QUERY
                else own[field.name].cast(field.type)
                if field.name in own
                else pa.nulls(len(found), field.type)
                for field in schema
            ]
            yield from pa.table(arrays, schema=schema).to_batches(LARGEST)


def planned(
    queries: Mapping[str, Query],
    cells: int,
    kind: str | None,
    sizes: Mapping[str, float] | None,
) -> tuple[Layout, Partitioning, dict[str, Query]]:
    """How the rows of all queries travel and are dealt out, and the queries over the columns that travel."""
    own, streams = read_by(queries)
    one = dealing(own, streams, kind == "single" or cells == 1)
    if any(query.time_windows for query in own.values()) and not one.timed:
        without = [name for name, stream in streams.items() if stream.time is None and not stream.static]
        what = f"stream {without[0]} has none" if without else "some are of kinds that cannot be compared"
        raise EddyError(
            f"rows go through a partition in order of time, and {what}: give all streams a time of one kind"
        )
    ordered = one.timed and any(_in_order(query) for query in own.values())
    for name, query in own.items():
        if _in_order(query) and [s for s in one.names if s in query.names] != list(query.names):
            raise EddyError(
                f"query {name} takes rows of one time in the order {', '.join(query.names)}, and the queries before it "
                f"have {', '.join(one.names)}: name it first, or join it apart"
            )
    layout = layout_of(one, ordered=ordered)
    return layout, choose(layout.query, cells, sizes, None, kind), own


def read_by(queries: Mapping[str, Query]) -> tuple[dict[str, Query], dict[str, Stream]]:
    """The queries, and all streams, with the columns alone that some query reads."""
    streams: dict[str, Stream] = {}
    needed: dict[str, set[str]] = {}
    for query in queries.values():
        for name, stream in trimmed(query).streams.items():
            needed.setdefault(name, set()).update(stream.columns)
            streams.setdefault(name, query.streams[name])
    narrow = {
        name: {column: kind for column, kind in stream.columns.items() if column in needed[name]}
        for name, stream in streams.items()
    }
    own = {
        name: changed(
            query, streams={s: attrs.evolve(said, columns=narrow[s]) for s, said in query.streams.items()}
        )
        for name, query in queries.items()
    }
    return own, {name: attrs.evolve(stream, columns=narrow[name]) for name, stream in streams.items()}


def _in_order(query: Query) -> bool:
    """Whether results depend on the order of rows of one time."""
    from eddy.spark.bounded import layout_for

    return layout_for(query).numbered


def columns_of(queries: Mapping[str, Query], apart: bool) -> tuple[Columns, StructType]:
    """The rows that partitions give; EddyError where queries show different columns, and are not given ``apart``."""
    from pyspark.sql.types import StringType, StructField, StructType

    signed = {name: query.signed for name, query in queries.items()}
    if not apart:
        signed = dict.fromkeys(queries, any(signed.values()))
    shown = {name: result_schema(query, signed[name]) for name, query in queries.items()}
    first, (schema, kinds) = next(iter(shown.items()))
    if not apart:
        for name, (other, _) in shown.items():
            if other != schema:
                raise EddyError(
                    f"{first} shows {', '.join(schema.names)}, and {name} {', '.join(other.names)}: give apart=True, "
                    "and there is a DataFrame for each"
                )
        if QUERY in schema.names:
            raise EddyError(f"{first} shows a column {QUERY!r}, which is to name the query: give apart=True")
        places = {name: {column: column for column in schema.names} for name in queries}
        fields, types = list(schema), list(kinds.fields)
    else:
        fields, types, places = [], [], {}
        known: dict[Any, int] = {}
        for name, (own, own_kinds) in shown.items():
            said = tuple(zip(own.names, map(str, own.types), strict=True))
            new = said not in known
            number = known.setdefault(said, len(known))
            places[name] = {column: f"{number}.{i}" for i, column in enumerate(own.names)}
            if new:
                fields += [pa.field(f"{number}.{i}", field.type) for i, field in enumerate(own)]
                types += [
                    StructField(f"{number}.{i}", of.dataType, True) for i, of in enumerate(own_kinds.fields)
                ]
    found = Columns(pa.schema([pa.field(QUERY, pa.string()), *fields]), places, signed)
    return found, StructType([StructField(QUERY, StringType(), True), *types])


def apart_of(whole: DataFrame, columns: Columns) -> Frames:
    """A DataFrame for each query, out of one that is computed once."""
    from pyspark.sql import functions as F

    kept = whole.persist()
    frames = {
        name: kept.where(F.col(QUERY) == name).select(
            *(F.col(f"`{place}`").alias(column) for column, place in own.items())
        )
        for name, own in columns.places.items()
    }
    return Frames(kept, frames)


def check_several(queries: Mapping[str, Query], options: Mapping[str, Any]) -> None:
    """EddyError for what goes with one query only."""
    if not queries:
        raise EddyError("a join has at least one query: {'name': query, ...}")
    for option, why in REFUSED.items():
        if options.get(option):
            raise EddyError(f"{option} is for a join of one query, {why}: leave it out")
    if options.get("kind") not in (None, "hash", "single"):
        raise EddyError("several queries are dealt out by one key, kind='hash', or not at all, kind='single'")
    flag("apart", options.get("apart"))


REFUSED = {
    "sample": "whose heavy keys get partitions of their own",
    "packed": "whose rows are put in order in memory",
}
