"""Which advertisement led to which purchase: three files, whose rows are out of order.

Each has 200,000 rows, up to 30 seconds out of order, visitors who are not known (NULL, which joins nothing), and times
in another zone: New York, Berlin, and UTC as ISO 8601 has it. Nobody says how far rows are out of order: the files are
looked through first.

    python -m examples.ads ads
    eddy run examples/ads.sql impressions=ads/impressions.parquet clicks=ads/clicks.parquet \\
        purchases=ads/purchases.csv --out ads/attributed.parquet
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

import eddy
from examples.comparing import by_duckdb, query_of, show

BEGIN = 1_700_000_000_000_000
ZONES = {"impressions": "America/New_York", "clicks": "Europe/Berlin", "purchases": "UTC"}


def write(folder: Path, rows: int = 200_000, seed: int = 1) -> None:
    """The files, each with so many rows. As many visitors come in a second whatever the number of rows is."""
    random = np.random.default_rng(seed)
    for name, zone in ZONES.items():
        true = np.sort(random.integers(0, rows * 60_000, rows))
        arrival = np.argsort(true + random.integers(0, 30_000_000, rows), kind="stable")
        times = pa.array(BEGIN + true[arrival], pa.int64()).cast(pa.timestamp("us", "UTC"))
        columns = {
            "ts": times.cast(pa.timestamp("us", zone)),
            "id": np.arange(rows),
            "visitor": pa.array(random.integers(0, 5_000, rows), mask=random.random(rows) < 0.05),
        }
        if name == "purchases":
            columns["ts"] = pc.strftime(times, "%Y-%m-%dT%H:%M:%SZ")
            columns["cents"] = random.integers(100, 50_000, rows)
            pa.csv.write_csv(pa.table(columns), folder / f"{name}.csv")
        else:
            columns["campaign"] = random.integers(0, 20, rows)
            pq.write_table(pa.table(columns), folder / f"{name}.parquet")


def run(folder: Path) -> eddy.Outcome:
    """By Eddy."""
    sources = {name: folder / f"{name}.{'csv' if name == 'purchases' else 'parquet'}" for name in ZONES}
    return eddy.run(query_of("ads"), sources)


def expected(folder: Path) -> pa.Table:
    """By DuckDB."""
    tables = {name: f"read_parquet('{folder}/{name}.parquet')" for name in ("impressions", "clicks")}
    return by_duckdb(query_of("ads"), {**tables, "purchases": f"read_csv('{folder}/purchases.csv')"})


if __name__ == "__main__":
    show(write, run, expected)
