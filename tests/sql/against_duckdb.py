"""Statements run by an engine and by DuckDB, over the same rows, compared as multisets of rows."""

from __future__ import annotations

import datetime
import decimal
import itertools
import random
import re
from collections import Counter

import duckdb
import pyarrow as pa

import eddy
from tests.sql.columns import NATURAL
from tests.sql.generator import Generator, Statement
from tests.sql.sources import natural

NOT_FINAL = "cannot be final"
REFUSED = (
    "cannot be put in one line",
    "which an outer join in parentheses gives",
    "and more than one stream on its left",
)
"""What is said of joins that are not supported."""
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


def found(
    statement: str,
    tables: dict[str, pa.Table],
    seed: int = 0,
    signed: bool = False,
    first: tuple[str, ...] = (),
    changes: bool | None = None,
) -> Counter[tuple[object, ...]]:
    """What an engine has found after rows have come in pieces, whose columns add up to what stands; ``changes``:
    whether results are taken back, else by chance."""
    pick = random.Random(seed)
    cross = " EXCEPT " not in statement or " JOIN " in statement  # a difference combines nothing
    query = eddy.sql(statement, {name: table.schema for name, table in tables.items()}, cross=cross)
    again = eddy.sql(str(query), query.streams, cross=cross)
    assert str(again) == str(query), f"{statement}\n{query}\n{again}"
    plan = None if query.core.base else pick.choice(PLANS.get(len(query.core.names), [None]))
    changes = bool(query.attachments) and pick.random() < 0.5 if changes is None else changes
    engine = eddy.Eddy(query, plan=plan, retractions=changes or (signed and not query.minus))
    total: Counter[tuple[object, ...]] = Counter()
    if query.grouped:
        total += rows_of(engine.table().to_arrow())
    results = (engine.push(name, piece) for name, piece in pieces(tables, pick, first))
    for result in itertools.chain(results, [] if query.grouped else map(eddy.Eddy.close, [engine])):
        if query.grouped:
            total = rows_of(engine.table().to_arrow())
        else:
            rows = zip(*(column.to_pylist() for column in result.to_arrow().columns), strict=True)
            for row, sign in zip(rows, result.sign.tolist(), strict=True):
                total[tuple(map(plain, row))] += sign
    assert min(total.values(), default=0) >= 0, statement
    return +total


def pieces(
    tables: dict[str, pa.Table], pick: random.Random, first: tuple[str, ...] = ()
) -> list[tuple[str, pa.Table]]:
    """The rows of all tables in parts, in any order of the tables but for those that come first."""
    if first:
        early, late = (
            {n: t for n, t in tables.items() if (n in first) == is_first} for is_first in (True, False)
        )
        return pieces(early, pick) + pieces(late, pick)
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


def made(seed: int) -> tuple[Statement, dict[str, pa.Table]]:
    """The statement of a number, and the rows that it reads."""
    generator = Generator(seed)
    if seed % 6 == 5:
        text = natural(generator.random)
        names = tuple(name for name in NATURAL if re.search(rf"\b{name}\b", text.partition(" FROM ")[2]))
        return Statement(text, text, names), {name: generator.table(9, NATURAL[name]) for name in names}
    make = [
        *(generator.statement, generator.statement, generator.grouped, generator.grouped, generator.distinct)
    ]
    statement = make[seed % 6]()
    return statement, {name: generator.table() for name in statement.fed}


def compare(seed: int) -> str:
    """One random statement; returns it. AssertionError where the two differ."""
    statement, tables = made(seed)
    wanted = expected(statement.duckdb, tables)
    if not statement.chained:
        ours = found(statement.text, tables, seed, statement.signed, statement.first)
        assert ours == wanted, statement.text
        return statement.text
    for changes in (False, True):
        text = f"{statement.text} EMIT CHANGES" if changes else statement.text
        refusal = refused(text, tables)
        if refusal is None:
            assert found(text, tables, seed, changes=False) == wanted, text
        else:
            assert any(known in refusal for known in (REFUSED if changes else (NOT_FINAL, *REFUSED))), (
                f"{text}\n{refusal}"
            )
    return statement.text


def refused(text: str, tables: dict[str, pa.Table]) -> str | None:
    """Why a statement is refused; None if it is not."""
    try:
        eddy.Eddy(eddy.sql(text, {name: table.schema for name, table in tables.items()}, cross=True))
    except eddy.EddyError as error:
        return str(error)
    return None
