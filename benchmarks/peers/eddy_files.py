"""`eddy.run` from CSV files into a CSV file, as the command `eddy run` does it: one thread, options as they are."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

import eddy
from benchmarks.peers.eddy import query
from benchmarks.peers.protocol import Clock, serve
from benchmarks.peers.spec import Spec


class EddyFiles:
    """The files are there before the clock starts; what is timed begins with opening them."""

    def __init__(self, spec: Spec, settings: dict[str, Any]) -> None:
        self.query = query(spec)
        self.folder = Path(tempfile.mkdtemp(prefix="peers-eddy-"))
        self.sources = {}
        for name, types in spec.streams.items():
            self.sources[name] = str(self.folder / f"{name}.csv")
            csv.write_csv(pq.read_table(spec.path(name), columns=list(types)), self.sources[name])
        self.facts = {
            "version": eddy.__version__,
            "settings": "eddy.run(query, sources, 'out.csv')",
            "data": "CSV files in the cache of the file system, read within the clock",
            "results": "a CSV file",
        }

    def run(self, check: bool) -> tuple[Clock, pa.Table | int]:
        out = self.folder / "out.csv"
        with Clock() as clock:
            outcome = eddy.run(self.query, self.sources, out)
        return clock, csv.read_csv(out) if check else outcome.results


if __name__ == "__main__":
    serve(EddyFiles)
