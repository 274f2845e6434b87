"""Joins on Spark: `eddy.spark` against Spark's own joins, with the same rows, in one run.

    python -m benchmarks.spark [--events 1000000] [--streams 3 4] [--keys 1000] [--rounds 3] [--skip native ...]

The streams share one key and have windows of time that hold as many rows as there are keys, so a row has about one
partner in each other stream. All sides read the same Parquet files and write to Spark's noop sink, which takes every
row and keeps none. Sides take turns; what is compared are medians.

- ``join``: `eddy.spark.join`. ``sql``: Spark SQL with the windows in the conditions of the joins.
- ``stream``: `eddy.spark.stream`, ``native``: Spark's own stream-stream joins, both with availableNow. Each has what
  suits it: the first one micro-batch, the second five, so that its state stays small (with one it took far longer),
  the faster of its state stores, in memory, and no empty micro-batches in the end.
- ``one core``: `eddy.spark.join` under local[1].
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import eddy
import eddy.spark
from eddy.spark import bounded

GOALS = {"native": 20.0, "sql": 3.0, "one core": 1.6}
"""What each is to be beaten by: times as many events a second."""
FILES = 5
"""Files of a stream: stretches of time."""
SPAN = 10**9
"""Microseconds that a feed lasts."""


def write(folder: Path, streams: int, events: int, keys: int, seed: int = 0) -> float:
    """Files of random rows; returns the width of a window, in seconds."""
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


def by_sql(frames: dict[str, Any], width: float) -> Any:
    """The same by Spark's joins: any two rows of a result are no further apart than a window."""
    micros = round(width * 1e6)
    names = list(frames)
    joined: Any = None
    for name in names:
        part = frames[name].selectExpr(f"ts AS ts{name}", f"k AS k{name}", f"v AS {name}")
        if joined is None:
            joined, first = part, name
            continue
        near = [
            f"ts{name} >= ts{other} - INTERVAL {micros} MICROSECONDS AND ts{name} <= ts{other} + INTERVAL {micros} "
            "MICROSECONDS"
            for other in names[: names.index(name)]
        ]
        from pyspark.sql import functions as F

        joined = joined.join(part, F.expr(" AND ".join([f"k{first} = k{name}", *near])))
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
        near = [
            f"ts{name} >= {time_of} - INTERVAL {micros} MICROSECONDS AND ts{name} <= {time_of} + INTERVAL {micros} "
            "MICROSECONDS"
        ]
        near += [f"abs(at{name} - at{other}) <= {micros}" for other in names[: names.index(name)]]
        joined = joined.join(part, F.expr(" AND ".join([f"k{first} = k{name}", *near])))
        joined = joined.drop(time_of)
        time_of = f"ts{name}"
    return joined.select(*names)


def drained(frame: Any) -> None:
    """Compute all of a frame."""
    frame.write.format("noop").mode("overwrite").save()


def streamed(frame: Any, checkpoint: str) -> None:
    """Run a streaming frame over all that is there."""
    writer = frame.writeStream.format("noop").option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()


class Sides:
    """What is measured, over one folder of files."""

    def __init__(self, spark: Any, folder: Path, names: str, width: float) -> None:
        self.spark, self.folder, self.names, self.width = spark, folder, names, width
        self.query = query(names, width)
        self.runs = 0
        self.frame: Any = None

    def frames(self) -> dict[str, Any]:
        return {name: self.spark.read.parquet(str(self.folder / name)) for name in self.names}

    def sources(self, files: int = FILES) -> dict[str, Any]:
        reader = self.spark.readStream.schema("ts timestamp, k long, v long").option(
            "maxFilesPerTrigger", files
        )
        return {name: reader.parquet(str(self.folder / name)) for name in self.names}

    def checkpoint(self) -> str:
        self.runs += 1
        return str(self.folder / f"checkpoint{self.runs}")

    def join(self) -> None:
        self.frame = eddy.spark.join(self.query, self.frames())
        drained(self.frame)

    def sql(self) -> None:
        drained(by_sql(self.frames(), self.width))

    def stream(self) -> None:
        place = self.checkpoint()
        streamed(eddy.spark.stream(self.query, self.sources(), place, watermark="0 s", multiple="max"), place)

    def native(self) -> None:
        streamed(natively(self.sources(1), self.width), self.checkpoint())

    def shuffled(self) -> None:
        """What `join` lets the JVM do, without the way into Python and back."""
        layout = bounded.layout_of(self.query)
        frames = self.frames()
        partitioning = bounded.choose(layout.query, 2)
        tagged = {name: frame.select(*layout.tagged(name, frame)) for name, frame in frames.items()}
        union = bounded.dealt(layout, partitioning, tagged)
        drained(union.repartitionById(partitioning.cells, "cell").sortWithinPartitions("time"))


def session(cores: int) -> Any:
    """A session with so many cores, in place of the one that there may be."""
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()
    return eddy.spark.session(
        f"local[{cores}]",
        **{
            "spark.driver.memory": "2g",
            "spark.sql.streaming.noDataMicroBatches.enabled": "false",
            "spark.sql.streaming.stateStore.maintenanceInterval": "600s",
            "spark.sql.session.timeZone": "UTC",
        },
    )


def timed(run: Callable[[], None]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(events: int, streams: int, keys: int, rounds: int, skip: list[str]) -> None:
    """One number of streams: print what each side does in a second, and the ratios."""
    folder = Path(tempfile.mkdtemp(prefix="eddy-bench-"))
    names = "ABCDEFGH"[:streams]
    try:
        width = write(folder / "all", streams, events, keys)
        small = write(folder / "small", streams, events // 50, keys)
        spark = session(2)
        sides, warm = Sides(spark, folder / "all", names, width), Sides(spark, folder / "small", names, small)
        counts = {
            "join": eddy.spark.join(warm.query, warm.frames()).count(),
            "sql": by_sql(warm.frames(), small).count(),
        }
        assert len(set(counts.values())) == 1 and counts["join"], counts
        wanted = [side for side in ("join", "sql", "stream", "native", "shuffled") if side not in skip]
        for side in wanted:
            getattr(warm, side)()
        for _ in range(3):  # until the JVM has compiled what it runs
            sides.join()
        seconds: dict[str, list[float]] = {side: [] for side in wanted}
        engine: list[float] = []
        for turn in range(rounds):
            for side in wanted:
                if side != "native" or turn == 0:  # it takes long, and differs little
                    seconds[side].append(timed(getattr(sides, side)))
                    print(f"    {side} {seconds[side][-1]:.2f} s", file=sys.stderr, flush=True)
                if side == "join":
                    engine.append(sum(r.engine_seconds for r in eddy.spark.reports(sides.frame)))
        results = sum(r.results for r in eddy.spark.reports(sides.frame)) if sides.frame is not None else 0
        if "one core" not in skip:
            alone = Sides(session(1), folder / "all", names, width)
            for _ in range(3):
                alone.join()
            seconds["one core"] = [timed(alone.join) for _ in range(rounds)]
        show(events, streams, keys, results, {s: statistics.median(v) for s, v in seconds.items()}, engine)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def show(
    events: int, streams: int, keys: int, results: int, seconds: dict[str, float], engine: list[float]
) -> None:
    """The figures as lines of text."""
    print(f"{streams} streams, {events:,} events, {keys:,} keys, {results:,} results")
    for side, took in seconds.items():
        print(f"  {side:9} {took:7.2f} s {events / took:12,.0f} events/s")
    for side, ours in (("native", "stream"), ("native", "join"), ("sql", "join"), ("one core", "join")):
        if side in seconds and ours in seconds:
            ratio, goal = seconds[side] / seconds[ours], GOALS[side]
            reached = (
                ""
                if side == "native" and ours == "join"
                else f", goal {goal:g}: {'reached' if ratio >= goal else 'not reached'}"
            )
            print(f"  {ours} against {side}: {ratio:.2f} times{reached}")
    if "shuffled" in seconds and "join" in seconds and engine:
        inside = statistics.median(engine) / 2
        between = max(0.0, seconds["join"] - seconds["shuffled"] - inside)
        print(
            f"  of the join: JVM {seconds['shuffled']:.2f} s, engine {inside:.2f} s a core, between JVM and Python "
            f"{between:.2f} s, {100 * between / seconds['join']:.0f}% (goal: under 50%)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--streams", type=int, nargs="+", default=[3, 4])
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--skip", nargs="+", default=[], help="native, sql, stream, shuffled, 'one core'")
    options = parser.parse_args()
    for streams in options.streams:
        measure(options.events, streams, options.keys, options.rounds, options.skip)


if __name__ == "__main__":
    main()
