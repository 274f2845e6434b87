"""Snapshots of queries over one stream."""

from __future__ import annotations

import pytest

import eddy

COLUMNS = {"ts": "int64", "k": "int64", "g": "string"}
QUERIES = {
    "rows": "SELECT ts, k FROM t [ROWS 4]",
    "range": "SELECT ts, k FROM t [RANGE 15]",
    "unbounded": "SELECT ts, k FROM t [UNBOUNDED]",
    "filter": "SELECT ts, g FROM t [ROWS 4] WHERE k > 2",
    "groups": "SELECT g, COUNT(*) AS n, SUM(k) AS s FROM t [ROWS 7] WHERE k <> 1 GROUP BY g",
}


def batch(start):
    times = list(range(start, start + 10))
    return {"ts": times, "k": [t % 5 for t in times], "g": [f"g{t % 3}" for t in times]}


@pytest.mark.parametrize("retractions", [False, True])
@pytest.mark.parametrize("name", QUERIES)
def test_what_comes_after_a_restart_is_what_would_have_come(name, retractions, tmp_path):
    """Every row that is pushed into the loaded engine gives what it gives in one that was never saved."""
    query = eddy.sql(QUERIES[name], {"t": COLUMNS})
    whole = eddy.Eddy(query, retractions=retractions)
    parts = eddy.Eddy(query, retractions=retractions)
    for start in range(0, 60, 10):
        expected = whole.push("t", batch(start))
        found = parts.push("t", batch(start))
        assert found.to_arrow().to_pylist() == expected.to_arrow().to_pylist()
        assert len(found) or name == "groups"
        parts.save(tmp_path / "one.eddy")
        parts = eddy.Eddy.load(tmp_path / "one.eddy", query)
