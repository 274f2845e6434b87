"""Sensor fusion by bands: what three sensors see belongs together if it is near in time and place. No column is equal.

Objects move over a plain; radar, lidar and camera see each of them now and then, with errors of their own, and the
lidar sometimes sees what is not there. Rows find each other in sorted indexes by the bands of the predicates.

    python -m examples.sensors sensors
    eddy run examples/sensors.sql radar=sensors/radar.arrow lidar=sensors/lidar.arrow camera=sensors/camera.arrow \\
        --out sensors/seen.parquet
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

import eddy
from examples.comparing import by_duckdb, query_of, show

ERRORS = {"radar": 0.8, "lidar": 0.1, "camera": 0.5}
"""Of what a sensor measures, in metres."""
OBJECTS = 60


def write(folder: Path, rows: int = 30_000, seed: int = 1) -> None:
    """The files: so many sightings by each sensor, a hundred in a second."""
    random = np.random.default_rng(seed)
    start, speed = random.uniform(0, 300, (2, OBJECTS)), random.uniform(-5, 5, (2, OBJECTS))
    for name, error in ERRORS.items():
        times = np.sort(random.integers(0, rows * 10_000, rows))
        seen = random.integers(0, OBJECTS, rows)
        places = (start[:, seen] + speed[:, seen] * times / 1e6) % 300 + random.normal(0, error, (2, rows))
        if name == "lidar":
            places[:, random.random(rows) < 0.1] = 1_000
        table = pa.table(
            {"ts": times.astype("datetime64[us]"), "id": np.arange(rows), "x": places[0], "y": places[1]}
        )
        with pa.ipc.new_file(str(folder / f"{name}.arrow"), table.schema) as file:
            file.write_table(table, 1000)


def run(folder: Path) -> eddy.Outcome:
    """By Eddy."""
    return eddy.run(query_of("sensors"), {name: folder / f"{name}.arrow" for name in ERRORS})


def expected(folder: Path) -> pa.Table:
    """By DuckDB."""
    files = {name: pa.ipc.open_file(str(folder / f"{name}.arrow")) for name in ERRORS}
    return by_duckdb(query_of("sensors"), {name: file.read_all() for name, file in files.items()})


if __name__ == "__main__":
    show(write, run, expected)
