"""Parallel Track: both plans run until the rows from before the change have left (T17 to T21 and T26)."""

from __future__ import annotations

import itertools

import pytest

import eddy
from policies import ParallelTrack
from tests.trace import Trace

OLD, NEW = "((A B) C) D", "A (B (C D))"
ORDERS = pytest.mark.parametrize("order", ["max", "pt"])


def cases(rows):
    """The 16 cases as words: an old or a new row of each stream."""
    return ["".join(word) for word in itertools.product(*((f"{name}1", f"{name}2") for name in rows))]


def results(trace):
    """How many results each track has made since the change."""
    return [track.results for track in trace.last.tracks]


@ORDERS
def test_t17_sixteen_cases(order):
    """Each combination of old and new rows comes once: with an old row from the old plan, else from the new one."""
    trace = Trace(OLD, migration=ParallelTrack(order))
    assert trace.add("a1 b1 c1 d1") == ["a1b1c1d1"]
    trace.migrate(NEW)
    found = []
    for row, made in zip("a2 b2 c2 d2".split(), [[1, 0], [3, 0], [7, 0], [14, 1]], strict=True):
        found += trace.push(row)
        assert results(trace) == made
    held = ["a2b2c2d2"] if order == "pt" else []
    assert sorted(found + held) == cases("abcd")[1:]
    assert trace.last.results_held == len(held)
    assert trace.read(trace.engine.settle()) == held
    assert trace.engine.statistics().results == 16


@ORDERS
def test_t18_only_the_root_tells_old_from_new(order):
    """A composite of new rows may still need an old one: it is not dropped below the root."""
    trace = Trace(OLD, migration=ParallelTrack(order))
    trace.add("c1")
    trace.migrate(NEW)
    assert trace.add("a1 b1 d1") == ["a1b1c1d1"]
    assert results(trace) == [1, 0]


@ORDERS
def test_t19_the_clock_ends_it_where_nothing_matches(order):
    """Old rows leave by the clock, whatever joins: it ends one window after the change, not later (H-D2)."""
    trace = Trace(OLD, width=10, migration=ParallelTrack(order, patience=10**9))
    trace.add("a1(1)@0 b1(2)@0 c1(3)@5 d1(3)@5")
    trace.migrate(NEW)
    trace.add("d2(3)@15")
    assert trace.last.ended is None
    trace.add("d3(3)@16")
    assert trace.last.ended == 6
    assert trace.add("c2(3)@17 b2(3)@17 a2(3)@18") == ["a2b2c2d2", "a2b2c2d3"]


def test_t20_overlapping_changes():
    """Of three plans each makes the results whose oldest row came in its time."""
    trace = Trace("(A B) C", migration=ParallelTrack())
    assert trace.add("a1 b1 c1") == ["a1b1c1"]
    trace.migrate("A (B C)")
    for row in "a2 b2 c2".split():
        trace.push(row)
    assert results(trace) == [6, 1]
    trace.migrate("(A C) B")
    found = {row: (trace.push(row), results(trace)) for row in "a3 b3 c3".split()}
    assert found["a3"][0] == ["a3b1c1", "a3b1c2", "a3b2c1", "a3b2c2"]
    assert [made for _, made in found.values()] == [[9, 2, 0], [13, 4, 0], [18, 7, 1]]
    assert trace.engine.statistics().results == 27


def test_t20_each_result_has_one_plan():
    """Counted over every feed of three rows before, between and after two changes."""
    for order in itertools.permutations("abc"):
        trace = Trace("(A B) C", migration=ParallelTrack())
        oldest = [0, 0, 0]
        for time, plan in enumerate([None, "A (B C)", "(A C) B"]):
            if plan:
                trace.migrate(plan)
            for name in order:
                for word in trace.push(f"{name}{time}"):
                    oldest[min(int(digit) for digit in word if digit.isdigit())] += 1
        made = results(trace)
        assert oldest == [19, 7, 1] and made[1:] == oldest[1:] and made[0] == oldest[0] - 1


@ORDERS
def test_t21_a_silent_stream_does_not_keep_it_for_ever(order):
    """Where D brings no more rows the old plan could go on for ever; its patience is a number of windows (H-C5)."""
    windows = dict.fromkeys("ABCD", eddy.Rows(2))
    trace = Trace(OLD, windows=windows, migration=ParallelTrack(order, patience=3))
    trace.add("a1(7) a2(8) b1(8) b2(9) c1(8) c2(9) d1(5)")
    trace.migrate(NEW)
    held = []
    for number in range(21):
        assert trace.last.ended is None
        held += trace.push(f"{'abc'[number % 3]}{number + 3}(5)")
    assert trace.last.ended is None
    held += trace.push("a30(5)")
    assert trace.last.ended == 7 + 22
    assert len(trace.last.tracks) == 2 and trace.engine.statistics().complete
    assert len(held) == trace.engine.statistics().results
    assert trace.push("d2(5)") == sorted(
        f"a{a}b{b}c{c}d2" for a in (21, 30) for b in (19, 22) for c in (20, 23)
    )


@ORDERS
def test_it_ends_when_every_window_has_turned_over(order):
    """The old plan goes with the last row from before: after one window, not two (H-D3)."""
    trace = Trace(OLD, windows=dict.fromkeys("ABCD", eddy.Rows(3)), migration=ParallelTrack(order))
    trace.add("a1(1) b1(2) c1(3) d1(4)")
    trace.migrate(NEW)
    for number in range(11):
        trace.push(f"{'abcd'[number % 4]}{number + 2}(5)")
    assert trace.last.ended is None
    trace.push("d13(5)")
    assert trace.last.ended == 16
    assert [stair.streams for stair in trace.engine.statistics().stairs] == [("C", "D"), ("B", "C", "D")]


def test_t26_two_orders():
    """t has the events 1 and 4, t' the events 2 and 3: by latest event t' is first, in the paper's order t is."""
    for order, emitted in [("max", [["a2b1"], ["a1b2"], []]), ("pt", [[], ["a1b2"], ["a2b1"]])]:
        trace = Trace("A B", migration=ParallelTrack(order))
        trace.add("a1(1)")
        trace.migrate("B A")
        trace.add("b1(2)")
        assert [trace.push("a2(2)"), trace.push("b2(1)"), trace.read(trace.engine.settle())] == emitted


def test_new_rows_are_processed_twice_and_nothing_is_emitted_twice():
    """Every arrival goes through both plans while they run side by side, and through one after that."""
    trace = Trace("(A B) C", windows=dict.fromkeys("ABC", eddy.Rows(4)), migration=ParallelTrack())
    found = [word for row in "a1 b1 c1 a2 b2 c2".split() for word in trace.push(row)]
    trace.migrate("A (B C)")
    before = len(found)
    for number in range(12):
        found += trace.push(f"{'abc'[number % 3]}{number + 3}")
        seen = {name: (number + 3 - place) // 3 for place, name in enumerate("ABC")}
        assert [track.rows for track in trace.last.tracks] == [seen, seen]
    assert trace.last.ended == 6 + 12
    assert sum(results(trace)) == len(found) - before and all(results(trace))
    for number in range(12, 24):
        found += trace.push(f"{'abc'[number % 3]}{number + 3}")
    assert len(found) == len(set(found)) == trace.engine.statistics().results
    assert [track.rows for track in trace.last.tracks] == [dict.fromkeys("ABC", 4)] * 2
    assert [stair.streams for stair in trace.engine.statistics().stairs] == [("B", "C")]


def test_results_wait_in_the_papers_order_and_come_in_one_piece():
    """They are released by the push after which the old plan has gone, behind what that push itself brings."""
    windows = dict.fromkeys("AB", eddy.Rows(2))
    trace = Trace("A B", windows=windows, migration=ParallelTrack("pt"))
    trace.add("a1(1) b1(2)")
    trace.migrate("B A")
    assert trace.add("a2(5) b2(5)") == []
    assert trace.last.results_held == 1 and trace.engine.statistics().results == 0
    with pytest.raises(eddy.StateError, match="settle"):
        trace.engine.save("nowhere")
    assert trace.emitted("a3(2)") == ["a3b1"]
    assert trace.emitted("b3(5)") == ["a2b2", "a2b3"]
    assert (trace.last.ended, trace.last.results_held) == (6, 2)
    assert trace.engine.statistics().results == 3
    assert trace.emitted("a4(5)") == ["a4b3", "a4b2"]


def overlapping():
    """Three plans, the second and the third with a result each that is held; the third's came first."""
    trace = Trace(
        "A B", windows=dict.fromkeys("AB", eddy.Rows(3)), migration=ParallelTrack("pt", patience=10**9)
    )
    trace.add("a1(1)")
    trace.migrate("B A")
    trace.add("a2(2)")
    trace.migrate("A B")
    assert trace.add("a3(3) b1(3) b2(2)") == []
    return trace


def test_the_older_of_two_plans_is_released_first():
    """Whichever was the first to hold something."""
    trace = overlapping()
    assert trace.read(trace.engine.settle()) == ["a2b2", "a3b1"]


def test_what_a_plan_holds_is_released_when_the_plan_before_it_has_gone():
    """The third plan's results wait for the second plan alone, and the second's for the first."""
    trace = overlapping()
    assert trace.emitted("a4(9)") == ["a2b2"]
    assert trace.emitted("a5(9)") == ["a3b1"]


def test_held_results_come_in_chunks_too():
    """With `max_rows` what is released is handed out in parts of that size."""
    engine = Trace("A B", windows=dict.fromkeys("AB", eddy.Rows(4)), migration=ParallelTrack("pt")).engine
    engine.push("A", {"k": [9] * 4})
    engine.push("B", {"k": [8] * 4})
    engine.migrate("B A")
    engine.push("A", {"k": [1] * 4})
    parts = [part.rows.tolist() for part in engine.push("B", {"k": [1] * 4}, max_rows=5)]
    assert [len(part) for part in parts] == [5, 5, 5, 1]
    assert sorted(map(tuple, itertools.chain(*parts))) == [(a, b) for a in range(4, 8) for b in range(4, 8)]


def test_held_results_keep_their_values():
    """What waits is whole: its rows may leave the windows and its strings the pool before it is released."""
    streams = {name: eddy.Stream({"s": "string"}, window=eddy.Rows(50)) for name in ("A", "B", "C")}
    query = eddy.Query(streams, where=["A.s = B.s", "B.s = C.s"])
    engine = eddy.Eddy(query, plan="(A B) C", migration=ParallelTrack("pt", patience=10**9))
    engine.push("C", {"s": ["never"]})
    engine.migrate("A (B C)")
    for number in range(300):
        words = [f"word {number} {place}" for place in range(50)]
        found = [engine.push("A", {"s": words}), engine.push("B", {"s": words})]
        if number < 49:  # one row more and C has turned over
            found.append(engine.push("C", {"s": words[:1]}))
        assert sum(map(len, found)) == 0
    assert engine.statistics().history[-1].results_held == 49
    held = engine.push("C", {"s": ["word 299 7"]}).to_pydict()
    assert held["A.s"] == held["B.s"] == held["C.s"]
    assert held["A.s"] == [f"word {number} 0" for number in range(49)] + ["word 299 7"]


def test_settle_ends_it_and_returns_what_is_held(tmp_path):
    """After it there is one plan, with all its states, and a snapshot can be written; twice is once."""
    trace = Trace("(A B) C", migration=ParallelTrack("pt"))
    trace.add("a1 b1")
    trace.migrate("A (B C)")
    assert [trace.push(row) for row in "c1 a2 b2".split()] == [["a1b1c1"], ["a2b1c1"], ["a1b2c1"]]
    assert trace.push("c2") == ["a1b1c2", "a1b2c2", "a2b1c2"]
    assert sorted(trace.read(trace.engine.settle())) == ["a2b2c1", "a2b2c2"]
    assert trace.last.ended == 6 and trace.engine.statistics().complete
    assert len(trace.engine.settle()) == 0
    trace.engine.save(tmp_path / "snapshot")
    assert [stair.streams for stair in trace.engine.statistics().stairs] == [("B", "C")]
    assert trace.push("a3") == ["a3b1c1", "a3b1c2", "a3b2c1", "a3b2c2"]


def test_what_it_refuses():
    """An order that is none, a patience that is none."""
    with pytest.raises(ValueError, match="order"):
        ParallelTrack("min")
    for patience in (0, -1, "long"):
        with pytest.raises(ValueError, match="patience"):
            ParallelTrack(patience=patience)
