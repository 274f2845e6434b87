"""Orders that nobody pays: a LEFT JOIN gives an alert, with NULLs, as soon as no payment can come in time any more.

An order is paid at once, in parts, too late, or never. Results are never taken back: an alert is given when a quarter
of an hour has gone by after the order, by the times of the rows.

    python -m examples.orders orders
    eddy run examples/orders.sql orders=orders/orders.jsonl payments=orders/payments.csv --out orders/checked.csv
    eddy run examples/orders.sql orders=orders/orders.jsonl payments=orders/payments.csv --speed 1000x --out -
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

import eddy
from examples.comparing import by_duckdb, query_of, show

BEGIN = np.datetime64("2026-03-01T08:00:00", "s")
MINUTE = 60


def write(folder: Path, rows: int = 20_000, seed: int = 1) -> None:
    """The files: so many orders, a second apart from each other on average."""
    random = np.random.default_rng(seed)
    ordered = np.sort(random.integers(0, rows, rows))
    cents = random.integers(0, 20_000, rows)
    with open(folder / "orders.jsonl", "w", encoding="utf-8") as file:
        for number, (ts, amount) in enumerate(zip(BEGIN + ordered, cents, strict=True)):
            file.write(json.dumps({"ts": str(ts), "id": number, "cents": int(amount)}) + "\n")
    times = random.choice([0, 1, 1, 1, 2], rows)  # so often an order is paid
    paid = np.repeat(np.arange(rows), times)
    late = ordered[paid] + random.integers(0, 20 * MINUTE, len(paid))
    order = np.argsort(late, kind="stable")
    columns = {
        "ts": (BEGIN + late)[order],
        "id": np.arange(len(paid)),
        "order_id": paid[order],
        "cents": (cents[paid] // times[paid])[order],
    }
    pa.csv.write_csv(pa.table(columns), folder / "payments.csv")


def run(folder: Path) -> eddy.Outcome:
    """By Eddy."""
    return eddy.run(
        query_of("orders"), {"orders": folder / "orders.jsonl", "payments": folder / "payments.csv"}
    )


def expected(folder: Path) -> pa.Table:
    """By DuckDB."""
    tables = {
        "orders": f"read_json('{folder}/orders.jsonl')",
        "payments": f"read_csv('{folder}/payments.csv')",
    }
    return by_duckdb(query_of("orders"), tables)


if __name__ == "__main__":
    show(write, run, expected)
