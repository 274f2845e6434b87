"""Pairs that a join does not make: sub-tuples whose components lie on both sides of it (JIT's Type II)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import eddy
from policies import Mns, NoFeedback
from policies.feedback.lattice import identify_mns
from tests.cases import ANY_TECHNIQUE
from tests.feedback.engines import clique, signed
from tests.feedback.engines import feed as random_feed
from tests.feedback.test_scenarios_feedback import feed, make

ON, OFF = Mns(restraint=False, pairs=True), Mns(restraint=False)
FIVE = {"A": "x a", "B": "x b y", "C": "y z c", "D": "z d", "E": "a b c d"}
WHERE = ["A.x = B.x", "B.y = C.y", "C.z = D.z", *(f"{s}.{s.lower()} = E.{s.lower()}" for s in "ABCD")]


def figure_5(policy, **options):
    """The paper's Figure 5: each of four streams is compared with E in a column of its own."""
    return make(FIVE, WHERE, "((A B) (C D)) E", policy, window=100, **options)


def row(name, ts, **values):
    """A row, with 1 in all columns that are not given."""
    return name, ts, {column: values.get(column, 1) for column in FIVE[name].split()}


def only(*components):
    """Values of a row of E that matches only these of a, b, c and d, if these have the value 1."""
    return {c: 1 if c in components else 9 for c in "abcd"}


def live(engine, name):
    """Composites of these streams that are stored."""
    stairs = engine.statistics().stairs
    return sum(stair.live for stair in stairs if "".join(stair.streams) == name)


def waiting(engine, opposite="E"):
    """How many entries of which nodes wait for E."""
    edges = engine.statistics().feedback.edges
    return {edge.name: edge.waiting for edge in edges if edge.opposite == opposite and edge.waiting}


# -- the lattice -------------------------------------------------------------------------------------------------------


def test_t63_the_lattice_of_sub_tuples():
    """e1 matches a only, e2 matches c only: ac stays alive, since a and c never match the same e."""
    assert identify_mns("abcd", ["a", "c"]) == [{"b"}, {"d"}, {"a", "c"}]


def test_t64_what_is_dead_is_no_sub_tuple_to_report():
    """One e that matches a and b leaves none of a, b and ab alive (H-E7)."""
    assert identify_mns("ab", ["ab"]) == []


def test_the_lattice_of_a_consumer_without_rows():
    """Then the empty sub-tuple is the only minimal one."""
    assert identify_mns("ab", []) == [frozenset()]


def test_sub_tuples_of_three_components():
    """Every two of them have a partner, and never all three."""
    assert identify_mns("abc", ["ab", "bc", "ca"]) == [{"a", "b", "c"}]


def test_an_engine_leaves_out_what_the_lattice_says():
    """A tuple abcd and every two rows of E: what lies on one side of the join waits there, and what lies on both sides
    is a pair that is not made."""
    patterns = [set(p) for n in range(5) for p in itertools.combinations("abcd", n)]
    for pair in itertools.combinations_with_replacement(patterns, 2):
        engine = figure_5(ON)
        found = feed(engine, *(row("E", 0, **only(*p)) for p in pair), *(row(s, 1) for s in "DCBA"))
        numbers = engine.statistics().feedback
        minimal = identify_mns("abcd", pair)
        one_sided = [node for node in minimal if node <= set("ab") or node <= set("cd")]
        assert len(found[-1]) == sum(p == set("abcd") for p in pair)
        assert (numbers.waiting + numbers.composites_suspended > 0) == bool(one_sided), pair
        assert numbers.pairs_suppressed == bool(minimal and not one_sided), pair
        assert live(engine, "ABCD") == (not minimal)
        full = feed(engine, row("E", 2))
        assert full == [[(0, 0, 0, 0, 2)]] and engine.statistics().feedback.keys_noted == 0


# -- the scenarios -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [OFF, ON], ids=str)
def test_t62_sub_tuples_on_both_sides_are_suspended_and_resumed_together(policy):
    """Figure 5: E matches b1 and d1, and neither a1 nor c1. Both are blacklisted, each on its side; e1 resumes both.

    c0, which E matches, is there so that a1 has partners on the other side of the join: it waits for E, not for them.
    """
    assert identify_mns("abcd", ["bd"]) == [{"a"}, {"c"}]
    engine = figure_5(policy)
    events = [row("E", 0, **only("b", "d")), row("D", 1), row("C", 1, c=9), row("B", 1), row("A", 2)]
    assert feed(engine, *events, row("C", 3)) == [[]] * 6
    assert waiting(engine) == {"A": 1, "C": 1} and engine.statistics().feedback.waiting == 2
    assert live(engine, "ABCD") == 0
    assert feed(engine, row("E", 4)) == [[(0, 0, 1, 0, 1)]]
    assert engine.statistics().feedback.waiting == 0


@pytest.mark.parametrize("policy", [OFF, ON], ids=str)
def test_t63_rows_wait_first_and_then_the_pair(policy):
    """b and d wait; when they have partners, but a and c never the same one, only the pair of both is of no use."""
    engine = figure_5(policy)
    events = [row("E", 0, **only("a")), row("E", 0, **only("c")), row("D", 1, d=9), row("C", 1)]
    assert feed(engine, *events, row("D", 2), row("B", 2), row("A", 2)) == [[]] * 7
    assert waiting(engine) == {"B": 1, "D": 1} and engine.statistics().feedback.waiting == 2
    assert live(engine, "ABCD") == 0
    assert feed(engine, row("E", 3, **only("a", "b", "d")), row("E", 4, **only("b", "c", "d"))) == [[], []]
    numbers = engine.statistics().feedback
    assert (numbers.waiting, numbers.composites_suspended) == (0, numbers.composites_resumed)
    # With c there are two rows of D; neither pair is made.
    assert (numbers.pairs_suppressed, live(engine, "ABCD")) == ((2, 0) if policy.pairs else (0, 2))
    assert feed(engine, row("E", 5)) == [[(0, 0, 0, 1, 4)]]
    assert engine.statistics().feedback.pairs_restored == policy.pairs


@pytest.mark.parametrize("policy", [OFF, ON], ids=str)
def test_t72_a_pair_keeps_neither_half_from_others(policy):
    """E has (a1, c2) and (a2, c1), so a1 c1 and a2 c2 are of no use. A new a1 must still meet c2 (H-E6)."""
    engine = figure_5(policy)
    events = [row("E", 0, c=2), row("E", 0, a=2), row("B", 1), row("D", 1), row("A", 1), row("A", 1, a=2)]
    assert feed(engine, *events) == [[]] * 6
    assert feed(engine, row("C", 2), row("C", 3, c=2)) == [[(1, 0, 0, 0, 1)], [(0, 0, 1, 0, 0)]]
    assert feed(engine, row("A", 4)) == [[(2, 0, 1, 0, 0)]]
    numbers = engine.statistics().feedback
    assert (numbers.waiting, numbers.composites_suspended) == (0, 0)
    # a1 c1 twice, since there are two a1, and a2 c2; a1 c2, also twice, and a2 c1 are stored.
    assert (numbers.pairs_suppressed, numbers.keys_noted) == ((3, 2) if policy.pairs else (0, 0))
    assert live(engine, "ABCD") == (3 if policy.pairs else 6)
    assert sorted(feed(engine, row("E", 5))[0]) == [(0, 0, 0, 0, 2), (2, 0, 0, 0, 2)]
    assert feed(engine, row("E", 6, a=2, c=2)) == [[(1, 0, 1, 0, 3)]]
    assert engine.statistics().feedback.pairs_restored == (3 if policy.pairs else 0)


@pytest.mark.parametrize(("policy", "made"), [(NoFeedback(), 100), (OFF, 100), (ON, 0)], ids=str)
def test_composites_of_figure_5_are_not_made(policy, made):
    """Ten rows of A and ten of C have partners in E, but no two of them the same one: a hundred pairs."""
    engine = figure_5(policy)
    for i in range(10):
        feed(engine, row("E", 0, a=i, c=99), row("E", 0, a=99, c=i))
    feed(engine, row("B", 1), row("D", 1))
    for i in range(10):
        assert feed(engine, row("A", 2, a=i), row("C", 2, c=i)) == [[], []]
    assert live(engine, "ABCD") == made
    assert feed(engine, row("E", 3, a=3, c=4), row("E", 3, a=5, c=5)) == [
        [(3, 0, 4, 0, 20)],
        [(5, 0, 5, 0, 21)],
    ]
    assert live(engine, "ABCD") == (2 if policy == ON else made)
    # What was restored is there like all others, and what comes now is stored with it.
    assert len(feed(engine, row("E", 4, a=3, c=4), row("A", 5, a=3))[-1]) == 2


def test_pairs_are_known_no_longer_than_they_live():
    """Keys are forgotten when the windows have turned over; a partner that comes too late finds nothing."""
    engine = figure_5(ON)
    start = [row("E", 0, c=2), row("E", 0, a=2), row("B", 1), row("D", 1), row("A", 1), row("C", 2)]
    feed(engine, *start)
    assert engine.statistics().feedback.keys_noted == 1
    assert feed(engine, row("E", 200), row("B", 201), row("E", 310)) == [[]] * 3
    feed(engine, row("E", 420), row("E", 530))
    assert engine.statistics().feedback.keys_noted == 0


def test_a_join_with_many_such_pairs_needs_no_room_for_them():
    """Of one batch: what nothing matches goes before its ring would have to grow."""
    sizes = {}
    for policy in (OFF, ON):
        engine = figure_5(policy)
        n = 300
        ones = np.ones(2 * n, np.int64)
        values = np.concatenate((np.arange(n), np.full(n, -1)))
        engine.push("E", {"ts": 0 * ones, "a": values, "c": values[::-1], "b": ones, "d": ones})
        feed(engine, row("B", 1), row("D", 1))
        one = ones[:n]
        engine.push_all(
            {
                "A": {"ts": one, "x": one, "a": np.arange(n)},
                "C": {"ts": one, "y": one, "z": one, "c": np.arange(n) % 10},
            }
        )
        (stair,) = (s for s in engine.statistics().stairs if len(s.streams) == 4)
        sizes[policy.pairs] = stair.bytes
        assert stair.live == (0 if policy.pairs else n * n)
    assert engine.statistics().feedback.pairs_suppressed == n * n
    assert engine.statistics().feedback.keys_noted == 10 * n
    assert 50 * sizes[True] < sizes[False]


# -- at random ---------------------------------------------------------------------------------------------------------


def test_keys_are_noted_when_entries_were_moved_together():
    """Keys that were restored leave room behind, which is given back by moving the others together. (A key that was not
    noted was taken to be, by the number of one that had been moved: what it was to restore was lost.)"""
    engine = figure_5(ON)
    feed(engine, row("E", 0, c=2), row("E", 0, a=2), row("B", 1), row("D", 1), row("C", 2))
    feed(engine, row("A", 2, x=7), row("B", 2, x=8), row("A", 3))
    for i in range(400):
        found = feed(engine, row("E", 4, a=10 + i, c=2), row("A", 4, a=10 + i))
        assert found == [[], []] and engine.statistics().feedback.keys_noted == 2
        assert feed(engine, row("E", 4, a=10 + i)) == [[(2 + i, 0, 0, 0, 3 + 2 * i)]]
        assert engine.statistics().feedback.keys_noted == 1
    assert feed(engine, row("E", 5)) == [[(1, 0, 0, 0, 802)]]
    assert engine.statistics().feedback.pairs_restored == 401


def demote_some(engine, rng, domain):
    """Demote some keys of every composite STAIR, unless two plans run side by side."""
    stairs = engine.statistics().stairs
    if any(stair.former or stair.partial for stair in stairs):
        return
    for stair in stairs:
        view = engine.stair(stair.streams)
        keys = itertools.product(range(domain), repeat=len(view.key))
        view.demote([key if len(key) > 1 else key[0] for key in keys if rng.random() < 0.5])


@pytest.mark.parametrize("technique", ANY_TECHNIQUE, ids=repr)
def test_pairs_while_plans_change(technique):
    """What is suppressed under one plan is not missing under the next, nor when keys are demoted."""
    query = clique("ABCD", lambda s: eddy.Rows(12) if s == "B" else eddy.Range(30))
    plans = ["((A B) C) D", "(A B) (C D)", "(D (A C)) B", "stems"]
    plain = eddy.Eddy(query, plans[0])
    tested = eddy.Eddy(query, plans[0], feedback=ON, migration=technique, batch_size=16)
    rng = np.random.default_rng(5)
    for step in range(40):
        if step % 9 == 5:
            tested.migrate(plans[step // 9 % 4])
        if step % 13 == 3:
            demote_some(tested, rng, 3)
        batch = random_feed(query, rng, 3, 10, 10 * step)
        assert signed(plain.push_all(batch)) == signed(tested.push_all(batch))
    numbers = tested.statistics().feedback
    assert numbers.pairs_suppressed > numbers.pairs_restored > 0


@pytest.mark.parametrize("options", [{"threads": 2}, {"memory": 60_000}, {"joins": "nested"}, {}], ids=str)
@pytest.mark.parametrize("policy", [ON, Mns(pairs=True), Mns(1, "bloom", False, pairs=True)], ids=str)
def test_pairs_with_other_options(policy, options):
    """With shards, where memory is short, by nested loops."""
    query = clique("ABCDE", lambda s: eddy.Rows(20))
    plain = eddy.Eddy(query, "((A B) (C D)) E")
    tested = eddy.Eddy(query, "((A B) (C D)) E", feedback=policy, **options)
    rng = np.random.default_rng(7)
    for step in range(30):
        batch = random_feed(query, rng, 2, 6, 6 * step)
        assert signed(plain.push_all(batch)) == signed(tested.push_all(batch))
    if (
        "memory" not in options
    ):  # else there are holes nearly all the time, and nothing is judged by both sides
        assert tested.statistics().feedback.pairs_suppressed > 0
