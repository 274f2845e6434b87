"""An aircraft's own messages: where it was, how fast over ground, and how fast through the air.

These are real messages of Mode S and ADS-B, of one flight from Paris on 6 July 2024: positions (17,05 of ADS-B),
velocities (17,09) and airspeeds (register 6,0) come at times of their own and share the aircraft's address. What was
sent within a quarter of a second belongs together. The data are an extract of the package traffic, under the MIT
licence: examples/aircraft/README.md.

    python -m examples.aircraft aircraft
    eddy run examples/aircraft.sql positions=examples/aircraft/positions.jsonl.gz \\
        velocities=examples/aircraft/velocities.jsonl.gz airspeeds=examples/aircraft/airspeeds.jsonl.gz \\
        --out aircraft/track.parquet
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import eddy
from examples.comparing import HERE, by_duckdb, query_of, show

KINDS = ("positions", "velocities", "airspeeds")


def write(folder: Path) -> None:
    """The files are there already."""


def run(folder: Path) -> eddy.Outcome:
    """By Eddy."""
    return eddy.run(query_of("aircraft"), {kind: HERE / "aircraft" / f"{kind}.jsonl.gz" for kind in KINDS})


def expected(folder: Path) -> pa.Table:
    """By DuckDB."""
    files = {kind: f"read_json('{HERE}/aircraft/{kind}.jsonl.gz')" for kind in KINDS}
    return by_duckdb(query_of("aircraft"), files)


if __name__ == "__main__":
    show(write, run, expected)
