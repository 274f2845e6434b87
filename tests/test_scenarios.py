"""The digest's scenarios of base operators and common semantics (T01 to T08, T10 and T12, H-A1 to H-A6)."""

from __future__ import annotations

import itertools

import pytest

import eddy
from policies import Jisc
from tests.trace import Trace

SETUPS = [{}, {"joins": "nested"}, {"background": 1}, {"background": 100}]
THREE = ["(A B) C", "A (B C)", "(A C) B", "stems", "A: C B | B: C A | C: B A"]


@pytest.fixture(params=SETUPS, ids=["lazy", "nested", "background 1", "background 100"])
def setup(request):
    """How the engine runs; no result may depend on it."""
    return request.param


def test_t01_symmetric_hash_join(setup):
    """A row joins all earlier rows of its key, and none of another."""
    trace = Trace("(R S) T", **setup)
    assert trace.add("r1 s1 s2 t1") == ["r1s1t1", "r1s2t1"]
    assert trace.add("t2(2)") == []


def test_t02_the_boundary_of_a_time_window_is_inside(setup):
    """A row exactly as old as the window joins, one older does not (H-A2)."""
    trace = Trace("A B", width=10, **setup)
    assert trace.add("a1@0 b1@10") == ["a1b1"]
    assert trace.add("b2@11") == []


@pytest.mark.parametrize("plan", THREE)
def test_t03_every_component_must_be_live(plan, setup):
    """A composite whose oldest row has expired joins nothing, whatever the plan (H-A1)."""
    where = ["A.k = B.k", "B.k = C.k"]
    trace = Trace(plan, dict.fromkeys("ABC", ("k",)), where, width=10, **setup)
    assert trace.add("a1@0 b1@9 c1@15") == []


@pytest.mark.parametrize("plan", THREE)
def test_t03_after_a_plan_change(plan, setup):
    """Nor does it when it was stored under one plan and is probed under another (H-A1)."""
    for first in THREE:
        where = ["A.k = B.k", "B.k = C.k"]
        trace = Trace(first, dict.fromkeys("ABC", ("k",)), where, width=10, **setup)
        trace.add("a1@0 b1@9")
        trace.migrate(plan)
        assert trace.add("c1@15") == []


@pytest.mark.parametrize("plan", THREE)
def test_t04_purging_never_decides_a_result(plan, setup):
    """The rows around the borders of the purging lemma join exactly when all are live at the latest."""

    def fresh():
        return Trace(plan, dict.fromkeys("ABC", ("k",)), ["A.k = B.k", "A.k = C.k"], width=10, **setup)

    assert fresh().add("c1@9 c2@10 a1@20 b1@28") == []
    assert fresh().add("c1@9 c2@10 a1@20 b1@20") == ["a1b1c2"]
    assert fresh().add("a1@10 b1@20 c1@21") == []
    trace = fresh()
    assert trace.add("a1@20 b1@28 c1@30") == ["a1b1c1"]
    assert trace.add("c2@31") == []


def test_t05_count_window(setup):
    """Rows(2) holds the last two rows."""
    trace = Trace("R S", windows={"R": eddy.Rows(2)}, **setup)
    assert trace.add("r1 r2 r3 s1") == ["r2s1", "r3s1"]


def test_t06_ties_in_time(setup):
    """Rows of one moment join once each, and arrival alone says which is older (H-A3)."""
    assert Trace("A B", width=0, **setup).add("a1@5 a2@5 b1@5") == ["a1b1", "a2b1"]
    trace = Trace("(A B) C", width=0, **setup)
    trace.add("b1@5 a1@5")
    trace.migrate("A (B C)")
    trace.add("a2@5")
    assert trace.add("c1@5") == ["a1b1c1", "a2b1c1"]
    trace.migrate("(A C) B")
    assert trace.add("b2@5") == ["a1b2c1", "a2b2c1"]


def test_t07_the_route_changes_after_every_event():
    """Stems and orderings may change with every event; outputs stay the same and none is repeated."""
    routes = itertools.product(["R: S T", "R: T S"], ["S: R T", "S: T R"], ["T: R S", "T: S R"])
    orders = [" | ".join(choice) for choice in routes]
    for start in range(len(orders)):
        plans = itertools.cycle(orders[start:] + orders[:start])
        trace = Trace(next(plans), dict.fromkeys("RST", ("k",)), ["R.k = S.k", "S.k = T.k"])
        found = []
        for row in "r1 s1 s2 t1 t2(2)".split():
            found.append(trace.push(row))
            trace.migrate(next(plans))
        assert found == [[], [], [], ["r1s1t1", "r1s2t1"], []]


@pytest.mark.parametrize("plan", THREE)
def test_t08_theta_and_equality_in_one_plan(plan, setup):
    """An inequality and an equality join in any order, also with a cross product inside the plan."""
    streams = {"A": ["v", "x"], "B": ["v"], "C": ["x"]}
    trace = Trace(plan, streams, ["A.v < B.v", "A.x = C.x"], **setup)
    assert trace.add("a1(1,7) b1(2) b2(0) c1(7)") == ["a1b1c1"]


def test_t10_a_result_across_a_plan_change(setup):
    """Rows that came before the change still join with those after it."""
    trace = Trace("((R S) T) U", **setup)
    trace.add("s1 t1 u1")
    trace.migrate("((S T) R) U")
    assert trace.add("r1") == ["r1s1t1u1"]


def test_t12_no_result_from_a_row_that_expired_after_the_change(setup):
    """A composite kept over the change dies with its row."""
    trace = Trace("((R S) T) U", windows={"S": eddy.Rows(1)}, **setup)
    trace.add("r1 s1 t1")
    trace.migrate("((S T) R) U")
    trace.expire("s1")
    assert trace.add("u1") == []


def test_ha4_windows_per_pair_as_predicates(setup):
    """Pairs with different windows join when each pair is within its own, also after a plan change."""
    where = ["ABS(A.ts - B.ts) <= 2", "ABS(B.ts - C.ts) <= 10", "ABS(A.ts - C.ts) <= 12", "A.k = B.k"]
    trace = Trace("(A B) C", dict.fromkeys("ABC", ("k",)), where, width=12, **setup)
    trace.add("b1@0 a1@1 a2@5")
    trace.migrate("A (B C)")
    assert trace.add("c1@8") == ["a1b1c1"]


def test_ha5_turn_over_of_count_windows(setup):
    """After a change, windows that have turned over by count leave no old result behind."""
    windows = dict.fromkeys("RST", eddy.Rows(2))
    trace = Trace("(R S) T", windows=windows, **setup)
    trace.add("s1 t1")
    trace.migrate("(S T) R")
    trace.add("s2 s3 t2 t3")
    assert trace.add("r1") == ["r1s2t2", "r1s2t3", "r1s3t2", "r1s3t3"]


def test_ha6_composites_that_come_late_expire_in_time(setup):
    """Old composites filled after newer ones neither outlive their rows nor take the newer with them."""
    trace = Trace("(R S) T", windows={"S": eddy.Rows(2)}, **setup)
    trace.add("s1(1) t1(1) t2(2)")
    trace.migrate("(S T) R")
    trace.add("s2(2)")
    assert trace.add("r2(2)") == ["r2s2t2"]
    assert trace.add("r1(1)") == ["r1s1t1"]
    trace.expire("s1")
    assert trace.add("r3(1)") == []
    assert trace.add("r4(2)") == ["r4s2t2"]


def test_windows_come_before_filters_and_null_keys(setup):
    """A row that a filter rejects, or whose key is NULL, still takes its place in a count window."""
    streams = {name: eddy.Stream({"k": "int64", "v": "int64"}, window=eddy.Rows(2)) for name in "AB"}
    query = eddy.Query(streams, where=["A.k = B.k", "A.v > 0"])
    options = {key: value for key, value in setup.items() if key != "background"}
    engine = eddy.Eddy(query, migration=Jisc(background=setup.get("background", 0)), **options)
    engine.push("A", {"k": [1, 1, None], "v": [1, 0, 1]})
    assert engine.push("B", {"k": [1], "v": [1]}).rows.tolist() == []
    engine.push("A", {"k": [1, None], "v": [1, 1]})
    assert engine.push("B", {"k": [1, None], "v": [1, 1]}).rows.tolist() == [[3, 1]]
