"""Subqueries and joins in parentheses beside outer, semi and anti joins: the rows that DuckDB finds, or a refusal."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import eddy
from tests.sql.against_duckdb import expected, pieces, plain
from tests.sql.test_from import SCHEMAS, tables

STATEMENTS = [
    # what a subquery on the side of NULL rules out is no partner; nobody on the other side goes for it
    "SELECT A.x, q.z FROM A LEFT JOIN (SELECT x, z FROM B WHERE z > 1) AS q ON A.x = q.x",
    "SELECT A.x, q.z FROM A LEFT JOIN (SELECT x AS k, z FROM B WHERE x > 0 AND z > 1) AS q ON A.x = q.k AND A.y > 0",
    "SELECT A.x, q.z + 1 AS m FROM A LEFT JOIN (SELECT x, z * 2 AS z FROM B) AS q ON A.x = q.x WHERE A.y > 0",
    "SELECT A.x, q.z FROM A RIGHT JOIN (SELECT x, z FROM B WHERE z > 1) AS q ON A.x = q.x",
    "SELECT A.x FROM A SEMI JOIN (SELECT x FROM B WHERE z > 1) AS q ON A.x = q.x",
    "SELECT A.x FROM A ANTI JOIN (SELECT x FROM B WHERE z > 1) AS q ON A.x = q.x",
    "WITH q AS (SELECT x, z FROM B WHERE z > 1) SELECT A.x, q.z FROM A LEFT JOIN q ON A.x = q.x",
    # a bare column of EXISTS or IN within a subquery is one of the stream that it asks about
    "SELECT A.x, q.z FROM A JOIN (SELECT x, z FROM B WHERE x NOT IN (SELECT x FROM C)) AS q ON A.x = q.x",
    "SELECT A.x, q.z FROM A JOIN (SELECT x, z FROM B WHERE EXISTS (SELECT 1 FROM C WHERE z = B.z)) AS q ON A.x = q.x",
    "WITH q AS (SELECT x, z FROM B) SELECT q.x FROM q WHERE x IN (SELECT x FROM A WHERE y > 1)",
    # a comma within a subquery binds what it has, whatever joins stand around it
    "SELECT z.ax, z.cz FROM (SELECT s.ax, C.z AS cz FROM (SELECT A.x AS ax, B.z AS bz FROM A, B) AS s "
    "RIGHT JOIN C ON s.bz = C.z) AS z",
    "SELECT z.ax, z.bz, z.cz FROM (SELECT s.ax, s.bz, C.z AS cz FROM (SELECT A.x AS ax, B.z AS bz FROM A, B) AS s "
    "FULL JOIN C ON s.bz = C.z) AS z",
    "WITH s AS (SELECT A.x AS ax, B.z AS bz FROM A, B), t AS (SELECT s.ax, C.z AS cz FROM s RIGHT JOIN C "
    "ON s.bz = C.z) SELECT t.ax, t.cz FROM t",
    # the first item
    "SELECT q.x, B.z FROM (SELECT x, y FROM A WHERE y > 1) AS q LEFT JOIN B ON q.x = B.x",
    "SELECT q.x, B.z FROM (SELECT x, y FROM A WHERE y > 1) AS q RIGHT JOIN B ON q.x = B.x",
    "SELECT q.n, B.z FROM (SELECT x, COALESCE(y, 0) AS n FROM A) AS q LEFT JOIN B ON q.x = B.x",
    "SELECT q.x, q.z, C.z AS w FROM (SELECT A.x, B.z FROM A LEFT JOIN B ON A.x = B.x) AS q LEFT JOIN C ON q.x = C.x",
    # a filter in front of a join that keeps the other side
    "SELECT A.x, q.z, C.x AS w FROM A JOIN (SELECT x, z FROM B WHERE z > 1) AS q ON A.x = q.x "
    "RIGHT JOIN C ON A.x = C.x",
    # a filter beside a join that keeps both sides, and one that reads two streams
    "SELECT A.x, q.z FROM A FULL JOIN (SELECT x, z FROM B WHERE z > 1 AND x IS NOT NULL) AS q ON A.x = q.x",
    "SELECT q.x, B.z FROM (SELECT x FROM A WHERE y > 1) AS q FULL JOIN B ON q.x = B.x",
    "SELECT q.x, B.z FROM (SELECT x FROM A WHERE y > 1) AS q FULL JOIN "
    "(SELECT x, z FROM B WHERE z < 3) AS B ON q.x = B.x WHERE B.z > 0 OR B.z IS NULL",
    "SELECT q.x, q.z, C.z AS w FROM (SELECT A.x, B.z FROM A JOIN B ON A.x = B.x WHERE A.y < B.z AND A.y > 0) AS q "
    "FULL JOIN C ON q.z = C.z",
    "SELECT A.x, q.z, C.x AS w FROM A JOIN (SELECT x, z FROM B WHERE 1 = 2) AS q ON A.x = q.x FULL JOIN C ON A.x = C.x",
    # what the texts of refusals tell to write instead of NOT EXISTS over a join
    "SELECT A.x FROM B JOIN C ON B.z = C.z RIGHT JOIN A ON B.x = A.x WHERE B.x IS NULL",
    # what ON reads is not NULL yet
    "SELECT A.x, q.z FROM A LEFT JOIN (SELECT COALESCE(x, 0) AS k, z FROM B) AS q ON A.x < q.k",
    # joins in parentheses
    "SELECT A.x, B.z, C.z AS w FROM A LEFT JOIN (B JOIN C ON B.z = C.z) ON A.x = B.x",
    "SELECT A.x, B.z, C.z AS w FROM A RIGHT JOIN (B JOIN C ON B.z = C.z) ON A.x = B.x",
    "SELECT A.x, B.z, C.z AS w FROM A FULL JOIN (B JOIN C ON B.z = C.z) ON A.x = B.x",
    "SELECT A.x, q.z, q.w FROM A LEFT JOIN (SELECT B.x, B.z, C.z AS w FROM B JOIN C ON B.z = C.z) AS q ON A.x = q.x",
    "SELECT A.x, B.z, C.z AS w FROM A JOIN (B LEFT JOIN C ON B.z = C.z) ON A.x = B.x",
    "SELECT A.x, B.z, C.z AS w FROM (A LEFT JOIN B ON A.x = B.x) JOIN C ON A.x = C.x",
    "SELECT A.x FROM A JOIN (B RIGHT JOIN C ON B.z = C.z) ON A.x = B.x",
    "SELECT A.x, C.z FROM A JOIN (B RIGHT JOIN C ON B.z = C.z) ON A.x < C.x",
    "SELECT A.x FROM A JOIN (B LEFT JOIN C ON B.z = C.z) ON A.x = C.x",
    "SELECT A.x, B.z, C.z AS w FROM A JOIN (B LEFT JOIN C ON B.z = C.z) ON C.x IS NULL AND A.x > B.x",
    "SELECT A.x, B.z, C.z AS w FROM A JOIN B ON A.x = B.x LEFT JOIN (B AS D JOIN C ON D.z = C.z) ON A.x = D.x",
    "SELECT A.x, B.z, C.z AS w FROM (A CROSS JOIN B) LEFT JOIN C ON B.z = C.z WHERE C.x > B.x OR C.x IS NULL",
    "SELECT A.x, B.z, C.z AS w FROM A LEFT JOIN (B LEFT JOIN C ON B.z = C.z) ON A.x = B.x",
    "SELECT A.x, B.z, C.z AS w FROM A FULL JOIN (B LEFT JOIN C ON B.z = C.z) ON A.x = B.x",
    "SELECT A.x, B.z, C.z AS w FROM A LEFT JOIN B ON A.x = B.x FULL JOIN C ON C.x = A.x",
    "SELECT A.x, B.z, C.z AS w FROM A RIGHT JOIN B ON A.x = B.x RIGHT JOIN C ON C.z = B.z",
    "SELECT A.x, B.z, C.z AS w FROM A FULL JOIN B ON A.x = B.x RIGHT JOIN C ON C.x = A.x",
    # a comma binds less tightly than JOIN
    "SELECT A.x, B.z, C.z AS w FROM A, B RIGHT JOIN C ON B.z = C.z",
    "SELECT A.x, B.z, C.z AS w FROM A, B FULL JOIN C ON B.z = C.z WHERE A.x IS NOT DISTINCT FROM B.x",
    # a subquery in front of a join in parentheses: the join was lost
    "SELECT A.x FROM ((SELECT * FROM A) AS A JOIN C ON A.x = C.x)",
    "SELECT A.x, q.z FROM A LEFT JOIN ((SELECT x, z FROM B WHERE z > 1) AS q JOIN C ON q.z = C.z) ON A.x = q.x",
    # EXISTS beside what a subquery says
    "SELECT q.x FROM (SELECT x, y FROM A WHERE y > 0) AS q WHERE q.x > 0 AND EXISTS (SELECT 1 FROM C WHERE C.x = q.x)",
    "SELECT A.x, B.z FROM A LEFT JOIN (B) ON A.x = B.x",
    "SELECT A.x, B.z FROM A JOIN (B ANTI JOIN C ON B.z = C.z) ON A.x = B.x",
]

CHANGES = [
    "SELECT A.x, B.z, C.z AS w FROM A LEFT JOIN (B LEFT JOIN C ON B.z IS NOT DISTINCT FROM C.z) ON A.x = B.x",
    "SELECT A.x, B.z, C.z AS w FROM A FULL JOIN (B LEFT JOIN C ON C.z > 1) ON A.x = B.x AND C.z IS NULL",
    "SELECT A.x, B.z, C.z AS w FROM A LEFT JOIN B ON A.x = B.x FULL JOIN C ON C.x = B.x",
    "SELECT A.x, B.z, C.z AS w FROM A FULL JOIN B ON A.x = B.x FULL JOIN C ON C.x = A.x",
]
"""RIGHT and FULL JOIN behind an outer join: never final."""

REFUSED = {
    "SELECT A.x, q.one FROM A LEFT JOIN (SELECT x, 1 AS one FROM B) AS q ON A.x = q.x": "q.one",
    "SELECT A.x FROM A LEFT JOIN (SELECT x, COALESCE(z, 0) AS z FROM B) AS q ON A.x = q.x WHERE q.z = 0": "q.z",
    "SELECT q.n FROM (SELECT x, 1 AS n FROM A) AS q RIGHT JOIN B ON q.x = B.x": "q.n",
    "SELECT A.x FROM A FULL JOIN (SELECT x FROM B WHERE x IN (SELECT x FROM C)) AS q ON A.x = q.x": "q has WHERE",
    "SELECT A.x FROM A FULL JOIN D ON A.x = D.x JOIN (B FULL JOIN C ON B.z = C.z) ON A.x <> 2 OR B.x = 1": "one line",
    "SELECT A.x FROM A JOIN B ON A.x = B.x LEFT JOIN (D JOIN C ON D.z = C.z) ON A.x = D.x AND B.z = C.z": "one line",
    "SELECT A.x FROM A SEMI JOIN (B JOIN C ON B.z = C.z) ON A.x = B.x": "one stream",
}


@pytest.mark.parametrize(
    ("statement", "changes"),
    [*((text, False) for text in STATEMENTS), *((text, True) for text in (*STATEMENTS, *CHANGES))],
)
def test_the_rows_that_duckdb_finds(statement, changes):
    """Over rows that come in any order; a filter within a LEFT JOIN took rows of the left side away."""
    text = f"{statement} EMIT CHANGES" if changes else statement
    query = eddy.sql(text, SCHEMAS, cross=True)
    assert str(eddy.sql(str(query), query.streams, cross=True)) == str(query)
    for seed in range(2):
        rows = tables(seed)
        rows["D"] = rows["B"]
        engine = eddy.Eddy(eddy.sql(text, SCHEMAS, cross=True))
        fed = {
            name: rows["B" if name == "q" and "q.z" in statement else "A"]
            for name in query.streams
            if name == "q"
        }
        fed |= {name: rows[name] for name in query.streams if name in rows}
        if "q" in fed:
            fed["q"] = rows[
                next(n for n, s in SCHEMAS.items() if list(s) == list(query.streams["q"].columns))
            ]
        found: Counter = Counter()
        results = [engine.push(name, piece) for name, piece in pieces(fed, random.Random(seed))]
        for result in [*results, engine.close()]:
            values = zip(*(column.to_pylist() for column in result.to_arrow().columns), strict=True)
            for row, sign in zip(values, result.sign.tolist(), strict=True):
                found[tuple(map(plain, row))] += sign
        assert +found == expected(statement, rows)
        assert not -found


@pytest.mark.parametrize("statement", REFUSED)
def test_what_cannot_be_put_so_is_refused(statement):
    with pytest.raises(eddy.QueryError, match=REFUSED[statement]):
        eddy.sql(statement, {**SCHEMAS, "D": SCHEMAS["B"]}, cross=True)


@pytest.mark.parametrize("statement", CHANGES)
def test_what_cannot_be_final_is_refused_where_it_is_written(statement):
    """It is no error of the engine, and speaks of the joins of the statement."""
    with pytest.raises(eddy.QueryError, match=r"cannot be final.*EMIT CHANGES") as raised:
        eddy.sql(statement, SCHEMAS, cross=True)
    text, start, end = raised.value.place
    assert text[start:end] in ("B", "C")
    for kind in ("LEFT", "RIGHT", "FULL"):
        said, written = (
            words.count(f"{kind} JOIN") for words in (str(raised.value).split(":")[0], statement)
        )
        assert said <= written
