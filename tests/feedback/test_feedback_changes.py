"""Feedback while plans change and keys are demoted."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import eddy
from policies import HybMig, Mns, NoFeedback, Random
from stairs import Stair
from stairs.layout import NEXT
from tests.cases import ANY_TECHNIQUE, Case, S
from tests.checks import check
from tests.feedback.engines import POLICIES, TIRELESS, clique, feed, signed, three


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_demoted_keys_and_rows_that_wait(policy):
    """Holes are filled without what waits, and what comes back is stored only where there is no hole."""
    query = clique("ABCD", lambda _: eddy.Rows(40))
    plain, tested = (eddy.Eddy(query, "((A B) C) D", feedback=p) for p in (NoFeedback(), policy))
    rng = np.random.default_rng(3)
    for step in range(60):
        if step % 7 == 3:
            for stair in tested._state.executor.stairs.values():
                keys = np.unique(stair.carrier.keys(stair.carrier.low, stair.carrier.tail))
                stair.demote(keys[rng.random(len(keys)) < 0.5])
        batch = feed(query, rng, 6, 12, 12 * step)
        assert signed(plain.push_all(batch)) == signed(tested.push_all(batch))


def test_statistics_follow_the_plan_at_once():
    """After a change of plan its own edges are shown, before anything is pushed; what was counted stays."""
    engine = three(TIRELESS)
    engine.push("C", {"ts": [0], "y": [5]})
    engine.push("A", {"ts": [1, 1], "x": [1, 2], "y": [7, 8]})
    engine.migrate("(A C) B")
    numbers = engine.statistics().feedback
    assert {(edge.name, edge.opposite) for edge in numbers.edges} == {("A", "B"), ("C", "B")}
    assert (numbers.suspended, numbers.waiting) == (2, 2)
    engine.push("B", {"ts": [2], "x": [2]})
    assert engine.push("C", {"ts": [3], "y": [8]}).rows.tolist() == [[1, 0, 1]]


@pytest.mark.parametrize("technique", ANY_TECHNIQUE, ids=repr)
def test_counters_go_on_after_every_technique(technique):
    """Also where another plan has run apart and takes over with rows of its own."""
    engine = three(TIRELESS, window=20, migration=technique)
    engine.push("C", {"ts": [0], "y": [-1]})
    last = 0
    for ts in range(60):
        if ts == 20:
            engine.migrate("(A C) B")
        engine.push("A", {"ts": [ts], "x": [1], "y": [ts]})
        engine.push("C", {"ts": [ts], "y": [-1]})
        numbers = engine.statistics().feedback
        assert numbers.suspended >= last
        assert numbers.suspended == numbers.resumed + numbers.dropped + numbers.waiting
        assert numbers.dropped >= 0 and numbers.seconds > 0
        last = numbers.suspended
    assert last >= 55


# -- found by trying ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [TIRELESS, Mns(restraint=False, pairs=True)], ids=str)
def test_what_comes_back_is_linked_behind_what_its_batch_brings(policy):
    """Composites that come back are stored behind those of the batch, but were linked before them: their chain did not
    run from the newest entry to the oldest, and they were lost with the first of the batch that left the ring."""
    windows = dict(zip("ABCDE", (20, 17, 15, 28, 16), strict=True))
    query, plan = clique("ABCDE", lambda s: eddy.Rows(windows[s])), "C ((D B) (A E))"
    plain, tested = (eddy.Eddy(query, plan, feedback=p, batch_size=16) for p in (NoFeedback(), policy))
    rng = np.random.default_rng(19)
    for step in range(20):
        batch = feed(query, rng, 2, 6, 6 * step)
        assert signed(plain.push_all(batch)) == signed(tested.push_all(batch))
        for stair in tested._state.executor.stairs.values():
            ids = np.arange(stair.low, stair.tail)[stair.linked(stair.low, stair.tail)]
            assert (stair.state[0][ids & (stair.capacity - 1), NEXT] < ids).all()


def test_rows_are_woken_by_composites_that_a_demotion_brings_back():
    """PQ waits for W, and V for PQ. When a STAIR gets holes PQ is stored, between batches, and V must hear of it."""

    def stream(*columns):
        return eddy.Stream(dict.fromkeys(columns, "int64"), window=eddy.Rows(100))

    streams = {"V": stream("x", "k"), "X": stream("x"), "P": stream("k", "j", "a")}
    streams |= {"Q": stream("j", "b"), "W": stream("a", "b")}
    where = ["V.x = X.x", "V.k = P.k", "P.j = Q.j", "P.a = W.a", "Q.b = W.b"]
    for policy in (NoFeedback(), Mns(restraint=False)):
        engine = eddy.Eddy(eddy.Query(streams, where=where), "((V X) (P Q)) W", feedback=policy)
        engine.push("W", {"a": [1, 2], "b": [9, 8]})
        engine.push("P", {"k": [5], "j": [7], "a": [1]})
        engine.push("Q", {"j": [7], "b": [8]})
        engine.push("V", {"x": [3], "k": [5]})
        for stair in engine._state.executor.stairs.values():
            stair.demote(np.empty(0, np.int64))
        engine.push("X", {"x": [3]})
        assert len(engine.push("W", {"a": [1], "b": [8]})) == 1, policy


@pytest.mark.parametrize("technique", ANY_TECHNIQUE, ids=repr)
def test_judging_goes_on_after_every_technique(technique):
    """Nothing is judged while two plans run; when one is left, rows wait again."""
    columns = {"A": ["ts", "x", "y"], "B": ["ts", "x"], "C": ["ts", "y"]}
    streams = {s: eddy.Stream(dict.fromkeys(c, "int64"), window=eddy.Range(50)) for s, c in columns.items()}
    query = eddy.Query(streams, where=["A.x = B.x", "A.y = C.y"])
    engine = eddy.Eddy(query, "A (B C)", feedback=Mns(restraint=False), migration=technique)
    seen = []
    for time in range(120):
        if time == 10:
            engine.migrate("(A B) C")
        engine.push("B", {"ts": [time * 5], "x": [1]})
        engine.push("A", {"ts": [time * 5], "x": [1], "y": [time]})
        engine.push("C", {"ts": [time * 5], "y": [-1]})
        seen.append(engine.statistics().feedback.waiting)
    assert min(seen[-20:]) > 0


def test_plan_changes_leave_nothing_behind():
    """What was counted under former plans is kept as numbers, not with their STAIRs."""
    others = [
        thing for thing in gc.get_objects() if type(thing) is Stair
    ]  # of whatever has run in this process
    streams = {name: eddy.Stream({"k": "int64"}, window=eddy.Rows(50)) for name in "ABC"}
    query = eddy.Query(streams, where=["A.k = B.k", "B.k = C.k"])
    engine = eddy.Eddy(query, "(A B) C", feedback=Mns(restraint=False))
    for number in range(60):
        engine.push_all({name: {"k": np.arange(number, number + 5)} for name in "ABC"})
        engine.migrate(["A (B C)", "(A B) C"][number % 2])
    gc.collect()
    held = {id(s) for s in (*others, *engine._state.executor.every_stair)}
    assert sum(type(thing) is Stair and id(thing) not in held for thing in gc.get_objects()) < 40
    assert len(engine._state.executor.suspension.former) <= 6


def test_suppressed_pairs_and_composites_that_wait_come_back_once_at_a_change():
    """Pairs of BD and AE are suppressed, and composites of both wait, when two plans begin to run side by side: ABDE
    got holes before these came back: filling the holes made what those that came back then made once more."""
    rows = "B0022 C2012 C2221 D1202 E0020 A0121 B2220 A2110 C1102 E1011 E0222 A0110 D0010 A0200 B0200"
    query, policy = clique("ABCDE", lambda _: eddy.Rows(40)), Mns(2, restraint=False, pairs=True)
    found = []
    for feedback in (NoFeedback(), policy):
        engine = eddy.Eddy(query, "C ((D B) (A E))", feedback=feedback, migration=HybMig())
        for ts, (name, *values) in enumerate([*rows.split(), "C2212"]):
            if name + "".join(values) == "C2212":
                engine.migrate("(((A B) C) D) E")
            row = dict(zip(query.streams[name].columns, [ts, *map(int, values)], strict=True))
            result = engine.push(name, {column: [value] for column, value in row.items()})
        found.append(signed(result))
    assert found[0] == found[1] and sum(found[0].values()) == 1


def test_a_change_before_the_batch_after_a_change_finds_the_rows_that_wait():
    """Rows that wait come back to the STAIRs of the plan as it is now, not of the one of the last batch."""
    check(
        Case(
            streams={
                "C": S(columns={"x": "int64"}, window=("unbounded",), time=None, static=False),
                "F": S(
                    columns={"v": "int64", "x": "int64", "y": "int64", "note": "string"},
                    window=("unbounded",),
                    time=None,
                    static=False,
                ),
                "D": S(
                    columns={"x": "int64", "y": "int64", "note": "string"},
                    window=("unbounded",),
                    time=None,
                    static=False,
                ),
                "E": S(
                    columns={"x": "int64", "y": "int64", "note": "string"},
                    window=("unbounded",),
                    time=None,
                    static=False,
                ),
                "A": S(columns={"x": "int64", "y": "int64"}, window=("unbounded",), time=None, static=False),
                "B": S(
                    columns={"x": "int64", "y": "int64", "v": "int16", "note": "string"},
                    window=("unbounded",),
                    time=None,
                    static=False,
                ),
            },
            where=[
                ("=", ("col", "D", "x"), ("col", "C", "x")),
                (">", ("col", "A", "y"), ("col", "F", "y")),
                ("<", ("col", "F", "x"), ("col", "C", "x")),
                ("=", ("col", "E", "x"), ("col", "C", "x")),
                ("=", ("col", "B", "y"), ("col", "F", "y")),
            ],
            steps=[
                ("push", "B", [(1, 0, 5, "key 816"), (1, 0, 1, "key 967")]),
                (
                    "push",
                    "D",
                    [
                        (1, 5123188810471185372, "key 71"),
                        (0, 0, "key 37"),
                        (0, 5123188810471185372, "key 251"),
                    ],
                ),
                ("push", "C", [(0,), (5123188810471185372,), (0,)]),
                ("push", "D", [(0, 0, "key 800"), (5123188810471185372, 5123188810471185372, "key 109")]),
                (
                    "push",
                    "F",
                    [
                        (8, 1, 1, "key 462"),
                        (2, 0, 1, "key 284"),
                        (7, 0, 5123188810471185372, "key 196"),
                        (0, 1, 0, "key 177"),
                        (9, 5123188810471185372, 1, "key 553"),
                    ],
                ),
                (
                    "push",
                    "B",
                    [(0, 1, 3, "key 67"), (1, 5123188810471185372, 6, "key 261"), (0, 0, 6, "key 604")],
                ),
                ("push", "B", [(1, 5123188810471185372, 7, "key 680"), (1, 0, 7, "key 625")]),
                ("push", "A", [(1, 1), (0, 1)]),
                ("migrate", "((C ((A F) D)) E) B"),
                (
                    "push",
                    "D",
                    [
                        (5123188810471185372, 5123188810471185372, "key 192"),
                        (1, 5123188810471185372, "key 258"),
                        (1, 0, "key 291"),
                    ],
                ),
                ("migrate", "stems"),
                ("push", "F", [(7, 1, 0, "key 709")]),
            ],
            technique=HybMig(sharing=False, background=100, patience=4.0, literal=False),
            feedback=Mns(levels=None, detect="exact", restraint=True, literal=False),
            routing=Random(period=5),
            memory=20000,
        )
    )
