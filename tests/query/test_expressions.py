"""Expressions: exact values, three-valued logic, types, and text that parses back."""

import datetime
import pickle
import zoneinfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.errors import QueryError
from eddy.query.comparisons import Comparison
from eddy.query.expressions import Literal, Reference
from eddy.query.logic import conjuncts
from eddy.query.names import Scope
from eddy.query.parse import condition
from eddy.values.types import Column, column_type
from tests.three_valued import DTYPES, parse, plain, predicates, table


def parsed(text):
    """The predicate, or None where constants alone overflow."""
    try:
        return parse(text)
    except QueryError as error:
        assert "does not fit" in str(error)
        return None


@given(predicates, st.data())
def test_oracle(text, data):
    """Vectorised evaluation gives what plain Python gives row by row: true, false or unknown."""
    node = parsed(text)
    if node is None:
        return
    rows, get = table(data.draw, node.columns)
    found = node.evaluate(get)
    values = np.broadcast_to(found.values, len(rows))
    valid = np.broadcast_to(True if found.valid is None else found.valid, len(rows))
    expected = [plain(node, row) for row in rows]
    assert [bool(v) if ok else None for v, ok in zip(values, valid, strict=True)] == expected
    holds = node.holds(get, len(rows))
    assert (holds.dtype, holds.tolist()) == (bool, [value is True for value in expected])


@given(predicates, st.data())
def test_split(text, data):
    """The conjuncts of a predicate hold together exactly where it does."""
    node = parsed(text)
    if node is not None:
        rows, get = table(data.draw, node.columns)
        together = [part.holds(get, len(rows)) for part in conjuncts(node)]
        assert np.logical_and.reduce(together).tolist() == node.holds(get, len(rows)).tolist()


@given(predicates)
def test_round_trip(text):
    """An expression prints as SQL that parses to an equal one; a pickled copy is equal too."""
    node = parsed(text)
    if node is not None:
        assert parse(str(node)) == node
        assert pickle.loads(pickle.dumps(node)) == node


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), st.text(min_size=1))
def test_any_text(text, name):
    """Any string constant, and any name in quotes, comes through the parser unchanged."""
    node = Comparison("=", Reference("A", "s", column_type("string")), Literal(text, column_type("string")))
    assert parse(str(node)) == node
    scope = Scope({"A": {name: column_type("bool")}})
    assert condition(str(scope.column("A", name)), scope) == scope.column("A", name)


def test_names_are_quoted():
    """Names that SQL would misread are printed in quotes, and only those."""
    scope = Scope({"order": {"a b": column_type("int64"), "key": column_type("int64")}})
    text = '"order"."a b" = "order".key'
    assert str(condition(text, scope)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A.i = '3'", r"A.i \(int64\) with '3' \(string\).*drop the quotes"),
        ("A.s > 3", "a number and a string never match"),
        ("A.t = 5", "write the time as '2024-01-31 12:00:00'"),
        ("A.t = B.z", "B.z has a time zone and A.t has none"),
        ("A.t - B.z < 3", "B.z has a time zone and A.t has none"),
        ("A.t > 'yesterday'", "'yesterday' is not a time"),
        ("A.t > '2024-02-30'", "is not a time"),
        ("A.t > '2024-01-01 00:00:00+01:00'", "the column has no zone"),
        ("A.t + B.t < A.m", "cannot compute"),
        ("A.s + 1 = 2", "cannot compute"),
        ("A.b + 1 = 2", "cannot compute"),
        ("-A.s = 'x'", "cannot negate A.s"),
        ("ABS(A.t) = 3", "ABS needs a number"),
        ("1 < A.i < 5", "such as 1 < A.x AND A.x < 5"),
        ("A.i", "A.i is int64, where something true or false.*A.i != 0"),
        ("A.i AND A.b", "A.i is int64"),
        ("NOT A.s", "A.s is string"),
        ("A.i = INTERVAL '5' SECOND", "an INTERVAL goes with times"),
        ("A.t > TIMESTAMP '2024-01-01' + 1", "cannot compute"),
        ("A.t - B.t > 1 + INTERVAL '1' DAY", "a plain number counts in the unit of a time column"),
        ("A.t - B.t > INTERVAL '1' MONTH", "months and years have no length of their own"),
        ("A.i + INTERVAL '1' MONTH > B.t", "months are added to times, but A.i is int64"),
        ("A.t > B.t + INTERVAL 'x' DAY", "not a duration"),
        ("A.i = 18446744073709551616", "does not fit 64 bits"),
        ("A.i = -9223372036854775809", "does not fit 64 bits"),
        ("A.i = 9223372036854775807 + 1", "does not fit 64 bits"),
        ("A.f < 1e999", "does not fit a float64"),
        ("A.f < 1e308 * 10", "does not fit a float64"),
        ("A.i = C.i", "unknown stream C: There are A, B"),
        ("A.ii = 1", "stream A has no column ii: did you mean i"),
        ("i = 1", "ambiguous: write A.i or B.i"),
        ("quantity = 1", "no stream has a column quantity"),
        ("A.i =", "cannot read 'A.i =' as SQL"),
        ("A.i = 1; DROP TABLE x", "cannot read"),
        ("A.i = 1 GROUP BY A.i", "cannot read"),
        ("SOUNDEX(A.s) = 'x'", r"SOUNDEX is not supported.*eddy.predicate"),
        ("A.i IN (SELECT 1)", "stand in WHERE of a statement"),
        ("A.i = (SELECT 1)", "not supported"),
        ("CAST(A.i AS JSON) = 'x'", "CAST knows no type JSON: it makes BOOLEAN"),
        ("EXISTS (SELECT 1)", "not supported"),
        ("A.* = 1", "cannot read|not supported|not a column"),
        ("", "must be a text"),
        (3, "must be a text"),
    ],
)
def test_refused(text, message):
    """What cannot be read or typed is refused, with the reason and what to write instead."""
    with pytest.raises(QueryError, match=message):
        parse(text)


def single(name, value):
    return lambda stream, column: Column(np.array([value], DTYPES.get(name, np.int64)))


@pytest.mark.parametrize(
    ("local", "same"),
    [
        ("2024-07-01 12:00:00", "2024-07-01 10:00:00Z"),
        ("2024-01-01T12:00", "2024-01-01 05:30:00-05:30"),
        ("2024-01-01 12:00:00.000001", "2024-01-01 11:00:00.000001 UTC"),
    ],
)
def test_zones(local, same):
    """A time constant without an offset is local time in the column's zone; with one it is what it says."""
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    instant = datetime.datetime.fromisoformat(local).replace(tzinfo=berlin)
    micros = (instant - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(
        microseconds=1
    )
    for text in (
        f"A.z = '{local}'",
        f"A.z = '{same}'",
        f"A.z = TIMESTAMP '{local}'",
        f"TIMESTAMP '{same}' = A.z",
    ):
        assert parse(text).holds(single("z", micros), 1)[0]
        assert not parse(text).holds(single("z", micros + 1), 1)[0]


def test_intervals():
    """Durations of any unit compare exactly with differences of times of any unit."""
    for text in ("A.m + INTERVAL 1 DAY = '1970-01-02 00:00:00.001'", "A.m - TIMESTAMP '1970-01-01' = 1"):
        assert parse(text).holds(single("m", 1), 1)[0]
    row = {("A", "m"): np.array([90_000]), ("B", "n"): np.array([10**9])}
    for text in (
        "A.m - B.n = INTERVAL '89' SECOND",
        "A.m - B.n = 89000000000",
        "A.m - INTERVAL '1 min 29 s' = B.n",
    ):
        assert parse(text).holds(lambda stream, column: Column(row[stream, column]), 1)[0], text


def test_length():
    """A predicate that reads no column still answers for every row."""
    assert parse("1 = 1").holds(None, 3).tolist() == [True] * 3
    assert parse("NULL").holds(None, 2).tolist() == [False] * 2
    assert parse("A.i = NULL").holds(single("i", 1), 1).tolist() == [False]


def test_holds_is_the_callers():
    """The answer never aliases a column, so a caller may write to it."""
    flags = np.array([True, False])
    answer = parse("A.b").holds(lambda stream, column: Column(flags), 2)
    answer[:] = False
    assert flags.tolist() == [True, False]
