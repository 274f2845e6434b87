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
UNKNOWN = 2.0**62
"""The bytes that Spark tells where it knows nothing."""


@attrs.frozen
class Sizes:
    """What Spark's optimiser estimates of some frames, without a job."""

    bytes: dict[str, float]
    rows: dict[str, float]
    """Of those whose rows it can tell."""

    @property
    def weights(self) -> dict[str, float] | None:
        """How large the streams are, compared with each other; None where it cannot tell.

        Without row counts, as for files, bytes stand for rows.
        """
        if len(self.rows) == len(self.bytes):
            return self.rows
        return None if max(self.bytes.values()) >= UNKNOWN else self.bytes


def sizes_of(frames: Mapping[str, DataFrame]) -> Sizes:
    """Bytes and rows of each frame."""
    rows: dict[str, float] = {}
    sizes: dict[str, float] = {}
    for name, frame in frames.items():
        statistics = frame._jdf.queryExecution().optimizedPlan().stats()
        sizes[name] = float(str(statistics.sizeInBytes()))
        if statistics.rowCount().isDefined():
            rows[name] = float(str(statistics.rowCount().get()))
    return Sizes(sizes, rows)


def sampled(layout: Layout, stream: str, frame: DataFrame, fraction: float) -> Any:
    """Some rows of a stream, as the engine takes them. This runs a job."""
    plain = attrs.evolve(layout, marked=())
    rows = frame.sample(fraction=min(1.0, fraction), seed=0).limit(MOST)
    table = rows.selectExpr(*plain.tagged(stream, rows)).toArrow().combine_chunks()
    columns = layout.query.streams[stream].columns
    return plain.unpacked(table).get(stream) or {
        column: pa.array([], of.arrow) for column, of in columns.items()
    }
