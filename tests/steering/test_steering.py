"""Who decides about the plan: pins, freezing, advice, and the log of decisions."""

from __future__ import annotations

import numpy as np
import pytest

import eddy
from policies import Choice, Routing


class Saying(Routing):
    """Says one thing after the other."""

    period = 10

    def __init__(self, *sayings):
        self.sayings, self.views = list(sayings), []

    def choose(self, view):
        self.views.append(view)
        return self.sayings.pop(0) if self.sayings else None


def engine(*sayings, plan="((A B) C) D", **options):
    streams = {name: eddy.Stream({"x": "int64"}, window=eddy.Rows(50)) for name in "ABCD"}
    query = eddy.Query(streams, where=["A.x = B.x", "B.x = C.x", "C.x = D.x"])
    return eddy.Eddy(query, plan, routing=Saying(*sayings), **options)


def feed(engine, pushes, seed=0):
    random, results = np.random.default_rng(seed), []
    for i in range(pushes):
        results += map(tuple, engine.push("ABCD"[i % 4], {"x": random.integers(0, 9, 5)}).rows.tolist())
    return sorted(results)


def test_a_pin_is_kept_whoever_chooses_the_plan():
    """A plan that breaks it is refused: to the user by an error, to the policy by a line in the log."""
    made = engine("A (B (C D))", "(A B) (C D)")
    made.pin("(B A)")
    assert made.pinned == ("(B A)",) and made.plan == "((A B) C) D"
    with pytest.raises(
        eddy.PlanError, match=r"plan 'A \(B \(C D\)\)' breaks the pin '\(B A\)'.*call unpin\('\(B A\)'\)"
    ):
        made.migrate("A (B (C D))")
    with pytest.raises(eddy.PlanError, match="breaks the pin"):
        made.migrate("stems")
    feed(made, 6)
    assert made.routing.views[0].pinned == ("(B A)",)
    refused, changed = made.decisions
    assert refused.outcome == "refused" and "breaks the pin '(B A)'" in refused.reason
    assert (refused.former, refused.plan) == ("((A B) C) D", "A (B (C D))")
    assert changed.outcome == "changed" and made.plan == "(A B) (C D)"
    made.unpin("(A B)")
    made.migrate("stems")


@pytest.mark.parametrize(
    "plan, pins, found",
    [
        ("((A B) C) D", ["(C D)"], "(A B) (C D)"),
        ("((A B) C) D", ["(B D)"], "(A (B D)) C"),
        ("((A B) C) D", ["((A D) C)"], "((A D) C) B"),
        ("((A B) C) D", ["(A D)", "(B C)"], "(A D) (B C)"),
        ("((A B) C) D", ["(A D)", "((A D) B)"], "((A D) B) C"),
        ("(A B) (C D)", ["(A B) (D C)"], "(A B) (C D)"),
        ("stems", ["(C D)"], "(A B) (C D)"),
    ],
)
def test_a_pin_that_the_plan_lacks_changes_it(plan, pins, found):
    """As little as need be, and with all pins in it; results stay what they are."""
    made, plain = engine(plan=plan), engine(plan=plan)
    assert feed(made, 20) == feed(plain, 20)
    for pin in pins:
        made.pin(pin)
    assert made.plan == found and made.pinned == tuple(pins)
    assert feed(made, 20, 1) == feed(plain, 20, 1)
    made.unpin()
    assert made.pinned == () and made.plan == found


@pytest.mark.parametrize(
    "part, message",
    [
        ("(A Z)", r"names 'Z', which is no stream of the query"),
        ("A", r"sub-plan 'A' joins nothing; write for example '\(A B\)'"),
        ("(A A)", r"sub-plan '\(A A\)' repeats A"),
        ("(A B", r"lacks 1 closing parenthesis"),
        ("(A B C)", r"joins 3 inputs at once"),
        (7, r"a sub-plan is a string such as '\(A B\)', not int"),
        ("(A C)", r"'\(A C\)' cannot be pinned beside '\(A B\)': no tree has both, since each joins A"),
        ("((A C) B)", r"cannot be pinned beside '\(A B\)'"),
    ],
)
def test_a_pin_that_cannot_be_is_refused(part, message):
    """It says why, and changes nothing."""
    made = engine()
    made.pin("(A B)")
    before = made.statistics(), made.pinned
    with pytest.raises(eddy.PlanError, match=message):
        made.pin(part)
    assert (made.statistics(), made.pinned) == before


def test_what_is_not_pinned_cannot_be_unpinned():
    """The error says what is."""
    made = engine()
    with pytest.raises(eddy.PlanError, match=r"'\(A B\)' is not pinned: nothing is pinned"):
        made.unpin("(A B)")
    made.pin("(A B)")
    made.pin("(B A)")
    assert made.pinned == ("(A B)",)
    with pytest.raises(eddy.PlanError, match=r"'\(C D\)' is not pinned: pinned are \(A B\)"):
        made.unpin("(C D)")
    minus = eddy.Eddy(eddy.Query({n: {"k": "int64"} for n in "AB"}, minus={"B": "A.k = B.k"}))
    with pytest.raises(eddy.PlanError, match="a set difference has no sub-plans to pin"):
        minus.pin("(A B)")


def test_a_frozen_engine_does_not_ask():
    """The user may still migrate; when it thaws the policy is asked at the next push that is due."""
    made = engine("(A B) (C D)")
    made.freeze()
    feed(made, 12)
    assert made.frozen and made.routing.views == [] and made.plan == "((A B) C) D"
    made.migrate("stems")
    made.thaw()
    feed(made, 1)
    assert not made.frozen and len(made.routing.views) == 1 and made.plan == "(A B) (C D)"
    assert made.routing.views[0].arrivals == dict.fromkeys("ABCD", 15)


def test_advice_is_only_logged():
    """The policy is asked as ever, and sees the plan that stays."""
    made = engine(*(["(A B) (C D)"] * 3), advise=True)
    feed(made, 9)
    assert made.plan == "((A B) C) D" and made.statistics().migrations == 0
    assert [(d.outcome, d.plan, d.after) for d in made.decisions] == [("advised", "(A B) (C D)", None)] * 3
    assert {view.plan for view in made.routing.views} == {"((A B) C) D"}
    with pytest.raises(eddy.EddyError, match="advise is True or False, not 'yes'"):
        engine(advise="yes")


def test_the_log_tells_what_was_believed_and_what_came_of_it():
    """Plans, reasons and beliefs; seconds an event before and after, and what the migration took."""
    made = engine(Choice("A (B (C D))", "D is silent", 9.0, 2.5), None, "((A B) C) D", plan="((A B) C) D")
    feed(made, 8)
    first, second = made.decisions
    assert (first.events, first.former, first.plan) == (10, "((A B) C) D", "A (B (C D))")
    assert (first.reason, first.believed_cost, first.believed_gain) == ("D is silent", 9.0, 2.5)
    assert (second.reason, second.believed_cost, second.believed_gain) == ("", None, None)
    assert all(d.before > 0 and d.after > 0 and d.migration > 0 and d.thinking > 0 for d in (first, second))
    assert first.gain == first.before - first.after
    feed(made, 4)
    assert made.decisions[0] is first or made.decisions[0].after == first.after
    assert made.decisions[1].after != second.after  # it is still being measured
    made.migrate("stems")
    settled = made.decisions[1].after
    feed(made, 4)
    assert made.decisions[1].after == settled


@pytest.mark.parametrize("nonsense", ["(A B) Z", "", "((((", 42, Choice(None), Choice("A B")], ids=repr)
def test_nonsense_is_refused_and_logged(nonsense):
    """Whatever a policy returns, results are the same."""
    made, plain = engine(*[nonsense] * 3), engine()
    assert feed(made, 20) == feed(plain, 20)
    assert [decision.outcome for decision in made.decisions] == ["refused"] * 3
    assert all(decision.reason for decision in made.decisions)
    assert made.plan == plain.plan


def test_the_log_is_bounded():
    """The last 256 decisions are kept."""
    made = engine(*["(A B) (C D)", "((A B) C) D"] * 200)
    made.routing.period = 1
    feed(made, 300)
    assert len(made.decisions) == 256 and made.statistics().migrations == 299
    assert made.decisions[-1].events == 1495


@pytest.mark.parametrize("before", [None, 1_000_000])
def test_a_policy_may_get_another_period(before):
    """It is seen after some ten thousand events."""
    made = engine()
    made.routing.period = before
    rows = {"x": np.arange(4096)}
    for _ in range(8):
        made.push("A", rows)
    made.routing.period = 4096
    for _ in range(20):
        made.push("A", rows)
    assert len(made.routing.views) >= 4


def test_a_policy_that_stays_leaves_no_line():
    """Neither None nor the plan itself is a decision."""
    made = engine(None, "((A B) C) D", "((A B) C) D")
    feed(made, 10)
    assert made.decisions == () and len(made.routing.views) == 4


def test_pins_and_freezing_are_saved(tmp_path):
    """The log is not: it begins anew. A plan given at loading must keep the pins."""
    made = engine("(A B) (C D)")
    made.pin("(A B)")
    made.freeze()
    feed(made, 8)
    made.save(tmp_path / "engine.eddy")
    loaded = eddy.Eddy.load(tmp_path / "engine.eddy", routing=Saying("A (B (C D))", "(A B) (C D)"))
    assert loaded.pinned == ("(A B)",) and loaded.frozen
    loaded.thaw()
    assert feed(loaded, 8, 1) == feed(made, 8, 1)
    assert [decision.outcome for decision in loaded.decisions] == ["refused", "changed"]
    assert sum(loaded.routing.views[0].arrivals.values()) == 0
    with pytest.raises(eddy.PlanError, match="breaks the pin"):
        eddy.Eddy.load(tmp_path / "engine.eddy", plan="stems")


def test_explain_shows_measured_fan_outs_beside_sampled_ones():
    """A line for each step that was taken, also of orderings."""
    made = engine(plan="((A B) C) D")
    assert not any(" each" in line for line in made.explain().splitlines())
    for name in "ABCD":
        made.push(name, {"x": np.arange(8) // 2})
    lines = [line for line in made.explain().splitlines() if " each" in line]
    assert lines == [
        "A → B: 0 matches of 8 probes, 0 each; 2 sampled",
        "B → A: 16 matches of 8 probes, 2 each; 2 sampled",
        "A B → C: 0 matches of 16 probes, 0 each; 2 sampled",
        "C → A B: 32 matches of 8 probes, 4 each; 4 sampled",
        "A B C → D: 0 matches of 32 probes, 0 each; 2 sampled",
        "D → A B C: 64 matches of 8 probes, 8 each; 8 sampled",
    ]
    made.migrate("stems")
    made.push("C", {"x": [1]})
    assert "C A B → D: 8 matches of 4 probes, 2 each; 2 sampled" in made.explain()
