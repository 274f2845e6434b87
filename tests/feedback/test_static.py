"""Static relations: loaded once, joined like any other stream, and nobody waits for what they do not have."""

from __future__ import annotations

import numpy as np
import pytest

import eddy
from policies import Doe, Mns, NoFeedback
from tests.cases import TECHNIQUES
from tests.feedback.relations import of, tuples

TIRELESS = Mns(restraint=False)


PLANS = ("(A B) R", "A (B R)", "(A R) B", "stems")


def three(plan="(A B) R", feedback=TIRELESS, **options):
    """A.x = B.x and A.y = R.y, where R is static."""
    window = eddy.Range(10)
    streams = {"A": of("ts x y", window=window), "B": of("ts x", window=window), "R": of("y", static=True)}
    query = eddy.Query(streams, where=["A.x = B.x", "A.y = R.y"], select=["A.ts", "B.ts", "R.y"])
    return eddy.Eddy(query, plan, feedback=feedback, **options)


# -- the scenarios of the feedback paper, and of the thesis on cardinalities -------------------------------------------


@pytest.mark.parametrize("plan", ["(A B) C", "(A C) B", "stems"])
@pytest.mark.parametrize("policy", [NoFeedback(), Doe(), TIRELESS], ids=str)
def test_what_a_filter_rejects_is_never_worked_for(plan, policy):
    """A.x > 200 is applied before any join: rows with x = 1 make nothing and none waits; one with x = 300 passes."""
    streams = {s: of(c, window=eddy.Rows(100)) for s, c in {"A": "x y", "B": "y", "C": "y"}.items()}
    query = eddy.Query(streams, where=["A.y = B.y", "A.y = C.y", "A.x > 200"], select=["A.x"])
    engine = eddy.Eddy(query, plan, feedback=policy)
    engine.push("C", {"y": [7]})
    engine.push("A", {"x": [1], "y": [7]})
    for _ in range(3):
        assert len(engine.push("B", {"y": [7]})) == 0
    assert len(engine.push("A", {"x": [1], "y": [7]})) == 0
    numbers = engine.statistics()
    assert not any(stair.live for stair in numbers.stairs if "A" in stair.streams)
    edges = numbers.feedback.edges if numbers.feedback is not None else ()
    assert [edge.suspended for edge in edges if edge.name == "A"] in ([], [0], [0, 0])
    assert sorted(tuples(engine.push("A", {"x": [300], "y": [7]}))) == [(2, 0, 0), (2, 1, 0), (2, 2, 0)]


@pytest.mark.parametrize("technique", TECHNIQUES, ids=str)
@pytest.mark.parametrize("policy", [Doe(), TIRELESS, Mns(detect="bloom", restraint=False)], ids=str)
def test_t68_a_plan_change_brings_back_nothing_that_was_dropped(policy, technique):
    for plan in PLANS:
        _dropped_for_good(plan, three(plan, policy, migration=technique))


def _dropped_for_good(plan, engine):
    engine.push("R", {"y": [100, 200]})
    engine.push("B", {"ts": [1, 1, 1], "x": [1, 1, 1]})
    assert len(engine.push("A", {"ts": [2, 2], "x": [1, 1], "y": [999, 998]})) == 0
    assert sorted(tuples(engine.push("A", {"ts": [3], "x": [1], "y": [200]}))) == [
        (2, b, 1) for b in range(3)
    ]
    assert tuples(engine.push("B", {"ts": [4], "x": [1]})) == [(2, 3, 1)]
    engine.migrate(next(other for other in PLANS if other != plan))
    assert tuples(engine.push("B", {"ts": [5], "x": [1]})) == [(2, 4, 1)]
    assert len(engine.push("A", {"ts": [6], "x": [1], "y": [100]})) == 5
    assert len(engine.push("B", {"ts": [30], "x": [1]})) == 0


def test_t68_what_lacks_a_partner_is_dropped_at_once():
    """In (A B) R nothing waits: not the rows, and not in any blacklist."""
    engine = three()
    engine.push("R", {"y": [100, 200]})
    engine.push("A", {"ts": [2, 2, 2], "x": [1, 1, 1], "y": [999, 200, 998]})
    numbers = engine.statistics().feedback
    assert (numbers.suspended, numbers.dropped, numbers.waiting, numbers.resumed) == (2, 2, 0, 0)
    assert len(engine.push("B", {"ts": [3, 3], "x": [1, 1]})) == 2
    assert [stair.live for stair in engine.statistics().stairs] == [2]
    engine.migrate("(A R) B")
    assert len(engine.push("B", {"ts": [4], "x": [1]})) == 1
    assert engine.statistics().feedback.dropped == 2


def test_t68_an_empty_relation_drops_everything():
    for policy in (Doe(), TIRELESS):
        engine = three(feedback=policy)
        engine.push("A", {"ts": [2, 2], "x": [1, 1], "y": [5, 6]})
        assert len(engine.push("B", {"ts": [3], "x": [1]})) == 0
        numbers = engine.statistics().feedback
        assert (numbers.dropped, numbers.waiting) == (3, 0)


@pytest.mark.parametrize(
    ("where", "size"), [(["A.b = B.b", "A.c = C.c"], 600), (["A.id = B.id", "A.id = C.id"], 8)]
)
@pytest.mark.parametrize("static", [False, True])
def test_t77_what_b_and_c_make_depends_on_the_conditions(where, size, static):
    """10, 20 and 30 rows, 8 results: B and C make 600 composites where only A links them, 8 by a common id.

    If A is static, Mns drops the rows that it has no partner for, and makes 64 of the 600.
    """
    streams = {"A": of("id b c", static=static), "B": of("id b"), "C": of("id c")}
    query = eddy.Query(streams, where=where, cross=True, select=["A.id"])
    a, b = np.arange(10), np.r_[0:8, 100:112]
    c = np.r_[0:8, 200:222]
    feed = {"A": {"id": a, "b": a, "c": a}, "B": {"id": b, "b": b}, "C": {"id": c, "c": c}}
    for policy in (NoFeedback(), TIRELESS):
        engine = eddy.Eddy(query, "A (B C)", feedback=policy)
        found = [row for name in "ABC" for row in tuples(engine.push(name, feed[name]))]
        assert sorted(found) == [(i, i, i) for i in range(8)]
        if policy is not TIRELESS:
            assert [stair.live for stair in engine.statistics().stairs] == [size]
    numbers = engine.statistics().feedback
    if static:
        assert (numbers.dropped, numbers.waiting) == (12 + 22, 0)
        assert [stair.live for stair in engine.statistics().stairs] == [8 * 8 if size == 600 else 8]


# -- loading -----------------------------------------------------------------------------------------------------------


def test_rows_of_a_static_relation_come_before_all_others():
    engine = three()
    engine.push("R", {"y": [1]})
    engine.push("A", {"ts": [], "x": [], "y": []})  # no row
    engine.push("R", {"y": [2]})
    together = {"R": {"y": [3]}, "A": {"ts": [5], "x": [1], "y": [3]}, "B": {"ts": [4], "x": [1]}}
    assert tuples(engine.push_all(together)) == [(0, 0, 2)]
    for late_rows in ({"R": {"y": [4]}}, {"R": {"y": [4]}, "B": {"ts": [6], "x": [1]}}):
        with pytest.raises(eddy.BatchError, match=r"stream R is static.* push all its rows before"):
            engine.push_all(late_rows)
    assert engine.statistics().events == 5
    assert len(engine.push("R", {"y": []})) == 0
    assert tuples(engine.push("B", {"ts": [6], "x": [1]})) == [(0, 1, 2)]


@pytest.mark.parametrize("batch_size", [1, 2, 4096])
def test_what_waits_while_relations_are_loaded_comes_back(batch_size):
    """Rows of R wait for S, which is loaded after it; the last of S comes with the first row of a stream."""
    streams = {"A": of("x"), "R": of("x y", static=True), "S": of("y", static=True)}
    query = eddy.Query(streams, where=["A.x = R.x", "R.y = S.y"])
    for plan in ("(A R) S", "(R A) S", "stems", "A (R S)", "(S R) A"):
        engine = eddy.Eddy(query, plan, feedback=TIRELESS, batch_size=batch_size)
        engine.push("R", {"x": [1, 2, 3], "y": [10, 20, 30]})
        engine.push("S", {"y": [10]})
        numbers = engine.statistics().feedback
        assert numbers.dropped == 0
        found = engine.push_all({"S": {"y": [20]}, "A": {"x": [1, 2, 3]}})
        assert sorted(tuples(found)) == [(0, 0, 0), (1, 1, 1)]
        engine.push("A", {"x": [3]})
        numbers = engine.statistics().feedback
        assert numbers.waiting == 0
        assert numbers.dropped == sum(edge.suspended - edge.resumed for edge in numbers.edges)


def test_a_relation_that_others_are_dropped_for_waits_for_no_stream():
    """In ((A B) S) C rows of S might wait for C; then S would seem to lack what rows of A need."""
    streams = {"A": of("x y"), "B": of("x"), "S": of("y z", static=True), "C": of("z")}
    query = eddy.Query(streams, where=["A.x = B.x", "A.y = S.y", "S.z = C.z"])
    engine = eddy.Eddy(query, "((A B) S) C", feedback=TIRELESS)
    engine.push("S", {"y": [1], "z": [5]})
    engine.push("C", {"z": [6]})
    engine.push("B", {"x": [1]})
    engine.push("A", {"x": [1, 1], "y": [1, 2]})
    numbers = engine.statistics().feedback
    assert (numbers.dropped, numbers.waiting) == (1, 0)
    assert {edge.name for edge in numbers.edges if edge.opposite == "C"} == {"A", "B"}
    assert tuples(engine.push("C", {"z": [5]})) == [(0, 0, 0, 1)]


def test_a_snapshot_knows_that_a_relation_is_static(tmp_path):
    engine = three()
    engine.push("R", {"y": [1, 2]})
    engine.save(tmp_path / "loading")
    assert str(eddy.Eddy.load(tmp_path / "loading").query) == str(engine.query)
    loading = eddy.Eddy.load(tmp_path / "loading", feedback=TIRELESS)
    for each in (engine, loading):
        if each is loading:
            each.push("R", {"y": [3]})
        each.push("A", {"ts": [1, 1], "x": [1, 1], "y": [3, 2]})
    assert (engine.statistics().feedback.dropped, loading.statistics().feedback.dropped) == (1, 0)
    engine.save(tmp_path / "loaded")
    loaded = eddy.Eddy.load(tmp_path / "loaded", query=engine.query, feedback=TIRELESS)
    with pytest.raises(eddy.BatchError, match="static"):
        loaded.push("R", {"y": [3]})
    assert tuples(loaded.push("B", {"ts": [2], "x": [1]})) == [(1, 0, 1)]
    assert len(loading.push("B", {"ts": [2], "x": [1]})) == 2


def test_a_snapshot_is_not_loaded_with_a_query_where_its_relation_is_a_stream(tmp_path):
    static, plain = (eddy.Query({"A": of("x"), "R": of("x", static=s)}, "A.x = R.x") for s in (True, False))
    eddy.Eddy(static).save(tmp_path / "snapshot")
    with pytest.raises(eddy.StateError, match="stream R is not static, unlike in the snapshot"):
        eddy.Eddy.load(tmp_path / "snapshot", query=plain)


def test_what_was_dropped_is_told_from_what_a_filter_rejects():
    """why_not names the predicate that fails."""
    engine = three()
    engine.push("R", {"y": [1]})
    engine.push("A", {"ts": [1], "x": [1], "y": [3]})
    engine.push("B", {"ts": [1], "x": [1]})
    assert engine.statistics().feedback.dropped == 1
    assert "A.y = R.y" in str(engine.why_not(A=0, B=0, R=0))


# -- declaring ---------------------------------------------------------------------------------------------------------


def test_sql_writes_and_reads_static():
    text = "SELECT A.x, R.y FROM A [ROWS 5], R [static] WHERE A.x = R.x"
    query = eddy.sql(text, {"A": {"x": "int64"}, "R": {"ts": "int64", "x": "int64", "y": "int64"}})
    assert query.streams["R"].static and query.streams["R"].time is None and not query.streams["A"].static
    assert "FROM A [ROWS 5], R [STATIC]" in str(query)
    assert str(eddy.sql(str(query), query.streams)) == str(query)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: of("x", static=True, window=eddy.Rows(5)), r"has no window: leave Rows\(5\) out"),
        (lambda: of("x t", static=True, time="t"), "has no time"),
        (lambda: of("x", static=1), "static is True or False, not 1"),
        (lambda: eddy.Query({s: of("x", static=True) for s in "AB"}, "A.x = B.x"), "every stream is static"),
    ],
)
def test_what_a_static_relation_cannot_have(make, message):
    with pytest.raises(eddy.QueryError, match=message):
        make()
