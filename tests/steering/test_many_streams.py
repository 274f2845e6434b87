"""Queries of 63 streams and more: sets of streams have more bits than a word, and nothing is lost."""

from __future__ import annotations

import itertools
import math
from collections import deque

import numpy as np
import pytest

import eddy
from policies import Auto, Greedy, Jisc, Lottery, Random, Skinner
from policies.migration.pricing import Manner, change_seconds
from policies.optimizer import CostModel, Estimate, Graph, best, cost_of
from policies.optimizer.cards_kernels import UNTESTED
from policies.optimizer.families import improved
from policies.optimizer.moving import changing_seconds, same
from policies.optimizer.plans import left_deep, show
from tests import plan_model

MODEL = CostModel()
COUNTS = (63, 64, 65, 100)


def query(count, shape, rows=3):
    """A chain of two columns, or one key that all share."""
    streams = {
        f"s{i}": eddy.Stream({"a": "int64", "b": "int64"}, window=eddy.Rows(rows)) for i in range(count)
    }
    if shape == "chain":
        return eddy.Query(streams, where=[f"s{i}.b = s{i + 1}.a" for i in range(count - 1)])
    return eddy.Query(streams, where=[f"s0.a = s{i}.a" for i in range(1, count)])


def rounds(names, first, last, rows=3):
    """Rounds of one row for each stream. No value is twice in a window; now and then a row has no partner."""
    random = np.random.default_rng(first)
    for i in range(first, last):
        odd = random.random(len(names)) < 0.3 / len(names)
        yield {name: -i - 1 if lost else i % rows for name, lost in zip(names, odd, strict=True)}


def expected(names, values, windows, counts):
    """The results of a round, row by row: the one live row of each stream that has the value, if all have one."""
    for name in names:
        windows[name].append((values[name], counts[name]))
        counts[name] += 1
        found = [dict(windows[other]).get(values[name]) for other in names]
        if None not in found:
            yield tuple(found)


def check(engine, names, batches, windows, counts):
    """Push rounds of rows and compare what comes; returns how many results there were."""
    total = 0
    for values in batches:
        result = engine.push_all(
            {name: {"a": np.array([v]), "b": np.array([v])} for name, v in values.items()}
        )
        assert list(map(tuple, result.rows.tolist())) == list(expected(names, values, windows, counts))
        total += len(result)
    return total


@pytest.mark.parametrize(
    ("count", "shape", "threads"),
    [
        (63, "one key", 1),
        (64, "chain", 1),
        (65, "one key", 2),
        (100, "one key", 1),
    ],
)
def test_joins_of_many_streams_are_exact_under_trees_and_orderings(count, shape, threads):
    """Every result comes once, in order, under the plan that is made by default and under orderings."""
    asked = query(count, shape)
    engine = eddy.Eddy(asked, threads=threads)
    windows, counts = {name: deque(maxlen=3) for name in asked.names}, dict.fromkeys(asked.names, 0)
    found = check(engine, asked.names, rounds(asked.names, 0, 8), windows, counts)
    engine.migrate("stems")
    found += check(engine, asked.names, rounds(asked.names, 8, 14), windows, counts)
    assert found > 2 * count


FREE = CostModel(think=0.0, sample=0.0, change=0.0, look=0.0)


@pytest.mark.parametrize(
    ("count", "shape", "threads", "portion"),
    [
        (64, "one key", 2, 0.05),
        (65, "chain", 1, 0.05),
        (70, "one key", 1, 0.005),
        (130, "chain", 1, 0.1),
        (130, "one key", 2, 0.5),
    ],
)
def test_auto_plans_for_many_streams(count, shape, threads, portion, monkeypatch):
    """It thinks, in portions, changes its plan or not, and results are exact."""
    monkeypatch.setattr("policies.routing.auto.PORTION", portion)  # large ones: batches are small here
    asked = query(count, shape)
    routing = Auto(every=count, gain=0.0, shape="bushy", overhead=math.inf, model=FREE)
    engine = eddy.Eddy(asked, routing=routing, threads=threads, migration=Jisc())
    windows, counts = {name: deque(maxlen=3) for name in asked.names}, dict.fromkeys(asked.names, 0)
    found = done = 0
    while not engine.routing.account.thinking:  # it is paid for when it is done
        found += check(engine, asked.names, rounds(asked.names, done, done + 3), windows, counts)
        done += 3
        assert done < 200
    assert found + check(engine, asked.names, rounds(asked.names, done, done + 3), windows, counts) > count
    assert not [decision for decision in engine.decisions if decision.outcome == "refused"]


@pytest.mark.parametrize("count", [70, 130])
def test_plan_changes_views_and_explanations_of_many_streams(count):
    """Trees, orderings and orderings with composites, one after the other: results are exact, and all can be told."""
    asked = query(count, "one key")
    names = asked.names
    engine = eddy.Eddy(asked, plan=show(left_deep(names)))
    windows, counts = {name: deque(maxlen=3) for name in names}, dict.fromkeys(names, 0)
    pair = f"({names[-2]} {names[-1]})"
    orders = {name: [other for other in names if other != name] for name in names}
    for name in names[:-2]:
        orders[name][-2:] = [pair]
    for name, other in ((names[-1], names[-2]), (names[-2], names[-1])):
        orders[name].remove(other)
        orders[name].insert(0, other)
    cached = " | ".join(f"{name}: {' '.join(order)}" for name, order in orders.items())
    found = 0
    for i, plan in enumerate((None, show(left_deep(names[::-1])), "stems", cached)):
        if plan is not None:
            engine.migrate(plan)
        found += check(engine, names, rounds(names, 4 * i, 4 * i + 4), windows, counts)
        view = engine.view()
        assert len(view.steps) >= 2 * (count - 1) and set(view.live.values()) == {3}
        assert f"{names[0]} → " in engine.explain()
        assert engine.statistics().events == sum(counts.values())
    assert found > count and [stair.streams for stair in engine.view().stairs] == [names[-2:]]


@pytest.mark.parametrize(
    "routing",
    [Greedy(period=64), Lottery(period=200, draws=1), Skinner(period=300), Random(period=300)],
    ids=repr,
)
def test_other_policies_plan_for_64_streams(routing):
    """Those without tables take any number of streams; the others refuse (`tests/policies/test_card.py`)."""
    asked = query(64, "one key")
    engine = eddy.Eddy(asked, routing=routing)
    windows, counts = {name: deque(maxlen=3) for name in asked.names}, dict.fromkeys(asked.names, 0)
    assert check(engine, asked.names, rounds(asked.names, 0, 6), windows, counts) > 0
    assert engine.decisions and all(decision.outcome == "changed" for decision in engine.decisions)


# -- the optimiser ---------------------------------------------------------------------------------------------------


def graph(shape, count):
    names = tuple(f"s{i}" for i in range(count))
    pairs = [frozenset(pair) for pair in itertools.pairwise(names)]
    if shape == "one key":
        return Graph(names, (frozenset(names),))
    if shape == "chain":
        return Graph(names, tuple(pairs))
    assert (
        shape == "thetas"
    )  # keys that overlap, and predicates of two, three and many streams, the last ones included
    thetas = (
        pairs[0],
        pairs[-1],
        frozenset(names[-3:]),
        frozenset((names[0], names[-1])),
        frozenset(names[::7]),
    )
    return Graph(names, (*pairs[1:-1], frozenset(names[::3])), thetas, ranges=frozenset((1,)))


def estimate_of(shape, count, seed=0, joins="hash"):
    random, made = np.random.default_rng(seed), graph(shape, count)
    live = {name: float(random.integers(100, 20_000)) for name in made.names}
    rates = dict(zip(made.names, random.dirichlet(np.ones(count)).tolist(), strict=True))
    known = {
        frozenset((a, b)): live[a] * live[b] * 10.0 ** random.uniform(-5, -3.3)
        for a, b in itertools.combinations(made.names, 2)
        if made.linked((a,), (b,))
    }
    known[frozenset(made.names[-4:])] = 77.0
    return Estimate(made, rates, live, known, joins)


def plain_cards(estimate, names):
    """Live composites of a set as plainly as can be: streams are added one by one."""
    if (known := estimate.known.get(frozenset(names))) is not None:
        return known
    made, total, seen = estimate.graph, 0.0, []

    def selectivity(a, b):
        pair = estimate.known[frozenset((a, b))]
        return min(math.log(pair / estimate.live[a] / estimate.live[b]), 0.0)

    for name in (name for name in made.names if name in names):
        total += math.log(estimate.live[name])
        for members in made.classes:
            others = [other for other in seen if name in members and other in members]
            parts = {o: sum({name, o} <= both for both in made.classes) for o in others}
            if others:
                total += max(selectivity(name, other) / parts[other] for other in others)
        seen.append(name)
        for reads in made.thetas:
            if name in reads and reads <= set(seen):
                alone = not any(reads <= members for members in made.classes)
                if len(reads) > 2:
                    total += UNTESTED
                elif alone:
                    total += selectivity(*reads)
    return math.exp(min(total, 600.0))


@pytest.mark.parametrize("count", [13, *COUNTS])
@pytest.mark.parametrize("shape", ["one key", "chain", "thetas"])
def test_live_composites_of_any_set_of_many_streams(count, shape):
    """As adding streams one by one says, whichever words the set has streams in."""
    estimate, random = estimate_of(shape, count), np.random.default_rng(count)
    names = estimate.graph.names
    sets = [names[-2:], names[-4:], names[-1:], names, (names[0], names[-1]), names[60:70], names[::7]]
    sets += [tuple(random.choice(names, random.integers(1, count), replace=False)) for _ in range(20)]
    for some in filter(None, sets):
        assert estimate.composites(*some) == pytest.approx(plain_cards(estimate, some), rel=1e-9)


@pytest.mark.parametrize("joins", ["hash", "nested"])
@pytest.mark.parametrize("shape", ["one key", "chain", "thetas"])
@pytest.mark.parametrize("count", [13, *COUNTS])
def test_the_cost_of_a_plan_of_many_streams_is_the_sum_of_what_its_steps_do(count, shape, joins):
    """As a model that knows of no words reckons, for trees and for orderings."""
    estimate = estimate_of(shape, count, joins=joins)
    names = list(estimate.graph.names)
    half = count // 2
    trees = [left_deep(names), left_deep(names[::-1]), (left_deep(names[:half]), left_deep(names[half:]))]
    for tree in trees:
        wanted = plan_model.seconds(tree, estimate, MODEL)
        assert cost_of(show(tree), estimate, MODEL) == pytest.approx(wanted, rel=1e-9)
    if count in (13, 65):  # the model takes its time
        orders = {name: tuple(other for other in names if other != name) for name in names}
        wanted = plan_model.seconds(orders, estimate, MODEL)
        assert cost_of(show(orders), estimate, MODEL) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("shape", ["one key", "chain", "thetas"])
@pytest.mark.parametrize("count", [63, 64, 65])
def test_plans_for_many_streams_are_valid_and_better_than_the_order_of_declaration(count, shape):
    """Trees of both kinds; what a change to them takes can be told too."""
    estimate = estimate_of(shape, count)
    declared = show(left_deep(estimate.graph.names))
    for given in ("bushy", "left-deep"):
        text, cost = best(estimate, MODEL, given)
        assert plan_model.valid(text, estimate.graph.names)
        assert cost == pytest.approx(cost_of(text, estimate, MODEL))
        assert cost <= cost_of(declared, estimate, MODEL) * (1 + 1e-9)
        assert not same(text, declared, estimate.graph)
        assert changing_seconds(text, declared, estimate, MODEL) <= cost * (1 + 1e-9)
        for beside in (0.0, 1.0):  # made lazily; run beside the old plan
            assert 0.0 < change_seconds(declared, text, estimate, MODEL, Manner(beside), 1000.0) < math.inf


def test_orderings_for_64_streams_are_valid():
    """Every stream visits all others once."""
    estimate = estimate_of("chain", 64)
    text, _ = best(estimate, MODEL, "orderings")
    assert plan_model.valid(text, estimate.graph.names)


def test_pinned_sub_plans_of_many_streams_stay():
    """So few units are left that they are searched exactly, though they have more streams than a word has bits."""
    estimate = estimate_of("chain", 70)
    names = estimate.graph.names
    pinned = [show(left_deep(names[i : i + 14])) for i in range(0, 70, 14)]
    text, _ = best(estimate, MODEL, "bushy", pinned)
    assert all(f"({part})" in text for part in pinned) and plan_model.valid(text, names)


@pytest.mark.parametrize("place", [61, 62, 63, 64, 65, 128])
def test_more_key_classes_than_a_word_has_bits(place):
    """A composite is stored under each key by which others visit it, which may differ in the last of many classes."""
    made = Graph(tuple("ABCD"), (frozenset("AC"), *[frozenset("CD")] * (place - 1), frozenset("BD")))
    live = {"A": 5000.0, "B": 4000.0, "C": 300.0, "D": 200.0}
    rates = {"A": 0.3, "B": 0.3, "C": 0.2, "D": 0.2}
    known = {frozenset("AC"): 900.0, frozenset("CD"): 500.0, frozenset("BD"): 700.0}
    estimate = Estimate(made, rates, live, known)
    plan, cost = improved(estimate, MODEL.array(estimate), ["CD"], ["CD"])
    assert "(C D)" in show(plan)
    assert cost == pytest.approx(cost_of(show(plan), estimate, MODEL), rel=1e-9)
