"""`eddy.run(..., on="spark")`: the same query over the same files, read and joined by Spark, results into any sink.

Files are read by the very code that reads them here, one task each, so rows, types and bad rows are the same. Results
come to the driver as Arrow, some thousand at a time, and are written by the sink.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import define, evolve

from eddy.errors import BatchError, EddyError
from eddy.page.cells import spark_run
from eddy.page.html import write
from eddy.query.query import Query
from eddy.query.stream import Stream
from eddy.running.checking import Checker
from eddy.running.gathered import RESULTS
from eddy.running.letters import Letters, told_of
from eddy.running.options import Options
from eddy.running.outcome import Outcome
from eddy.running.showing import ENDS
from eddy.sinks.base import commit_at_once
from eddy.sources.base import Piece, Source
from eddy.sources.lines import LineFiles
from eddy.sources.tables import TableFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SPARK = "spark"
FIRST = 3
"""Of how many bad rows a file tells."""
REFUSED = {
    "checkpoint": "there are no checkpoints: what has failed is run again",
    "every": "there are no checkpoints",
    "lateness": "rows are put in order of their time, however far they are out of it",
    "late": "no row is late, since all are put in order of their time",
    "idle": "nobody waits for a silent source",
    "speed": "rows come as fast as they can be read",
    "latency": "there are no batches whose size could be chosen",
    "batch": "Spark sizes batches by spark.sql.execution.arrow.maxRecordsPerBatch",
    "threads": "Spark runs as many tasks as it has cores",
    "watch": "a page comes at the end: give report='run.html', and see Spark's own meanwhile",
    "metrics": "engines are in Spark's workers: see its own metrics, and eddy.spark.reports",
    "final": "there are changes of groups only",
    "clock": "nobody waits for a clock",
}
"""Options that make no sense there, and why."""
_OURS = re.compile(r"eddy\.errors\.(\w+): (.*)")


def check(given: Mapping[str, Any], options: Options, sources: Mapping[str, Source]) -> None:
    """EddyError for what cannot go."""
    for name, why in REFUSED.items():
        if given.get(name) is not None and not (name == "threads" and given[name] == 1):
            raise EddyError(f"{name}= does not go with on='spark', where {why}: leave it out")
    if options.bad.way == "keep":
        raise EddyError(
            "bad='keep:FILE' does not go with on='spark', whose workers write no such file: use 'drop'"
        )
    for name, source in sources.items():
        if not isinstance(source, (LineFiles, TableFiles)):
            raise EddyError(f"on='spark' reads files and folders, and {name} is {source}: run it without on=")
        if source.follow:
            raise EddyError(f"on='spark' reads files as they are: leave follow out, of {source}")


def run_on_spark(query: Query, sources: Mapping[str, Source], options: Options, schema: pa.Schema) -> Outcome:
    """Run it; returns when all results are written."""
    from eddy.spark import session
    from eddy.spark.bounded import join
    from eddy.spark.explain import explain, reports
    from eddy.spark.internals import active_context
    from eddy.spark.report import tally

    began, own = time.monotonic(), active_context() is None
    spark = session()
    if own:
        spark.sparkContext.setLogLevel("OFF")  # what goes wrong is raised here, in a line
    counts = tally(spark.sparkContext)
    sink, results, ended = options.sink, 0, "end"
    sink.open(schema, None)
    try:
        frames = {
            name: _frame(spark, query, name, sources[name], options.bad, counts) for name in query.names
        }
        joined = join(query, frames, **{n: value for n, value in options.engine.items() if n not in REFUSED})
        for table in _collected(joined, schema):
            if options.limit is not None and results + table.num_rows >= options.limit:
                table, ended = table.slice(0, options.limit - results), "limit"
            sink.write(table)
            results += table.num_rows
            if ended == "limit":
                break
        commit_at_once([sink])
        sink.close()
    except BaseException as error:
        sink.abandon(False)
        ours = _OURS.search(str(error))
        if isinstance(error, EddyError) or not isinstance(error, Exception) or ours is None:
            raise
        raise (BatchError if ours[1] == "BatchError" else EddyError)(ours[2]) from None
    read = {(stream, file): tuple(rest) for stream, file, *rest in counts.value}  # a file may be read twice
    outcome = Outcome(
        results=results,
        rows=_sums(query, read, 0),
        bad={name: count for name, count in _sums(query, read, 1).items() if count},
        late={},
        letters=tuple(told for _, _, first in read.values() for told in first)[:100],
        lateness=None,
        plan=options.engine.get("plan") or "",
        changes=0,
        checkpoints=0,
        seconds=time.monotonic() - began,
        ended=ended,
        collected={RESULTS: sink.to_arrow()} if options.collects else None,  # type: ignore[attr-defined]
    )
    if options.shows.report is not None:
        dealt = explain(joined).split("\nrows sent: ")[0]
        told = spark_run(query, sources, evolve(outcome, ended=ENDS[ended]), reports(joined), dealt)
        write(options.shows.report, told)
    return outcome


def _sums(query: Query, read: Mapping[tuple[str, str], Any], place: int) -> dict[str, int]:
    return {
        name: sum(counts[place] for (stream, _), counts in read.items() if stream == name)
        for name in query.names
    }


def _frame(spark: SparkSession, query: Query, name: str, source: Any, bad: Letters, counts: Any) -> DataFrame:
    """The rows of a stream: a partition for each file, in the order of their names."""
    from pyspark.sql.pandas.types import from_arrow_schema

    from eddy.spark.layout import trimmed
    from eddy.spark.session import quiet
    from eddy.spark.ship import pickled, sent, ship

    stream = trimmed(query).streams[name]
    narrow = source.narrowed({column: kind.arrow for column, kind in stream.columns.items()})
    files = narrow.files.names()
    job = Reading(name, stream, narrow, tuple(files), bad.way)
    schema = from_arrow_schema(job.schema, prefer_timestamp_ntz=True)
    numbers = spark.range(0, len(files), 1, max(1, len(files)))
    with quiet():
        return numbers.mapInArrow(sent(pickled(job), ship(spark.sparkContext), counts), schema)


@define
class Reading:
    """What a task does: it reads the files whose numbers it gets."""

    name: str
    stream: Stream
    source: Any
    files: tuple[str, ...]
    way: str
    """What becomes of bad rows."""

    @property
    def schema(self) -> pa.Schema:
        """As Spark takes it: whole numbers with a sign, times in microseconds."""
        from eddy.spark.layout import arrow_type

        kinds = {column: arrow_type(kind) for column, kind in self.stream.columns.items()}
        return pa.schema({c: pa.int64() if pa.types.is_decimal(kind) else kind for c, kind in kinds.items()})

    def run(self, items: Iterator[Any], counts: Any) -> Iterator[pa.RecordBatch]:
        """The rows of the files."""
        for batch in items:
            for number in batch.column(0).to_pylist():
                yield from self._of(self.files[number], counts)

    def _of(self, file: str, counts: Any) -> Iterator[pa.RecordBatch]:
        schema, checker, rows, bad = self.schema, Checker(self.stream), 0, 0
        first: list[str] = []
        for piece in evolve(self.source, files=self.source.files.only(file)).read(None):
            assert isinstance(piece, Piece)
            checked = checker.check(piece)
            told = [told_of(self.name, piece.file, one) for one in checked.bad[: FIRST - len(first)]]
            if checked.bad and self.way == "error":
                raise BatchError(f"{told[0]}; bad='drop' goes on without such rows")
            first += told
            bad += sum(one.rows for one in checked.bad)
            rows += len(checked)
            if checked.table is not None:
                columns = [
                    c.cast(kind, safe=not pa.types.is_timestamp(kind))
                    for c, kind in zip(checked.table.columns, schema.types, strict=True)
                ]
                yield from pa.table(columns, schema=schema).combine_chunks().to_batches()
        if counts is not None:
            counts.add([(self.name, file, rows, bad, first)])


def _collected(joined: DataFrame, schema: pa.Schema) -> Iterator[pa.Table]:
    """The results, a batch of Arrow at a time: they are computed in all tasks at once, and wait on their disks."""
    from pyspark import StorageLevel

    from eddy.spark.session import quiet
    from eddy.spark.ship import pickled, sent, ship

    context = joined.sparkSession.sparkContext
    with quiet():
        plain = joined.toDF(*(f"c{place}" for place in range(len(schema))))  # a name may have a dot
        parcels = plain.mapInArrow(sent(pickled(Parcels()), ship(context)), "parcel binary")
    parcels.persist(StorageLevel.DISK_ONLY)
    try:
        parcels.count()
        for row in parcels.toLocalIterator():
            with pa.ipc.open_stream(row[0]) as stream:
                found = stream.read_all()
            columns = [c.cast(kind, safe=False) for c, kind in zip(found.columns, schema.types, strict=True)]
            yield pa.table(columns, schema=schema)
    finally:
        parcels.unpersist()


@define
class Parcels:
    """What a task does with results: each batch is sent as a block of bytes."""

    def run(self, items: Iterator[pa.RecordBatch], _: Any) -> Iterator[pa.RecordBatch]:
        """The blocks."""
        for batch in items:
            if batch.num_rows:
                to = pa.BufferOutputStream()
                with pa.ipc.new_stream(to, batch.schema) as file:
                    file.write_batch(batch)
                yield pa.RecordBatch.from_arrays([pa.array([to.getvalue().to_pybytes()])], ["parcel"])
