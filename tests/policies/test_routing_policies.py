"""The baselines: what each of them goes by."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import numpy as np
import pytest
from attrs import evolve

import eddy
from policies import Greedy, Lottery, Random, Skinner, View
from policies.optimizer import Graph
from policies.routing import StepView
from tests.inside import Inside

STAR = Graph(("A", "B", "C", "D"), (frozenset("AB"), frozenset("AC"), frozenset("AD")))
CLIQUE = Graph(("A", "B", "C", "D"), (frozenset("ABCD"),))


def view(graph=CLIQUE, fan_out=None, **changes):
    """A view in which the fan-out of a step depends on what is visited, or on the whole path."""

    def sample(start, path):
        means, mean = [], 1.0
        for i, name in enumerate(path):
            mean *= fan_out((start, *path[:i]), name) if callable(fan_out) else fan_out[name]
            means.append(mean)
        return tuple(means)

    plan = "A: B C D | B: A C D | C: A B D | D: A B C"
    arrivals = dict.fromkeys(graph.names, 100)
    return evolve(View(graph, plan, 0, arrivals, arrivals, {}, (), (), sample), **changes)


def orders(choice):
    """For each stream, the orders of a choice by weight."""
    found = {}
    for part in getattr(choice, "plan", choice).split("|"):
        head, _, tail = part.partition(":")
        name, *weight = head.split()
        found.setdefault(name, {})[tuple(tail.split())] = int(weight[0]) if weight else 1
    return found


# -- Greedy --------------------------------------------------------------------------------------------------------


def test_greedy_visits_first_what_lets_the_fewest_pass():
    """And stays with orders that do."""
    greedy, fan_out = Greedy(), {"A": 3.0, "B": 0.5, "C": 2.0, "D": 0.1}
    choice = greedy.choose(view(fan_out=fan_out))
    assert orders(choice) == {
        "A": {("D", "B", "C"): 1},
        "B": {("D", "C", "A"): 1},
        "C": {("D", "B", "A"): 1},
        "D": {("B", "C", "A"): 1},
    }
    assert greedy.choose(view(fan_out=fan_out, plan=choice.plan)) is None


def test_greedy_goes_by_conditional_selectivity():
    """C drops nearly all by itself, but nothing of what B has let pass: after B, D comes first."""

    def fan_out(path, name):
        if name == "C":
            return 1.0 if "B" in path else 0.3
        return {"A": 1.0, "B": 0.2, "D": 0.8}[name]

    assert orders(Greedy().choose(view(fan_out=fan_out)))["A"] == {("B", "D", "C"): 1}


def test_greedy_keeps_what_is_nearly_as_good():
    """Only an order that breaks the invariant by more than the slack is made anew, the others stay."""
    known = "A: B C D | B: A C D | C: A B D | D: A B C"
    near = {"A": 1.0, "B": 1.1, "C": 1.2, "D": 1.3}
    assert Greedy(slack=0.35).choose(view(fan_out=near, plan=known)) is None
    moved = Greedy(slack=0.2).choose(view(fan_out={"A": 1.0, "B": 1.1, "C": 1.2, "D": 0.7}, plan=known))
    assert orders(moved)["A"] == {("D", "B", "C"): 1} and orders(moved)["D"] == {("A", "B", "C"): 1}


def test_greedy_makes_no_cross_product():
    """In a star only the middle leads on."""
    found = orders(Greedy().choose(view(STAR, {"A": 9.0, "B": 0.5, "C": 0.1, "D": 0.2})))
    assert found["A"] == {("C", "D", "B"): 1} and found["B"] == {("A", "C", "D"): 1}


def test_greedy_sees_to_many_streams_in_turns():
    """A decision samples a bounded number of paths; a few decisions see to all streams."""
    names = tuple("ABCDEFGHIJKL")
    asked = []

    def fan_out(path, name):
        asked.append(path)
        return float(names.index(name) + 1)

    backwards = " | ".join(f"{n}: {' '.join(m for m in names[::-1] if m != n)}" for n in names)
    seen = view(Graph(names, (frozenset(names),)), fan_out, plan=backwards)
    greedy, plan = Greedy(), backwards
    for _ in range(12):
        choice = greedy.choose(evolve(seen, plan=plan))
        plan = plan if choice is None else choice.plan
    assert plan == " | ".join(f"{n}: {' '.join(m for m in names if m != n)}" for n in names)
    asked.clear()
    greedy.choose(evolve(seen, plan=plan))
    assert len(set(asked)) < 100


# -- Lottery -------------------------------------------------------------------------------------------------------


def steps(fan_out, probes=1000):
    return tuple(
        StepView((one,), (other,), probes, int(probes * fan_out[other]))
        for one in "ABCD"
        for other in "ABCD"
        if one != other
    )


def test_tickets_are_earned_by_rows_taken_and_paid_for_matches():
    """Where all STAIRs let fewer pass than they take, just so; else from the greatest fan-out down."""
    lottery = Lottery(floor=0.01)
    assert lottery.tickets(view(steps=steps({"A": 0.9, "B": 0.5, "C": 0.1, "D": 0.0}))) == pytest.approx(
        {"A": 300, "B": 1500, "C": 2700, "D": 3000}
    )
    assert lottery.tickets(view(steps=steps({"A": 4.0, "B": 2.0, "C": 1.0, "D": 3.0}))) == pytest.approx(
        {"A": 45, "B": 1500, "C": 2250, "D": 750}
    )


def test_rows_are_split_in_proportion_to_the_tickets():
    """At every step, among all that may come next, as exactly as weights can say it."""
    lottery = Lottery(draws=6)
    lottery.begin(tuple("ABCD"), 3)
    seen = view(steps=steps({"A": 1.0, "B": 0.5, "C": 0.75, "D": 0.75}))
    choice, tickets = lottery.choose(seen), lottery.tickets(seen)
    for name, ways in orders(choice).items():
        assert len(ways) == 6
        for depth in (0, 1):
            prefixes = Counter()
            for order, weight in ways.items():
                prefixes[order[: depth + 1]] += weight
            for prefix, weight in prefixes.items():
                left = [other for other in "ABCD" if other not in (name, *prefix[:-1])]
                whole = sum(prefixes[(*prefix[:-1], other)] for other in left)
                share = tickets[prefix[-1]] / sum(tickets[other] for other in left)
                assert weight / whole == pytest.approx(share, abs=0.005)
    assert "tickets" in choice.reason


def test_where_there_are_too_many_orders_they_are_drawn_as_the_tickets_say():
    """Over many windows each STAIR comes first as often as its share says, and a single row's way is drawn too."""
    lottery, seen = Lottery(draws=2), view(steps=steps({"A": 1.0, "B": 0.5, "C": 0.75, "D": 0.75}))
    lottery.begin(tuple("ABCD"), 3)
    first, last = Counter(), Counter()
    for _ in range(2000):
        ways = orders(lottery.choose(seen))["A"]
        assert len(ways) <= 2
        for order, weight in ways.items():
            first[order[0]] += weight / sum(ways.values())
        last[list(ways)[-1][0]] += 1
    for found in (first, last):
        assert [found[name] / 2000 for name in "BCD"] == pytest.approx([0.5, 0.25, 0.25], abs=0.03)


def test_back_pressure_leaves_fewer_tickets_to_a_stair_whose_probes_take_long():
    """Each pair that is looked at closely is as much work as a look-up, whether it was a match or not."""
    seen = view(steps=steps(dict.fromkeys("ABCD", 0.0)))
    slow = tuple(evolve(step, tried=3000 if step.target == ("B",) else 0) for step in seen.steps)
    lottery = Lottery(floor=0.01, draw="tuple")
    assert lottery.tickets(evolve(seen, steps=slow)) == {"A": 3000, "B": 750, "C": 3000, "D": 3000}
    assert set(Lottery(floor=0.01).tickets(evolve(seen, steps=slow)).values()) == {3000}


def test_a_lottery_that_draws_for_tuples_splits_few_rows_too():
    """In a batch of eight rows some go one way and some another, the same with the same seed, with the same results."""
    streams = {name: eddy.Stream({"k": "int64"}, window=eddy.Rows(64)) for name in "ABC"}
    query = eddy.Query(streams, where=["A.k = B.k", "B.k = C.k"])
    found = []
    for routing in (Lottery(period=600, draw="tuple"), Lottery(period=600, draw="tuple"), None):
        options = {"plan": "stems", "routing": routing} if routing else {"plan": "(A B) C"}
        engine, random, rows, split = eddy.Eddy(query, seed=7, **options), np.random.default_rng(5), [], 0
        for _ in range(200):
            before = {(s.source, s.target): s.probes for s in engine.view().steps}
            rows += engine.push("A", {"k": random.integers(0, 40, 8)}).rows.tolist()
            after = {(s.source, s.target): s.probes for s in engine.view().steps}
            gone = {
                target: after.get((("A",), (target,)), 0) - before.get((("A",), (target,)), 0)
                for target in "BC"
            }
            split += min(gone.values()) > 0
            rows += engine.push_all({name: {"k": random.integers(0, 40, 2)} for name in "BC"}).rows.tolist()
        found.append((sorted(rows), engine.plan, split))
    assert found[0] == found[1] and found[0][0] == found[2][0]
    assert "drawn 7: B C" in found[0][1] and found[0][2] > 100


def test_a_stair_behind_a_slow_predicate_is_tried_less():
    """Pairs that a predicate besides the key refuses count as work: they are shown to the policy."""
    streams = {name: eddy.Stream({"k": "int64", "v": "int64"}, window=eddy.Rows(300)) for name in "ABC"}
    query = eddy.Query(streams, where=["A.k = B.k", "A.k = C.k", "A.v + B.v < 0"])
    engine = eddy.Eddy(query, plan="A 1: B C | A 1: C B | B: A C | C: A B")
    random = np.random.default_rng(2)
    for _ in range(4):
        engine.push_all(
            {n: {"k": random.integers(0, 10, 100), "v": random.integers(0, 9, 100)} for n in "ABC"}
        )
    seen = engine.view()
    tried = {(s.source, s.target): (s.matches, s.tried / max(1, s.probes)) for s in seen.steps}
    assert tried[("A",), ("B",)][0] == 0 and tried[("A",), ("B",)][1] > 5
    assert tried[("A",), ("C",)][0] == 100 * 2 * tried[("A",), ("C",)][1]
    fair, drawn = Lottery().tickets(seen), Lottery(draw="tuple").tickets(seen)
    assert fair["B"] > 0 and drawn["B"] / drawn["C"] < fair["B"] / fair["C"]


def test_an_engine_splits_deltas_as_the_tickets_say():
    """Rows that arrive, and prefixes on their way, take the steps in proportion to the weights."""
    streams = {name: eddy.Stream({"k": "int64"}, window=eddy.Rows(2_000)) for name in "ABCD"}
    where = ["A.k = B.k", "B.k = C.k", "C.k = D.k"]
    engine = Inside(eddy.Query(streams, where=where), "stems", routing=Lottery(period=20_000, draws=6))
    random = np.random.default_rng(5)

    def push(rows):
        engine.push_all(
            {name: {"k": random.integers(0, 1500 + 500 * i, rows)} for i, name in enumerate("ABCD")}
        )

    for _ in range(6):
        push(4_000)
    engine.freeze()  # else it draws anew before the push
    weights = orders(engine.plan)["A"]
    engine.state.steering.take_view()
    push(4_000)
    probes = {(step.source, step.target): step.probes for step in engine.view().steps}
    total = sum(weights.values())
    for other in "BCD":
        share = sum(weight for order, weight in weights.items() if order[0] == other) / total
        assert probes[("A",), (other,)] == pytest.approx(4_000 * share, abs=8)


def chain(names="ABC", rows=300):
    streams = {name: eddy.Stream({"k": "int64"}, window=eddy.Rows(rows)) for name in names}
    where = [f"{a}.k = {b}.k" for a, b in itertools.pairwise(names)]
    return eddy.Query(streams, where=where)


def test_a_batch_is_split_among_the_ways():
    """Each row goes one way, in proportion to the weights; a step that two ways have in common counts once."""
    engine = eddy.Eddy(chain(), "A 5: B C | A 3: C B | B: A C | C 1: A B | C 2: A B")
    for _ in range(3):
        engine.push("A", {"k": np.arange(160)})
    found = {(step.source, step.target): step.probes for step in engine.view().steps}
    assert found[("A",), ("B",)] == 300 and found[("A",), ("C",)] == 180
    assert engine.plan == "A 5: B C | A 3: C B | B: A C | C: A B"
    assert engine.explain().splitlines()[3:5] == [
        "  A visits B, then C (62% of its rows)",
        "  A visits C, then B (38% of its rows)",
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_no_row_is_left_out_and_none_is_taken_twice(size):
    """Whatever the size of a batch, in whole and in parts."""
    plain, split, drawn = (eddy.Eddy(chain(), plan) for plan in ("stems", *[
        "A 1: B C | A 1: C B | B 7: A C | B 2: C A | C 3: A B | C 1: B A"
    ] * 2))  # fmt: skip
    values = random.Random(0)
    for i in range(1200 // size if size > 1 else 400):
        batch = {"k": [values.randrange(60) for _ in range(size)]}
        wanted = Counter(map(tuple, plain.push("ABC"[i % 3], batch).rows.tolist()))
        assert Counter(map(tuple, split.push("ABC"[i % 3], batch).rows.tolist())) == wanted
        parts = drawn.push("ABC"[i % 3], batch, max_rows=5)
        assert Counter(tuple(row) for part in parts for row in part.rows.tolist()) == wanted


# -- Skinner and Random --------------------------------------------------------------------------------------------


def test_skinner_learns_the_order_that_the_clock_likes():
    """Of 24 orders one is much faster; after some slices it runs most of the time, and again after a change."""
    skinner = Skinner()
    skinner.begin(tuple("ABCD"), 1)
    seen = view(seconds=1.0)

    def run(best, slices):
        found, choice = [], skinner.choose(seen)
        for _ in range(slices):
            order = skinner._order
            found.append(order)
            wrong = sum(one != other for one, other in zip(order, best, strict=True))
            choice = skinner.choose(evolve(seen, plan=choice.plan, seconds=1.0 + wrong))
        return found[slices // 2 :]

    assert run("CADB", 400).count(tuple("CADB")) > 100
    assert run("BDAC", 1200).count(tuple("BDAC")) > 300


def test_skinner_makes_orderings_or_trees_of_an_order():
    """Orderings follow it as far as predicates go; with composites, or pins, it is a left-deep tree."""
    for composites, pinned, shape in ((False, (), ":"), (True, (), "(("), (False, ("(A B)",), "((A B)")):
        skinner = Skinner(composites=composites)
        skinner.begin(tuple("ABCD"), 0)
        plan = skinner.choose(view(STAR, pinned=pinned)).plan
        assert shape in plan


def test_random_plans_differ():
    """Trees and orderings, many of each; a pinned sub-plan is in all of them, and if it is the whole, it stays."""
    policy = Random()
    policy.begin(tuple("ABCD"), 0)
    plans = {policy.choose(view()) for _ in range(200)}
    assert (
        len([plan for plan in plans if ":" in plan]) > 50
        and len([plan for plan in plans if ":" not in plan]) > 15
    )
    assert all("(C (A D))" in policy.choose(view(pinned=("C (A D)", "(A D)"))) for _ in range(20))
    assert policy.choose(view(pinned=("(A B) (C D)",))) is None
