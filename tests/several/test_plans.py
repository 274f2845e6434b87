"""Each query keeps the plan that it is given; queries that are worded otherwise share what is the same."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import eddy
from policies import Auto, Fixed

SCHEMAS = {name: {"ts": "int64", "k": "int64", "v": "int64"} for name in "ABC"}
LEFT, RIGHT = "(A B) C", "A (B C)"


def made(where=""):
    """A join of three streams."""
    windows = ", ".join(f"{name} [ROWS 20]" for name in "ABC")
    text = f"SELECT A.v, B.v AS w, C.ts FROM {windows} WHERE A.k = B.k AND B.k = C.k{where}"
    return eddy.sql(text, schemas=SCHEMAS)


def cores(engine):
    """How many cores the queries of an engine have."""
    return len(engine.explain().split("\n\n"))


def same(engine, alone, seed=0):
    """Whether all queries give what they give alone."""
    random = np.random.default_rng(seed)
    for at in range(0, 200, 10):
        for name in "ABC":
            batch = {
                "ts": np.arange(at, at + 10),
                "k": random.integers(0, 9, 10),
                "v": random.integers(0, 9, 10),
            }
            found = engine.push(name, batch)
            for query, one in alone.items():
                assert sorted(found[query].rows.tolist()) == sorted(one.push(name, batch).rows.tolist())


def test_each_query_keeps_the_plan_that_it_was_given():
    """Queries of one core with plans of their own have each its own, and so have those that were given none."""
    queries = {"a": made(), "b": made(" AND A.v > 2"), "c": made(" AND A.v > 5"), "d": made()}
    engine = eddy.Eddy(queries, plan={"a": LEFT, "b": RIGHT, "c": RIGHT})
    assert {name: engine.plan[name] for name in "abc"} == {"a": LEFT, "b": RIGHT, "c": RIGHT}
    assert cores(engine) == 3
    same(engine, {name: eddy.Eddy(query) for name, query in queries.items()})


@pytest.mark.parametrize("order", list(itertools.permutations("abc")), ids="".join)
def test_who_came_first_does_not_say_who_adapts(order):
    """A query with a plan keeps it, and one without is planned for, in whatever order they come."""
    queries, plans = {"a": made(), "b": made(" AND A.v > 2"), "c": made()}, {"a": RIGHT}
    engine = eddy.Eddy({})
    for name in order:
        engine.add(name, queries[name], plan=plans.get(name))
    assert type(engine.routing["a"]) is Fixed
    assert type(engine.routing["b"]) is type(engine.routing["c"]) is Auto
    assert engine.plan["a"] == RIGHT and engine.plan["b"] == engine.plan["c"]


def test_adding_a_query_with_a_plan_changes_no_other():
    """The plan of a query that comes is its own; where it is that of queries that were given it, they share it."""
    engine = eddy.Eddy({"a": made()}, plan=LEFT)
    engine.add("b", made(" AND A.v > 2"), plan=RIGHT)
    engine.add("c", made(" AND A.v > 3"), plan=RIGHT)
    assert engine.plan == {"a": LEFT, "b": RIGHT, "c": RIGHT} and cores(engine) == 2
    engine.migrate(LEFT, query="b")
    assert engine.plan == {"a": LEFT, "b": LEFT, "c": LEFT}
    engine.add("d", made(), plan=RIGHT)
    assert engine.plan["d"] == RIGHT and engine.plan["c"] == LEFT and cores(engine) == 3
    same(engine, {name: eddy.Eddy(query) for name, query in engine.queries.items()})


def test_a_loaded_engine_goes_on_choosing(tmp_path):
    """Who chooses plans is saved: a query that was given one keeps it, and one that was not is planned for."""
    engine = eddy.Eddy({"a": made(), "b": made(" AND A.v > 2")}, plan={"a": RIGHT})
    engine.save(tmp_path / "plans.eddy")
    loaded = eddy.Eddy.load(tmp_path / "plans.eddy")
    assert type(loaded.routing["a"]) is Fixed and type(loaded.routing["b"]) is Auto
    loaded.add("c", made(" AND A.v > 4"), plan=RIGHT)
    loaded.add("d", made(" AND A.v > 4"))
    assert loaded.plan["a"] == loaded.plan["c"] == RIGHT and cores(loaded) == 2


def test_windows_are_the_same_by_their_width():
    """A minute is 60 seconds: queries that write it in two ways have one core."""
    schemas = {name: {"ts": "timestamp[ms]", "k": "int64"} for name in "AB"}
    queries = {
        width: eddy.sql(
            f"SELECT A.k FROM A [RANGE {width}], B [TUMBLING {width}] WHERE A.k = B.k", schemas=schemas
        )
        for width in ("60 SECONDS", "1 MINUTE", "60001 MILLISECONDS")
    }
    engine = eddy.Eddy(queries)
    assert cores(engine) == 2
    assert "60 SECONDS, 1 MINUTE: 2 queries, one core" in engine.explain()


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("A.v < B.v", "B.v > A.v", True),
        ("A.v <= B.v", "B.v >= A.v", True),
        ("A.v <> B.v", "B.v <> A.v", True),
        ("A.v + 1 = B.v * 2", "B.v * 2 = A.v + 1", True),
        ("A.v < B.v", "A.v > B.v", False),
        ("A.v < B.v", "A.v <= B.v", False),
        ("A.v - B.v < 3", "B.v - A.v < 3", False),
    ],
)
def test_a_predicate_is_the_same_from_either_side(one, other, shared):
    """Queries share a core if their predicates say the same from left to right and from right to left."""
    queries = {"one": made(f" AND {one}"), "other": made(f" AND {other}")}
    engine = eddy.Eddy(queries)
    assert cores(engine) == (1 if shared else 2)
    same(engine, {name: eddy.Eddy(query) for name, query in queries.items()})


def test_a_push_without_queries_says_what_to_do():
    """There is no stream to push to, so a query is to be added."""
    with pytest.raises(eddy.BatchError, match=r"no query has a stream 'A': add a query first$"):
        eddy.Eddy({}).push("A", {"ts": [1]})


def test_an_engine_is_loaded_with_others_added_or_left_out(tmp_path):
    """A query that the file does not have is added, one that is None left out; what is neither is told."""
    path, queries = tmp_path / "several.eddy", {"a": made(), "b": made(" AND A.v > 2")}
    queries["left"] = eddy.sql(
        "SELECT A.v, B.v AS w FROM A [ROWS 9] LEFT JOIN B [ROWS 9] ON A.k = B.k", schemas=SCHEMAS
    )
    engine = eddy.Eddy(queries)
    row = {"ts": [1], "k": [1], "v": [3]}
    engine.push("A", row), engine.push("B", row)
    engine.save(path)
    loaded = eddy.Eddy.load(path, {"a": None, "left": None, "new": made(" AND C.v = 3")})
    assert list(loaded.queries) == ["b", "new"]
    assert loaded.push("C", row).counts == {"b": 1, "new": 1}
    assert list(eddy.Eddy.load(path, {"a": None, "b": None, "left": None}).queries) == []
    for wrong, told in (({"x": None}, "'x' in the snapshot"), ({"x": "A"}, "give an eddy.Query, or None")):
        with pytest.raises(eddy.EddyError, match=told):
            eddy.Eddy.load(path, wrong)


def test_a_query_that_cannot_be_read_back_may_be_left_out(tmp_path):
    """Whoever has lost a function of a query can still load the others."""
    streams = made().streams
    bad = eddy.Query(streams, where=["A.k = B.k", "B.k = C.k", eddy.predicate(lambda a: a > 1, "A.v")])
    eddy.Eddy({"a": made(), "bad": bad}).save(tmp_path / "bad.eddy")
    assert list(eddy.Eddy.load(tmp_path / "bad.eddy", {"bad": None}).queries) == ["a"]
