"""The sides of `benchmarks.spark`: one feed in files, and the same join of it by six ways.

All read the same Parquet files, with the schema given, and write to Spark's noop sink, which takes every row and keeps
none. Each says how many results it had.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import eddy
import eddy.spark
from eddy.spark import bounded

SPAN = 10**9
"""Microseconds that a feed lasts."""
FILES = 10
"""Files of a stream: stretches of time."""
BATCHES = 10
"""Micro-batches for Spark's own stream-stream joins. With fewer a probe finds more rows of its key that are out of its
window; with more the cost of each micro-batch weighs more."""
SCHEMA = "ts timestamp, k long, v long"


def write(folder: Path, streams: int, events: int, keys: int, seed: int = 0) -> float:
    """Files of random rows; returns the width of a window, in seconds: it holds as many rows as there are keys."""
    random = np.random.default_rng(seed)
    n = events // streams
    for name in "ABCDEFGH"[:streams]:
        table = pa.table(
            {
                "ts": pa.array(np.sort(random.integers(0, SPAN, n)), pa.timestamp("us", "UTC")),
                "k": random.integers(0, keys, n),
                "v": random.integers(0, 10**6, n),
            }
        )
        (folder / name).mkdir(parents=True)
        cuts = np.searchsorted(np.asarray(table["ts"]).astype(np.int64), np.linspace(0, SPAN, FILES + 1))
        for i, (low, high) in enumerate(itertools.pairwise(cuts.tolist())):
            pq.write_table(table.slice(low, high - low), folder / name / f"{i}.parquet")
            os.utime(folder / name / f"{i}.parquet", (i + 1, i + 1))
    return keys / n * SPAN / 1e6


def query(names: str, width: float) -> eddy.Query:
    """All streams by one key, in windows of so many seconds."""
    of = {"ts": "timestamp[us, UTC]", "k": "int64", "v": "int64"}
    streams = {name: eddy.Stream(of, window=eddy.Range(f"{round(width * 1e6)} us")) for name in names}
    where = [f"{a}.k = {b}.k" for a, b in itertools.pairwise(names)]
    return eddy.Query(streams, where, select=[f"{name}.v AS {name}" for name in names])


def by_sql(frames: dict[str, Any], width: float, bucketed: bool = False) -> Any:
    """The same by Spark's joins: any two rows of a result are no further apart than a window.

    ``bucketed``: time is cut into buckets as long as a window, and a row of every stream but the first is in three of
    them, so that the bucket is a key as well and no pairs are tried that are far apart.
    """
    from pyspark.sql import functions as F

    micros = round(width * 1e6)
    names = list(frames)
    first, joined = names[0], None
    for name in names:
        columns = [f"unix_micros(ts) AS at{name}", f"k AS k{name}", f"v AS {name}"]
        if bucketed:
            bucket = f"unix_micros(ts) div {micros}"
            near = f"explode(array({bucket} - 1, {bucket}, {bucket} + 1))"
            columns.append(f"{bucket if name == first else near} AS b{name}")
        part = frames[name].selectExpr(*columns)
        if joined is None:
            joined = part
            continue
        tests = [f"k{first} = k{name}"] + ([f"b{first} = b{name}"] if bucketed else [])
        tests += [
            f"at{name} BETWEEN at{o} - {micros} AND at{o} + {micros}" for o in names[: names.index(name)]
        ]
        joined = joined.join(part, F.expr(" AND ".join(tests)))
    assert joined is not None
    return joined.select(*names)


def natively(frames: dict[str, Any], width: float) -> Any:
    """The same by Spark's stream-stream joins. Only one event time may go on from join to join: others are numbers."""
    from pyspark.sql import functions as F

    micros = round(width * 1e6)
    joined: Any = None
    names = list(frames)
    for name in names:
        part = frames[name].selectExpr(f"ts AS ts{name}", f"k AS k{name}", f"v AS {name}")
        part = part.withColumn(f"at{name}", F.unix_micros(f"ts{name}")).withWatermark(
            f"ts{name}", "0 seconds"
        )
        if joined is None:
            joined, time_of, first = part, f"ts{name}", name
            continue
        tests = [
            f"k{first} = k{name}",
            f"ts{name} >= {time_of} - INTERVAL {micros} MICROSECONDS",
            f"ts{name} <= {time_of} + INTERVAL {micros} MICROSECONDS",
        ]
        tests += [f"abs(at{name} - at{other}) <= {micros}" for other in names[: names.index(name)]]
        joined = joined.join(part, F.expr(" AND ".join(tests))).drop(time_of)
        time_of = f"ts{name}"
    return joined.select(*names)


def drained(frame: Any) -> int:
    """Compute all of a frame; returns how many rows it has."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    seen = Observation()
    frame = frame.observe(seen, F.count(F.lit(1)).alias("rows"))
    frame.write.format("noop").mode("overwrite").save()
    return int(seen.get["rows"])


def streamed(frame: Any, checkpoint: str) -> int:
    """Run a streaming frame over all that is there; returns how many rows it gave."""
    writer = frame.writeStream.format("noop").option("checkpointLocation", checkpoint)
    running = writer.trigger(availableNow=True).start()
    running.awaitTermination()
    return sum(progress.sink.numOutputRows for progress in running.recentProgress)


class Sides:
    """What is measured, over one folder of files."""

    def __init__(self, spark: Any, folder: Path, names: str, width: float) -> None:
        self.spark, self.folder, self.names, self.width = spark, folder, names, width
        self.query = query(names, width)
        self.runs = 0
        self.frame: Any = None

    def frames(self) -> dict[str, Any]:
        return {name: self.spark.read.schema(SCHEMA).parquet(str(self.folder / name)) for name in self.names}

    def sources(self, batches: int) -> dict[str, Any]:
        reader = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", -(-FILES // batches))
        return {name: reader.parquet(str(self.folder / name)) for name in self.names}

    def checkpoint(self) -> str:
        self.runs += 1
        return str(self.folder / f"checkpoint{self.runs}")

    def join(self) -> int:
        """`eddy.spark.join`."""
        self.frame = eddy.spark.join(self.query, self.frames())
        return drained(self.frame)

    def sql(self) -> int:
        """Spark SQL, windows in the conditions of the joins."""
        return drained(by_sql(self.frames(), self.width))

    def buckets(self) -> int:
        """Spark SQL, with buckets of time as a key beside."""
        return drained(by_sql(self.frames(), self.width, bucketed=True))

    def stream(self) -> int:
        """`eddy.spark.stream`, availableNow."""
        place = self.checkpoint()
        frame = eddy.spark.stream(self.query, self.sources(1), place, watermark="0 s", multiple="max")
        return streamed(frame, place)

    def native(self) -> int:
        """Spark's own stream-stream joins, availableNow."""
        return streamed(natively(self.sources(BATCHES), self.width), self.checkpoint())

    def packed(self) -> int:
        """`eddy.spark.join` of data so small that workers may put it in order in memory."""
        return drained(eddy.spark.join(self.query, self.frames(), packed=True))

    def shuffled(self) -> int:
        """What ``join`` lets the JVM do, without the way into Python and back."""
        layout = bounded.layout_of(self.query)
        partitioning = bounded.choose(layout.query, 2)
        return drained(bounded.in_order(layout, partitioning, self.frames()))
