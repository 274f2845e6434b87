"""Every number that the thesis works out (T77 to T87 of the scenarios), and the guards around its algorithms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from policies.optimizer import Graph
from policies.optimizer.rates import distance, probability
from policies.optimizer.revision import outside, shifted
from policies.optimizer.thesis import Costs, Sets, cost_of_order, plan_stream
from policies.optimizer.thesis_kernels import ALL_ALIKE, lower, upper
from tests import thesis_model

NOTHING = ALL_ALIKE


def keys(text):
    """Cardinalities from "A=10 AB=100"."""
    return {frozenset(name): float(value) for name, value in (part.split("=") for part in text.split())}


def edges(names, *pairs):
    return Graph(tuple(names), tuple(map(frozenset, pairs)))


def one_key(names):
    return Graph(tuple(names), (frozenset(names),))


def costs(graph, collected, increments, caps=None, treed=False, literal=True):
    sets = Sets(graph)
    n = len(graph.names)
    found = np.full(n, NOTHING) if caps is None else np.array(caps, float)
    return Costs(
        sets, sets.numbers(collected), np.array(increments, float), np.ones(n), found, treed, literal
    )


# -- 4.2: cardinalities ----------------------------------------------------------------------------------------------


def test_t77_an_absent_cardinality():
    """Example 4.2.2: BC is 20 * 30 where no predicate is between them, and that of ABC where one is."""
    collected = keys("A=10 B=20 C=30 AB=5 AC=7 ABC=8")
    assert Sets(edges("ABC", "AB", "AC")).absent("BC", collected) == 600
    assert Sets(one_key("ABC")).absent("BC", collected) == 8


def test_t78_inner_join_sets():
    """Example 4.2.1, and two pairs without a predicate between them, which are no join of four streams."""
    star = Sets(edges("ABCD", "AB", "AC", "AD"))
    assert joined(star, "ACD") and not joined(star, "BCD")
    assert joined(Sets(one_key("ABCD")), "BCD")
    apart = Sets(edges("ABCD", "AB", "CD"))
    assert not joined(apart, "ABCD")
    assert apart.absent("ABCD", keys("A=10 B=10 C=10 D=10 AB=4 CD=3")) == 12


def joined(sets, names):
    """Whether a set is estimated as a join (Definition 4.2.2)."""
    return sets.connected[sets.mask(names)] == 1


def test_absent_cardinalities_of_parts():
    """A part that was collected is taken as collected, and the smallest of the smallest larger joins otherwise."""
    made = edges("ABCDE", "AB", "BC", "DE")
    collected = keys("A=10 B=20 C=30 D=40 E=50 ABC=9 BC=25 ABCDE=70")
    sets = Sets(made)
    assert sets.absent("BCD", collected) == 25 * 40
    assert sets.absent("AB", collected) == 9
    assert sets.absent("DE", collected) == 70
    assert sets.absent("ACE", collected) == 10 * 30 * 50


# -- 4.3: selectivities ----------------------------------------------------------------------------------------------


def test_t79_selectivities():
    """Example 4.3.1: S(AC, D) is S(A, D), since C and D have no predicate; what was collected is taken as it is."""
    sets = Sets(Graph(tuple("ABCD"), (frozenset("ABC"), frozenset("AD"))))
    collected = keys("A=10 B=20 C=30 D=40 AB=50 ABC=60 AD=8 AC=9")
    numbers = sets.numbers(collected)
    assert numbers[sets.mask("ABC")] == 60
    assert numbers[sets.mask("ACD")] == pytest.approx(8 / (10 * 40) * 9 * 40)
    assert numbers[sets.mask("CD")] == 30 * 40


@pytest.mark.parametrize("seed", range(6))
def test_numbers_of_all_sets_agree_with_the_formulas_in_words(seed):
    """For chains, stars and one key, with some cardinalities collected and others not."""
    random = np.random.default_rng(seed)
    names = "ABCDE"
    made = (one_key(names), edges(names, "AB", "BC", "CD", "DE"), edges(names, "AB", "AC", "AD", "AE"))[
        seed % 3
    ]
    collected = {frozenset((name,)): float(random.integers(5, 50)) for name in names}
    for size in (2, 3, 4, 5):
        for some in itertools.combinations(names, size):
            if random.random() < 0.4 and made.connected(some):
                collected[frozenset(some)] = float(random.integers(1, 500))
    sets, expected = Sets(made), thesis_model.numbers(collected, made)
    found = sets.numbers(collected)
    for some, value in expected.items():
        assert found[sets.mask(some)] == pytest.approx(value), sorted(some)


# -- 4.1: plans ------------------------------------------------------------------------------------------------------

T82 = "A=10 B=20 C=30 D=40 AB=100 AC=400 AD=500 ABC=50 ABD=120 ACD=300 ABCD=10"


def test_t86_the_plan_with_the_least_cost():
    """A: B C D costs 5,200 and A: B D C 7,800, a probe costing the stream's cardinality."""
    given = costs(one_key("ABCD"), keys(T82), [10, 1, 1, 1])
    plan = plan_stream(given, 0)
    assert (plan.order, plan.cost) == ((1, 2, 3), 5200)
    number, probe = keys(T82), {"A": 10, "B": 20, "C": 30, "D": 40}
    assert thesis_model.ordering_cost("A", "BDC", 10, number, probe) == 7800
    assert cost_of_order(given, plan) == 5200


@pytest.mark.parametrize("literal", [True, False])
@pytest.mark.parametrize("treed", [True, False])
@pytest.mark.parametrize("shape", ["one key", "star", "chain"])
def test_t86_brute_force_over_all_orders_agrees(shape, treed, literal):
    """Since a set has one number, whatever the order, dynamic programming finds the best order of each stream."""
    names = "ABCDEF"
    made = {
        "one key": one_key(names),
        "star": edges(names, "AB", "AC", "AD", "AE", "AF"),
        "chain": edges(names, "AB", "BC", "CD", "DE", "EF"),
    }[shape]
    random = np.random.default_rng(1)
    collected = {frozenset((name,)): float(random.integers(5, 500)) for name in names}
    for size in (2, 3, 4):
        for some in itertools.combinations(names, size):
            if random.random() < 0.5:
                collected[frozenset(some)] = float(random.integers(1, 5000))
    given = costs(made, collected, random.integers(1, 100, 6), treed=treed, literal=literal)
    number = thesis_model.numbers(collected, made)
    probe = dict(zip(names, given.probes.tolist(), strict=True))
    for start, name in enumerate(names):
        _, share = given.flows(start)
        every = []
        for order in itertools.permutations([other for other in names if other != name]):
            if all(made.linked((name, *order[:i]), (other,)) for i, other in enumerate(order)):
                every.append(
                    thesis_model.ordering_cost(name, order, given.increments[start], number, probe, share)
                )
        assert plan_stream(given, start).cost == pytest.approx(min(every))


def test_probes_in_trees_of_no_row_and_of_one():
    """log2 of 0 is no cost below that of looking."""
    given = costs(one_key("AB"), keys("A=0 B=1"), [1, 1], treed=True)
    assert given.probes.tolist() == [1.0, 1.0]
    assert costs(one_key("AB"), keys("A=8 B=1"), [1, 1], treed=True).probes[0] == 3.0


# -- 5.2: validity ranges --------------------------------------------------------------------------------------------


def test_t82_ranges():
    """Upper bounds of D and ABC against a rival of 7,800; lower ones of C, D and B by the same rival's joins."""
    assert upper(3200, 50, False, 40, 7800, NOTHING) == 93
    assert upper(3200, 40, False, 50, 7800, NOTHING) == 116
    assert lower(4200, 120, False, 30, 5200) == 8
    assert lower(200, 100, False, 40, 1600) == 13
    assert lower(0, 10, False, 20, 1600 - 4000) == 0


def test_t82_ranges_of_the_whole_plan():
    """The plan's own ranges: those above, and for C and AB by the rival of A: B C, which is A: C B."""
    plan = plan_stream(costs(one_key("ABCD"), keys(T82), [10, 1, 1, 1]), 0)
    assert plan.highs[3] == 93 and plan.between[3] == 116
    assert (plan.lows[2], plan.lows[3]) == (8, 13)
    rival = 10 * 30 + 400 * 20  # A: C B
    assert plan.highs[2] == math.floor((rival - 200) / 100) + 1
    assert plan.between[2] == math.floor((rival - 200) / 30) + 1
    assert plan.highs[1] == NOTHING and plan.lows[0] == 0 and plan.highs[0] == NOTHING


def test_t83_windows_of_so_many_rows():
    """Table 5.1: a window of 50 rows is the bound, one of 100 is not; at the window's length nothing is computed."""
    assert upper(3200, 50, False, 40, 7800, 50) == 50
    assert upper(3200, 50, False, 40, 7800, 100) == 93
    full = costs(one_key("ABCD"), keys(T82), [10, 1, 1, 1], caps=[10, 20, 30, 40])
    assert plan_stream(full, 0).highs.tolist() == [NOTHING, 20, 30, 40]


def test_t84_guards_of_the_search():
    """A cardinality of 0, a cost that does not grow, and a rival that costs the same: it ends, with a bound or none."""
    assert upper(0, 0, False, 0, 5, NOTHING) == NOTHING
    assert upper(0, 0, False, 10, 5, 70) == 70
    assert upper(0, 1, False, 0, 5, NOTHING) == 6
    assert upper(0, 1, False, 5, 5, NOTHING) == 6
    assert upper(0, 1e-9, True, 5, 1e9, NOTHING) == NOTHING
    assert lower(0, 0, False, 10, 5) in (9, 10)
    assert lower(0, 1, False, 0, 5) == 0


@pytest.mark.parametrize("treed", [True, False])
def test_bounds_are_where_the_costs_cross(treed):
    """Against a search over all numbers, for random plans and rivals."""
    random = np.random.default_rng(2)

    def cost(base, slope, x):
        return base + slope * (max(math.log2(max(x, 1)), 1.0) if treed else x)

    for _ in range(200):
        base, slope, value = random.uniform(0, 100), random.uniform(0.1, 10), int(random.integers(1, 200))
        rival = cost(base, slope, value) + random.uniform(0, 30)
        found = upper(base, slope, treed, float(value), rival, NOTHING)
        if found < NOTHING:
            assert cost(base, slope, found) > rival >= cost(base, slope, found - 1)
        line = random.uniform(0, cost(base, slope, value))
        low = lower(base, slope, treed, float(value), line)
        assert low == 0 or cost(base, slope, low) < line <= cost(base, slope, low + 1)


def test_t81_the_shift():
    """Example 5.2.2: [0, 30] becomes [5, 35] when the value goes from 20 to 25; 31 is outside of [0, 30]."""
    one = np.array
    low, high = shifted(one([0.0]), one([30.0]), one([20.0]), one([25.0]), one([NOTHING]))
    assert (low[0], high[0]) == (5, 35)
    assert outside(one([0.0]), one([30.0]), one([31.0])).all()
    assert not outside(low, high, one([31.0])).any()


def test_the_shift_ends_at_nothing_and_at_the_window():
    """No bound below 0; none above a window's rows; and no shift once the window is full."""
    one = np.array
    assert shifted(one([5.0]), one([30.0]), one([20.0]), one([2.0]), one([NOTHING]))[0][0] == 0
    assert shifted(one([5.0]), one([30.0]), one([20.0]), one([45.0]), one([50.0]))[1][0] == 50
    low, high = shifted(one([5.0]), one([30.0]), one([20.0]), one([50.0]), one([50.0]))
    assert (low[0], high[0]) == (5, 30)


# -- 5.3: arrival rates ----------------------------------------------------------------------------------------------


def test_t80_arrival_rates():
    """Example 5.3.2: d is 0.1 and p 0.4; example 1.3.1: all rates times five are the same rates."""
    before, now = (100, 200, 300, 400), (200, 100, 300, 400)
    assert distance(before, now) == pytest.approx(0.1)
    assert probability(before, now, 1 / 3) == pytest.approx(0.4)
    assert distance((100, 100, 100), (500, 500, 500)) == 0
    assert probability((100, 100, 100), (500, 500, 500), 1 / 3) == pytest.approx(1 / 3)
    assert probability((1, 0), (0, 1), 1 / 3) == 1
    assert probability((0, 0), (0, 1), 1 / 3) == pytest.approx(1 / 3)
