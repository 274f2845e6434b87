"""TPC-H kept up to date: `python -m benchmarks.tpch [--write] [--only words] [--quick]`.

The tables of `tpchgen-cli` (`pip install tpchgen-cli`) at scale 0.1, and the queries of TPC-H that have no nested
aggregate: 1, 3 to 10, 12, 14, 16, 19 and 21, as `tests/sql/tpch.py` has them. All rows but the last lineitems are
pushed; then each push brings 1,000 lineitems, and the engine gives the groups that have changed. Query 16 reads none:
there a push brings 1,000 rows of what suppliers sell. DuckDB computes the query anew over the tables with these rows.
Both times are the processor's, in turns, of one thread, and what they have found in the end is compared.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.goals import ENGINE
from benchmarks.report import Report, command
from eddy import Eddy, sql
from eddy.values.types import column_type
from tests.sql.tpch import QUERIES, SCHEMAS

RESULTS = Path(__file__).with_name("results_tpch.json")
DATA = Path(__file__).parents[1] / ".benchmarks" / "tpch"
BATCH, BATCHES = 1_000, 12
Rows = list[tuple[object, ...]]


def made(scale: float) -> dict[str, pa.Table]:
    """The tables at a scale, of the columns that the queries read; those that come in batches in an order by chance."""
    folder = DATA / f"scale-{scale:g}"
    if not (folder / "lineitem.parquet").exists():
        folder.mkdir(parents=True, exist_ok=True)
        program = Path(sys.executable).with_name("tpchgen-cli")
        if not program.exists():
            raise SystemExit("the data are made by tpchgen-cli: pip install tpchgen-cli")
        subprocess.run([program, "parquet", "-s", f"{scale:g}", f"--output-dir={folder}"], check=True)
    tables = {name: _table(pq.read_table(folder / f"{name}.parquet"), name) for name in SCHEMAS}
    pick = np.random.default_rng(0)
    return tables | {
        name: tables[name].take(pick.permutation(len(tables[name]))) for name in ("lineitem", "partsupp")
    }


def _table(found: pa.Table, name: str) -> pa.Table:
    """The columns that the queries read, in their types."""
    columns = {column: found[column].cast(column_type(kind).arrow) for column, kind in SCHEMAS[name].items()}
    return pa.table(columns).combine_chunks()


def streams_of(engine: Eddy, name: str) -> list[str]:
    """The streams that a table feeds: all its aliases."""
    return [
        s for s, declared in engine.query.streams.items() if list(declared.columns) == list(SCHEMAS[name])
    ]


def batched(engine: Eddy) -> str:
    """The table whose last rows come in batches."""
    return "lineitem" if streams_of(engine, "lineitem") else "partsupp"


def measure(number: int, tables: dict[str, pa.Table], batches: int) -> tuple[list[float], list[float]]:
    """Seconds of each batch: of the engine, and of DuckDB. AssertionError where they differ in the end."""
    engine = Eddy(sql(QUERIES[number], SCHEMAS))
    connection = duckdb.connect(config={"threads": 1})
    fed = batched(engine)
    last = len(tables[fed]) - batches * BATCH
    for name, table in tables.items():
        first = table.slice(0, last) if name == fed else table
        connection.register("rows", first)
        connection.execute(f"CREATE TABLE {name} AS FROM rows")
        for stream in streams_of(engine, name):
            for start in range(0, len(first), 50_000):
                engine.push(stream, first.slice(start, 50_000))
    ours, theirs = [], []
    found: pa.Table = None
    for start in range(last, len(tables[fed]), BATCH):
        batch = tables[fed].slice(start, BATCH)
        connection.register("rows", batch)
        connection.execute(f"INSERT INTO {fed} FROM rows")
        streams = streams_of(engine, fed)
        begun = time.process_time()
        engine.push_all(dict.fromkeys(streams, batch)).to_arrow(sign=True)
        ours.append(time.process_time() - begun)
        begun = time.process_time()
        found = connection.sql(QUERIES[number]).to_arrow_table()
        theirs.append(time.process_time() - begun)
    _compare(_rows(engine.table().to_arrow()), _rows(found))
    return ours, theirs


def _rows(table: pa.Table) -> Rows:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _compare(ours: Rows, theirs: Rows) -> None:
    """Texts and exact numbers are the same; floats nearly, since means of DuckDB's depend on the order of rows."""
    assert len(ours) == len(theirs) > 0, (len(ours), len(theirs))
    for row, other in zip(sorted(ours, key=_key), sorted(theirs, key=_key), strict=True):
        for x, y in zip(row, other, strict=True):
            alike = math.isclose(x, y, rel_tol=1e-9) if isinstance(x, float) else x == y
            assert alike, (row, other)


def _key(row: tuple[object, ...]) -> list[str]:
    return [str(value) for value in row if not isinstance(value, float)]


def one(number: int) -> Callable[[Report], None]:
    """What measures a query."""

    def measured(report: Report) -> None:
        report.tell(f"query {number}")
        ours, theirs = measure(number, made(0.01 if report.quick else 0.1), 3 if report.quick else BATCHES)
        ratio = float(np.median(np.array(ours[1:]) / np.array(theirs[1:])))
        note = f"{np.median(ours[1:]) * 1e3:.3g} ms; DuckDB {np.median(theirs[1:]) * 1e3:.3g} ms"
        fed = "sales" if number == 16 else "lineitems"
        what = f"query {number}: a push of {BATCH:,} {fed}, of computing it anew"
        report.reach(what, ratio, "times", 1.0, note=note)

    return measured


GROUPS = {f"query {number}": one(number) for number in QUERIES}
MEASURES = (*ENGINE, "eddy/aggregate", "eddy/query")

if __name__ == "__main__":
    sys.exit(command("benchmarks.tpch", __doc__, GROUPS, RESULTS, MEASURES))
