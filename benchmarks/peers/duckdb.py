"""DuckDB: one SQL query over the bounded data, windows in its conditions, with or without buckets of time."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.peers.protocol import Clock, serve
from benchmarks.peers.spec import Spec


class DuckDB:
    """The data are in tables of an in-memory database; results come as an Arrow table."""

    def __init__(self, spec: Spec, settings: dict[str, Any]) -> None:
        self.connection = duckdb.connect()
        used = {"threads": settings["threads"], "preserve_insertion_order": "false"}
        if spec.range is not None:
            # Else it may join two streams by their times alone, before it has a key for them: a product of both.
            used["disabled_optimizers"] = "'join_order'"
        for setting, value in used.items():
            self.connection.execute(f"SET {setting} = {value}")
        for name in spec.names:
            self.connection.execute(f"CREATE TABLE {name} AS FROM read_parquet('{spec.path(name)}')")
        self.sql = sql(spec, settings["buckets"])
        self.facts = {
            "version": duckdb.__version__,
            "settings": ", ".join(f"{setting} = {value}" for setting, value in used.items()),
            "query": self.sql,
            "data": "tables of an in-memory database",
            "results": "an Arrow table",
        }

    def run(self, check: bool) -> tuple[Clock, pa.Table]:
        with Clock() as clock:
            found = self.connection.sql(self.sql).to_arrow_table()
        return clock, found


def sql(spec: Spec, buckets: bool) -> str:
    """The join over all data: rows of a result are no further apart than the window."""
    parts, width = [], spec.range
    first = spec.names[0]
    for name in spec.names:
        source = name
        if width is not None and buckets:
            bucket = f"ts // {width}"
            near = bucket if name == first else f"unnest([{bucket} - 1, {bucket}, {bucket} + 1])"
            source = f"(SELECT *, {near} AS bucket FROM {name}) AS {name}"
        if name == first:
            parts.append(f"FROM {source}")
            continue
        tests = [f"{name}.{mine} = {other}.{theirs}" for mine, (other, theirs) in spec.links(name)]
        if width is not None:
            tests += [f"{first}.bucket = {name}.bucket"] if buckets else []
            before = spec.names[: spec.names.index(name)]
            tests += [f"{name}.ts BETWEEN {o}.ts - {width} AND {o}.ts + {width}" for o in before]
        if spec.tumbling is not None:
            tests.append(f"{first}.ts // {spec.tumbling} = {name}.ts // {spec.tumbling}")
        parts.append(f"JOIN {source} ON {' AND '.join(tests)}")
    filters = [f"{name}.{condition}" for name, condition in spec.filters.items()]
    if filters:
        parts.append(f"WHERE {' AND '.join(filters)}")
    outputs = zip(spec.select, spec.outputs(), strict=True)
    columns = ", ".join(f"{name}.{column} AS {out}" for (name, column), out in outputs)
    return " ".join((f"SELECT {columns}", *parts))


if __name__ == "__main__":
    serve(DuckDB)
