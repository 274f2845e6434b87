"""Queries of TPC-H, maintained while rows come, equal to DuckDB."""

from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal

import duckdb
import pytest

import eddy
from policies import HybMig, Jisc, MovingState
from tests.sql.against_duckdb import plain
from tests.sql.tpch import QUERIES, SCHEMAS, tables


def pieces(made, pick):
    """Rows of all tables in pieces of any size, table by table in turns."""
    ways = {name: table.num_rows for name, table in made.items()}
    places = dict.fromkeys(made, 0)
    while places:
        name = pick.choice(list(places))
        size = pick.choice([1, 7, 50, 200])
        yield name, made[name].slice(places[name], size)
        places[name] += size
        if places[name] >= ways[name]:
            del places[name]


def rows_of(table):
    """The rows of a table, counted: decimals and whole numbers to their last digit, floats to nine digits."""
    return Counter(
        tuple(
            Decimal(value).normalize() if isinstance(value, int | Decimal) else plain(value) for value in row
        )
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True)
    )


def expected(statement, made):
    """What DuckDB makes of it."""
    with duckdb.connect() as connection:
        for name, table in made.items():
            connection.register(name, table)
        return rows_of(connection.sql(statement).to_arrow_table())


def streams_of(query, name):
    """The streams of a query that are fed by a table: all its aliases."""
    columns = set(SCHEMAS[name])
    return [stream for stream, declared in query.streams.items() if set(declared.columns) == columns]


@pytest.mark.parametrize("number", QUERIES)
def test_equals_duckdb_while_rows_come(number):
    """After any piece the table is DuckDB's over the rows so far; plans change on the way."""
    pick, made = random.Random(number), tables(number)
    query = eddy.sql(QUERIES[number], SCHEMAS)
    techniques = [Jisc(), MovingState(), *([HybMig()] if len(query.core.names) > 1 else [])]
    technique = pick.choice(techniques)
    engine = eddy.Eddy(query, plan="stems" if number == 12 else None, migration=technique)
    used = {name: made[name].slice(0, 0) for name in made}
    compared = 0
    for step, (name, piece) in enumerate(pieces(made, pick)):
        used[name] = made[name].slice(0, used[name].num_rows + piece.num_rows)
        fed = streams_of(query, name)
        if fed:
            engine.push_all(dict.fromkeys(fed, piece))
        if step % 5 == 4 and len(query.core.names) > 2:
            engine.migrate(random_plan(query, pick))
        if step % 9 == 8:
            compared += 1
            assert rows_of(engine.table().to_arrow()) == expected(QUERIES[number], used)
    final = expected(QUERIES[number], made)
    assert rows_of(engine.table().to_arrow()) == final
    assert compared and any(value is not None for row in final for value in row), "the query finds something"


def random_plan(query, pick):
    """A left-deep plan, each of whose streams is connected with one before it."""
    left = list(query.core.names)
    pick.shuffle(left)
    order = [left.pop()]
    while left:
        order.append(next(name for name in left if query.core.connected([*order, name])))
        left.remove(order[-1])
    plan = order[0]
    for name in order[1:]:
        plan = f"({plan} {name})"
    return plan
