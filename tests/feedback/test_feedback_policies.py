"""Feedback policies: their options, those of one's own, and those that are refused."""

from __future__ import annotations

import numpy as np
import pytest

import eddy
from policies import Feedback, HybMig, Jisc, Mns, NoFeedback
from tests.feedback.engines import TIRELESS, clique, feed, signed, three


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
