"""Which plans come next after the one that a policy has chosen, and what explanations say of it."""

from __future__ import annotations

import numpy as np
import pytest

import eddy
from policies import Auto
from policies.optimizer.plans import read, streams
from policies.optimizer.rivals import neighbours
from policies.optimizer.search import cost_of


def decided():
    """An engine whose policy has changed the plan: C and D seldom match, and A and B often."""
    names = "ABCD"
    declared = {name: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(400)) for name in names}
    query = eddy.Query(declared, ["A.k = B.k", "B.k = C.k", "C.k = D.k"])
    engine = eddy.Eddy(query, "((A B) C) D", routing=Auto(every=2048))
    random = np.random.default_rng(1)
    for start in range(0, 60_000, 2_000):
        ts = np.arange(start, start + 2_000)
        few = {n: random.integers(0, 3, 2_000) for n in "AB"}
        many = {n: 7 * random.integers(0, 400, 2_000) for n in "CD"}
        engine.push_all({n: {"ts": ts, "k": keys} for n, keys in (few | many).items()})
        if any(decision.outcome == "changed" for decision in engine.decisions):
            return engine
    raise AssertionError("the policy has changed nothing")


def test_alternatives_are_other_plans_and_cost_what_the_model_says():
    """Cheapest first, none of them the chosen one, each reckoned from what was known when it was decided."""
    engine = decided()
    (decision,) = [decision for decision in engine.decisions if decision.outcome == "changed"]
    rivals = decision.rivals
    assert rivals is not None and decision.alternatives
    costs = [other.cost for other in decision.alternatives]
    assert costs == sorted(costs)
    assert costs == pytest.approx(
        [cost_of(o.plan, rivals.estimate, rivals.model) for o in decision.alternatives]
    )
    assert decision.plan not in [other.plan for other in decision.alternatives]
    told = engine.explain()
    assert decision.reason in told and f"next best plans then: {decision.alternatives[0].plan}" in told
    assert eddy.Eddy(engine.query, "A (B (C D))").decisions == ()


def test_neighbours_are_one_rotation_away():
    """Of a tree with three joins: each joins the same streams, and none is the tree itself."""
    tree = read("((A B) C) D")
    found = list(neighbours(tree))
    assert len(found) == 4 and all(streams(other) == streams(tree) for other in found)
    assert tree not in found and (("A", "B"), ("C", "D")) not in found


def test_an_analysis_has_the_share_of_each_step():
    """Shares add up to all, entries are those of the statistics; before the first push there is nothing to tell."""
    query = eddy.Query({n: {"k": "int64"} for n in "ABC"}, ["A.k = B.k", "B.k = C.k"])
    engine = eddy.Eddy(query, "(A B) C")
    assert engine.explain(analyze=True).endswith("nothing was pushed yet")
    engine.push_all({n: {"k": np.arange(500) % 50} for n in "ABC"})
    lines = engine.explain(analyze=True).splitlines()
    steps = [step for step in engine.statistics().steps if step.probes]
    shares = [line for line in lines if line.endswith("reckoned")]
    assert len(shares) == len(steps)
    assert sum(int(line.partition("%")[0]) for line in shares) == pytest.approx(100, abs=len(shares))
    assert any(f"{steps[0].probes:,} entries probe" in line for line in shares)
    with pytest.raises(eddy.EddyError, match="analyze"):
        engine.explain(analyze="yes")
