"""What the choice of a partitioning knows of the DataFrames: their sizes, and some of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa

from eddy.checks import checked
from eddy.errors import EddyError
from eddy.spark.internals import java_frame
from eddy.spark.layout import Layout, quoted
from eddy.spark.timeless import has_time
from policies.options import number

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FRACTION = number(above=0, most=1, takes="the part of the rows to look at, above 0 and up to 1")
MOST = 50_000
"""Rows of a sample, at most."""
ENOUGH = 100
"""Rows of a sample, of all streams, that say how many rows there are."""


def sizes_of(
    frames: Mapping[str, DataFrame], found: Mapping[str, Any] | None = None, fraction: Any = None
) -> tuple[dict[str, float] | None, str]:
    """Rows of each frame as Spark's optimiser estimates them, without a job, or by a sample; or else their bytes, as
    for files: what is compared are the streams among each other. And which it is, "rows" or "bytes"; None where Spark
    cannot tell."""
    rows, sizes = _statistics(frames)
    if len(rows) == len(frames):
        return rows, "rows"
    drawn = {name: len(next(iter(columns.values()))) for name, columns in (found or {}).items()}
    if sum(drawn.values()) >= ENOUGH and max(drawn.values()) < MOST:
        return {name: max(1, n) / float(fraction) for name, n in drawn.items()}, "rows"
    unknown = 2.0**62  # what Spark says where it knows nothing
    return (None if max(sizes.values()) >= unknown else sizes), "bytes"


def _statistics(frames: Mapping[str, DataFrame]) -> tuple[dict[str, float], dict[str, float]]:
    """What Spark knows: rows of some frames, and the bytes of each."""
    rows: dict[str, float] = {}
    sizes: dict[str, float] = {}
    for name, frame in frames.items():
        statistics = java_frame(frame).queryExecution().optimizedPlan().stats()
        sizes[name] = float(str(statistics.sizeInBytes()))
        if statistics.rowCount().isDefined():
            rows[name] = float(str(statistics.rowCount().get()))
    return rows, sizes


def samples(layout: Layout, frames: Mapping[str, DataFrame], fraction: Any) -> dict[str, Any] | None:
    """Some rows of each stream; None if none are asked for. This runs a job for each."""
    if fraction is None:
        return None
    fraction = checked("sample", fraction, FRACTION, "is")
    return {name: sampled(layout, name, frame, fraction) for name, frame in frames.items()}


def is_empty(found: Mapping[str, Any], frames: Mapping[str, DataFrame]) -> bool:
    """Whether there are no rows to choose slices by; EddyError if the sample has only missed them."""
    if any(len(values) for columns in found.values() for values in columns.values()):
        return False
    if all(frame.isEmpty() for frame in frames.values()):
        return True
    raise EddyError("slices of time are chosen by a sample, and it has got no rows: pass a larger sample=")


def sampled(layout: Layout, stream: str, frame: DataFrame, fraction: float) -> Any:
    """Some rows of a stream, as the engine takes them. This runs a job."""
    plain = attrs.evolve(layout, marked=())
    if has_time(layout.query, stream):
        frame = frame.where(f"{quoted(str(layout.query.streams[stream].time))} IS NOT NULL")
    rows = frame.sample(fraction=float(fraction), seed=0).limit(MOST)
    table = rows.selectExpr(*plain.tagged(stream, rows)).toArrow().combine_chunks()
    columns = layout.query.streams[stream].columns
    return plain.unpacked(table).get(stream) or {
        column: pa.array([], of.arrow) for column, of in columns.items()
    }
