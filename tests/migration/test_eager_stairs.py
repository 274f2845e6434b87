"""Eager STAIRs: every entry is promoted or demoted at the change (the digest's scenario T09)."""

from __future__ import annotations

import numpy as np
import pytest

from policies import EagerStairs, MovingState
from tests.trace import Trace


def test_t09_demote_and_promote():
    """(r1, s1) and (r1, s2), demoted by S, leave one r1; promoted again they are both back, each once."""
    trace = Trace("(R S) T", migration=EagerStairs())
    trace.add("r1 s1 s2")
    assert trace.stair("RS").live == 2
    trace.migrate("(R T) S")
    rows = {stream.name: stream.live for stream in trace.engine.statistics().streams}
    assert rows == {"R": 1, "S": 2, "T": 0} and trace.stair("RT").live == 0
    trace.migrate("(R S) T")
    assert trace.stair("RS").live == 2 and trace.stair("RS").complete
    assert trace.add("t1") == ["r1s1t1", "r1s2t1"]
    assert trace.add("r2") == ["r2s1t1", "r2s2t1"]


def test_t09_promoted_entries_meet_later_partners():
    """What is promoted is also there for rows that come after the change, on either side."""
    trace = Trace("(R S) T", migration=EagerStairs())
    trace.add("r1 s1 s2")
    trace.migrate("(R T) S")
    assert trace.add("t1") == ["r1s1t1", "r1s2t1"]
    assert trace.stair("RT").live == 1
    assert trace.add("s3") == ["r1s3t1"]


@pytest.mark.parametrize("plan", ["((S T) R) U", "R (S (T U))", "(R U) (S T)"])
def test_every_entry_at_the_change(plan):
    """All keys of all missing STAIRs are promoted when `migrate` returns: entry by entry what Moving State computes."""
    found = []
    for migration in (EagerStairs(), MovingState()):
        trace = Trace("((R S) T) U", migration=migration)
        for name, size in zip("RSTU", (12, 20, 7, 9), strict=True):
            trace.engine.push(name, {"k": np.arange(size) % 8})
        trace.migrate(plan)
        statistics = trace.engine.statistics()
        assert statistics.complete
        assert (trace.last.begun, trace.last.ended) == (48, 48)
        found.append([(stair.name, stair.live, stair.keys_filled) for stair in statistics.stairs])
        found[-1].append(trace.last.composites_built)
        assert trace.last.keys_filled >= 7
    assert found[0] == found[1]


def test_nothing_is_emitted_by_promotion():
    """Entries that were results before the change are not results again."""
    trace = Trace("(R S) T", migration=EagerStairs())
    assert trace.add("r1 s1 t1") == ["r1s1t1"]
    for plan in ["(R T) S", "(S T) R", "stems", "(R S) T"]:
        trace.migrate(plan)
    assert trace.engine.statistics().results == 1
    assert trace.add("t2") == ["r1s1t2"]
