"""From Kafka to Delta Lake: orders and payments are two topics, and what belongs together is added to a table.

With checkpoints every result is in the table exactly once, whatever happens to the process: positions in the topics,
the rows that wait and the number of the table's last commit are kept together. A run ends with what was in the topics
when it began; with `--follow` it never ends.

    python -m examples.topics topics kafka://localhost:9092
    eddy run examples/topics.sql orders=kafka://localhost:9092/orders payments=kafka://localhost:9092/payments \\
        --out delta://topics/paid --checkpoint topics/progress
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from confluent_kafka import Producer
from deltalake import DeltaTable

import eddy
from examples.comparing import by_duckdb, counted, query_of

BEGIN = np.datetime64("2026-03-01T08:00:00.000", "ms")


def write(folder: Path, broker: str, rows: int = 20_000, seed: int = 1) -> None:
    """The messages; and the same as files, for DuckDB."""
    random = np.random.default_rng(seed)
    ordered = np.sort(random.integers(0, 1000 * rows, rows))
    paid = np.flatnonzero(random.random(rows) < 0.8)
    late = ordered[paid] + random.integers(0, 1_200_000, len(paid))
    arrival = np.argsort(late, kind="stable")
    customers, cents = random.integers(0, 500, rows), random.integers(100, 20_000, rows)
    tables = {
        "orders": {
            "ts": (BEGIN + ordered).astype(str),
            "id": np.arange(rows),
            "customer": customers,
        },
        "payments": {
            "ts": (BEGIN + late[arrival]).astype(str),
            "order_id": paid[arrival],
            "cents": cents[: len(paid)],
        },
    }
    producer = Producer({"bootstrap.servers": broker.removeprefix("kafka://"), "linger.ms": 20})
    for topic, columns in tables.items():
        with open(folder / f"{topic}.jsonl", "w", encoding="utf-8") as file:
            for row in pa.table(columns).to_pylist():
                line = json.dumps(row)
                file.write(line + "\n")
                producer.produce(topic, line)
                producer.poll(0)
    producer.flush()


def run(folder: Path, broker: str) -> eddy.Outcome:
    """By Eddy."""
    sources = {topic: f"{broker}/{topic}" for topic in ("orders", "payments")}
    return eddy.run(query_of("topics"), sources, f"delta://{folder}/paid", checkpoint=folder / "progress")


def found(folder: Path) -> pa.Table:
    """What is in the table."""
    return DeltaTable(f"{folder}/paid").to_pyarrow_table()


def expected(folder: Path) -> pa.Table:
    """By DuckDB."""
    timed = "(SELECT * REPLACE (CAST(ts AS TIMESTAMP) AS ts) FROM read_json('{}/{}.jsonl'))"
    files = {topic: timed.format(folder, topic) for topic in ("orders", "payments")}
    return by_duckdb(query_of("topics"), files)


if __name__ == "__main__":
    place, address = Path(sys.argv[1]), sys.argv[2]
    place.mkdir(parents=True)
    write(place, address)
    outcome = run(place, address)
    print(outcome)
    same = counted(found(place)) == counted(expected(place))
    print("DuckDB has the same rows" if same else "DuckDB has other rows")
    raise SystemExit(0 if same else 1)
