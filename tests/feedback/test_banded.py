"""Rows that wait for what predicates without an equality accept, as a sorted index tells it."""

from __future__ import annotations

import numpy as np
import pytest

import eddy
from policies import Doe, Jisc, Mns, NoFeedback, ParallelTrack
from tests.feedback.engines import signed
from tests.feedback.test_scenarios_feedback import feed, make

TIRELESS = Mns(restraint=False)


def edges(engine):
    """For each edge at which something waits, how many, by name and what is wanted."""
    told = engine.statistics().feedback.edges
    return {(edge.name, edge.opposite, edge.key): edge.waiting for edge in told if edge.waiting}


@pytest.mark.parametrize("policy", [NoFeedback(), Doe(), TIRELESS, Mns()], ids=str)
def test_t67_what_a_selection_above_the_join_rejects_is_deleted(policy):
    """A.x > 200, where 200 is a row of a static relation: so it is not pushed down, but a consumer above the join of A
    and B. a1 (x = 1) is deleted, and later rows of B make nothing; so is a2, which is alike; a3 (x = 300) passes."""
    streams = {
        "A": eddy.Stream({"ts": "int64", "k": "int64", "x": "int64"}, window=eddy.Range(100)),
        "B": eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(100)),
        "T": eddy.Stream({"least": "int64"}, static=True),
    }
    query = eddy.Query(streams, where=["A.k = B.k", "A.x > T.least"], cross=True)
    engine = eddy.Eddy(query, "(A B) T", feedback=policy)
    engine.push("T", {"least": [200]})

    def made():
        return engine.statistics().stairs[0].live

    def row(name, ts, **values):
        return name, ts, {"k": 1, **values}

    judges = isinstance(policy, Mns)
    assert feed(engine, row("B", 1), row("A", 2, x=1), row("B", 3), row("B", 4)) == [[]] * 4
    assert made() == (0 if judges else 3)
    assert feed(engine, row("A", 5, x=1), row("B", 6)) == [[], []]
    assert made() == (0 if judges else 8)
    if judges:
        numbers = engine.statistics().feedback
        assert (numbers.suspended, numbers.dropped, numbers.waiting, numbers.resumed) == (2, 2, 0, 0)
    assert len(feed(engine, row("A", 7, x=300))[0]) == 4
    assert len(feed(engine, row("B", 8))[0]) == 1
    assert made() == (5 if judges else 15)


@pytest.mark.parametrize("policy", [NoFeedback(), Doe(), TIRELESS, Mns()], ids=str)
def test_t67_what_an_expression_over_two_streams_rejects_waits_above_the_join(policy):
    """A.x + C.y > 200 is decided above the join of A and B. No row of C is enough for a1 (x = 1), so it is kept from
    the join, and later rows of B make nothing with it; so is a2, which is alike; a3 (x = 300) passes. Rows of C come
    and go, so a1 and a2 are not deleted: when one with y = 200 has come all that they make is there."""
    where = ["A.k = B.k", "A.x + C.y > 200"]
    engine = make({"A": "k x", "B": "k", "C": "y"}, where, "(A B) C", policy, window=100)

    def made():
        return engine.statistics().stairs[0].live

    def row(name, ts, **values):
        return name, ts, {"k": 1, **values}

    judges = isinstance(policy, Mns)
    first = feed(engine, ("C", 0, {"y": 7}), row("B", 1), row("A", 2, x=1), row("B", 3), row("B", 4))
    assert first == [[]] * 5 and made() == (0 if judges else 3)
    assert feed(engine, row("A", 5, x=1), row("B", 6)) == [[], []]
    assert made() == (0 if judges else 8)
    if judges:
        numbers = engine.statistics().feedback
        assert (numbers.suspended, numbers.dropped, numbers.waiting, numbers.resumed) == (2, 0, 2, 0)
    assert len(feed(engine, row("A", 7, x=300))[0]) == 4
    assert len(feed(engine, row("B", 8))[0]) == 1 and made() == (5 if judges else 15)
    assert len(feed(engine, ("C", 9, {"y": 200}))[0]) == 15 and made() == 15


@pytest.mark.parametrize("policy", [NoFeedback(), Doe(), TIRELESS, Mns()], ids=str)
@pytest.mark.parametrize("plan", ["(A B) C", "C (B A)", "A (B C)", "stems"])
def test_an_expression_over_both_sides(policy, plan):
    """A.x + C.z > 200 is decided when C is joined, above A and B: a row of A waits until some z is large enough."""
    engine = make(
        {"A": "k x", "B": "k", "C": "z"}, ["A.k = B.k", "A.x + C.z > 200"], plan, policy, window=100
    )
    events = [
        ("C", 0, {"z": 10}),
        ("B", 1, {"k": 1}),
        ("A", 2, {"k": 1, "x": 1}),
        ("A", 2, {"k": 1, "x": 195}),
    ]
    found = feed(engine, *events, ("C", 3, {"z": 190}), ("B", 4, {"k": 1}))
    assert found[:3] == [[]] * 3 and found[3] == [(1, 0, 0)] and found[4] == [(1, 0, 1)]
    assert sorted(found[5]) == [(1, 1, 0), (1, 1, 1)]
    if policy == TIRELESS and plan == "(A B) C":
        assert edges(engine) == {("A", "C", "A.x + C.z > 200"): 1}
        assert engine.statistics().stairs[0].live == 2
        assert "blacklist of A for C by A.x + C.z > 200: 1 waiting of 1 suspended" in engine.explain()
    assert sorted(feed(engine, ("C", 5, {"z": 200}))[0]) == [(i, j, 2) for i in range(2) for j in range(2)]
    if policy == TIRELESS:
        assert edges(engine) == {}


def test_two_bands_at_once():
    """A row of C must lie in both: one for each of them is not enough."""
    where = ["A.k = B.k", "C.y BETWEEN A.x - 1 AND A.x + 1", "C.z > A.x"]
    engine = make({"A": "k x", "B": "k", "C": "y z"}, where, "(A B) C", TIRELESS, window=100)
    events = [
        ("C", 0, {"y": 5, "z": 0}),
        ("C", 0, {"y": 9, "z": 9}),
        ("B", 1, {"k": 1}),
        ("A", 2, {"k": 1, "x": 5}),
    ]
    assert feed(engine, *events) == [[]] * 4
    assert list(edges(engine).values()) == [1]
    assert feed(engine, ("C", 3, {"y": 4, "z": 5})) == [[]] and list(edges(engine).values()) == [1]
    assert feed(engine, ("C", 4, {"y": 6, "z": 6})) == [[(0, 0, 3)]] and edges(engine) == {}


def test_what_has_left_its_window_is_no_partner():
    """Then rows wait again, and those that leave theirs are dropped."""
    engine = make(
        {"A": "k x", "B": "k", "C": "z"}, ["A.k = B.k", "A.x < C.z"], "(A B) C", TIRELESS, window=10
    )
    one = {"k": 1, "x": 5}
    assert feed(engine, ("C", 0, {"z": 9}), ("B", 1, {"k": 1}), ("A", 2, one)) == [[], [], [(0, 0, 0)]]
    assert feed(engine, ("A", 11, one), ("C", 12, {"z": 5}), ("C", 30, {"z": 9})) == [[]] * 3
    numbers = engine.statistics().feedback
    assert (numbers.suspended, numbers.dropped, numbers.waiting) == (1, 1, 0)


WHERES = [
    ["A.k = B.k", "C.v BETWEEN A.v - 2 AND A.v + 2"],
    ["A.k = B.k", "A.v < C.v", "B.w + C.w >= 60"],
    ["A.k = B.k", "A.v + 3 < C.v", "C.k = D.k", "ABS(A.w - D.w) <= 1"],
]


@pytest.mark.parametrize("technique", [Jisc(), ParallelTrack()], ids=str)
@pytest.mark.parametrize("where", WHERES, ids=str)
def test_bands_at_random(where, technique):
    """Under all kinds of plans, while these change, with shards or without."""
    names = sorted(
        {side[0] for text in where for side in text.replace("(", " ").split() if side[1:2] == "."}
        & set("ABCD")
    )
    columns = dict.fromkeys(("ts", "k", "v", "w"), "int64")
    windows = dict(zip("ABCD", (eddy.Rows(30), eddy.Range(25), eddy.Rows(12), eddy.Range(40)), strict=True))
    query = eddy.Query({s: eddy.Stream(columns, window=windows[s]) for s in names}, where=where, cross=True)
    plans = ["((A B) C) D", "(D C) (B A)", "stems", "D (C (A B))"]
    plans = [plan for plan in plans if len(names) == 4] or ["(A B) C", "C (B A)", "stems", "A (B C)"]
    engines = [
        eddy.Eddy(query, plans[0], feedback=policy, migration=technique, batch_size=16, threads=threads)
        for policy, threads in (
            (NoFeedback(), 1),
            (TIRELESS, 1),
            (Mns(restraint=False, pairs=True), 1),
            (Mns(), 1),
        )
    ]
    rng = np.random.default_rng(3)
    for step in range(40):
        if step % 10 == 9:
            for engine in engines:
                engine.migrate(plans[(step // 10 + 1) % 4])
        batch = {}
        for name in names:
            n = rng.integers(0, 5)
            batch[name] = {
                "ts": np.sort(6 * step + rng.integers(0, 6, n)),
                "k": rng.integers(0, 3, n),
                "v": rng.integers(0, 40, n),
                "w": rng.integers(0, 40, n),
            }
        expected, *others = (signed(engine.push_all(batch)) for engine in engines)
        assert others == [expected] * 3
    assert engines[1].statistics().feedback.suspended > 0
