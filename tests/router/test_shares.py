"""Rows of one stream that take several ways: in the proportion of the weights, however they are handed over."""

import random

import numpy as np
import pytest

import eddy
from eddy.plan.pipelines import shares
from stairs.program_kernels import part_of

PLAN = "A 5: B C | A 2: C B | A 1: C B | B: A C | C: A B"
STREAMS = {name: eddy.Stream({"k": "int64"}, window=eddy.Rows(50)) for name in "ABC"}
QUERY = eddy.Query(STREAMS, where=["A.k = B.k", "B.k = C.k"])


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 64, 1000])
@pytest.mark.parametrize("together", [True, False])
def test_rows_take_ways_by_their_weights(size, together):
    """Also where a batch, or a portion of one, has fewer rows than there are ways: of 4,000 rows five eighths go first
    to B."""
    engine = eddy.Eddy(QUERY, plan=PLAN)
    rows = 4000
    for start in range(0, rows, size):
        keys = np.arange(start, min(start + size, rows))
        if together:
            engine.push_all({"A": {"k": keys}, "B": {"k": keys[:1]}})
        else:
            engine.push("A", {"k": keys})
    first = {step.target: step.probes for step in engine.view().steps if step.source == ("A",)}
    assert sum(first.values()) == rows
    assert abs(first["B",] - rows * 5 / 8) <= max(size, 0.02 * rows)


@pytest.mark.parametrize("seed", range(20))
def test_ways_leave_out_no_row_and_take_none_twice(seed):
    chance = random.Random(seed)
    ways = tuple((chance.randint(1, 1000), ()) for _ in range(chance.randint(1, 6)))
    at = chance.choice((0, 1, 7, 1 << 20, (1 << 31) - 5, 1 << 40))
    for _ in range(200):
        start, at = at, at + chance.choice((0, 1, 2, 3, 17, 4096))
        parts = [part_of.py_func(start, at, *share) for share, _ in shares(ways)]
        assert [start, *(end for _, end in parts)] == [*(first for first, _ in parts), at]
        assert all(first <= end for first, end in parts)
