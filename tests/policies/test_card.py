"""Base, Pop and Card: the three modes of the thesis, over views made by hand and in an engine."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import eddy
from policies import Base, Card, Pop, Routing
from policies.optimizer.plans import read
from policies.optimizer.thesis import StreamPlan
from policies.routing.reoptimizer import Reoptimizer, stuck
from tests.plan_model import valid
from tests.views import star

STEMS = "A: B C D | B: A C D | C: A B D | D: A B C"
RANGES = {"A": 5_000, "B": 100, "C": 200, "D": 20_000}
"""B and C have many rows for each key, D has few that match anything."""


def view(plan=STEMS, ranges=None, **more):
    return star("ABCD", ranges or RANGES, plan, **more)


def literal(kind, **more):
    """As the thesis has it: no limit to the time that it takes, and the smallest saving counts."""
    made = kind(overhead=math.inf, gain=0.0, **more)
    made.begin(tuple("ABCD"), 7)
    return made


# -- Base ------------------------------------------------------------------------------------------------------------


def test_base_chooses_once():
    """By chance, by its seed, before anything is known; then it is never asked again."""
    plans = set()
    for seed in range(5):
        base = Base()
        base.begin(tuple("ABCD"), seed)
        assert base.period == 1
        plan = base.choose(view())
        assert valid(plan, "ABCD") and base.period is None
        again = Base()
        again.begin(tuple("ABCD"), seed)
        assert again.choose(view()) == plan
        plans.add(plan)
    assert len(plans) > 1


def test_base_may_wait_until_something_is_known():
    """`after` so many events it chooses by cardinalities: D, with which hardly anything matches, comes first."""
    base = Base(after=5_000)
    assert base.period == 5_000
    orders = read(base.choose(view()))
    assert all(orders[name][0] == "D" for name in "ABC")


# -- Pop -------------------------------------------------------------------------------------------------------------


def test_pop_plans_at_its_first_look_and_keeps_what_is_best():
    """T87: on a stream that stays as it is there is not one more regeneration."""
    pop = literal(Pop)
    plan = pop.choose(view())
    assert valid(plan, "ABCD") and pop.regenerations == 4
    assert all(order[0] == "D" for name, order in read(plan).items() if name != "D")
    for _ in range(50):
        assert pop.choose(view(plan)) is None
    assert pop.regenerations == 4 and pop.checks == 51


def test_pop_plans_again_when_a_cardinality_leaves_its_range():
    """D gets as many matches as B had, and B as few as D: the orders turn round."""
    pop = literal(Pop)
    plan = pop.choose(view())
    assert pop.choose(view(plan)) is None
    turned = RANGES | {"B": 20_000, "D": 100}
    other = pop.choose(view(plan, turned))
    assert other is not None and all(order[0] == "B" for name, order in read(other).items() if name != "B")
    assert pop.choose(view(other, turned)) is None


def test_ranges_move_with_slow_growth(monkeypatch):
    """The revision path: while windows grow step by step, ranges that move along are left less often."""

    def regenerations():
        pop = literal(Pop)
        plan = pop.choose(view())
        for live in range(1_000, 2_000, 20):
            assert pop.choose(view(plan, live=dict.fromkeys("ABCD", live))) is None
        return pop.regenerations

    moving = regenerations()
    monkeypatch.setattr(Reoptimizer, "revise", lambda *given: None)
    assert moving < regenerations() / 1.5


def test_a_stream_without_arrivals_shows_nothing():
    """Its plan is not judged; nothing is divided by nothing."""
    pop = literal(Pop)
    silent = {"A": 1_000, "B": 0, "C": 1_000, "D": 0}
    plan = pop.choose(view(arrivals=silent))
    assert valid(plan, "ABCD")
    assert pop.choose(view(plan, arrivals=dict.fromkeys("ABCD", 0))) is None


# -- Card ------------------------------------------------------------------------------------------------------------


def test_t87_card_bypasses_two_checks_of_three_while_rates_stay():
    """d is 0, so a fraction of alpha = 1/3 passes phase 1, by the seed; and no plan is made again."""
    card = literal(Card)
    plan = card.choose(view())
    for _ in range(600):
        assert card.choose(view(plan)) is None
    assert card.passed + card.checks == 601
    assert 0.28 < (card.checks - 1) / 600 < 0.39
    assert card.regenerations == 4
    same = literal(Card)
    same.choose(view())
    for _ in range(600):
        same.choose(view(plan))
    assert same.passed == card.passed


def test_card_looks_closer_when_rates_change():
    """From all arrivals of one stream to all of another, a check is never bypassed."""
    card = literal(Card)
    plan = card.choose(view())
    one, other = {"A": 1_000, "B": 0, "C": 0, "D": 0}, {"A": 0, "B": 1_000, "C": 0, "D": 0}
    while card.passed + card.checks < 40:
        card.choose(view(plan, arrivals=one))
    before = card.checks
    card.choose(view(plan, arrivals=other))
    assert card.checks == before + 1


def test_t85_local_optima():
    """Example 5.4.2: AB = 5 and AC = 10 keep A: B C; AB = 10 and AC = 5 do not; a margin forgives a little."""
    nothing = np.zeros(3), np.zeros(3), np.zeros(4)
    plan = StreamPlan(0, (1, 2), 0.0, *nothing)
    assert not stuck(plan, {0b011: 5.0, 0b101: 10.0}, 3)
    assert stuck(plan, {0b011: 10.0, 0b101: 5.0}, 3)
    assert not stuck(plan, {0b011: 10.0, 0b101: 9.0}, 3, margin=0.2)
    assert not stuck(plan, {0b011: 10.0}, 3) and not stuck(plan, {0b101: 5.0}, 3)


def test_pairs_of_rare_streams_do_not_look_small():
    """Matches of A with B are many because A has many rows, those of C with A few: by sizes, A: B is no worse."""
    arrivals = {"A": 1_000, "B": 1_000, "C": 10, "D": 10}
    plan = "A: B C D | B: A C D | C: A B D | D: A B C"
    planner = Reoptimizer()
    reading = planner.read(view(plan, dict.fromkeys("ABCD", 1_000), arrivals=arrivals))
    assert reading.collected[0b0011] == pytest.approx(reading.collected[0b0101], rel=0.05)
    counted = Reoptimizer(literal=True).read(view(plan, dict.fromkeys("ABCD", 1_000), arrivals=arrivals))
    assert counted.collected[0b0011] > 50 * counted.collected[0b0101]


def test_absent_cardinalities_come_from_samples_or_from_larger_joins():
    """Both ways give valid plans; with samples the first plan is the best already."""
    for absent in ("sample", "supersets"):
        card = literal(Card, absent=absent)
        assert valid(card.choose(view()), "ABCD")
    with pytest.raises(ValueError, match="absent"):
        Card(absent="guess")


# -- all of them -----------------------------------------------------------------------------------------------------


def test_thinking_takes_no_more_than_its_share():
    """With `overhead`, plans are put off until the work by the model has earned them, and looks become rarer."""
    card = Card(overhead=0.01)
    card.begin(tuple("ABCD"), 0)
    assert card.period == 1_000
    assert card.choose(view()) is None and card.regenerations == 0
    looks, events = 1, 1_000
    assert card.period > 20_000
    while card.regenerations == 0 and looks < 20:
        shares, events = dict.fromkeys("ABCD", card.period // 4), events + card.period
        plan = card.choose(view(arrivals=shares, events=events))
        looks += 1
    assert plan is not None and looks < 5


def test_a_saving_that_is_too_small_is_no_reason():
    """With `gain`, orders that are nearly as good stay, and what was measured is inside their ranges then."""
    alike = {"A": 1_000, "B": 1_010, "C": 1_020, "D": 1_030}
    pop = Pop(overhead=math.inf, gain=0.2)
    pop.begin(tuple("ABCD"), 0)
    for _ in range(5):
        assert pop.choose(view(ranges=alike)) is None
    assert pop.regenerations == 4


@pytest.mark.parametrize("policy", [Pop(), Card(), Base(after=100)], ids=repr)
@pytest.mark.parametrize("count", [13, 64, 70])
def test_more_than_twelve_streams_are_refused_when_the_engine_is_made(policy, count):
    """Tables of all sets would be too large: one sentence says so, and what to use in place of it."""
    streams = {f"s{i}": eddy.Stream({"x": "int64"}, window=eddy.Rows(3)) for i in range(count)}
    query = eddy.Query(streams, where=[f"s0.x = s{i}.x" for i in range(1, count)])
    with pytest.raises(ValueError, match=rf"up to 12 streams, .* has {count}: use policies\.Auto"):
        eddy.Eddy(query, routing=policy)


def test_orders_by_chance_are_for_any_number_of_streams():
    """Where nothing is measured there is no table."""
    names = "ABCDEFGHIJKLM"
    plan = " | ".join(f"{n}: {' '.join(names.replace(n, ''))}" for n in names)
    assert valid(Base().choose(star(names, dict.fromkeys(names, 1_000), plan)), names)


@pytest.mark.parametrize("policy", [Base(), Pop(overhead=math.inf), Card(overhead=math.inf)])
def test_copies_decide_alike_and_alone(policy):
    """A policy can be pickled and copied in the middle of its work, and the copy does not disturb it."""
    policy.begin(tuple("ABCD"), 3)
    plan = policy.choose(view())
    copies = [copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))]
    turned = RANGES | {"B": 20_000, "D": 100}
    trails = []
    for one in [*copies, policy]:
        trail = []
        for ranges in (RANGES, turned, RANGES, turned):
            trail.append(one.choose(view(plan, ranges)) if one.period else None)
        trails.append(trail)
    assert trails[0] == trails[1] == trails[2]


@pytest.mark.parametrize("policy", [Base, Pop, Card])
def test_engines_give_the_same_results_whoever_chooses(policy):
    """Plans change in the middle of a feed whose keys turn round, and the results are those of a fixed plan."""
    query = eddy.Query(
        {name: eddy.Stream({"x": "int64", "y": "int64"}, window=eddy.Rows(60)) for name in "ABCD"},
        where=["A.x = B.x", "B.y = C.y", "A.x = D.x"],
    )

    def results(routing: Routing | None):
        engine = eddy.Eddy(query, plan="((A B) C) D", routing=routing, seed=5)
        random, found = np.random.default_rng(0), []
        for turn in range(40):
            tops = (5, 30) if turn < 20 else (30, 5)
            batch = {
                name: {
                    "x": random.integers(0, tops[name in "BD"], 12),
                    "y": random.integers(0, tops[name in "BC"], 12),
                }
                for name in "ABCD"
            }
            found.append(sorted(map(tuple, engine.push_all(batch).rows.tolist())))
        return found, engine

    plain, _ = results(None)
    given = policy() if policy is Base else policy(every=48, overhead=math.inf, gain=0.0)
    found, engine = results(given)
    assert found == plain
    assert ":" in engine.plan
    assert engine.statistics().migrations >= (1 if policy is Base else 2)


def test_a_pinned_sub_plan_is_left_alone():
    """Orderings keep no composites, so these policies do not plan where one is pinned."""
    for policy in (Base(), Pop(overhead=math.inf), Card(overhead=math.inf)):
        policy.begin(tuple("ABCD"), 0)
        assert policy.choose(view(pinned=("(A B)",))) is None
