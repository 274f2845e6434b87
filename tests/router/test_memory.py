"""What an engine costs to keep: memory stays bounded, shrinks after a burst, and gathers no litter."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest

import eddy
from tests.feeds import batch, query


@pytest.mark.parametrize("plan", ["((A B) C) D", "stems"])
def test_memory_stays_bounded_over_many_windows(plan):
    """After a hundred turn-overs, with plan changes on the way, the engine is no larger than after five."""
    engine = eddy.Eddy(query("ABCD", eddy.Rows(500)), plan=plan)
    rng = np.random.default_rng(4)
    sizes = []
    for i in range(1000):
        engine.push_all({name: batch(rng.integers(0, 400, 50)) for name in "ABCD"})
        if i % 40 == 39:
            engine.migrate("(A B) (C D)")
            engine.migrate(plan)
        if i % 10 == 9:
            sizes.append(engine.statistics().bytes)
    assert max(sizes[10:]) <= 1.3 * max(sizes[5:30])
    assert engine.statistics().streams[0].live == 500


def test_memory_shrinks_after_a_burst():
    """Rings, payload, holes, times and rings for results go back to what a quiet feed needs."""
    kinds = {"ts": "int64", "k": "int64"}
    streams = {name: eddy.Stream(kinds, window=eddy.Range(100)) for name in "ABC"}
    engine = eddy.Eddy(eddy.Query(streams, where=["A.k = B.k", "B.k = C.k"]), plan="(A B) C")
    rng = np.random.default_rng(6)

    def push(time, size, keys):
        for name in "ABC":
            engine.push(name, {"ts": np.full(size, time), "k": rng.integers(0, keys, size)})

    for time in range(300):
        push(time, 4, 40)
    quiet = engine.statistics()
    push(300, 4000, 300)
    engine.migrate("A (B C)")
    push(301, 1000, 300)
    burst = engine.statistics()
    assert burst.bytes > 50 * quiet.bytes
    for time in range(302, 700):
        push(time, 4, 40)
    after = engine.statistics()
    assert after.complete and after.bytes < 3 * quiet.bytes
    for kind in ("streams", "stairs"):
        for now, then, most in zip(*(getattr(told, kind) for told in (after, quiet, burst)), strict=True):
            assert now.bytes < 3 * then.bytes < most.bytes, now.name


def test_single_rows_leave_no_litter():
    """Rows pushed one by one cost what their rings cost: no Python objects pile up beside them."""
    engine = eddy.Eddy(query("ABC", eddy.Rows(400)), plan="(A B) C")
    rng = np.random.default_rng(7)

    def turn_over(times):
        for i in range(1200 * times):
            engine.push("ABC"[i % 3], {"k": rng.integers(0, 400, 1), "v": np.zeros(1, np.int64)})

    turn_over(1)
    tracemalloc.start()
    try:
        turn_over(1)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        turn_over(2)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 100_000
