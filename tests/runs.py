"""Feeds in files for `eddy.run`, and what the oracle says of them."""

from __future__ import annotations

import json
import random
from collections import Counter
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from tests import naive

QUERY = """
    SELECT A.id AS a, B.id AS b, C.id AS c FROM A [RANGE 30], B [ROWS 15], C [RANGE 20]
    WHERE A.k = B.k AND B.k = C.k
"""
WINDOWS = {"A": ("range", 30), "B": ("rows", 15), "C": ("range", 20)}
COLUMNS = {"ts": pa.int64(), "k": pa.int64(), "id": pa.int64(), "note": pa.string()}


def feed(seed, rows=120, disorder=0):
    """A table for each stream, whose times go back by at most ``disorder``; some keys are NULL."""
    pick = random.Random(seed)
    tables = {}
    for name in WINDOWS:
        times = sorted(pick.randrange(rows) for _ in range(rows))
        times.sort(key=lambda ts: ts + pick.randint(0, disorder))
        columns = {
            "ts": times,
            "k": [None if pick.random() < 0.05 else pick.randrange(8) for _ in times],
            "id": list(range(rows)),
            "note": [f"{name} {i}" for i in range(rows)],
        }
        tables[name] = pa.table(columns, schema=pa.schema(COLUMNS))
    return tables


def expected(tables):
    """The results of QUERY by the oracle, counted."""
    streams = {n: SimpleNamespace(columns=("ts", "k", "id"), window=w, time="ts") for n, w in WINDOWS.items()}
    where = [("=", ("col", a, "k"), ("col", b, "k")) for a, b in ("AB", "BC")]
    events = []
    for number, (name, table) in enumerate(tables.items()):
        for arrival, row in enumerate(table.select(["ts", "k", "id"]).to_pylist()):
            events.append((row["ts"], number, arrival, name, tuple(row.values())))
    events = [(name, row) for *_, name, row in sorted(events, key=lambda event: event[:3])]
    seen = {name: [row[2] for n, row in events if n == name] for name in tables}
    found = naive.join(streams, where, events)
    return Counter(
        tuple(seen[n][i] for n, i in zip(tables, rows, strict=True)) for some in found for rows in some
    )


def counted(table):
    """Rows of a table of results, counted."""
    return Counter(zip(*(table.column(name).to_pylist() for name in "abc"), strict=True))


def write(table, path):
    """A table as a file of the format that its name says."""
    name = str(path)
    if name.endswith(".parquet"):
        pa.parquet.write_table(table, name, row_group_size=37)
    elif name.endswith(".csv"):
        pa.csv.write_csv(table, name)
    elif name.endswith(".jsonl"):
        with open(name, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in table.to_pylist())
    else:
        with pa.ipc.new_file(name, table.schema) as file:
            file.write_table(table, 29)
    return name


def read(path):
    """The results in a file, or in a folder of Parquet files."""
    name = str(path)
    if name.endswith(".csv"):
        return pa.csv.read_csv(name)
    if name.endswith(".jsonl"):
        with open(name, encoding="utf-8") as file:
            return pa.Table.from_pylist(
                [json.loads(line) for line in file], pa.schema({c: pa.int64() for c in "abc"})
            )
    if name.endswith(".arrow"):
        return pa.ipc.open_file(name).read_all()
    return pa.parquet.read_table(name)
