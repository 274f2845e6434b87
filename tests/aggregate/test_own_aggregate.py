"""Aggregates of a user's own: what they are given, what they show, and what is refused."""

from __future__ import annotations

import datetime
import math
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from tests.operator_engines import a, b, joined, signed_values, values
from tests.own_aggregates import BitOr, Variance, Weighted, made


def kind_of(own, *columns):
    """The type of its values."""
    return str(made(own, *columns).aggregates[0].type)


class Newest(eddy.Aggregate):
    """What was added last, as it was given; removing changes nothing."""

    value: float

    def add(self, x):
        self.value = x

    def remove(self, x):
        pass

    def result(self):
        return self.value


class Total(eddy.Aggregate):
    """The sum as floats add up."""

    total: float

    def add(self, x):
        self.total += x

    def remove(self, x):
        self.total -= x

    def result(self):
        return self.total


class Product(eddy.Aggregate):
    """The product, with zeros counted: a start that is not 0."""

    zeros: int
    product: float

    def start(self):
        self.product = 1.0

    def add(self, x):
        if x == 0:
            self.zeros += 1
        else:
            self.product *= x

    def remove(self, x):
        if x == 0:
            self.zeros -= 1
        else:
            self.product /= x

    def result(self):
        return 0.0 if self.zeros else self.product


# What it shows


def test_it_stands_beside_those_of_sql():
    """Groups, NULLs, withdrawals: as SUM and COUNT, in one changelog."""
    engine = joined(
        {"n": "COUNT(*)", "s": "SUM(B.v)", "var": Variance("B.v")}, "A.g", windows=(None, eddy.Rows(2))
    )
    engine.push("A", a((1, 7), (2, 8)))
    assert signed_values(engine.push("B", b((1, 1)))) == [(1, 7, 1, 1, 0.0)]
    assert signed_values(engine.push("B", b((1, 5), (2, None)))) == [
        (-1, 7, 1, 1, 0.0),
        (1, 7, 2, 6, 4.0),
        (-1, 7, 2, 6, 4.0),
        (1, 7, 1, 5, 0.0),
        (1, 8, 1, None, None),
    ]
    assert values(engine.table()) == [(7, 1, 5, 0.0), (8, 1, None, None)]


def test_without_a_value_it_is_null_and_begins_anew():
    """The one group of a query without group_by, from before the first row to after the last."""
    engine = joined({"p": Product("B.v"), "bits": BitOr("B.v")}, windows=(eddy.Rows(1), eddy.Rows(3)))
    assert values(engine.table()) == [(None, None)]
    engine.push("A", a((1, 0)))
    engine.push("B", b((1, None)))
    assert values(engine.table()) == [(None, None)]
    engine.push("B", b((1, 6), (1, 3)))
    assert values(engine.table()) == [(18.0, 7)]
    engine.push("A", a((2, 0)))
    assert values(engine.table()) == [(None, None)]
    engine.push("B", b((2, 8)))
    assert values(engine.table()) == [(8.0, 8)]


def test_several_arguments_leave_out_a_row_with_any_null():
    """The row counts for COUNT(*) alone."""
    query = eddy.Query(
        {
            "A": eddy.Stream({"k": "int64"}),
            "B": eddy.Stream({"k": "int64", "x": "int64", "w": "int64"}, window=eddy.Rows(4)),
        },
        "A.k = B.k",
        aggregates={"n": "COUNT(*)", "mean": Weighted("B.x", "B.w")},
    )
    engine = eddy.Eddy(query)
    engine.push("A", {"k": [1]})
    engine.push("B", {"k": [1] * 4, "x": [1, 5, None, 9], "w": [3, 1, 2, None]})
    assert values(engine.table()) == [(4, 2.0)]
    engine.push("B", {"k": [1], "x": [9], "w": [-1]})
    assert values(engine.table()) == [(4, None)]


@pytest.mark.parametrize(
    ("kind", "given", "shown"),
    [
        ("int8", -128, -128.0),
        ("uint32", 2**32 - 1, 2.0**32 - 1),
        ("uint64", 2**64 - 1, 2.0**64),
        ("bool", True, 1.0),
        ("float32", 0.5, 0.5),
        ("float64", -inf, -inf),
        ("timestamp[ms]", datetime.datetime(1970, 1, 1, 0, 0, 2), 2000.0),
    ],
)
def test_every_type_but_strings_is_given_as_a_number(kind, given, shown):
    """Times in their own unit."""
    engine = joined({"own": Newest("B.v")}, kinds=("int64", kind))
    engine.push("A", a((1, 0)))
    engine.push("B", b((1, given)))
    assert values(engine.table()) == [(shown,)]


def test_results_have_the_type_that_they_are_returned_in():
    """Of 64 bits, or bool; None beside it makes no difference."""

    class Whole(Total):
        def result(self):
            return int(self.total)

    class Bits(Total):
        def result(self):
            return np.uint64(2**63) + np.uint64(1)

    class Small(Total):
        def result(self):
            return np.float32(self.total)

    class Either(Total):
        def result(self):
            if self.total < 0:
                return None
            return self.total > 1

    found = {Whole: "int64", Bits: "uint64", Small: "float64", Either: "bool", Total: "float64"}
    assert {own: kind_of(own) for own in found} == found
    engine = joined({"w": Whole("B.v"), "b": Bits("B.v"), "e": Either("B.v")}, windows=(None, eddy.Rows(1)))
    engine.push("A", a((1, 0)))
    engine.push("B", b((1, 2)))
    assert values(engine.table()) == [(2, 2**63 + 1, True)]
    engine.push("B", b((1, -2)))
    assert values(engine.table()) == [(-2, 2**63 + 1, None)]


def test_nan_and_zero_do_not_change_by_themselves():
    """All NaN are one, and zero has no sign: a group is told only where its row differs."""

    class Ratio(Total):
        def result(self):
            return self.total * 0.0 if abs(self.total) < 10 else nan

    engine = joined({"own": Ratio("B.v")}, kinds=("int64", "float64"))
    engine.push("A", a((1, 0)))
    engine.push("B", b((1, 1.0)))
    assert signed_values(engine.push("B", b((1, -3.0), (1, 1.0)))) == []
    assert len(engine.push("B", b((1, 1e9)))) == 2
    assert signed_values(engine.push("B", b((1, 1e9)))) == []
    assert math.copysign(1, values(joined({"own": Ratio("B.v")}).table())[0][0] or 1) == 1


def test_division_by_zero_raises_nothing():
    """It gives infinity, NaN or, of whole numbers, 0: a batch is never stopped."""

    class Inverse(Variance):
        def result(self):
            return 1 / self.total

    class Floor(Variance):
        def result(self):
            return 1 // self.total

    engine = joined({"one": Inverse("B.v"), "other": Floor("B.v")})
    engine.push("A", a((1, 0)))
    engine.push("B", b((1, 0)))
    assert values(engine.table()) == [(inf, 0)]


def test_whole_numbers_leave_nothing_behind_and_floats_may():
    """int64 comes round, so that what went is gone; a float keeps its rounding until the group is empty."""
    engine = joined({"var": Variance("B.v")}, windows=(None, eddy.Rows(2)))
    engine.push("A", a((1, 0)))
    engine.push("B", b((1, 2**62), (1, 3), (1, 5)))
    assert values(engine.table()) == [(1.0,)]
    engine = joined({"t": Total("B.v")}, windows=(eddy.Rows(1), eddy.Rows(2)), kinds=("int64", "float64"))
    engine.push("A", a((1, 0)))
    engine.push("B", b((1, 1e300), (1, 1.0), (1, 2.0)))
    assert values(engine.table()) == [(2.0,)]  # 1.0 was lost beside 1e300
    engine.push("A", a((2, 0)))
    engine.push("A", a((1, 0)))
    assert values(engine.table()) == [(3.0,)]


class Sorted(eddy.Aggregate):
    """Counts adds and removes in fields of both types, so that their order and number show."""

    n: int
    total: float

    def add(self, x):
        self.n += 1
        self.total += x

    def remove(self, x):
        self.n -= 1
        self.total -= x

    def result(self):
        return self.n * 1000.0 + self.total


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=60), st.integers(1, 5), st.data())
def test_what_is_held_is_what_was_added_and_not_removed(rows, width, data):
    """Whatever windows and batches: the fields are those of the live values alone."""
    engine = joined({"own": Sorted("B.v")}, "A.g", windows=(eddy.Rows(width), eddy.Rows(width)))
    live = {"A": [], "B": []}
    while rows:
        size, name = data.draw(st.integers(1, 9)), data.draw(st.sampled_from("AB"))
        engine.push(name, (a if name == "A" else b)(*rows[:size]))
        live[name] = (live[name] + rows[:size])[-width:]
        rows = rows[size:]
        groups = {}
        for k, g in live["A"]:
            for other, v in live["B"]:
                if k == other:
                    groups.setdefault(g, []).append(v)
        wanted = {(g, len(held) * 1000.0 + sum(held)) for g, held in groups.items()}
        assert set(values(engine.table())) == wanted
