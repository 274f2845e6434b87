"""What an engine tells of itself: statistics, and the plan as text."""

from __future__ import annotations

import attrs
import pytest

import eddy
from tests.feeds import batch, query


def test_statistics_are_a_frozen_value():
    """They are of one moment, do not change with the engine, and cannot be changed."""
    engine = eddy.Eddy(query("ABC", eddy.Rows(3)), plan="(A B) C")
    before = engine.statistics()
    engine.push("A", batch([1, 1, 1, 2]))
    engine.push("B", batch([1, 2]))
    after = engine.statistics()
    assert (before.events, after.events, after.results, after.migrations) == (0, 6, 0, 0)
    assert after == engine.statistics() != before
    assert [(s.name, s.rows, s.live) for s in after.streams] == [("A", 4, 3), ("B", 2, 2), ("C", 0, 0)]
    (stair,) = after.stairs
    assert (stair.name, stair.streams, stair.live) == ("A B by k", ("A", "B"), 3)
    assert (
        stair.complete and after.complete and (stair.fraction, stair.holes, stair.keys_filled) == (1.0, 0, 0)
    )
    assert after.bytes >= sum(part.bytes for part in (*after.streams, *after.stairs)) > 0
    for value in (after, after.streams[0], stair):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            value.bytes = 0
    assert hash(after) == hash(engine.statistics())


def test_explain_draws_the_plan_and_how_full_it_is():
    """Every STAIR and every stream has a line, under the one that reads it."""
    engine = eddy.Eddy(query("ABC", eddy.Rows(10)), plan="(A B) C")
    engine.push("A", batch([1, 2]))
    engine.push("B", batch([1, 2]))
    engine.push("C", batch([1]))
    lines = engine.explain().splitlines()
    assert lines[0] == "plan (A B) C" and lines[1].startswith("5 events, 1 result, ")
    assert lines[3] == "results"
    assert lines[4].startswith("├─ STAIR A B by k: 2 live, ") and lines[4].endswith(", complete")
    assert lines[5].startswith("│  ├─ A Rows(10): 2 live of 2 rows, ")
    assert lines[6].startswith("│  └─ B Rows(10): 2 live of 2 rows, ")
    assert lines[7].startswith("└─ C Rows(10): 1 live of 1 rows, ")
    assert all(" each" in line for line in lines[8:])
    engine.migrate("A (B C)")
    engine.push("A", batch([1]))
    (line,) = [line for line in engine.explain().splitlines() if "STAIR" in line]
    assert line.startswith("└─ STAIR B C by k: 1 live, ")
    assert not line.endswith("complete") and "filled" in line and "0% settled" in line
    engine.migrate("stems")
    assert engine.explain().splitlines()[3:6] == [
        "  A visits B, then C",
        "  B visits A, then C",
        "  C visits A, then B",
    ]
    assert repr(engine) == "<Eddy A: B C | B: A C | C: A B: 6 events, 2 results>"


def test_explain_names_other_keys():
    """A STAIR under several attributes, under a row, or under nothing says so."""
    streams = {name: eddy.Stream({"x": "int64", "y": "int64"}) for name in "ABC"}
    made = eddy.Query(streams, where=["A.x = C.x", "B.y = C.y", "A.y < B.x"])
    assert "STAIR A B by x, y:" in eddy.Eddy(made, plan="(A B) C").explain()
    made = eddy.Query(streams, where=["A.x = B.x", "B.y < C.y"])
    assert "STAIR A B by row of B:" in eddy.Eddy(made, plan="(A B) C").explain()
    made = eddy.Query(streams, where=["A.x = B.x"], cross=True)
    assert "STAIR A B by nothing" in eddy.Eddy(made, plan="(A B) C").explain()
