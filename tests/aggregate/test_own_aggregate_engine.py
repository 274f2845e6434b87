"""Aggregates of a user's own in an engine: plan changes, snapshots, SQL, and what is compiled."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow.compute as pc
import pytest
from numba.core import event

import eddy
from policies import Gms, Jisc, ParallelTrack
from tests.operator_engines import a, b, joined, signed_values, values
from tests.own_aggregates import BitOr, Share, Variance, Weighted, made

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


def spread(values):
    return pc.max(values).as_py() - pc.min(values).as_py()


SPREAD = eddy.aggregate_function(spread, type="int64")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT Variance(v) * 2 + COUNT(*) AS x, k FROM B GROUP BY k", {(4.0, 1), (1.0, 2)}),
        ("SELECT Variance(v) AS x FROM B GROUP BY k", {(1.0,), (0.0,)}),
        ("SELECT k, COUNT(*) AS n FROM B GROUP BY k HAVING Variance(v) > 0", {(1, 2)}),
        ("SELECT k, spread(v + 1) AS s FROM B GROUP BY k HAVING spread(v) = 0 OR k > 5", {(2, 0)}),
        (
            "SELECT CASE WHEN SPREAD(v) > 1 THEN 'wide' ELSE 'narrow' END AS w FROM B GROUP BY k",
            {("wide",), ("narrow",)},
        ),
        (
            "SELECT k % 2 AS odd, COALESCE(spread(v), 0) AS s FROM B GROUP BY ALL ORDER BY s DESC LIMIT 1",
            {(1, 2)},
        ),
        ("SELECT spread(v) AS s FROM B WHERE v > 100", {(None,)}),
    ],
)
def test_sql_computes_with_it(text, expected):
    """In expressions, HAVING and ORDER BY, without the group or before it, as with aggregates of SQL; on what is
    printed, too."""
    schemas, own = {"B": {"k": "int64", "v": "int64"}}, [Variance, SPREAD]
    query = eddy.sql(text, schemas, aggregates=own)
    again = eddy.sql(str(query), schemas, aggregates=own)
    assert str(again) == str(query)
    for one in (query, again):
        engine = eddy.Eddy(one)
        engine.push("B", {"k": [1, 1, 2], "v": [3, 5, 9]})
        assert set(values(engine.table())) == expected


@pytest.mark.parametrize(
    ("columns", "aggregates", "message"),
    [
        ("Weighted(B.v)", [], r"cannot select WEIGHTED\(B\.v\)"),
        ("Share(B.v)", [], r"cannot select SHARE\(B\.v\)"),
        ("Variance(B.v + 1)", [Variance], r"'B\.v \+ 1' is not a column"),
        ("Share()", [Share], "needs the columns that it is of"),
        (
            "Variance(B.v) FILTER (WHERE B.v > 1)",
            [Variance],
            "FILTER and IGNORE NULLS are for aggregates of SQL",
        ),
        ("SUM(Variance(B.v))", [Variance], "an aggregate of an aggregate"),
        ("Variance(SUM(B.v))", [Variance], "is not a column"),
        ("Variance(*)", [Variance], "is not a column"),
        (
            "COUNT(*)",
            [3],
            "aggregates takes a list of classes, subclasses of eddy.Aggregate, and of functions.*not 3",
        ),
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
