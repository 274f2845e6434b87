"""Queries: what a list of predicates comes to, and what is refused."""

import pickle

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from numba import njit

from eddy.errors import QueryError
from eddy.query.predicate import predicate
from eddy.query.query import Output, Query, Stream
from eddy.query.sql import sql
from eddy.query.windows import Rows
from eddy.values.types import Column, column_type
from tests.three_valued import SCOPE

STREAMS = {
    "A": Stream({"ts": "int64", "x": "int64", "y": "float64", "s": "string"}, Rows(5)),
    "B": {"ts": "int64", "x": "int64", "lo": "int64", "hi": "int64", "s": "string"},
    "C": {"ts": "int64", "x": "uint64", "w": "int64", "s": "string"},
}


def test_parts():
    """Predicates are split at AND and sorted into key classes, filters and residuals."""
    query = Query(
        STREAMS, ["A.x = B.x AND A.s = C.s AND B.lo > 3", "NOT (A.y = 1 OR B.hi <= 4)", "B.x < C.w"]
    )
    assert query.names == ("A", "B", "C")
    assert [str(c) for c in query.key_classes] == ["A.x = B.x", "A.s = C.s"]
    assert {s: str(f) for s, f in query.filters.items()} == {"B": "B.lo > 3 AND B.hi > 4", "A": "A.y != 1"}
    (residual,) = query.residuals
    assert (residual.text, residual.streams) == ("B.x < C.w", {"B", "C"})
    assert residual.columns == {("B", "x"), ("C", "w")}
    assert set(query.edges) == {frozenset("AB"), frozenset("AC"), frozenset("BC")}


def test_constants():
    """A constant predicate is decided once: true disappears, false or unknown lets nothing through."""
    where = ["A.x = B.x", "B.x = C.w"]
    assert Query(STREAMS, [*where, "1 = 1"]).filters == {}
    for never in ("FALSE", "1 > 2", "NULL = 1", "A.x = B.x AND NULL"):
        filters = Query(STREAMS, [never, *where]).filters
        assert list(filters) == ["A"]
        assert not filters["A"].holds(None, 3).any()


def test_connected():
    """Streams that no predicate connects need cross=True; the message says which parts there are."""
    with pytest.raises(QueryError, match=r"connects \(C\) and \(A B\)|connects \(A B\) and \(C\)"):
        Query(STREAMS, "A.x = B.x")
    assert Query(STREAMS, "A.x = B.x", cross=True).cross
    query = Query(STREAMS, "A.x + B.x = C.w")
    assert query.connected("ABC")
    assert not query.connected("AB")
    assert Query(STREAMS, ["A.x = B.x", "B.x = C.w"]).connected("AC")


def test_select():
    """Outputs are named as they are written, and default to every column."""
    where = ["A.x = B.x", "B.x = C.w"]
    assert [o.name for o in Query(STREAMS, where).select][:5] == ["A.ts", "A.x", "A.y", "A.s", "B.ts"]
    query = Query(STREAMS, where, ["A.x", "w", "B.hi AS top", "C.*"], cross=False)
    assert query.select[0] == Output("A.x", "A", "x", column_type("int64"))
    assert [o.name for o in query.select] == ["A.x", "w", "top", "C.ts", "C.x", "C.w", "C.s"]
    assert [o.name for o in Query(STREAMS, where, "A.x, B.x").select] == ["A.x", "B.x"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"streams": {}}, "at least one stream: streams is empty"),
        ({"streams": {"A": {"x": "int64"}}}, "unknown stream B"),
        ({"streams": ["A", "B"]}, "as a dict"),
        ({"streams": {"A": {}, "B": {"x": int}}}, "at least one column"),
        ({"streams": {"A": {"x": "int65"}, "B": {"x": int}}}, "unknown column type 'int65'"),
        ({"streams": {"A": 3, "B": {"x": int}}}, "columns as a dict"),
        ({"where": "A.x = B.z"}, "stream B has no column z"),
        ({"where": [3]}, "must be a text"),
        ({"select": ["A.x + B.nothing"]}, "stream B has no column nothing"),
        ({"select": ["NULL"]}, r"CAST\(NULL AS BIGINT\)"),
        ({"select": ["A.xx"]}, "stream A has no column xx: did you mean x"),
        ({"select": ["x"]}, "ambiguous"),
        ({"select": []}, "select is empty"),
        ({"select": 3}, "select takes a column, such as 'A.x', or a list of them, not 3"),
        ({"select": [3]}, "cannot select 3"),
        ({"select": ["* EXCEPT (x)"]}, "select takes columns"),
        ({"select": ["A.x FROM B"]}, "select takes columns"),
        ({"select": ["A.x; DROP TABLE A"]}, "select takes columns"),
        ({"select": [""]}, "select takes columns"),
        ({"where": 3}, "where takes a predicate"),
        ({"select": ["A.x", "A.x"]}, "two output columns are called A.x"),
        ({"select": ["A.x AS v", "B.x AS v"]}, "two output columns are called v"),
    ],
)
def test_refused(arguments, message):
    """A query that means nothing is refused when it is made."""
    streams = {"A": {"x": "int64"}, "B": {"x": "int64"}}
    with pytest.raises(QueryError, match=message):
        Query(**{"streams": streams, "where": "A.x = B.x"} | arguments)


MANY = {"ts": np.arange(1000), "name": [f"name {i}" for i in range(1000)]}


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        (MANY, "values are not a type: give that of the column, such as 'int64'"),
        (dict(pandas.DataFrame(MANY)), "values are not a type"),
        (list(range(1000)), "a dict of names and types"),
        (MANY["ts"], "a dict of names and types"),
        (pandas.Series(MANY["ts"]), "give a dict of columns and types, or a table"),
        (polars.Series(MANY["ts"]), "give a dict of columns and types, or a table"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_rows_in_place_of_types(given, advice):
    """A stream is declared without rows: the error does not print them, and says what to give."""
    for make in (lambda: Stream(given), lambda: Query({"A": given, "B": {"x": "int64"}})):
        with pytest.raises(QueryError) as caught:
            make()
        assert advice in str(caught.value) and len(str(caught.value)) < 250


def test_the_schema_of_a_table_declares_a_stream():
    """Of Arrow, and of what has one: pandas and polars frames, by the ways that the errors name."""
    wanted = Stream({"ts": "int64", "name": "string"})
    assert Stream(pa.table(MANY).schema) == wanted
    assert Stream(pa.Schema.from_pandas(pandas.DataFrame(MANY), preserve_index=False)) == wanted
    assert Stream(polars.DataFrame(MANY).to_arrow().schema) == wanted
    with pytest.raises(QueryError, match="two columns called 'x'"):
        Stream(pa.schema([("x", pa.int64()), ("x", pa.int32())]))


@pytest.mark.parametrize(
    "given", [pa.table(MANY), polars.DataFrame(MANY)["ts"], pandas.DataFrame(MANY)], ids=type
)
def test_no_error_of_a_query_prints_a_table(given):
    """Whatever it is given for."""
    streams = {"A": {"x": "int64"}, "B": {"x": "int64"}}
    for make in (
        lambda: Query(given),
        lambda: Query(streams, given),
        lambda: Stream({"x": "int64"}, given),
        lambda: Stream({"x": given}),
        lambda: sql("SELECT * FROM A, B WHERE A.x = B.x", given),
    ):
        with pytest.raises(QueryError) as caught:
            make()
        assert len(str(caught.value)) < 400


def test_window_type():
    """A window must be one of the five kinds."""
    with pytest.raises(QueryError, match="a window is Rows, Range, Sliding, Tumbling or Unbounded"):
        Stream({"x": "int64"}, window=5)


def test_identity():
    """A query is equal only to itself; a pickled copy has the same parts."""
    query = Query(STREAMS, ["A.x = B.x", "ABS(B.hi - C.w) <= 3", "A.y > 0.5"])
    copy = pickle.loads(pickle.dumps(query))
    assert query != copy
    assert len({query, copy, query}) == 2
    assert str(copy) == str(query)
    assert copy.residuals[0].bands_for("B") == query.residuals[0].bands_for("B") != ()


@njit
def close(x, y):
    return abs(x - y) < 2


def test_user_predicate():
    """A user's function is compiled with the query, and holds where it is true and nothing is NULL."""
    query = Query(STREAMS, [predicate(close, "A.x", "B.x"), "B.x = C.w", predicate(lambda w: w > 0, "C.w")])
    (residual,) = query.residuals
    assert (residual.text, residual.streams) == ("close(A.x, B.x)", {"A", "B"})
    assert residual.bands_for("A") == ()
    columns = {
        "A": Column(np.array([1, 5, 9])),
        "B": Column(np.array([2, 9, 9]), np.array([True, True, False])),
    }
    assert residual.holds(lambda stream, column: columns[stream], 3).tolist() == [True, False, False]
    assert query.filters["C"].holds(lambda stream, column: Column(np.array([0, 1])), 2).tolist() == [
        False,
        True,
    ]
    assert residual.holds(lambda stream, column: Column(np.empty(0, np.int64)), 0).tolist() == []


def test_user_predicate_is_not_called_on_null():
    """The function never sees what stands where a value is NULL."""
    bound = predicate(lambda x, y: 6 // y == x, "A.i", "B.i").bind(SCOPE)
    data = {"A": Column(np.array([2, 3])), "B": Column(np.array([0, 2]), np.array([False, True]))}
    assert bound.holds(lambda stream, column: data[stream], 2).tolist() == [False, True]


def test_user_predicate_pickles():
    """A query with a compiled predicate pickles; the copy compiles it again."""
    query = Query({k: STREAMS[k] for k in "AB"}, [predicate(close, "A.x", "B.x")])
    copy = pickle.loads(pickle.dumps(query))
    columns = {"A": Column(np.array([1])), "B": Column(np.array([2]))}
    assert copy.residuals[0].holds(lambda stream, column: columns[stream], 1).tolist() == [True]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: predicate(3, "A.x"), "needs a function"),
        (lambda: predicate(close, 5), "needs the columns"),
        (lambda: predicate(close, "A.i", "A.i + 1").bind(SCOPE), "not a column"),
        (lambda: predicate(close, "A.i", "B.zz").bind(SCOPE), "no column zz"),
        (lambda: predicate(close, "A.i", "B.s").bind(SCOPE), "cannot take B.s"),
        (lambda: predicate(close, "A.i").bind(SCOPE), "cannot compile the predicate close"),
        (lambda: predicate(lambda x: x.nothing, "A.i").bind(SCOPE), "cannot compile"),
        (lambda: predicate(lambda x: x * 0.5, "A.i").bind(SCOPE), "must return True or False"),
    ],
)
def test_user_predicate_refused(make, message):
    """A function that cannot be compiled for its columns, or gives no truth, is refused at once."""
    with pytest.raises(QueryError, match=message):
        make()
