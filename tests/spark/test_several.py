"""Several queries on Spark: one shuffle, and for each query what a join of its own gives."""

from __future__ import annotations

from collections import Counter

import pytest

import eddy
import eddy.spark
from eddy import EddyError
from tests.spark.test_attached import tables
from tests.sparks import spark  # noqa: F401

COLUMNS = {"ts": "int64", "id": "int64", "k": "int64", "s": "string"}
SCHEMAS = dict.fromkeys("ABC", COLUMNS)
JOIN = "SELECT A.id AS a, B.id AS b FROM A [RANGE 9], B [RANGE 9] WHERE A.k = B.k"
QUERIES = {
    "all": JOIN,
    "some": f"{JOIN} AND A.id > 40 AND B.s <> 'é3'",
    "longer": JOIN.replace("9", "20"),
    "three": """SELECT A.id AS a, C.id AS b FROM A [RANGE 9], B [RANGE 9], C [RANGE 9]
        WHERE A.k = B.k AND B.k = C.k AND A.s = B.s""",
    "left": "SELECT C.id AS a, B.id AS b FROM C [RANGE 5] LEFT JOIN B [RANGE 5] ON C.k = B.k",
    "alone": "SELECT C.id AS a, C.ts AS b FROM C [RANGE 1] WHERE C.id > 100",
}


def made(texts=QUERIES):
    return {name: eddy.sql(text, schemas=SCHEMAS) for name, text in texts.items()}


def frames_of(spark, names="ABC"):  # noqa: F811
    return {name: spark.createDataFrame(table) for name, table in tables(names).items()}


def rows_of(frame):
    return Counter(tuple(row) for row in frame.collect())


def alone(queries, frames, **options):
    """By name, what a join of each gives."""
    return {
        name: rows_of(eddy.spark.join(query, {s: frames[s] for s in query.names}, 2, **options))
        for name, query in queries.items()
    }


def exchanges(frame):
    """How many shuffles Spark plans, of one that was not computed yet."""
    return frame._jdf.queryExecution().executedPlan().toString().count("Exchange")


def by_name(frame):
    found = {}
    for row in frame.collect():
        found.setdefault(row["query"], Counter())[tuple(row)[1:]] += 1
    return found


def test_one_shuffle_serves_all(spark):  # noqa: F811
    """Joins, filters, outer joins and streams alone; whose a row is stands before its columns."""
    frames, queries = frames_of(spark), made()
    frame = eddy.spark.join(queries, frames, 3)
    assert frame.columns == ["query", "a", "b"]
    assert exchanges(frame) == exchanges(eddy.spark.join(queries["three"], frames, 3)) > 0
    wanted = alone(queries, frames)
    assert all(wanted.values()) and by_name(frame) == wanted
    told = eddy.spark.explain(frame)
    assert "hash of A.k = B.k = C.k: 3 cells" in told and "all, some: " in told
    reports = eddy.spark.reports(frame)
    assert sum(report.results for report in reports) == sum(rows.total() for rows in wanted.values())
    assert sum(report.rows["A"] for report in reports) == 150


def test_queries_that_show_different_columns_are_given_apart(spark):  # noqa: F811
    """A frame for each, of one that is computed once."""
    frames = frames_of(spark)
    queries = made(
        {**QUERIES, "texts": "SELECT A.s, B.ts, A.id FROM A [RANGE 9], B [RANGE 9] WHERE A.k = B.k"}
    )
    found = eddy.spark.join(queries, frames, 2, apart=True)
    assert list(found) == list(queries) and found["texts"].columns == ["A.s", "B.ts", "A.id"]
    assert {name: rows_of(frame) for name, frame in found.items()} == alone(queries, frames)
    assert len(eddy.spark.reports(found["all"])) == 2
    assert found.whole.is_cached
    found.unpersist()
    assert not found.whole.is_cached
    with pytest.raises(EddyError, match=r"all shows a, b, and texts A.s, B.ts, A.id: give apart=True"):
        eddy.spark.join(queries, frames, 2)


def test_in_one_partition_all_queries_fit(spark):  # noqa: F811
    """Also those that count rows, aggregate, or join by another key; changes have a sign."""
    texts = {
        "rows": JOIN.replace("RANGE 9", "ROWS 12"),
        "groups": f"SELECT A.k AS a, COUNT(*) AS b {JOIN.partition('B.id AS b')[2]} GROUP BY A.k",
        "other": JOIN.replace("A.k = B.k", "A.s = B.s"),
        "near": "SELECT A.id AS a, B.id AS b FROM A ASOF JOIN B ON A.k = B.k AND A.ts >= B.ts",
    }
    frames, queries = frames_of(spark, "AB"), made(texts)
    found = eddy.spark.join(queries, frames, kind="single", apart=True)
    assert found["groups"].columns == ["a", "b", "sign"] and found["rows"].columns == ["a", "b"]
    wanted = alone(queries, frames)
    assert all(wanted.values())
    assert {name: rows_of(frame) for name, frame in found.items()} == wanted


UNFIT = {
    "query other does not fit those before it: it is joined by A.s = B.s": JOIN.replace(
        "A.k = B.k", "A.s = B.s"
    ),
    "query other cannot be dealt out with others: the window of A counts": JOIN.replace("RANGE 9", "ROWS 9"),
    "query other cannot be dealt out with others: a result of an aggregate": (
        "SELECT COUNT(*) AS n FROM A [RANGE 9], B [RANGE 9] WHERE A.k = B.k"
    ),
    "query other cannot be dealt out with others: there is no key that joins A, B": (
        "SELECT A.id AS a, B.id AS b FROM A [RANGE 9], B [RANGE 9] WHERE A.k < B.k"
    ),
}


@pytest.mark.parametrize("said", UNFIT)
def test_a_query_that_does_not_fit_is_named(said, spark):  # noqa: F811
    """With what to do."""
    queries = made({"all": JOIN, "other": UNFIT[said]})
    with pytest.raises(EddyError, match=said) as found:
        eddy.spark.join(queries, frames_of(spark, "AB"), 2, apart=True)
    assert str(found.value).endswith("join it apart, or give kind='single', and all rows go to one partition")


def test_a_key_that_several_have_is_found(spark):  # noqa: F811
    """Where queries have more than one, that which all have."""
    both = f"{JOIN} AND A.s = B.s"
    queries = made({"both": both, "texts": JOIN.replace("A.k = B.k", "A.s = B.s")})
    frames = frames_of(spark, "AB")
    frame = eddy.spark.join(queries, frames, 2)
    assert "hash of A.s = B.s" in eddy.spark.explain(frame)
    assert by_name(frame) == alone(queries, frames)


REFUSED = {
    "at least one query": ({}, {}),
    "sample is for a join of one query": ({"all": JOIN}, {"sample": 0.1}),
    "packed is for a join of one query": ({"all": JOIN}, {"packed": True}),
    "kind='hash', or not at all": ({"all": JOIN}, {"kind": "hypercube"}),
    "there is no DataFrame for stream C": ({"all": QUERIES["three"]}, {}),
    "leave lateness out": ({"all": JOIN}, {"lateness": 3}),
    "names no stream|no stream": ({"all": JOIN}, {"plan": "A X"}),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_refused(said, spark):  # noqa: F811
    """At once, in a line."""
    texts, options = REFUSED[said]
    with pytest.raises(EddyError, match=said):
        eddy.spark.join(made(texts), frames_of(spark, "AB"), 2, **options)


def test_apart_is_for_several_queries(spark):  # noqa: F811
    """And other doors take one query."""
    query = made()["all"]
    with pytest.raises(EddyError, match=r"apart is for several queries"):
        eddy.spark.join(query, frames_of(spark, "AB"), 2, apart=True)
    with pytest.raises(EddyError, match=r"eddy.spark.join takes several"):
        eddy.spark.driver({"all": query})
