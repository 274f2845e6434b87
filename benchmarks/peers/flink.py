"""Flink: SQL through the Table API on a cluster inside one JVM, as interval joins or as its MultiJoin operator."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.version import __version__

from benchmarks.peers.protocol import Clock, serve
from benchmarks.peers.spec import Spec

TYPES = {"int64": "BIGINT", "string": "STRING"}
SETTINGS = {
    "parallelism.default": "2",
    "table.exec.state.ttl": "0",
    "taskmanager.memory.process.size": "6g",
    "pipeline.object-reuse": "true",
}
MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "5000",
}


class Flink:
    """Rows are read from CSV files, since its package has no other bounded source; a check run writes such files."""

    def __init__(self, spec: Spec, settings: dict[str, Any]) -> None:
        self.spec, self.multi = spec, settings["multi"]
        self.folder = Path(tempfile.mkdtemp(prefix="peers-flink-"))
        self.environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        used = dict(SETTINGS)
        if self.multi:
            used |= {"table.optimizer.multi-join.enabled": "true"} | MINI_BATCH
        elif spec.range is None and spec.tumbling is None:
            used |= MINI_BATCH
        for key, value in used.items():
            self.environment.get_config().set(key, value)
        for name, types in spec.streams.items():
            place = self.folder / name
            place.mkdir()
            table = pq.read_table(spec.path(name), columns=list(types))
            csv.write_csv(
                table, place / "0.csv", csv.WriteOptions(include_header=False, quoting_style="needed")
            )
            columns = ", ".join(f"`{column}` {TYPES[kind]}" for column, kind in types.items())
            time = "" if self.multi else ", rt AS TO_TIMESTAMP_LTZ(ts, 3), WATERMARK FOR rt AS rt"
            self.environment.execute_sql(
                f"CREATE TABLE {name} ({columns}{time}) WITH "
                f"('connector' = 'filesystem', 'path' = 'file://{place}', 'format' = 'csv')"
            )
        kinds = [spec.streams[name][column] for name, column in spec.select]
        self.outputs = ", ".join(
            f"{out} {TYPES[kind]}" for out, kind in zip(spec.outputs(), kinds, strict=True)
        )
        self.environment.execute_sql(
            f"CREATE TABLE nowhere ({self.outputs}) WITH ('connector' = 'blackhole')"
        )
        self.sql = sql(spec, self.multi)
        self.runs = 0
        self.facts = {
            "version": __version__,
            "settings": ", ".join(f"{key} = {value}" for key, value in used.items()),
            "query": self.sql,
            "plan": self.environment.explain_sql(f"INSERT INTO nowhere {self.sql}").rpartition("==")[2][
                :2000
            ],
            "data": "CSV files in the cache of the file system, read within the clock",
            "results": "rows given to the blackhole sink; the run that is checked writes CSV files",
        }

    def run(self, check: bool) -> tuple[Clock, pa.Table | None]:
        target = "nowhere"
        place = self.folder / f"results{self.runs}"
        if check:
            self.runs += 1
            target = place.name
            self.write_into(place)
        with Clock(children=True) as clock:
            self.environment.execute_sql(f"INSERT INTO {target} {self.sql}").wait()
        if not check:
            return clock, None
        found = read(place, self.spec)
        shutil.rmtree(place, ignore_errors=True)
        return clock, found

    def write_into(self, place: Path) -> None:
        """A table whose rows become CSV files in a folder."""
        self.environment.execute_sql(
            f"CREATE TABLE {place.name} ({self.outputs}) WITH "
            f"('connector' = 'filesystem', 'path' = 'file://{place}', 'format' = 'csv')"
        )


def sql(spec: Spec, multi: bool) -> str:
    """The join in Flink's SQL. The times of two streams are compared as time attributes, so that rows can go."""
    parts, width = [], spec.range
    first = spec.names[0]
    for name in spec.names:
        source = name
        if name in spec.filters:
            source = f"(SELECT * FROM {name} WHERE {spec.filters[name]}) AS {name}"
        if name == first:
            parts.append(f"FROM {source}")
            continue
        tests = [f"{name}.{mine} = {other}.{theirs}" for mine, (other, theirs) in spec.links(name)]
        before = spec.names[: spec.names.index(name)]
        if width is not None and multi:
            tests += [f"{name}.ts BETWEEN {o}.ts - {width} AND {o}.ts + {width}" for o in before]
        elif width is not None:
            near = before[0]
            span = _interval(width)
            tests.append(f"{name}.rt BETWEEN {near}.rt - {span} AND {near}.rt + {span}")
            tests += [f"{name}.ts BETWEEN {o}.ts - {width} AND {o}.ts + {width}" for o in before[1:]]
        if spec.tumbling is not None:
            span = _interval(spec.tumbling)
            tests.append(f"{name}.rt BETWEEN {first}.rt - {span} AND {first}.rt + {span}")
            tests.append(f"{name}.ts / {spec.tumbling} = {first}.ts / {spec.tumbling}")
        parts.append(f"JOIN {source} ON {' AND '.join(tests)}")
    columns = ", ".join(f"{name}.{column}" for name, column in spec.select)
    return " ".join((f"SELECT {columns}", *parts))


def _interval(milliseconds: int) -> str:
    minutes, rest = divmod(milliseconds, 60_000)
    return f"INTERVAL '0 {minutes // 60:02}:{minutes % 60:02}:{rest / 1000:06.3f}' DAY TO SECOND(3)"


def read(place: Path, spec: Spec) -> pa.Table:
    """The rows in a folder of CSV files."""
    kinds = {"int64": pa.int64(), "string": pa.string()}
    types = {
        out: kinds[spec.streams[name][column]]
        for out, (name, column) in zip(spec.outputs(), spec.select, strict=True)
    }
    reading = csv.ReadOptions(column_names=spec.outputs())
    convert = csv.ConvertOptions(column_types=types)
    files = [path for path in sorted(place.rglob("*")) if path.is_file() and path.stat().st_size]
    tables = [csv.read_csv(path, reading, convert_options=convert) for path in files]
    return pa.concat_tables(tables) if tables else pa.schema(types.items()).empty_table()


if __name__ == "__main__":
    serve(Flink)
