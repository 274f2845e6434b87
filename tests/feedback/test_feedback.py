"""Feedback: what waits, when it comes back, what it spares, and when it is not worth its while."""

from __future__ import annotations

import gc
import itertools
from collections import Counter

import numpy as np
import pytest

import eddy
from eddy.feedback import stored_rows, suspension
from policies import Doe, Feedback, HybMig, Jisc, Mns, NoFeedback
from stairs import Stair
from tests.cases import ANY_TECHNIQUE
from tests.strategies import Pick, tree

TIRELESS = Mns(restraint=False)


def clique(names, window):
    """Every pair of streams is joined on a column of its own."""
    pairs = [a + b for a, b in itertools.combinations(names, 2)]
    columns = {s: ["ts", *(pair.lower() for pair in pairs if s in pair)] for s in names}
    streams = {s: eddy.Stream(dict.fromkeys(columns[s], "int64"), window=window(s)) for s in names}
    where = [f"{a}.{(a + b).lower()} = {b}.{(a + b).lower()}" for a, b in pairs]
    return eddy.Query(streams, where=where, select=[f"{s}.ts" for s in names])


def feed(query, rng, domain, size, ts, names=None):
    """A batch of up to ``size`` rows of some streams, with uniform values."""
    batch = {}
    for name in names or query.names:
        n = rng.integers(0, size + 1)
        columns = query.streams[name].columns
        batch[name] = {c: rng.integers(0, domain, n) for c in columns} | {
            "ts": np.sort(ts + rng.integers(0, size, n))
        }
    return batch


def signed(result):
    """The rows of a result with their signs, as a multiset."""
    return Counter(map(tuple, np.column_stack((result.rows, result.sign)).tolist()))


POLICIES = [TIRELESS, Mns(1, restraint=False), Mns(2, "bloom", False), Mns(), Doe()]


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


def three(policy, window=10, **options):
    """A.x = B.x and A.y = C.y in the plan (A B) C."""
    columns = {"A": "x y", "B": "x", "C": "y"}
    streams = {
        s: eddy.Stream(dict.fromkeys(["ts", *c.split()], "int64"), window=eddy.Range(window))
        for s, c in columns.items()
    }
    query = eddy.Query(streams, where=["A.x = B.x", "A.y = C.y"])
    return eddy.Eddy(query, "(A B) C", feedback=policy, **options)


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


def test_what_does_not_pay_rests_and_tries_again():
    """Where every row has a partner nothing is judged after some batches, but now and then; rows are not held up."""
    engine = three(Mns(), window=10**6)
    engine.push("C", {"ts": [0], "y": [1]})
    rested = []
    for ts in range(160):
        rows = {"A": {"ts": [ts] * 50, "x": [ts] * 50, "y": [1] * 50}}
        rows["B"] = {"ts": [ts] * 50, "x": [ts, *[-1] * 49]}
        engine.push_all(rows)
        rested.append(all(edge.resting for edge in engine.statistics().feedback.edges))
    assert not rested[0] and sum(rested) > 100 and rested.count(False) >= 4
    assert True in rested[:20] and False in rested[rested.index(True) :]
    assert engine.statistics().results == 160 * 50
    assert not any(edge.resting for edge in _fed(TIRELESS).statistics().feedback.edges)


def _fed(policy):
    engine = three(policy, window=10**6)
    for ts in range(20):
        engine.push("A", {"ts": [ts], "x": [ts], "y": [1]})
    return engine


def test_a_policy_that_judges_nothing_costs_nothing():
    """Without feedback there is nothing in the program of a plan that was not there before."""
    engine = three(NoFeedback())
    engine.push("A", {"ts": [1], "x": [1], "y": [7]})
    assert engine.statistics().feedback is None and engine._state.executor.suspension is None
    watched = three(TIRELESS)
    watched.push("A", {"ts": [1], "x": [1], "y": [7]})
    assert len(watched._state.executor.tracks[0].program.table) > len(
        engine._state.executor.tracks[0].program.table
    )


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


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Mns(levels=0), "levels"),
        (lambda: Mns(levels=True), "levels"),
        (lambda: Mns(detect="guess"), "detect"),
        (lambda: Mns(restraint=1), "restraint"),
    ],
)
def test_options_are_checked(make, message):
    """A policy says what is wrong with its options."""
    with pytest.raises(ValueError, match=message):
        make()


def test_a_policy_of_ones_own():
    """Which side waits, what is judged and when to rest are a policy's to say."""

    class Right(Feedback):
        def judges(self, components, attributes):
            return attributes if components == 1 else None

        def waits(self, left, right, nested):
            return left < right

    query = clique("ABCD", lambda _: eddy.Rows(30))
    for technique in (Jisc(), HybMig()):
        plain, tested = (
            eddy.Eddy(query, "((A B) C) D", feedback=p, migration=technique) for p in (NoFeedback(), Right())
        )
        rng = np.random.default_rng(5)
        for step in range(40):
            if step == 20:
                plain.migrate("(A C) (B D)")
                tested.migrate("(A C) (B D)")
            batch = feed(query, rng, 6, 10, 10 * step)
            assert signed(plain.push_all(batch)) == signed(tested.push_all(batch))
        assert tested.statistics().feedback.suspended > 0


class Wrong(Feedback):
    """Judges by what it makes up."""

    def __init__(self, answer):
        self.answer = answer

    def judges(self, components, attributes):
        return self.answer(attributes) if len(attributes) == 1 else None


@pytest.mark.parametrize(
    "answer, message",
    [
        (lambda attributes: [7], r"Wrong.judges\(1, \(\d,\)\) returned \[7\]: it must return some of"),
        (lambda attributes: 5, "Wrong.judges.* failed: TypeError"),
        (lambda attributes: attributes[1], "Wrong.judges.* failed: IndexError"),
    ],
)
def test_a_policy_that_cannot_judge_is_refused(answer, message, tmp_path):
    """When it is given, and before the plan is changed or a snapshot is read: the engine is as it was."""
    with pytest.raises(eddy.EddyError, match=message):
        three(Wrong(answer))
    engine = three(Wrong(lambda attributes: attributes))
    engine.push("A", {"ts": [1], "x": [1], "y": [7]})
    engine.save(tmp_path / "saved")
    engine.feedback.answer = answer
    with pytest.raises(eddy.EddyError, match=message):
        engine.migrate("(A C) B")
    assert engine.plan == "(A B) C"
    engine.feedback.answer = lambda attributes: attributes
    assert len(engine.push_all({"B": {"ts": [2], "x": [1]}, "C": {"ts": [2], "y": [7]}})) == 1
    with pytest.raises(eddy.EddyError, match=message):
        eddy.Eddy.load(tmp_path / "saved", feedback=Wrong(answer))


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
    streams = {name: eddy.Stream({"k": "int64"}, window=eddy.Rows(50)) for name in "ABC"}
    query = eddy.Query(streams, where=["A.k = B.k", "B.k = C.k"])
    engine = eddy.Eddy(query, "(A B) C", feedback=Mns(restraint=False))
    for number in range(60):
        engine.push_all({name: {"k": np.arange(number, number + 5)} for name in "ABC"})
        engine.migrate(["A (B C)", "(A B) C"][number % 2])
    gc.collect()
    held = {id(s) for s in engine._state.executor.every_stair}
    assert sum(type(thing) is Stair and id(thing) not in held for thing in gc.get_objects()) < 40
    assert len(engine._state.executor.suspension.former) <= 6


@pytest.mark.parametrize("rest", [-5, 2.5])
def test_a_policy_that_rests_for_an_odd_time_still_judges(rest):
    class Odd(Mns):
        def rest(self, edge):
            return rest

    streams = {name: eddy.Stream({"k": "int64"}, window=eddy.Rows(50)) for name in "ABC"}
    query = eddy.Query(streams, where=["A.k = B.k", "B.k = C.k"])
    engine = eddy.Eddy(query, "(A B) C", feedback=Odd(restraint=False))
    for number in range(100):
        engine.push_all({name: {"k": [number + 1000 * i]} for i, name in enumerate("ABC")})
    assert engine.statistics().feedback.suspended > 50
