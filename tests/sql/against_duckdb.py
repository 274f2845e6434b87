"""Statements run by an engine and by DuckDB, over the same rows, compared as multisets of rows."""

from __future__ import annotations

import datetime
import decimal
import random
from collections import Counter

import duckdb
import pyarrow as pa

import eddy
from tests.sql.generator import SCHEMA, Generator

PLANS = {2: [None, "stems"], 3: [None, "stems"]}


def plain(value: object) -> object:
    """A value as both give it: floats to nine digits."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float, decimal.Decimal)):
        return f"{float(value) + 0.0:.9g}".replace("-0", "0") if value == 0 else f"{float(value):.9g}"
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time())
    if isinstance(value, pa.MonthDayNano):
        return datetime.timedelta(days=value.days, microseconds=value.nanoseconds // 1000)
    return value


def rows_of(table: pa.Table) -> Counter[tuple[object, ...]]:
    """The rows of a table, counted."""
    return Counter(
        tuple(map(plain, row)) for row in zip(*(c.to_pylist() for c in table.columns), strict=True)
    )


def expected(statement: str, tables: dict[str, pa.Table]) -> Counter[tuple[object, ...]]:
    """What DuckDB makes of it."""
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        return rows_of(connection.sql(statement).to_arrow_table())


def found(statement: str, tables: dict[str, pa.Table], seed: int = 0) -> Counter[tuple[object, ...]]:
    """What an engine has found after rows have come in pieces, whose columns add up to what stands."""
    pick = random.Random(seed)
    query = eddy.sql(statement, dict.fromkeys(tables, SCHEMA), cross=True)
    again = eddy.sql(str(query), query.streams, cross=True)
    assert str(again) == str(query), f"{statement}\n{query}\n{again}"
    engine = eddy.Eddy(query, plan=pick.choice(PLANS.get(len(query.names), [None])))
    total: Counter[tuple[object, ...]] = Counter()
    if query.grouped:
        total += rows_of(engine.table().to_arrow())
    for name, piece in pieces(tables, pick):
        result = engine.push(name, piece)
        if query.grouped:
            total = rows_of(engine.table().to_arrow())
        else:
            total += rows_of(result.to_arrow())
    return total


def pieces(tables: dict[str, pa.Table], pick: random.Random) -> list[tuple[str, pa.Table]]:
    """The rows of all tables in parts, in any order of the tables."""
    left = {name: 0 for name, table in tables.items() if len(table)}
    parts = []
    while left:
        name = pick.choice(sorted(left))
        size = pick.randrange(1, 5)
        parts.append((name, tables[name].slice(left[name], size)))
        left[name] += size
        if left[name] >= len(tables[name]):
            del left[name]
    return parts


def compare(seed: int) -> str:
    """One random statement; returns it. AssertionError where the two differ."""
    generator = Generator(seed)
    tables = {name: generator.table() for name in generator.names}
    statement = [generator.statement, generator.statement, generator.grouped, generator.distinct][seed % 4]()
    assert found(statement, tables, seed) == expected(statement, tables), statement
    return statement
