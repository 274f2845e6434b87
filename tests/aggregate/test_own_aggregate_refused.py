"""Aggregates of a user's own that are refused, and why."""

from __future__ import annotations

import numba
import pytest

import eddy
from tests.operator_engines import a, b, joined, values
from tests.own_aggregates import STREAMS, Share, Variance, Weighted, made

# What is refused


def changed(base=Variance, fields=None, **functions):
    """A class like another, with other functions or fields."""
    return type("Mine", (base,), {**functions, **({"__annotations__": fields} if fields else {})})


def with_value():
    class Mine(Variance):
        extra: int = 4

    return Mine


def lost(self, *columns):
    pass


def raising(self, x):
    if x < 0:
        raise ValueError("below 0")
    self.n += 1


def setting(self):
    self.n = 0
    return 1.0


@pytest.mark.parametrize(
    ("own", "columns", "message"),
    [
        (changed(fields={"extra": str}), ["B.v"], "field extra of the aggregate Mine is .*: declare it as"),
        (changed(fields={"extra": [int]}), ["B.v"], "field extra of the aggregate Mine is .*: declare it as"),
        (with_value(), ["B.v"], "field extra of the aggregate Mine has a value in the class: .* set it in start"),
        (type("Mine", (eddy.Aggregate,), {}), ["B.v"], r"the aggregate Mine has no add: write def add\(self, ...\)"),
        (changed(eddy.Aggregate, add=lost, remove=lost, result=lambda self: 1), ["B.v"], "Mine has no fields: declare"),
        (changed(add=lambda self: None), ["B.v"], r"add of the aggregate Mine must take self and 1 value"),
        (changed(result=lambda self, x: x), ["B.v"], r"must take self alone, not \(self, x\)"),
        (Variance, ["B.v", "B.w"], r"must take self and 2 values, since it is of 2 columns, not \(self, x\)"),
        (Weighted, ["B.v"], r"add of the aggregate Weighted must take self and 1 value, since it is of 1 column"),
        (changed(add=3), ["B.v"], r"add of the aggregate Mine is no function of its fields: write def add\(self"),
        (changed(add=raising), ["B.v"], "add of the aggregate Mine raises an error, which would stop a batch"),
        (changed(result=setting), ["B.v"], "result of the aggregate Mine sets the field n: it may only read"),
        (changed(result=lambda self: "text"), ["B.v"], "must return a number, a bool or None, but returns Literal"),
        (changed(result=lambda self: None), ["B.v"], "must return a number, a bool or None, but returns none"),
        (changed(result=lambda self: self.m), ["B.v"], "cannot compile result of .* no field m, declare"),
        (changed(result=lambda self: open(self.n)), ["B.v"], r"cannot compile result .*\. It may use its fields"),
        (Variance, ["B.w"], "add of the aggregate Variance puts float64 into the field total, which is int: declare"),
        (Variance, ["A.g"], r"cannot take Variance\(A\.g\): A\.g is a string, and strings are only counted"),
        (Variance, ["B.z"], "stream B has no column z"),
        (Variance, ["COUNT(*)"], "is not a column"),
        (Variance, [3], r"the aggregate Variance needs the columns that it is of, such as Variance\('B\.v'\)"),
        (changed(__init__=lost), ["B.v"], r"has lost its columns: its __init__ must call super\(\).__init__"),
        (type("Sum", (Variance,), {}), ["B.v"], "the aggregate Sum is called like one of COUNT, SUM"),
    ],
)  # fmt: skip
def test_refused(own, columns, message):
    """When the query is made, in one sentence that says what to do."""
    with pytest.raises(eddy.QueryError, match=message):
        made(own, *columns)


def test_a_class_alone_is_refused():
    """It does not say of which columns; nor does an instance of none."""
    with pytest.raises(eddy.QueryError, match=r"does not say of what: write Variance\('B\.v'\)"):
        eddy.Query(STREAMS, "A.k = B.k", aggregates={"own": Variance})
    with pytest.raises(eddy.QueryError, match="needs the columns"):
        Variance()


def test_functions_of_numba_and_names_around_them_are_known():
    """A function may call others that Numba has compiled, be one itself, and use constants of its surroundings."""
    limit = 4

    @numba.njit
    def above(x):
        return x > limit

    class Above(Share):
        @numba.njit
        def add(self, x):
            self.above += above(x)
            self.n += 1

        def remove(self, x):
            self.above -= above(x)
            self.n -= 1

    engine = joined({"own": Above("B.v")}, windows=(None, eddy.Rows(2)))
    engine.push("A", a((1, 0)))
    engine.push("B", b((1, 3), (1, 4), (1, 5)))
    assert values(engine.table()) == [(0.5,)]
