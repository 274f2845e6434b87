"""Eager STAIRs: every entry is promoted or demoted at the change (the digest's scenario T09)."""

from __future__ import annotations

import numpy as np
import pytest

from policies import EagerStairs, MovingState
from tests.trace import Trace


def test_t09_demote_and_promote():
    """(r1, s1) and (r1, s2), demoted by S, leave one r1; promoted by S they are both back; then each result comes once.

    First at two plan changes, which count what they take apart and put together; then by hand.
    """
    trace = Trace("(R S) T", migration=EagerStairs())
    trace.add("r1 s1 s2")
    assert stored(trace, "R S") == ["r1s1", "r1s2"]
    trace.migrate("(R T) S")
    assert (trace.last.entries_demoted, trace.last.entries_promoted) == (2, 0)
    assert stored(trace, "R") == ["r1"] and stored(trace, "R T") == []
    trace.migrate("(R S) T")
    assert (trace.last.entries_demoted, trace.last.entries_promoted) == (0, 2)
    assert stored(trace, "R S") == ["r1s1", "r1s2"]

    gone = trace.engine.stair("R S").demote(1, to="R")
    assert words(trace, gone) == ["r1s1", "r1s2"] and words(trace, gone.part("R")) == ["r1"]
    assert stored(trace, "R S") == [] and trace.engine.stair("R S").holes == 1
    assert words(trace, trace.engine.stair("R").promote(1, to="R S")) == ["r1s1", "r1s2"]
    assert stored(trace, "R S") == ["r1s1", "r1s2"] and trace.engine.stair("R S").complete
    assert trace.add("t1") == ["r1s1t1", "r1s2t1"]
    assert trace.add("r2") == ["r2s1t1", "r2s2t1"]
    assert trace.engine.statistics().results == 4


def test_t09_moving_state_computes_states_and_demotes_nothing():
    """The same states come about under `MovingState`, but no entry is taken apart or put together by itself."""
    trace = Trace("(R S) T", migration=MovingState())
    trace.add("r1 s1 s2")
    for plan in ["(R T) S", "(R S) T"]:
        trace.migrate(plan)
        assert (trace.last.entries_demoted, trace.last.entries_promoted) == (0, 0)
    assert trace.last.composites_built == 2 and stored(trace, "R S") == ["r1s1", "r1s2"]


def words(trace, entries):
    """Entries of a STAIR as words, such as r1s1."""
    return [
        "".join(trace.labels[name][row] for name, row in zip(entries.streams, rows, strict=True))
        for rows in entries.rows.tolist()
    ]


def stored(trace, streams):
    """What the STAIR of some streams holds, as words."""
    return words(trace, trace.engine.stair(streams).stored())


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
        eager = isinstance(migration, EagerStairs)
        assert trace.last.entries_promoted == (trace.last.composites_built if eager else 0)
        assert (trace.last.entries_demoted > 0) == eager
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
