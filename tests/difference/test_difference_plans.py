"""Plans of set differences, and what is refused."""

from __future__ import annotations

import pytest

import eddy
from policies import EagerStairs, Ghm, Gms, Gpt, HybMig, Jisc, MovingState, ParallelTrack
from tests.operator_engines import base_rows, chain, four, key


def test_a_plan_is_the_order_of_subtraction():
    """It is written with parentheses or without, and `Eddy.plan` can be given back."""
    windows = dict.fromkeys("ABCD", eddy.Rows(9))
    engine = chain(windows)
    assert engine.plan == "((A - B) - C) - D"
    engine.migrate(engine.plan)
    engine.migrate("A - B-C   -D")
    assert engine.statistics().migrations == 0
    engine.migrate("A - D - B - C")
    assert engine.plan == "((A - D) - B) - C"
    assert engine.statistics().migrations == 1
    assert chain(windows, plan="((A - C) - D) - B").plan == "((A - C) - D) - B"


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ("A - B", r"'A - B' misses C: subtract from A, in any order: \(A - B\) - C"),
        ("A", "misses B: subtract from A, in any order"),
        ("A - B - C - B", "names a stream twice: subtract from A"),
        ("A - B - C - D", "names D, which the query does not subtract: subtract from A"),
        ("B - A - C", "must begin with A: subtract from A"),
        ("", "subtract from A, in any order"),
        ("((A - B) - C", "cannot read the plan .*: subtract from A"),
        ("A - (B - C)", "cannot read the plan .*: subtract from A"),
        ("A B C", "subtract from A, in any order"),
        ("(A B) C", "subtract from A, in any order"),
        ("A: B C | B: A C | C: A B", "subtract from A, in any order"),
        ("stems", "subtract from A, in any order"),
        ("A - B + C", "subtract from A, in any order"),
        ("A -- B - C", "subtract from A, in any order"),
        ("A - B - C -", "subtract from A, in any order"),
        ("- A - B - C", "subtract from A, in any order"),
        (")A - B( - C", "cannot read the plan .*: subtract from A"),
    ],
)
def test_a_wrong_plan_is_refused(plan, message):
    """The message shows a right one; the engine stays as it was."""
    windows = dict.fromkeys("ABC", eddy.Rows(9))
    engine = chain(windows)
    with pytest.raises(eddy.PlanError, match=message):
        engine.migrate(plan)
    with pytest.raises(eddy.PlanError, match=message):
        chain(windows, plan=plan)
    assert engine.plan == "(A - B) - C" and engine.statistics().migrations == 0


def test_the_plan_of_a_join_has_no_minus():
    """And a join's plan cannot be a difference."""
    streams = {name: eddy.Stream({"k": "int64"}) for name in "AB"}
    with pytest.raises(eddy.PlanError):
        eddy.Eddy(eddy.Query(streams, where=["A.k = B.k"]), plan="A - B")


@pytest.mark.parametrize(
    "technique", [ParallelTrack(), ParallelTrack(order="pt"), HybMig(), HybMig(sharing=False)], ids=repr
)
def test_techniques_that_tell_old_rows_from_new_are_refused(technique):
    """Before anything begins, with the techniques that can be used."""
    message = (
        rf"{type(technique).__name__} cannot migrate a set difference: .* "
        "Use Jisc, MovingState, EagerStairs, Gms, Gpt or Ghm"
    )
    with pytest.raises(eddy.EddyError, match=message):
        chain(dict.fromkeys("AB", eddy.Rows(9)), migration=technique)


def test_refused_when_a_snapshot_is_loaded_too(tmp_path):
    """A technique that cannot work is refused there as well."""
    chain(dict.fromkeys("AB", eddy.Rows(9))).save(tmp_path / "snapshot")
    with pytest.raises(eddy.EddyError, match="HybMig cannot migrate a set difference"):
        eddy.Eddy.load(tmp_path / "snapshot", migration=HybMig())


def test_why_explains_joins_only():
    """A difference says so, and what to read instead."""
    engine = chain(dict.fromkeys("AB", eddy.Rows(9)))
    for ask in (engine.why, engine.why_not):
        with pytest.raises(eddy.EddyError, match="explain joins, not set differences: read the signs"):
            ask(A=0, B=0)


def test_retractions_need_not_be_asked_for():
    """A difference always has signs; asking for them changes nothing."""
    for flag in (False, True):
        engine = chain({"A": eddy.Rows(1), "B": eddy.Rows(1)}, retractions=flag)
        assert base_rows(engine.push("A", key(1, 2))) == [(1, 0), (-1, 0), (1, 1)]


# What each technique does, read from the statistics


def begun(technique):
    """An engine whose order has just changed; of two rows, which B blocks, the new states know nothing."""
    engine = four(technique)
    engine.push("B", key(1))
    engine.push("A", key(1, 1, 2, 3))
    engine.migrate("A - D - B - C")
    return engine


def progress(engine):
    """Holes, holes filled, and the event before which the change was over."""
    now = engine.statistics()
    return now.stairs[0].holes, now.keys_filled, now.history[-1].ended


def test_jisc_judges_a_row_when_it_is_touched():
    """Arrivals that touch no hole leave them; the expiry of b1 fills both, and the change is over."""
    engine = begun(Jisc())
    first = engine.statistics().stairs[0]
    assert (first.name, first.complete, first.fraction) == ("A - D", False, 0.5)
    assert progress(engine) == (2, 0, None)
    engine.push("C", key(7))
    assert progress(engine) == (2, 0, None)
    engine.push("B", key(9))
    assert progress(engine) == (0, 2, 7)


def test_jisc_is_done_when_the_base_has_turned_over():
    """Holes that nobody touched have left with their rows."""
    engine = begun(Jisc())
    engine.push("A", key(*[8] * 9))
    assert progress(engine) == (0, 0, 14)


def test_jisc_fills_in_the_background():
    """One hole a batch."""
    engine = begun(Jisc(background=1))
    assert progress(engine) == (2, 0, None)
    engine.push("C", key(7))
    assert progress(engine) == (1, 1, None)
    engine.push("C", key(7))
    assert progress(engine)[:2] == (0, 2)


@pytest.mark.parametrize(
    ("technique", "filled"), [(MovingState(), 2), (EagerStairs(), 2), (Gms(), 0)], ids=repr
)
def test_eager_techniques_are_done_before_the_next_event(technique, filled):
    """Moving State and eager STAIRs fill every hole; Gms replays the rows instead."""
    engine = begun(technique)
    assert engine.statistics().complete
    assert progress(engine) == (0, filled, 5)


@pytest.mark.parametrize(("technique", "events"), [(Ghm(), 3), (Gpt(), 12)], ids=repr)
def test_a_black_box_takes_over_when_it_is_ready(technique, events):
    """Ghm when its queue is empty, Gpt when all windows have turned over; until then the old states are in use."""
    engine = begun(technique)
    for event in range(events):
        assert engine.statistics().stairs[0].name == "A - B", f"swapped before event {event}"
        engine.push("CBDAAAAAAAAA"[event], key(7))
    assert engine.statistics().stairs[0].name == "A - D"
    assert progress(engine) == (0, 0, 5 + events)
