"""Queries come and go, and what can go wrong with that."""

from __future__ import annotations

import numpy as np
import pytest

import eddy
from tests.several.worlds import columns, made, records

ROW = {"x": 1, "y": 1, "v": 1, "s": "a"}
JOIN = "SELECT A.v, B.s FROM A [ROWS 5], B [ROWS 5] WHERE A.x = B.x"


def push(engine, stream, ts):
    """A row that has a partner."""
    return engine.push(stream, columns(stream, [{"ts": ts, **ROW}]))


def test_a_filter_that_raises_adds_nothing():
    """A function of one's own may fail on rows that are there: then the engine is as it was."""

    def fails(values):
        raise ValueError("not these")

    fails = eddy.function(fails, "A.v", type="bool")
    engine = eddy.Eddy({"join": made(JOIN)})
    push(engine, "A", 1)
    streams = {name: made(JOIN).streams[name] for name in "AB"}
    bad = eddy.Query(streams, where=["A.x = B.x", fails], select=["A.v"])
    with pytest.raises(Exception, match="not these"):
        engine.add("bad", bad)
    assert list(engine.queries) == ["join"]
    assert len(push(engine, "B", 2)["join"]) == 1
    engine.add("good", made(f"{JOIN} AND A.v = 1"))
    assert push(engine, "B", 3).counts == {"join": 1, "good": 1}


def test_a_core_that_reads_no_column_runs():
    """A stream without time and filters is a query all the same."""
    engine = eddy.Eddy({"all": eddy.sql("SELECT D.k FROM D [ROWS 3]", schemas={"D": {"k": "int64"}})})
    assert engine.push("D", {"k": [4, 5]})["all"].to_pydict() == {"D.k": [4, 5]}


def test_results_outlive_their_query():
    """What a query was given, or not given, can be read after it was dropped."""
    engine = eddy.Eddy({"join": made(JOIN), "other": made("SELECT C.v FROM C WHERE C.v > 0")})
    first, second = push(engine, "A", 1), push(engine, "B", 2)
    engine.drop("join")
    engine.drop("other")
    assert len(first["join"]) == 0 and len(second["join"]) == 1
    assert second["other"].to_pydict() == {"C.v": []}


def test_time_does_not_wait_for_a_stream_that_nobody_has():
    """Under lateness the streams of dropped queries do not hold the watermark back."""
    engine = eddy.Eddy({"join": made(JOIN), "c": made("SELECT C.v FROM C")}, lateness=0)
    push(engine, "A", 1)
    engine.drop("c")
    for ts in range(2, 6):
        push(engine, "A", ts)
        last = push(engine, "B", ts)
    assert len(last["join"]) > 0
    engine.add("c", made("SELECT C.v FROM C"))
    push(engine, "A", 9)
    assert len(push(engine, "B", 9)["join"]) == 0  # C may still bring older rows
    assert len(push(engine, "C", 9)["join"]) > 0


def test_a_relation_that_comes_too_late_is_refused():
    """A static stream is loaded before all others, so that no query can bring one later."""
    schemas = {"A": {"ts": "int64", "x": "int64"}, "S": {"x": "int64"}}
    static = eddy.Query(
        {"A": schemas["A"], "S": eddy.Stream(schemas["S"], static=True)}, where=["A.x = S.x"], select=["A.x"]
    )
    early = eddy.Eddy({"static": static})
    early.push("S", {"x": [1]})
    assert len(early.push("A", {"ts": [1], "x": [1]})["static"]) == 1
    late = eddy.Eddy({"a": eddy.sql("SELECT A.x FROM A", schemas={"A": schemas["A"]})})
    late.push("A", {"ts": [1], "x": [1]})
    with pytest.raises(eddy.EddyError, match="static, and rows of other streams have come"):
        late.add("static", static)
    assert list(late.queries) == ["a"]


def test_an_error_of_a_plan_names_the_query():
    """With a plan for each query it is said whose is wrong."""
    with pytest.raises(eddy.PlanError, match="query join:"):
        eddy.Eddy({"join": made(JOIN)}, plan="A C")


def test_a_thousand_queries_are_told_of_in_a_line():
    """Of many queries only some names are shown."""
    engine = eddy.Eddy({f"q{i}": made(f"{JOIN} AND A.v = {i}") for i in range(1000)})
    assert repr(engine) == f"<Eddy of 1000 queries: {', '.join(f'q{i}' for i in range(10))} and 990 more>"
    assert len(engine.explain().splitlines()[0]) < 200


def test_many_that_come_and_go_leave_nothing():
    """Memory does not grow with the number of queries that there have been."""
    engine, random, sizes = eddy.Eddy({"join": made(JOIN)}), np.random.default_rng(0), []
    alone = eddy.Eddy(made(JOIN))
    for turn in range(150):
        engine.add(f"q{turn}", made(f"{JOIN} AND A.v > {turn % 9} AND B.s = '{turn}'"))
        for stream in "AB":
            rows = [{"ts": 2 * turn, **ROW, "v": int(random.integers(0, 9))} for _ in range(5)]
            assert records(engine.push(stream, columns(stream, rows))["join"]) == records(
                alone.push(stream, columns(stream, rows))
            )
        engine.drop(f"q{turn}")
        sizes.append(engine.nbytes)
    assert max(sizes[100:]) <= 1.5 * max(sizes[20:50])


@pytest.mark.parametrize("shown", ["A.v, B.s", "COUNT(*) AS n"])
def test_a_query_sees_what_is_live_though_its_core_began_later(shown):
    """A core whose first query wanted no history is given older rows, which that query goes on not to see."""
    text = f"SELECT {shown} FROM A, B WHERE A.x = B.x"
    engine = eddy.Eddy({"keeps": made("SELECT A.v FROM A, B WHERE A.y = B.y")})
    push(engine, "B", 1)
    engine.add("new", made(text), history=False)
    push(engine, "B", 2)
    engine.add("old", made(text), history=True)
    engine.add("newest", made(text), history=False)
    push(engine, "B", 3)
    found, tables = push(engine, "A", 4), {}
    for name, firsts in (("old", 1), ("new", 2), ("newest", 3)):
        tables[name] = eddy.Eddy(made(text))
        for ts in range(firsts, 4):
            push(tables[name], "B", ts)
        assert records(found[name]) == records(push(tables[name], "A", 4)), name
    if "COUNT" in shown:
        assert all(records(engine.table(n)) == records(one.table()) for n, one in tables.items())


def test_an_engine_that_stopped_in_a_batch_is_not_mended_by_a_drop():
    """Queries that have missed rows give nothing wrong afterwards: they give nothing."""

    def fails(first, second):
        if 7 in first.to_pylist():
            raise ValueError("seven")
        return [value > 0 for value in first.to_pylist()]

    streams = {name: made(JOIN).streams[name] for name in "AB"}
    where = ["A.x = B.x", eddy.function(fails, "A.v", "B.v", type="bool")]
    engine = eddy.Eddy(
        {"bad": eddy.Query(streams, where=where, select=["A.v"]), "good": made("SELECT A.v FROM A")}
    )
    push(engine, "B", 1)
    with pytest.raises(ValueError, match="seven"):
        engine.push("A", columns("A", [{"ts": 2, **ROW, "v": 7}]))
    with pytest.raises(eddy.StateError, match="stopped in the middle of a batch"):
        push(engine, "A", 3)
    engine.drop("bad")
    with pytest.raises(eddy.StateError, match="stopped in the middle of a batch"):
        push(engine, "A", 3)


def test_a_stream_of_a_query_that_was_not_added_is_not_waited_for():
    """Under lateness, too, all is as it was, and other streams may come."""

    def fails(values):
        raise ValueError("not these")

    engine = eddy.Eddy({"a": made("SELECT A.v FROM A")}, lateness=0)
    push(engine, "A", 1)
    push(engine, "A", 2)
    streams = {name: made("SELECT A.v FROM A, D WHERE A.x = D.x").streams[name] for name in "AD"}
    bad = eddy.Query(streams, where=["A.x = D.x", eddy.function(fails, "A.v", type="bool")], select=["A.v"])
    with pytest.raises(ValueError, match="not these"):
        engine.add("bad", bad)
    assert [len(push(engine, "A", ts)["a"]) for ts in (3, 4)] == [1, 1]
    engine.add("c", made("SELECT C.v FROM C"))
    push(engine, "C", 5)
    push(engine, "A", 6)
    assert engine.flush().counts == {"a": 1, "c": 1}
    with pytest.raises(eddy.BatchError, match="D"):
        push(engine, "D", 7)


@pytest.mark.parametrize("shown", ["A.v, B.s", "COUNT(*) AS n"])
def test_rows_of_a_dropped_query_are_not_live(shown):
    """What a core holds for a query that is gone is not seen by one that comes."""
    text = f"SELECT {shown} FROM A, B WHERE A.x = B.x"
    engine, alone = eddy.Eddy({"old": made(text)}), eddy.Eddy(made(text))
    push(engine, "B", 1)
    engine.add("young", made(text), history=False)
    engine.drop("old")
    push(engine, "B", 2)
    push(alone, "B", 2)
    engine.add("new", made(text))
    found, wanted = push(engine, "A", 3), records(push(alone, "A", 3))
    assert records(found["young"]) == records(found["new"]) == wanted


@pytest.mark.parametrize("saved", [False, True])
def test_a_pane_that_began_before_the_rows_that_are_live_does_not_bring_them_back(tmp_path, saved):
    """Rows that no query sees any more stay unseen by one that comes, though a pane of another holds their numbers."""
    engine = eddy.Eddy({"short": made("SELECT A.v FROM A [ROWS 2], B [ROWS 2] WHERE A.x = B.x")})
    for ts in range(5):
        push(engine, "A", ts)
    pane = "SELECT A.v FROM A [TUMBLING 6 ROWS], B [TUMBLING 6 ROWS] WHERE A.x = B.x"
    engine.add("pane", made(pane))
    if saved:
        engine.save(tmp_path / "pane.eddy")
        engine = eddy.Eddy.load(tmp_path / "pane.eddy")
    engine.add("long", made("SELECT A.v FROM A [ROWS 9], B [ROWS 9] WHERE A.x = B.x"))
    engine.add("filtered", made(f"{pane} AND A.v = 1"))  # the core of `pane` is made anew
    found = push(engine, "B", 5)
    assert {name: sorted(found[name].rows[:, 0].tolist()) for name in found} == {
        "short": [3, 4],
        "pane": [3, 4],
        "long": [3, 4],
        "filtered": [3, 4],
    }
