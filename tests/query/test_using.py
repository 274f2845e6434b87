"""JOIN ... USING: columns that are merged, what `*` shows of them, and what a bare name means."""

import pytest

import eddy
from eddy.errors import QueryError
from eddy.query.sql import sql

SCHEMAS = {
    "A": {"a": "int64", "b": "int64", "c": "string"},
    "B": {"c": "string", "v": "int64", "b": "float64"},
    "C": {"b": "int64", "v": "int64", "w": "int64"},
    "D": {"b": "int64", "z": "bool"},
}


def names(text):
    return [output.name for output in sql(text, SCHEMAS).select]


@pytest.mark.parametrize(
    ("joins", "columns"),
    [
        ("A JOIN B USING (b, c)", "b c A.a B.v"),
        ("A JOIN B USING (c, b)", "c b A.a B.v"),
        ("A JOIN B USING (b)", "b A.a A.c B.c B.v"),
        ("A [ROWS 3] JOIN B [ROWS 4] /* , */ USING (b, c)", "b c A.a B.v"),
        ("A JOIN B USING (b, c) JOIN C USING (b, v)", "b v c A.a C.w"),
        ("A JOIN B USING (b, c) JOIN C USING (v)", "v b c A.a C.b C.w"),
        ("A JOIN B USING (b, c) JOIN C USING (b) JOIN D USING (b)", "b c A.a B.v C.v C.w D.z"),
        ("A JOIN B USING (c) JOIN D ON A.b = D.b", "c A.a A.b B.v B.b D.b D.z"),
        ("A JOIN B ON A.b = B.b JOIN C USING (v)", "v A.a A.b A.c B.c B.b C.b C.w"),
        ("A, B JOIN C USING (b), D WHERE A.b = C.b AND A.b = D.b", "A.a A.b A.c b B.c B.v C.v C.w D.b D.z"),
        ("A JOIN B USING (b), C JOIN D USING (b) WHERE A.b = C.b", "A.b A.a A.c B.c B.v C.b C.v C.w D.z"),
        ("A JOIN B ON A.b = B.b", "A.a A.b A.c B.c B.v B.b"),
    ],
)
def test_what_a_star_shows(joins, columns):
    """Merged columns come once, first and under their own name, in the order of USING; then left, then right."""
    assert names(f"SELECT * FROM {joins}") == columns.split()


def test_columns_of_one_stream():
    """A.* has all columns of A, merged or not, and both sides of a merged column have their names still."""
    shown = names("SELECT b, B.b, A.*, c AS cc FROM A JOIN B USING (b, c)")
    assert shown == ["b", "B.b", "A.a", "A.b", "A.c", "cc"]


def test_a_bare_name_is_the_merged_column():
    """In SELECT, WHERE, ON, GROUP BY and aggregates a merged column needs no stream, and is the left one's."""
    plain = sql("SELECT b FROM A JOIN B USING (b, c) WHERE c > 'k' AND v < 3", SCHEMAS)
    assert [(o.name, o.stream, o.column, str(o.type)) for o in plain.select] == [("b", "A", "b", "int64")]
    assert list(map(str, plain.predicates[2:])) == ["A.c > 'k'", "B.v < 3"]
    chain = sql(
        "SELECT w FROM A JOIN B USING (b, c) JOIN C ON b < C.w AND a = C.v",
        SCHEMAS | {"C": {"v": int, "w": int}},
    )
    assert [r.text for r in chain.residuals] == ["A.b < C.w"]
    grouped = sql(
        "SELECT b, c AS text, COUNT(*) AS n, SUM(b), MAX(B.b) FROM A JOIN B USING (b, c) GROUP BY A.b, c",
        SCHEMAS,
    )
    assert str(grouped).splitlines()[0] == (
        'SELECT A.b AS b, A.c AS text, COUNT(*) AS n, SUM(A.b) AS "SUM(b)", MAX(B.b)'
    )
    assert [name for name, _ in grouped.outputs] == ["b", "text", "n", "SUM(b)", "MAX(B.b)"]


def test_results():
    """An integer and a float that are equal make one column with the left one's values and type."""
    query = sql("SELECT * FROM A JOIN B USING (b, c) WHERE b > 1", SCHEMAS)
    engine = eddy.Eddy(query)
    engine.push("A", {"a": [1, 2, 3, 4], "b": [1, 2, 3, None], "c": ["x", "y", "z", "x"]})
    result = engine.push("B", {"c": ["x", "y", "y", "z"], "v": [10, 20, 30, 40], "b": [1.0, 2.0, 2.5, None]})
    assert result.to_pydict() == {"b": [2], "c": ["y"], "A.a": [2], "B.v": [20]}
    assert str(result.to_arrow().schema.field("b").type) == "int64"
    groups = eddy.Eddy(
        sql("SELECT c, COUNT(b) AS n FROM A JOIN B USING (c) GROUP BY c", {**SCHEMAS, "B": {"c": str}})
    )
    groups.push("A", {"a": [1, 2], "b": [1, None], "c": ["x", "x"]})
    groups.push("B", {"c": ["x", "q"]})
    assert groups.table().to_pydict() == {"c": ["x"], "n": [1]}


def test_round_trip():
    """A query with USING prints as SQL without it that gives the same query, under the same names."""
    for text in (
        "SELECT * FROM A JOIN B USING (b, c) JOIN C USING (b, v) WHERE b > 1",
        "SELECT b, SUM(v) AS s FROM A JOIN B USING (b, c) GROUP BY b",
    ):
        query = sql(text, SCHEMAS)
        again = sql(str(query), SCHEMAS)
        assert str(again) == str(query)
        assert again.outputs == query.outputs


def test_differences():
    """EXCEPT ... USING compares with the base, whose columns all are shown; a bare name in WHERE is the base's."""
    query = sql("SELECT * FROM A EXCEPT B ON A.c = B.c EXCEPT C USING (b) WHERE a > 1 AND w > 2", SCHEMAS)
    assert [o.name for o in query.select] == ["A.a", "A.b", "A.c"]
    assert {m.stream: m.on for m in query.minus} == {"B": (("c", "c"),), "C": (("b", "b"),)}
    assert {s: str(f) for s, f in query.filters.items()} == {"A": "A.a > 1", "C": "C.w > 2"}
    merged = sql("SELECT b FROM A EXCEPT D USING (b) WHERE b > 3 AND z", SCHEMAS)
    assert {s: str(f) for s, f in merged.filters.items()} == {"A": "A.b > 3", "D": "D.z"}
    assert [o.name for o in merged.select] == ["b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT * FROM A JOIN B USING (b, c, b)", r"USING \(b, c, b\) names b twice: leave one out"),
        ("SELECT * FROM A JOIN B USING () WHERE A.b = B.b", r"USING \(\) names no column"),
        ("SELECT * FROM A JOIN B USING (a)", "stream B has no column a"),
        ("SELECT * FROM A JOIN D USING (z)", "no stream that D is joined with has a column z"),
        ("SELECT * FROM A, B JOIN D USING (a)", "stream D has no column a"),
        ("SELECT * FROM C, A JOIN B USING (v)", "no stream that B is joined with has a column v"),
        (
            "SELECT * FROM A JOIN B ON A.b = B.b JOIN C USING (b)",
            "b is ambiguous.*A.b or B.b; write ON A.b = C.b",
        ),
        ("SELECT b FROM A JOIN B USING (b) JOIN C ON A.b = C.b", "column b is ambiguous: write A.b or C.b"),
        ("SELECT b FROM A JOIN B USING (b), C WHERE A.b = C.b", "column b is ambiguous: write A.b or C.b"),
        ("SELECT A.a FROM A JOIN B USING (c) WHERE b > 1", "column b is ambiguous: write A.b or B.b"),
        ("SELECT b, * FROM A JOIN B USING (b)", "two output columns are called b"),
        ("SELECT B.b, COUNT(*) FROM A JOIN B USING (b) GROUP BY b", "B.b is neither grouped nor aggregated"),
    ],
)
def test_refused(text, message):
    """What USING cannot find, or finds twice, and names that still are ambiguous are refused."""
    with pytest.raises(QueryError, match=message):
        sql(text, SCHEMAS)
