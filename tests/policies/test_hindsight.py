"""Changes of plan are judged by the clock: one that made things slower is taken back."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from attrs import evolve

import eddy
from policies import Auto, Skinner
from policies.routing.meter import ENOUGH, Meter, slower

WINDOW, ROWS, KEYS = 2_000, 1_365, 300
TREE = "(A B) C"


def interval_join():
    """Three streams by one key, and by times between all pairs: the model does not know what comparing these takes."""
    streams = {name: eddy.Stream({"k": "int64", "ts": "int64"}, window=eddy.Rows(1_500)) for name in "ABC"}
    pairs = [f"{a}.ts <= {b}.ts" for a, b in ("AB", "BC", "AC")]
    pairs += [f"{b}.ts <= {a}.ts + {WINDOW}" for a, b in ("AB", "BC", "AC")]
    return eddy.Query(streams, where=["A.k = B.k", "B.k = C.k", *pairs])


def feed(batches, rows=ROWS, keys=KEYS):
    random = np.random.default_rng(1)
    for i in range(batches):
        first = 3 * i * rows
        yield {
            name: {
                "k": random.integers(0, keys, rows),
                "ts": np.sort(random.integers(first, first + 3 * rows, rows)),
            }
            for name in "ABC"
        }


def run(seconds, batches=120, noise=0.0, resized=None, **options):
    """An engine under Auto, by whose clock an event takes so many nanoseconds under a tree, and under orderings."""
    random = np.random.default_rng(2)

    def clock(seen):
        events = seen.events if isinstance(seen.arrivals, tuple) else sum(seen.arrivals.values())
        tree, other = seconds
        return events * (tree if engine.plan == TREE else other) * 1e-9 * (1 + noise * random.exponential())

    engine = eddy.Eddy(interval_join(), TREE, routing=Auto(every=8_192, clock=clock, **options))
    for batch in feed(batches):
        engine.push_all(batch)
        if resized is not None and engine.decisions:
            for small in feed(resized, rows=200):
                engine.push_all(small)
            return engine
    return engine


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_a_change_that_made_things_slower_is_taken_back_and_not_made_again(noise):
    """Orderings are believed to be cheaper, and take 15 % longer: it goes back, says why, and remembers."""
    engine = run((100, 115), noise=noise)
    there, again = engine.decisions
    assert (there.former, again.plan, engine.plan) == (TREE, TREE, TREE)
    assert there.outcome == again.outcome == "changed" and there.believed_gain > 0
    assert "ns an event became" in again.reason and "taken back" in again.reason
    assert again.believed_cost >= 115e-9 and again.believed_gain == pytest.approx(15e-9, rel=0.1 + noise)
    assert engine.routing.account.lost > 0


@pytest.mark.parametrize("seconds", [(100, 80), (100, 103), (20, 23)])
def test_a_change_that_is_not_slower_stays(seconds):
    """Nor is one that is slower by less than chance may do, as a share or in seconds."""
    engine = run(seconds)
    assert [decision.former for decision in engine.decisions] == [TREE] and engine.plan != TREE


def test_a_change_waits_for_the_clock_where_little_is_to_be_gained():
    """It is not made before it is known what the plan takes that it leaves."""
    engine = run((100, 100))
    assert engine.decisions
    untimed = eddy.Eddy(interval_join(), TREE, routing=Auto(every=8_192, clock=lambda seen: 0.0))
    for batch in feed(120):
        untimed.push_all(batch)
    assert untimed.decisions[0].events < engine.decisions[0].events
    assert engine.decisions[0].events - untimed.decisions[0].events >= ENOUGH * 4_095


def test_where_batches_have_become_smaller_the_plan_is_not_to_blame():
    """An event takes more of a small batch, under any plan."""
    engine = run((100, 400), resized=120)
    assert len(engine.decisions) == 1 and engine.plan != TREE


def test_with_the_same_clock_and_seed_it_decides_alike():
    """Also what it takes back."""
    logs = [[(d.events, d.plan, d.reason) for d in run((100, 115)).decisions] for _ in range(2)]
    assert logs[0] == logs[1] and len(logs[0]) == 2


def test_a_plan_that_the_clock_refuted_may_be_chosen_where_it_promises_more():
    """The model was wrong by a share: what is believed beyond that is worth another try."""
    trials = run((100, 115)).routing._trials
    ((plan, wrong),) = trials._wrong.items()
    assert 0.15 < wrong < 1.0
    assert trials.refuted(plan, 0.9 * wrong, 1.0) and not trials.refuted(plan, 1.1 * wrong, 1.0)
    assert not trials.refuted("A (B C)", 0.0, 1.0)


# -- what is measured ----------------------------------------------------------------------------------------------


def test_the_least_of_several_stretches_counts():
    """In the others something else ran on the machine."""
    meter = Meter()
    for i in range(ENOUGH):
        assert meter.cost is None
        meter.note(4_096, 4_096 * 1e-9 * (100 + 30 * (i % 3)), 1)
    assert meter.ready and meter.cost == pytest.approx(100e-9) and meter.batch == 4_096
    meter.renew()
    assert not meter.ready and meter.cost is None


def test_a_clock_that_stands_while_a_push_goes_on_is_waited_for():
    """Events whose time is told later count when it is told; so do those of short stretches."""
    meter = Meter()
    for _ in range(ENOUGH):
        for _ in range(15):
            meter.note(4_096, 0.0, 1)
        meter.note(4_096, 16 * 4_096 * 1e-7, 1)
    assert meter.cost == pytest.approx(1e-7) and meter.batch == 4_096
    short = Meter()
    for _ in range(100 * ENOUGH):
        short.note(16, 16e-7, 1)
    assert short.cost == pytest.approx(1e-7) and short.batch == 16


def test_without_a_clock_nothing_is_waited_for():
    """Views that are made by hand tell no time."""
    meter = Meter()
    meter.note(4_096, 0.0, 1)
    assert meter.ready and meter.cost is None


def test_slower_is_by_a_share_and_by_seconds():
    """Both."""
    assert slower(100e-9, 106e-9) and not slower(100e-9, 104e-9)
    assert not slower(20e-9, 24e-9) and slower(20e-9, 26e-9)


def test_a_copy_of_a_policy_that_is_thinking_begins_the_thought_anew():
    """It holds on to no engine; and it decides as the original does."""
    auto = Auto(every=4_096)
    auto._thinking = True
    for twin in (pickle.loads(pickle.dumps(auto)), copy.deepcopy(auto)):
        assert twin._thinking and twin._thought is None


def test_skinner_learns_when_the_clock_has_told():
    """An order is tried until its slice has been timed: else its seconds would be another's."""
    policy = Skinner(period=1)
    engine = eddy.Eddy(interval_join(), TREE)
    policy.begin(engine.view().graph.names, 0)
    view = evolve(engine.view(), arrivals=dict.fromkeys("ABC", 100), seconds=0.0)
    assert policy.choose(view) is not None
    order = policy._order
    assert policy.choose(view) is None and policy._order == order and policy._root.visits == 0
    policy.choose(evolve(view, seconds=9e-3))
    assert policy._root.visits == 1 and policy._least == pytest.approx(9e-3 / 600)
