"""What it costs to have metrics, in processor time: of a run that nobody asks, and of one answer to Prometheus.

    python -m benchmarks.metrics [--rows 1000000] [--turns 7]

A run joins three streams. Turns of runs with metrics and without follow each other; what is printed is the median of
their ratios. An answer is made of an engine in the middle of such a run, with all its rows inside the windows.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np
import pyarrow as pa
from prometheus_client import CollectorRegistry, generate_latest

import eddy

QUERY = """
    SELECT A.id AS a, B.id AS b, C.id AS c FROM A [RANGE 2000], B [RANGE 2000], C [RANGE 2000]
    WHERE A.k = B.k AND B.k = C.k
"""
PLAN = "(A B) C"


class Nowhere(eddy.Sink):
    """Counts."""

    def open(self, schema: Any, token: Any) -> None:
        self.rows = 0

    def write(self, table: pa.Table) -> None:
        self.rows += table.num_rows


def tables(rows: int) -> dict[str, pa.Table]:
    """Three streams in order of time."""
    random = np.random.default_rng(0)
    return {
        name: pa.table({"ts": np.arange(rows), "k": random.integers(0, 2000, rows), "id": np.arange(rows)})
        for name in "ABC"
    }


def seconds_of(given: dict[str, pa.Table], metrics: str | None) -> float:
    """How much processor time a run takes."""
    start = time.process_time()
    eddy.run(QUERY, given, Nowhere(), batch=4096, metrics=metrics, plan=PLAN)
    return time.process_time() - start


def seconds_of_an_answer(given: dict[str, pa.Table]) -> float:
    """How much processor time one answer takes, everything read anew."""
    schemas = {name: eddy.Stream(table.schema) for name, table in given.items()}
    engine = eddy.Eddy(eddy.sql(QUERY.replace("2000", "200000"), schemas), PLAN)
    for start in range(0, min(200_000, given["A"].num_rows), 4096):
        engine.push_all({name: table.slice(start, 4096) for name, table in given.items()})
    registry, found = CollectorRegistry(), []
    with eddy.metrics(engine, registry) as metrics:
        for _ in range(20):
            start_time = time.process_time()
            generate_latest(registry)
            found.append(time.process_time() - start_time)
            metrics.readings.forget()
    return statistics.median(found)


def main() -> None:
    """Print it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=7)
    given = parser.parse_args()
    feed = tables(given.rows)
    seconds_of(feed, None)
    ratios, without = [], []
    for _ in range(given.turns):
        without.append(seconds_of(feed, None))
        ratios.append(seconds_of(feed, ":0") / without[-1] - 1)
    print(
        f"a run of {3 * given.rows:,} rows takes {statistics.median(without):.2f} s of processor time; with metrics "
        f"that nobody asks for {statistics.median(ratios):+.1%} ({min(ratios):+.1%} to {max(ratios):+.1%})"
    )
    answer = seconds_of_an_answer(feed)
    print(f"an answer takes {answer * 1e3:.1f} ms: asked every 15 s, that is {answer / 15:.2%} of the time")


if __name__ == "__main__":
    main()
