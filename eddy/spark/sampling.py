"""What the choice of a partitioning knows of the DataFrames: their sizes, and some of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa

from eddy.spark.layout import Layout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST = 50_000
"""Rows of a sample, at most."""


def sizes_of(frames: Mapping[str, DataFrame]) -> dict[str, float] | None:
    """Rows of each frame as Spark's optimiser estimates them, without a job; None where it cannot tell.

    Without row counts, as for files, bytes stand for rows: what is compared are the streams among each other.
    """
    rows: dict[str, float] = {}
    sizes: dict[str, float] = {}
    for name, frame in frames.items():
        statistics = frame._jdf.queryExecution().optimizedPlan().stats()
        sizes[name] = float(str(statistics.sizeInBytes()))
        if statistics.rowCount().isDefined():
            rows[name] = float(str(statistics.rowCount().get()))
    if len(rows) == len(frames):
        return rows
    unknown = 2.0**62  # what Spark says where it knows nothing
    return None if max(sizes.values()) >= unknown else sizes


def sampled(layout: Layout, stream: str, frame: DataFrame, fraction: float) -> Any:
    """Some rows of a stream, as the engine takes them. This runs a job."""
    plain = attrs.evolve(layout, marked=())
    rows = frame.sample(fraction=min(1.0, fraction), seed=0).limit(MOST)
    table = rows.selectExpr(*plain.tagged(stream, rows)).toArrow().combine_chunks()
    columns = layout.query.streams[stream].columns
    return plain.unpacked(table).get(stream) or {
        column: pa.array([], of.arrow) for column, of in columns.items()
    }
