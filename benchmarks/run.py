"""What the door costs: `eddy.run` over files beside the same rows pushed by hand.

`python -m benchmarks.run [--rounds N] [--write]` joins three streams (10,000 keys, windows of 30,000 time units, every
result read as an Arrow table) from files that it writes first, and prints events a second of processor time, so that
other work on the machine counts less: pushed by hand from batches in memory and from Parquet, and by `eddy.run` from
Parquet, CSV and JSON lines, in order and out of it; then into a file, and with checkpoints. Beside them stands what
pyarrow takes to read the same files and do nothing with them: no run can be faster; and what the sources of a run take,
with nobody behind them. All sides run in turns, with new engines, and the figure is the median of their rounds; beside
it stands the median by the clock. With ``--write`` the table, and what it must be, goes into docs/run.md.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pac
import pyarrow.json as paj
import pyarrow.parquet as pq

import eddy
from benchmarks.goals import ENGINE, Line, bars
from benchmarks.pages import put
from benchmarks.stamp import load

NAMES, KEYS, WINDOW = "ABC", 10_000, 30_000
ROWS = 400_000
"""Of each stream."""
BATCH, ROUNDS = 16_384, 5
PLAN = "(A B) C"
MEASURES = (*ENGINE, "eddy/reorder", "eddy/running", "eddy/sinks", "eddy/sources", "benchmarks/run.py")
BARS = (
    ("eddy.run, Parquet", "by hand, from Parquet", 0.7),
    ("eddy.run, Parquet, out of order", "by hand, from Parquet", 0.7),
    ("eddy.run, Parquet, lateness given", "by hand, from Parquet", 0.7),
    ("the source alone, CSV", "pyarrow reads the CSV files alone", 1.0),
    ("eddy.run, CSV", "pyarrow reads the CSV files alone", 1.0),
    ("the source alone, JSON lines", "pyarrow reads the JSON lines alone", 1.0),
    ("eddy.run, JSON lines", "pyarrow reads the JSON lines alone", 1.0),
)
"""A side, the one that it is compared with, and how much of its speed it must have."""


def query() -> eddy.Query:
    streams = dict.fromkeys(
        NAMES, eddy.Stream({"ts": "int64", "k": "int64", "v": "int64"}, window=eddy.Range(WINDOW))
    )
    return eddy.Query(streams, where=["A.k = B.k", "A.k = C.k"], select=["A.v", "B.v", "C.v", "A.k"])


def tables(spread: int) -> dict[str, pa.Table]:
    """Rows of each stream; times go back by at most ``spread``."""
    rng = np.random.default_rng(1)
    found = {}
    for number, name in enumerate(NAMES):
        ts = np.arange(ROWS) * len(NAMES) + number
        ts = ts[np.argsort(ts + rng.integers(0, spread + 1, ROWS), kind="stable")]
        found[name] = pa.table({"ts": ts, "k": rng.integers(0, KEYS, ROWS), "v": rng.integers(0, 1000, ROWS)})
    return found


def by_hand(batches: list[dict[str, Any]]) -> int:
    engine = eddy.Eddy(query(), plan=PLAN)
    return sum(engine.push_all(batch).to_arrow().num_rows for batch in batches)


def parquet_by_hand(folder: Path) -> int:
    """Rows of all files in step: it is known here that times go on alike in all of them."""
    engine, given = eddy.Eddy(query(), plan=PLAN), 0
    readers = [pq.ParquetFile(folder / f"{name}.parquet").iter_batches(BATCH) for name in NAMES]
    for batches in zip(*readers, strict=True):
        given += engine.push_all(dict(zip(NAMES, batches, strict=True))).to_arrow().num_rows
    return given


def parquet_alone(folder: Path) -> int:
    """Rows that pyarrow reads, in batches as a run has them."""
    files = (pq.ParquetFile(folder / f"{name}.parquet") for name in NAMES)
    return sum(batch.num_rows for file in files for batch in file.iter_batches(BATCH))


def csv_alone(folder: Path) -> int:
    """The same of CSV, with types that are known."""
    options = pac.ConvertOptions(column_types=dict.fromkeys(("ts", "k", "v"), pa.int64()))
    return sum(
        pac.read_csv(folder / f"{name}.csv", reading(pac), convert_options=options).num_rows for name in NAMES
    )


def json_alone(folder: Path) -> int:
    """The same of JSON lines."""
    schema = pa.schema(dict.fromkeys(("ts", "k", "v"), pa.int64()))
    options = paj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    return sum(paj.read_json(folder / f"{name}.jsonl", reading(paj), options).num_rows for name in NAMES)


def source_alone(folder: Path, ending: str) -> int:
    """Rows that the sources of a run give, with nobody behind them."""
    types = dict.fromkeys(("ts", "k", "v"), pa.int64())
    sources = (eddy.source(folder / f"{name}.{ending}", schema=pa.schema(types)) for name in NAMES)
    pieces = (piece for source in sources for piece in source.narrowed(types).read(None))
    return sum(piece.rows.num_rows for piece in pieces if piece.rows is not None)


def reading(module: Any) -> Any:
    return module.ReadOptions(use_threads=False, block_size=1 << 20)


def run(folder: Path, ending: str, **options: Any) -> int:
    sources = {name: str(folder / f"{name}.{ending}") for name in NAMES}
    return eddy.run(query(), sources, plan=PLAN, **options).results


def measured(rounds: int) -> tuple[Mapping[str, float], Mapping[str, float], int]:
    """Seconds of each side, of processor time and by the clock; and how many results there are."""
    with tempfile.TemporaryDirectory() as where:
        folders = {spread: Path(where) / str(spread) for spread in (0, 1_000)}
        for spread, folder in folders.items():
            folder.mkdir()
            for name, table in tables(spread).items():
                pq.write_table(table, folder / f"{name}.parquet")
                pac.write_csv(table, folder / f"{name}.csv")
                (folder / f"{name}.jsonl").write_bytes(lines(table))
        sides = all_sides(Path(where), *folders.values())
        others = ("out of order", "given", "alone")
        results = {side() for name, side in sides.items() if not any(other in name for other in others)}
        assert len(results) == 1, results
        used: dict[str, list[float]] = {name: [] for name in sides}
        clock: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(rounds):
            for name, side in sides.items():
                before, started = time.process_time(), time.perf_counter()
                side()
                used[name].append(time.process_time() - before)
                clock[name].append(time.perf_counter() - started)
    medians = ({name: statistics.median(rows) for name, rows in found.items()} for found in (used, clock))
    return next(medians), next(medians), results.pop()


def all_sides(where: Path, ordered: Path, other: Path) -> dict[str, Callable[[], int]]:
    """What is compared: by name, what does it."""
    memory = [
        {name: table.slice(start, BATCH) for name, table in tables(0).items()}
        for start in range(0, ROWS, BATCH)
    ]
    number, out = iter(range(1 << 30)), where / "out.parquet"
    return {
        "by hand, from memory": lambda: by_hand(memory),
        "by hand, from Parquet": lambda: parquet_by_hand(ordered),
        "eddy.run, Parquet": lambda: run(ordered, "parquet"),
        "eddy.run, Parquet, out of order": lambda: run(other, "parquet"),
        "eddy.run, Parquet, lateness given": lambda: run(other, "parquet", lateness=1_000),
        "pyarrow reads the Parquet files alone": lambda: parquet_alone(ordered),
        "eddy.run, CSV": lambda: run(ordered, "csv"),
        "eddy.run, CSV, lateness given": lambda: run(ordered, "csv", lateness=0),
        "pyarrow reads the CSV files alone": lambda: csv_alone(ordered),
        "the source alone, CSV": lambda: source_alone(ordered, "csv"),
        "eddy.run, JSON lines": lambda: run(ordered, "jsonl"),
        "eddy.run, JSON lines, lateness given": lambda: run(ordered, "jsonl", lateness=0),
        "pyarrow reads the JSON lines alone": lambda: json_alone(ordered),
        "the source alone, JSON lines": lambda: source_alone(ordered, "jsonl"),
        "eddy.run, Parquet to Parquet": lambda: run(ordered, "parquet", sink=out),
        "the same, a checkpoint each second": lambda: run(
            ordered, "parquet", sink=out, checkpoint=where / f"c{next(number)}", every="1 s"
        ),
    }


def told(used: Mapping[str, float], clock: Mapping[str, float], results: int, rounds: int) -> list[str]:
    """The table, and what it must be."""
    events, whole = len(NAMES) * ROWS, used["by hand, from Parquet"]
    made = ["| side | million events/s of processor time | of 'by hand, from Parquet' | by the clock |"]
    made.append("|---|---:|---:|---:|")
    for name, seconds in used.items():
        speeds = f"{events / seconds / 1e6:.2f} | {whole / seconds:.2f} | {events / clock[name] / 1e6:.2f}"
        made.append(f"| {name} | {speeds} |")
    goals = [
        Line(f"{side}, of '{beside}'", used[beside] / used[side], "", least, at_least=True)
        for side, beside, least in BARS
    ]
    about = f"{events:,} events, {results:,} results, {rounds} rounds; what must be is about processor time."
    return [*made, "", *bars(goals), "", about]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--write", action="store_true", help="keep the table, and write it into docs/run.md")
    given = parser.parse_args()
    before = load()
    made = told(*measured(given.rounds), given.rounds)
    print(*made, sep="\n")
    if given.write:
        put("run.md", "runs beside pushes", "run", made, MEASURES, before)


def lines(table: pa.Table) -> bytes:
    """Rows as JSON lines."""
    out = Path(tempfile.mkstemp(suffix=".jsonl")[1])
    eddy.run("SELECT ts, k, v FROM A [ROWS 1]", {"A": table}, out, lateness=1 << 40)
    try:
        return out.read_bytes()
    finally:
        out.unlink()


if __name__ == "__main__":
    main()
