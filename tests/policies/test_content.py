"""Content-based routing: where rows of one stream are of two kinds, each kind gets its own order."""

from __future__ import annotations

import numpy as np
import pytest

import eddy
from benchmarks.content import HOT, PLANS, feed, query
from policies import Auto, Fixed
from policies.optimizer import CostModel, cost_of, estimate
from policies.optimizer.portions import at_once
from policies.routing.content import Split, cost_with, splits_in, splitting

SPLIT = "S y in (0, 1, 2, 3): B C | S: C B"
ENDING = " | B: S C | C: S B"


def auto(**options):
    """`Auto` by a clock that always says the same."""
    return Auto(clock=lambda seen: 0.0, **options)


def run(batches, plan=None, routing=None):
    """An engine that was fed, and the sorted rows of its results."""
    engine, rows = eddy.Eddy(query(), plan=plan, routing=routing or Fixed()), []
    for batch in batches:
        rows += engine.push_all(batch).rows.tolist()
    return engine, sorted(map(tuple, rows))


def test_rows_of_two_kinds_go_two_ways():
    """Hot values of one column, which find nothing by the other, visit that first: a fifth of the work is left."""
    batches, more = list(feed(True, 150)), list(feed(True, 20, seed=3))
    engine, rows = run(batches, routing=auto())
    (split,) = splits_in(engine.plan).values()
    assert split.name == "S" and split.values == tuple(range(HOT)) and split.hot != split.rest
    assert split.hot[0] == {"x": "C", "y": "B"}[split.column]
    *_, decision = engine.decisions
    assert f"rows of S go by {split.column}: 4 values one way, others another" in decision.reason
    assert decision.outcome == "changed" and decision.plan == engine.plan
    assert f"(rows with {split.column} in (0, 1, 2, 3))" in engine.explain()
    before = engine.statistics().probed
    for batch in more:
        engine.push_all(batch)
    work = engine.statistics().probed - before
    for plan in PLANS:
        single, wanted = run(batches, plan)
        assert rows == wanted
        before = single.statistics().probed
        for batch in more:
            single.push_all(batch)
        assert 5 * work < single.statistics().probed - before


def test_a_split_that_serves_stays():
    """What it saves is sampled anew each time that there is a thought."""
    engine = run(feed(True, 200), SPLIT + ENDING, auto(every=4000, overhead=0.1))[0]
    assert engine.plan == SPLIT + ENDING and not engine.decisions


def test_where_rows_are_alike_none_are_split():
    """There is nothing to tell them apart by."""
    engine = eddy.Eddy(query(), routing=auto(every=4000, overhead=0.1))
    for batch in feed(False, 150):
        engine.push_all(batch)
    assert not any(splits_in(decision.plan) for decision in engine.decisions) and " in (" not in engine.plan


def test_a_split_follows_the_values_that_are_hot():
    """When others have become hot the plan takes more than it did, and is made anew."""
    batches = [*feed(True, 60), *feed(True, 200, seed=2, first=50)]
    engine, rows = run(batches, SPLIT + ENDING, auto())
    (split,) = splits_in(engine.plan).values()
    assert split.values == (50, 51, 52, 53) and engine.decisions
    assert rows == run(batches, PLANS[0])[1]


@pytest.mark.parametrize("options", [{"shape": "bushy"}, {"shape": "left-deep"}])
def test_trees_are_not_split(options):
    """A shape that was asked for is kept."""
    engine, _ = run(feed(True, 150), routing=auto(**options))
    assert ":" not in engine.plan


def test_a_pinned_sub_plan_stays_whole():
    """Orderings keep no composites."""
    engine = eddy.Eddy(query(), routing=auto())
    engine.pin("(S B)")
    for batch in feed(True, 150):
        engine.push_all(batch)
    assert engine.plan == "(S B) C"


def test_what_a_split_plan_costs_is_seen():
    """Under the plan that has the split, and under another, it is believed to take less than either order alone."""
    batches, model = list(feed(True, 20)), CostModel()
    for plan in (SPLIT + ENDING, *PLANS):
        view = run(batches, plan)[0].view()
        believed = estimate(view)
        split = at_once(cost_with(SPLIT + ENDING, view, believed, model))
        for single in PLANS[2:]:
            assert at_once(cost_with(single, view, believed, model)) == cost_of(single, believed, model)
            assert split < cost_of(single, believed, model) / 3
        wrong = SPLIT.replace("B C", "X").replace("C B", "B C").replace("X", "C B") + ENDING
        assert at_once(cost_with(wrong, view, believed, model)) > split
        found = at_once(splitting(PLANS[2], view, believed, model, "any", 0.1))
        assert set(splits_in(found)) == {"S"}


def test_the_rows_of_a_kind_are_sampled_apart():
    """Where there are few rows the answers are exact."""
    engine, random = eddy.Eddy(query(), plan="stems"), np.random.default_rng(4)
    x, y = random.integers(0, 3, 60), random.integers(0, 3, 60)
    b, c = np.array([0] * 9 + [1]), np.array([2] * 4 + [0])
    engine.push_all({"S": {"x": x, "y": y}, "B": {"x": b}, "C": {"y": c}})
    content = engine.view().content
    assert content.heavy("S", "B") == ("x", (0,)) and content.heavy("S", "C") == ("y", (2,))
    assert content.heavy("B", "C") is None
    assert content.share("S", "x", (0,)) == pytest.approx((x == 0).mean())
    for inside in (True, False):
        own = (x == 0) == inside
        by_b = np.array([(b == value).sum() for value in x[own]])
        by_c = np.array([(c == value).sum() for value in y[own]])
        means = by_c.mean(), (by_b * by_c).mean()
        assert content.sample_group("S", "x", (0,), inside, ("C", "B")) == pytest.approx(means)


def test_splits_are_read_as_plans_print_them():
    """Two ways by one column; what is written otherwise is left alone."""
    text = SPLIT + ENDING
    assert eddy.Eddy(query(), plan=text).plan == text
    assert splits_in(text) == {"S": Split("S", "y", (0, 1, 2, 3), ("B", "C"), ("C", "B"))}
    assert str(splits_in(text)["S"]) == SPLIT
    assert splits_in("(S B) C") == splits_in(PLANS[2]) == splits_in("S 1: B C | S 2: C B" + ENDING) == {}
    three = "S y in (0): B C D | S y in (1): C B D | S: D B C | B: S C D | C: S B D | D: S B C"
    assert splits_in(three) == {}
