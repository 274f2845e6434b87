"""Runs ordinary queries on the library of one revision: a process of `benchmarks.revisions`, which imports nothing of
ours but `eddy`, as it is in the folder that it is given.

It reads the name of a workload a line, runs it with a new engine, and answers with the processor time of the pushes and
the number of results.
"""

from __future__ import annotations

import json
import string
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

Batches = list[dict[str, Any]]
EVENTS = 400_000
KEYS = 10_000


def feed(np: Any, names: str, size: int, events: int = EVENTS, keys: int = KEYS) -> Batches:
    """Rows of streams that come evenly, in pushes of so many events."""
    random = np.random.default_rng(0)
    count = max(1, size // len(names))
    found = []
    for start in range(0, events, count * len(names)):
        batch = {}
        for number, name in enumerate(names):
            ts = start + np.arange(count) * len(names) + number
            batch[name] = {
                "ts": ts,
                "k": random.integers(0, keys, count),
                "v": random.integers(0, 100, count),
            }
        found.append(batch)
    return found


def join(eddy: Any, names: str, where: list[str] | None = None, live: int = KEYS, **columns: str) -> Any:
    """All streams on one key, with windows of so many rows each."""
    columns = {"ts": "int64", "k": "int64", "v": "int64", **columns}
    streams = dict.fromkeys(names, eddy.Stream(columns, window=eddy.Range(live * len(names))))
    return eddy.Query(streams, where=where or [f"{names[0]}.k = {name}.k" for name in names[1:]])


def left_deep(names: str) -> str:
    plan = names[0]
    for name in names[1:]:
        plan = f"({plan}) {name}" if len(plan) > 1 else f"{plan} {name}"
    return plan


def workloads(eddy: Any) -> dict[str, tuple[Callable[[], Any], Batches]]:
    """By name: what makes the engine, and what is pushed."""
    import numpy as np
    import pyarrow as pa

    def engine(names: str, query: Any, **options: Any) -> Callable[[], Any]:
        return lambda: eddy.Eddy(query, plan=left_deep(names), **options)

    def arrow(batches: Batches) -> Batches:
        return [{name: pa.table(columns) for name, columns in batch.items()} for batch in batches]

    def with_nulls(batches: Batches) -> Batches:
        random = np.random.default_rng(1)
        tables = arrow(batches)
        for batch in tables:
            for name, table in batch.items():
                key = pa.array(table["k"].to_numpy(), mask=random.random(len(table)) < 0.1)
                batch[name] = table.set_column(1, "k", key)
        return tables

    def strings(batches: Batches) -> Batches:
        tables = arrow(batches)
        for batch in tables:
            for name, table in batch.items():
                batch[name] = table.set_column(1, "k", table["k"].cast(pa.string()))
        return tables

    found = {}
    for streams in (3, 4, 6, 20):
        names = string.ascii_uppercase[:streams]
        found[f"{streams} streams"] = engine(names, join(eddy, names)), feed(np, names, 4_096)
    three = "ABC"
    plain = join(eddy, three)
    for size, events in ((65_536, EVENTS), (256, EVENTS // 4), (3, 9_000)):
        found[f"pushes of {size:,}"] = engine(three, plain), feed(np, three, size, events)
    usual = feed(np, three, 4_096)
    equal = ["A.k = B.k", "A.k = C.k"]
    found["Arrow tables"] = engine(three, plain), arrow(usual)
    found["NULLs"] = engine(three, plain), with_nulls(usual)
    found["string keys"] = engine(three, join(eddy, three, k="string")), strings(usual)
    found["a filter"] = engine(three, join(eddy, three, [*equal, "B.v < 50"])), usual
    two = [*equal, "A.v = B.v"]
    found["a key of two columns"] = engine(three, join(eddy, three, two)), usual
    found["an inequality on top"] = engine(three, join(eddy, three, [*equal, "B.v < C.v"])), usual
    found["withdrawals"] = engine(three, plain, retractions=True), usual
    groups = eddy.sql(
        "SELECT A.v, COUNT(*) AS n, SUM(B.v) AS s FROM A, B, C WHERE A.k = B.k AND A.k = C.k GROUP BY A.v",
        schemas=dict(plain.streams),
    )
    found["GROUP BY"] = engine(three, groups), usual
    found["2 threads"] = engine(three, plain, threads=2), usual
    return found


def answers(lines: Iterator[str]) -> None:
    import eddy

    eddy.Eddy  # noqa: B018  # the library is loaded before anything is timed
    known = workloads(eddy)
    print(json.dumps(list(known)), flush=True)
    for line in lines:
        make, batches = known[line.strip()]
        engine, results = make(), 0
        begun = time.process_time()
        for batch in batches:
            results += len(engine.push_all(batch))
        print(json.dumps([time.process_time() - begun, results]), flush=True)


if __name__ == "__main__":
    answers(iter(sys.stdin))
