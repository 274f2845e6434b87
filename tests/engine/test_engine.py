"""The engine at work: results that are kept, a policy that changes the plan, a batch that fails, nested loops."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas
import pytest

import eddy
from policies import Migration, Routing
from tests.feeds import batch, feed, query, rows
from tests.inside import Inside


@pytest.mark.parametrize("how", ["whole", "cut", "parts"])
def test_results_may_be_held_as_long_as_one_likes(how):
    """Row numbers and values, texts too, are those of their push, however many pushes and sweeps came after."""
    streams = {name: eddy.Stream({"k": "int64", "s": "string"}, window=eddy.Rows(20)) for name in "AB"}
    made = eddy.Query(streams, where=["A.k = B.k"])
    engine = eddy.Eddy(made, batch_size=8 if how == "cut" else 4096)
    rng = np.random.default_rng(1)
    told, held = {"A": [], "B": []}, []
    for i in range(120):
        name = "AB"[i % 2]
        keys = rng.integers(0, 12, 30)
        texts = [f"{name}{i}-{j} {'long ' * 20}" for j in range(30)]
        told[name] += texts
        if how == "parts":
            held += engine.push(name, {"k": keys, "s": texts}, max_rows=11)
        else:
            held.append(engine.push(name, {"k": keys, "s": texts}))
        if i % 40 == 0:
            engine.migrate("B A" if engine.plan == "A B" else "A B")
    assert sum(map(len, held)) > 2000
    for result in held:
        values = result.to_pydict()
        assert values["A.s"] == [told["A"][row] for row in result.rows[:, 0]]
        assert values["B.s"] == [told["B"][row] for row in result.rows[:, 1]]
        assert values["A.k"] == values["B.k"]
    assert len(set(rows(*held))) == sum(map(len, held))


def test_texts_that_come_and_go_keep_their_meaning():
    """The pool of strings is swept while rows with new texts arrive, and equal texts still meet."""
    streams = {name: eddy.Stream({"s": "string"}, window=eddy.Rows(10)) for name in "AB"}
    engine = eddy.Eddy(eddy.Query(streams, where=["A.s = B.s"]))
    sizes = []
    for i in range(40):
        texts = [f"{i}-{j}" for j in range(1000)]
        engine.push("A", {"s": texts})
        found = engine.push("B", {"s": [*texts[-3:], f"other {i}"]}).to_pydict()
        assert found["A.s"] == found["B.s"] == texts[-3:]
        sizes.append(engine.statistics().bytes)
    assert max(sizes[20:]) <= max(sizes[:20])


class Turning(Routing):
    """Names another plan every time it is asked."""

    period = 50

    def __init__(self, plans):
        self.plans = list(plans)
        self.asked = []

    def begin(self, names, seed):
        self.began = names, seed

    def choose(self, view):
        self.asked.append(view.events)
        return self.plans[len(self.asked) % len(self.plans)]


class Eager(Migration):
    """Fills every hole at the change itself, and notes what it was told."""

    def __init__(self):
        self.told = []

    def begin(self, change):
        created = change.shift()
        self.told.append([stair.name for stair in created])
        for stair in created:
            while not stair.complete:
                stair.settle(1000)

    def work(self, change):
        raise AssertionError("nothing was left to do")


def test_a_routing_policy_is_asked_by_the_clock_and_changes_the_plan():
    """Every `period` events it sees statistics; what it names is the plan from the next batch on."""
    turning, eager = Turning(["(A B) C", None, "A (B C)", "stems"]), Eager()
    engine = eddy.Eddy(query("ABC", eddy.Rows(25)), routing=turning, migration=eager, seed=9, batch_size=20)
    turning, eager = engine.routing, engine.migration  # its own copies
    twin = eddy.Eddy(query("ABC", eddy.Rows(25)))
    assert turning.began == (("A", "B", "C"), 9)
    plans = set()
    for name, rows_in in feed("ABC", 40, 30, 9, seed=5):
        assert Counter(rows(engine.push(name, rows_in))) == Counter(rows(twin.push(name, rows_in)))
        plans.add(engine.plan)
    assert plans == {"(A B) C", "A (B C)", "A: B C | B: A C | C: A B"}
    assert all(
        later - earlier >= 50 for earlier, later in zip(turning.asked, turning.asked[1:], strict=False)
    )
    assert engine.statistics().migrations > 10 and engine.statistics().complete
    assert ["B C"] in eager.told and [] in eager.told


def test_an_engine_that_broke_in_a_batch_says_so(monkeypatch):
    """After something failed half-way, the engine refuses to go on instead of giving wrong results."""

    def failing(*_):
        raise RuntimeError("full")

    engine = Inside(query())
    monkeypatch.setattr(engine.state.output, "of", failing)  # whichever way the batch takes
    with pytest.raises(RuntimeError, match="full"):
        engine.push("A", batch([1]))
    with pytest.raises(eddy.StateError, match="full"):
        engine.push("A", batch([1]))


@pytest.mark.parametrize("plan", ["((A B) C) D", "(A B) (C D)", "stems"])
def test_nested_loops_find_what_hashing_finds(plan):
    """`joins="nested"` compares everything with everything; results and plan changes are the same."""
    nested, hashed = (
        eddy.Eddy(query("ABCD", eddy.Rows(12)), plan=plan, joins=joins) for joins in ("nested", "hash")
    )
    for i, (name, rows_in) in enumerate(feed("ABCD", 60, 7, 5, seed=2)):
        if i % 15 == 14:
            for engine in (nested, hashed):
                engine.migrate("((C B) D) A" if i % 2 else plan)
        assert Counter(rows(nested.push(name, rows_in))) == Counter(rows(hashed.push(name, rows_in)))
    assert nested.statistics().results == hashed.statistics().results > 500
    filled = nested.statistics().composites_filled
    assert filled == hashed.statistics().composites_filled > 0


def test_whose_rows_these_are_has_to_be_said():
    """What is given in the wrong place is named, and where it belongs."""
    frame = pandas.DataFrame({"ts": [1], "k": [1]})
    engine = eddy.Eddy(eddy.Query({n: {"ts": "int64", "k": "int64"} for n in "AB"}, where=["A.k = B.k"]))
    for call, said in (
        (
            lambda: engine.push_all(frame),
            r"not a pandas.DataFrame: .* push\('A', batch\) or push_all\({'A': batch",
        ),
        (lambda: engine.push(frame, "A"), r"the name of a stream .* not a pandas.DataFrame first"),
        (lambda: engine.push("A", frame["k"]), r"a pandas.Series is one column.* as in {'k': ...}"),
        (lambda: engine.push_all({"k": [1], "ts": [1]}), r"no stream 'k'.* as in {'A': {'k': ...}}"),
    ):
        with pytest.raises(eddy.EddyError, match=said):
            call()
    assert engine.statistics().events == 0
