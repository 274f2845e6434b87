"""Variances, quantiles, booleans, first and last, lists, and functions of one's own, by hand and against fractions."""

from __future__ import annotations

import math
import pickle
import random
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.aggregate.groups import Groups
from eddy.query.quantile import quantile
from eddy.values.types import FLOAT64, INT64, UINT64, Column
from tests.naive import between, deviation, root

STREAMS = {
    "A": eddy.Stream({"k": "int64", "g": "string"}),
    "B": eddy.Stream(
        {"k": "int64", "v": "int64", "s": "string", "f": "float64", "b": "bool"}, window=eddy.Rows(4)
    ),
}
FLOATS = [1.5, -0.1, 1e300, -1e300, 5e-324, 1e-310, 2.0**53, 3.0, 0.0, -0.0, 1e16, 1.0 / 3, 1e-200]
WHOLE = [2**63 - 1, -(2**63), 0, 1, -1, 2**53 + 1, 10**18, 7]


def shown(function, kind, values, signs):
    """What a group shows in the end, of values that come and go one after the other."""
    groups, n = Groups([], [(function, (kind,))]), len(values)
    column = Column(np.array(values, kind.dtype))
    groups.step([], [[column]], np.array(signs, np.int8), np.arange(n, dtype=np.int32))
    (found,) = groups.table()[1]
    return found.values[0].item() if found.known[0] else None


def rounded(value):
    """A Fraction or a float as the nearest float, infinite beyond all."""
    try:
        return None if value is None else float(value)
    except OverflowError:
        return math.inf


def exact_variance(values, less):
    """`deviation` for numbers whose variance may be beyond float64."""
    try:
        return deviation(values, less)
    except OverflowError:
        return math.inf


@pytest.mark.parametrize("kind, domain", [(FLOAT64, FLOATS), (INT64, WHOLE), (UINT64, [0, 1, 2**64 - 1, 9])])
def test_variances_and_quantiles_are_rounded_once_and_leave_no_trace(kind, domain):
    """Values of all magnitudes come and go in any order: what is shown is that of those that are left."""
    pick = random.Random(7)
    for _ in range(60):
        left = [pick.choice(domain) for _ in range(pick.randrange(1, 7))]
        gone = [pick.choice(domain) for _ in range(pick.randrange(5))]
        rows = [*((1, value) for value in [*left, *gone])]
        pick.shuffle(rows)
        rows += [(-1, value) for value in gone]
        signs, values = zip(*rows, strict=True)
        for name, less in (("VAR_SAMP", 1), ("VAR_POP", 0)):
            wanted = exact_variance(left, less)
            assert shown(name, kind, values, signs) == wanted, (name, left)
            assert shown(name.replace("VAR", "STDDEV"), kind, values, signs) == root(wanted)
        for share in ("0", "0.25", "0.9", "0.333333333", "1"):
            wanted = between(left, Fraction(share))
            assert shown(quantile(share, False, False), kind, values, signs) == wanted, (share, left)


def test_variances_of_what_is_not_finite():
    """NaN while an infinity or NaN is there, and not a moment longer."""
    for odd in (math.inf, -math.inf, math.nan):
        assert math.isnan(shown("VAR_POP", FLOAT64, [1.0, odd, 4.0], [1, 1, 1]))
        assert shown("VAR_POP", FLOAT64, [1.0, odd, 4.0, odd], [1, 1, 1, -1]) == 2.25
        assert shown("VAR_SAMP", FLOAT64, [odd, 4.0, odd], [1, 1, -1]) is None
    assert shown("STDDEV_POP", FLOAT64, [1e300], [1]) == 0.0
    assert shown("VAR_POP", FLOAT64, [1e200, -1e200], [1, 1]) == math.inf  # as the exact number is, rounded


def test_variances_of_many_values():
    """Counts that need more than one digit of 32 bits in the quotient are exact too."""
    n = 70_000
    values = np.arange(n, dtype=np.int64) * 1_000_003
    signs = np.ones(n, np.int8)
    assert shown("VAR_POP", INT64, values, signs) == float(Fraction(1_000_003**2 * (n * n - 1), 12))
    assert shown("VAR_SAMP", INT64, values, signs) == float(Fraction(1_000_003**2 * n * (n + 1), 12))


def test_against_duckdb():
    """The same rows, in DuckDB's words: all that come, then the window of the last four."""
    items = {
        "sd": "STDDEV(B.v)",
        "sp": "STDDEV_POP(B.f)",
        "va": "VARIANCE(B.f)",
        "vp": "VAR_POP(B.v)",
        "vs": "VAR_SAMP(DISTINCT B.v)",
        "q": "QUANTILE_CONT(B.v, 0.25)",
        "qf": "QUANTILE_CONT(B.f, 0.9) FILTER (WHERE B.v > 1)",
        "qd": "QUANTILE_DISC(B.s, 0.6)",
        "pc": "PERCENTILE_CONT(0.4) WITHIN GROUP (ORDER BY B.f)",
        "pd": "PERCENTILE_CONT(0.4) WITHIN GROUP (ORDER BY B.f DESC)",
        "ba": "BOOL_AND(B.b)",
        "bo": "BOOL_OR(B.b) FILTER (WHERE B.v < 3)",
        "mb": "MAX(B.b)",
        "f": "FIRST(B.s ORDER BY B.n)",
        "l": "LAST(B.v ORDER BY B.n) FILTER (WHERE B.v IS NOT NULL)",
        "a": "ARRAY_AGG(B.s ORDER BY B.n)",
        "af": "ARRAY_AGG(B.v ORDER BY B.n) FILTER (WHERE B.f > 1)",
        "h": "COUNT(DISTINCT B.v)",
    }
    pick = random.Random(3)
    rows = [
        {
            "n": n,
            "g": pick.choice(["x", "y", None]),
            "v": pick.choice([None, 1, 2, 3, 8]),
            "s": pick.choice([None, "a", "b", "cc"]),
            "f": pick.choice([None, 0.5, 1.25, -3.0, 7.75]),
            "b": pick.choice([None, True, False]),
        }
        for n in range(40)
    ]
    kinds = {"n": "int64", "g": "string", "v": "int64", "s": "string", "f": "float64", "b": "bool"}
    ours = ", ".join(f"{text.replace(' ORDER BY B.n', '')} AS {name}" for name, text in items.items())
    theirs = ", ".join(f"{text} AS {name}" for name, text in items.items())
    query = eddy.sql(f"SELECT B.g AS g, {ours} FROM B [ROWS 9] GROUP BY B.g", {"B": kinds})
    assert str(eddy.sql(str(query), {"B": kinds})) == str(query)
    engine = eddy.Eddy(query)
    for n in range(0, 40, 3):
        engine.push("B", pa.Table.from_pylist(rows[n : n + 3]).cast(pa.schema([*_schema(kinds)])))
        B = pa.Table.from_pylist(rows[: n + 3][-9:], pa.schema([*_schema(kinds)]))
        assert len(B)
        wanted = duckdb.sql(f"SELECT B.g, {theirs} FROM B GROUP BY B.g").to_arrow_table().to_pylist()
        found = engine.table().to_arrow().to_pylist()
        assert sorted(map(_near, found), key=str) == sorted(map(_near, wanted), key=str)


def _schema(kinds):
    types = {"int64": pa.int64(), "string": pa.string(), "float64": pa.float64(), "bool": pa.bool_()}
    return [(name, types[kind]) for name, kind in kinds.items()]


def _near(row):
    return {name: float(f"{value:.9g}") if isinstance(value, float) else value for name, value in row.items()}


def joined(aggregates, **options):
    """An engine for aggregates of A and B."""
    return eddy.Eddy(eddy.Query(STREAMS, "A.k = B.k", aggregates=aggregates), **options)


def b(*values):
    """Rows of B with these values, all under one key."""
    n = len(values)
    return {"k": [1] * n, "v": list(values), "s": list(map(str, values)), "f": [0.5] * n, "b": [True] * n}


@pytest.mark.parametrize("options", [{}, {"threads": 2}, {"batch_size": 1}, {"plan": "stems"}])
def test_results_of_one_event_are_ordered_by_their_second_latest(options):
    """Three rows of A meet one of B at one event: the oldest of A comes first, whatever the plan and the batches."""
    order = {"first": "FIRST(A.g)", "last": "LAST(A.g)", "all": "ARRAY_AGG(A.g)"}
    engine = joined(order, **options)
    engine.push("A", {"k": [1, 1, 1], "g": ["one", "two", None]})
    engine.push("B", b(5))
    wanted = {"first": ["one"], "last": [None], "all": [["one", "two", None]]}
    assert engine.table().to_pydict() == wanted
    engine.push("A", {"k": [1], "g": ["four"]})
    wanted = {"first": ["one"], "last": ["four"], "all": [["one", "two", None, "four"]]}
    assert engine.table().to_pydict() == wanted
    engine.push("B", b(1, 2, 3, 4))
    assert engine.table().to_pydict()["all"][0] == ["one", "two", None, "four"] * 4


def test_the_order_survives_a_restart(tmp_path):
    """Streams are saved one after the other; which event was later is saved with each row."""
    engine = joined({"all": "ARRAY_AGG(B.v)"})
    engine.push("B", b(1, 2))
    engine.push("A", {"k": [1], "g": ["x"]})
    engine.push("B", b(3))
    engine.push("A", {"k": [1], "g": ["y"]})
    before = engine.table().to_pydict()
    assert before == {"all": [[1, 2, 3, 1, 2, 3]]}
    engine.save(tmp_path / "saved")
    again = eddy.Eddy.load(tmp_path / "saved")
    assert again.table().to_pydict() == before
    for one in (engine, again):
        one.push("B", b(4, 5))
    assert again.table().to_pydict() == engine.table().to_pydict() == {"all": [[2, 3, 2, 3, 4, 4, 5, 5]]}


def test_strings_that_are_not_known_yet():
    """A NULL has no code: nothing is decoded for it, whatever the pool holds. (It was, and never ended.)"""
    engine = joined({"first": "FIRST(A.g)", "all": "ARRAY_AGG(A.g)"})
    assert engine.table().to_pydict() == {"first": [None], "all": [None]}
    engine.push("A", {"k": [1], "g": [None]})
    engine.push("B", b(1))
    assert engine.table().to_pydict() == {"first": [None], "all": [[None]]}


def test_strings_stay_while_they_are_shown():
    """Codes of strings that only a list or a function's value holds are not given out again."""
    last = eddy.aggregate_function(lambda s: s[-1].as_py() * 2, "B.s", type="string", name="twice")
    engine = joined({"first": "FIRST(UPPER(B.s))", "held": "ARRAY_AGG(B.s)", "twice": last})
    engine.push("A", {"k": [1], "g": ["x"]})
    for start in range(0, 20_000, 2000):
        engine.push("B", b(*range(start, start + 2000)))
        engine.push("B", {**b(*range(2000)), "k": [2] * 2000})
        engine.push("B", b(start))
    assert engine.table().to_pydict() == {"first": ["18000"], "held": [["18000"]], "twice": ["1800018000"]}


def test_a_list_that_stays_the_same_is_not_told():
    """The row that goes and the one that comes are equal, so the list is; NaN equals itself."""
    engine = joined({"all": "ARRAY_AGG(B.f)"})
    engine.push("A", {"k": [1], "g": ["x"]})
    engine.push("B", {**b(1, 2, 3, 4), "f": [math.nan] * 4})
    assert len(engine.push("B", {**b(5), "f": [math.nan]})) == 0
    assert len(engine.push("B", {**b(5), "f": [None]})) == 2


def mean_length(values, others):
    """The mean of the texts' lengths and how many others there are that are not NULL."""
    known = [len(value) for value in values.to_pylist() if value is not None]
    return sum(known) / len(known) + len(others) - others.null_count if known else None


def test_a_function_of_the_users_own():
    """It is given all live values of a group that changes, in order, with nulls; without results it is not called."""
    calls = []

    def seen(values):
        calls.append(values.to_pylist())
        return len(values)

    function = eddy.aggregate_function(mean_length, "A.g", "B.v + 1", type="float64")
    engine = joined({"n": eddy.aggregate_function(seen, "B.v", type="int64"), "m": function})
    assert engine.table().to_pydict() == {"n": [None], "m": [None]} and calls == []
    engine.push("A", {"k": [1], "g": ["abc"]})
    engine.push("B", b(7, None))
    assert calls == [[7], [7, None]]
    assert engine.table().to_pydict() == {"n": [2], "m": [4.0]}
    engine.push("B", b(1, 2, 3))
    assert calls[-1] == [None, 1, 2, 3]


def test_a_function_of_ones_own_in_sql():
    """It is called by its name, in any case; the text is read back, and the query can be pickled."""
    own = eddy.aggregate_function(mean_length, type="float64")
    text = "SELECT A.g, MEAN_length(A.g, v) AS m FROM A, B WHERE A.k = B.k GROUP BY A.g"
    query = eddy.sql(text, STREAMS, aggregates=[own])
    again = eddy.sql(str(query), STREAMS, aggregates=[own])
    assert str(again) == str(query) and again.aggregates == query.aggregates
    assert pickle.loads(pickle.dumps(query)).aggregates == query.aggregates
    engine = eddy.Eddy(query)
    engine.push("A", {"k": [1], "g": ["abc"]})
    engine.push("B", b(1))
    assert engine.table().to_pydict() == {"A.g": ["abc"], "m": [4.0]}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: eddy.aggregate_function(3, "B.v", type="int64"), "needs a function of Arrow arrays, not 3"),
        (lambda: eddy.aggregate_function(len, 3, type="int64"), "needs what its function takes"),
        (
            lambda: eddy.aggregate_function(lambda x: 1, "B.v", type="int64"),
            "needs a name that SQL can call it",
        ),
        (lambda: eddy.aggregate_function(len, "B.v", type="complex"), "unknown column type"),
        (lambda: joined({"n": eddy.aggregate_function(len, type="int64")}), "does not say of what"),
        (lambda: joined({"n": eddy.aggregate_function(len, "NULL", type="int64")}), "always NULL"),
        (
            lambda: joined({"n": eddy.aggregate_function(len, "B.v", type="int64", name="first")}),
            "called like one of COUNT",
        ),
    ],
)
def test_functions_that_are_refused(make, message):
    """The message says what to write."""
    with pytest.raises(eddy.QueryError, match=message):
        make()


def test_a_function_that_returns_what_it_must_not():
    """The error names it and the type that was declared; the engine stops there."""
    engine = joined({"n": eddy.aggregate_function(lambda x: "many", "B.v", type="int64", name="many")})
    engine.push("A", {"k": [1], "g": ["x"]})
    with pytest.raises(eddy.EddyError, match="the aggregate many returned what is no int64"):
        engine.push("B", b(1))
    with pytest.raises(eddy.StateError):
        engine.push("B", b(1))
