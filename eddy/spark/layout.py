"""How the rows of all streams travel through Spark as rows of one kind.

Streams differ in their columns, and a union needs the same of all. So columns of one kind share a *slot*: the first
integer of every stream is in ``long0``, the second in ``long1``, and so on; a row has no more slots than the stream
that needs most. Whole numbers, booleans and instants are longs, floats are doubles. Times go in ``time``, apart.
Columns that the query does not read do not travel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs
import numpy as np
import pyarrow as pa
from attrs import frozen

from eddy.errors import EddyError
from eddy.intake import travel
from eddy.intake.intake import stored_columns
from eddy.intake.travel import mark_column
from eddy.query.query import Query, changed
from eddy.shown import kind_of, shown
from eddy.values.types import ColumnType, Values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType

STREAM, TIME, ROW, CELL = "stream", "time", "row", "cell"
EARLIEST = -(2**63)
"""The time of what is static."""

_SLOTS = {"int": "long", "uint": "long", "bool": "long", "float": "double", "string": "string"}
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_TAKEN: dict[str, tuple[str, ...]] = {
    "int": _WHOLE,
    "uint": _WHOLE,
    "bool": ("boolean",),
    "float": ("float", "double", *_WHOLE),
    "string": ("string",),
}
_UNSIGNED = {"uint8": pa.int16(), "uint16": pa.int32(), "uint32": pa.int64(), "uint64": pa.decimal128(20, 0)}


@frozen
class Layout:
    """Where the columns of each stream are in a row that travels."""

    query: Query = attrs.field(eq=False)
    """With the columns only that travel."""
    slots: dict[str, str]
    """Slots and their Spark types."""
    places: dict[str, dict[str, str]]
    """For each stream the slots of its columns, its time aside."""
    marked: tuple[str, ...] = ()
    """The streams whose low-water rows travel along; then row numbers do as well."""
    ordered: bool = False
    """Whether row numbers travel along for the order of rows of one time, where that changes results."""

    @property
    def numbered(self) -> bool:
        """Whether rows bring their numbers."""
        return self.ordered or bool(self.marked)

    @property
    def schema(self) -> str:
        """The Spark schema of a row that travels, its cell aside."""
        parts = [f"{STREAM} tinyint", f"{TIME} {self.slots[TIME]}"]
        parts += (
            [f"{ROW} bigint", *(f"{self.mark(name)} bigint" for name in self.marked)] if self.numbered else []
        )
        return ", ".join(parts + [f"{slot} {of}" for slot, of in self.slots.items() if slot != TIME])

    @property
    def arrow(self) -> pa.Schema:
        """The schema of a row that travels in Arrow, its cell aside."""
        kinds = {"bigint": pa.int64(), "double": pa.float64(), "string": pa.string()}
        kinds["timestamp_ntz"] = pa.timestamp("us")
        fields = [pa.field(STREAM, pa.int8()), pa.field(TIME, kinds[self.slots[TIME]])]
        if self.numbered:
            fields += [pa.field(name, pa.int64()) for name in (ROW, *map(self.mark, self.marked))]
        return pa.schema(
            fields + [pa.field(slot, kinds[of]) for slot, of in self.slots.items() if slot != TIME]
        )

    def packed(self, stream: str, columns: Mapping[str, Values]) -> pa.RecordBatch:
        """Rows of a stream as they travel: the reverse of `unpacked`, without marks."""
        declared = self.query.streams[stream]
        n = len(next(iter(columns.values())))
        found = {STREAM: pa.array(np.full(n, self.query.names.index(stream), np.int8))}
        for column, kind in declared.columns.items():
            found[self.places[stream].get(column, TIME)] = _departing(columns[column], kind)
        schema = attrs.evolve(self, marked=(), ordered=False).arrow
        arrays = [found[f.name].cast(f.type) if f.name in found else pa.nulls(n, f.type) for f in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def mark(self, stream: str) -> str:
        """The column with the low-water rows of a stream."""
        return f"mark{self.query.names.index(stream)}"

    def tagged(self, stream: str, frame: DataFrame) -> list[str]:
        """The columns of a row that travels, of a frame with the rows of one stream: SQL, for `selectExpr`.

        Texts, since every step of a Column made in Python is a call of the JVM, and a join of few streams had hundreds.
        """
        declared = self.query.streams[stream]
        filled = {place: column for column, place in self.places[stream].items()}
        time = "NULL"  # static rows are before all others
        if self.query.timed and declared.time is not None:
            time = _travelling(frame, declared.time, declared.columns[declared.time], stream)
        elif not declared.static:
            time = "0"
        found = {STREAM: f"CAST({self.query.names.index(stream)} AS tinyint)"}
        found[TIME] = f"CAST({time} AS {self.slots[TIME]})"
        for slot, of in self.slots.items():
            if slot != TIME:
                own = filled.get(slot)
                value = "NULL" if own is None else _travelling(frame, own, declared.columns[own], stream)
                found[slot] = f"CAST({value} AS {of})"
        return [f"{value} AS {quoted(name)}" for name, value in found.items()]

    def unpacked(self, batch: pa.RecordBatch | pa.Table) -> dict[str, dict[str, pa.Array]]:
        """The rows of each stream in a batch of rows that travelled, each in the columns of its stream."""
        tags = np.asarray(batch.column(STREAM))
        sizes = np.bincount(tags, minlength=len(self.query.names)).tolist()
        if sum(size > 0 for size in sizes) > 1:
            batch = batch.take(pa.array(np.argsort(tags, kind="stable")))
        found: dict[str, dict[str, pa.Array]] = {}
        start = 0
        for name, size in zip(self.query.names, sizes, strict=True):
            if size:
                part = batch.slice(start, size)
                found[name] = self.columns(name, part)
                if self.marked:
                    found[name][travel.ROW] = part.column(ROW)
                    found[name] |= {
                        mark_column(other): part.column(self.mark(other)) for other in self.marked
                    }
            start += size
        return found

    def columns(self, stream: str, part: pa.RecordBatch | pa.Table) -> dict[str, pa.Array]:
        """The columns of a stream, of rows that are all its own."""
        declared = self.query.streams[stream]
        columns = {}
        for column, kind in declared.columns.items():
            slot = self.places[stream].get(column, TIME)
            columns[column] = _arrived(part.column(slot), kind)
        return columns


def layout_of(query: Query, marked: tuple[str, ...] = (), ordered: bool = False) -> Layout:
    """The layout of a query's rows."""
    query = trimmed(query)
    slots: dict[str, str] = {TIME: "bigint"}
    places: dict[str, dict[str, str]] = {}
    for name, stream in query.streams.items():
        used: dict[str, int] = {}
        places[name] = {}
        for column, kind in stream.columns.items():
            if column == stream.time and query.timed:
                if kind.kind == "timestamp" and kind.zone is None:
                    slots[TIME] = "timestamp_ntz"
                continue
            of = _slot(kind, f"column {column!r} of stream {name}")
            slot = f"{of}{used.get(of, 0)}"
            used[of] = used.get(of, 0) + 1
            places[name][column] = slot
            slots[slot] = {"long": "bigint", "zoneless": "timestamp_ntz"}.get(of, of)
    return Layout(query, slots, places, marked, ordered)


def _slot(kind: ColumnType, what: str) -> str:
    if kind.kind == "timestamp":
        return "long" if kind.zone else "zoneless"
    if kind.kind not in _SLOTS:
        raise EddyError(
            f"{what} is {kind}, which does not travel through Spark: declare it as a number, a string or a timestamp, "
            "and cast it in the DataFrame"
        )
    return _SLOTS[kind.kind]


def trimmed(query: Query) -> Query:
    """The same query over streams without the columns that it does not read."""
    needed = stored_columns(query)
    for expression in (*query.filters.values(), *query.predicates):
        for owner, column in expression.columns:
            needed[owner].add(column)
    for key_class in query.key_classes:
        for owner, column in key_class.members.items():
            needed[owner].add(column)
    streams = {}
    for name, stream in query.streams.items():
        kept = {c: of for c, of in stream.columns.items() if c in needed[name] or c == stream.time}
        if not kept:  # a stream has at least one column
            kept = dict([next(iter(stream.columns.items()))])
        streams[name] = attrs.evolve(stream, columns=kept)
    return changed(query, streams=streams)


def quoted(column: str) -> str:
    """A column's name in SQL, whatever is in it."""
    return "`" + column.replace("`", "``") + "`"


def check_frames(query: Query, frames: Mapping[str, DataFrame], streaming: bool) -> None:
    """EddyError unless there is a frame for every stream, with its columns in types that fit."""
    from pyspark.sql import DataFrame

    if not isinstance(frames, Mapping):
        raise EddyError(f"give the DataFrames as a dict of stream name to DataFrame, not {shown(frames)}")
    for name in frames:
        if name not in query.streams:
            raise EddyError(f"the query has no stream {name!r}: it has {', '.join(query.names)}")
    for name in query.names:
        if name not in frames:
            raise EddyError(
                f"there is no DataFrame for stream {name}: give one for each of {', '.join(query.names)}"
            )
    for name, frame in frames.items():
        if not isinstance(frame, DataFrame):
            raise EddyError(
                f"stream {name} needs Spark's DataFrame, not {kind_of(frame)}: make one with spark.createDataFrame"
            )
        if frame.isStreaming and not streaming:
            raise EddyError(f"the DataFrame of stream {name} is a streaming one: call eddy.spark.stream")
        for column, kind in query.streams[name].columns.items():
            _travelling(frame, column, kind, name)


def _travelling(frame: DataFrame, column: str, kind: ColumnType, stream: str) -> str:
    """SQL for a column on its way into a slot; EddyError if the frame lacks it, or its type does not fit."""
    if column not in frame.columns:
        raise EddyError(
            f"the DataFrame of stream {stream} has no column {column!r}: it has {', '.join(frame.columns)}"
        )
    has = frame.schema[column].dataType.simpleString()
    source = quoted(column)
    if kind.kind == "timestamp":
        if has not in ("timestamp", "timestamp_ntz"):
            raise EddyError(_misfit(stream, column, kind, has, "cast it to timestamp first"))
        if (has == "timestamp") != (kind.zone is not None):
            advice = (
                "declare it with a zone, such as 'timestamp[us, UTC]', or cast it to timestamp_ntz"
                if has == "timestamp"
                else "declare it without a zone, or cast it to timestamp, which reads it in the session's time zone"
            )
            raise EddyError(_misfit(stream, column, kind, has, advice))
        return f"unix_micros({source})" if kind.zone else source
    taken = _TAKEN[kind.kind]
    if has not in taken:
        raise EddyError(
            _misfit(stream, column, kind, has, f"cast it to one of {', '.join(taken)}, or declare another")
        )
    return source


def _misfit(stream: str, column: str, kind: ColumnType, has: str, advice: str) -> str:
    return (
        f"column {column!r} of stream {stream} is declared {kind}, and in the DataFrame it is {has}: {advice}"
    )


def _arrived(values: pa.Array | pa.ChunkedArray, kind: ColumnType) -> pa.Array:
    """A column out of its slot, as the engine takes it."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    zoned = kind.kind == "timestamp" and kind.zone
    return values.view(pa.timestamp("us", kind.zone)) if zoned else values


def _departing(values: pa.Array, kind: ColumnType) -> pa.Array:
    """A column on its way into its slot."""
    if kind.kind != "timestamp":
        return values
    instants = values.cast(pa.timestamp("us", kind.zone))
    return instants.view(pa.int64()) if kind.zone else instants


# -- results -----------------------------------------------------------------------------------------------------------


def arrow_type(kind: ColumnType) -> pa.DataType:
    """The Arrow type in which Spark takes a column of results."""
    if kind.kind == "timestamp":
        return pa.timestamp("us", "UTC" if kind.zone else None)
    if kind.kind == "duration":
        return pa.duration("us")
    if kind.kind in ("time", "uuid", "opaque"):
        raise EddyError(
            f"a result of type {kind} is none that Spark has: CAST it to VARCHAR, or leave it out"
        )
    return _UNSIGNED.get(kind.name, kind.arrow)


def result_schema(query: Query, sign: bool) -> tuple[pa.Schema, StructType]:
    """The schema of results, in Arrow and in Spark."""
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    fields = [pa.field(name, arrow_type(kind)) for name, kind in query.outputs]
    if sign:
        fields.append(pa.field("sign", pa.int8()))

    def spark_type(of: pa.DataType) -> DataType:
        return from_arrow_type(of, prefer_timestamp_ntz=True)

    return pa.schema(fields), StructType([StructField(f.name, spark_type(f.type), True) for f in fields])
