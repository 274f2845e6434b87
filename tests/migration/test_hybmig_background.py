"""HybMig with background computation: states are completed beside the stream, and the table shrinks (T28 to T32)."""

from __future__ import annotations

import numpy as np
import pytest

import eddy
from policies import HybMig
from tests.migration.test_hybmig import BUSHY, LEFT, RIGHT, old_results, rows_seen
from tests.trace import Trace


def test_t28_a_row_that_met_a_state_before_it_was_complete():
    """b1 found nothing in CD, which was completed only then: the old plan still serves it (H-C1)."""
    for background in (0, 1, 3, 100):
        trace = Trace(LEFT, migration=HybMig(background=background))
        trace.add("c1 d1")
        trace.migrate(RIGHT)
        assert trace.add("b1 a1") == ["a1b1c1d1"]


def test_t29_rows_before_and_after_a_state_is_complete():
    """b1 came before CD was complete and b2 after: a2 meets b1 in the old plan, b2 in the new one, each once."""
    where = ["A.k = B.k", "B.k = C.k", "C.k = D.k"]
    trace = Trace(LEFT, dict.fromkeys("BACD", ("k",)), where, migration=HybMig(background=1))
    trace.add("c1 d1")
    trace.migrate(RIGHT)
    trace.add("b1")
    assert trace.last.ended is None and trace.stair("CD").live == 1
    # B's and A's rows come in this order and in one batch, so that nothing is computed in between.
    result = trace.engine.push_all({"B": {"k": [1]}, "A": {"k": [1]}})
    assert result.rows.tolist() == [[0, 0, 0, 0], [1, 0, 0, 0]]
    assert old_results(trace) == 1 and rows_seen(trace) == "BA"


def test_t30_an_entry_goes_when_its_state_is_complete():
    """When AB is there the old plan owes nothing for it: a new C meets the old AB in the new plan alone."""
    trace = Trace("(A (B C)) D", migration=HybMig(background=1))
    assert trace.add("a1 b1 c1 d1") == ["a1b1c1d1"]
    trace.migrate(BUSHY)
    assert trace.last.tracks[0].entries == 2
    trace.add("d2(9)")
    assert trace.last.tracks[0].entries == 1
    assert trace.push("c2") == ["a1b1c2d1"]
    assert (old_results(trace), rows_seen(trace)) == (0, "D")
    trace.add("d3(9)")
    assert trace.last.ended is not None and trace.stair("CD").live == 2


def test_t31_what_has_expired_is_never_computed():
    """Of c1@1, c5@5, d2@2, d6@6 at time 12 with a window of 10, c5 joins d6 and d2; c1 is gone."""
    trace = Trace(LEFT, width=10, migration=HybMig(background=100))
    trace.add("c1@1 d2@2 c5@5 d6@6 a0(9)@12")
    trace.migrate(RIGHT)
    trace.add("b1@12")
    assert (trace.last.composites_built, trace.stair("CD").live) == (2, 2)
    assert trace.add("a1@12") == ["a1b1c5d2", "a1b1c5d6"]


def test_t31_the_newest_rows_first():
    """Key 3 came first and has three pairs, key 1 last and has one: 1, 3 and then 6 composites are built."""
    trace = Trace(LEFT, migration=HybMig(background=1))
    for key in (3, 2, 1):
        trace.add(" ".join([f"c0({key})"] + [f"d0({key})"] * key))
    trace.migrate(RIGHT)
    built = []
    for number in range(3):
        trace.push(f"a{number}(9)")
        built.append(trace.last.composites_built)
    assert built == [1, 3, 6]


def test_t32_computed_and_running_entries_are_one_state():
    """Three composites from before, computed later, and two from after make a state of five, which expires in order."""
    windows = dict.fromkeys("CD", eddy.Rows(5))
    trace = Trace(LEFT, windows=windows, migration=HybMig(background=2))
    for number in (1, 2, 3):
        trace.add(f"c{number}({number}) d{number}({number})")
    trace.migrate(RIGHT)
    trace.add("c4(4) d4(4)")
    trace.add("c5(5) d5(5)")
    assert trace.last.ended is not None or trace.stair("CD").complete
    live = []
    for number in range(6, 12):
        live.append(trace.stair("CD").live)
        trace.add(f"c{number}({-number}) a{number}(99)")
    assert live == [5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("background", [1, 3])
@pytest.mark.parametrize("sharing", [True, False])
def test_background_computation_shrinks_the_table(background, sharing):
    """One entry after the other goes, and with the last one the old plan, long before a window has turned over."""
    windows = dict.fromkeys("ABCD", eddy.Rows(1000))
    trace = Trace("(A (B C)) D", windows=windows, migration=HybMig(sharing, background))
    for name in "ABCD":
        trace.engine.push(name, {"k": np.arange(12)})
    trace.migrate(BUSHY)
    entries = [trace.last.tracks[0].entries]
    batches = 0
    while trace.last.ended is None and batches < 100:
        trace.engine.push("ABCD"[batches % 4], {"k": [batches % 12]})
        entries.append(trace.last.tracks[0].entries)
        batches += 1
    # Each batch computes so many of the 12 keys of a state, and a new row may fill one more.
    assert batches <= 24 // background and batches >= 16 // background
    assert entries == sorted(entries, reverse=True) and set(entries) == {2, 1}
    assert trace.engine.statistics().complete
    assert trace.last.keys_filled <= background * batches
