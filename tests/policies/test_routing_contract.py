"""What every routing policy must do, whatever it decides. Policies are found, not listed: a new one is checked too."""

from __future__ import annotations

import copy
import importlib
import math
import pickle
import pkgutil
import sys
from collections import Counter

import numpy as np
import pytest
from attrs import evolve, fields, has

import eddy
import policies.routing
from eddy.plan.orderings import Orderings
from eddy.plan.plan import joins
from policies import Choice, Fixed, Routing
from policies.routing import StepView
from tests.cases import cut
from tests.checks import check
from tests.strategies import Pick, small
from tests.worlds import World, decisions, read


def kinds(base=Routing):
    """Every policy that can be made. (A class with slots is a copy of another, there until it is collected.)"""
    for module in pkgutil.iter_modules(policies.routing.__path__):
        importlib.import_module(f"policies.routing.{module.name}")
    ours = [kind for kind in base.__subclasses__() if kind.__module__.startswith("policies.")]
    found = {kind for kind in ours if getattr(sys.modules[kind.__module__], kind.__name__) is kind}
    for kind in list(found):
        found |= set(kinds(kind))
    return sorted((k for k in found if not k.__abstractmethods__ and not k.__name__.startswith("_")), key=str)


EVERY = pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
CLOCKS = ("period", "every", "after")


def asked_often(kind, events=5, **options):
    """A policy that is asked every few events, with those of the options that it has."""
    names = {attribute.alias for attribute in fields(kind) if attribute.init} if has(kind) else set()
    options |= dict.fromkeys(CLOCKS, events)
    return kind(**{name: value for name, value in options.items() if name in names})


# -- by views that are made up -----------------------------------------------------------------------------------


@EVERY
def test_it_never_names_a_plan_that_cannot_be(kind):
    """Over random join graphs, of 2 to 8 streams, connected or not."""
    for seed in range(40):
        decisions(asked_often(kind), seed, 2 + seed % 7, times=8)


@EVERY
def test_the_same_seed_gives_the_same_decisions(kind):
    """Also when an object is used for a second engine: `begin` begins anew."""
    for seed in range(4):
        policy = asked_often(kind)
        first = decisions(policy, seed, 4)
        assert decisions(policy, seed, 4) == first == decisions(asked_often(kind), seed, 4)


@EVERY
def test_it_pickles_and_copies_are_independent(kind):
    """In the middle of its work: the copy goes on as the original would, and neither disturbs the other."""
    world, policy = World(3, 5), asked_often(kind)
    policy.begin(world.graph.names, 1)
    for _ in range(6):
        world.take(policy.choose(world.view()))
    twins = [pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy), policy]
    assert [repr(twin) for twin in twins] == [repr(policy)] * 3
    assert [twin.period for twin in twins] == [policy.period] * 3
    plan, views = world.plan, [world.view() for _ in range(10)]
    found = []
    for twin in twins:
        world.plan = plan
        found.append([twin.choose(evolve(view, plan=world.plan)) for view in views])
    assert found[0] == found[1] == found[2]


@EVERY
def test_its_memory_is_bounded(kind):
    """Thousands of decisions leave it no larger than hundreds did."""
    world, policy = World(5, 4), asked_often(kind)
    if hasattr(policy, "nodes"):
        policy.nodes = 200
    policy.begin(world.graph.names, 0)
    sizes = []
    for i in range(1500):
        world.take(policy.choose(world.view()))
        if i % 50 == 49:
            sizes.append(len(pickle.dumps(policy)))
    assert max(sizes[15:]) < 1.3 * max(sizes[:15]) + 1000


@EVERY
def test_pins_are_kept_in_mind(kind):
    """A policy whose plans cannot have a pinned sub-plan stays; others name plans that have it."""
    for seed in range(10):
        policy, world = asked_often(kind), World(seed, 5)
        world.plan = "((A B) C) (D E)"
        policy.begin(world.graph.names, seed)
        for _ in range(5):
            choice = policy.choose(world.view(("(A B)",)))
            if choice is not None:
                plan = read(choice.plan if isinstance(choice, Choice) else choice, world.graph)
                made = plan.kept if isinstance(plan, Orderings) else [join.streams for join in joins(plan)]
                assert frozenset("AB") in made, plan


@EVERY
def test_it_needs_no_statistics_to_decide(kind):
    """Nothing has arrived, nothing was counted: it stays, or names a plan that can be."""
    world = World(1, 4)
    policy = asked_often(kind)
    policy.begin(world.graph.names, 0)
    empty = evolve(
        world.view(),
        arrivals=dict.fromkeys("ABCD", 0),
        live=dict.fromkeys("ABCD", 0),
        steps=tuple(StepView(source, target, 0, 0) for source, target in world.steps()),
        stairs=(),
        sample=lambda start, path: (0.0,) * len(path),
        seconds=0.0,
    )
    for _ in range(3):
        world.take(policy.choose(evolve(empty, plan=world.plan)))


@EVERY
def test_it_goes_on_from_any_plan(kind):
    """The user may have chosen it: a tree of any shape, orderings, rows that take several ways."""
    for seed in range(10):
        world, policy = World(seed, 4), asked_often(kind)
        for plan in (
            "(A B) (C D)",
            "stems",
            "A 3: B C D | A 1: D C B | B: A C D | C: A B D | D: A B C",
            "A (B (C D))",
            "A: B C D | B: A D C | C: (A B) D | D: C (A B)",
        ):
            world.plan = str(read(plan, world.graph))
            policy.begin(world.graph.names, seed)
            for _ in range(4):
                world.take(policy.choose(world.view()))


# -- in an engine ------------------------------------------------------------------------------------------------


def changes_a_bad_plan(routing):
    """Whether a policy ever changes a plan over a feed where the best one is another by far in each of its halves.

    First each row of A has 20 partners in B, and next to none of these has one in C or D; then it is C and D.
    """
    streams = {name: eddy.Stream({"x": "int64", "y": "int64"}, window=eddy.Rows(400)) for name in "ABCD"}
    query = eddy.Query(streams, where=["A.x = B.x", "B.y = C.y", "C.x = D.x"])
    engine = eddy.Eddy(query, "((A B) C) D", routing=routing)
    rng = np.random.default_rng(1)
    for n in range(160):
        many = "AB" if n < 80 else "CD"
        engine.push_all(
            {
                name: {
                    "x": rng.integers(0, 20 if name in many else 4000, 100),
                    "y": rng.integers(0, 4000, 100),
                }
                for name in "ABCD"
            }
        )
        if engine.decisions and engine.decisions[-1].outcome == "changed":
            return True
    return False


@EVERY
def test_it_decides(kind):
    """A policy that is asked leaves a bad plan; one that never does is asked for nothing, and says so by its period."""
    free = (
        {"overhead": math.inf, "gain": 0} if kind.__name__ in ("Pop", "Card") else {}
    )  # else they save time
    assert changes_a_bad_plan(asked_often(kind, 400, **free)) == (asked_often(kind).period is not None)


def test_a_policy_that_never_answers_breaks_the_contract():
    """The check above can fail."""

    class Mute(Fixed):
        period = 5

    assert not changes_a_bad_plan(Mute()) and Mute().period is not None


@EVERY
def test_results_stay_exact_while_it_decides(kind):
    """Random queries, windows, techniques and feedback, against the oracle."""
    outcomes = Counter()
    for seed in range(12):
        case = cut(small(Pick(1000 + seed), migrations=5, limit=10_000), 10_000)
        engine = check(case, routing=asked_often(kind))
        outcomes.update(decision.outcome for decision in engine.decisions)
    assert outcomes["refused"] == 0, [d for d in engine.decisions if d.outcome == "refused"]
