"""The figures of `Cheapest`: sides take turns fairly, and predictions stand beside what was measured."""

from __future__ import annotations

import pytest

import eddy
from benchmarks.hybmig_workloads import Setting
from benchmarks.migration_workloads import Even, right_deep
from benchmarks.papers import jisc_runs
from benchmarks.papers.cheapest import FIGURES
from benchmarks.papers.cheapest_runs import (
    AGAIN,
    CHEAPEST,
    RIVALS,
    SIDES,
    arena_of,
    clique,
    fastest,
    frequent,
    reorder,
    tell,
    transitions,
)
from benchmarks.papers.figure import Profile
from benchmarks.papers.jisc_runs import Sizes

QUICK = Profile()


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    small = Sizes(window=40, batch=16, times=1, rounds=2, frequent=4, windows=1.0)
    monkeypatch.setitem(jisc_runs.SIZES, "quick", small)


def test_sides_take_turns_in_orders_that_differ():
    """So nobody is always the one after the slowest; the same turn has the same order."""
    work = Even(3, 40, 40)
    arena = arena_of(work, work.query(), 20, twins=True)
    orders = []
    for turn in (0, 1, 2, 3, 0):
        reorder(arena, turn)
        orders.append(tuple(arena.contenders))
        assert sorted(orders[-1]) == sorted([*SIDES, *(name + AGAIN for name in SIDES)])
    assert len(set(orders)) == 4 and orders[0] == orders[-1]


def test_of_twins_the_faster_one_counts():
    taken = [dict.fromkeys(SIDES, 2.0) | {name + AGAIN: 1.0 for name in SIDES} | {"Jisc": 0.5}] * 3
    assert fastest(taken) == [{name: 0.5 if name == "Jisc" else 1.0 for name in SIDES}] * 3
    alone = [dict.fromkeys(SIDES, 1.0)]
    assert fastest(alone) == alone


def measured(**seconds):
    """Rows of a change in which the engines took these seconds, MovingState 1."""
    work = Even(3, 40, 40)
    engine = eddy.Eddy(work.query(), migration=SIDES[CHEAPEST])
    for batch in work.batches(work.chunk(200), 20):
        engine.push_all(batch)
    engine.migrate("A (B C)")
    change = engine.statistics().history[-1]
    assert set(change.predicted) == set(RIVALS)
    return list(tell("JISC 7", "here", [{**dict.fromkeys(SIDES, 1.0), **seconds}], [change]))


def test_claims_hold_or_fail():
    """It is near the best one, no other is as near, and what was predicted has come."""
    good = measured(Jisc=1.4, ParallelTrack=1.3, HybMig=1.4, Cheapest=1.05)
    bad = measured(Jisc=9.0, ParallelTrack=8.0, HybMig=0.5, Cheapest=1.05)
    best, alone, told = FIGURES[0].claims
    assert best.judge(good).agrees and not best.judge(bad).agrees
    worse = [{**row, "setting": "there", "times the best": row["times the best"] * 2} for row in good]
    elsewhere = [
        {
            **row,
            "setting": "elsewhere",
            "times the best": 1.3 if row["technique"] == "MovingState" else 1.0,
            "best": row["technique"] == "HybMig",
        }
        for row in good
    ]
    assert alone.judge([*good, *elsewhere]).agrees and not alone.judge([*worse, *elsewhere]).agrees
    assert not alone.judge(good).agrees
    exact = [{**row, "predicted, ms": row["ms"] if row["technique"] in RIVALS else None} for row in good]
    assert told.judge(exact).agrees and not told.judge(bad).agrees


@pytest.mark.parametrize(
    "piece",
    [
        lambda: transitions(QUICK, 5, "even"),
        lambda: frequent(QUICK, "worst", 0.5),
        lambda: clique(QUICK, "HybMig 17", Setting(w=1, n=4, seconds=10), right_deep),
    ],
    ids=["transitions", "frequent", "clique"],
)
def test_predictions_stand_beside_what_was_measured(piece):
    """For every technique, and how often it was chosen; the best is 1 times the best."""
    rows = list(piece())
    assert [row["technique"] for row in rows] == [*SIDES] * (len(rows) // len(SIDES))
    told = [row for row in rows if row["technique"] in ("MovingState", "Jisc")]
    assert all(row["predicted, ms"] is not None for row in told)
    assert [row["times the best"] for row in rows if row["best"]] == [1.0] * (len(rows) // len(SIDES))
    assert all(row["chosen"] is None for row in rows if row["technique"] == CHEAPEST)


def test_all_settings_of_both_papers_are_there():
    first, second, third = FIGURES
    assert len(first.pieces) == 8 and len(second.pieces) == 10
    for wanted in ("w = 5, rate 1.0", "rate 1.6", "7 streams, bushy", "7 streams, last two first", "nested"):
        assert any(wanted in piece for piece in third.pieces)
