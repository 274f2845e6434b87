"""`join`: a query over DataFrames, as a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from eddy.checks import flag, whole
from eddy.engine.eddy import Eddy
from eddy.errors import EddyError
from eddy.partition import Partitioning, choose
from eddy.partition.marks import counted
from eddy.query.query import Query
from eddy.spark import pack
from eddy.spark.deal import dealt
from eddy.spark.layout import CELL, ROW, STREAM, TIME, Layout, check_frames, layout_of, result_schema
from eddy.spark.numbering import numbered
from eddy.spark.report import Tally, tally
from eddy.spark.sampling import is_empty, samples, sizes_of
from eddy.spark.session import quiet
from eddy.spark.several import Frames, SharedJob, apart_of, check_several, columns_of, planned, read_by
from eddy.spark.ship import core_count, pickled, sent, ship
from eddy.spark.timeless import check_bad
from eddy.spark.work import BATCH, Job

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame


def join(
    query: Query | Mapping[str, Query],
    frames: Mapping[str, DataFrame],
    partitions: int | None = None,
    *,
    kind: str | None = None,
    rows: Mapping[str, float] | None = None,
    sample: float | None = None,
    packed: bool = False,
    bad: str = "error",
    apart: bool = False,
    **policies: object,
) -> Any:
    """The results of a query over whole DataFrames, one for each stream: a DataFrame with the query's columns.

    Lazy like any transformation: nothing runs until the result is used, and nothing is collected to the driver. How
    rows are dealt out (`eddy.partition`; ``kind`` asks for one way) is decided at once, by the sizes that Spark's
    statistics or ``rows`` have, and ``partitions``, by default as many as tasks run at once. With ``sample=0.01`` a
    small job looks at that part of the rows first, so that heavy keys get partitions of their own, and slices of time
    can be chosen. ``policies`` are the options of `Eddy`: plan, routing, migration, feedback, batch_size, joins, seed.

    The JVM sorts the rows of a partition, which then go through its engine: memory is bounded by the windows.
    ``packed=True``, for small data, has Python workers put all their rows in order in memory, which is somewhat faster.
    Windows that count rows, static relations and streams without a time are sorted all the same.

    Rows are taken in order of their time, whatever order the DataFrames have; rows of equal time in the order of the
    query's streams, and rows of one stream and equal time in that of its DataFrame. Where a window counts rows, every
    stream needs a time. A row whose time is NULL is an error; with ``bad="drop"`` such rows are dropped, and counted in
    `reports`. Differences and aggregates give the changes that an `Eddy` gives, with their column ``sign``.

    Outer, semi, anti and as-of joins give what an `Eddy` gives until it is closed, at the end of the data. They run in
    as many partitions as are asked for where one key joins all streams, and else in one; `explain` says why.

    Of several queries, ``{"name": query, ...}``, one shuffle serves all, by a key that each of them has, and each
    partition has one engine. The DataFrame has a column ``query`` before those that all of them show; with
    ``apart=True`` there is a dict of DataFrames by name, out of one that is kept once it is computed.
    """
    in_order_already("join", policies)
    policies = {"batch_size": BATCH, **policies}
    if isinstance(query, Mapping):
        check_several(query, {"kind": kind, "sample": sample, "packed": packed, "apart": apart})
        return _several(query, frames, partitions, kind, rows, bad, apart, policies)
    if apart:
        raise EddyError("apart is for several queries: leave it out")
    check_options(query, policies)
    check_bad(bad)
    layout = layout_for(query)
    check_frames(layout.query, frames, streaming=False)
    spark = next(iter(frames.values())).sparkSession
    context = spark.sparkContext
    cells = cells_of(context, partitions)
    found = samples(layout, frames, sample)
    if kind == "slices" and found is not None and is_empty(found, frames):
        kind = "single"
    sizes, unit = sizes_of(frames, found, sample) if rows is None else (dict(rows), "rows")
    partitioning = attrs.evolve(choose(layout.query, cells, sizes, found, kind), unit=unit)
    packed = (
        flag("packed", packed)
        and query.timed
        and not (layout.numbered or any(s.static for s in query.streams.values()))
    )
    signed = query.signed
    arrow, schema = result_schema(query, signed)
    job = Job(layout, partitioning, arrow, policies, signed, packed, bad)
    reports = tally(context)
    with quiet():
        arrived = (
            pack.packed(layout, partitioning, frames) if packed else in_order(layout, partitioning, frames)
        )
        result = arrived.mapInArrow(sent(pickled(job), ship(context), reports), schema)
    remember(result, partitioning, reports)
    return result


def _several(
    queries: Mapping[str, Query],
    frames: Mapping[str, DataFrame],
    partitions: int | None,
    kind: str | None,
    rows: Mapping[str, float] | None,
    bad: str,
    apart: bool,
    policies: dict[str, Any],
) -> DataFrame | Frames:
    """The results of several queries."""
    _check_made(queries, policies)
    check_bad(bad)
    _, streams = read_by(queries)
    check_frames(Query(streams, cross=len(streams) > 1), frames, streaming=False)
    context = next(iter(frames.values())).sparkSession.sparkContext
    sizes, unit = sizes_of(frames, None, None) if rows is None else (dict(rows), "rows")
    layout, partitioning, own = planned(queries, cells_of(context, partitions), kind, sizes)
    partitioning = attrs.evolve(partitioning, unit=unit)
    columns, schema = columns_of(own, apart)
    reports = tally(context)
    job = SharedJob(layout, partitioning, columns.schema, policies, bad=bad, queries=own, columns=columns)
    with quiet():
        arrived = in_order(layout, partitioning, frames)
        whole = arrived.mapInArrow(sent(pickled(job), ship(context), reports), schema)
    remember(whole, partitioning, reports)
    if not apart:
        return whole
    found = apart_of(whole, columns)
    for frame in found.values():
        remember(frame, partitioning, reports)
    return found


def in_order(layout: Layout, partitioning: Partitioning, frames: Mapping[str, DataFrame]) -> DataFrame:
    """The rows of all streams, each in the partition of its cell, in order of time: by Spark, which uses disks."""
    if layout.numbered:
        union = dealt(layout, partitioning, numbered(layout, frames))
    else:
        tagged = {name: frame.selectExpr(*layout.tagged(name, frame)) for name, frame in frames.items()}
        union = dealt(layout, partitioning, tagged)
    # Where windows end by time, the order of rows of one time changes no result, and one number is sorted faster.
    order = [TIME, STREAM, ROW] if layout.numbered else [TIME]
    return union.repartitionById(partitioning.cells, CELL).sortWithinPartitions(*order)


def layout_for(query: Query) -> Layout:
    """How rows travel: with what the order of the whole says, where it changes results; EddyError if there is none."""
    marked, near = counted(query), [one for one in query.attachments if one.nearest is not None]
    if (marked or near) and not query.timed:
        what = f"the window of {marked[0]} counts rows" if marked else f"{near[0]} takes the newest row"
        raise EddyError(
            f"{what}, and a DataFrame has no order of its own: "
            "give every stream a time column, such as a number of the row, and name it with Stream(..., time=)"
        )
    if not query.attachments:
        return layout_of(query, marked)
    return layout_of(query, ordered=query.timed and bool(marked or near or query.signed))


def in_order_already(door: str, policies: dict[str, Any]) -> None:
    """EddyError for options of an engine that puts rows in order: here that is done before they reach one."""
    why = {
        "join": "puts all rows in order of their time by itself: leave {} out",
        "stream": "has one watermark for all partitions, and counts late rows: leave {} out, and give watermark=",
    }
    for option in ("lateness", "late", "idle", "clock"):
        if policies.get(option) is not None:
            raise EddyError(f"eddy.spark.{door} {why[door].format(option)}")


def check_options(query: Query, policies: dict[str, Any]) -> None:
    """An engine is made once here, so that what is wrong with the options is said at once, and kernels compiled."""
    if isinstance(query, Mapping):
        raise EddyError("here there is one query at a time: eddy.spark.join takes several")
    _check_made(query, policies)


def _check_made(query: Query | Mapping[str, Query], policies: dict[str, Any]) -> None:
    """An engine is made, of one query or of several."""
    if policies.get("retractions"):
        raise EddyError("Spark's results are not withdrawn: leave retractions out")
    try:
        Eddy(query, **policies)
    except TypeError as error:
        raise EddyError(f"these are not options of Eddy: {error}") from error


def cells_of(context: SparkContext, partitions: object) -> int:
    """How many partitions there are to be, by default as many as tasks run at once."""
    if partitions is None:
        return core_count(context)
    return whole("partitions", partitions)


def remember(frame: DataFrame, partitioning: Partitioning, reports: Tally) -> None:
    """What `explain` shows of a frame."""
    frame.__dict__["_eddy"] = (partitioning, reports)
