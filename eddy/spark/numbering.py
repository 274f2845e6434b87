"""Row numbers and low-water rows for windows that count rows, found before rows are dealt out.

`Rows(n)` counts all rows of a stream, and a partition has only some of them. So every row brings its number in its
stream, and how far the other counted streams had come. Spark finds both in two steps that scale: time is cut into
stretches; the rows of each stream in each stretch are counted, and from these few numbers follows what comes before
each; then every stretch numbers its own rows. All of it is part of the one lazy plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

from eddy.intake.lowwater_kernels import ROWS
from eddy.spark.layout import ROW, STREAM, TIME, Layout
from eddy.spark.timeless import has_time

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

STRETCH, PLACE = "stretch", "place"
STRETCHES = 1024
"""Stretches of time, equally long."""


def numbered(layout: Layout, frames: Mapping[str, DataFrame]) -> DataFrame:
    """The rows of all streams as they travel, with their numbers and the marks of the counted streams."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    names = layout.query.names
    union = reduce(
        lambda left, right: left.union(right),
        (
            frames[name].selectExpr(
                *layout.tagged(name, frames[name]), f"monotonically_increasing_id() AS {PLACE}"
            )
            for name in names
        ),
    )
    union = _in_stretches(layout, union)
    before = Window.orderBy(STRETCH).rowsBetween(Window.unboundedPreceding, -1)
    counts = union.groupBy(STRETCH).agg(
        *(F.sum(_is(layout, i)).alias(f"count{i}") for i in range(len(names)))
    )
    earlier = counts.select(
        F.col(STRETCH).alias("which"),
        *(
            F.coalesce(F.sum(f"count{i}").over(before), F.lit(0)).alias(f"before{i}")
            for i in range(len(names))
        ),
    )
    own = Window.partitionBy(STRETCH).orderBy(TIME, STREAM, PLACE).rowsBetween(Window.unboundedPreceding, 0)
    joined = union.join(F.broadcast(earlier), F.col(STRETCH) == F.col("which"))
    so_far = {i: F.col(f"before{i}") + F.sum(_is(layout, i)).over(own) for i in range(len(names))}
    row = reduce(lambda rest, i: F.when(F.col(STREAM) == i, so_far[i] - 1).otherwise(rest), so_far, F.lit(0))
    marks = [_low(layout, name, so_far[names.index(name)]).alias(layout.mark(name)) for name in layout.marked]
    slots = [F.col(slot) for slot in layout.slots if slot != TIME]
    return joined.select(STREAM, TIME, row.cast("bigint").alias(ROW), *marks, *slots)


def _is(layout: Layout, number: int) -> Column:
    """1 for a row of a stream that counts: one that should have a time, and has none, does not."""
    from pyspark.sql import functions as F

    counts = F.col(STREAM) == number
    if has_time(layout.query, layout.query.names[number]):
        counts = counts & F.col(TIME).isNotNull()
    return F.when(counts, 1).otherwise(0)


def _low(layout: Layout, stream: str, count: Column) -> Column:
    """The first live row of a stream when ``count`` have come, as `partition.marks.lows_at` computes it."""
    from pyspark.sql import functions as F

    kinds, sizes = layout.query.window_table()
    i = layout.query.names.index(stream)
    size = int(sizes[i])
    low = count - size if kinds[i] == ROWS else F.floor((count - 1) / size) * size
    return F.greatest(low, F.lit(0)).cast("bigint")


def _in_stretches(layout: Layout, union: DataFrame) -> DataFrame:
    """Each row with the stretch of time that it belongs to; static rows are before all."""
    from pyspark.sql import functions as F

    time = F.col(TIME).cast("double")
    if layout.slots[TIME] == "timestamp_ntz":
        since = F.col(TIME) - F.expr("TIMESTAMP_NTZ'1970-01-01 00:00:00'")
        time = since.cast("interval second").cast("decimal(20, 6)").cast("double")
    ends = union.agg(F.min(time).alias("first"), F.max(time).alias("last"))
    # Whatever is rounded here, a later time never gets an earlier stretch.
    part = (time - F.col("first")) / F.greatest(F.col("last") - F.col("first"), F.lit(1e-6))
    stretch = F.least(F.floor(part * STRETCHES), F.lit(STRETCHES - 1)).cast("int")
    return (
        union.crossJoin(F.broadcast(ends))
        .withColumn(STRETCH, F.coalesce(stretch, F.lit(-1)))
        .drop("first", "last")
    )
