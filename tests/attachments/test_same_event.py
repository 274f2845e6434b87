"""A composite that begins at the very event that brings its first partner."""

from __future__ import annotations

import pytest

import eddy


@pytest.mark.parametrize(
    ("join", "rows"), [(eddy.SemiJoin, [[0, -1, -1]]), (eddy.LeftJoin, [[0, -1, 0]]), (eddy.AntiJoin, [])]
)
def test_a_composite_and_its_partner_come_at_one_event(join, rows):
    """The row of B leaves when that of C comes, so the anti join gives A's then: it has a partner from the start."""
    windows = {"A": eddy.Range(9), "B": eddy.Range(1), "C": eddy.Range(9)}
    streams = {
        name: eddy.Stream({"ts": "int64", "k": "int64"}, window=window, time="ts")
        for name, window in windows.items()
    }
    attach = [eddy.AntiJoin("B", "A.k = B.k"), join("C", "A.k = C.k")]
    engine = eddy.Eddy(eddy.Query(streams, attach=attach, changes=True))
    for name in "BA":
        assert len(engine.push(name, {"ts": [0], "k": [1]})) == 0
    result = engine.push("C", {"ts": [2], "k": [1]})
    assert result.rows.tolist() == rows
    assert result.sign.tolist() == [1] * len(rows)
