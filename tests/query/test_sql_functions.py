"""Functions of the user's own, called by name in SQL: those of Arrow arrays, and compiled predicates."""

import numba
import pyarrow.compute as pc
import pytest

import eddy
from tests.query.test_function import ROWS, STREAMS, double, halves, run, within

TWICE = eddy.function(double, type="string", name="twice")
HALVES = eddy.function(halves, type="float64")
WITHIN = eddy.function(within, type="bool")


def near(x, y):
    return abs(x - y) <= 1


@pytest.mark.parametrize(
    "text, expected",
    [
        (
            "SELECT A.k, twice(s) AS t FROM A",
            {"A.k": [1, 2, None, 3], "t": ["anna-anna", "bob-bob", "eve-eve", None]},
        ),
        ("SELECT TWICE(UPPER(s)) || '!' AS t FROM A WHERE k = 1", {"t": ["ANNA-ANNA!"]}),
        ("SELECT LENGTH(twice(s)) AS n FROM A WHERE halves(k + 1) > 1", {"n": [7, None]}),
        ("SELECT s, t FROM A JOIN B ON WITHIN(s, t)", {"s": ["anna", "eve"], "t": ["n", "v"]}),
        ("SELECT s FROM A JOIN B ON A.k = B.k WHERE NOT within(s, 'nn')", {"s": ["bob"]}),
        (
            "SELECT q.t AS t FROM (SELECT k, twice(s) AS t FROM A) AS q JOIN B ON q.k = B.k AND B.k < 2",
            {"t": ["anna-anna"]},
        ),
    ],
)
def test_select_and_where(text, expected):
    """By its name, in any case, wherever an expression stands; what the query prints is the same query."""
    functions = [TWICE, HALVES, WITHIN]
    query = eddy.sql(text, STREAMS, functions=functions)
    again = eddy.sql(str(query), query.streams, functions=functions)
    assert str(again) == str(query)
    for made in (query, again):
        engine = eddy.Eddy(made)
        found = engine.push(made.names[0], ROWS["A"])
        if "B" in made.names:
            found = engine.push("B", ROWS["B"])
        columns = found.to_pydict()
        assert {name: columns[name] for name in expected} == expected


def test_groups_and_aggregates():
    """In GROUP BY, HAVING and in aggregates, beside an aggregate of the user's own."""
    query = eddy.sql(
        "SELECT halves(A.k - A.k % 2) AS half, MAX(twice(s)) AS most, COUNT(*) FILTER (WHERE within(s, 'n')) AS n "
        "FROM A JOIN B ON A.k = B.k GROUP BY 1 HAVING halves(COUNT(*)) > 0 ORDER BY half",
        STREAMS,
        functions=[TWICE, HALVES, WITHIN],
    )
    engine = eddy.Eddy(query)
    engine.push("A", ROWS["A"])
    engine.push("B", ROWS["B"])
    assert engine.table().to_pydict() == {"half": [0.0, 1.0], "most": ["anna-anna", "bob-bob"], "n": [1, 0]}


def test_in_outer_joins():
    """In the condition of an attached stream."""
    query = eddy.sql("SELECT s, t FROM A LEFT JOIN B ON within(s, t)", STREAMS, functions=[WITHIN])
    engine = eddy.Eddy(query)
    found = [engine.push("A", ROWS["A"]), engine.push("B", ROWS["B"]), engine.close()]
    rows = [row for part in found for row in zip(*part.to_pydict().values(), strict=True)]
    assert sorted(rows, key=str) == [("anna", "n"), ("bob", None), ("eve", "v"), (None, None)]


def test_compiled_predicates():
    """`eddy.predicate` without columns is for SQL, as a condition of numbers; also one that Numba has compiled."""
    for function in (near, numba.njit(near)):
        query = eddy.sql(
            "SELECT A.k, B.k AS other FROM A, B WHERE near(A.k, B.k) AND A.k <> B.k",
            STREAMS,
            functions=[eddy.predicate(function)],
        )
        assert run(query).to_pydict() == {"A.k": [2, 1, 3, 2], "other": [1, 2, 2, 3]}


def test_a_function_hides_one_of_ours():
    """A name that SQL knows, too, is the user's."""
    upper = eddy.function(pc.utf8_lower, type="string", name="UPPER")
    query = eddy.sql("SELECT UPPER(s) AS s FROM A WHERE k = 1", {"A": STREAMS["A"]}, functions=[upper])
    assert eddy.Eddy(query).push("A", {"k": [1], "s": ["ANNA"]}).to_pydict() == {"s": ["anna"]}


@pytest.mark.parametrize(
    "functions, text, message",
    [
        (
            [double],
            "SELECT double(s) AS x FROM A",
            r"functions takes a list of .* eddy\.function\(f, type=\.\.\.\)",
        ),
        (TWICE, "SELECT twice(s) AS x FROM A", "functions takes a list of"),
        (
            [TWICE, eddy.function(halves, type="string", name="TWICE")],
            "SELECT s FROM A",
            "two functions are called TWICE",
        ),
        ([TWICE], "SELECT twise(s) AS x FROM A", "twise is not supported: did you mean TWICE"),
        ([TWICE], "SELECT twice('x') AS x FROM A", "reads no column"),
        ([TWICE], "SELECT twice(z) AS x FROM A", "no stream has a column z"),
        ([TWICE], "SELECT k FROM A WHERE twice(s)", "where something true or false is needed"),
        ([eddy.predicate(near)], "SELECT k FROM A WHERE near(k + 1, k)", "near takes columns"),
        ([eddy.predicate(near)], "SELECT k FROM A WHERE near(s, s)", "a predicate function cannot take A.s"),
    ],
)
def test_refused(functions, text, message):
    """What is no function of SQL's is refused, and a name that is nearly one is told."""
    with pytest.raises(eddy.QueryError, match=message):
        eddy.sql(text, {"A": STREAMS["A"]}, functions=functions)


def test_without_columns_in_python():
    """In Python a function names its columns."""
    with pytest.raises(eddy.QueryError, match=r"function\(double, \.\.\.\) names no columns"):
        eddy.Query(STREAMS, "A.k = B.k", select=TWICE)
    with pytest.raises(eddy.QueryError, match=r"predicate\(near, \.\.\.\) names no columns"):
        eddy.Query(STREAMS, eddy.predicate(near))
    with pytest.raises(eddy.QueryError, match="a name that SQL can call it by"):
        eddy.sql(
            "SELECT k FROM A", {"A": STREAMS["A"]}, functions=[eddy.function(lambda a: a, type="string")]
        )
