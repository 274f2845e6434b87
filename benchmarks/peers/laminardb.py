"""LaminarDB: one continuous SQL query, batches of Arrow tables pushed in, results drawn from its subscription.

Its version 0.17 joins only rows with each other that it takes up in one cycle, of some 100 ms, however the join is
written: with `BETWEEN` to one side or to both, TIMESTAMP or BIGINT, with or without watermarks and EMIT CHANGES. So its
results are right where one cycle happens to take all rows, and lack the pairs across cycles if there are pauses: both
are contenders, with one part and with several.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import time
from typing import Any

import laminardb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.peers.protocol import Clock, serve
from benchmarks.peers.spec import Spec

BATCH = 4096
TYPES = {"int64": "BIGINT", "string": "VARCHAR"}
PAUSE = 1.0
"""Seconds between two parts, which do not count."""
LATE = 60
"""Seconds that a watermark stays behind. Without a delay what comes in the same cycle as a later row is dropped."""
IDLE = 2.0
"""A run has ended when all rows were taken up and no result has come for so many seconds, which do not count."""


class LaminarDB:
    """Batches are Arrow tables in memory. Names are in small letters, as it reads them so."""

    def __init__(self, spec: Spec, settings: dict[str, Any]) -> None:
        self.spec, self.parts = spec, settings["parts"]
        tables = {}
        for name in spec.names:
            table = pq.read_table(spec.path(name))
            at = table["ts"].cast(pa.timestamp("ms"))
            tables[name] = table.append_column("at", at)
        times = np.sort(np.concatenate([table["ts"].to_numpy() for table in tables.values()]))
        cuts = [*times[::BATCH].tolist(), int(times[-1]) + 1]
        self.batches = []
        for low, high in itertools.pairwise(cuts):
            for name, table in tables.items():
                start, end = np.searchsorted(table["ts"].to_numpy(), [low, high])
                self.batches.append((name.lower(), table.slice(start, end - start)))
        self.sql = sql(spec)
        self.facts = {
            "version": importlib.metadata.version("laminardb"),
            "settings": f"LaminarConfig(buffer_size=65536), batches of {BATCH} events, "
            f"watermarks {LATE} s behind, {self.parts} part(s) with pauses of {PAUSE:g} s",
            "query": self.sql,
            "data": "Arrow tables in memory",
            "results": "Arrow tables from a subscription",
        }

    def run(self, check: bool) -> tuple[Clock, pa.Table]:
        spec = self.spec
        connection = laminardb.open(":memory:", config=laminardb.LaminarConfig(buffer_size=65536))
        for name, types in spec.streams.items():
            columns = ", ".join(f"{column} {TYPES[kind]}" for column, kind in types.items())
            connection.execute(
                f"CREATE SOURCE {name.lower()} ({columns}, at TIMESTAMP, "
                f"WATERMARK FOR at AS at - INTERVAL '{LATE}' SECOND)"
            )
        connection.execute(f"CREATE STREAM joined AS {self.sql}")
        connection.start()
        results: list[pa.Table] = []
        subscription = connection.subscribe_stream("joined")
        with Clock() as clock:
            each = -(-len(self.batches) // self.parts)
            for i, (name, batch) in enumerate(self.batches):
                if i and i % each == 0:
                    time.sleep(PAUSE)
                connection.insert(name, batch)
                while (found := subscription.try_next()) is not None:
                    results.append(found.arrow())
            last = time.perf_counter()
            while time.perf_counter() - last < IDLE:
                try:
                    found = subscription.next_timeout(100)
                except laminardb.SubscriptionError:  # nothing in that time
                    continue
                finally:
                    if any(source.pending for source in connection.all_source_metrics()):
                        last = time.perf_counter()
                if found is not None:
                    results.append(found.arrow())
                    last = time.perf_counter()
        clock.seconds -= IDLE + (self.parts - 1) * PAUSE
        connection.close()
        if not results:
            empty = {out: pa.array([], pa.int64()) for out in spec.outputs()}
            return clock, pa.table(empty)
        return clock, pa.concat_tables(results)


def sql(spec: Spec) -> str:
    """The join, its windows as bounds on times."""
    parts, width = [], spec.range or spec.tumbling
    for name in spec.names:
        source = f"{name.lower()} AS t_{name.lower()}"
        if name == spec.names[0]:
            parts.append(f"FROM {source}")
            continue
        own = f"t_{name.lower()}"
        tests = [f"{own}.{mine} = t_{other.lower()}.{theirs}" for mine, (other, theirs) in spec.links(name)]
        if width is not None:
            span = f"INTERVAL '{width / 1000:g}' SECOND"
            for other in spec.names[: spec.names.index(name)]:
                near = f"t_{other.lower()}.at"
                tests.append(f"{own}.at BETWEEN {near} - {span} AND {near} + {span}")
        parts.append(f"JOIN {source} ON {' AND '.join(tests)}")
    first = f"t_{spec.names[0].lower()}"
    panes = spec.names[1:] if spec.tumbling is not None else []
    filters = [f"t_{n.lower()}.ts / {spec.tumbling} = {first}.ts / {spec.tumbling}" for n in panes]
    filters += [f"t_{name.lower()}.{condition}" for name, condition in spec.filters.items()]
    if filters:
        parts.append(f"WHERE {' AND '.join(filters)}")
    outputs = zip(spec.select, spec.outputs(), strict=True)
    columns = ", ".join(f"t_{name.lower()}.{column} AS {out.lower()}" for (name, column), out in outputs)
    return " ".join((f"SELECT {columns}", *parts))


if __name__ == "__main__":
    serve(LaminarDB)
