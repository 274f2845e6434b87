"""Holes are filled before the batch that probes them: the same ones, but once a state."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import eddy
from eddy.router.router import Router

OLD, NEW = "((((A B) C) D) E) F", "((((F E) D) C) B) A"
BUSHY = "((F A) (E B)) (D C)"


def engine_of(plan, window=60):
    streams = {name: eddy.Stream({"k": "int64"}, window=eddy.Rows(window)) for name in "ABCDEF"}
    return eddy.Eddy(eddy.Query(streams, where=[f"A.k = {name}.k" for name in "BCDEF"]), plan=plan)


def feed(seed, batches, keys=40, size=30):
    rng = np.random.default_rng(seed)
    return [{name: {"k": rng.integers(0, keys, size)} for name in "ABCDEF"} for _ in range(batches)]


def run(plan, foresight, monkeypatch):
    """Fill the windows, change the plan, go on; the results and the fills of every batch after the change."""
    if not foresight:
        monkeypatch.setattr(Router, "foresee", lambda self, parts: None)
    fills = []
    fill = Router.fill

    def counted(self, stair, keys):
        fills[-1][stair.name] += 1
        fill(self, stair, keys)

    monkeypatch.setattr(Router, "fill", counted)
    engine = engine_of(OLD)
    for batch in feed(1, 4):
        engine.push_all(batch)
    engine.migrate(plan)
    results = []
    for batch in feed(2, 6, size=5):
        fills.append(Counter())
        results.append(sorted(map(tuple, engine.push_all(batch).rows.tolist())))
    return engine.statistics(), results, fills


@pytest.mark.parametrize("plan", [NEW, BUSHY])
def test_the_same_holes_are_filled_in_fewer_goes(plan):
    """Under the bushy plan it is composites that probe composites, which nobody can foresee."""
    with pytest.MonkeyPatch.context() as patch:
        with_it, results, fills = run(plan, True, patch)
    with pytest.MonkeyPatch.context() as patch:
        without, expected, more = run(plan, False, patch)
    assert results == expected and any(results)
    assert with_it.keys_filled == without.keys_filled > 0
    goes, usual = (sum(sum(batch.values()) for batch in of) for of in (fills, more))
    assert goes < usual if plan == NEW else goes <= usual


def test_a_left_deep_plan_fills_every_state_once_a_batch():
    with pytest.MonkeyPatch.context() as patch:
        _, _, fills = run(NEW, True, patch)
    assert max(fills[0].values()) == 1 and len(fills[0]) == 4


def test_rows_that_are_ruled_out_ask_for_nothing():
    """A row that a filter rejects, or whose key is NULL, probes nothing, so nothing is filled for it."""
    streams = {name: eddy.Stream({"k": "int64", "v": "int64"}, window=eddy.Rows(50)) for name in "ABC"}
    query = eddy.Query(streams, where=["A.k = B.k", "B.k = C.k", "C.v > 0"])
    engine = eddy.Eddy(query, plan="A (B C)")
    for name in "ABC":
        engine.push(name, {"k": np.arange(20), "v": np.ones(20, np.int64)})
    engine.migrate("(A B) C")
    engine.push("C", {"k": [1, 2, None], "v": [0, 0, 1]})
    assert engine.statistics().keys_filled == 0
    assert len(engine.push("C", {"k": [3], "v": [1]})) == 1
    assert engine.statistics().keys_filled == 1
