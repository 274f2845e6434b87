"""Flink from CSV files into CSV files: the interval joins of `flink`, every run of which writes its results."""

from __future__ import annotations

import shutil

import pyarrow as pa

from benchmarks.peers.flink import Flink, read
from benchmarks.peers.protocol import Clock, serve


class FlinkFiles(Flink):
    """The table of results is made before the clock starts."""

    def run(self, check: bool) -> tuple[Clock, pa.Table]:
        self.facts["results"] = "CSV files"
        self.runs += 1
        place = self.folder / f"results{self.runs}"
        self.write_into(place)
        with Clock(children=True) as clock:
            self.environment.execute_sql(f"INSERT INTO {place.name} {self.sql}").wait()
        found = read(place, self.spec)
        shutil.rmtree(place, ignore_errors=True)
        return clock, found


if __name__ == "__main__":
    serve(FlinkFiles)
