"""An edge rests where judging takes longer than what it spares, and tries again."""

from __future__ import annotations

import numpy as np
import pytest

import eddy
from eddy.feedback.payoff import DEAR, SHARE, Payoff, partners, weight
from eddy.feedback.restraint import SOON
from eddy.feedback.suspension import RELEASED, Suspension
from eddy.feedback.unit import ROW
from eddy.store.stream import StreamState
from policies import Mns, NoFeedback
from policies.feedback.mns import SHORTEST
from tests.inside import Inside


def query_of(window):
    streams = {name: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(window)) for name in "ABC"}
    return eddy.Query(streams, where=["A.k = B.k", "B.k = C.k"])


def engine_of(feedback, cost, window=20):
    """An engine of `query_of`, by whose clock a visit to an edge takes ``cost``."""
    return by_hand(Inside(query_of(window), plan="(A B) C", feedback=feedback), feedback, cost)


def by_hand(engine, feedback, cost):
    """Have the engine's clock moved on by 1 with every batch, and by ``cost`` with every visit to an edge."""
    now = [0.0]
    suspension = Suspension(feedback, engine.state.executor, clock=lambda: now[0])
    engine.state.executor.suspension = suspension
    end, done = suspension.visits.end, suspension.done

    def ended():
        work = end()
        for unit in suspension.units:
            for edge in unit.edges:
                edge.record.nanoseconds += int(1e9 * cost)
                suspension.visits.seconds += cost
                now[0] += cost
        return work

    def over(events):
        now[0] += 1.0
        done(events)

    suspension.visits.end, suspension.done = ended, over
    return engine


def run(engine, batches):
    """Push batches in which most rows of A and B have no partner in C; whether any edge was awake, and the results."""
    rng, awake, results = np.random.default_rng(3), [], 0
    for batch in range(batches):
        rows = {
            s: {"ts": np.full(8, batch), "k": rng.integers(0, 1000 if s == "C" else 30, 8)} for s in "ABC"
        }
        results += len(engine.push_all(rows))
        awake.append(any(not edge.resting for edge in engine.statistics().feedback.edges))
    return awake, results


@pytest.mark.parametrize("cost, judged", [(10.0, 0.15), (0.0001, 1.0)])
def test_what_takes_longer_than_it_spares_rests(cost, judged):
    awake, results = run(engine_of(Mns(), cost), 400)
    assert sum(awake) / len(awake) == judged if judged == 1.0 else sum(awake) / len(awake) < judged
    assert results == run(engine_of(Mns(restraint=False), cost), 400)[1] > 0


def test_what_plainly_does_not_pay_rests_soon_and_is_tried_more_and_more_seldom():
    awake, _ = run(engine_of(Mns(), 10.0), 1500)
    assert all(awake[:20]) and not any(awake[33 : 30 + SHORTEST])  # windows have turned over after 20 batches
    trials = [i for i in range(1, len(awake)) if awake[i] and not awake[i - 1]]
    assert trials[0] <= SHORTEST + 33 and not any(awake[trials[0] + 2 * SOON + 1 : trials[0] + 2 * SHORTEST])
    assert len(trials) == 3 and trials[2] - trials[1] > 3 * (trials[1] - trials[0])


def test_while_windows_fill_nothing_is_told():
    """Then what waits comes back soon, and has few partners, so judging seems to be in vain."""
    asked = []

    class Telling(Mns):
        def rest(self, edge):
            asked.append(len(awake))
            return 0

    engine, awake = engine_of(Telling(), 0.0001, window=40), []
    rng = np.random.default_rng(1)
    for batch in range(120):
        rows = {
            s: {"ts": np.full(8, batch), "k": rng.integers(0, 1000 if s == "C" else 30, 8)} for s in "ABC"
        }
        engine.push_all(rows)
        awake.append(batch)
    assert 40 <= asked[0] <= 50
    assert asked[-1] - asked[0] > 30  # and then again, after twice as many batches


def test_without_restraint_nothing_rests():
    awake, _ = run(engine_of(Mns(restraint=False), 10.0), 100)
    assert all(awake)


def pairs(rows, fan_out, partners):
    """Batches of A, B, C and D, keyed A-B and C-D with so many partners, of which few have a partner across."""
    rng = np.random.default_rng(5)
    for step in range(40):
        yield {
            s: {
                "ts": np.full(rows, step),
                "k": rng.integers(0, 10 * rows // fan_out, rows),
                "p": rng.integers(0, partners, rows),
            }
            for s in "ABCD"
        }


@pytest.mark.parametrize("partners, rests", [(10**6, True), (60, False)])
def test_one_of_two_siblings_rests_while_the_rows_of_the_other_wait(partners, rests):
    """Where A's rows wait for a pair of C and D, rows of B make nothing; where A's do not wait, B is judged too."""
    streams = {s: eddy.Stream(dict.fromkeys(["ts", "k", "p"], "int64"), window=eddy.Range(9)) for s in "ABCD"}
    where = ["A.k = B.k", "C.k = D.k", "A.p = C.p", "B.p = D.p"]
    found = {}
    for policy in (Mns(), Mns(restraint=False), NoFeedback()):
        engine = Inside(eddy.Query(streams, where=where), "(A B) (C D)", feedback=policy)
        if not isinstance(policy, NoFeedback):
            by_hand(engine, policy, 0.0001)
        seen = []
        found[policy] = []
        for batch in pairs(20, 4, partners):
            found[policy].append(engine.push_all(batch).rows.tolist())
            if not isinstance(policy, NoFeedback):
                edges = {edge.name: edge.resting for edge in engine.statistics().feedback.edges}
                seen.append(edges["B"] and not edges["A"])
        if policy == Mns():
            assert all(seen[:3]) and all(seen) is rests
        elif not isinstance(policy, NoFeedback):
            assert not any(seen)
    one, two, three = ([sorted(rows) for rows in batches] for batches in found.values())
    assert one == two == three


def test_while_all_edges_rest_batches_take_the_short_way():
    """A policy that has nothing to do costs nothing, and gets up in time."""
    engine, plain = (Inside(query_of(5), plan="(A B) C", feedback=p) for p in (Mns(), NoFeedback()))
    suspension, short, judged = engine.state.executor.suspension, 0, 0
    passed = suspension.passed

    def counted(batches):
        nonlocal short
        short += batches
        passed(batches)

    suspension.passed = counted
    rng = np.random.default_rng(8)
    for batch in range(400):
        rows = {s: {"ts": np.full(20, batch), "k": rng.integers(0, 20, 20)} for s in "ABC"}
        assert len(engine.push_all(rows)) == len(plain.push_all(rows))
        judged += suspension.watching
    assert short > 150 and 4 < judged < 100


def test_a_push_of_many_portions_passes_as_many_batches_while_edges_rest():
    """Else a policy would sleep longer, the larger pushes are."""
    engine = Inside(query_of(5), plan="(A B) C", feedback=Mns(), batch_size=60)
    suspension, rng = engine.state.executor.suspension, np.random.default_rng(8)
    for batch in range(400):
        asleep = suspension._asleep
        size = 100 if suspension.asleep and asleep > 8 else 20
        rows = {s: {"ts": np.full(size, batch), "k": rng.integers(0, 20, size)} for s in "ABC"}
        engine.push_all(rows)
        if size == 100 and engine.state.fast_path._tables is not None and suspension._asleep:
            assert suspension._asleep == asleep - 5
            return
    raise AssertionError("no push of many portions came while all edges rested")


def test_what_waits_at_an_edge_that_rests_is_let_go_little_by_little(monkeypatch):
    """All at once it would delay a batch."""
    engine = engine_of(Mns(restraint=False), 0.0001, window=1000)
    run(engine, 100)
    before = engine.statistics().feedback
    assert before.waiting > 3 * RELEASED
    for unit in engine.state.executor.suspension.units:
        for edge in unit.edges:
            edge.rest(50)
    seen = [before.waiting]
    for batch in range(100, 140):
        engine.push("C", {"ts": [batch], "k": [5000]})
        seen.append(engine.statistics().feedback.waiting)
    steps = -np.diff(seen)
    assert seen[-1] == 0 and steps.max() <= 2 * RELEASED
    numbers = engine.statistics().feedback
    assert numbers.suspended == numbers.resumed + numbers.dropped


def test_what_a_composite_costs():
    """A share of what all else takes for an event, more with a long key and by nested loops; and as many seconds as its
    row has partners."""
    payoff = Payoff()
    assert payoff.price == 0
    for _ in range(100):
        payoff.note(work=100 + 400 * weight(3), seconds=2.0)
    assert payoff.price == pytest.approx(2.0 / (100 + 400 * 4 * SHARE))
    worth = {}
    for joins in ("hash", "nested"):
        engine = Inside(query_of(10**9), plan="(A B) C", feedback=Mns(), joins=joins)
        engine.push_all({s: {"ts": np.zeros(300, np.int64), "k": np.arange(300) % 30} for s in "AB"})
        unit = next(unit for unit in engine.state.executor.suspension.units if unit.streams == (0,))
        worth[joins] = unit.worth(price=1.0)
    assert worth["hash"] == pytest.approx(ROW + 10 * weight(1))
    assert worth["nested"] == pytest.approx(ROW + 10 * DEAR * weight(1))


@pytest.mark.parametrize("rows", [50, 3000])
def test_partners_are_counted_in_a_sample(rows):
    """Those of a row among the live rows of another stream, by all attributes that they share."""
    engine = Inside(query_of(10**9), plan="(A B) C")
    rng = np.random.default_rng(2)
    for name, domain in (("A", 10), ("B", 20)):
        engine.push(name, {"ts": np.zeros(rows, np.int64), "k": rng.integers(0, domain, rows)})
    one, other, none = engine.state.streams
    assert isinstance(one, StreamState)
    assert partners(one, other, [0]) == pytest.approx(rows / 20, rel=0.25)
    assert partners(other, one, [0]) == pytest.approx(rows / 20, rel=0.25)
    assert partners(one, none, [0]) == 0
