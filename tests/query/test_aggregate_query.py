"""Aggregates: what `group_by` and `aggregates` declare, in Python and in SQL, and what is refused."""

import pickle

import pytest
from attrs.exceptions import FrozenInstanceError
from hypothesis import given
from hypothesis import strategies as st

from eddy.errors import QueryError
from eddy.intake.intake import stored_columns
from eddy.query.aggregates import AggregateOutput
from eddy.query.expressions import Reference
from eddy.query.query import Output, Query, Stream
from eddy.query.sql import sql
from eddy.query.windows import Rows
from eddy.values.types import column_type

INT64, FLOAT64 = column_type("int64"), column_type("float64")
STREAMS = {
    "A": Stream({"x": "int64", "y": "string", "at": "timestamp[ms, UTC]", "flag": "bool"}, Rows(5)),
    "B": {"x": "int64", "v": "int32", "u": "uint64", "f": "float32", "a b": "float64"},
}
WHERE = "A.x = B.x"
V = Reference("B", "v", column_type("int32"))


def made(group_by=None, aggregates=None, **rest):
    return Query(STREAMS, WHERE, group_by=group_by, aggregates=aggregates, **rest)


def test_parts():
    """An aggregate query has groups and aggregates, and says what it fetches and what it shows."""
    query = made(["A.x", "y AS name"], {"n": "COUNT(*)", "total": "SUM(B.v)", "most": "MAX(v)"})
    assert query.group_by == (
        Output("A.x", "A", "x", INT64),
        Output("name", "A", "y", column_type("string")),
    )
    assert query.aggregates == (
        AggregateOutput("n", "COUNT", (), INT64),
        AggregateOutput("total", "SUM", (V,), INT64),
        AggregateOutput("most", "MAX", (V,), column_type("int32")),
    )
    assert [(name, str(kind)) for name, kind in query.outputs] == [
        ("A.x", "int64"),
        ("name", "string"),
        ("n", "int64"),
        ("total", "int64"),
        ("most", "int32"),
    ]
    assert [(o.stream, o.column) for o in query.select] == [("A", "x"), ("A", "y"), ("B", "v")]
    assert stored_columns(query) == {"A": {"x", "y"}, "B": {"v"}}


def test_one_group():
    """Without group_by all results are one group; COUNT(*) alone needs no column."""
    for groups in (None, (), []):
        query = made(groups, {"n": "COUNT(*)"})
        assert (query.group_by, query.select) == ((), ())
        assert query.outputs == (("n", INT64),)
        assert stored_columns(query) == {"A": set(), "B": set()}


def test_without_aggregates():
    """A plain query shows what it selects."""
    query = Query(STREAMS, WHERE, ["A.x", "B.f AS g"])
    assert (query.group_by, query.aggregates) == ((), ())
    assert query.outputs == (("A.x", INT64), ("g", column_type("float32")))


def test_over_a_difference():
    """The rows of the base that are left can be grouped and aggregated."""
    query = Query(STREAMS, minus={"B": WHERE}, group_by="y", aggregates={"n": "COUNT(*)", "last": "MAX(x)"})
    assert [(o.name, o.stream) for o in query.group_by] == [("y", "A")]
    assert query.aggregates[1] == AggregateOutput(
        "last", "MAX", (Reference("A", "x", INT64),), INT64
    )  # B.x is not in question
    with pytest.raises(QueryError, match="B is subtracted, so a result has no column of it"):
        Query(STREAMS, minus={"B": WHERE}, aggregates={"s": "SUM(B.v)"})
    with pytest.raises(QueryError, match="B is subtracted"):
        Query(STREAMS, minus={"B": WHERE}, group_by=["B.x"], aggregates={"n": "COUNT(*)"})


@pytest.mark.parametrize("function", ["COUNT", "SUM", "AVG", "MIN", "MAX", "MEDIAN"])
@pytest.mark.parametrize(
    "column", ["A.x", "A.y", "A.at", "A.flag", "B.v", "B.u", "B.f", 'B."a b"'], ids=lambda name: name[-2:]
)
def test_types(function, column):
    """Each aggregate has its type; of strings and times there are a count, the first and the last."""
    stream, name = column.replace('"', "").split(".")
    kind = Query(STREAMS, WHERE).streams[stream].columns[name]
    if kind.kind in ("string", "timestamp") and function not in ("COUNT", "MIN", "MAX"):
        with pytest.raises(
            QueryError, match=f"cannot take {function}.*COUNT, MIN, MAX, QUANTILE_DISC, FIRST, LAST"
        ):
            made(aggregates={"a": f"{function}({column})"})
        return
    (found,) = made(aggregates={"a": f"{function}({column})"}).aggregates
    whole_sum = INT64 if kind.kind != "float" else FLOAT64
    expected = {"COUNT": INT64, "SUM": whole_sum, "AVG": FLOAT64, "MEDIAN": FLOAT64}.get(function, kind)
    assert found == AggregateOutput("a", function, (Reference(stream, name, kind),), expected)


def test_ways_to_write_one():
    """Case, blanks and a missing stream make no difference."""
    for text in ("SUM(B.v)", " sum( v ) ", 'Sum("B"."v")', "SUM(ALL B.v)"):
        assert made(aggregates={"a": text}).aggregates == (AggregateOutput("a", "SUM", (V,), INT64),)


def test_values():
    """What a query is made of cannot be changed, and survives pickling."""
    query = made("A.x", {"n": "COUNT(*)", "m": "MEDIAN(B.f)"})
    with pytest.raises(FrozenInstanceError):
        query.aggregates[0].name = "other"
    copy = pickle.loads(pickle.dumps(query))
    assert (copy.group_by, copy.aggregates, copy.outputs) == (query.group_by, query.aggregates, query.outputs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"group_by": "A.x", "aggregates": None}, "no aggregate for the groups: add one, such as"),
        ({"aggregates": {}}, "no aggregate for the groups"),
        ({"aggregates": ["COUNT(*)"]}, "aggregates takes a dict of names and aggregates"),
        ({"aggregates": "COUNT(*)"}, "aggregates takes a dict"),
        ({"aggregates": {3: "COUNT(*)"}}, "names of aggregates must be texts"),
        ({"aggregates": {"": "COUNT(*)"}}, "names of aggregates must be texts"),
        ({"aggregates": {"n": 3}}, r"an eddy.Aggregate of columns, or an eddy.aggregate_function, not 3"),
        ({"aggregates": {"n": " "}}, "the aggregate n must be a text"),
        ({"aggregates": {"n": "SUM("}}, "cannot read"),
        ({"aggregates": {"n": "B.v"}}, r"cannot aggregate B\.v: write one of COUNT, SUM, AVG, MIN, MAX, MEDIAN"),
        ({"aggregates": {"n": "KURTOSIS(B.v)"}}, r"cannot aggregate KURTOSIS\(B\.v\): write one of"),
        ({"aggregates": {"n": "GROUP_CONCAT(B.v)"}}, r"write ARRAY_AGG\(\.\.\.\), and join the texts"),
        ({"aggregates": {"n": "ANY_VALUE(B.v)"}}, r"write FIRST\(\.\.\.\)"),
        ({"aggregates": {"n": "LIST(B.v)"}}, r"write ARRAY_AGG\(\.\.\.\)"),
        ({"aggregates": {"n": "APPROX_QUANTILE(B.v, 0.5)"}}, r"write QUANTILE_CONT"),
        ({"aggregates": {"n": "QUANTILE_CONT(B.v)"}}, r"the share of a quantile is a constant from 0 to 1"),
        ({"aggregates": {"n": "QUANTILE_CONT(B.v, 1.1)"}}, r"the share of a quantile is a constant from 0 to 1"),
        ({"aggregates": {"n": "QUANTILE_CONT(B.v, B.u)"}}, r"the share of a quantile is a constant from 0 to 1"),
        ({"aggregates": {"n": "QUANTILE_DISC(B.v, 0.12345678901)"}}, r"at most 9 decimals"),
        ({"aggregates": {"n": "QUANTILE_CONT(A.y, 0.5)"}}, r"A\.y is a string; of these there are COUNT, MIN, MAX, Q"),
        ({"aggregates": {"n": "PERCENTILE_CONT(0.5)"}}, r"write QUANTILE_CONT"),
        ({"aggregates": {"n": "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY B.v, B.u)"}}, r"of one value"),
        ({"aggregates": {"n": "PERCENTILE_DISC(0.2) WITHIN GROUP (ORDER BY B.v DESC)"}}, r"take the share 0\.8"),
        ({"aggregates": {"n": "BOOL_AND(B.v)"}}, r"write BOOL_AND\(B\.v <> 0\)"),
        ({"aggregates": {"n": "ARRAY_AGG(B.v ORDER BY B.u)"}}, r"ARRAY_AGG has the order of events, and no other"),
        ({"aggregates": {"n": "ARRAY_AGG(DISTINCT B.v)"}}, r"GROUP BY B\.v as well"),
        ({"aggregates": {"n": "SUM(B.v) IGNORE NULLS"}}, r"SUM passes over NULL anyway"),
        ({"aggregates": {"n": "QUANTILE_DISC(DISTINCT A.y, 0.5)"}}, r"leave DISTINCT out"),
        ({"aggregates": {"n": "SUM(B.v) + 1"}}, r"cannot aggregate SUM\(B\.v\) \+ 1: write one of"),
        ({"aggregates": {"n": "SUM(B.v) OVER ()"}}, "write one of"),
        ({"aggregates": {"n": "SUM(B.v) FILTER (WHERE B.v)"}}, "something true or false is needed"),
        ({"aggregates": {"n": "SUM(B.v) AS s"}}, "write one of"),
        ({"aggregates": {"n": "SELECT COUNT(*) FROM A"}}, "write one of"),
        ({"aggregates": {"n": "SUM(*)"}}, r"cannot aggregate SUM\(\*\): SUM takes one value, such as SUM\(B\.v\)"),
        ({"aggregates": {"n": "SUM(B.v + A.y)"}}, r"cannot compute B\.v"),
        ({"aggregates": {"n": "SUM(SUM(B.v))"}}, "an aggregate of an aggregate needs an engine of its own"),
        ({"aggregates": {"n": "MIN(NULL)"}}, r"it is always NULL; write CAST\(NULL AS BIGINT\)"),
        ({"aggregates": {"n": "MIN(B.v, B.u)"}}, "MIN takes one value"),
        ({"aggregates": {"n": "SUM(B.v ORDER BY B.u)"}}, "SUM takes one value"),
        ({"aggregates": {"n": "COUNT()"}}, r"COUNT takes \* or one value"),
        ({"aggregates": {"n": "COUNT(B.*)"}}, r"COUNT takes \* or one value"),
        ({"aggregates": {"n": "COUNT(* EXCEPT (x))"}}, r"COUNT takes \* or one value"),
        ({"aggregates": {"n": "COUNT(DISTINCT B.v, B.u)"}}, r"DISTINCT takes one value, such as"),
        ({"aggregates": {"n": "SUM(B.vv)"}}, "stream B has no column vv: did you mean v"),
        ({"aggregates": {"n": "SUM(x)"}}, "column x is ambiguous"),
        ({"aggregates": {"A.x": "COUNT(*)"}}, r"two output columns are called A\.x: rename one"),
        ({"group_by": ["A.x", "A.y AS \"A.x\""]}, r"two output columns are called A\.x"),
        ({"group_by": 3}, "group_by takes a column"),
        ({"group_by": [""]}, "cannot group by ''"),
        ({"group_by": ["A.x + A.y"]}, r"cannot group by A\.x \+ A\.y: cannot compute"),
        ({"group_by": ["COUNT(*)"]}, "an aggregate goes into aggregates"),
        ({"group_by": ["A.z"]}, "stream A has no column z"),
        ({"select": ["A.x"]}, "select does not go with aggregates=, and neither do having and distinct"),
    ],
)  # fmt: skip
def test_refused(arguments, message):
    """Aggregates that mean nothing are refused when the query is made, and the message says what to do."""
    with pytest.raises(QueryError, match=message):
        made(**{"group_by": ["A.x"], "aggregates": {"n": "COUNT(*)"}} | arguments)


def test_select_with_aggregates():
    """In Python as in SQL: what is selected may be aggregates, and expressions of them and of what is grouped."""
    query = Query(
        STREAMS,
        WHERE,
        select=["COUNT(*) + 1 AS more", "A.x % 2 AS odd"],
        group_by=["A.x % 2"],
        having="MAX(A.y) > 'a'",
    )
    assert [(name, str(kind)) for name, kind in query.outputs] == [("more", "int64"), ("odd", "int64")]
    assert [str(one) for one in query.aggregates] == ["COUNT(*)", "MAX(A.y)"]
    same = sql(
        """SELECT COUNT(*) + 1 AS more, A.x % 2 AS odd FROM A, B WHERE A.x = B.x GROUP BY 2 HAVING MAX(y) > 'a'""",
        query.streams,
    )
    assert str(same) == str(query)
    for wrong, message in (
        ({"select": ["A.x", "COUNT(*)"]}, r"A\.x is neither grouped nor aggregated"),
        ({"select": ["A.x"], "having": "COUNT(*) > 1"}, "having is of groups"),
        ({"select": ["A.x"], "group_by": "A.x", "having": 3}, "having takes a condition"),
        ({"select": ["A.x"], "group_by": "A.x", "having": "COUNT(*)"}, "true or false is needed"),
        ({"select": ["A.x"], "group_by": "A.x", "distinct": True}, "DISTINCT does not go with groups"),
    ):
        with pytest.raises(QueryError, match=message):
            Query(STREAMS, WHERE, **wrong)


def test_sql():
    """SELECT with aggregates and GROUP BY gives the query that Python would build."""
    query = sql(
        """SELECT A.x, y AS name, COUNT(*) AS n, SUM(B.v) total, avg(f)
           FROM A [ROWS 7], B WHERE A.x = B.x AND B.v > 1 GROUP BY y, A.x""",
        STREAMS,
    )
    same = made(
        ["A.x", "A.y AS name"], {"n": "COUNT(*)", "total": "SUM(B.v)", "AVG(f)": "AVG(B.f)"}
    )  # the order of SELECT, whatever that of GROUP BY
    assert (query.group_by, query.aggregates) == (same.group_by, same.aggregates)
    assert (query.outputs, query.select) == (same.outputs, same.select)
    assert query.streams["A"].window == Rows(7)


def test_sql_over_a_difference():
    """A column without a stream is one of the base."""
    query = sql("SELECT x, COUNT(*) FROM A EXCEPT B [ROWS 5] ON A.x = B.x WHERE A.flag GROUP BY x", STREAMS)
    assert (query.base, query.group_by) == ("A", (Output("x", "A", "x", INT64),))
    assert query.aggregates == (AggregateOutput("COUNT(*)", "COUNT", (), INT64),)


def test_sql_one_group():
    """Aggregates alone need no GROUP BY."""
    query = sql("SELECT COUNT(y), MIN(at) AS first FROM A JOIN B ON A.x = B.x", STREAMS)
    assert [name for name, _ in query.outputs] == ["COUNT(y)", "first"]
    assert query.group_by == ()


@pytest.mark.parametrize(
    ("columns", "rest", "message"),
    [
        ("A.x, COUNT(*)", "", r"A\.x is neither grouped nor aggregated: add it to GROUP BY"),
        ("A.x, B.v, COUNT(*)", "GROUP BY A.x", r"B\.v is neither grouped nor aggregated"),
        ("*, COUNT(*)", "GROUP BY A.x", r"\* does not go with aggregates: name the columns of GROUP BY"),
        ("A.*, COUNT(*)", "GROUP BY A.x", r"A\.\* does not go with aggregates"),
        ("A.x, COUNT(*)", "GROUP BY 3", r"GROUP BY 3: SELECT has 2 items"),
        ("A.x, COUNT(*)", "GROUP BY A.x + 1", r"A\.x is neither grouped nor aggregated"),
        ("A.x, COUNT(*)", "GROUP BY ROLLUP (A.x)", "cannot group by ROLLUP"),
        ("A.x, COUNT(*)", "GROUP BY A.x WITH ROLLUP", "GROUP BY takes columns"),
        ("DISTINCT A.x, COUNT(*)", "GROUP BY A.x", "DISTINCT does not go with groups"),
        ("SUM(B.v) OVER (PARTITION BY A.x)", "", "is not supported: write GROUP BY, with a window in"),
        ("(SELECT COUNT(*) FROM B)", "", "is not supported here: one value of many rows"),
        ("SUM(y)", "", r"cannot take SUM\(A\.y\): A\.y is a string"),
        ("COUNT(*), COUNT(*)", "", r"two output columns are called COUNT\(\*\)"),
        ("COUNT(*) n, SUM(B.v) n", "", "two output columns are called n"),
        ("A.x AS n, COUNT(*) AS n", "GROUP BY A.x", "two output columns are called n"),
        ("A.x, COUNT(*)", "GROUP BY A.x ORDER BY B.v", "a table is sorted by what is selected"),
        ("COUNT(*)", "AND SUM(B.v) > 3", r"SUM\(B\.v\) is an aggregate, which is not supported in a predicate"),
    ],
)  # fmt: skip
def test_sql_refused(columns, rest, message):
    """What a changelog of groups cannot show is refused, and the message says what to write."""
    with pytest.raises(QueryError, match=message):
        sql(f"SELECT {columns} FROM A, B WHERE A.x = B.x {rest}", STREAMS)


def test_printed():
    """GROUP BY comes last, and an aggregate that is called by its own text needs no AS."""
    query = made(["A.x", "A.y AS name"], {"n": "COUNT(*)", "SUM(B.v)": "SUM(B.v)"})
    assert str(query).splitlines() == [
        "SELECT A.x, A.y AS name, COUNT(*) AS n, SUM(B.v)",
        "FROM A [ROWS 5], B",
        "WHERE A.x = B.x",
        "GROUP BY A.x, A.y",
    ]


groups = st.lists(st.sampled_from(["A.x", "y AS name", "A.at", 'A.flag AS "group"']), max_size=3, unique=True)
names = st.sampled_from(["n", "COUNT(*)", "group", 'a "b"', "SUM(A.x)", "MIN(A.at)"])
texts = st.sampled_from(["COUNT(*)", "COUNT(A.y)", "SUM(A.x)", "MIN(A.at)", "MEDIAN(A.flag)", "AVG(A.x)"])


@given(groups, st.dictionaries(names, texts, min_size=1, max_size=4), st.booleans())
def test_round_trip(grouped, aggregates, subtract):
    """An aggregate query prints as SQL that gives the same query."""
    if 'A.flag AS "group"' in grouped:
        aggregates = {name: text for name, text in aggregates.items() if name != "group"} or {"n": "COUNT(*)"}
    rest = {"minus": {"B": WHERE}} if subtract else {"where": WHERE}
    query = Query(STREAMS, group_by=grouped, aggregates=aggregates, **rest)
    again = sql(str(query), {name: stream.columns for name, stream in query.streams.items()})
    assert str(again) == str(query)
    assert (again.group_by, again.aggregates, again.select) == (
        query.group_by,
        query.aggregates,
        query.select,
    )
    assert (again.base, again.outputs) == (query.base, query.outputs)
