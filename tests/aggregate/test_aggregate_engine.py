"""Aggregates through the public door: the changelog of a push, event by event."""

from __future__ import annotations

import datetime
from collections import Counter
from math import inf, nan

import pytest

import eddy
from tests.cases import TECHNIQUES
from tests.operator_engines import a, b, joined, signed_values, values
from tests.operator_strategies import REORDERING

# The digest's scenarios


@pytest.mark.parametrize("technique", TECHNIQUES, ids=repr)
@pytest.mark.parametrize("scenario", ["T10", "T11", "T12"])
def test_t53_a_count_goes_on_across_a_plan_change(scenario, technique):
    """COUNT(*) on top of the scenarios of transitions is never reset."""
    streams = {name: eddy.Stream({"k": "int64"}, window=eddy.Rows(1)) for name in "RSTU"}
    where = ["R.k = S.k", "S.k = T.k", "T.k = U.k"]
    query = eddy.Query(streams, where=where, aggregates={"n": "COUNT(*)"})
    engine = eddy.Eddy(query, plan="((R S) T) U", migration=technique)
    before, after = {
        "T10": ("STU", [("R", 1, [(-1, 0), (1, 1)])]),
        "T11": ("RSTU", [("S", 2, [(-1, 1), (1, 0)])]),
        "T12": ("RST", [("S", 2, []), ("U", 1, [])]),
    }[scenario]
    for stream in before:
        engine.push(stream, {"k": [1]})
    count = values(engine.table())
    engine.migrate("((S T) R) U")
    assert values(engine.table()) == count == [(1,) if scenario == "T11" else (0,)]
    for stream, k, wanted in after:
        assert signed_values(engine.push(stream, {"k": [k]})) == wanted
    assert values(engine.table()) == [(1,) if scenario == "T10" else (0,)]


@pytest.mark.parametrize("technique", REORDERING, ids=repr)
def test_t52_and_t53_a_count_over_a_difference(technique):
    """The difference of T52, counted and grouped: rows that come back count again."""
    streams = {
        "A": eddy.Stream({"k": "int64", "g": "string"}, window=eddy.Rows(9)),
        **{name: eddy.Stream({"k": "int64"}, window=eddy.Rows(1)) for name in "BCD"},
    }
    minus = {name: f"A.k = {name}.k" for name in "BCD"}
    query = eddy.Query(streams, minus=minus, group_by="A.g", aggregates={"n": "COUNT(*)", "top": "MAX(A.k)"})
    engine = eddy.Eddy(query, migration=technique)
    engine.push("B", {"k": [1]})
    found = signed_values(engine.push("A", {"k": [1, 2, 3], "g": ["odd", "even", "odd"]}))
    assert found == [(1, "even", 1, 2), (1, "odd", 1, 3)]
    engine.migrate("A - D - B - C")
    assert signed_values(engine.push("D", {"k": [2]})) == [(-1, "even", 1, 2)]
    assert signed_values(engine.push("B", {"k": [9]})) == [(-1, "odd", 1, 3), (1, "odd", 2, 3)]
    assert signed_values(engine.push("D", {"k": [3]})) == [
        (-1, "odd", 2, 3),
        (1, "odd", 1, 1),
        (1, "even", 1, 2),
    ]
    assert values(engine.table()) == [("odd", 1, 1), ("even", 1, 2)]


# The changelog


def test_one_group_exists_always():
    """Without GROUP BY there is a row before anything has come, and after all has gone."""
    every = {"n": "COUNT(*)", "c": "COUNT(B.v)", "s": "SUM(B.v)", "a": "AVG(B.v)", "m": "MIN(B.v)"}
    engine = joined(every | {"x": "MAX(B.v)", "d": "MEDIAN(B.v)"}, windows=(eddy.Rows(1), None))
    nothing = (0, 0, None, None, None, None, None)
    assert values(engine.table()) == [nothing]
    engine.push("A", a((1, 0)))
    first = (1, 1, 4, 4.0, 4, 4, 4.0)
    assert signed_values(engine.push("B", b((1, 4)))) == [(-1, *nothing), (1, *first)]
    second = (2, 1, 4, 4.0, 4, 4, 4.0)
    assert signed_values(engine.push("B", b((1, None)))) == [(-1, *first), (1, *second)]
    third = (3, 2, 11, 5.5, 4, 7, 5.5)
    assert signed_values(engine.push("B", b((1, 7)))) == [(-1, *second), (1, *third)]
    assert values(engine.table()) == [third]
    assert signed_values(engine.push("A", a((2, 0)))) == [(-1, *third), (1, *nothing)]
    assert values(engine.table()) == [nothing]


def test_groups_appear_change_and_vanish():
    """A group is told when it comes, when its row changes and when it goes; others are not mentioned."""
    engine = joined({"n": "COUNT(*)", "s": "SUM(B.v)"}, "A.g", windows=(eddy.Rows(2), None))
    assert values(engine.table()) == []
    assert signed_values(engine.push("A", a((1, 7), (2, 8)))) == []
    assert signed_values(engine.push("B", b((1, 10)))) == [(1, 7, 1, 10)]
    assert signed_values(engine.push("B", b((2, 20), (1, 5)))) == [
        (1, 8, 1, 20),
        (-1, 7, 1, 10),
        (1, 7, 2, 15),
    ]
    assert values(engine.table()) == [(7, 2, 15), (8, 1, 20)]
    assert signed_values(engine.push("A", a((9, 9)))) == [(-1, 7, 2, 15)]
    assert signed_values(engine.push("A", a((2, 7)))) == [(-1, 8, 1, 20), (1, 7, 1, 20)]
    assert values(engine.table()) == [(7, 1, 20)]


def test_a_group_that_does_not_change_is_silent():
    """One row goes and an equal one comes at the same event; or a row comes that no aggregate counts."""
    engine = joined({"c": "COUNT(B.v)", "m": "MIN(B.v)"}, "A.g", windows=(eddy.Rows(1), None))
    engine.push("B", b((1, 5)))
    assert signed_values(engine.push("A", a((1, 7)))) == [(1, 7, 1, 5)]
    assert signed_values(engine.push("A", a((1, 7)))) == []
    assert signed_values(engine.push("B", b((1, None)))) == []
    assert signed_values(engine.push("B", b((1, 9)))) == [(-1, 7, 1, 5), (1, 7, 2, 5)]


@pytest.mark.parametrize("size", [1, 2, 3, 4096])
def test_the_size_of_batches_does_not_show(size):
    """A batch tells every event's change, not only the last."""
    engine = joined({"n": "COUNT(*)"}, windows=(eddy.Rows(2), None), batch_size=size)
    engine.push("B", b((1, 0)))
    wanted = [(-1, 0), (1, 1), (-1, 1), (1, 2), (-1, 2), (1, 1), (-1, 1), (1, 0)]
    assert signed_values(engine.push("A", a((1, 0), (1, 0), (1, 0), (2, 0), (2, 0)))) == wanted
    parts = list(engine.push("A", a((1, 0), (1, 0)), max_rows=3))
    assert all(len(part) <= 3 for part in parts)
    assert [change for part in parts for change in signed_values(part)] == wanted[:4]


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("float64", [1.5, nan, None, nan, 1.5, None, inf]),
        ("float32", [0.5, nan, None, nan, 0.5, None, -inf]),
        ("string", ["", "é", None, "é", "", None, "a longer string, past any inline form"]),
        ("bool", [True, False, None, False, True, None, True]),
        ("uint64", [2**64 - 1, 0, None, 0, 2**64 - 1, None, 2**63]),
        ("int8", [-128, 127, None, 127, -128, None, 0]),
        (
            "timestamp[ms]",
            [
                None if second is None else datetime.datetime(1969, 12, 31, 23, 59, second)
                for second in (58, 59, None, 59, 58, None, 0)
            ],
        ),
    ],
    ids=["float64", "float32", "string", "bool", "uint64", "int8", "timestamp"],
)
def test_every_type_can_be_grouped_by(kind, keys):
    """NULL is a group of its own, and so is NaN; the column has its declared type."""
    engine = joined({"n": "COUNT(*)"}, "A.g", kinds=(kind, "int64"))
    engine.push("B", b((1, 0)))
    engine.push("A", a(*[(1, value) for value in keys]))
    table = engine.table()
    assert table.to_arrow().schema.field("A.g").type == eddy.Stream({"g": kind}).columns["g"].arrow
    assert {repr(g): n for g, n in values(table)} == Counter(map(repr, keys))


def test_zeros_of_both_signs_are_one_group():
    """-0.0 equals 0.0, in SQL as everywhere."""
    engine = joined({"n": "COUNT(*)"}, "A.g", kinds=("float64", "int64"))
    engine.push("B", b((1, 0)))
    engine.push("A", a((1, -0.0), (1, 0.0)))
    assert values(engine.table()) == [(0.0, 2)]


def test_a_sum_that_does_not_fit_is_null_until_it_fits_again():
    """Integers are summed exactly, beyond int64 too; what comes back is right."""
    engine = joined({"s": "SUM(B.v)"}, windows=(None, eddy.Rows(2)))
    engine.push("A", a((1, 0)))
    found = signed_values(engine.push("B", b((1, 2**63 - 1), (1, 1), (1, 2))))
    assert found == [(-1, None), (1, 2**63 - 1), (-1, 2**63 - 1), (1, None), (-1, None), (1, 3)]


def test_floats_leave_no_rounding_behind():
    """A large value that has gone does not show in what remains; nor do infinity and NaN."""
    engine = joined(
        {"s": "SUM(B.v)", "a": "AVG(B.v)"}, windows=(None, eddy.Rows(2)), kinds=("int64", "float64")
    )
    engine.push("A", a((1, 0)))
    for odd in (1e300, inf, nan, -inf):
        engine.push("B", b((1, 0.1), (1, odd), (1, 0.1), (1, 0.2)))
        assert values(engine.table()) == [(0.1 + 0.2, (0.1 + 0.2) / 2)]
