"""The results of the feedback paper's worked examples (T56 to T58), which no policy may change."""

from __future__ import annotations

import pytest

import eddy

PLANS = ("(A B) C", "A (B C)", "(A C) B", "stems")


def engine_of(plan):
    """A.x = B.x and A.y = C.y, windows of 10."""
    columns = {"A": ("x", "y"), "B": ("x",), "C": ("y",)}
    streams = {
        name: eddy.Stream({"ts": "int64", **dict.fromkeys(names, "int64")}, window=eddy.Range(10))
        for name, names in columns.items()
    }
    query = eddy.Query(streams, where=["A.x = B.x", "A.y = C.y"], cross=True)
    return eddy.Eddy(query, plan)


def feed(engine, *events):
    """Push events such as ("A", 1, {"x": 1, "y": 100}); returns the rows of all results by event."""
    return [
        [
            tuple(row)
            for row in engine.push(name, {"ts": [ts], **{c: [v] for c, v in row.items()}}).rows.tolist()
        ]
        for name, ts, row in events
    ]


def a(ts, y):
    return "A", ts, {"x": 1, "y": y}


def b(ts):
    return "B", ts, {"x": 1}


def c(ts, y):
    return "C", ts, {"y": y}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("before", [[c(0, 999)], []], ids=["T56", "T57"])
def test_t56_t57_a_late_partner_finds_all_that_waited(plan, before):
    """Eight results, whether C held a row that does not match or none at all."""
    found = feed(engine_of(plan), *before, b(0), b(0), b(0), a(1, 100), b(2), a(3, 100), c(4, 100))
    assert all(rows == [] for rows in found[:-1])
    late = len(before)
    assert sorted(found[-1]) == [(i, j, late) for i in range(2) for j in range(4)]


@pytest.mark.parametrize("plan", PLANS)
def test_t58_what_waits_longer_than_the_first_of_its_kind(plan):
    """a1 expires before its partner comes, a2 with the same value does not (H-E3)."""
    events = c(0, 9), b(0), a(1, 100), b(7), a(8, 100), c(9, 998), c(12, 100)
    found = feed(engine_of(plan), *events)
    assert all(rows == [] for rows in found[:-1]) and found[-1] == [(1, 1, 2)]
