"""What a routing policy is shown: a view, and index sampling, over windows of 10,000 rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import eddy

NAMES = "ABCDEFGH"
ASKED = {
    "a view": lambda view: view.plan,
    "and the fan-out of a pair": lambda view: view.sample("A", ("B",)),
    "and those of a path through 7 streams": lambda view: view.sample("A", tuple("BCDEFGH")),
    "and distinct values of all": lambda view: dict(view.distinct),
}


def filled():
    """Eight streams, on two attributes in turns, with full windows."""
    streams = {n: eddy.Stream({"x": "int64", "y": "int64"}, window=eddy.Rows(10_000)) for n in NAMES}
    where = [f"{a}.{'xy'[i % 2]} = {b}.{'xy'[i % 2]}" for i, (a, b) in enumerate(itertools.pairwise(NAMES))]
    engine, random = eddy.Eddy(eddy.Query(streams, where=where), plan="stems"), np.random.default_rng(0)
    for _ in range(10):
        engine.push_all({n: {c: random.integers(0, 10_000, 1000) for c in "xy"} for n in NAMES})
    return engine


@pytest.mark.parametrize("asked", ASKED)
def test_view(asked, benchmark, row):
    """Microseconds, the view included."""
    engine = filled()
    benchmark(lambda: ASKED[asked](engine.view()))
    title = "what a routing policy is shown, microseconds"
    row(title, "", "median")
    row(title, asked, 1e6 * benchmark.stats.stats.median)
