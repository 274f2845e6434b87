"""How often join predicates are evaluated: the measure of work of the HybMig paper (section 5)."""

from __future__ import annotations

import numpy as np
import pytest

import eddy
from policies import Ghm, Gms, Gpt, HybMig, Jisc, MovingState, ParallelTrack
from tests.trace import Trace


def test_by_hand_with_nested_loops():
    """Each row, and each composite, is compared with every entry of the state that it meets."""
    trace = Trace("(A B) C", migration=HybMig(), joins="nested")
    counted = []

    def push(row):
        before = trace.engine.statistics().evaluations
        trace.push(row)
        counted.append(trace.engine.statistics().evaluations - before)

    for row in "a1 b1 c1 c2(9)".split():
        push(row)
    assert counted == [
        0,  # B is empty
        0 + 1,  # C is empty, and a1
        1,  # AB has one entry
        1,  # which does not match: it is looked at all the same
    ]
    trace.migrate("A (B C)")
    assert trace.last.evaluations == 0
    del counted[:]
    push("b2")  # c1 and c2; then b2c1 meets a1. The old plan, which owes old B and C, does not see it
    push("a2")  # b2c1 in BC; in the old plan b1 and b2, of which b1 stays, and a2b1 meets c1 and c2
    assert counted == [2 + 1, 1 + 2 + 2]
    assert trace.last.evaluations == 8
    trace.engine.settle()  # BC is computed: what remains is b1 with c1 and c2 at the least
    assert trace.last.evaluations > 8


@pytest.mark.parametrize("joins", ["nested", "hash"])
def test_an_inequality_by_hand(joins):
    """All rows are tested by the inequality, and those that pass are looked up."""
    trace = Trace("A B", {"A": ["x"], "B": ["y"]}, ["A.x < B.y"], joins=joins)
    for x in (1, 2, 5):
        trace.push(f"a0({x})")
    assert trace.engine.statistics().evaluations == 0
    trace.push("b0(4)")
    statistics = trace.engine.statistics()
    assert statistics.candidates == 3
    assert statistics.evaluations == statistics.candidates + statistics.probed


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "technique", [HybMig(), HybMig(False, 2), Jisc(), MovingState(), ParallelTrack(), Gms(), Gpt(), Ghm()]
)
def test_a_change_has_its_part_of_the_work(technique, threads):
    """What is counted for a change is what the engine counts from its begin to its end, and the work of a black box."""
    windows = dict.fromkeys("ABCD", eddy.Rows(20))
    trace = Trace("((A B) C) D", windows=windows, migration=technique, joins="nested", threads=threads)
    random = np.random.default_rng(3)

    def push(number):
        trace.engine.push("ABCD"[number % 4], {"k": random.integers(0, 6, 3)})

    for number in range(40):
        push(number)
    before = trace.engine.statistics().evaluations
    trace.migrate("((A D) C) B")
    for number in range(240):
        if trace.last.ended is not None:
            break
        push(number)
    assert trace.last.ended is not None
    done = trace.engine.statistics().evaluations - before
    ended = trace.last.evaluations
    if isinstance(technique, (Gms, Gpt, Ghm)):
        assert ended > done
    elif threads == 1:
        assert ended == done
    else:  # one shard may be done before the other
        assert 0 < ended <= done
    push(0)
    assert trace.last.evaluations == ended


def test_of_changes_that_overlap_each_has_all_that_is_done_meanwhile():
    """The first is under way while the second is: what is evaluated then counts for both."""
    trace = Trace("((A B) C) D", migration=HybMig(), joins="nested")
    for name in "ABCD":
        trace.engine.push(name, {"k": [1, 2]})
    counts = []
    for plan in ["A (B (C D))", "(A C) (B D)"]:
        trace.migrate(plan)
        counts.append(trace.engine.statistics().evaluations)
        for name in "ABCD":
            trace.engine.push(name, {"k": [1]})
    statistics = trace.engine.statistics()
    assert [c.evaluations for c in statistics.history] == [statistics.evaluations - count for count in counts]


def test_hybmig_takes_fewer_evaluations_than_two_plans():
    """Where no state is shared, the old plan goes on without the streams that the new one joins first."""

    def work(technique):
        windows = dict.fromkeys("ABCD", eddy.Rows(50))
        trace = Trace("((A B) C) D", windows=windows, migration=technique, joins="nested")
        random = np.random.default_rng(1)
        for number in range(60):
            if number == 30:
                trace.migrate("((A D) C) B")
                before = trace.engine.statistics().evaluations
            for name in "ABCD":
                trace.engine.push(name, {"k": random.integers(0, 40, 5)})
        return trace.engine.statistics().evaluations - before

    assert work(HybMig()) < work(ParallelTrack())
