"""SteMs and orderings: plans without composite STAIRs, where a change of order is free."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import eddy
from policies import EagerStairs, HybMig, Jisc, MovingState
from tests.cases import TECHNIQUES
from tests.trace import Trace

NAMES = dict.fromkeys("RST", ("k",))
WHERE = ["R.k = S.k", "S.k = T.k"]
ORDERS = [
    " | ".join(routes)
    for routes in itertools.product(["R: S T", "R: T S"], ["S: R T", "S: T R"], ["T: R S", "T: S R"])
]
ANY = pytest.mark.parametrize("migration", TECHNIQUES, ids=repr)


@pytest.mark.parametrize("plan", ["stems", ORDERS[0], ORDERS[5]])
def test_no_composite_is_stored(plan):
    """Whatever matches, there is no composite STAIR and none of its memory; a tree has both."""
    trace = Trace(plan, NAMES, WHERE)
    for _ in range(3):
        for name in "RST":
            trace.engine.push(name, {"k": [1] * 5})
    statistics = trace.engine.statistics()
    assert (statistics.results, statistics.stairs, statistics.composites_filled) == (15**3, (), 0)
    trace.migrate("(R S) T")
    assert [stair.streams for stair in trace.engine.statistics().stairs] == [("R", "S")]
    trace.engine.push("T", {"k": [1]})
    assert trace.stair("RS").live == 225


@pytest.mark.parametrize("migration", [Jisc(), MovingState(), EagerStairs(), HybMig()], ids=repr)
def test_a_change_of_order_is_free(migration):
    """Between orderings nothing is filled, built or waited for, and nothing runs beside."""
    trace = Trace("stems", NAMES, WHERE, migration=migration)
    for name in "RST":
        trace.engine.push(name, {"k": np.arange(50)})
    for order in ORDERS[1:]:  # the first one is what "stems" stands for
        trace.migrate(order)
        change = trace.last
        assert (change.begun, change.ended, change.tracks) == (
            trace.engine.statistics().events,
            change.begun,
            (),
        )
        assert (change.keys_filled, change.composites_built, change.peak_bytes) == (0, 0, 0)
        trace.engine.push("R", {"k": [1]})
    assert trace.engine.statistics().stairs == ()


@ANY
def test_t07_the_order_changes_after_every_event(migration):
    """Under every technique results stay what they are, and none is repeated."""
    for start in range(len(ORDERS)):
        plans = itertools.cycle(ORDERS[start:] + ORDERS[:start])
        trace = Trace(next(plans), NAMES, WHERE, migration=migration)
        found = []
        for row in "r1 s1 s2 t1 t2(2) r2 s3(2)".split():
            found.append(trace.push(row))
            trace.migrate(next(plans))
        assert found == [[], [], [], ["r1s1t1", "r1s2t1"], [], ["r2s1t1", "r2s2t1"], []]


@ANY
def test_from_stems_to_a_tree_and_back(migration):
    """Composites that were never stored are there when a tree wants them, and gone when it is left."""
    trace = Trace("stems", NAMES, WHERE, windows=dict.fromkeys("RST", eddy.Rows(3)), migration=migration)
    plans = ["(R S) T", "stems", "R (S T)", ORDERS[3], "(R T) S", "stems"]
    live = 0
    for number, plan in enumerate(plans):
        for name in "rst":
            live += len(trace.push(f"{name}{number}"))
        trace.migrate(plan)
    sizes = [min(number + 1, 3) for number in range(6)]
    before = [0, *sizes[:-1]]
    wanted = sum(old * old + new * old + new * new for old, new in zip(before, sizes, strict=True))
    # A window of 3 rows that is full stays full: a row then joins three and three.
    assert live == wanted
    trace.engine.settle()
    assert trace.engine.statistics().stairs == ()
