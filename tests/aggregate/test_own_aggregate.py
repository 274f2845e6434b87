"""Aggregates of a user's own: what they are given, what they show, and what is refused."""

from __future__ import annotations

import datetime
import math
import pickle
from math import inf, nan

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core import event

import eddy
from policies import Gms, Jisc, ParallelTrack
from tests.operator_engines import a, b, joined, signed_values, values
from tests.own_aggregates import BitOr, Share, Variance, Weighted

STREAMS = {
    "A": eddy.Stream({"k": "int64", "g": "string"}),
    "B": eddy.Stream({"k": "int64", "v": "int64", "w": "float64", "u": "uint64"}, window=eddy.Rows(3)),
}


def made(own, *columns):
    """A query with one aggregate of these columns."""
    return eddy.Query(STREAMS, "A.k = B.k", aggregates={"own": own(*columns or ["B.v"])})


def kind_of(own, *columns):
    """The type of its values."""
    return str(made(own, *columns).aggregates[0].type)


class Last(eddy.Aggregate):
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
    engine = joined({"own": Last("B.v")}, kinds=("int64", kind))
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


# In an engine


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("technique", [Jisc(), Gms(), ParallelTrack()], ids=repr)
def test_plans_change_while_it_runs(technique, threads):
    """A large feed, with threads and without: the table is what numpy says of the live rows."""
    streams = {
        name: eddy.Stream({"k": "int64", "g": "int64", "v": "int64"}, window=eddy.Rows(300)) for name in "ABC"
    }
    query = eddy.Query(
        streams,
        ["A.k = B.k", "B.k = C.k"],
        group_by="A.g",
        aggregates={"var": Variance("B.v"), "n": "COUNT(*)", "bits": BitOr("C.v")},
    )
    engine = eddy.Eddy(query, plan="(A B) C", migration=technique, threads=threads)
    random = np.random.default_rng(5)
    live = {name: np.empty((0, 3), np.int64) for name in "ABC"}
    for turn in range(20):
        engine.migrate(["(A B) C", "(B C) A", "stems"][turn % 3])
        fed = {name: random.integers(0, 40, (150, 3)) for name in "ABC"}
        engine.push_all(
            {name: dict(zip("kgv", np.ascontiguousarray(rows.T), strict=True)) for name, rows in fed.items()}
        )
        live = {name: np.concatenate([live[name], fed[name]])[-300:] for name in "ABC"}
    groups = {}
    for k, g, _ in live["A"].tolist():
        for v in live["B"][live["B"][:, 0] == k, 2].tolist():
            for bits in live["C"][live["C"][:, 0] == k, 2].tolist():
                groups.setdefault(g, []).append((v, bits))
    found = {g: (var, n, bits) for g, var, n, bits in values(engine.table())}
    assert found.keys() == groups.keys()
    for g, pairs in groups.items():
        v, bits = np.array(pairs).T
        assert found[g][1:] == (len(v), int(np.bitwise_or.reduce(bits)) & 15)
        assert found[g][0] == pytest.approx(v.var())


def test_it_is_compiled_once():
    """Neither another query, nor an engine, a plan change, a push or a pickled query compiles anything again."""

    class Seen(event.Listener):
        count = 0

        def on_start(self, event):
            self.count += 1

        def on_end(self, event):
            pass

    class Once(Variance):
        pass

    def run():
        streams = {n: eddy.Stream({"k": "int64", "v": "int64"}, window=eddy.Rows(5)) for n in "ABC"}
        query = eddy.Query(streams, ["A.k = B.k", "B.k = C.k"], aggregates={"own": Once("B.v")})
        engine = eddy.Eddy(query, plan="(A B) C")
        for plan in ("A (B C)", "(A B) C"):
            engine.migrate(plan)
            engine.push_all({n: {"k": [1, 2], "v": [3, 4]} for n in "ABC"})
        return engine

    run()
    listener = Seen()
    with event.install_listener("numba:compile", listener):
        run()
    assert listener.count == 0


def test_a_snapshot_needs_the_query(tmp_path):
    """A class is not in the file: without the query the error says what to do, and with it all goes on."""
    engine = joined({"var": Variance("B.v")}, "A.g", windows=(None, eddy.Rows(3)))
    engine.push("A", a((1, 7)))
    engine.push("B", b((1, 1), (1, 5), (1, 9)))
    engine.save(tmp_path / "own.eddy")
    with pytest.raises(
        eddy.StateError, match=r"an aggregate that only your program knows, Variance\(B\.v\): load it with"
    ):
        eddy.Eddy.load(tmp_path / "own.eddy")
    again = eddy.Eddy.load(tmp_path / "own.eddy", engine.query, migration=Gms())
    assert values(again.table()) == values(engine.table())
    row = b((1, 2))
    assert signed_values(again.push("B", row)) == signed_values(engine.push("B", row))
    other = eddy.Query(engine.query.streams, "A.k = B.k", group_by="A.g", aggregates={"var": Share("B.v")})
    with pytest.raises(eddy.StateError, match=r"it selects A\.g, Share\(B\.v\) AS var, the snapshot"):
        eddy.Eddy.load(tmp_path / "own.eddy", other)


def test_a_query_with_it_can_be_pickled():
    """By the name of its class, as Python pickles classes."""
    query = made(Variance)
    again = pickle.loads(pickle.dumps(query))
    assert again.aggregates == query.aggregates
    engine = eddy.Eddy(again)
    engine.push("A", {"k": [1], "g": ["x"]})
    engine.push("B", {"k": [1, 1], "v": [1, 3], "w": [0.0, 0.0], "u": [0, 0]})
    assert values(engine.table()) == [(1.0,)]


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


# SQL


def test_sql_calls_it_by_its_name():
    """In any case, also where sqlglot has a function of that name; what is printed is read back."""
    text = (
        "SELECT A.g, variance(B.v) AS var, WEIGHTED(v, k2) m, Share(w) FROM A, B WHERE A.k = B.k GROUP BY A.g"
    )
    schemas = {
        "A": {"k": "int64", "g": "string"},
        "B": {"k": "int64", "v": "int64", "k2": "int8", "w": "float64"},
    }
    query = eddy.sql(text, schemas, aggregates=[Variance, Weighted, Share])
    assert [(str(one), one.name, one.own) for one in query.aggregates] == [
        ("Variance(B.v)", "var", Variance),
        ("Weighted(B.v, B.k2)", "m", Weighted),
        ("Share(B.w)", "SHARE(w)", Share),
    ]
    again = eddy.sql(str(query), schemas, aggregates=[Share, Variance, Weighted])
    assert (again.aggregates, str(again)) == (query.aggregates, str(query))


@pytest.mark.parametrize(
    ("columns", "aggregates", "message"),
    [
        ("Variance(B.v)", [], r"cannot aggregate VARIANCE\(B\.v\): write one of COUNT"),
        ("Share(B.v)", [], r"cannot select SHARE\(B\.v\)"),
        ("Variance(B.v + 1)", [Variance], r"'B\.v \+ 1' is not a column"),
        ("Share()", [Share], "needs the columns that it is of"),
        ("Variance(B.v) + 1", [Variance], "cannot aggregate"),
        ("Variance(*)", [Variance], "is not a column"),
        ("COUNT(*)", [3], "aggregates takes a list of classes, subclasses of eddy.Aggregate, not 3"),
        ("COUNT(*)", Variance, "aggregates takes a list of classes"),
        ("COUNT(*)", [Variance, type("VARIANCE", (Share,), {})], "two aggregates are called VARIANCE"),
        ("COUNT(*)", [type("Count", (Share,), {})], "the aggregate Count is called like one of COUNT"),
    ],
)
def test_sql_refused(columns, aggregates, message):
    """What is no aggregate of columns."""
    schemas = {"A": {"k": "int64"}, "B": {"k": "int64", "v": "int64"}}
    with pytest.raises(eddy.QueryError, match=message):
        eddy.sql(f"SELECT {columns} FROM A, B WHERE A.k = B.k", schemas, aggregates=aggregates)


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
