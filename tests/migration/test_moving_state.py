"""Moving State: match, keep, compute what is missing at once, go on (the digest's scenarios T13, T14 and T16)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import eddy
from policies import Jisc, MovingState
from tests.trace import Trace

PLANS = ["((R S) T) U", "((S T) R) U", "R (S (T U))", "(R U) (S T)", "stems"]


def filled(trace):
    """For each STAIR its live composites and the keys that were filled in it."""
    return {
        "".join(sorted(stair.streams)): (stair.live, stair.keys_filled)
        for stair in trace.engine.statistics().stairs
    }


def test_t13_what_is_recomputed_moved_and_dropped():
    """Of ((R S) T) U and ((S T) R) U the state ST alone is missing: RST is moved, also above it, and RS dropped."""
    trace = Trace("((R S) T) U", migration=MovingState())
    trace.add("r1 s1 t1")
    assert filled(trace) == {"RS": (1, 0), "RST": (1, 0)}
    trace.migrate("((S T) R) U")
    assert filled(trace) == {"ST": (1, 1), "RST": (1, 0)}
    assert (trace.last.keys_filled, trace.last.composites_built) == (1, 1)
    assert trace.engine.statistics().results == 0
    assert trace.add("u1") == ["r1s1t1u1"]


@pytest.mark.parametrize("plan", PLANS[1:])
def test_everything_is_filled_before_the_next_event(plan):
    """When `migrate` returns no hole is left and the migration is over, under any plan and with many keys."""
    trace = Trace("((R S) T) U", migration=MovingState(), windows=dict.fromkeys("RSTU", eddy.Rows(40)))
    batch = {"k": np.arange(40) % 9}
    for name in "RSTU":
        trace.engine.push(name, batch)
    trace.migrate(plan)
    statistics = trace.engine.statistics()
    assert statistics.complete and all(stair.holes == 0 for stair in statistics.stairs)
    assert (trace.last.begun, trace.last.ended, trace.last.longest_gap) == (160, 160, 0)
    assert all(stair.keys_filled in (0, 9) for stair in statistics.stairs)
    before = statistics.keys_filled
    wanted = sum(list(batch["k"]).count(key) ** 3 for key in batch["k"])
    assert len(trace.engine.push("R", batch)) == wanted
    assert trace.engine.statistics().keys_filled == before


def test_states_hold_what_lazy_filling_would_put_there():
    """After a change each STAIR has as many live composites as `Jisc` has when every key was asked for."""
    eager, lazy = (Trace("((R S) T) U", migration=m) for m in (MovingState(), Jisc(background=1000)))
    batch = {"k": np.arange(28) % 7}
    for trace in (eager, lazy):
        for name in "RSTU":
            trace.engine.push(name, batch)
        trace.migrate("(R U) (S T)")
        trace.push("r1(99)")
    assert {name: live for name, (live, _) in filled(eager).items()} == {
        name: live for name, (live, _) in filled(lazy).items()
    }
    assert lazy.last.composites_built == eager.last.composites_built == 2 * 7 * 4**2


def test_t14_arrivals_come_in_their_order_after_the_pause():
    """Rows that arrive at the change, in one batch, are emitted after it in the order of their arrival, none lost."""
    trace = Trace("((R S) T) U", migration=MovingState())
    trace.add("r1 s1 t1")
    trace.migrate("((S T) R) U")
    result = trace.engine.push_all({"U": {"k": [1, 2, 1]}, "R": {"k": [7, 1, 2]}})
    # In the order of the streams, place by place: r2, u1, r3, u2, r4, u3.
    assert result.rows[0].tolist() == [0, 0, 0, 0]
    events = [max(2 * row[0] - 2, 2 * row[3] + 1) for row in result.rows.tolist()]
    assert events == sorted(events) == [1, 2, 5, 5]


@pytest.mark.parametrize("plan", ["(A B) C", "A (B C)", "(A C) B"])
def test_t16_windows_per_pair(plan):
    """Rows are kept by the largest window that applies, so a moved state may lack none (H-A4)."""
    where = ["ABS(A.ts - B.ts) <= 2", "ABS(B.ts - C.ts) <= 10", "ABS(A.ts - C.ts) <= 12", "A.k = B.k"]
    trace = Trace("(A B) C", dict.fromkeys("ABC", ("k",)), where, width=12, migration=MovingState())
    trace.add("b1@0 a1@1 a2@5")
    trace.migrate(plan)
    assert trace.add("c1@8") == ["a1b1c1"]


def test_every_change_ends_before_the_next():
    """Back and forth between all plans, with a row in between: each change is complete, and no result is repeated."""
    trace = Trace(PLANS[0], dict.fromkeys("RSTU", ("k",)), migration=MovingState())
    for count, (before, after) in enumerate(itertools.permutations(PLANS, 2), 1):
        trace.migrate(before)
        trace.migrate(after)
        assert trace.engine.statistics().complete
        name = "rstu"[count % 4]
        sizes = [len(trace.labels[other]) for other in "RSTU" if other != name.upper()]
        assert len(trace.push(f"{name}{count}")) == np.prod(sizes)
    assert all(change.ended == change.begun for change in trace.engine.statistics().history)


def test_a_snapshot_is_filled_when_it_is_loaded(tmp_path):
    """Composites are no part of a snapshot; Moving State computes them before the first event."""
    trace = Trace("((R S) T) U", migration=MovingState())
    trace.add("r1 s1 s2 t1")
    trace.engine.save(tmp_path / "snapshot")
    loaded = eddy.Eddy.load(tmp_path / "snapshot", migration=MovingState())
    assert loaded.statistics().complete
    assert [stair.live for stair in loaded.statistics().stairs] == [2, 2]
    assert len(loaded.push("U", {"k": [1]})) == 2
