"""Judging rests where batches take less time without it, and is tried again."""

from __future__ import annotations

import numpy as np
import pytest

import eddy
from eddy.payoff import FIRST, LENGTH
from policies import Mns


def engine_of(feedback):
    streams = {name: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(400)) for name in "ABC"}
    return eddy.Eddy(eddy.Query(streams, where=["A.k = B.k", "B.k = C.k"]), plan="(A B) C", feedback=feedback)


def run(engine, batches, cost):
    """Push batches, by a clock that a batch with judging moves on by ``cost`` and another by 1."""
    suspension, judged, now = engine._router.suspension, [], [0.0]
    suspension.clock = lambda: now[0]
    done = suspension.done

    def over(events):
        judged.append(suspension._judging)
        now[0] += cost if suspension._judging else 1.0
        done(events)

    suspension.done = over
    rng, results = np.random.default_rng(3), 0
    for batch in range(batches):
        rows = {name: {"ts": np.full(8, batch), "k": rng.integers(0, 30, 8)} for name in "ABC"}
        results += len(engine.push_all(rows))
    return judged, results


@pytest.mark.parametrize("cost, mostly", [(2.0, False), (0.5, True)])
def test_the_dearer_side_rests(cost, mostly, monkeypatch):
    monkeypatch.setattr(Mns, "rest", lambda self, edge: 0)  # so that the clock alone decides
    judged, results = run(engine_of(Mns()), 900, cost)
    assert all(judged[: FIRST + LENGTH]) and not judged[FIRST + LENGTH]
    assert sum(judged[100:]) > 700 if mostly else sum(judged[100:]) < 100
    assert 0 < judged.count(not mostly) and results == run(engine_of(Mns(restraint=False)), 900, cost)[1]


def test_what_does_not_pay_is_tried_more_and_more_seldom(monkeypatch):
    monkeypatch.setattr(Mns, "rest", lambda self, edge: 0)
    judged, _ = run(engine_of(Mns()), 5000, 2.0)
    trials = [i for i in range(1, 5000) if judged[i] and not judged[i - 1]]
    assert len(trials) >= 3 and trials[2] - trials[1] > 2 * (trials[1] - trials[0])


def test_nothing_waits_while_nothing_is_judged(monkeypatch):
    """What waits comes back, one edge a batch, so that batches without judging cost what they cost without feedback."""
    monkeypatch.setattr(Mns, "rest", lambda self, edge: 0)
    engine = engine_of(Mns())
    judged, _ = run(engine, FIRST + LENGTH + 4, 2.0)
    assert not any(judged[-4:])
    told = engine.statistics().feedback
    assert told.waiting == 0 < told.suspended and not engine._router.suspension._watching


def test_without_restraint_nothing_rests():
    judged, _ = run(engine_of(Mns(restraint=False)), 200, 2.0)
    assert all(judged)
