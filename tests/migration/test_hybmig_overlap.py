"""HybMig: changes that overlap. Each plan goes on with what all later ones lack, whatever number of them (H-C8)."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import eddy
from policies import HybMig, Migration
from tests.cases import Case, S
from tests.checks import check
from tests.migration.test_hybmig import BUSHY, LEFT, RIGHT
from tests.trace import Trace

OTHER = "(A C) (B D)"


def run_beside(trace):
    """The plans that go on beside the current one, the oldest first, and how many results each has made."""
    return [(track.plan, track.results) for track in trace.last.tracks]


def push_new_rows(trace, numbers):
    """Push rows of A, B, C and D with these numbers; all results, and each once."""
    found = [word for number in numbers for name in "abcd" for word in trace.push(f"{name}{number}")]
    assert len(found) == len(set(found))
    return found


def test_three_plans_share_the_work():
    """Rows of three times and all 81 combinations: each is made once, by the newest plan that can make it.

    The second plan lacks what has old rows of C and D; the third, what had rows of A and C, or of B and D, before it
    came. The first plan makes what both lack, and the second what only the third lacks.
    """
    trace = Trace(LEFT, migration=HybMig())
    push_new_rows(trace, [1])
    trace.migrate(RIGHT)
    push_new_rows(trace, [2])
    trace.migrate(OTHER)
    before = [results for _, results in run_beside(trace)]
    found = push_new_rows(trace, [3])
    first, second = ((plan, now - was) for (plan, now), was in zip(run_beside(trace), before, strict=True))

    def by_third(a, b, c, d):
        return not (a < 3 and c < 3) and not (b < 3 and d < 3)

    makers = [
        "third" if by_third(*numbers) else "second" if max(numbers[2:]) > 1 else "first"
        for numbers in itertools.product((1, 2, 3), repeat=4)
        if 3 in numbers
    ]
    assert len(found) == 3**4 - 2**4 == len(makers)
    assert first == (LEFT, makers.count("first"))
    assert second == (RIGHT, makers.count("second"))
    assert makers.count("first") > 0 < makers.count("second")
    assert [change.ended for change in trace.engine.statistics().history] == [None, None]


@pytest.mark.parametrize("background", [0, 1, 3, 100])
@pytest.mark.parametrize("sharing", [True, False])
def test_any_number_of_changes(sharing, background):
    """There, on, back, and so on, a row of each stream after each change: nothing is lost and nothing comes twice."""
    trace = Trace(LEFT, migration=HybMig(sharing, background, patience=1000))
    push_new_rows(trace, [1])
    plans = [RIGHT, BUSHY, LEFT, "(A (B C)) D", OTHER, RIGHT, LEFT, "B ((A C) D)"]
    for number, plan in enumerate(plans, 2):
        trace.migrate(plan)
        assert len(push_new_rows(trace, [number])) == number**4 - (number - 1) ** 4
    if background == 0:
        assert len(run_beside(trace)) > 2


def test_a_state_that_lacks_something_is_shared_where_it_is_made_alike():
    """BC began empty; the third plan makes it in the same way, so it goes on with what BC has and lacks."""
    trace = Trace(LEFT, migration=HybMig())
    push_new_rows(trace, [1])
    trace.migrate("(A (B C)) D")
    push_new_rows(trace, [2])
    assert trace.stair("BC").live == 3  # not (b1, c1)
    trace.migrate("A ((B C) D)")
    assert trace.stair("BC").live == 3 and trace.stair("BC").partial
    assert len(push_new_rows(trace, [3])) == 3**4 - 2**4
    assert [plan for plan, _ in run_beside(trace)] == [LEFT, "(A (B C)) D"]


def test_a_state_that_lacks_something_is_not_shared_where_it_is_made_otherwise():
    """ABC lacks old pairs of B and C. By way of AB it would get some of them, which the first plan makes too."""
    trace = Trace("((A D) B) C", migration=HybMig())
    push_new_rows(trace, [1])
    trace.migrate("(A (B C)) D")
    push_new_rows(trace, [2])
    trace.migrate(LEFT)
    stairs = [stair for stair in trace.engine.statistics().stairs if stair.streams == ("A", "B", "C")]
    assert sorted((stair.former, stair.live > 0) for stair in stairs) == [(False, False), (True, True)]
    assert len(push_new_rows(trace, [3])) == 3**4 - 2**4


def test_nor_is_a_state_above_one_that_is_not_shared():
    """ABCE is made of ABC and E by both plans, but not of the same ABC."""
    trace = Trace("(((A D) B) C) E", migration=HybMig())
    for number, plan in enumerate(["", "((A (B C)) E) D", "(((A B) C) E) D"], 1):
        if plan:
            trace.migrate(plan)
        for name in "ABCDE":
            trace.engine.push(name, {"k": [1]})
        assert trace.engine.statistics().results == number**5
    stairs = trace.engine.statistics().stairs
    assert sorted(s.former for s in stairs if s.streams == ("A", "B", "C", "E")) == [False, True]


def test_a_state_that_is_read_by_two_older_plans():
    """AB is shared by the first two plans and not by the third: it goes on with what either of them needs."""
    trace = Trace("(((A B) C) D) E", migration=HybMig())
    for plan in ["(((A B) C) D) E", "((A B) D) (C E)", "(A C) ((B D) E)", "((A D) B) (C E)"]:
        trace.migrate(plan)
        for name in "ABCDE":
            trace.engine.push(name, {"k": [1]})
    assert trace.engine.statistics().results == 4**5


def test_background_computation_goes_on_over_a_change():
    """The states of the last plan are completed one by one, and with them the older plans go, long before the rows."""
    windows = dict.fromkeys("ABCD", eddy.Rows(1000))
    trace = Trace(LEFT, windows=windows, migration=HybMig(background=2))
    for name in "ABCD":
        trace.engine.push(name, {"k": np.arange(12)})
    for plan in ["(A (B C)) D", "A ((B C) D)"]:
        trace.migrate(plan)
        trace.engine.push("A", {"k": [1]})
    assert [plan for plan, _ in run_beside(trace)] == [LEFT, "(A (B C)) D"]
    for number in range(40):
        trace.engine.push("ABCD"[number % 4], {"k": [number % 12]})
    statistics = trace.engine.statistics()
    assert statistics.complete and all(change.ended is not None for change in statistics.history)
    rows = {
        name: [*range(12), *([1, 1] if name == "A" else []), *range("ABCD".index(name), 40, 4)]
        for name in "ABCD"
    }
    counts = [np.bincount(np.array(keys) % 12, minlength=12) for keys in rows.values()]
    assert statistics.results == int(np.prod(counts, axis=0).sum())


def test_older_plans_go_in_their_order():
    """Each goes when the rows that it needs have left their windows, the oldest first."""
    windows = dict.fromkeys("ABCD", eddy.Rows(4))
    trace = Trace(LEFT, windows=windows, migration=HybMig(patience=1000))
    plans = []

    def push(count):
        for _ in range(count):
            for name in "ABCD":
                trace.engine.push(name, {"k": [1]})
            running = trace.last.tracks if trace.last.ended is None else ()
            plans.append([track.plan for track in running if track.entries])

    for name in "ABCD":
        trace.engine.push(name, {"k": [1] * 4})
    trace.migrate(RIGHT)
    push(2)
    trace.migrate(OTHER)
    push(5)
    assert plans == [[LEFT], [LEFT], [LEFT, RIGHT], [RIGHT], [RIGHT], [], []]
    first, second = trace.engine.statistics().history
    assert first.begun == 16 and first.ended < second.ended


@pytest.mark.parametrize("plan", ["stems", "A: B C D | B: C D A | C: D A B | D: A B C"])
def test_a_plan_of_orderings_computes_what_is_lacking_at_once(plan):
    """Who makes a result would not be a matter of the result alone: the older plans end there."""
    trace = Trace(LEFT, migration=HybMig())
    push_new_rows(trace, [1])
    trace.migrate(RIGHT)
    push_new_rows(trace, [2])
    trace.migrate(plan)
    assert run_beside(trace) == [] and trace.last.ended is not None
    assert len(push_new_rows(trace, [3])) == 3**4 - 2**4


def test_too_many_cases_are_computed_at_once(monkeypatch):
    """Where scopes would have many entries it costs more to tell who makes a result than to complete the states."""
    monkeypatch.setattr("eddy.migration.hybrid.MOST_ENTRIES", 1)
    trace = Trace(LEFT, migration=HybMig())
    push_new_rows(trace, [1])
    trace.migrate(RIGHT)
    push_new_rows(trace, [2])
    trace.migrate(OTHER)
    assert run_beside(trace) == [] and trace.engine.statistics().complete
    assert len(push_new_rows(trace, [3])) == 3**4 - 2**4
    statistics = trace.engine.statistics()
    assert (statistics.history[-1].fallback, statistics.fallbacks) == ("entries", 1)


def test_a_change_that_does_as_it_says_is_no_fall_back():
    """Nor is one to a plan of orderings that keeps no state: there is nothing to compute."""
    trace = Trace(LEFT, migration=HybMig())
    push_new_rows(trace, [1])
    for number, plan in enumerate((RIGHT, OTHER, "stems"), 2):
        trace.migrate(plan)
        push_new_rows(trace, [number])
    statistics = trace.engine.statistics()
    assert [change.fallback for change in statistics.history] == [None] * 3 and statistics.fallbacks == 0


def test_orderings_that_visit_composites_are_a_fall_back():
    """Their states are holes to begin with; and a change while these are left is another one, for their sake."""
    trace = Trace(LEFT, migration=HybMig())
    push_new_rows(trace, [1])
    trace.migrate("A: (C D) B | B: A (C D) | C: D A B | D: C A B")
    assert (trace.last.fallback, trace.engine.statistics().complete) == ("orderings", False)
    trace.migrate(RIGHT)
    assert (trace.last.fallback, trace.engine.statistics().complete) == ("holes", True)
    assert trace.engine.statistics().fallbacks == 2
    assert len(push_new_rows(trace, [2])) == 2**4 - 1


def test_parallel_track_after_a_split_is_a_fall_back():
    """Two plans in one cannot be the older track."""

    class Either(Migration):
        """Two plans in one table for the first change, and two tracks for the next."""

        def begin(self, change):
            if change.running:
                change.fork(held=False)
            else:
                change.split(sharing=True)

        def work(self, change):
            change.expire()

    trace = Trace(LEFT, migration=Either())
    push_new_rows(trace, [1])
    trace.migrate(RIGHT)
    assert trace.last.fallback is None
    trace.migrate(OTHER)
    assert (trace.last.fallback, trace.engine.statistics().fallbacks) == ("tracks", 1)
    assert len(push_new_rows(trace, [2])) == 2**4 - 1


def turned(pick, tree):
    """A tree with one thing changed: two neighbours are joined in another order, or two leaves change places."""
    if isinstance(tree, str):
        return tree
    left, right = tree
    if isinstance(left, tuple) and pick.random() < 0.4:
        return pick.choice([(left[0], (left[1], right)), ((left[0], right), left[1])])
    if isinstance(right, tuple) and pick.random() < 0.4:
        return pick.choice([((left, right[0]), right[1]), (right[0], (left, right[1]))])
    return (turned(pick, left), right) if pick.random() < 0.5 else (left, turned(pick, right))


def text(tree):
    return tree if isinstance(tree, str) else f"({text(tree[0])} {text(tree[1])})"


def near_plans(pick, names, count):
    """Plans each of which has much in common with the one before."""
    tree = names[0]
    for name in names[1:]:
        tree = (tree, name)
    for _ in range(count):
        yield text(tree)
        for _ in range(pick.choice([1, 1, 2, 4])):
            tree = turned(pick, tree)


@pytest.mark.parametrize("seed", range(40))
def test_plans_that_have_much_in_common(seed):
    """Random rows against the oracle while plan follows plan, by small steps: many states are shared, inside too."""
    pick = random.Random(seed)
    names = "ABCDEF"[: pick.choice([4, 5, 5, 6])]
    wide = pick.choice([3, 5, 8])
    window = pick.choice([("rows", wide), ("rows", wide), ("unbounded",)])
    plan, *plans = near_plans(pick, names, 9)
    steps = []
    for later in plans:
        for _ in range(pick.choice([1, 3, 8])):
            steps.append(
                ("push", pick.choice(names), [(pick.randrange(2),) for _ in range(pick.choice([1, 1, 3]))])
            )
        steps.append(("migrate", later))
    streams = {name: S({"k": "int64"}, window) for name in names}
    where = [("=", ("col", a, "k"), ("col", b, "k")) for a, b in itertools.pairwise(names)]
    technique = HybMig(pick.random() < 0.8, pick.choice([0, 0, 1, 3]), patience=100)
    check(Case(streams, where, steps, plan=plan, technique=technique, batch_size=pick.choice([1, 2, 4096])))
