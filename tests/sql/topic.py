"""Files of statements with what each gives, in the manner of sqllogictest: ``python -m tests.sql.topic --write``.

    SELECT id, price FROM orders WHERE price > 100
    ----
    orders.id | orders.price
    2 | 250.0

Behind ``----`` stand the names of the columns, and the rows as SQL writes values, sorted; DuckDB must find them too.
Behind ``---- by hand`` they do as well, of what DuckDB does not speak. Behind ``---- error`` stands the whole text of
the error. ``--write`` fills in what is missing, of DuckDB where it speaks the statement; read it before you keep it.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
from attrs import frozen

import eddy
from tests.sql.against_duckdb import plain
from tests.sql.topic_rows import TABLES

HOME = Path(__file__).parent / "topics"
SCHEMAS = {name: table.schema for name, table in TABLES.items()}
KINDS = ("", "by hand", "error")


@frozen
class Entry:
    """One statement, how it is checked, and what it gives; the lines of comments before it."""

    topic: str
    statement: str
    kind: str
    gives: str
    comments: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return f"{self.topic}: {' '.join(self.statement.split())}"


def read(path: Path) -> Iterator[Entry]:
    """The entries of a file."""
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        lines = block.split("\n")
        comments = tuple(line for line in lines if line.startswith("#"))
        lines = lines[len(comments) :]
        if not lines:
            continue
        bar = next((i for i, line in enumerate(lines) if line.startswith("----")), None)
        assert bar is not None, f"{path.name}: ---- is missing in {block!r}"
        kind = lines[bar].removeprefix("----").strip()
        assert kind in KINDS, f"{path.name}: ---- {kind}"
        yield Entry(path.stem, "\n".join(lines[:bar]), kind, "\n".join(lines[bar + 1 :]), comments)


def topics() -> list[Path]:
    """All files."""
    return sorted(HOME.glob("*.txt"))


def literal(value: object) -> str:
    """A value as SQL writes it, so that 7, 7.0 and '7' differ."""
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, float):
        return repr(value + 0.0)
    return str(value) if isinstance(value, (int, datetime.datetime, datetime.timedelta)) else repr(value)


def shown(names: Iterable[str], rows: Iterable[tuple[object, ...]]) -> str:
    """A result as the files have it."""
    return "\n".join([" | ".join(names), *sorted(" | ".join(map(literal, row)) for row in rows)])


def refused(statement: str) -> str:
    """The text of the error that a statement gives."""
    try:
        eddy.sql(statement, SCHEMAS)
    except eddy.EddyError as error:
        return str(error)
    return "no error"


def run(statement: str, by_table: bool = False) -> tuple[list[str], list[tuple[object, ...]]]:
    """What an engine finds: rows come in turns, the first of every stream, then the second ones; or table by table.

    Where all streams have a time, rows come in order of time. Withdrawn rows are taken away again. An engine with outer
    or anti joins is closed at the end, which gives what has no partner.
    """
    query = eddy.sql(statement, SCHEMAS)
    engine = eddy.Eddy(query)
    pushes = (engine.push(*piece) for piece in _feed(query, by_table))
    names: list[str] = []
    total: Counter[tuple[object, ...]] = Counter()
    for result in itertools.chain(pushes, [] if query.grouped else map(eddy.Eddy.close, [engine])):
        names = names or result.to_arrow().schema.names
        for row, sign in zip(rows_of(result.to_arrow()), result.sign.tolist(), strict=True):
            total[row] += sign
    if query.grouped:
        total = Counter(rows_of(engine.table().to_arrow()))
    assert min(total.values(), default=0) >= 0
    return names, list(total.elements())


def _feed(query: eddy.Query, by_table: bool) -> Iterator[tuple[str, pa.Table]]:
    tables = {}
    for name, stream in query.streams.items():
        columns = list(stream.columns)
        tables[name] = next(table for table in TABLES.values() if table.schema.names == columns)
    if by_table and not query.followed:  # else rows come in order of time
        yield from reversed(tables.items())
        return
    rows = [
        (table["ts"][i].as_py() if timed else i, name, i)
        for name, table in tables.items()
        for timed in ["ts" in table.schema.names]
        for i in range(table.num_rows)
    ]
    order = {name: place for place, name in enumerate(tables)}
    for _, name, i in sorted(rows, key=lambda row: (row[0], order[row[1]])):
        yield name, tables[name].slice(i, 1)


def rows_of(table: pa.Table) -> list[tuple[object, ...]]:
    """The rows of a table; lists are tuples."""
    columns = [
        [tuple(value) if isinstance(value, list) else value for value in column.to_pylist()]
        for column in table.columns
    ]
    return list(zip(*columns, strict=True))


def duckdb_finds(statement: str) -> list[tuple[object, ...]]:
    """The rows that DuckDB finds."""
    with duckdb.connect() as connection:
        for name, table in TABLES.items():
            connection.register(name, table)
        return rows_of(connection.sql(statement).to_arrow_table())


def alike(rows: Iterable[tuple[object, ...]]) -> Counter[tuple[object, ...]]:
    """Rows of either, for a comparison: of numbers their values count alone."""
    return Counter(tuple(map(plain, row)) for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", required=True)
    parser.add_argument("--anew", action="store_true", help="also what is there")
    options = parser.parse_args()
    for path in topics():
        blocks = []
        for entry in read(path):
            gives = entry.gives
            if not gives or options.anew:
                gives = _gives(entry)
            bar = f"---- {entry.kind}".strip()
            blocks.append("\n".join([*entry.comments, entry.statement, bar, gives]))
        path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    return 0


def _gives(entry: Entry) -> str:
    if entry.kind == "error":
        return refused(entry.statement)
    try:
        names, rows = run(entry.statement)
        if not entry.kind and alike(rows) != alike(duckdb_finds(entry.statement)):
            print(f"{entry.id}\n  DuckDB: {duckdb_finds(entry.statement)}\n  Eddy:   {rows}")
            return ""
        return shown(names, rows)
    except Exception as error:
        print(f"{entry.id}\n  {type(error).__name__}: {error}")
        return ""


if __name__ == "__main__":
    sys.exit(main())
