"""What the examples share: the same query is asked of DuckDB, over the same files, and the rows have to be the same."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import eddy

HERE = Path(__file__).parent


def query_of(name: str) -> str:
    """The text of an example's query."""
    return (HERE / f"{name}.sql").read_text(encoding="utf-8").rstrip().rstrip(";")


def by_duckdb(query: str, tables: Mapping[str, str | pa.Table]) -> pa.Table:
    """The rows of a query; the tables are Arrow's, or what DuckDB calls files: "read_csv('a.csv')"."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        # joins are done as they are written: another order may forget how little a span of time leaves
        connection.execute("SET disabled_optimizers = 'join_order'")
        for name, what in tables.items():
            if isinstance(what, str):
                connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {what}")
            else:
                connection.register(name, what)
        found: Any = connection.sql(query).to_arrow_table()
        assert isinstance(found, pa.Table)
        return found


def counted(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """How often each row is there, in whatever order; a row with the sign -1 takes one away."""
    columns = [table.column(name).to_pylist() for name in table.column_names if name != "sign"]
    signs = table.column("sign").to_pylist() if "sign" in table.column_names else [1] * table.num_rows
    found: Counter[tuple[Any, ...]] = Counter()
    for row, sign in zip(zip(*columns, strict=True), signs, strict=True):
        found[row] += sign
    return +found


def show(
    write: Callable[[Path], None], run: Callable[[Path], Any], expected: Callable[[Path], pa.Table]
) -> None:
    """Do it in the folder that the command line names: write, run, compare, tell."""
    if len(sys.argv) != 2:
        raise SystemExit("give a folder for the files")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    write(folder)
    outcome: eddy.Outcome = run(folder)
    found, wanted = counted(outcome.to_arrow()), counted(expected(folder))
    rows = ", ".join(f"{count:,} {name}" for name, count in outcome.rows.items())
    print(f"{rows}: {outcome.results:,} results in {outcome.seconds:.1f} s by {outcome.plan}")
    print(outcome.to_arrow().slice(0, 5).to_pandas().to_string(index=False))
    same = found == wanted
    print(f"DuckDB has the same {wanted.total():,} rows" if same else "DuckDB has other rows")
    raise SystemExit(0 if same else 1)
