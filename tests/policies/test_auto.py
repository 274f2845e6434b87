"""Auto: it finds the better plan, leaves well alone, and does not fall for a wrong model twice."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from attrs import evolve

import eddy
from policies import Auto, Fixed, Ghm, Gpt, HybMig, Jisc, ParallelTrack, Routing
from policies.migration.pricing import OVERHEADS, Manner, change_seconds
from policies.optimizer import Estimate, Graph
from policies.optimizer.model import CostModel
from policies.optimizer.moving import changing_seconds, making_seconds, same
from policies.routing import Glance, StairView, StepView, View
from policies.routing.account import CREDIT, STOCK, URGENT

CHAIN = ["A.x = B.x", "B.y = C.y"]


def query(window=400):
    streams = {name: eddy.Stream({"x": "int64", "y": "int64"}, window=eddy.Rows(window)) for name in "ABC"}
    return eddy.Query(streams, where=CHAIN)


def feed(phases, batches=30, rows=400, seed=5):
    """Batches of all streams; a phase is how many values x and y have."""
    random = np.random.default_rng(seed)
    for x, y in phases:
        for _ in range(batches):
            yield {
                name: {"x": random.integers(0, x, rows), "y": random.integers(0, y, rows)} for name in "ABC"
            }


def run(engine, batches):
    rows = [engine.push_all(batch).rows for batch in batches]
    return np.concatenate(rows)


FIRST_BAD, SECOND_BAD = (20, 5_000), (5_000, 20)


def untimed(**options):
    """Auto without a clock: how busy the machine is has no say in what it takes back."""
    return Auto(clock=no_time, **options)


def no_time(seen):
    return 0.0


def test_it_finds_the_better_plan_and_finds_the_other_when_the_feed_has_changed():
    """Both times without being told, with a reason that says what was gained; and the results are the same."""
    batches = list(feed([FIRST_BAD, SECOND_BAD, FIRST_BAD], batches=60))
    engine, still = eddy.Eddy(query(), routing=untimed()), eddy.Eddy(query(), "(A B) C")
    found, wanted = run(engine, batches), run(still, batches)
    plans = [decision.plan for decision in engine.decisions]
    assert plans == ["A (B C)", "(A B) C", "A (B C)"] and engine.plan == "A (B C)"
    assert [decision.outcome for decision in engine.decisions] == ["changed"] * 3
    assert all("ns an event become" in decision.reason for decision in engine.decisions)
    assert all(decision.believed_gain > 0.5 * decision.believed_cost for decision in engine.decisions)
    assert still.plan == "(A B) C" and not still.decisions
    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, wanted.tolist()))


def test_it_leaves_a_plan_alone_that_is_the_best():
    """From the beginning, and for as long as nothing happens."""
    engine = eddy.Eddy(query(), "A (B C)", routing=untimed())
    run(engine, feed([FIRST_BAD], 120))
    assert engine.plan == "A (B C)" and not engine.decisions


def test_between_plans_that_cost_alike_it_does_not_waver():
    """All joins are alike, so whatever a sample says is chance."""
    engine = eddy.Eddy(query(), routing=untimed(every=2_000))
    run(engine, feed([(400, 400)], 120))
    assert len(engine.decisions) <= 1


def test_the_same_seed_decides_alike():
    """Time is the model's: no clock has a say, but where a change is taken back."""
    logs = []
    for _ in range(2):
        engine = eddy.Eddy(query(), seed=3, routing=untimed())
        run(engine, feed([FIRST_BAD, SECOND_BAD]))
        logs.append([(d.events, d.plan, d.reason) for d in engine.decisions])
    assert logs[0] == logs[1] and logs[0]


def test_it_keeps_within_pins_and_only_advises_where_told():
    """A pin leaves no other plan here; advice is logged and not followed."""
    pinned = eddy.Eddy(query(), "(A B) C", routing=untimed())
    pinned.pin("(A B)")
    run(pinned, feed([FIRST_BAD]))
    assert pinned.plan == "(A B) C" and not pinned.decisions
    advised = eddy.Eddy(query(), "(A B) C", routing=untimed(), advise=True)
    run(advised, feed([FIRST_BAD]))
    assert advised.plan == "(A B) C"
    assert {(d.plan, d.outcome) for d in advised.decisions} == {("A (B C)", "advised")}


def test_a_plan_that_is_given_stays_and_none_is_chosen():
    """The default: a plan means Fixed, none means Auto; after a restart an engine goes on as it did."""
    assert eddy.Eddy(query(), "(A B) C").routing == Fixed()
    assert isinstance(eddy.Eddy(query()).routing, Auto)


def test_an_engine_that_chooses_goes_on_to_after_a_restart(tmp_path):
    """The plan it came to is kept, and so is the habit."""
    engine = eddy.Eddy(query(), routing=untimed())
    run(engine, feed([FIRST_BAD]))
    engine.save(tmp_path / "snapshot")
    assert eddy.Eddy.load(tmp_path / "snapshot").plan == "A (B C)"
    again = eddy.Eddy.load(tmp_path / "snapshot", routing=untimed())
    assert again.plan == "A (B C)" and isinstance(again.routing, Auto)
    run(again, feed([SECOND_BAD]))
    assert again.plan == "(A B) C"


def test_a_class_of_the_user_that_is_called_auto_is_not_taken_for_ours(tmp_path):
    """After a restart the plan is kept by nobody's policy, as with any class of the user's own; ours is made again."""
    ours = Auto

    class Mine(ours):
        pass

    def foreign(base):
        return type("Auto", (base,), {"choose": lambda self, view: None})()

    for routing in (foreign(Routing), foreign(ours), Mine()):
        eddy.Eddy(query(), "(A B) C", routing=routing).save(tmp_path / "theirs")
        assert eddy.Eddy.load(tmp_path / "theirs").routing == Fixed()
    eddy.Eddy(query(), "(A B) C", routing=ours(every=700)).save(tmp_path / "ours")
    again = eddy.Eddy.load(tmp_path / "ours").routing
    assert type(again) is ours and again.every == 700


class World:
    """Streams that join on one key, in which whatever plan is not in use looks ten times as cheap as it is."""

    def __init__(self, lies=True, other=0.1):
        self.plan, self.events, self.lies, self.other = "(A B) C", 0, lies, other
        self.graph = Graph(tuple("ABC"), (frozenset("AB"), frozenset("BC"), frozenset("AC")))

    def view(self, events=65_536):
        self.events += events
        used = frozenset(self.plan[self.plan.index("(") + 1 :][:3].split())

        def fan(*pair):
            return 10.0 if set(pair) == used or not self.lies else self.other

        rows, live = events // 3, dict.fromkeys("ABC", 2_000)
        steps = [StepView((a,), (b,), rows, 10 * rows) for a, b in itertools.permutations(sorted(used))]
        (last,) = set("ABC") - used
        steps += [StepView(tuple(sorted(used)), (last,), 20 * rows, 2 * rows)]
        steps += [StepView((last,), tuple(sorted(used)), rows, rows)]
        return View(
            self.graph,
            self.plan,
            self.events,
            dict.fromkeys("ABC", rows),
            live,
            {},
            tuple(steps),
            (StairView(tuple(sorted(used)), 20_000, 0, True),),
            lambda start, path: tuple(fan(start, path[0]) / 10.0**i for i in range(len(path))),
        )

    def run(self, auto, views):
        """Let a policy choose so often; the number of changes."""
        auto.begin(self.graph.names, 0)
        changes = 0
        for _ in range(views):
            choice = auto.choose(self.view())
            if choice is not None:
                self.plan, changes = choice.plan, changes + 1
        return changes


def test_a_change_that_did_not_bring_what_was_believed_makes_it_stricter():
    """Twice the gain is asked for, and the plan has to wait."""
    world, auto = World(), Auto(shape="bushy", regret=math.inf)
    assert world.run(auto, 40) > 1
    assert auto._trials.strictness > 1.0 and auto._trials._barred


@pytest.mark.parametrize("regret", [0.0, 0.02, 0.2])
def test_what_changes_lose_is_bounded_however_wrong_the_model_is(regret):
    """Losses are no more than a share of all time, and the last of them; the more may be lost, the more is tried."""
    world, auto = World(), Auto(shape="bushy", regret=regret)
    auto.begin(world.graph.names, 0)
    lost, largest = 0.0, 0.0
    for _ in range(400):
        choice = auto.choose(world.view())
        world.plan = world.plan if choice is None else choice.plan
        largest, lost = max(largest, auto.account.lost - lost), auto.account.lost
        assert lost <= regret * auto.account.worked + largest
    assert lost > 0.0
    if regret:
        assert lost < 1.1 * regret * auto.account.worked + largest
        assert World().run(Auto(shape="bushy", regret=regret), 400) > World().run(
            Auto(shape="bushy", regret=0.0), 400
        )


@pytest.mark.parametrize("overhead", [0.001, 0.005, 0.05])
@pytest.mark.parametrize("restless", [True, False])
def test_what_deciding_takes_is_bounded(overhead, restless):
    """Looks and thoughts that nothing called for keep to their share; all of them to that and the urgent ones'."""
    world, auto = World(lies=restless), Auto(every=1_000, overhead=overhead, shape="bushy")
    auto.begin(world.graph.names, 0)
    rng = np.random.default_rng(3)
    price = auto.model.think + 6 * auto.model.sample
    first = (STOCK + CREDIT) * price + STOCK * price + 2 * auto.model.look * 16
    for _ in range(2_000):
        seen = world.view(int(rng.integers(300, 900)))
        if restless:  # now many matches, now hardly any
            times = int(rng.integers(1, 20))
            seen = evolve(seen, steps=tuple(evolve(s, matches=times * s.matches) for s in seen.steps))
        rows = tuple(seen.arrivals.values())
        if auto.wants(Glance(sum(rows), rows, sum(step.matches for step in seen.steps))):
            choice = auto.choose(seen)
            world.plan = world.plan if choice is None else choice.plan
        account = auto.account
        most = (overhead + URGENT) * account.worked + account.beyond + first
        assert account.looking + account.thinking <= most
        if not restless:
            assert account.looking + account.thinking <= overhead * account.worked + first
    assert account.thinking >= (2 if restless else 1) * price


def test_a_feed_that_went_back_and_changed_again_is_noticed_again():
    """That nothing has come of the first time does not close its eyes to the second."""
    world, auto = World(lies=False), Auto(shape="bushy", every=65_536)
    auto.begin(world.graph.names, 0)

    def look(times):
        seen = world.view()
        auto.choose(evolve(seen, steps=tuple(evolve(s, matches=int(times * s.matches)) for s in seen.steps)))

    for times in [1.0] * 6 + [0.3, 0.3] + [1.0] * 6:
        look(times)
    assert not auto._stirring
    before = auto.account.thinking
    for _ in range(6):
        look(0.3)
    assert auto.account.thinking > before


def test_a_change_that_could_not_pay_before_windows_turned_is_thought_of_again_when_they_have():
    """Until then nothing more has changed, which is no reason to forget it: a plan that takes ten times as long as
    another would stay for ever."""
    world, auto = World(lies=False, other=3.0), Auto(shape="bushy", model=CostModel(change=1e-3))
    auto.begin(world.graph.names, 0)
    for _ in range(8):
        auto.choose(world.view())
    world.lies = True
    turned, choices, thoughts = world.events + sum(world.view(0).live.values()), [], 0
    while not any(choices) and world.events < 2 * turned:
        seen = world.view(600)
        seen = evolve(seen, steps=tuple(evolve(s, matches=6 * s.matches) for s in seen.steps))
        before = auto.account.thinking
        choices.append(auto.choose(seen))
        if world.events < turned:
            thoughts += auto.account.thinking > before
            assert choices[-1] is None and auto._later is not None
    assert thoughts <= 4  # and not all the time until then
    assert choices[-1] is not None and world.events < turned + 2_000


def test_time_is_reckoned_by_what_events_take_now():
    """Where they take less than when it last decided it would else look too soon, again and again, and spend on looks
    what it saves for a thought."""
    world, auto = World(lies=False), Auto(shape="bushy")
    auto.begin(world.graph.names, 0)

    for _ in range(4):
        auto.choose(world.view(4_096))
    now = auto._attention.rate
    auto._known, auto._again = evolve(auto._known, seconds=40 * now), None
    auto._attention.earliest = auto._attention.latest = 9.5 * 4_095 * now
    rows = (1_365,) * 3
    waited = 0
    while not auto.wants(Glance(4_095, rows, 0)):
        waited += 1
    assert waited == 9


def test_where_much_is_asked_for_it_stays():
    """The same engine and feed as above, but no change is worth so much."""
    engine = eddy.Eddy(query(), routing=Auto(model=CostModel(change=1e6)))
    run(engine, feed([FIRST_BAD, SECOND_BAD]))
    assert engine.plan == "(A B) C" and not engine.decisions


# -- what a change costs -----------------------------------------------------------------------------------------


def chain_estimate():
    graph = Graph(("A", "B", "C"), (frozenset("AB"), frozenset("BC")))
    known = {frozenset("AB"): 50_000.0, frozenset("BC"): 10.0}
    return Estimate(graph, dict.fromkeys("ABC", 1 / 3), dict.fromkeys("ABC", 1000.0), known)


def test_only_states_that_are_new_cost_something():
    """Composites of B C are made once; that the other plan has A B costs nothing in this direction."""
    believed, model = chain_estimate(), CostModel(change=0.0)

    def seconds(plan, other):
        return change_seconds(plan, other, believed, model, Manner(at_once=math.inf), 1e5)

    there, back = seconds("(A B) C", "A (B C)"), seconds("A (B C)", "(A B) C")
    assert there == pytest.approx(making_seconds(10.0, 2, model))
    assert back == pytest.approx(making_seconds(50_000.0, 2, model))
    assert back > 5_000 * there
    assert seconds("(A B) C", "(A B) C") == seconds("(A B) C", "A: B C | B: A C | C: B A") == 0.0


def test_states_that_are_made_when_asked_for_cost_more():
    """Also each batch until the windows have turned over: what is larger than `at_once` batches is such a state."""
    believed, model = chain_estimate(), CostModel()
    at_once, small, lazily = (
        change_seconds("(A B) C", "A (B C)", believed, model, Manner(at_once=n), 1e5)
        for n in (math.inf, 1, 0)
    )
    assert at_once == small < lazily
    longer = evolve(believed, live=dict.fromkeys("ABC", 100_000.0))
    assert change_seconds("(A B) C", "A (B C)", longer, model, Manner(), 1e5) > 2 * lazily


def test_nested_loops_compare_all_pairs_to_make_a_state():
    """Equation 1 of Zhu et al."""
    believed, model = chain_estimate(), CostModel()
    nested = evolve(believed, joins="nested")
    more = [change_seconds("(A B) C", "A (B C)", each, model, Manner(), 1e5) for each in (believed, nested)]
    assert more[1] - more[0] == pytest.approx(OVERHEADS.lazily * model.compare * 1000.0**2)


@pytest.mark.parametrize("technique", [ParallelTrack(), HybMig(), Gpt(), Ghm()])
def test_techniques_that_run_two_plans_cost_as_long_as_they_do(technique):
    """The longer the windows, the more a change has to bring."""
    believed, model, beside = chain_estimate(), CostModel(), technique.beside
    short, long = (
        change_seconds("(A B) C", "A (B C)", believed, model, Manner(beside), h) for h in (1e3, 1e6)
    )
    assert long > 100 * short > 0


def test_what_a_change_costs_is_told_by_the_technique_and_not_by_its_name():
    """A subclass costs what its base does, whatever it is called; a class that only has such a name does not."""
    named, other = type("Gpt", (Jisc,), {})(), type("Mine", (ParallelTrack,), {})()
    views = [eddy.Eddy(query(), "(A B) C", migration=technique).view() for technique in (named, other)]
    assert [(view.migration, view.beside) for view in views] == [("Gpt", 0.0), ("Mine", 1.0)]


def test_only_joins_that_would_change_are_at_stake():
    """Of two plans with a join in common that join does not count; left and right make no other plan."""
    graph = Graph(tuple("ABCD"), (frozenset("ABCD"),))
    believed = Estimate(graph, dict.fromkeys("ABCD", 0.25), dict.fromkeys("ABCD", 500.0))
    model = CostModel()
    part = changing_seconds("((A B) C) D", "((A B) D) C", believed, model)
    whole = changing_seconds("((A B) C) D", "((C D) A) B", believed, model)
    assert 0 < part < whole
    assert changing_seconds("((A B) C) D", "D (C (B A))", believed, model) == 0.0
    assert same("((A B) C) D", "D (C (B A))", graph) and not same("((A B) C) D", "((A C) B) D", graph)
    assert same("(A B) (C D)", "A: B (C D) | B: A (C D) | C: D (A B) | D: C (A B)", graph)
    mixed = "A: B C D | B: A C D | C: (A B) D | D: (A B) C"
    assert 0 < changing_seconds("((A B) C) D", mixed, believed, model) < whole


def test_options_are_checked():
    """Before anything begins."""
    for wrong in (
        {"every": 0},
        {"gain": -0.1},
        {"gain": 1.0},
        {"drift": 0.0},
        {"overhead": 0.0},
        {"shape": "odd"},
    ):
        with pytest.raises(ValueError):
            Auto(**wrong)
    assert evolve(Auto(), gain=0.3).gain == 0.3
