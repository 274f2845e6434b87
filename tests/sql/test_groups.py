"""Odd groups as DuckDB has them: of NULL, of nothing, filtered by what is not shown; and tables sorted and cut."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

import eddy
from tests.sql.against_duckdb import expected, found
from tests.sql.generator import SCHEMA, Generator

STATEMENTS = [
    "SELECT A.s, COUNT(*) AS n FROM A, B WHERE A.i = B.i GROUP BY A.s",
    "SELECT A.s, B.flag FROM A, B WHERE A.i = B.i GROUP BY A.s, B.flag",
    "SELECT COUNT(*) AS n FROM A, B WHERE A.i = B.i GROUP BY A.s, B.flag",
    "SELECT A.flag FROM A, B WHERE A.i = B.i GROUP BY A.flag HAVING SUM(B.j) > 1",
    "SELECT A.flag FROM A, B WHERE A.i = B.i GROUP BY A.flag HAVING SUM(B.j) IS NULL",
    "SELECT COUNT(*) AS n FROM A, B WHERE A.i = B.i AND A.i > 99",
    "SELECT SUM(A.i) AS n, COUNT(A.s) AS c FROM A, B WHERE A.i = B.i AND A.i > 99",
    "SELECT COUNT(*) AS n FROM A, B WHERE A.i = B.i AND A.i > 99 HAVING COUNT(*) > 0",
    "SELECT COUNT(*) AS n FROM A, B WHERE A.i = B.i HAVING COUNT(*) > 0",
    "SELECT MAX(A.s) AS n FROM A, B WHERE A.i = B.i HAVING MIN(B.at) IS NOT NULL AND BOOL_OR(A.flag)",
    "SELECT A.s, COUNT(*) AS n FROM A, B WHERE A.i = B.i AND A.i > 99 GROUP BY A.s",
    "SELECT A.s, COUNT(*) AS n FROM A, B WHERE A.i = B.i GROUP BY A.s HAVING NULL",
    "SELECT DISTINCT A.s FROM A, B WHERE A.i = B.i",
    "SELECT DISTINCT A.flag, B.flag FROM A, B WHERE A.i = B.i",
    "SELECT DISTINCT A.i % 2 = 0 AS even, NULLIF(B.s, 'a') AS s FROM A, B WHERE A.i = B.i",
    "SELECT DISTINCT 1 AS one FROM A, B WHERE A.i = B.i",
    "SELECT 1 AS one FROM A, B WHERE A.i = B.i GROUP BY A.s",
    "SELECT A.s IS NULL AS nothing, COUNT(A.s) AS c FROM A, B WHERE A.i = B.i GROUP BY A.s IS NULL",
    "SELECT COUNT(*) FILTER (WHERE A.flag) AS c, A.i FROM A, B WHERE A.i = B.i GROUP BY A.i HAVING c > 0",
    "SELECT VAR_SAMP(B.j) AS v, BOOL_AND(A.flag) AS f FROM A, B WHERE A.i = B.i GROUP BY B.t HAVING v >= 0",
    "SELECT A.s FROM A, B WHERE A.i = B.i GROUP BY A.s HAVING A.s IS NULL OR STDDEV(B.f) < 2",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_groups_are_those_of_duckdb(statement):
    """With rows, and with none at all."""
    for seed in (1, 2, 3):
        generator = Generator(seed)
        tables = {name: generator.table(12) for name in "AB"}
        assert found(statement, tables, seed) == expected(statement, tables), seed
    tables = dict.fromkeys("AB", pa.Table.from_pylist([], SCHEMA))
    assert found(statement, tables) == expected(statement, tables)


@pytest.mark.parametrize(
    "order",
    [
        "n DESC, s",
        "s NULLS FIRST, n",
        "s DESC NULLS FIRST",
        "s DESC",
        "total, s",
        "total DESC NULLS FIRST, s LIMIT 2",
        "2 DESC, 1 LIMIT 3 OFFSET 1",
        "COUNT(*), SUM(B.f) DESC, A.s OFFSET 2",
        "UPPER(A.s) || 'x' DESC, s, n LIMIT 0",
        "flag, n DESC, s, total",
    ],
)
def test_tables_are_sorted_and_cut_as_by_duckdb(order):
    """Row by row in the same order, NULL last unless it is said otherwise."""
    group = "GROUP BY A.s, A.flag" if "flag" in order else "GROUP BY A.s"
    shown = "A.s, COUNT(*) AS n, SUM(B.f) AS total, UPPER(A.s) || 'x' AS x"
    flag = ", A.flag" if "flag" in order else ""
    statement = f"SELECT {shown}{flag} FROM A, B WHERE A.i = B.i {group} ORDER BY {order}"
    for seed in range(5):
        generator = Generator(seed)
        tables = {name: generator.table(14) for name in "AB"}
        query = eddy.sql(statement, dict.fromkeys("AB", SCHEMA))
        again = eddy.sql(str(query), query.streams)
        assert (str(again), again.cut) == (str(query), query.cut)
        engine = eddy.Eddy(again)
        for name, table in tables.items():
            engine.push(name, table)
        with duckdb.connect() as connection:
            for name, table in tables.items():
                connection.register(name, table)
            wanted = connection.sql(statement).fetchall()
        assert [tuple(row.values()) for row in engine.table()] == wanted


def test_sorting_in_python():
    """`order_by`, `limit` and `offset` say the same; NaN is larger than every number, lists cannot be sorted by."""
    streams = {"A": eddy.Stream({"g": "string", "v": "float64"})}
    options = {"group_by": "A.g", "aggregates": {"top": "MAX(A.v)", "all": "ARRAY_AGG(A.v)"}}
    rows = {"g": ["a", "b", "c", "d"], "v": [1.0, float("nan"), None, 7.0]}
    for order, wanted in {
        "top": ["a", "d", "b", "c"],
        "top DESC": ["b", "d", "a", "c"],
        "top DESC NULLS FIRST": ["c", "b", "d", "a"],
        "MAX(A.v) NULLS FIRST": ["c", "a", "d", "b"],
    }.items():
        engine = eddy.Eddy(eddy.Query(streams, **options, order_by=[order, "A.g"]))
        engine.push("A", rows)
        assert engine.table().to_pydict()["A.g"] == wanted
        cut = eddy.Eddy(eddy.Query(streams, **options, order_by=order, limit=2, offset=1))
        assert len(cut.push("A", rows)) == 4, "the changelog is whole"
        assert cut.table().to_pydict()["A.g"] == wanted[1:3]
    for wrong, message in (
        ({"order_by": "all"}, "lists have no order"),
        ({"order_by": "A.v"}, "a table is sorted by what is selected"),
        ({"order_by": "4"}, "SELECT has 3 items"),
        ({"order_by": 4}, "order_by takes a column that is shown"),
        ({"order_by": [4]}, "order_by takes columns that are shown"),
        ({"limit": "3"}, "limit takes a number of rows"),
        ({"limit": True}, "limit takes a number of rows"),
        ({"offset": -1}, "offset takes a number of rows"),
    ):
        with pytest.raises(eddy.QueryError, match=message):
            eddy.Query(streams, **options, **wrong)
    for wrong, message in (
        ({"order_by": "A.g"}, "ORDER BY is not supported where there are no groups"),
        ({"limit": 3}, "LIMIT is not supported where there are no groups"),
        ({"offset": 3}, "OFFSET is not supported where there are no groups"),
    ):
        with pytest.raises(eddy.QueryError, match=message):
            eddy.Query(streams, **wrong)


def test_a_snapshot_keeps_the_order(tmp_path):
    """The text of the query has it."""
    streams = {"A": eddy.Stream({"g": "string"})}
    engine = eddy.Eddy(eddy.sql("SELECT g, COUNT(*) AS n FROM A GROUP BY g ORDER BY n DESC LIMIT 1", streams))
    engine.push("A", {"g": ["a", "b", "b"]})
    engine.save(tmp_path / "saved")
    assert eddy.Eddy.load(tmp_path / "saved").table().to_pydict() == {"g": ["b"], "n": [2]}
