"""Spark Structured Streaming: its own stream-stream joins, one after the other, over files of ten stretches of time."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark

import eddy.spark
from benchmarks.peers.protocol import Clock, serve
from benchmarks.peers.spec import Spec

FILES = 10
"""Micro-batches. With fewer a probe finds more rows of its key that are out of its window; with more the cost of each
micro-batch weighs more."""
SETTINGS = {
    "spark.driver.memory": "6g",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.stateStore.maintenanceInterval": "600s",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
}
DAY = 86_400_000
TYPES = {"int64": "long", "string": "string"}


class Spark:
    """Rows are read from Parquet files; a run that is checked writes such files, others the noop sink."""

    def __init__(self, spec: Spec, settings: dict[str, Any]) -> None:
        self.spec, self.runs = spec, 0
        self.folder = Path(tempfile.mkdtemp(prefix="peers-spark-"))
        tables = {name: pq.read_table(spec.path(name)) for name in spec.names}
        end = 1 + max(int(table["ts"][-1].as_py()) for table in tables.values())
        for name, table in tables.items():
            cuts = np.searchsorted(table["ts"].to_numpy(), np.linspace(0, end, FILES + 1))
            (self.folder / name).mkdir()
            # Not from 1970 on: a row at the very beginning would be as old as the first watermark, and so late.
            times = pa.array((table["ts"].to_numpy() + DAY) * 1000, pa.timestamp("us", "UTC"))
            table = table.append_column("at", times)
            for i in range(FILES):
                path = self.folder / name / f"{i}.parquet"
                pq.write_table(table.slice(cuts[i], cuts[i + 1] - cuts[i]), path)
                os.utime(path, (i + 1, i + 1))
        self.session = eddy.spark.session("local[2]", **SETTINGS)
        self.facts = {
            "version": pyspark.__version__,
            "settings": ", ".join(f"{key} = {value}" for key, value in SETTINGS.items())
            + ", local[2], the state store in memory",
            "data": f"Parquet files in the cache of the file system, {FILES} micro-batches, read within the clock",
            "results": "rows given to the noop sink; the run that is checked writes Parquet files",
        }

    def run(self, check: bool) -> tuple[Clock, Any]:
        self.runs += 1
        place = self.folder / f"results{self.runs}"
        frame = join(self.spec, self._sources())
        writer = frame.writeStream.option("checkpointLocation", str(self.folder / f"checkpoint{self.runs}"))
        writer = writer.format("parquet").option("path", str(place)) if check else writer.format("noop")
        with Clock(children=True) as clock:
            running = writer.trigger(availableNow=True).start()
            running.awaitTermination()
        shutil.rmtree(self.folder / f"checkpoint{self.runs}", ignore_errors=True)
        if not check:
            return clock, sum(progress.sink.numOutputRows for progress in running.recentProgress)
        files = [path for path in place.glob("*.parquet") if path.stat().st_size]
        found = pa.concat_tables([pq.read_table(path) for path in files])
        return clock, found.select(self.spec.outputs())

    def _sources(self) -> dict[str, Any]:
        found = {}
        for name, types in self.spec.streams.items():
            columns = ", ".join(f"{column} {TYPES[kind]}" for column, kind in types.items())
            reader = self.session.readStream.schema(f"{columns}, at timestamp").option(
                "maxFilesPerTrigger", 1
            )
            found[name] = reader.parquet(str(self.folder / name))
        return found


def join(spec: Spec, sources: dict[str, Any]) -> Any:
    """The streams one after the other. Only one event time may go on from join to join; the others are numbers."""
    from pyspark.sql import functions as F

    joined: Any = None
    time_of = ""
    width = spec.range or spec.tumbling
    for name in spec.names:
        part = sources[name]
        if name in spec.filters:
            part = part.where(spec.filters[name])
        part = part.selectExpr(
            *(f"{column} AS {name}_{column}" for column in spec.streams[name]), f"at AS at_{name}"
        )
        if width is not None:
            part = part.withWatermark(f"at_{name}", "0 seconds")
        if joined is None:
            joined, time_of = part, f"at_{name}"
            continue
        tests = [f"{name}_{mine} = {other}_{theirs}" for mine, (other, theirs) in spec.links(name)]
        before = spec.names[: spec.names.index(name)]
        if width is not None:
            span = f"INTERVAL {1000 * width} MICROSECONDS"
            tests += [f"at_{name} >= {time_of} - {span}", f"at_{name} <= {time_of} + {span}"]
        if spec.range is not None:
            tests += [f"abs({name}_ts - {other}_ts) <= {spec.range}" for other in before]
        if spec.tumbling is not None:
            tests += [f"{name}_ts div {spec.tumbling} = {other}_ts div {spec.tumbling}" for other in before]
        joined = joined.join(part, F.expr(" AND ".join(tests))).drop(time_of)
        time_of = f"at_{name}"
    return joined.select(*spec.outputs())


if __name__ == "__main__":
    serve(Spark)
