"""Streaming joins on Spark: out of order, restarted, dealt out anew, killed; every result comes exactly once."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eddy
import eddy.spark
from eddy import EddyError, StateError
from eddy.spark.state import Store
from tests.sparks import ZONED, Feed, equal, ids, spark, stream  # noqa: F401

ROOT = Path(__file__).parents[2]
SCHEMA = "ts long, id long, k long, s string"
DISORDER = 9

KILLED = """
import sys
import eddy.spark
from tests.spark.test_stream import SCHEMA, feed, run, sources

base = sys.argv[1]
spark = eddy.spark.session("local[2]")
run(spark, base, feed().query, sources(spark, base, SCHEMA), partitions=2)
"""


def feed(**streams):
    """Three streams joined by a text and a number."""
    columns = {"k": "int64", "s": "string"}
    streams = {**{name: stream(("range", 20), **columns) for name in "ABC"}, **streams}
    return Feed(streams, [*equal("A.s", "B.s"), *equal("B.k", "C.k")])


def arrivals(given, seed=0, disorder=DISORDER):
    """For each stream its rows in the order in which they arrive, up to so much out of order."""
    random = np.random.default_rng(seed)
    found = {}
    for name in given.streams:
        table = given.table(name)
        times = np.array([row[0] for row in given.rows[name]])
        found[name] = table.take(
            pa.array(np.argsort(times + random.integers(0, disorder, len(times)), kind="stable"))
        )
    return found


def write(base, tables, files, first=0, last=True):
    """The rows of each stream as files that come one after the other; the last moves time on beyond all."""
    for name, table in tables.items():
        folder = Path(base) / "in" / name
        folder.mkdir(parents=True, exist_ok=True)
        parts = [
            table.slice(len(table) * i // files, len(table) * (i + 1) // files - len(table) * i // files)
            for i in range(files)
        ]
        if last:
            far = 10**6 if pa.types.is_integer(table.schema.field("ts").type) else 4 * 10**15
            end = {c: [None] for c in table.schema.names} | {"ts": [far], "id": [-1]}
            parts.append(pa.table({c: pa.array(v).cast(table.schema.field(c).type) for c, v in end.items()}))
        for i, part in enumerate(parts):
            path = folder / f"{first + i}.parquet"
            pq.write_table(part, path)
            os.utime(path, (first + i + 1, first + i + 1))


def sources(spark, base, schema):  # noqa: F811
    """A streaming DataFrame for each stream, a file at a time."""
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return {path.name: reader.parquet(str(path)) for path in sorted((Path(base) / "in").iterdir())}


def run(spark, base, query, frames, sink=None, **options):  # noqa: F811
    """Run the query over all that is there, and return its frame."""
    options = {"watermark": DISORDER, **options}
    frame = eddy.spark.stream(query, frames, f"{base}/checkpoint", **options)
    writer = frame.writeStream.option("checkpointLocation", f"{base}/checkpoint").trigger(availableNow=True)
    started = writer.foreachBatch(sink).start() if sink else writer.format("parquet").start(f"{base}/out")
    started.awaitTermination()
    return frame


def test_rows_out_of_order_and_restarts_with_other_plans_and_partitions(spark, tmp_path):  # noqa: F811
    """Three runs, each with more files, another plan, another number of partitions: together the oracle's results."""
    given = feed().fill(31, sizes=240, span=200)
    tables = arrivals(given)
    plans = ["(A B) C", "A (B C)", None]
    for turn, partitions in enumerate((4, 2, 3)):
        n = {name: len(table) for name, table in tables.items()}
        part = {
            name: table.slice(n[name] * turn // 3, n[name] * (turn + 1) // 3 - n[name] * turn // 3)
            for name, table in tables.items()
        }
        write(tmp_path, part, 2, first=10 * turn, last=turn == 2)
        frame = run(
            spark,
            tmp_path,
            given.query,
            sources(spark, tmp_path, SCHEMA),
            partitions=partitions,
            plan=plans[turn],
        )
        reports = eddy.spark.reports(frame)
        assert {report.cell for report in reports} == set(range(partitions)) and not any(
            r.late for r in reports
        )
        if plans[turn]:
            assert {report.plan for report in reports} == {plans[turn]}
    assert ids(spark.read.parquet(f"{tmp_path}/out")) == given.expected()
    assert given.expected().total() > 100
    versions = Store(f"{tmp_path}/checkpoint").versions()
    assert len(versions) <= 3, f"old states are not removed: {versions}"


def test_windows_of_rows_and_spark_s_watermarks(spark, tmp_path):  # noqa: F811
    """Delays of withWatermark, instants with a zone, a window that counts rows: one partition, and exact."""
    streams = {"A": stream(("rows", 7), ZONED, k="int64"), "B": stream(("range", 20), ZONED, k="int64")}
    given = Feed(streams, equal("A.k", "B.k")).fill(32, sizes=90)
    for name, rows in given.rows.items():  # no two rows of a stream at one time: their order would be Spark's
        given.rows[name] = [(2 * i + (name == "B"), *row[1:]) for i, row in enumerate(rows)]
    write(tmp_path, arrivals(given), 3)
    frames = {
        name: frame.withWatermark("ts", "90 minutes")
        for name, frame in sources(spark, tmp_path, "ts timestamp, id long, k long").items()
    }
    frame = run(spark, tmp_path, given.query, frames, partitions=4, watermark=None)
    assert "single" in eddy.spark.explain(frame)
    assert ids(spark.read.parquet(f"{tmp_path}/out")) == given.expected()
    assert given.expected().total() > 50


def test_late_rows_are_dropped_and_counted(spark, tmp_path):  # noqa: F811
    """Rows older than the watermark join with nothing; a sink that looks twice changes nothing."""
    given = Feed({n: stream(("range", 50), k="int64") for n in "AB"}, equal("A.k", "B.k"))
    tables = {
        "A": [(100, 0, 1), (200, 1, 1)],
        "B": [(100, 0, 1), (200, 1, 1)],
    }
    later = {"A": [(180, 2, 1), (210, 3, 1)], "B": [(205, 2, 1)]}
    tooold = {"A": [(211, 4, 1), (150, 5, 1)], "B": [(201, 3, 1), (230, 4, 1)]}
    schema = pa.schema([("ts", pa.int64()), ("id", pa.int64()), ("k", pa.int64())])
    for turn, part in enumerate((tables, later, tooold)):
        write(
            tmp_path,
            {
                n: pa.Table.from_pylist([dict(zip(schema.names, r, strict=True)) for r in rows], schema)
                for n, rows in part.items()
            },
            1,
            first=turn,
            last=turn == 2,
        )
    found = {}

    def sink(frame, batch):
        frame.count()
        found[batch] = ids(frame)

    frames = sources(spark, tmp_path, "ts long, id long, k long")
    frame = run(spark, tmp_path, given.query, frames, sink, partitions=2, watermark={"A": 25, "B": 20})
    # After the second file the watermark is 185, so 150 is late; so is nothing else.
    reports = eddy.spark.reports(frame)
    assert sum(report.late for report in reports) == 1
    given.rows = {
        name: sorted(row for part in (tables, later, tooold) for row in part[name] if row[1:] != (5, 1))
        for name in "AB"
    }
    numbers = {name: [row[1] for row in rows] for name, rows in given.rows.items()}
    expected = Counter(
        (numbers["A"][a], numbers["B"][b]) for (a, b), n in given.expected().items() for _ in range(n)
    )
    assert sum(found.values(), Counter()) == expected


def test_a_killed_driver_is_started_again(spark, tmp_path):  # noqa: F811
    """SIGKILL for driver, JVM and workers, in the middle of the run: no result is lost or repeated."""
    given = feed().fill(33, sizes=600, span=500)
    tables = arrivals(given)
    write(tmp_path, tables, 12, last=False)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, env=environment, start_new_session=True
    ) as driver:
        try:
            commits, limit = tmp_path / "checkpoint" / "commits", time.monotonic() + 400
            while not commits.is_dir() or len([p for p in commits.iterdir() if p.name.isdigit()]) < 3:
                assert driver.poll() in (None, 0) and time.monotonic() < limit, "the query does not run"
                time.sleep(0.02)
            time.sleep(0.15)  # somewhere within the next micro-batch
        finally:
            with contextlib.suppress(ProcessLookupError):  # on a busy machine it may have ended before
                os.killpg(driver.pid, signal.SIGKILL)
    done = {p.name for p in commits.iterdir() if p.name.isdigit()}
    # Something is left to do, whenever it was killed.
    write(tmp_path, {name: table.slice(0, 0) for name, table in tables.items()}, 0, first=12)
    frame = run(spark, tmp_path, given.query, sources(spark, tmp_path, SCHEMA), partitions=2)
    assert ids(spark.read.parquet(f"{tmp_path}/out")) == given.expected()
    first = min(report.batch for report in eddy.spark.reports(frame))
    assert first == max(map(int, done)) + 1


def test_folders_are_there_before_spark_needs_them(spark, tmp_path):  # noqa: F811
    """Spark writes to every folder that a new checkpoint has been given, and makes no other."""
    given = feed().fill(35, sizes=30)
    write(tmp_path, arrivals(given), 1)
    frames, place = sources(spark, tmp_path, SCHEMA), tmp_path / "checkpoint"
    eddy.spark.stream(given.query, frames, place, watermark=DISORDER, partitions=1)
    made = {path for path in place.rglob("*") if path.is_dir() and path.name != "eddy"}
    run(spark, tmp_path, given.query, frames, lambda frame, batch: None, partitions=1)
    own = place / "eddy"
    assert {p for p in place.rglob("*") if p.is_dir() and p != own and own not in p.parents} == made
    assert all(any(folder.iterdir()) for folder in made)


def test_state_is_not_mixed_up(spark, tmp_path):  # noqa: F811
    """Another checkpoint than Spark's, or one without its state, is refused, and so is what no stream can do."""
    given = feed().fill(34, sizes=30)
    write(tmp_path, arrivals(given), 1)
    frames = sources(spark, tmp_path, SCHEMA)
    frame = eddy.spark.stream(given.query, frames, f"{tmp_path}/one", watermark=5, partitions=1)
    writer = frame.writeStream.option("checkpointLocation", f"{tmp_path}/other").trigger(availableNow=True)
    with pytest.raises(Exception, match="has its checkpoint elsewhere"):
        writer.format("noop").start().awaitTermination()
    run(spark, tmp_path, given.query, frames, lambda frame, batch: None, partitions=1)
    for path in sorted((tmp_path / "checkpoint" / "eddy").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (tmp_path / "checkpoint" / "eddy").rmdir()
    with pytest.raises(StateError, match="restore its folder"):
        eddy.spark.stream(given.query, frames, f"{tmp_path}/checkpoint", watermark=5)
    with pytest.raises(EddyError, match="how long are rows of A to be waited for"):
        eddy.spark.stream(given.query, frames, f"{tmp_path}/new")
    with pytest.raises(EddyError, match="give its watermark as a number"):
        eddy.spark.stream(given.query, frames, f"{tmp_path}/new", watermark="5 minutes")
    with pytest.raises(EddyError, match="not a streaming one"):
        eddy.spark.stream(given.query, given.frames(spark), f"{tmp_path}/new", watermark=5)
    with pytest.raises(EddyError, match=r"call eddy\.spark\.stream"):
        eddy.spark.join(given.query, frames)
    with pytest.raises(EddyError, match="'min' or 'max'"):
        eddy.spark.stream(given.query, frames, f"{tmp_path}/new", watermark=5, multiple="mean")
    untimed = {n: eddy.Stream({"id": "int64", "k": "int64", "s": "string"}) for n in "ABC"}
    with pytest.raises(EddyError, match="every stream needs a time"):
        eddy.spark.stream(
            eddy.Query(untimed, ["A.k = B.k", "B.s = C.s"]), frames, f"{tmp_path}/new", watermark=5
        )
