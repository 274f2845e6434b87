"""Holes in an engine: a plan change leaves them, and probes, budgets and windows fill them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

import eddy
from policies import Jisc
from tests.checks import check
from tests.feeds import batch, feed, query, rows
from tests.inside import Inside
from tests.strategies import small_cases


def test_a_change_leaves_holes_and_a_probe_fills_them():
    """Kept STAIRs stay complete; a new one fills the keys that are asked for, and what it builds is counted."""
    engine = eddy.Eddy(query("ABCD"), plan="((A B) C) D")
    for name in "ABC":
        engine.push(name, batch(range(50)))
    engine.migrate("((A B) D) C")
    told = {stair.name: stair for stair in engine.statistics().stairs}
    assert told["A B by k"].complete and told["A B by k"].live == 50
    assert not told["A B D by k"].complete
    engine.migrate("((B C) A) D")
    told = {stair.name: stair for stair in engine.statistics().stairs}
    assert (told["B C by k"].live, told["B C by k"].fraction) == (0, 0.0)
    assert rows(engine.push("D", batch([7]))) == [(7, 7, 7, 0)]
    told = {stair.name: stair for stair in engine.statistics().stairs}
    assert (told["B C by k"].keys_filled, told["A B C by k"].keys_filled) == (1, 1)
    assert (told["B C by k"].live, told["A B C by k"].live) == (1, 1)
    statistics = engine.statistics()
    assert (statistics.migrations, statistics.keys_filled, statistics.composites_filled) == (2, 2, 2)
    assert not statistics.complete


@pytest.mark.parametrize("plan", ["(B C) A", "A (C B)"])
@pytest.mark.parametrize("background", [1, 4, 1000])
def test_background_filling_completes_with_its_budget(background, plan):
    """Up to so many keys a batch are filled, newest rows first, until no STAIR has a hole."""
    engine = Inside(query("ABC"), plan="(A B) C", migration=Jisc(background=background))
    for name in "BC":
        engine.push(name, batch(range(20)))
    engine.migrate(plan)
    filled, pushes = [0], 0
    while not engine.statistics().complete:
        engine.push("A", batch([999]))
        filled.append(engine.statistics().keys_filled)
        pushes += 1
        assert filled[-1] - filled[-2] <= background
        if 0 < filled[-1] < 20:
            (stair,) = engine.state.executor.stairs.values()
            newest = range(20 - filled[-1], 20)
            assert stair.present(np.arange(20)).tolist() == [key in newest for key in range(20)]
        assert pushes < 30
    assert filled[-1] == 20 and pushes >= 20 // background
    assert engine.statistics().stairs[0].live == 20
    assert Counter(rows(engine.push("A", batch([3, 19])))) == {(pushes, 3, 3): 1, (pushes + 1, 19, 19): 1}


def test_without_a_budget_the_windows_complete_what_nobody_asks_for():
    """Under plain JISC a turned-over window leaves no hole, though no key was ever probed."""
    engine = eddy.Eddy(query("ABC", eddy.Rows(20)), plan="(A B) C")
    for name in "BC":
        engine.push(name, batch(range(20)))
    engine.migrate("(B C) A")
    assert not engine.statistics().complete
    engine.push("B", batch([500] * 20))
    engine.push("C", batch([600] * 20))
    engine.push("A", batch([999]))
    assert engine.statistics().complete and engine.statistics().composites_filled == 0


def test_what_a_hole_missed_is_there_when_its_old_rows_have_gone():
    """Completion by expiry loses no result of rows that came while their key was a hole."""
    for probed in (False, True):
        engine = eddy.Eddy(query("ABC", eddy.Rows(4)), plan="(A B) C")
        engine.push("B", batch([7, 8, 1, 1]))
        engine.push("C", batch([8, 7, 2, 2]))
        engine.migrate("(B C) A")
        engine.push("C", batch([7]))
        engine.push("B", batch([7]))
        if probed:
            assert rows(engine.push("A", batch([8]))) == []
        engine.push("B", batch([3, 3, 3]))
        engine.push("C", batch([4]))
        assert engine.statistics().complete
        assert sorted(rows(engine.push("A", batch([7])))) == [(int(probed), 4, 4)]


@given(small_cases(demotes=95, migrations=15, limit=6_000))
@settings(max_examples=40)
def test_keys_may_be_demoted_at_any_moment(case):
    """With half of all keys made holes before nearly every step, results are still the oracle's."""
    check(case)


def test_demoting_everything_leaves_the_answer():
    """A STAIR without a single entry fills on demand: exactly the same results, from an empty STAIR."""
    engine, twin = (Inside(query("ABC", eddy.Rows(30)), plan="(A B) C") for _ in range(2))
    for name, rows_in in feed("ABC", 60, 10, 8, seed=3):
        for stair in engine.state.executor.stairs.values():
            stair.demote(np.arange(8))
        assert engine.statistics().stairs[0].live == 0
        assert engine.statistics().complete == (engine.statistics().streams[0].live == 0)
        assert Counter(rows(engine.push(name, rows_in))) == Counter(rows(twin.push(name, rows_in)))
    assert engine.statistics().results == twin.statistics().results > 1000
    assert engine.statistics().keys_filled > 50
