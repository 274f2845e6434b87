"""Sinks that must give every result once, and how what they gave is read. A new one is one more line of SINKS."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from attrs import frozen

import eddy


class Ledger(eddy.Sink):
    """A sink as a user may write one: it takes nothing between the two steps of a commit, and knows if it is misused.

    What is prepared is in a file of its own, which `commit` renames.
    """

    exact = True

    def __init__(self, folder):
        self.folder, self.rows, self.number, self.between = Path(folder), [], 0, False

    def open(self, schema, token):
        self.folder.mkdir(exist_ok=True)
        self.number = token or 0
        if token:
            self.commit(token)
        for path in self.folder.iterdir():
            if int(path.name.split(".")[0]) > self.number:
                path.unlink()

    def write(self, table):
        assert not self.between, "results were written between prepare and commit"
        self.rows += table.to_pylist()

    def prepare(self):
        self.number += 1
        with open(self.folder / f"{self.number}.new", "w", encoding="utf-8") as file:
            json.dump(self.rows, file)
            file.flush()
            os.fsync(file.fileno())
        self.rows, self.between = [], True
        return self.number

    def commit(self, token):
        assert token == self.number
        if (self.folder / f"{token}.new").exists():
            os.replace(self.folder / f"{token}.new", self.folder / f"{token}.json")
        self.between = False

    def read(self, schema):
        """All that counts."""
        rows = [row for path in self.folder.glob("*.json") for row in json.loads(path.read_text())]
        return pa.Table.from_pylist(rows, schema)

    def __str__(self):
        return str(self.folder)


@frozen
class Out:
    """Where results go: a name in a folder."""

    name: str
    sink: Callable[[str], Any] = str
    """The sink at a path."""
    read: Callable[[str, pa.Schema], pa.Table] | None = None
    """What it has."""


def _jsonl(path, schema):
    with open(path, encoding="utf-8") as file:
        return pa.Table.from_pylist([json.loads(line) for line in file], schema)


SINKS = {
    "csv": Out("out.csv", read=lambda path, _: pa.csv.read_csv(path)),
    "jsonl": Out("out.jsonl", read=_jsonl),
    "parquet": Out("out.parquet", read=lambda path, _: pa.parquet.read_table(path)),
    "arrow": Out("out.arrow", read=lambda path, _: pa.ipc.open_file(path).read_all()),
    "folder": Out("out/", read=lambda path, _: pa.parquet.read_table(path)),
    "own": Out("ledger", Ledger, lambda path, schema: Ledger(path).read(schema)),
}


def counted(table, shape):
    """The results in a table: (sign, *values)."""
    columns = [table.column(name).to_pylist() for name in shape.shown]
    signs = table.column("sign").to_pylist() if shape.signed else [1] * len(table)
    return Counter(zip(signs, *columns, strict=True))
