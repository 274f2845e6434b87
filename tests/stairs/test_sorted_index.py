"""The sorted index finds what a scan of all live rows finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stairs.sorted_index import SortedIndex

values = st.one_of(
    st.integers(-5, 5).map(float), st.sampled_from([float("inf"), float("-inf"), float("nan"), -0.0])
)
batches = st.lists(st.tuples(st.lists(values, max_size=30), st.integers(0, 25)), min_size=1, max_size=25)
probes = st.lists(st.tuples(values, values), min_size=1, max_size=8)


def scan(stored: list[tuple[float, int]], low: int, lower: list[float], upper: list[float]) -> list:
    return sorted(
        (i, row)
        for i, (least, most) in enumerate(zip(lower, upper, strict=True))
        for value, row in stored
        if row >= low and least <= value <= most
    )


def draw(index: SortedIndex, lower: list[float], upper: list[float], limit: int) -> list:
    found: list[tuple[int, int]] = []
    start = (0, 0, -1)
    while start is not None:
        which, rows, start = index.candidates(np.array(lower), np.array(upper), start=start, limit=limit)
        assert len(which) == len(rows) <= limit
        assert len(which) == limit or start is None
        found += zip(which.tolist(), rows.tolist(), strict=True)
    assert [i for i, _ in found] == sorted(i for i, _ in found)
    return sorted(found)


@given(batches, probes, st.integers(1, 50), st.sampled_from([0, 2**31 - 20, 2**32 - 20]))
@settings(max_examples=150, deadline=None)
def test_candidates_are_those_of_a_scan(batches, probes, limit, first_row):
    """After any inserts and expiries, drawn in pieces of any size."""
    index = SortedIndex()
    stored: list[tuple[float, int]] = []
    row, low = first_row, first_row
    for batch, expired in batches:
        rows = np.arange(row, row + len(batch))
        index.insert(np.array(batch, np.float64), rows)
        stored += zip(batch, rows.tolist(), strict=True)
        row += len(batch)
        low = min(row, low + expired)
        index.expire(low)
        lower, upper = [p[0] for p in probes], [p[1] for p in probes]
        assert draw(index, lower, upper, limit) == scan(stored, low, lower, upper)


def test_rows_may_come_in_any_order():
    """A row that comes late is kept until it is dead, and so are the older ones."""
    index = SortedIndex()
    for row in (9, 3, 7, 1, 8):
        index.insert(np.array([float(row)]), np.array([row]))
    index.expire(4)
    assert draw(index, [-np.inf], [np.inf], 2) == [(0, 7), (0, 8), (0, 9)]


def test_memory_follows_the_live_rows():
    """A long feed through a small window holds a few windows at most; a large one is given back."""
    index = SortedIndex()
    rng = np.random.default_rng(0)
    for row in range(0, 200_000, 1000):
        index.insert(rng.random(1000), np.arange(row, row + 1000))
        index.expire(row + 1000 - 5000)
        assert index.nbytes <= 1_000_000
    index.insert(rng.random(100_000), np.arange(200_000, 300_000))
    assert index.nbytes >= 1_600_000
    index.expire(300_000)
    assert index.nbytes < 10_000


def test_many_small_inserts_stay_in_few_runs():
    """Rows one by one are found as well as rows at once."""
    index = SortedIndex()
    order = np.random.default_rng(1).permutation(3000)
    for row, value in enumerate(order):
        index.insert(np.array([float(value)]), np.array([row]))
    _, rows, more = index.candidates(np.array([100.0]), np.array([199.0]), limit=1000)
    assert more is None
    assert sorted(order[rows]) == list(range(100, 200))


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        SortedIndex().candidates(np.zeros(1), np.zeros(1), limit=0)
