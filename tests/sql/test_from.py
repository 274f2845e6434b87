"""FROM: one stream, subqueries, WITH, joins in parentheses, NATURAL; compared with DuckDB where it has the same."""

import random

import pyarrow as pa
import pytest

import eddy
from tests.sql.against_duckdb import expected, rows_of

COLUMNS = {"x": "int64", "y": "int64", "s": "string"}
OTHER = {"x": "int64", "z": "int64"}
SCHEMAS = {"A": COLUMNS, "B": OTHER, "C": OTHER}

STATEMENTS = [
    # one stream
    "SELECT * FROM A",
    "SELECT x + 1 AS n, UPPER(s) AS t FROM A WHERE s LIKE '%a%' AND y > x",
    "SELECT COUNT(*) AS n, MIN(s) AS s FROM A",
    "SELECT y, SUM(x) AS t FROM A GROUP BY y HAVING COUNT(*) > 1",
    "SELECT DISTINCT y % 2 AS odd, s FROM A",
    "SELECT 1 AS one FROM A",
    # parentheses
    "SELECT A.x, B.z, C.z AS w FROM A JOIN (B JOIN C ON B.z = C.z) ON A.x = B.x",
    "SELECT A.x, B.z, C.z AS w FROM (A JOIN B ON A.x = B.x) JOIN C ON B.z = C.z",
    "SELECT A.x FROM (A)",
    "SELECT A.x, C.z FROM (A CROSS JOIN B), C WHERE A.x = B.x AND B.z = C.x",
    # subqueries
    "SELECT q.n, B.z FROM (SELECT x, y * 2 AS n FROM A WHERE y > 1) AS q, B WHERE q.x = B.x",
    "SELECT n + 1 AS m, z FROM (SELECT x AS k, y * 2 AS n FROM A) AS q JOIN B ON k = B.x",
    "SELECT q.* FROM (SELECT x, s FROM A) AS q JOIN B ON q.x = B.x",
    "SELECT * FROM (SELECT x AS k, s FROM A) AS q JOIN B ON k = B.x",
    "SELECT q.x, COUNT(*) AS n FROM (SELECT A.x, B.z FROM A JOIN B ON A.x = B.x) AS q GROUP BY q.x",
    "SELECT q.m FROM (SELECT p.x + 1 AS m FROM (SELECT x FROM A WHERE y > 0) AS p WHERE p.x > 0) AS q",
    "SELECT DISTINCT s FROM (SELECT s FROM A WHERE x > 1) AS q",
    "SELECT SUM(n) AS t FROM (SELECT CASE WHEN x > 1 THEN y ELSE 0 END AS n FROM A) AS q",
    # WITH
    "WITH q AS (SELECT x, s FROM A WHERE x > 0) SELECT q.s, B.z FROM q JOIN B ON q.x = B.x",
    "WITH q AS (SELECT x, s FROM A), r(a, b) AS (SELECT x, UPPER(s) FROM q) SELECT a, b, B.z FROM r JOIN B ON a = B.x",
    "WITH q AS (SELECT x, y FROM A WHERE y > 1) SELECT p.x, r.y FROM q AS p JOIN q AS r ON p.x = r.x",
    # NATURAL and USING
    "SELECT * FROM A NATURAL JOIN B",
    "SELECT x, y, z FROM A JOIN B USING (x)",
    "SELECT COUNT(*) AS n FROM B NATURAL JOIN C",
]


def tables(seed):
    pick = random.Random(seed)

    def value(kind):
        if pick.random() < 0.1:
            return None
        return pick.choice(["a", "b", "ab"]) if kind == "string" else pick.randrange(4)

    return {
        name: pa.table(
            {column: [value(kind) for _ in range(9)] for column, kind in schema.items()},
            pa.schema(
                [(column, pa.string() if kind == "string" else pa.int64()) for column, kind in schema.items()]
            ),
        )
        for name, schema in SCHEMAS.items()
    }


@pytest.mark.parametrize("statement", STATEMENTS)
def test_duckdb(statement):
    """The same rows as DuckDB finds; and what the query prints is the query."""
    rows = tables(len(statement))
    query = eddy.sql(statement, SCHEMAS, cross=True)
    assert str(eddy.sql(str(query), query.streams, cross=True)) == str(query)
    engine = eddy.Eddy(query)
    total = rows_of(engine.table().to_arrow()) if query.grouped else rows_of(pa.table({}))
    for start in range(0, 9, 3):
        for name, stream in query.streams.items():
            source = next(n for n, schema in SCHEMAS.items() if list(stream.columns) == list(schema))
            source = name if name in SCHEMAS else source
            found = engine.push(name, rows[source].slice(start, 3))
            total = rows_of(engine.table().to_arrow()) if query.grouped else total + rows_of(found.to_arrow())
    assert total == expected(statement, rows)


@pytest.mark.parametrize(
    "statement, message",
    [
        ("SELECT q.y FROM (SELECT x FROM A) AS q", "q has no column y: There is x"),
        ("SELECT y FROM (SELECT x FROM A) AS q", "no item of FROM has a column y"),
        ("SELECT A.x FROM (SELECT x FROM A) AS q", "unknown stream A"),
        ("SELECT x FROM (SELECT x FROM A) AS q, B", "column x is ambiguous: write q.x or B.x"),
        (
            "SELECT q.n FROM (SELECT COUNT(*) AS n FROM A) AS q",
            "the subquery q has an aggregate.*an engine of its own",
        ),
        ("SELECT q.x FROM (SELECT x FROM A GROUP BY x) AS q", "the subquery q has GROUP BY"),
        ("SELECT q.x FROM (SELECT DISTINCT x FROM A) AS q", "the subquery q has DISTINCT"),
        ("SELECT q.x FROM (SELECT x FROM A LIMIT 3) AS q", "the subquery q has LIMIT"),
        ("SELECT q.x FROM (SELECT x FROM A UNION SELECT x FROM B) AS q", "UNION in FROM is not supported"),
        ("SELECT q.x FROM (SELECT 1 AS x) AS q", "the subquery q has no FROM"),
        ("SELECT A.y FROM A, (SELECT A.x, B.z FROM A, B) AS q", "stream A is named twice"),
        ("SELECT s.x FROM (A JOIN B ON A.x = B.x) AS s", "a join in parentheses has no name"),
        ("SELECT q.x FROM (SELECT x, x FROM A) AS q", "two columns of a subquery are called x"),
        ("WITH RECURSIVE q AS (SELECT x FROM A) SELECT x FROM q", "WITH RECURSIVE is not supported"),
        ("WITH q(a, b) AS (SELECT x FROM A) SELECT a FROM q", "q names 2 columns, and its subquery has 1"),
        ("SELECT q.x FROM (SELECT x FROM A) AS q LEFT EXCEPT B ON q.x = B.x", "LEFT EXCEPT is not supported"),
        ("SELECT q.x FROM (SELECT x FROM A) AS q EXCEPT B", "EXCEPT B has no condition"),
        ("SELECT x FROM A ORDER BY x", "ORDER BY is not supported where .*engine.table"),
        ("SELECT x FROM A LIMIT 3", "LIMIT is not supported where .*engine.table"),
    ],
)
def test_refused(statement, message):
    """What cannot be put into the query is refused, with the reason."""
    with pytest.raises(eddy.QueryError, match=message):
        eddy.sql(statement, SCHEMAS, cross=True)


def test_windows_of_subqueries():
    """A window stands behind its stream, wherever that is; of what is read twice both have it."""
    query = eddy.sql(
        "WITH q AS (SELECT x FROM A [ROWS 3]) SELECT p.x FROM q AS p JOIN q AS r ON p.x = r.x", SCHEMAS
    )
    assert {name: stream.window for name, stream in query.streams.items()} == {
        "p": eddy.Rows(3),
        "r": eddy.Rows(3),
    }
    query = eddy.sql(
        "SELECT q.x FROM (SELECT x FROM A AS a [ROWS 3]) AS q, B [ROWS 4] WHERE q.x = B.x", SCHEMAS
    )
    assert [stream.window for stream in query.streams.values()] == [eddy.Rows(3), eddy.Rows(4)]


@pytest.mark.parametrize("batch", [1, 4])
def test_one_stream_with_a_window(batch):
    """Rows are given once; with retractions they are withdrawn when they leave, and groups follow the window."""
    pick = random.Random(0)
    rows = [(pick.randrange(4), pick.choice("ab")) for _ in range(40)]
    select = "FROM A [ROWS 5] WHERE x > 0"
    schema = {"A": {"x": "int64", "s": "string"}}
    plain = eddy.Eddy(eddy.sql(f"SELECT x * 2 AS n {select}", schema))
    signed = eddy.Eddy(eddy.sql(f"SELECT x * 2 AS n {select}", schema), retractions=True)
    groups = eddy.Eddy(eddy.sql(f"SELECT s, COUNT(*) AS n, MAX(x) AS m {select} GROUP BY s", schema))
    given, standing = [], []
    for start in range(0, len(rows), batch):
        pushed = {
            "x": [x for x, _ in rows[start : start + batch]],
            "s": [s for _, s in rows[start : start + batch]],
        }
        given += plain.push("A", pushed).to_pydict()["n"]
        found = signed.push("A", pushed)
        for n, sign in zip(found.to_pydict()["n"], found.sign.tolist(), strict=True):
            standing.append(n) if sign > 0 else standing.remove(n)
        groups.push("A", pushed)
        seen = rows[: start + batch]
        live = [(x, s) for x, s in seen[-5:] if x > 0]
        assert given == [2 * x for x, _ in seen if x > 0]
        assert sorted(standing) == sorted(2 * x for x, _ in live)
        table = groups.table().to_pydict()
        assert dict(zip(table["s"], zip(table["n"], table["m"], strict=True), strict=True)) == {
            s: (sum(t == s for _, t in live), max(x for x, t in live if t == s)) for s in {t for _, t in live}
        }


def test_one_stream_goes_on_after_a_restart(tmp_path):
    """A filter, and groups, of one stream, saved and loaded in the middle, in parts, and with threads."""
    query = eddy.sql(
        "SELECT s, COUNT(*) AS n FROM A [ROWS 5] GROUP BY s", {"A": {"x": "int64", "s": "string"}}
    )
    engine = eddy.Eddy(query, threads=2)
    engine.push("A", {"x": [1, 2, 3, 4], "s": ["a", "b", "a", "c"]})
    engine.save(tmp_path / "one.eddy")
    again = eddy.Eddy.load(tmp_path / "one.eddy")
    for one in (engine, again):
        one.push("A", {"x": [5, 6], "s": ["a", "a"]})
    assert engine.table().to_pydict() == again.table().to_pydict() == {"s": ["a", "b", "c"], "n": [3, 1, 1]}
    parts = list(
        eddy.Eddy(eddy.sql("SELECT x FROM A WHERE x > 1", {"A": {"x": "int64"}})).push(
            "A", {"x": [1, 2, 3, 4]}, max_rows=2
        )
    )
    assert [part.to_pydict() for part in parts] == [{"x": [2, 3]}, {"x": [4]}]


def test_one_stream_as_time_goes_on():
    """Groups, and rows with retractions, leave their window when time has passed, whether or not a row comes."""
    schema = {"A": {"ts": "int64", "x": "int64"}}
    signed = eddy.Eddy(eddy.sql("SELECT x FROM A [RANGE 10]", schema), retractions=True)
    groups = eddy.Eddy(eddy.sql("SELECT SUM(x) AS t FROM A [RANGE 10]", schema))
    for engine in (signed, groups):
        engine.push("A", {"ts": [1, 2, 9], "x": [10, 20, 30]})
    assert groups.table().to_pydict() == {"t": [60]}
    gone = signed.advance(12)
    assert (gone.to_pydict(), gone.sign.tolist()) == ({"x": [10]}, [-1])
    groups.advance(15)
    assert groups.table().to_pydict() == {"t": [30]}
    came = signed.push("A", {"ts": [13], "x": [40]})
    assert (came.to_pydict(), came.sign.tolist()) == ({"x": [20, 40]}, [-1, 1])
