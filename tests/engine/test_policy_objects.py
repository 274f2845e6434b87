"""Policies as objects: whose they are, what their options may be, and what happens when one of them fails."""

from __future__ import annotations

import itertools
import re
import threading
from pathlib import Path

import numpy as np
import pytest

import eddy
from eddy import partition
from policies import Auto, Base, Card, Doe, Fixed, Greedy, Jisc, Lottery, Mns, Pop, Random, Routing, Skinner
from tests.steering.test_steering import Saying, engine, feed

SMALL = {"k": "int64", "v": "int64"}


def query(names="ABC", window=200):
    streams = {name: eddy.Stream(SMALL, window=eddy.Rows(window)) for name in names}
    where = [f"{a}.{'kv'[i % 2]} = {b}.{'kv'[i % 2]}" for i, (a, b) in enumerate(itertools.pairwise(names))]
    return eddy.Query(streams, where=where)


def batches(names, count, rows=100, seed=7):
    random = np.random.default_rng(seed)
    for number in range(count):
        k, v = (8, 400) if number < count // 2 else (400, 8)
        yield {n: {"k": random.integers(0, k, rows), "v": random.integers(0, v, rows)} for n in names}


ASKED_OFTEN = [
    Auto(every=500),
    Card(every=300, overhead=1e9, gain=0),
    Pop(every=300, overhead=1e9, gain=0),
    Lottery(period=500),
    Skinner(period=500),
    Greedy(period=500),
    Random(period=500),
    Base(after=500),
]


# -- whose they are --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ASKED_OFTEN, ids=lambda policy: type(policy).__name__)
def test_one_policy_object_serves_several_engines(policy):
    """Each has a copy of its own: they decide as if each had been given a new one. The given one stays as it is."""

    def decisions(*made):
        found = []
        for pair in zip(batches("ABC", 24), batches("PQRS", 24), strict=True):
            for one, batch in zip(made, pair, strict=True):
                one.push_all(batch)
        for one in made:
            found.append([(d.events, d.plan, d.outcome) for d in one.decisions])
        return found

    before = repr(policy), policy.period
    first, second = (eddy.Eddy(query(names), routing=policy, seed=3) for names in ("ABC", "PQRS"))
    assert first.routing is not policy and first.routing is not second.routing
    assert type(first.routing) is type(policy) and repr(first.routing) == repr(policy)
    shared = decisions(first, second)
    assert (repr(policy), policy.period) == before
    assert all(outcome != "refused" for found in shared for _, _, outcome in found)
    if not isinstance(policy, Skinner):  # it goes by the clock
        assert shared == decisions(*(eddy.Eddy(query(n), routing=policy, seed=3) for n in ("ABC", "PQRS")))


class Counting(Jisc):
    """Counts the changes of plan that it has begun."""

    begun = 0

    def begin(self, change):
        object.__setattr__(self, "begun", self.begun + 1)
        super().begin(change)


def test_techniques_and_feedback_are_copied_too():
    """Ours keep no state; one of the user's may."""
    technique, feedback = Counting(), Mns(restraint=False)
    made = [eddy.Eddy(query(), "(A B) C", migration=technique, feedback=feedback) for _ in range(2)]
    made[0].migrate("A (B C)")
    assert [one.migration.begun for one in made] == [1, 0] and technique.begun == 0
    assert made[0].feedback == feedback and made[0].feedback is not feedback


class Locked(Routing):
    """Has something that cannot be copied."""

    def __init__(self):
        self.lock = threading.Lock()

    def choose(self, view):
        return None


class Shared(Locked):
    """Says that it is to be used as it is."""

    def __deepcopy__(self, memo):
        return self


def test_a_policy_that_cannot_be_copied_is_refused():
    """Unless it says itself what a copy of it is."""
    with pytest.raises(
        eddy.EddyError, match=r"Locked cannot be copied \(TypeError: .*lock.*__deepcopy__"
    ) as refused:
        eddy.Eddy(query(), routing=Locked())
    assert isinstance(refused.value.__cause__, TypeError)
    policy = Shared()
    assert eddy.Eddy(query(), routing=policy).routing is policy


# -- options of an engine ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "query",
        "routing",
        "migration",
        "feedback",
        "batch_size",
        "joins",
        "seed",
        "retractions",
        "advise",
        "threads",
    ],
)
def test_options_of_an_engine_cannot_be_set_later(name):
    """The error says what can be done instead."""
    made = engine()
    before = getattr(made, name)
    instead = "make another engine" if name == "query" else rf"Eddy.load\(path, {name}=\.\.\.\)"
    with pytest.raises(AttributeError, match=f"{name} is given when an engine is made.*{instead}"):
        setattr(made, name, 7)
    assert getattr(made, name) is before


# -- options of policies -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda: Auto(shape="left"),
            "Auto(shape=...) is 'bushy', 'left-deep', 'orderings' or 'any', not 'left'",
        ),
        (lambda: Auto(every="10"), "Auto(every=...) is a whole number of at least 1, not '10'"),
        (lambda: Auto(every=0), "Auto(every=...) is a whole number of at least 1, not 0"),
        (lambda: Auto(gain=1), "Auto(gain=...) is a number of at least 0 and below 1, not 1"),
        (lambda: Auto(drift=0), "Auto(drift=...) is a number above 0, not 0"),
        (lambda: Auto(regret=float("nan")), "Auto(regret=...) is a number of at least 0, not nan"),
        (lambda: Auto(overhead=True), "Auto(overhead=...) is a number above 0, not True"),
        (lambda: Auto(model=3), "Auto(model=...) is a CostModel, not 3"),
        (lambda: Card(absent="foo"), "Card(absent=...) is 'sample' or 'supersets', not 'foo'"),
        (lambda: Card(alpha=2), "Card(alpha=...) is a number of at least 0 and at most 1, not 2"),
        (lambda: Pop(literal="yes"), "Pop(literal=...) is True or False, not 'yes'"),
        (lambda: Base(after=2.5), "Base(after=...) is a whole number of at least 0, not 2.5"),
        (lambda: Random(period="a"), "Random(period=...) is a whole number of at least 1, not 'a'"),
        (lambda: Lottery(floor=0), "Lottery(floor=...) is a number above 0 and at most 1, not 0"),
        (lambda: Greedy(slack=None), "Greedy(slack=...) is a number of at least 0, not None"),
        (lambda: Skinner(composites=1), "Skinner(composites=...) is True or False, not 1"),
    ],
)
def test_an_option_that_cannot_be_is_refused_in_one_sentence(make, message):
    """Policy, option, what it takes, and what it was given."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make()


def test_numbers_of_numpy_are_numbers():
    """They compare and count as others do."""
    assert Auto(every=np.int64(10), gain=np.float32(0.5)).every == 10
    assert Base(after=np.int32(0)).after == 0


# -- errors of a policy ------------------------------------------------------------------------------------------------


class Failing(Saying):
    """Asks for what is not there."""

    def choose(self, view):
        self.views.append(view)
        return view.nothing


class Unwilling(Failing):
    """Fails sooner."""

    def wants(self, glance):
        raise KeyError("nothing")


@pytest.mark.parametrize("policy, cause", [(Failing, AttributeError), (Unwilling, KeyError)])
@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_of_a_policy_is_named_and_the_batch_can_be_pushed_again(policy, cause, threads):
    """Nothing of it was taken. After freeze() the engine goes on without the policy."""
    made, plain = (eddy.Eddy(query(), "(A B) C", routing=r, threads=threads) for r in (policy(), Fixed()))
    failed = 0
    for number, batch in enumerate(batches("ABC", 12, rows=4)):
        wanted = plain.push_all(batch).rows.tolist()
        if number == 8:
            made.freeze()
        for _ in range(2):
            try:
                found = made.push_all(batch)
                break
            except eddy.PolicyError as error:
                failed += 1
                assert isinstance(error.__cause__, cause) and not made.frozen
                assert f"{policy.__name__} raised {cause.__name__}: " in str(error)
                assert "was not taken: push it again" in str(error) and "freeze()" in str(error)
        assert sorted(found.rows.tolist()) == sorted(wanted)
    assert failed == 7 and made.statistics().events == plain.statistics().events


def test_a_cell_takes_what_an_error_of_its_policy_has_stopped():
    """The numbers of events and rows are not used up."""
    made = query()
    cell = partition.Cell(made, partition.choose(made, 1), 0, plan="(A B) C", routing=Failing())

    def push(first):
        n = np.arange(first, first + 5)
        marks = {partition.mark_column(name): np.zeros(5, np.int64) for name in "ABC"}
        return cell.push({"A": {"k": n, "v": n, partition.EVENT: n, partition.ROW: n} | marks})

    push(0)
    push(5)
    with pytest.raises(eddy.PolicyError, match="the routing policy Failing raised AttributeError"):
        push(10)
    assert cell.lows()["A"] == 0 and cell.statistics().events == 10
    push(10)
    assert cell.statistics().events == 15


# -- explain -----------------------------------------------------------------------------------------------------------


def test_explain_tells_who_chooses_the_plan():
    """The policy and when it is asked; pins, ice and advice; and what was decided last."""
    assert eddy.Eddy(query(), "(A B) C").explain().splitlines()[2] == "routing Fixed: the plan stays"
    made = engine("A (B (C D))", "(A B) (C D)")
    made.pin("(A B)")
    assert made.explain().splitlines()[2] == "routing Saying: first asked after 10; pinned (A B)"
    feed(made, 3)
    line, last = made.explain().splitlines()[2:4]
    assert line == "routing Saying: last asked after 10 events, next after 20; pinned (A B)"
    assert last.startswith(
        "last decision, after 10 events: A (B (C D)), refused: plan 'A (B (C D))' breaks the pin"
    )
    feed(made, 4)
    made.freeze()
    assert made.explain().splitlines()[2:4] == [
        "routing Saying: frozen; pinned (A B)",
        "last decision, after 20 events: (A B) (C D), changed",
    ]
    advised = engine("(A B) (C D)", advise=True)
    feed(advised, 3)
    assert advised.explain().splitlines()[2:4] == [
        "routing Saying: only advises, last asked after 10 events, next after 20",
        "last decision, after 10 events: (A B) (C D), advised",
    ]
    minus = eddy.Eddy(eddy.Query({n: {"k": "int64"} for n in "AB"}, minus={"B": "A.k = B.k"}))
    assert minus.explain().splitlines()[2] == "routing Auto: the plan stays"


# -- advice and snapshots ----------------------------------------------------------------------------------------------


def test_advice_about_a_plan_that_is_given_comes_from_auto():
    """The plan stays, and what Auto would do is logged."""
    made = eddy.Eddy(query(), "(A B) C", advise=True)
    assert isinstance(made.routing, Auto) and made.advise
    for batch in batches("ABC", 80, rows=400):
        made.push_all(batch)
    assert made.plan == "(A B) C" and made.statistics().migrations == 0
    assert {(d.plan, d.outcome) for d in made.decisions} == {("A (B C)", "advised")}


def test_advice_is_saved(tmp_path):
    """A loaded engine goes on to be advised only, unless it is told otherwise."""
    path = tmp_path / "engine.eddy"
    eddy.Eddy(query(), advise=True).save(path)
    assert eddy.Eddy.load(path).advise and not eddy.Eddy.load(path, advise=False).advise
    given = eddy.Eddy.load(path, plan="A (B C)")
    assert given.advise and isinstance(given.routing, Auto) and given.plan == "A (B C)"
    eddy.Eddy(query()).save(path)
    assert not eddy.Eddy.load(path).advise and eddy.Eddy.load(path, advise=True).advise
    older = eddy.Eddy.load(Path(__file__).parents[1] / "data" / "format-1.eddy")  # from before it was saved
    assert not older.advise


def test_a_plan_that_was_given_stays_when_advice_is_no_longer_asked_for(tmp_path):
    """Its Auto was there to advise only: without advice the plan is nobody's but the user's, as in a new engine."""
    path = tmp_path / "engine.eddy"

    def again(**options):
        loaded = eddy.Eddy.load(path, **options)
        loaded.save(path)
        return loaded

    eddy.Eddy(query(), "(A B) C", advise=True).save(path)
    assert isinstance(again().routing, Auto) and again().advise
    made = again(advise=False)
    assert made.routing == Fixed()
    for batch in batches("ABC", 80, rows=400):
        made.push_all(batch)
    assert made.plan == "(A B) C" and not made.decisions
    assert isinstance(again(advise=True).routing, Auto) and again(advise=False).routing == Fixed()
    eddy.Eddy(query(), advise=True).save(path)  # nobody gave a plan here
    assert isinstance(again(advise=False).routing, Auto) and isinstance(again(advise=True).routing, Auto)
    assert isinstance(again(plan="stems").routing, Auto) and again(advise=False).routing == Fixed()
    eddy.Eddy(query(), "stems", Auto(every=700), advise=True).save(path)  # a plan to begin with
    assert again(advise=False).routing.every == 700


def test_a_plan_that_is_given_at_loading_stays(tmp_path):
    """As one that is given to a new engine does; with a policy it is the one to begin with."""
    path = tmp_path / "engine.eddy"
    eddy.Eddy(query()).save(path)
    assert isinstance(eddy.Eddy.load(path).routing, Auto)
    assert eddy.Eddy.load(path, plan="stems").routing == Fixed()
    assert isinstance(eddy.Eddy.load(path, plan="stems", routing=Auto()).routing, Auto)


def test_the_options_of_auto_are_saved(tmp_path):
    """All but the cost model; what one has learned is not."""
    path = tmp_path / "engine.eddy"
    options = {
        "every": np.int64(77),
        "gain": 0.25,
        "drift": 0.5,
        "overhead": float("inf"),
        "shape": "bushy",
        "regret": 1,
    }
    eddy.Eddy(query(), routing=Auto(**options)).save(path)
    assert repr(eddy.Eddy.load(path).routing) == repr(Auto(**options | {"every": 77}))
    again = eddy.Eddy.load(path, routing=Auto(every=5)).routing
    assert again.every == 5 and again.gain == Auto().gain


def test_a_plan_that_breaks_a_saved_pin_says_what_to_do_at_loading(tmp_path):
    """There is no engine yet on which to call unpin."""
    path = tmp_path / "engine.eddy"
    made = engine()
    made.pin("(A B)")
    made.save(path)
    text = (
        r"breaks the pin '\(A B\)' of the saved engine: load without plan, and then unpin\('\(A B\)'\) and "
        r"migrate\('A \(B \(C D\)\)'\)"
    )
    with pytest.raises(eddy.PlanError, match=text):
        eddy.Eddy.load(path, plan="A (B (C D))")
    loaded = eddy.Eddy.load(path)
    loaded.unpin("(A B)")
    loaded.migrate("A (B (C D))")


def test_a_loaded_engine_counts_what_it_sends_itself(tmp_path):
    """Rows that had come before are not among those that its threads were sent."""
    path = tmp_path / "engine.eddy"
    made = eddy.Eddy(query(window=10), "(A B) C", feedback=Doe())
    for batch in batches("ABC", 4):
        made.push_all(batch)
    made.save(path)
    loaded = eddy.Eddy.load(path, threads=2)
    lines = [line for line in loaded.explain().splitlines() if " sent of " in line]
    assert len(lines) == 3 and all(line.endswith("0 sent of 0 rows since it was loaded") for line in lines)
    for batch in batches("ABC", 1, rows=7):
        loaded.push_all(batch)
    assert sum("sent of 7 rows since it was loaded" in line for line in loaded.explain().splitlines()) == 3
