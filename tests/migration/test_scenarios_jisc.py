"""The digest's scenarios of lazy state completion (T36 to T51, T55) and its counterexamples in 2.B."""

from __future__ import annotations

import pytest

import eddy
from tests.queries import MIXING
from tests.trace import Trace

SETUPS = [{}, {"joins": "nested"}, {"background": 1}, {"background": 100}]
FIVE = dict.fromkeys("ABCDE", ("k",))


@pytest.fixture(params=SETUPS, ids=["lazy", "nested", "background 1", "background 100"])
def setup(request):
    """How the engine runs; no result may depend on it."""
    return request.param


def test_t36_a_key_with_some_entries_is_not_a_filled_key(setup):
    """Entries made after the change do not hide the ones still missing (H-B1)."""
    trace = Trace("(R S) T", **setup)
    trace.add("s1 t1")
    trace.migrate("(S T) R")
    assert trace.add("t2 r1") == ["r1s1t1", "r1s1t2"]


def test_t37_a_key_seen_elsewhere_is_not_a_filled_key(setup):
    """That another stream brought the key since the change says nothing about this STAIR (H-B2)."""
    trace = Trace("((R S) T) U", **setup)
    trace.add("s1 t1")
    trace.migrate("((S T) R) U")
    assert trace.add("u1 r1") == ["r1s1t1u1"]


def test_t38_expiry_reaches_the_stairs_above_a_hole(setup):
    """A kept STAIR above a hole gives no result with a row that expired (H-B3)."""
    trace = Trace("((R S) T) U", windows={"S": eddy.Rows(2)}, **setup)
    trace.add("r1 s1 t1")
    trace.migrate("((S T) R) U")
    trace.add("s2")
    trace.expire("s1")
    assert trace.add("u1") == ["r1s2t1u1"]


def test_t39_a_level_is_filled_once(setup):
    """Filling a key at one level does not fill again what is filled below (H-B4)."""
    trace = Trace("(((Q R) S) T) U", **setup)
    trace.add("u1 t1 s1")
    trace.migrate("(((U T) S) R) Q")
    assert trace.add("s2 q0 r1") == ["q0r1s1t1u1", "q0r1s2t1u1"]
    assert trace.add("q1") == ["q1r1s1t1u1", "q1r1s2t1u1"]


def test_t40_completeness_counts_keys_of_one_side(setup):
    """Probes for keys that only one side has do not make the STAIR complete (H-B6)."""
    trace = Trace("(R S) T", **setup)
    trace.add("s1(1) s2(2) t1(2) t2(3) t3(4)")
    trace.migrate("(S T) R")
    assert trace.add("r1(3) r2(4) r3(2)") == ["r3s2t1"]


def test_t41_complete_children_do_not_complete_the_parent(setup):
    """In a bushy plan the parent keeps its own holes when both children are filled (H-B8)."""
    where = ["A.k = B.k", "B.k = C.k", "C.k = D.k", "D.k = E.k"]
    trace = Trace("(((A E) C) B) D", FIVE, where, **setup)
    trace.add("a1 b1 c1 d1")
    trace.migrate("((A B) (C D)) E")
    assert trace.add("a2 c2 e1") == ["a1b1c1d1e1", "a1b1c2d1e1", "a2b1c1d1e1", "a2b1c2d1e1"]


def test_t42_a_kept_stair_takes_its_filled_keys_along(setup):
    """A second change neither forgets nor repeats what the first has filled (H-B9)."""
    trace = Trace("((R S) T) U", **setup)
    trace.add("s1 t1 u1")
    trace.migrate("((S T) R) U")
    assert trace.add("r1") == ["r1s1t1u1"]
    trace.migrate("((S T) U) R")
    assert trace.add("r2") == ["r2s1t1u1"]


def test_t43_a_kept_stair_stays_incomplete():
    """A STAIR with holes that nobody probed still has them after the next change."""
    trace = Trace("((R S) T) U")
    trace.add("s1 t1 u1")
    trace.migrate("((S T) R) U")
    assert "ST" in trace.incomplete()
    trace.migrate("((S T) U) R")
    assert "ST" in trace.incomplete()
    assert trace.add("r1") == ["r1s1t1u1"]


def test_t44_which_stairs_a_change_leaves_incomplete():
    """STAIRs of the old plan are complete in the new one, the others are not, the root is in no question."""
    for plan, expected in [
        ("((U T) S) R", ["STU", "TU"]),
        ("((S R) U) T", ["RSU"]),
        ("((S T) R) U", ["ST"]),
    ]:
        trace = Trace("((R S) T) U")
        assert trace.add("r1 s1 t1 u1") == ["r1s1t1u1"]
        trace.migrate(plan)
        assert trace.incomplete() == expected


def test_t45_only_what_is_probed_is_filled():
    """After a change over 100 keys, one row fills exactly one."""
    trace = Trace("(R S) T")
    for key in range(100):
        trace.add(f"s{key}({key}) t{key}({key})")
    trace.migrate("(S T) R")
    assert trace.stair("ST").keys_filled == 0
    assert trace.add("r1(7)") == ["r1s7t7"]
    assert trace.stair("ST").keys_filled == 1
    assert trace.stair("ST").live == 1
    assert not trace.stair("ST").complete


def test_t46_a_repeated_key_fills_nothing():
    """The second row of a key finds it filled."""
    trace = Trace("(R S) T")
    trace.add("s1 t1 s2(2) t2(2)")
    trace.migrate("(S T) R")
    assert trace.add("r1") == ["r1s1t1"]
    before = trace.stair("ST").keys_filled, trace.engine.statistics().composites_filled
    assert before == (1, 1)
    assert trace.add("r2") == ["r2s1t1"]
    assert (trace.stair("ST").keys_filled, trace.engine.statistics().composites_filled) == before


def test_t47_a_filled_key_stays_filled_when_its_rows_expire(setup):
    """Rows of a filled key that expires and returns are neither repeated nor stale (H-B13)."""
    trace = Trace("(R S) T", windows={"S": eddy.Rows(1)}, **setup)
    trace.add("s1 t1")
    trace.migrate("(S T) R")
    assert trace.add("r1") == ["r1s1t1"]
    trace.expire("s1")
    assert trace.add("s2") == ["r1s2t1"]
    assert trace.add("r2") == ["r2s2t1"]


def test_t48_holes_vanish_with_their_rows():
    """A STAIR whose missing keys have lost their last rows is complete with the next batch (H-B7)."""
    trace = Trace("(R S) T", windows={"S": eddy.Rows(1)})
    trace.add("s1 t1")
    trace.migrate("(S T) R")
    assert trace.incomplete() == ["ST"]
    trace.expire("s1")
    trace.add("t2(9)")
    assert trace.incomplete() == []


def test_t49_a_window_that_turned_over_completes_its_stairs():
    """Once a stream's window holds only rows younger than the change, its STAIRs are complete (H-B7)."""
    trace = Trace("((R S) T) U", windows={"S": eddy.Rows(2)})
    trace.add("s1 s2 t1 u1")
    trace.migrate("((S T) U) R")
    assert trace.incomplete() == ["ST", "STU"]
    trace.add("s3(5) s4(6) t2(9)")
    assert trace.incomplete() == []
    assert trace.add("r1") == []


def test_t50_rows_before_a_change_run_under_the_old_plan(setup):
    """A change takes effect between batches: each row is processed once, also if its batch is cut (H-B16)."""
    trace = Trace("(R S) T", batch_size=2, **setup)
    engine = trace.engine
    assert len(engine.push("S", {"k": [1] * 5})) == 0
    assert len(engine.push("T", {"k": [1] * 5})) == 0
    engine.migrate("(S T) R")
    assert len(engine.push("R", {"k": [1] * 3})) == 75
    engine.migrate("(R T) S")
    assert len(engine.push("S", {"k": [1] * 2})) == 30


def test_hb16_no_change_while_results_are_outstanding():
    """While a push still owes chunks, neither a plan change nor a push slips in between."""
    trace = Trace("(R S) T")
    engine = trace.engine
    engine.push("S", {"k": [1] * 4})
    engine.push("T", {"k": [1] * 4})
    chunks = engine.push("R", {"k": [1]}, max_rows=5)
    first = next(chunks)
    for slip in (lambda: engine.push("S", {"k": [1]}), lambda: engine.migrate("(S T) R")):
        with pytest.raises(eddy.StateError):
            slip()
    assert len(first) + sum(map(len, chunks)) == 16
    engine.migrate("(S T) R")
    assert len(engine.push("R", {"k": [1]})) == 16


def test_t51_one_pair_reached_through_two_attributes(setup):
    """A pair that two attributes ask for is stored once (H-B10)."""
    streams = {"A": ["x", "y"], "B": ["x", "z"], "C": ["y"], "D": ["z"]}
    where = ["A.x = B.x", "A.y = C.y", "B.z = D.z"]
    trace = Trace("((A C) B) D", streams, where, **setup)
    trace.add("a1(1,5) b1(1,3)")
    trace.migrate("((A B) C) D")
    trace.add("c1(5)")
    trace.migrate("((A B) D) C")
    assert trace.add("d1(3)") == ["a1b1c1d1"]
    assert trace.stair("AB").live == 1


def test_t55_how_many_stairs_a_swap_leaves_incomplete():
    """Swapping the two topmost streams leaves one STAIR incomplete, bottom and top all but one."""
    where = ["A.k = B.k", "B.k = C.k", "C.k = D.k", "D.k = E.k"]
    for plan, expected in [
        ("(((A B) C) E) D", ["ABCE"]),
        ("(((E B) C) D) A", ["BCDE", "BCE", "BE"]),
    ]:
        trace = Trace("(((A B) C) D) E", FIVE, where)
        assert trace.add("a1 b1 c1 d1 e1") == ["a1b1c1d1e1"]
        trace.migrate(plan)
        assert trace.incomplete() == expected


def test_hb5_a_bushy_fill_stays_inside(setup):
    """Filling both sides of a bushy plan gives nothing to the user but the results of the row that asked."""
    where = ["A.k = B.k", "B.k = C.k", "C.k = D.k", "D.k = E.k"]
    trace = Trace("(((E D) C) B) A", FIVE, where, **setup)
    trace.add("a1 a2 b1 c1 d1")
    trace.migrate("((A B) (C D)) E")
    assert trace.add("e1") == ["a1b1c1d1e1", "a2b1c1d1e1"]
    assert trace.add("e2") == ["a1b1c1d1e2", "a2b1c1d1e2"]
    assert trace.add("c2") == ["a1b1c2d1e1", "a1b1c2d1e2", "a2b1c2d1e1", "a2b1c2d1e2"]


@pytest.mark.parametrize(
    "predicate", ["R.v < S.v", "ABS(R.v - S.v) <= 3", "R.v <> S.v", "R.v + 1 <= S.v * 2"]
)
def test_hb11_theta_joins_fill_lazily(predicate, setup):
    """A STAIR between theta joins fills by row, and what is filled is neither lost nor repeated (H-B11)."""
    streams = {"R": ["v"], "S": ["v", "w"], "T": ["w"]}
    trace = Trace("(R S) T", streams, [predicate, "S.w < T.w"], **setup)
    trace.add("s1(4,1) s2(5,2) t1(2) t2(9)")
    trace.migrate("R (S T)")
    assert trace.add("r1(3)") == ["r1s1t1", "r1s1t2", "r1s2t2"]
    assert trace.add("r2(3)") == ["r2s1t1", "r2s1t2", "r2s2t2"]
    trace.migrate("(R T) S")
    assert trace.add("s3(4,5)") == ["r1s3t2", "r2s3t2"]
    trace.migrate("R (S T)")
    assert trace.add("t3(3)") == ["r1s1t3", "r1s2t3", "r2s1t3", "r2s2t3"]


def test_hb13_a_fill_reads_no_dead_rows(setup):
    """Rows that expired between the change and the fill are left out of it (H-B13)."""
    trace = Trace("(R S) T", windows={"S": eddy.Rows(2), "T": eddy.Rows(2)}, **setup)
    trace.add("s1 s2 t1 t2")
    trace.migrate("(S T) R")
    trace.expire("s1")
    trace.expire("t1")
    assert trace.add("r1") == ["r1s2t2"]


def test_keys_of_two_attributes_that_collide_are_told_apart(setup):
    """Pairs of values that share one mixed 64-bit key do not join, whether probed, filled or inserted."""
    streams = {"A": ["x", "y"], "B": ["x", "y"], "C": ["x"]}
    trace = Trace("(A B) C", streams, ["A.x = B.x", "A.y = B.y", "B.x = C.x"], **setup)
    trace.add(f"a1(1,0) a2(0,{MIXING}) b1(0,{MIXING})")
    assert trace.add("c1(0)") == ["a2b1c1"]
    assert trace.add("c2(1)") == []
    trace.migrate("A (B C)")
    assert trace.add("b2(1,0)") == ["a1b2c2"]
    assert trace.add("a3(1,0)") == ["a3b2c2"]
    trace.migrate("(A B) C")
    assert trace.add("c3(1)") == ["a1b2c3", "a3b2c3"]
