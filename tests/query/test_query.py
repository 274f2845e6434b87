"""Queries: what a list of predicates comes to, and what is refused."""

import math
import pickle

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from eddy.errors import QueryError
from eddy.query.predicate import predicate
from eddy.query.query import Output, Query, Stream
from eddy.query.residual import residuals
from eddy.query.sql import sql
from eddy.query.windows import Rows
from eddy.values.types import Column, column_type
from tests.three_valued import SCOPE, parse, table

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
        ({"streams": {}}, "at least two streams, and this one has 0"),
        ({"streams": {"A": {"x": "int64"}}}, "at least two streams"),
        ({"streams": ["A", "B"]}, "as a dict"),
        ({"streams": {"A": {}, "B": {"x": int}}}, "at least one column"),
        ({"streams": {"A": {"x": "int65"}, "B": {"x": int}}}, "unknown column type 'int65'"),
        ({"streams": {"A": 3, "B": {"x": int}}}, "columns as a dict"),
        ({"where": "A.x = B.z"}, "stream B has no column z"),
        ({"where": [3]}, "must be a text"),
        ({"select": ["A.x + 1"]}, "select takes columns"),
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
        (pa.table(MANY), "Stream(table.schema)"),
        (pa.table(MANY).to_batches()[0], "Stream(batch.schema)"),
        (pandas.DataFrame(MANY), "Stream(pyarrow.Schema.from_pandas(frame, preserve_index=False))"),
        (polars.DataFrame(MANY), "Stream(frame.to_arrow().schema)"),
        (MANY, "values are not a type: give that of the column, such as 'int64'"),
        (dict(pandas.DataFrame(MANY)), "values are not a type"),
        (list(range(1000)), "a dict of names and types"),
        (MANY["ts"], "a dict of names and types"),
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
    """A window must be one of the four kinds."""
    with pytest.raises(QueryError, match="a window is Rows, Range, Tumbling or Unbounded"):
        Stream({"x": "int64"}, window=5)


def test_identity():
    """A query is equal only to itself; a pickled copy has the same parts."""
    query = Query(STREAMS, ["A.x = B.x", "ABS(B.hi - C.w) <= 3", "A.y > 0.5"])
    copy = pickle.loads(pickle.dumps(query))
    assert query != copy
    assert len({query, copy, query}) == 2
    assert str(copy) == str(query)
    assert copy.residuals[0].range_for("B").index == query.residuals[0].range_for("B").index


def ranges(text, stream):
    (residual,) = residuals([parse(text)])
    form = residual.range_for(stream)
    return (
        None if form is None else tuple(part and str(part) for part in (form.index, form.lower, form.upper))
    )


@pytest.mark.parametrize(
    ("text", "stream", "expected"),
    [
        ("A.i < B.i", "A", ("A.i", None, "B.i")),
        ("A.i < B.i", "B", ("B.i", "A.i", None)),
        ("A.i + 1 = B.i", "A", ("A.i + 1", "B.i", "B.i")),
        ("A.i - B.i >= 3", "A", ("A.i", "3 + B.i", None)),
        ("A.i - B.i >= 3", "B", ("B.i", None, "- 3 + A.i")),
        ("3 >= B.i + A.i", "B", ("B.i", None, "3 - A.i")),
        ("ABS(A.i - B.i) <= A.h", "B", ("B.i", "- A.h + A.i", "A.h + A.i")),
        ("ABS(A.i - B.i) <= 3", "A", ("A.i", "- 3 + B.i", "3 + B.i")),
        ("A.i BETWEEN B.i - 2 AND B.i + 2", "A", ("A.i", "B.i - 2", "B.i + 2")),
        (
            "ABS(A.t - B.m) < INTERVAL 1 MINUTE",
            "A",
            ("A.t", "- INTERVAL '60 s' + B.m", "INTERVAL '60 s' + B.m"),
        ),
        ("ABS(A.i - B.i) >= 3", "A", None),
        ("ABS(A.i - B.i) <= A.h", "A", None),
        ("A.i != B.i", "A", None),
        ("A.s < B.s", "A", None),
        ("A.i * B.i < 3", "A", None),
        ("A.i < B.i OR A.f < B.f", "A", None),
    ],
)
def test_ranges(text, stream, expected):
    """A comparison whose sides can be separated gives a range for an index over either stream."""
    assert ranges(text, stream) == expected


def test_bounds_are_paired():
    """A lower and an upper bound of the same expression become one residual, others stay apart."""
    found = residuals([parse("B.i <= A.i"), parse("A.f < B.f"), parse("A.i <= B.u"), parse("A.i < B.h")])
    assert [r.text for r in found] == ["B.i <= A.i AND A.i <= B.u", "A.f < B.f", "A.i < B.h"]


pairs = st.tuples(
    st.sampled_from(["A.i", "A.u", "A.f", "A.g", "A.h"]),
    st.sampled_from(["B.i", "B.u", "B.f", "B.h"]),
    st.sampled_from(["B.i", "B.f", "1", "0.1", "9007199254740993", "-3"]),
    st.sampled_from(["<", "<=", ">", ">=", "="]),
)
bounded = pairs.flatmap(
    lambda p: st.sampled_from(
        [
            "{0} {3} {1}",
            "{0} + {1} {3} {2}",
            "{1} - {0} {3} {2}",
            "{2} {3} {1} - ({0} - {2})",
            "ABS({0} - {1}) {3} {2}",
            "ABS({1} - {0} + {2}) {3} 1e18",
            "{0} BETWEEN {1} - 1 AND {1} + 1",
        ]
    ).map(lambda form: form.format(*p))
)
times = st.sampled_from(
    [
        "A.t <= B.n",
        "ABS(A.m - B.n) <= INTERVAL '1' SECOND",
        "A.n - INTERVAL '1' MS < B.t",
        "A.t - B.m = 999",
        "A.m + 1 > B.t",
    ]
)


@given(bounded | times, st.data())
def test_ranges_lose_nothing(text, data):
    """Wherever a predicate is true, its range holds too, at every edge of every type."""
    (residual,) = residuals([parse(text)])
    rows, get = table(data.draw, residual.columns)
    n = len(rows)
    true = residual.holds(get, n)
    for stream in "AB":
        form = residual.range_for(stream)
        if form is None:
            continue
        assert form.index.streams == {stream}
        index = values(form.index, get, n)
        if form.lower is not None:
            assert stream not in form.lower.streams
            assert (values(form.lower, get, n) <= index)[true].all()
        if form.upper is not None:
            assert (index <= values(form.upper, get, n))[true].all()


def values(expression, get, n):
    column = expression.evaluate(get)
    assert column.values.dtype == np.float64
    found = np.where(True if column.valid is None else column.valid, column.values, math.nan)
    return np.broadcast_to(found, n)


@njit
def close(x, y):
    return abs(x - y) < 2


def test_user_predicate():
    """A user's function is compiled with the query, and holds where it is true and nothing is NULL."""
    query = Query(STREAMS, [predicate(close, "A.x", "B.x"), "B.x = C.w", predicate(lambda w: w > 0, "C.w")])
    (residual,) = query.residuals
    assert (residual.text, residual.streams) == ("close(A.x, B.x)", {"A", "B"})
    assert residual.range_for("A") is None
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
        (lambda: predicate(close), "needs the columns"),
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
