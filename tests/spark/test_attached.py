"""Outer, semi, anti and as-of joins on Spark: what one engine gives until it is closed, wherever rows are dealt out."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import eddy
import eddy.spark
from eddy import EddyError
from tests.sparks import spark  # noqa: F401

COLUMNS = {"ts": "int64", "id": "int64", "k": "int64", "s": "string"}


def tables(names, seed=1, n=150):
    """Rows of these streams: many at one time, and NULLs among the keys."""
    random = np.random.default_rng(seed)
    found = {}
    for name in names:
        keys = [None if key == 0 else key for key in random.integers(0, 9, n).tolist()]
        found[name] = pa.table(
            {
                "ts": np.sort(random.integers(0, 60, n)),
                "id": np.arange(n),
                "k": pa.array(keys, pa.int64()),
                "s": pa.array([None if key is None else f"é{key}" for key in keys]),
            }
        )
    return found


def rows_of(result, signed):
    return Counter(zip(*result.to_arrow(signed).to_pydict().values(), strict=True))


def alone(query, given):
    """What one engine gives, the end included."""
    engine = eddy.Eddy(query)
    found = rows_of(engine.push_all({name: given[name] for name in query.names}), query.signed)
    return found + rows_of(engine.close(), query.signed)


def made(attach, where=(), window=None, select=None, **options):
    streams = {name: eddy.Stream(COLUMNS, window=window or eddy.Range(9)) for name in "ABC"}
    return eddy.Query(
        streams, where, select or ["A.id AS a", "B.id AS b", "C.id AS c"], attach=attach, **options
    )


CASES = {
    "outer": (made(eddy.LeftJoin("C", "A.k = C.k"), "A.k = B.k"), "hash of A.k = B.k = C.k: 3 cells"),
    "two outer, texts": (
        made([eddy.FullJoin("B", "A.s = B.s"), eddy.LeftJoin("C", ["A.s = C.s", "A.id < C.id"])]),
        "hash of A.s = B.s = C.s: 3 cells",
    ),
    "as of": (
        made([eddy.LeftJoin("B", "A.k = B.k"), eddy.LeftAsofJoin("C", ["A.k = C.k", "A.ts >= C.ts"])]),
        "hash of A.k = B.k = C.k: 3 cells",
    ),
    "anti": (
        made(eddy.AntiJoin("C", "A.k = C.k AND B.id < C.id"), "A.k = B.k", select=["A.id AS a", "B.id AS b"]),
        "3 cells",
    ),
    "no one key": (
        made(eddy.LeftJoin("C", "B.id = C.id"), "A.k = B.k"),
        "with LEFT JOIN C rows are dealt out only by one key that joins all streams",
    ),
    "rows": (
        made(eddy.LeftJoin("C", "A.k = C.k"), "A.k = B.k", eddy.Rows(12)),
        "rows are not dealt out where a window counts them, as that of A",
    ),
    "changes": (
        made(eddy.LeftJoin("C", "A.k = C.k"), "A.k = B.k", changes=True),
        "a query with changes is not dealt out",
    ),
    "groups": (
        made(
            eddy.LeftJoin("C", "A.k = C.k"),
            "A.k = B.k",
            select=["A.k AS k", "COUNT(C.id) AS n"],
            group_by="A.k",
        ),
        "an aggregate is not dealt out",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_partitions_give_together_what_one_engine_gives(spark, case):  # noqa: F811
    """NULL keys and all; by the hash of one key, or in one partition, and it is said why."""
    query, told = CASES[case]
    given = tables("ABC")
    frames = {name: spark.createDataFrame(table) for name, table in given.items()}
    expected = alone(query, given)
    assert any(None in row for row in expected) == (case not in ("anti", "groups"))
    for packed in (False, True) if case in ("outer", "no one key") else (False,):
        frame = eddy.spark.join(query, frames, partitions=3, packed=packed)
        assert Counter(map(tuple, frame.collect())) == expected
        assert told in eddy.spark.explain(frame)
        assert sum(report.results for report in eddy.spark.reports(frame)) == expected.total()


def test_keys_that_python_deals_out(spark):  # noqa: F811
    """2.0 is 2, and 2.5 and NaN are nobody's partner: such rows have results of their own."""
    streams = {
        "A": eddy.Stream({"ts": "int64", "f": "float64"}, window=eddy.Range(9)),
        "B": eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(9)),
    }
    query = eddy.Query(
        streams, attach=eddy.FullJoin("B", "A.f = B.k"), select=["A.ts AS a", "A.f AS f", "B.ts AS b"]
    )
    given = {
        "A": pa.table(
            {"ts": np.arange(40), "f": [float("inf"), 0.5, *(i % 5 + 0.0 for i in range(37)), None]}
        ),
        "B": pa.table({"ts": np.arange(20), "k": pa.array([None, *(i % 7 for i in range(19))], pa.int64())}),
    }
    frames = {name: spark.createDataFrame(table) for name, table in given.items()}
    frame = eddy.spark.join(query, frames, partitions=4)
    assert "hash of A.f = B.k: 4 cells" in eddy.spark.explain(frame)
    assert Counter(map(tuple, frame.collect())) == alone(query, given)


def test_a_lookup_in_a_static_relation(spark):  # noqa: F811
    """Its rows are before all others in every partition; rows without a time are dropped, and counted once."""
    streams = {
        "A": eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(9)),
        "B": eddy.Stream({"k": "int64", "name": "string"}, static=True),
    }
    query = eddy.Query(
        streams, attach=eddy.LeftJoin("B", "A.k = B.k"), select=["A.ts AS a", "A.k AS k", "B.name AS b"]
    )
    given = {
        "A": pa.table({"ts": np.arange(60), "k": pa.array([None, *(i % 11 for i in range(59))], pa.int64())}),
        "B": pa.table({"k": np.arange(7), "name": [f"name {i}" for i in range(7)]}),
    }
    frames = {name: spark.createDataFrame(table) for name, table in given.items()}
    frames["A"] = frames["A"].union(spark.createDataFrame([(None, 3), (None, None)], "ts long, k long"))
    frame = eddy.spark.join(query, frames, partitions=3, bad="drop")
    assert Counter(map(tuple, frame.collect())) == alone(query, given)
    reports = eddy.spark.reports(frame)
    assert len(reports) == 3 and sum(report.bad for report in reports) == 2


@pytest.mark.parametrize("form", ["tuples", "arrow"])
def test_a_partition_of_an_rdd_ends(spark, form):  # noqa: F811
    """What an outer join owes, and what waits because of lateness, comes at the end of the partition."""
    streams = {name: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(3)) for name in "AB"}
    query = eddy.Query(streams, attach=eddy.LeftJoin("B", "A.k = B.k"), select=["A.ts AS a", "B.ts AS b"])
    rows = [
        ("A", (2, 7)),
        ("B", (1, 7)),
        ("A", (3, 8)),
        ("A", (9, 7)),
        ("B", (9, 5)),
        ("B", (0, 8)),
        ("A", (8, 7)),
    ]
    items = rows
    if form == "arrow":
        items = [(name, pa.table({"ts": [ts], "k": [k]})) for name, (ts, k) in rows]
    tally = eddy.spark.report.tally(spark.sparkContext)
    for late, expected in (
        ({"lateness": 20}, Counter({(2, 1): 1, (3, 0): 1, (8, None): 1, (9, None): 1})),
        ({"lateness": 5, "late": "drop"}, Counter({(2, 1): 1, (3, None): 1, (8, None): 1, (9, None): 1})),
    ):
        driver = eddy.spark.driver(query, tally=tally, batch_size=1, **late)
        found = spark.sparkContext.parallelize(items, 1).mapPartitions(driver).collect()
        if form == "arrow":
            found = [tuple(row.values()) for batch in found for row in batch.to_pylist()]
        assert Counter(map(tuple, found)) == expected
        assert eddy.spark.report.reports(tally)[-1].results == expected.total()


def test_what_is_refused_here(spark, tmp_path):  # noqa: F811
    """On the driver, before any job: order that there is none of, rows nobody could ask for."""
    streams = made(eddy.LeftJoin("C", "A.k = C.k"), "A.k = B.k").streams
    inner = eddy.Query(streams, ["A.k = B.k", "B.k = C.k"])
    untimed = {name: eddy.Stream({"id": "int64", "k": "int64"}) for name in "AB"}
    near = eddy.Query(untimed, attach=eddy.AsofJoin("B", ["A.k = B.k", "A.id >= B.id"]))
    none = dict.fromkeys("ABC")
    for door, said in (
        (
            lambda: eddy.spark.stream(inner, none, tmp_path, lateness=5),
            "leave lateness out, and give watermark=",
        ),
        (
            lambda: eddy.spark.join(inner, none, lateness=5),
            "in order of their time by itself: leave lateness out",
        ),
        (
            lambda: eddy.spark.join(near, none),
            "ASOF JOIN B takes the newest row, and a DataFrame has no order",
        ),
        (lambda: eddy.spark.driver(inner, lateness=5, late="keep"), "which nobody can call in a partition"),
        (lambda: eddy.spark.driver(inner, lateness=5, idle="1 s"), "leave idle out"),
    ):
        with pytest.raises(EddyError, match=said):
            door()
