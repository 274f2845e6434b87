"""SQL text: windows in brackets, joins, aliases, and what is refused."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.errors import QueryError
from eddy.query.names import Scope
from eddy.query.query import Query, Stream
from eddy.query.sql import sql
from eddy.query.windows import Range, Rows, Sliding, Tumbling, Unbounded

SCHEMAS = {
    "A": {"ts": "timestamp", "id": "int64", "x": "int64", "y": "string"},
    "B": {"ts": "timestamp", "x": "int64", "v": "int64"},
    "C": Stream({"ts": "timestamp", "y": "string", "w": "float64"}, Rows(7)),
    "order": {"ts": "timestamp", "a b": "int64"},
}


def test_whole():
    """A text with windows, predicates and a select list gives the query that Python would build."""
    query = sql(
        """
        SELECT A.id, B.v, C.w
        FROM A [ROWS 10000], B [RANGE 5 MINUTES], C [RANGE 5 MINUTES]
        WHERE A.x = B.x AND A.y = C.y AND B.v > 10
        """,
        schemas=SCHEMAS,
    )
    assert [s.window for s in query.streams.values()] == [Rows(10000), Range("5 MINUTES"), Range("5 MINUTES")]
    assert query.window_table()[1].tolist() == [10_000, 300_000_000, 300_000_000]
    assert [str(c) for c in query.key_classes] == ["A.x = B.x", "A.y = C.y"]
    assert {s: str(f) for s, f in query.filters.items()} == {"B": "B.v > 10"}
    assert [o.name for o in query.select] == ["A.id", "B.v", "C.w"]


@pytest.mark.parametrize(
    ("bracket", "window"),
    [
        ("[ROWS 5]", Rows(5)),
        ("[rows 10_000]", Rows(10_000)),
        ("[RANGE 300]", Range(300)),
        ("[RANGE INTERVAL '1' HOUR]", Range("1 HOUR")),
        ("[range interval '90 minutes']", Range("90 minutes")),
        ("[RANGE 1 HOUR SLIDE 5 MINUTES]", Sliding("1 HOUR", every="5 MINUTES")),
        ("[RANGE 20 SLIDE 5]", Sliding(20, every=5)),
        ("[RANGE INTERVAL '1' HOUR slide INTERVAL '5' MINUTE]", Sliding("1 HOUR", every="5 MINUTE")),
        ("[RANGE 5 MINUTES]", Range("5 MINUTES")),
        ("[ RANGE  '1 hour' ]", Range("1 hour")),
        ("[TUMBLING 100 ROWS]", Tumbling(rows=100)),
        ("[Tumbling 5 minutes]", Tumbling(time="5 minutes")),
        ("[TUMBLING 60]", Tumbling(time=60)),
        ("[UNBOUNDED]", Unbounded()),
        ("", Unbounded()),
    ],
)
def test_windows(bracket, window):
    """Each kind of window has its bracket, which may stand behind the name or behind the alias."""
    number = re.search(r"(RANGE|TUMBLING) \d+( SLIDE \d+)?]", bracket)  # which is for integers only
    schemas = {**SCHEMAS, **{key: {"ts": "int64", "x": "int64"} for key in "AB"}} if number else SCHEMAS
    for source in (f"A {bracket}", f"A{bracket}", f"A AS A {bracket}", f"A {bracket} AS A", f'"A" {bracket}'):
        query = sql(f"SELECT * FROM B, {source} WHERE A.x = B.x", schemas)
        assert query.streams["A"].window == window
        assert query.streams["B"].window == Unbounded()


def test_schema_window():
    """The window of a Stream holds unless the text gives another."""
    text = "SELECT A.id FROM A, C {} WHERE A.y = C.y"
    assert sql(text.format(""), SCHEMAS).streams["C"].window == Rows(7)
    assert sql(text.format("[UNBOUNDED]"), SCHEMAS).streams["C"].window == Unbounded()


def test_self_join():
    """An alias makes a stream of its own, so a schema may be joined with itself."""
    query = sql("SELECT * FROM A AS a1 [ROWS 5], A a2 [ROWS 6] WHERE a1.x = a2.x AND a1.id < a2.id", SCHEMAS)
    assert query.names == ("a1", "a2")
    assert [s.window for s in query.streams.values()] == [Rows(5), Rows(6)]
    assert [r.text for r in query.residuals] == ["a1.id < a2.id"]


def test_joins():
    """JOIN ON, JOIN USING, INNER JOIN and commas mean the same; CROSS JOIN needs no predicate."""
    classes = ["A.x = B.x", "A.y = C.y"]
    for text in (
        "SELECT id FROM A JOIN B [ROWS 5] ON A.x = B.x INNER JOIN C ON A.y = C.y",
        "SELECT id FROM A JOIN B USING (x) JOIN C [ROWS 5] USING (y)",
        "SELECT id FROM A, B JOIN C ON A.y = C.y WHERE A.x = B.x",
    ):
        assert sorted(str(c) for c in sql(text, SCHEMAS).key_classes) == classes
    chain = sql("SELECT id FROM A JOIN B USING (x) JOIN B AS b2 USING (x)", SCHEMAS)
    assert [str(c) for c in chain.key_classes] == ["A.x = B.x = b2.x"]
    assert sql("SELECT id FROM A CROSS JOIN B", SCHEMAS).cross
    assert sql("SELECT id FROM A, B", SCHEMAS, cross=True).cross


def test_names():
    """Columns need no stream where only one has them; outputs are named as written."""
    query = sql(
        "SELECT id, v AS value, C.* FROM A, B, C WHERE A.x = B.x AND A.y = C.y AND v > id AND w < 3", SCHEMAS
    )
    assert [o.name for o in query.select] == ["id", "value", "C.ts", "C.y", "C.w"]
    assert [r.text for r in query.residuals] == ["B.v > A.id"]
    quoted = sql('SELECT "order"."a b" FROM "order" [ROWS 5], A WHERE "order"."a b" = A.x', SCHEMAS)
    assert [o.name for o in quoted.select] == ["order.a b"]


def test_brackets_in_text():
    """Brackets inside strings and comments are left alone."""
    query = sql(
        "SELECT id FROM A, C -- [ROWS 1]\n WHERE A.y = C.y /* [ROWS 2] */ AND A.y != '[ROWS 5]'", SCHEMAS
    )
    assert query.streams["A"].window == Unbounded()
    assert str(query.filters["A"]) == "A.y != '[ROWS 5]'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be a text"),
        ("SELECT * FRM A", "cannot read"),
        (
            "SELECT A.x FROM A [ROWS 5], B WHERE A.x =",
            r"cannot read '.* A \[ROWS 5\], .*near '.* A \[ROWS 5\], B WHERE",
        ),
        ("SELECT * FROM", "Expected table name but got the end"),
        ("SELECT 1", "no FROM"),
        ("DROP TABLE A", "not DROP"),
        ("SELECT * FROM A, B; SELECT 1", "one SELECT"),
        ("SELECT * FROM A, B UNION SELECT * FROM A, B", "not UNION"),
        ("SELECT * FROM A, B", "no predicate connects"),
        ("SELECT * FROM A, D WHERE A.x = D.x", "no schema for stream D"),
        ("SELECT * FROM A, A WHERE A.x = 1", "named twice.*alias"),
        ("SELECT * FROM db.A, B WHERE A.x = B.x", "takes names of streams"),
        ("SELECT * FROM (SELECT 1) AS A, B WHERE A.x = B.x", "the subquery A has no FROM"),
        ("SELECT * FROM A FULL JOIN B USING (w)", "USING \\(w\\) names w, which is not on both sides"),
        (
            "SELECT A.x FROM A ASOF JOIN B ON A.x = B.x",
            "has no inequality that says which row is the nearest",
        ),
        ("SELECT * FROM A JOIN B USING (id)", "stream B has no column id"),
        ("SELECT * FROM A JOIN B ON A.x = B.x JOIN A AS a2 USING (x)", "ambiguous"),
        (
            "SELECT FOO(A.x) FROM A, B WHERE A.x = B.x",
            r"cannot select FOO\(A.x\): FOO is not supported",
        ),
        ("SELECT * EXCLUDE (x) FROM A, B WHERE A.x = B.x", "select takes columns"),
        ("SELECT A.* REPLACE (1 AS x) FROM A, B WHERE A.x = B.x", "select takes columns"),
        ("SELECT DISTINCT ON (A.x) A.x FROM A, B WHERE A.x = B.x", "DISTINCT ON is not supported"),
        ("SELECT A.x FROM A, B WHERE A.x = B.x ORDER BY A.x", "ORDER BY is not supported"),
        ("SELECT A.x FROM A, B WHERE A.x = B.x LIMIT 3", "LIMIT is not supported"),
        ("SELECT A.x FROM A, B WHERE A.x = B.x HAVING A.x > 1", "HAVING is of groups"),
        ("SELECT A.x FROM A, B WHERE A.x = B.x AND (A.x IN (SELECT x FROM C) OR B.x > 1)", "Beside OR"),
        ("WITH q AS (SELECT 1) SELECT q.x FROM q, B WHERE q.x = B.x", "the subquery q has no FROM"),
        ("SELECT A.x FROM A [ROWZ 5], B WHERE A.x = B.x", r"unknown window \[ROWZ 5\]"),
        ("SELECT A.x FROM A [ROWS many], B WHERE A.x = B.x", "unknown window"),
        ("SELECT A.x FROM A [ROWS 0], B WHERE A.x = B.x", "1 or more"),
        ("SELECT A.x FROM A [RANGE 5 PARSECS], B WHERE A.x = B.x", "unknown unit 'PARSECS'"),
        ("SELECT A.x FROM A [ROWS 5] [ROWS 6], B WHERE A.x = B.x", "two windows"),
        ("SELECT A.x FROM A [ROWS 5] AS a [ROWS 6], B WHERE a.x = B.x", "two windows"),
        ("SELECT A.x FROM A, B WHERE A.x = B.x [ROWS 5]", "stands behind no stream"),
        ("SELECT [ROWS 5] A.x FROM A, B WHERE A.x = B.x", "stands behind no stream"),
    ],
)
def test_refused(text, message):
    """What is not a join of streams is refused by name."""
    with pytest.raises(QueryError, match=message):
        sql(text, SCHEMAS)


NO_TRUTH = {
    "A.x": "A.x is int64, where something true or false is needed: write A.x != 0",
    "A.x + 1": r"A.x \+ 1 is int64, where something true or false is needed",
    "5": "5 is int64, where something true or false is needed",
    "A.y": "A.y is string, where something true or false is needed",
    "'a'": "'a' is string, where something true or false is needed",
    "A.ts": r"A.ts is timestamp\[us\], where something true or false is needed",
    "A.x = B.x AND A.x": "A.x is int64, where something true or false is needed",
    "A.x = B.x OR NOT A.y": "A.y is string, where something true or false is needed",
}


@pytest.mark.parametrize("condition", list(NO_TRUTH))
def test_a_condition_is_true_or_false(condition):
    """A number, a text or a time is refused wherever a condition stands, with one and the same error."""
    streams = {name: Stream(SCHEMAS[name]) for name in "AB"}
    for place in (
        lambda: sql(f"SELECT A.id FROM A, B WHERE {condition}", SCHEMAS, cross=True),
        lambda: sql(f"SELECT A.id FROM A, B WHERE A.x = B.x AND ({condition})", SCHEMAS),
        lambda: sql(f"SELECT A.id FROM A JOIN B ON {condition}", SCHEMAS, cross=True),
        lambda: sql(f"SELECT A.id FROM A EXCEPT B ON {condition}", SCHEMAS),
        lambda: sql(f"SELECT A.id FROM A EXCEPT B ON A.x = B.x WHERE {condition}", SCHEMAS),
        lambda: Query(streams, condition, cross=True),
        lambda: Query(streams, ["A.x = B.x", condition]),
        lambda: Query(streams, minus={"B": condition}),
        lambda: Query(streams, minus={"B": ["A.x = B.x", condition]}),
        lambda: Query(streams, ["A.x = B.x", f"({condition}) IS TRUE"]),
    ):
        with pytest.raises(QueryError, match=NO_TRUTH[condition]):
            place()


def test_an_expression_as_a_condition_is_true_or_false():
    """A tree of an expression that is given in place of its text is checked as the text is."""
    streams = {name: Stream(SCHEMAS[name]) for name in "AB"}
    column = Scope({name: stream.columns for name, stream in streams.items()}).column("A", "x")
    for arguments in ({"where": column, "cross": True}, {"minus": {"B": column}}):
        with pytest.raises(QueryError, match=r"A.x is int64, where something true or false is needed"):
            Query(streams, **arguments)


def test_conditions_that_are_constant():
    """TRUE, FALSE, NULL and a bool column are conditions, in ON as in WHERE."""
    schemas = {"A": {"f": "bool"}, "B": {"g": "bool"}}
    for constant in ("TRUE", "FALSE", "NULL", "A.f", "A.f AND NOT B.g"):
        joined = sql(f"SELECT * FROM A JOIN B ON {constant}", schemas, cross=True)
        assert str(joined) == str(sql(f"SELECT * FROM A, B WHERE {constant}", schemas, cross=True))
    with pytest.raises(QueryError, match="no predicate connects"):
        sql("SELECT * FROM A JOIN B ON TRUE", schemas)


windows = st.sampled_from(
    [
        Rows(3),
        Range(0),
        Range("5 s"),
        Sliding("5 s", every="2 s"),
        Tumbling(rows=2),
        Tumbling(time="1 h"),
        Unbounded(),
    ]
)


@given(windows, windows, st.booleans())
def test_round_trip(first, second, cross):
    """A query prints as SQL that gives the same query."""
    schemas = {"A": Stream(SCHEMAS["A"], first), "order": Stream(SCHEMAS["order"], second)}
    where = [] if cross else ['A.x = "order"."a b"', "A.id IN (1, 2) OR A.y IS NULL", "A.x BETWEEN 1 AND 5"]
    query = Query(schemas, where, ["A.x", '"order".* '], cross)
    again = sql(str(query), {name: stream.columns for name, stream in schemas.items()})
    assert str(again) == str(query)
    assert again.streams == query.streams
    assert again.predicates == query.predicates
