"""`stream`: a query over streaming DataFrames, as a streaming DataFrame.

Each micro-batch deals its rows out to cells, and a cell goes on from the state that it left in the last one
(`eddy.spark.state`). Spark's own state stores are not used: they fix the number of partitions for the life of a
checkpoint, and hand state to Python one value at a time.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from eddy.checks import checked, choice, path_to, whole
from eddy.errors import EddyError
from eddy.partition import Partitioning, choose
from eddy.partition.marks import counted
from eddy.query.clock import lacking
from eddy.query.query import Query
from eddy.spark.bounded import cells_of, check_options, in_order_already, remember
from eddy.spark.identity import identified
from eddy.spark.layout import check_frames, layout_of, result_schema
from eddy.spark.live import LiveJob, remembering
from eddy.spark.pack import packed
from eddy.spark.redeal import cells_before, prepare
from eddy.spark.report import tally
from eddy.spark.session import quiet
from eddy.spark.ship import pickled, sent, ship
from eddy.spark.state import Store
from eddy.spark.timeless import check_bad
from eddy.spark.work import BATCH
from eddy.values.durations import nanoseconds
from policies.options import whole as whole_number

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DELAY = "spark.watermarkDelayMs"
"""Where Spark keeps the delay of `withWatermark`: in the metadata of the column."""


def stream(
    query: Query,
    frames: Mapping[str, DataFrame],
    checkpoint: str | os.PathLike[str],
    *,
    watermark: object = None,
    multiple: str | None = None,
    partitions: int | None = None,
    rows: Mapping[str, float] | None = None,
    retain: int = 2,
    bad: str = "error",
    **policies: object,
) -> DataFrame:
    """The results of a query over streaming DataFrames, one for each stream: a streaming DataFrame, to be appended.

    Start it with the same ``checkpoint`` as its option ``checkpointLocation``: live rows and the plan are kept there.
    Rows may come out of order. They wait until the *watermark* passes them, the newest time of a stream less its delay,
    and are then processed in order of time; rows that are older than what was processed are late: dropped, and
    counted. The delay is that of `withWatermark`, or ``watermark``, one for all streams or a dict; for integer times it
    is a number. Of several streams the slowest counts, or with ``multiple="max"`` the fastest (by default as
    ``spark.sql.streaming.multipleWatermarkPolicy`` says). The rows of a micro-batch count in its own watermark.

    A row whose time is NULL cannot be placed, and is an error. With ``bad="drop"`` such rows are dropped, and counted
    in `reports`; a query that has stopped goes on where it is started again so.

    Every result comes exactly once, into any sink that takes each micro-batch once, however often the query is killed
    and started again: with another plan or other policies, and another number of ``partitions``: then rows are dealt
    out anew when this is called. Windows that count rows, differences and aggregates run in one partition, and so do
    outer, semi, anti and as-of joins unless one key joins all streams. Of these last the number of partitions stays
    what it was: who had a partner cannot be dealt out anew. A row without a partner is given once the watermark has
    passed the end of its window.
    """
    in_order_already("stream", policies)
    place = check_given(checkpoint, policies)
    policies = {"batch_size": BATCH, **policies}
    check_options(query, policies)
    check_bad(bad)
    check_delays(query, watermark)
    check_frames(layout_of(query).query, frames, streaming=True)
    still = [name for name, frame in frames.items() if not frame.isStreaming]
    if still:
        raise EddyError(
            f"the DataFrame of stream {still[0]} is not a streaming one: read it with spark.readStream, "
            "or call eddy.spark.join"
        )
    store = Store(place)
    identity = identified(store, query, frames)
    query, frames = identity.query, identity.frames
    layout = layout_of(query)
    spark = next(iter(frames.values())).sparkSession
    context = spark.sparkContext
    cells, retain = cells_of(context, partitions), whole("retain", retain)
    if layout.query.attachments and partitions is None:
        cells = cells_before(store) or cells
    partitioning = choose(layout.query, cells, rows, None, "single" if counted(query) else None)
    if multiple is None:
        multiple = str(spark.conf.get("spark.sql.streaming.multipleWatermarkPolicy", "min"))
    multiple = choice("multiple", multiple, ("min", "max"))
    signed = query.signed
    arrow, schema = result_schema(query, signed)
    job = LiveJob(
        layout=attrs.evolve(layout, query=remembering(layout.query)),
        partitioning=partitioning,
        schema=arrow,
        options=policies,
        shown=query.select,
        signed=signed,
        checkpoint=place,
        dealing=dealing(partitioning),
        delays={name: delay(query, name, frames[name], watermark) for name in query.names},
        slowest=multiple == "min",
        retain=retain,
        identity=identity.digest,
        bad=bad,
        call=secrets.token_hex(8),
    )
    prepare(spark, job)
    if identity.new:
        store.describe(identity.text)
        store.make_folders(len(frames))
    archive, reports = ship(context), tally(context)
    with quiet():
        result = packed(layout, partitioning, frames).mapInArrow(sent(pickled(job), archive, reports), schema)
    remember(result, partitioning, reports)
    return result


def check_given(checkpoint: object, policies: Mapping[str, object]) -> str:
    """The folder of the checkpoint; EddyError unless it is one, or for an option that only `join` has."""
    place = path_to("checkpoint is a folder, the same as the option checkpointLocation", checkpoint)
    why = "how a stream is dealt out must not depend on the rows that are there on one day"
    for option, reason in {"kind": why, "sample": why, "packed": "a stream is always packed"}.items():
        if option in policies:
            raise EddyError(f"{option} is an option of eddy.spark.join: {reason}, so leave it out")
    return place


def check_delays(query: Query, watermark: object) -> None:
    """EddyError unless every stream has a time: rows of a micro-batch have no other order."""
    unknown = [
        name for name in (watermark if isinstance(watermark, Mapping) else ()) if name not in query.streams
    ]
    if unknown:
        raise EddyError(
            f"there is a watermark for {unknown[0]!r}, which is no stream of the query: it has {', '.join(query.names)}"
        )
    without = [name for name, declared in query.streams.items() if declared.static]
    if without:
        raise EddyError(
            f"stream {without[0]} is static: a streaming join takes streams only; declare it without static=True, "
            "with an unbounded window, and stream its rows"
        )
    if not query.timed:
        raise EddyError(
            f"a streaming join puts rows in order of their time, so every stream needs a time column, {_why(query)}"
        )


def _why(query: Query) -> str:
    """Why a query has no clock, and what to do."""
    if all(declared.time is not None for declared in query.streams.values()):
        told = ", ".join(f"{name}.{s.time} is {s.columns[str(s.time)]}" for name, s in query.streams.items())
        return f"and times that can be compared: {told}; declare all of them alike"
    return f"but {lacking(query.streams)}"


def delay(query: Query, stream: str, frame: DataFrame, watermark: Any) -> int:
    """How long rows of a stream are waited for, in microseconds or in the unit of integer times."""
    time = query.streams[stream].time
    assert time is not None
    given = watermark.get(stream) if isinstance(watermark, Mapping) else watermark
    instants = query.streams[stream].columns[time].kind == "timestamp"
    if given is None:
        milliseconds = (frame.schema[time].metadata or {}).get(DELAY)
        if milliseconds is None:
            raise EddyError(
                f"how long are rows of {stream} to be waited for? Say so with withWatermark({time!r}, '10 minutes'), "
                "or eddy.spark.stream(..., watermark=...); 0 if they never come out of order"
            )
        return int(milliseconds) * 1000
    if isinstance(given, str) or not hasattr(given, "__index__"):
        if not instants:
            raise EddyError(
                f"the times of {stream} are integers: give its watermark as a number, not {given!r}"
            )
        return nanoseconds(given) // 1000
    if instants and given != 0:
        raise EddyError(f"give the watermark of {stream} as a duration, such as '10 minutes', not {given!r}")
    return checked(f"the watermark of {stream}", given, whole_number(0, takes="0 or more"))


def dealing(partitioning: Partitioning) -> str:
    """A short name for how rows are dealt out: two that deal alike have the same."""
    weighed = partitioning.weighed
    parts = [
        partitioning.kind,
        partitioning.cells,
        "python",
        [str(key_class) for key_class in weighed.classes],
        [(heavy.place, heavy.key) for heavy in weighed.heavy],
        [(grid.start, grid.category, grid.shares) for grid in partitioning.grids],
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]
