"""Jisc(at_once=...): small states are filled at the change, large ones key by key, and results are the same."""

from __future__ import annotations

import numpy as np
import pytest

import eddy
from policies import Auto, Card, Jisc
from stairs.stair import FILL, Stair
from tests.inside import Inside

OLD, NEW = "(A B) C", "A (B C)"


def query(window):
    streams = {name: eddy.Stream({"x": "int64", "y": "int64"}, window=eddy.Rows(window)) for name in "ABC"}
    return eddy.Query(streams, where=["A.x = B.x", "B.y = C.y"])


def batches(count, rows, keys, seed=4):
    random = np.random.default_rng(seed)
    for _ in range(count):
        yield {
            name: {"x": random.integers(0, keys, rows), "y": random.integers(0, keys, rows)} for name in "ABC"
        }


def begun(window, rows, keys, **options):
    """An engine whose windows are full, with a batch of so many rows of each stream."""
    engine = Inside(query(window), OLD, **options)
    for batch in batches(-(-2 * window // rows), rows, keys):
        engine.push_all(batch)
    return engine


@pytest.mark.parametrize(("window", "complete"), [(100, True), (400, True), (800, False), (5_000, False)])
def test_a_state_is_filled_at_the_change_if_its_rows_are_those_of_a_few_batches(window, complete):
    """Two batches of 300 events: a state that 400 rows of its carrying stream make is small, one of 800 is not."""
    engine = begun(window, 100, 5_000, migration=Jisc(at_once=2.0))
    engine.migrate(NEW)
    assert engine.statistics().complete is complete
    assert bool(engine.statistics().keys_filled) is complete


def test_a_state_that_turns_out_large_is_left_half_filled():
    """Filling stops when more composites have come of it than rows would have: the rest are holes, and stay exact."""
    engine, still = (begun(2_000, 1_000, 500, migration=Jisc(at_once=2.0)) for _ in range(2))
    engine.migrate(NEW)
    stair = engine.statistics().stairs[0]
    assert not engine.statistics().complete and stair.live > 0
    for batch in batches(3, 200, 500, seed=9):
        found, wanted = (sorted(map(tuple, e.push_all(batch).rows.tolist())) for e in (engine, still))
        assert found == wanted and found


def test_with_threads_batches_are_counted_as_with_one():
    """Shards are told of plan changes only: what they take for the usual batch is the engine's."""
    for threads in (1, 2):
        engine = begun(5_000, 100, 5_000, migration=Jisc(at_once=2.0), threads=threads)
        engine.migrate(NEW)
        assert not engine.statistics().complete


def test_after_a_restart_batches_are_counted_anew(tmp_path):
    """Events from before the snapshot came in batches that nobody has counted."""
    engine = begun(2_000, 1_000, 5_000, migration=Jisc(at_once=2.0))
    engine.save(tmp_path / "snapshot")
    again = eddy.Eddy.load(tmp_path / "snapshot", migration=Jisc(at_once=2.0))
    again.settle()
    again.push_all(next(batches(1, 20, 5_000)))
    again.migrate(NEW)
    assert not again.statistics().complete


def test_what_lies_above_a_large_state_is_not_filled_either():
    """It would have to make all of it: only the lowest state is begun with."""
    names = "ABCD"
    streams = {name: eddy.Stream({"x": "int64"}, window=eddy.Rows(1_000)) for name in names}
    engine = eddy.Eddy(
        eddy.Query(streams, where=["A.x = B.x", "B.x = C.x", "C.x = D.x"]),
        "((A B) C) D",
        migration=Jisc(at_once=2.0),
    )
    random = np.random.default_rng(3)
    for _ in range(4):
        rows = {name: {"x": random.integers(0, 200, 500)} for name in "BCD"}
        engine.push_all({"A": {"x": random.integers(1_000, 9_000, 500)}, **rows})
    engine.migrate("A (B (C D))")
    filled = {stair.streams: stair.keys_filled for stair in engine.statistics().stairs}
    assert 0 < filled["C", "D"] < 200 and filled["B", "C", "D"] == 0


def test_a_large_window_is_filled_in_portions_of_bounded_size():
    """However many rows there are, a portion asks for no more room than there are holes in it."""
    engine = begun(200_000, 50_000, 1 << 40, migration=Jisc(at_once=1e6))
    asked = []
    stair_settle = Stair.settle
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Stair, "settle", lambda self, budget: asked.append(budget) or stair_settle(self, budget)
        )
        engine.migrate(NEW)
    assert engine.statistics().complete and max(asked) == FILL


def test_a_state_that_is_filled_at_once_has_no_more_slots_than_it_needs():
    """Room is made for as many composites as rows, since nobody knows; now it is known."""
    lazy, engine = (begun(1_000, 1_000, 100_000, migration=Jisc(at_once=once)) for once in (0.0, 2.0))
    for each in (lazy, engine):
        each.migrate(NEW)
    sizes = [next(iter(e.state.executor.stairs.values())).capacity for e in (lazy, engine)]
    assert sizes[0] >= 1_024 > 8 * sizes[1]


def test_what_room_a_lazy_change_made_is_given_back_soon_after_it():
    """At the first review that finds no hole, not after eight of them."""
    engine = begun(1_000, 1_000, 100_000, migration=Jisc(background=10_000))
    engine.migrate(NEW)
    for batch in batches(70, 500, 100_000, seed=2):
        engine.push_all(batch)
    assert engine.statistics().complete
    assert next(iter(engine.state.executor.stairs.values())).capacity < 1_024


def test_set_differences_are_settled_at_once_too():
    """Their holes are base rows of which it is not known what blocks them."""
    streams = {name: eddy.Stream({"k": "int64"}, window=eddy.Rows(50)) for name in "ABC"}
    engine = eddy.Eddy(
        eddy.Query(streams, minus={"B": "A.k = B.k", "C": "A.k = C.k"}),
        "A - B - C",
        migration=Jisc(at_once=2.0),
    )
    random = np.random.default_rng(1)
    for _ in range(4):
        engine.push_all({name: {"k": random.integers(0, 30, 40)} for name in "ABC"})
    engine.migrate("A - C - B")
    assert engine.statistics().complete


def test_an_engine_that_changes_its_plan_by_itself_fills_small_states_at_once():
    """Where no technique is given; one that is told its plan is lazy, and what is given is kept."""
    assert eddy.Eddy(query(10)).migration == Jisc(at_once=2.0)
    assert eddy.Eddy(query(10), OLD, routing=Card()).migration == Jisc(at_once=2.0)
    assert eddy.Eddy(query(10), OLD).migration == Jisc()
    assert eddy.Eddy(query(10), routing=Auto(), migration=Jisc()).migration == Jisc()


@pytest.mark.parametrize("wrong", [-1, "2", True, float("nan")])
def test_what_is_no_number_of_batches_is_refused(wrong):
    with pytest.raises(ValueError, match="number of at least 0"):
        Jisc(at_once=wrong)
