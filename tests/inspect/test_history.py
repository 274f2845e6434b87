"""How far back questions reach: bounded whatever comes, and honest about what is out of reach."""

from __future__ import annotations

import math
from unittest import mock

import numpy as np
import pytest

import eddy
from eddy.inspect import history
from tests.inside import Inside
from tests.witness import example, query, rows, short_history


@pytest.fixture
def engine():
    """The engine of the example."""
    return example()


def test_long_ago_is_said_to_be_long_ago():
    """Rows that are live since before the history have met; whether others did is too long ago to say."""
    with short_history(8):
        engine = eddy.Eddy(query(A=eddy.Rows(3), B=eddy.Rows(100)))
        engine.push_all({"A": rows((0, 1, 1.0)), "B": rows((0, 1, 11.0)), "C": rows((0, 1, 2.0))})
        for _ in range(10):
            engine.push("B", rows((0, 1, 11.0)))
        answer = engine.why(A=0, B=0, C=0)
        assert str(answer) == "A 0, B 0 and C 0 gave a result before event 7, where the history begins."
        assert (answer.event, answer.plan) == (None, None)
        for _ in range(20):
            engine.push("A", rows((0, 1, 1.0)))
        answer = engine.why(A=0, B=0, C=0)
        assert (answer.verdict, answer.streams) == ("forgotten", ("A",))
        assert "Whether A 0 had left its window when the last of the rows arrived is too long ago" in str(
            answer
        )
        assert (
            "A 0 left its window, Rows(3), before event 15, where the history begins"
            in str(engine.why_not(A=0, B=5, C=0))
            or engine.why_not(A=0, B=5, C=0).verdict == "forgotten"
        )


def test_the_history_is_bounded_whatever_comes():
    """Large batches, small ones, batches larger than all of it, and plan changes without end."""
    with mock.patch.object(history, "LARGE", 8), mock.patch.object(history, "PLANS", 10):
        past = history.History(64)
        streams = {name: {"x": "int64"} for name in "AB"}
        engine = Inside(eddy.Query(streams, where="A.x = B.x"), batch_size=100)
        engine.state.history = past
        for turn, size in enumerate([1, 2, 1, 7, 8, 30, 90, 3, 100, 1] * 20):
            engine.push("AB"[turn % 2], {"x": np.arange(size)})
            engine.migrate(["A B", "B A"][turn % 2])
            held = [stretch.size for stretch in past._stretches]
            assert past.end == engine.statistics().events
            assert sum(held) <= 64 and len(held) <= 1 + 64 // 8 * 2
            assert len(past._plans) <= 10


def test_arrays_of_a_large_push_are_not_held_by_its_last_batches():
    """A push that is cut into batches must not live on as a whole."""
    engine = Inside(
        eddy.Query({"A": {"x": "float64"}, "B": {"x": "float64"}}, where="A.x = B.x"), batch_size=300
    )
    engine.push_all({name: {"x": [*range(1000), math.nan]} for name in "AB"})
    for stretch in engine.state.history._stretches:
        assert stretch.streams.base is None
        assert all(flags.base is None for flags in (stretch.by_row or {}).values())
    assert engine.why(A=500, B=500).event == 1001
    assert engine.why_not(A=1000, B=500).verdict == "filtered"
    assert engine.why_not(A=999, B=500).verdict == "predicate"


def test_a_refused_batch_is_no_event(engine):
    """Late rows get no numbers, so nothing that is said about others changes."""
    before = engine.why_not(A=0, B=0, C=1)
    with pytest.raises(eddy.BatchError):
        engine.push("A", rows((0, 1, 3.0)))
    assert engine.why_not(A=0, B=0, C=1) == before
    assert engine.why_not(A=2, B=0, C=0).verdict == "not arrived"


def test_questions_while_results_are_drawn():
    """What has been processed has arrived, drawn or not."""
    engine = eddy.Eddy(
        eddy.Query({"A": {"x": "int64"}, "B": {"x": "int64"}}, where="A.x = B.x"), batch_size=2
    )
    engine.push("A", {"x": [1, 1, 1]})
    parts = engine.push("B", {"x": [1, 1, 1]}, max_rows=1)
    next(parts)
    assert engine.why(A=0, B=1).verdict == "result"
    assert engine.why(A=0, B=2).verdict == "not arrived"
    list(parts)
    assert engine.why(A=0, B=2).event == 5


def test_after_loading_a_snapshot_the_past_is_one(engine, tmp_path):
    """Events keep their numbers; what was before the snapshot is known from the live rows alone."""
    engine.push("A", rows((13, 1, 0.0), (13, 1, 0.0)))
    engine.save(tmp_path / "engine")
    loaded = eddy.Eddy.load(tmp_path / "engine")
    loaded.push("B", rows((14, 1, 12.0)))
    assert loaded.why(A=2, B=3, C=0).event == engine.statistics().events
    assert str(loaded.why_not(A=1, B=3, C=0)).startswith("A 1, B 3 and C 0 were in their windows together")
    assert loaded.why_not(A=0, B=3, C=0).verdict == "window"
    assert loaded.why_not(A=0, B=0, C=0).verdict == "forgotten"


def test_an_engine_that_broke_is_not_asked(engine):
    """Half a batch is no ground for an answer."""
    with (
        mock.patch.object(engine.state.executor, "run", side_effect=MemoryError),
        pytest.raises(MemoryError),
    ):
        engine.push("A", rows((13, 1, 0.0)))
    with pytest.raises(eddy.StateError, match="make a new one"):
        engine.why(A=0, B=0, C=0)
