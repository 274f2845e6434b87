"""Joins on Spark: `eddy.spark` against Spark's own joins, with the same rows, in one run.

    python -m benchmarks.spark [--events 1000000] [--streams 3 4] [--keys 10000 1000] [--rounds 3] [--write]

The streams share one key and have windows of time that hold as many rows as there are keys, so a row has about one
partner in each other stream. Sides take turns, and what is compared are times of one turn: the median over turns. A
side that takes many times as long comes last, after a turn that does not count, and has fewer: their median is compared
with each of ours; one core with two by the quickest of each. Every turn of every side must have the same number of
results.

- ``join``: `eddy.spark.join`. ``packed``: the same with packed=True. ``shuffled``: what the JVM does for a ``join``.
  ``sql``: Spark SQL with the windows in the conditions of the joins. ``buckets``: the same with buckets of time as a
  second key, which is what one would write by hand.
- ``stream``: `eddy.spark.stream`, ``native``: Spark's own stream-stream joins, both with availableNow. Each has what
  suits it: the first one micro-batch, the second ten, the faster of its state stores, in memory, and no empty
  micro-batches. Not with fewer than 10,000 keys: a micro-batch then has many rows of a key, Spark tries all pairs of
  them, and takes many times as long.
- ``one core``: `eddy.spark.join` under local[1]; ``buckets`` as well, to see what a second core brings to Spark itself.
  With it goes how many processors a side kept busy, by the processor time of the JVM and all Python workers: what one
  task at a time keeps busy already, a second cannot gain.

`--write` keeps the figures in `benchmarks/results_spark.json`; `python -m benchmarks.table --write` shows them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eddy.spark
from benchmarks import spark_sides
from benchmarks.goals import ENGINE, Line, keep, load
from benchmarks.peers.processes import processor_seconds
from benchmarks.ratio import table
from benchmarks.spark_sides import Sides

RESULTS = Path(__file__).with_name("results_spark.json")
FEW = 10_000
"""With fewer keys than these, Spark's stream-stream joins are not asked."""
FEW_TURNS = 3
"""Turns of a side that takes many times as long as ours."""
PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
SETTINGS = {
    "spark.driver.memory": "4g",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.stateStore.maintenanceInterval": "600s",
    "spark.sql.session.timeZone": "UTC",
}


def session(cores: int) -> Any:
    """A session with so many cores, in place of the one that there may be."""
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()
    return eddy.spark.session(f"local[{cores}]", **SETTINGS)


class Turns:
    """The sides of one feed, each timed in turn."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}
        self.processors: dict[str, list[float]] = {}
        """How many processors a turn kept busy."""
        self.results: dict[str, int] = {}
        self.engine: list[float] = []

    def take(self, sides: Sides, side: str, name: str | None = None) -> None:
        """One turn of a side."""
        name = name or side
        before, start = processor_seconds(), time.perf_counter()
        found = getattr(sides, side)()
        self.seconds.setdefault(name, []).append(time.perf_counter() - start)
        busy = (processor_seconds() - before) / self.seconds[name][-1]
        self.processors.setdefault(name, []).append(busy)
        if side != "shuffled" and self.results.setdefault(name, found) != found:
            raise AssertionError(f"{name} had {self.results[name]:,} results before, and now {found:,}")
        if name == "join":
            self.engine.append(sum(report.engine_seconds for report in eddy.spark.reports(sides.frame)))
        print(f"    {name} {self.seconds[name][-1]:.2f} s", file=sys.stderr, flush=True)

    def best(self, side: str) -> float:
        return min(self.seconds[side])

    def busy(self, side: str) -> float:
        """How many processors a side kept busy: the median over its turns."""
        return statistics.median(self.processors[side])

    def pairs(self, ours: str, other: str) -> list[tuple[float, float]]:
        """Seconds of both sides, turn by turn; of a side with fewer turns their median, beside each of ours."""
        mine, theirs = self.seconds[ours], self.seconds[other]
        if other == "one core":  # it has a session of its own, after all others
            return [(self.best(ours), self.best(other))]
        if len(theirs) != len(mine):
            return [(own, statistics.median(theirs)) for own in mine]
        return list(zip(mine, theirs, strict=True))


def measured(events: int, streams: int, keys: int, rounds: int, skip: list[str]) -> Turns:
    """All sides over one feed."""
    folder = Path(tempfile.mkdtemp(prefix="eddy-bench-"))
    names = "ABCDEFGH"[:streams]
    few = ["native", "stream"] if keys < FEW else []
    wanted = ["join", "sql", "buckets", "stream", "native", "packed", "shuffled"]
    wanted = [side for side in wanted if side not in (*skip, *few)]
    long = {"native"} if keys >= FEW else {"sql"}
    """What takes so long that a few turns have to do."""
    turns = Turns()
    try:
        width = spark_sides.write(folder / "all", streams, events, keys)
        small = spark_sides.write(folder / "small", streams, events // 20, keys)
        spark = session(2)
        sides, warm = Sides(spark, folder / "all", names, width), Sides(spark, folder / "small", names, small)
        found = {side: getattr(warm, side)() for side in wanted if side != "shuffled"}
        if len(set(found.values())) != 1:
            raise AssertionError(f"the sides have different numbers of results: {found}")
        for _ in range(4):  # until the JVM has compiled what it runs
            for side in wanted:
                if side not in long:
                    getattr(sides, side)()
        for _ in range(rounds):
            for side in wanted:
                if side not in long:
                    turns.take(sides, side)
        for side in wanted:  # last, since what they leave in the heap of the JVM slows down what comes after
            if side in long:
                getattr(sides, side)()  # or the JVM would compile while it is timed
                for _ in range(min(rounds, FEW_TURNS)):
                    turns.take(sides, side)
        if "one core" not in skip:
            alone = Sides(session(1), folder / "all", names, width)
            for _ in range(2):
                alone.join()
                alone.buckets()
            for _ in range(rounds):
                turns.take(alone, "join", "one core")
                turns.take(alone, "buckets", "buckets, one core")
        if len(set(turns.results.values())) != 1:
            raise AssertionError(f"the sides have different numbers of results: {turns.results}")
        return turns
    finally:
        shutil.rmtree(folder, ignore_errors=True)


GOALS = (
    ("native", "stream", "`stream` against Spark's stream-stream joins", 20.0),
    ("native", "join", "`join` against Spark's stream-stream joins", 20.0),
    ("sql", "join", "`join` against Spark SQL, windows in the conditions", 3.0),
    ("buckets", "join", "`join` against Spark SQL with buckets of time", 3.0),
    ("one core", "join", "`join` with two cores against one", 1.6),
    ("join", "packed", "packed `join` against `join`", None),
)
"""What is compared: the other side, ours, in words, and how many times as fast ours is to be, if that is a goal."""


def lines(turns: Turns, events: int, streams: int, keys: int) -> Iterator[Line]:
    """The figures of one feed against their goals."""
    feed = f"{streams} streams, {keys:,} keys"
    for other, ours, what, goal in GOALS:
        if other in turns.seconds and ours in turns.seconds:
            pairs = sorted(turns.pairs(ours, other), key=lambda pair: pair[1] / pair[0])
            mine, theirs = pairs[(len(pairs) - 1) // 2]  # the median, or the lower of two
            ends = [f"{b / a:.3g}" for a, b in (pairs[0], pairs[-1])] if len(pairs) > 1 else []
            spread = f"; turns {ends[0]} to {ends[1]}" if ends else ""
            note = f"{mine:.2f} s and {theirs:.2f} s for {events:,} events{spread}"
            if other == "one core" and turns.busy(other):
                one, two = turns.busy(other), turns.busy(ours)
                note += f"; processors busy: {one:.2f} with one core, {two:.2f} with two"
                note += f", so at most {PROCESSORS / one:.3g} times with all {PROCESSORS}"
            if other == "one core" and "buckets" in turns.seconds:
                own = turns.best("buckets, one core") / turns.best("buckets")
                note += f"; Spark SQL with buckets of time: {own:.3g} times"
            yield Line(f"{feed}: {what}", theirs / mine, "times", goal, at_least=True, note=note)
    if "join" in turns.seconds and "shuffled" in turns.seconds:
        whole, jvm, inside = turns.best("join"), turns.best("shuffled"), min(turns.engine) / 2
        note = f"of {whole:.2f} s: {jvm:.2f} s in the JVM alone, {inside:.2f} s in each engine"
        what = f"{feed}: of a `join`, time between JVM and Python"
        yield Line(what, 100 * max(0.0, whole - jvm - inside) / whole, "%", 50.0, note=note)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--streams", type=int, nargs="+", default=[3, 4])
    parser.add_argument("--keys", type=int, nargs="+", default=[10_000, 1_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--batches", type=int, default=10, help="micro-batches of Spark's stream-stream joins"
    )
    parser.add_argument("--skip", nargs="+", default=[], help="native, sql, buckets, stream, 'one core', ...")
    parser.add_argument("--write", action="store_true", help="keep the figures in results_spark.json")
    options = parser.parse_args()
    spark_sides.BATCHES = options.batches
    found: list[Line] = []
    for streams in options.streams:
        for keys in options.keys:
            before, begun = load(), time.perf_counter()
            turns = measured(options.events, streams, keys, options.rounds, options.skip)
            results = next(iter(turns.results.values()))
            print(f"{streams} streams, {options.events:,} events, {keys:,} keys, {results:,} results")
            for side in turns.seconds:
                rate = options.events / turns.best(side)
                print(f"  {side:9} {turns.best(side):7.2f} s {rate:12,.0f} events/s", flush=True)
            made = list(lines(turns, options.events, streams, keys))
            found += made
            if options.write:
                sizes = f"--events {options.events} --streams {streams} --keys {keys}"
                said = f"python -m benchmarks.spark {sizes} --write"
                group = f"{streams} streams, {keys:,} keys"
                measures = (*ENGINE, "eddy/spark", "eddy/partition")
                keep(RESULTS, group, made, said, before, time.perf_counter() - begun, measures)
    print(table(("what", "measured", "goal", "", "note"), [line.cells() for line in found], left=(0, 4)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
