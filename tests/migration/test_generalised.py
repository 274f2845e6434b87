"""The generalised techniques, to which a plan is a black box: Gms, Gpt and Ghm (T33 and T35)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import eddy
from policies import Ghm, Gms, Gpt, Jisc
from tests.trace import Trace

OLD, NEW = "((A B) C) D", "A (B (C D))"
BOXES = pytest.mark.parametrize("migration", [Gms(), Gpt(), Ghm()], ids=repr)


def stairs(trace):
    """The states of the plan that makes the results."""
    return ["".join(stair.streams) for stair in trace.engine.statistics().stairs]


def rows(result):
    """Row numbers as tuples, sorted."""
    return sorted(map(tuple, result.rows.tolist()))


def twins(migration, window):
    """An engine under the technique and one that keeps the old plan."""
    windows = dict.fromkeys("ABCD", window)
    return [Trace(OLD, windows=windows, migration=m) for m in (migration, Jisc())]


@BOXES
def test_t33_the_old_plans_output_until_the_swap_and_the_new_ones_after(migration):
    """Row by row the results are those of an engine that never changed, at the switch too."""
    changing, staying = twins(migration, eddy.Rows(5))
    swapped = []
    for number in range(80):
        row = f"{'abcd'[number % 4]}{number}({number % 3 % 2})"
        if number == 30:
            changing.migrate(NEW)
        emitted, wanted = changing.emitted(row), staying.emitted(row)
        assert sorted(emitted) == sorted(wanted)
        if stairs(changing) == ["CD", "BCD"]:
            swapped.append(number)
        else:
            assert stairs(changing) == ["AB", "ABC"]
    assert changing.last.ended == (30 if isinstance(migration, Gms) else swapped[0] + 1)


def test_gms_replays_before_the_next_event():
    """The pause is the replay: when `migrate` returns the new plan has all its states, and nothing was emitted."""
    trace = Trace(OLD, windows=dict.fromkeys("ABCD", eddy.Rows(6)), migration=Gms())
    for name in "ABCD":
        trace.engine.push(name, {"k": np.arange(10) % 4})
    before = trace.engine.statistics().results
    trace.migrate(NEW)
    statistics = trace.engine.statistics()
    assert statistics.complete and stairs(trace) == ["CD", "BCD"]
    assert statistics.results == before and (trace.last.begun, trace.last.ended) == (40, 40)
    assert [stair.live for stair in statistics.stairs] == [10, 18]
    assert len(trace.engine.push("A", {"k": np.arange(4)})) == 18


def test_gpt_swaps_when_all_windows_have_turned_over():
    """The new plan starts empty and is not needed until the last row from before has left."""
    trace = Trace(OLD, windows=dict.fromkeys("ABCD", eddy.Rows(3)), migration=Gpt())
    trace.add("a1(1) b1(2) c1(3) d1(4)")
    trace.migrate(NEW)
    for number in range(11):
        trace.push(f"{'abcd'[number % 4]}{number}(9)")
        assert trace.last.ended is None and stairs(trace) == ["AB", "ABC"]
        assert trace.last.tracks[0].plan == NEW and trace.last.tracks[0].entries == 0
    trace.push("d11(9)")
    assert (trace.last.ended, stairs(trace)) == (16, ["CD", "BCD"])
    assert [stair.live for stair in trace.engine.statistics().stairs] == [9, 27]
    assert trace.last.keys_filled == 0


@pytest.mark.parametrize(("migration", "old"), [(Gpt(), False), (Ghm(1000.0), True)], ids=repr)
def test_no_old_row_comes_to_the_new_plan_of_gpt(migration, old):
    """What a row does there, beside what it does in the old plan, is nothing; under `Ghm` the old rows are there."""
    windows = dict.fromkeys("ABCD", eddy.Rows(6))
    trace = Trace(OLD, windows=windows, migration=migration, joins="nested")
    for name in "ABCD":
        trace.engine.push(name, {"k": np.arange(6) % 2})
    before = trace.engine.statistics().evaluations
    trace.migrate(NEW)
    trace.engine.push("A", {"k": [0]})
    beside = trace.last.evaluations - (trace.engine.statistics().evaluations - before)
    assert (beside > 0) is old


@pytest.mark.parametrize("patience", [0.5, 2.0])
def test_t21_gpt_with_a_silent_stream(patience):
    """Where D brings no more rows, the live rows are replayed after some windows (H-C5)."""
    trace = Trace(OLD, windows=dict.fromkeys("ABCD", eddy.Rows(3)), migration=Gpt(patience))
    trace.add("a1(1) b1(2) c1(3) d1(9)")
    trace.migrate(NEW)
    for number in range(10, 10 + int(4 * patience)):
        trace.push(f"{'abc'[number % 3]}{number}(9)")
        assert trace.last.ended is None
    trace.push("a30(9)")
    assert (trace.last.ended, stairs(trace)) == (5 + 4 * patience, ["CD", "BCD"])
    live = [[label for label in trace.labels[name][-3:] if int(label[1:]) > 9] for name in "ABC"]
    assert trace.push("d2(9)") == sorted("".join(word) + "d2" for word in itertools.product(*live))


@pytest.mark.parametrize("share", [1.5, 2.0, 8.0])
def test_ghm_works_off_its_queue_at_low_priority(share):
    """The queue begins with the live rows; with each batch it gets its share, and the swap is when it is empty."""
    trace = Trace(OLD, windows=dict.fromkeys("ABCD", eddy.Rows(30)), migration=Ghm(share))
    for row in range(30):
        for name in "ABCD":
            trace.engine.push(name, {"k": [row % 7]})
    trace.migrate(NEW)
    behind = [trace.last.tracks[0].entries]
    assert behind == [120]
    while trace.last.ended is None and len(behind) < 300:
        assert stairs(trace) == ["AB", "ABC"]
        trace.engine.push("ABCD"[len(behind) % 4], {"k": [3]})
        behind.append(trace.last.tracks[0].entries)
    assert stairs(trace) == ["CD", "BCD"] and trace.engine.statistics().complete
    *steady, _ = behind  # the last look is before the queue is emptied
    assert steady == sorted(steady, reverse=True)
    assert trace.last.ended - trace.last.begun <= 120 / (share - 1) + 2


@BOXES
def test_a_change_during_a_change_starts_anew(migration):
    """Only the last plan asked for takes over; nothing is lost of what came since the first change."""
    changing, staying = twins(migration, eddy.Rows(6))
    plans = {20: NEW, 24: "(A B) (C D)", 25: OLD, 27: "(A C) (B D)"}
    for number in range(90):
        if number in plans:
            changing.migrate(plans[number])
        row = f"{'abcd'[number * 7 % 4]}{number}({number % 5 % 2})"
        assert changing.push(row) == staying.push(row)
    assert changing.last.ended is not None
    assert stairs(changing) == ["AC", "BD"]
    history = changing.engine.statistics().history
    assert [change.plan for change in history] == list(plans.values())
    assert all(change.ended is not None for change in history)


@BOXES
def test_results_read_after_the_swap(migration):
    """A result that was handed out before the black box took over still gives its rows and values."""
    windows = dict.fromkeys("AB", eddy.Rows(2))
    trace = Trace("A B", streams={"A": ["k", "v"], "B": ["k", "v"]}, windows=windows, migration=migration)
    engine = trace.engine
    engine.push("A", {"k": [1, 2], "v": [10, 20]})
    held = engine.push("B", {"k": [2, 1], "v": [30, 40]})
    engine.migrate("B A")
    for number in range(3):
        engine.push("AB"[number % 2], {"k": [7, 8], "v": [0, 0]})
    assert trace.last.ended is not None
    assert held.to_pydict() == {"A.k": [2, 1], "A.v": [20, 10], "B.k": [2, 1], "B.v": [30, 40]}


@BOXES
def test_rows_that_are_not_kept_are_replayed_as_such(migration):
    """NULL keys and filtered rows have their place in a window, and join nothing, in the new plan too."""
    streams = {
        name: eddy.Stream({"s": "string", "v": "int64"}, window=eddy.Rows(4)) for name in ("A", "B", "C")
    }
    query = eddy.Query(streams, where=["A.s = B.s", "B.s = C.s", "A.v > 0", "B.v < C.v"])
    engine = eddy.Eddy(query, plan="(A B) C", migration=migration)
    engine.push("A", {"s": ["x", None, "x", "y"], "v": [1, 1, 0, 1]})
    engine.push("B", {"s": ["x", "x", None, "y"], "v": [1, 5, 1, 1]})
    engine.migrate("A (B C)")
    assert rows(engine.push("C", {"s": ["x", None, "y"], "v": [2, 9, 2]})) == [(0, 0, 0), (3, 3, 2)]
    assert rows(engine.push("C", {"s": ["x"], "v": [9]})) == [(0, 0, 3), (0, 1, 3)]
    assert rows(engine.push("A", {"s": ["x"], "v": [1]})) == [(4, 0, 0), (4, 0, 3), (4, 1, 3)]
    assert rows(engine.push("C", {"s": ["x", "y"], "v": [9, 9]})) == [(3, 3, 5), (4, 0, 4), (4, 1, 4)]


@BOXES
def test_t35_a_count_above_the_join(migration):
    """A result lives as long as its rows: ab from time 9 is no longer counted at 12, so one window suffices (H-C7).

    The count is of live results, not of results that were made within some time.
    """
    window = eddy.Range(10)
    streams = {name: eddy.Stream({"ts": "int64", "k": "int64"}, window=window) for name in ("A", "B")}
    query = eddy.Query(streams, where=["A.k = B.k"], aggregates={"n": "COUNT(*)"})
    engine = eddy.Eddy(query, plan="A B", migration=migration)

    def count(stream, time, key):
        """The changes of the count, as (value, sign)."""
        change = engine.push(stream, {"ts": [time], "k": [key]}).to_pydict(sign=True)
        return list(zip(change["n"], change["sign"], strict=True))

    assert count("A", 0, 1) == []
    assert count("B", 9, 1) == [(0, -1), (1, 1)]
    assert count("A", 10, 7) == []
    engine.migrate("B A")
    assert count("B", 11, 7) == []  # a@0 leaves and a@10 finds a partner: still one
    assert count("A", 13, 1) == [(1, -1), (2, 1)]
    assert count("A", 22, 5) == [(2, -1), (0, 1)]
    assert engine.statistics().history[-1].ended is not None


def test_what_they_refuse():
    """A share with which the new plan would never catch up."""
    for share in (1, 0.5, -2, "much"):
        with pytest.raises(ValueError, match="share"):
            Ghm(share)
