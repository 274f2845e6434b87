"""Feedback: what waits, when it comes back, what it spares, and when it is not worth its while."""

from __future__ import annotations

import numpy as np
import pytest

import eddy
from eddy.feedback import stored_rows, suspension
from policies import Doe, Mns, NoFeedback
from tests.cases import ANY_TECHNIQUE
from tests.feedback.engines import POLICIES, TIRELESS, clique, feed, signed, three
from tests.strategies import Pick, tree


@pytest.mark.parametrize("seed", range(40))
def test_feedback_changes_no_result(seed, monkeypatch):
    """Sparse joins under every policy and technique, while plans change, rows expire and engines are restarted."""
    pick, rng = Pick(seed), np.random.default_rng(seed)
    names = "ABCDEF"[: pick.choice([3, 4, 4, 5, 6])]
    monkeypatch.setattr(suspension, "SHARE", pick.choice([4, 50]))
    monkeypatch.setattr(suspension, "SOME", pick.choice([1, 32]))
    monkeypatch.setattr(suspension, "SELDOM", 1)
    monkeypatch.setattr(stored_rows, "FEW", pick.choice([16, 10**6]))
    windows = [eddy.Rows, eddy.Range, lambda n: eddy.Tumbling(rows=n)]
    query = clique(names, lambda _: pick.choice(windows)(pick.integer(5, 80)))
    options = {
        "migration": pick.choice(ANY_TECHNIQUE),
        "joins": pick.choice(["hash", "hash", "nested"]),
        "retractions": pick.chance(20),
        "batch_size": pick.choice([16, 4096]),
    }

    def plan():
        return "stems" if pick.chance(15) else tree(pick, pick.shuffled(names))[1:-1]

    policy, first = POLICIES[seed % len(POLICIES)], plan()
    plain, tested = (eddy.Eddy(query, first, feedback=p, **options) for p in (NoFeedback(), policy))
    changes, size, domain = pick.choice([0, 3, 12]), pick.choice([2, 6, 15]), pick.choice([5, 7, 10])
    some = names
    for step in range(60):
        if changes and pick.chance(changes):
            to = plan()
            plain.migrate(to)
            tested.migrate(to)
        if step % 10 == 0:
            some = pick.some(names) if pick.chance(50) else names
        batch = feed(query, rng, domain, size, step * size, some)
        assert signed(tested.push_all(batch)) == signed(plain.push_all(batch))
    numbers = tested.statistics().feedback
    assert numbers.suspended >= numbers.resumed and numbers.dropped >= 0


def test_the_composites_of_rows_that_nobody_can_use_are_not_made():
    """Of six streams, bushy, two are worked for; of the others' composites hardly any are made."""
    query = clique("ABCDEF", lambda _: eddy.Range(600))
    plain, tested = (eddy.Eddy(query, "((A B) (C D)) (E F)", feedback=p) for p in (NoFeedback(), TIRELESS))
    rng = np.random.default_rng(1)
    for step in range(40):
        batch = feed(query, rng, 100, 60, 60 * step)
        assert signed(plain.push_all(batch)) == signed(tested.push_all(batch))
    live, left = ({"".join(s.streams): s.live for s in e.statistics().stairs} for e in (plain, tested))
    assert left["CD"] == live["CD"] > 400 and live["EF"] > 400
    assert left["AB"] * 5 < live["AB"] and left["EF"] * 20 < live["EF"]
    numbers = tested.statistics().feedback
    assert numbers.suspended == numbers.resumed + numbers.dropped + numbers.waiting
    assert numbers.waiting > 500 and numbers.dropped > 1000 and numbers.composites_avoided > 10_000
    assert numbers.bytes > 0 and numbers.seconds > 0


def test_filters_are_smaller_than_directories():
    """Parts of the key of three streams are looked for in directories; of two in a sieve, and then in their leaves."""
    sizes = {}
    for plan in ("(A B) (C D)", "((A B) C) ((D E) F)"):
        query = clique("ABCDEF" if "F" in plan else "ABCD", lambda _: eddy.Range(600))
        for policy in (TIRELESS, Mns(detect="bloom", restraint=False)):
            engine = eddy.Eddy(query, plan, feedback=policy)
            engine.push_all(feed(query, np.random.default_rng(2), 20, 3000, 0))
            edges = engine._state.executor.suspension.units
            sizes[plan, policy] = sum(edge.presence.nbytes for unit in edges for edge in unit.edges)
    pairs, filtered, threes, small = sizes.values()
    assert pairs == filtered > 0 and 0 < small * 4 < threes


def test_a_row_whose_last_partner_has_left_is_suspended_late(monkeypatch):
    """Its composites go with it, and when it comes back there is each of them once."""
    monkeypatch.setattr(suspension, "SOME", 1)
    monkeypatch.setattr(suspension, "SELDOM", 1)
    monkeypatch.setattr(suspension, "SHARE", 10**9)
    engine = three(TIRELESS, window=10)
    engine.push("C", {"ts": [0], "y": [7]})
    engine.push("B", {"ts": [8, 8, 8], "x": [1, 1, 1]})
    assert len(engine.push("A", {"ts": [9, 9], "x": [1, 1], "y": [7, 8]})) == 3
    assert engine.statistics().feedback.waiting == 1 and engine.statistics().stairs[0].live == 3
    for ts in (11, 12, 13):
        engine.push("C", {"ts": [ts, ts], "y": [5, 6]})
    numbers = engine.statistics()
    assert numbers.feedback.waiting == 2 and numbers.stairs[0].live == 0
    assert len(engine.push("C", {"ts": [15], "y": [7]})) == 3
    assert engine.statistics().stairs[0].live == 3
    assert len(engine.push("B", {"ts": [16], "x": [1]})) == 1


def test_a_snapshot_keeps_rows_that_wait(tmp_path):
    """They are live rows: a loaded engine has them, whatever its policy."""
    engine = three(TIRELESS)
    engine.push("B", {"ts": [0], "x": [1]})
    engine.push("C", {"ts": [0], "y": [5]})
    engine.push("A", {"ts": [1, 1], "x": [1, 1], "y": [7, None]})
    assert engine.statistics().feedback.waiting >= 1
    engine.save(tmp_path / "saved")
    for policy in (NoFeedback(), TIRELESS, Doe()):
        loaded = eddy.Eddy.load(tmp_path / "saved", feedback=policy)
        assert loaded.push("C", {"ts": [2], "y": [7]}).rows.tolist() == [[0, 0, 1]]
    assert engine.push("C", {"ts": [2], "y": [7]}).rows.tolist() == [[0, 0, 1]]


def test_why_not_knows_rows_that_wait():
    """A row that waits was not filtered out."""
    engine = three(TIRELESS)
    engine.push("C", {"ts": [0], "y": [5]})
    engine.push("B", {"ts": [0], "x": [1]})
    engine.push("A", {"ts": [1], "x": [1], "y": [7]})
    assert engine.statistics().feedback.waiting >= 1
    assert engine.why_not(A=0, B=0, C=0).verdict == "predicate"


def test_a_batch_wakes_only_what_came_before_it():
    """A pair that its partner missed within one batch is judged at its own event, and waits for the next partner."""
    columns = {"A": "x", "B": "k", "C": "x", "D": "x k"}
    streams = {
        s: eddy.Stream(dict.fromkeys(["ts", *c.split()], "int64"), window=eddy.Rows(2))
        for s, c in columns.items()
    }
    query = eddy.Query(streams, where=["A.x = C.x", "A.x = D.x", "B.k = D.k"], cross=True)
    plain, tested = (eddy.Eddy(query, "((A B) C) D", feedback=p) for p in (NoFeedback(), TIRELESS))
    batches = [
        {"B": {"ts": [0], "k": [1]}, "C": {"ts": [0], "x": [1]}},
        {"D": {"ts": [1, 2, 3], "x": [1, 1, 3], "k": [1, 2, 1]}, "A": {"ts": [4], "x": [1]}},
        {"D": {"ts": [5], "x": [1], "k": [1]}},
    ]
    for batch in batches:
        assert signed(plain.push_all(batch)) == signed(tested.push_all(batch))
    assert plain.statistics().results == 1
    assert tested.statistics().feedback.composites_resumed == 1


def test_explain_shows_the_blacklists():
    """Each line says what waits, for what, by which attributes, and how many."""
    engine = three(TIRELESS)
    engine.push("C", {"ts": [0], "y": [5]})
    engine.push("A", {"ts": [1, 1], "x": [1, 2], "y": [7, 8]})
    text = engine.explain().splitlines()
    assert text[-2] == "blacklist of A for C by y: 2 waiting of 2 suspended"
    assert text[-1] == "nothing waits in 1 other blacklist"
    assert three(TIRELESS).explain().splitlines()[-1] == "nothing waits in 2 blacklists"
    assert not any("blacklist" in line for line in three(NoFeedback()).explain().splitlines())


def test_set_differences_and_aggregates():
    """A row that nothing matches is a result of a difference: nothing waits. Aggregates are of the same results."""
    streams = {s: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Rows(5)) for s in "ABC"}
    minus = eddy.sql(
        "SELECT A.k FROM A [ROWS 5] EXCEPT B [ROWS 5] ON A.k = B.k", {s: streams[s] for s in "AB"}
    )
    engine = eddy.Eddy(minus, feedback=Mns())
    assert len(engine.push("A", {"ts": [0], "k": [1]})) == 1 and engine.statistics().feedback is None
    counted = eddy.sql(
        "SELECT A.k, COUNT(*) AS n FROM A [ROWS 5], B [ROWS 5], C [ROWS 5] WHERE A.k = B.k AND B.k = C.k GROUP BY A.k",
        streams,
    )
    plain, tested = (eddy.Eddy(counted, "(A B) C", feedback=p) for p in (NoFeedback(), TIRELESS))
    rng = np.random.default_rng(0)
    for step in range(40):
        batch = {s: {"ts": [step] * 3, "k": rng.integers(0, 6, 3)} for s in "ABC"}
        for engine in (plain, tested):
            engine.push_all(batch)
        assert sorted(map(str, plain.table().to_arrow().to_pylist())) == sorted(
            map(str, tested.table().to_arrow().to_pylist())
        )
    assert tested.statistics().feedback.suspended > 0
