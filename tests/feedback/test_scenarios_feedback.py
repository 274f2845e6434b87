"""The feedback paper's worked examples and their counterexamples (T56 to T76): no policy may change a result."""

from __future__ import annotations

import pytest

import eddy
from policies import Doe, Gms, HybMig, Jisc, Mns, MovingState, NoFeedback, ParallelTrack

POLICIES = (
    NoFeedback(),
    Doe(),
    Mns(),
    Mns(restraint=False),
    Mns(levels=1, restraint=False),
    Mns(detect="bloom", restraint=False),
    Mns(restraint=False, pairs=True),
)
PLANS = ("(A B) C", "A (B C)", "(A C) B", "stems")

every_policy = pytest.mark.parametrize("policy", POLICIES, ids=str)


def tireless(policy):
    """Whether the policy judges every row, so that one can tell what waits."""
    return isinstance(policy, Mns) and not policy.restraint


def make(columns, where, plan, policy, window=10, **options):
    """An engine over streams of int64 columns, by name, all with one window."""
    streams = {
        name: eddy.Stream({"ts": "int64", **dict.fromkeys(names.split(), "int64")}, window=eddy.Range(window))
        for name, names in columns.items()
    }
    return eddy.Eddy(eddy.Query(streams, where=where, cross=True), plan, feedback=policy, **options)


def engine_of(plan, policy):
    """A.x = B.x and A.y = C.y, windows of 10."""
    return make({"A": "x y", "B": "x", "C": "y"}, ["A.x = B.x", "A.y = C.y"], plan, policy)


def feed(engine, *events):
    """Push events such as ("A", 1, {"x": 1, "y": 100}); returns the rows of all results by event."""
    return [
        [
            tuple(row)
            for row in engine.push(name, {"ts": [ts], **{c: [v] for c, v in row.items()}}).rows.tolist()
        ]
        for name, ts, row in events
    ]


def a(ts, y):
    return "A", ts, {"x": 1, "y": y}


def b(ts):
    return "B", ts, {"x": 1}


def c(ts, y):
    return "C", ts, {"y": y}


@every_policy
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("before", [[c(0, 999)], []], ids=["T56", "T57"])
def test_t56_t57_a_late_partner_finds_all_that_waited(plan, before, policy):
    """Eight results, whether C held a row that does not match or none at all."""
    engine = engine_of(plan, policy)
    found = feed(engine, *before, b(0), b(0), b(0), a(1, 100), b(2), a(3, 100), c(4, 100))
    assert all(rows == [] for rows in found[:-1])
    late = len(before)
    assert sorted(found[-1]) == [(i, j, late) for i in range(2) for j in range(4)]
    if plan == "(A B) C" and tireless(policy):
        numbers = engine.statistics().feedback
        assert (numbers.suspended, numbers.resumed, numbers.waiting) == ((2 if before else 6),) * 2 + (0,)


@every_policy
@pytest.mark.parametrize("plan", PLANS)
def test_t58_what_waits_longer_than_the_first_of_its_kind(plan, policy):
    """a1 expires before its partner comes, a2 with the same value does not (H-E3)."""
    events = c(0, 9), b(0), a(1, 100), b(7), a(8, 100), c(9, 998), c(12, 100)
    found = feed(engine_of(plan, policy), *events)
    assert all(rows == [] for rows in found[:-1]) and found[-1] == [(1, 1, 2)]


@every_policy
@pytest.mark.parametrize("plan", PLANS)
def test_t59_rows_of_both_sides_wait(plan, policy):
    """What a resumed row meets may have come while it waited."""
    engine = make(
        {"A": "x y", "B": "x z", "C": "y z"},
        ["A.x = B.x", "A.y = C.y", "B.z = C.z"],
        plan,
        policy,
        window=100,
    )
    events = [("C", 0, {"y": 9, "z": 9}), ("B", 1, {"x": 1, "z": 5}), ("A", 2, {"x": 1, "y": 7})]
    events += [("B", 3, {"x": 1, "z": 5}), ("C", 4, {"y": 7, "z": 8}), ("C", 5, {"y": 8, "z": 5})]
    found = feed(engine, *events, ("C", 6, {"y": 7, "z": 5}))
    assert all(rows == [] for rows in found[:-1]) and sorted(found[-1]) == [(0, 0, 3), (0, 1, 3)]


@every_policy
@pytest.mark.parametrize("plan", ["((A D) B) C", "(A D) (B C)", "A (D (B C))", "stems"])
def test_t60_what_comes_back_wakes_others(plan, policy):
    """A resumed row is an arrival for those that wait for it (H-E4)."""
    where = ["A.k = D.k", "A.k = B.k", "B.z = C.z"]
    engine = make({"A": "k", "D": "k", "B": "k z", "C": "z"}, where, plan, policy, window=100)
    one, two = {"k": 1}, {"k": 1, "z": 0}
    found = feed(engine, ("C", 0, {"z": 9}), ("B", 1, two), ("A", 2, one), ("D", 3, one), ("A", 4, one))
    assert found == [[]] * 5
    assert sorted(feed(engine, ("C", 5, {"z": 0}))[0]) == [(0, 0, 0, 1), (1, 0, 0, 1)]
    assert feed(engine, ("A", 6, one)) == [[(2, 0, 0, 1)]]


@every_policy
@pytest.mark.parametrize("plan", ["(A B) (C D)", "(C D) (A B)", "((A B) C) D", "stems"])
def test_t61_two_sides_never_wait_for_each_other(plan, policy):
    """As printed, a1 and c1 are suspended for want of each other's composites, and a result is lost (H-E5)."""
    where = ["A.k = B.k", "C.m = D.m", "A.p = D.p", "B.q = C.q"]
    engine = make({"A": "k p", "B": "k q", "C": "m q", "D": "m p"}, where, plan, policy, window=100)
    events = [("D", 0, {"m": 1, "p": 1}), ("D", 1, {"m": 1, "p": 0}), ("A", 2, {"k": 1, "p": 0})]
    events += [("B", 3, {"k": 1, "q": 1}), ("C", 4, {"m": 1, "q": 0}), ("B", 5, {"k": 1, "q": 1})]
    assert feed(engine, *events, ("B", 6, {"k": 1, "q": 0})) == [[]] * 6 + [[(0, 2, 0, 1)]]


@every_policy
@pytest.mark.parametrize("plan", ["((A B) (C D)) E", "E ((A B) (C D))", "(((A B) C) D) E"])
def test_t62_five_streams(plan, policy):
    """Figure 5: b1 and d1 have a partner in E, a1 and c1 have none until e1 comes."""
    columns = {"A": "x a", "B": "x b y", "C": "y z c", "D": "z d", "E": "a b c d"}
    where = ["A.x = B.x", "B.y = C.y", "C.z = D.z", *(f"{s}.{s.lower()} = E.{s.lower()}" for s in "ABCD")]
    engine = make(columns, where, plan, policy, window=100)
    other = {"a": 9, "b": 1, "c": 9, "d": 1}
    events = [("E", 0, other), ("A", 1, {"x": 1, "a": 1}), ("B", 2, {"x": 1, "b": 1, "y": 1})]
    events += [("C", 3, {"y": 1, "z": 1, "c": 1}), ("D", 4, {"z": 1, "d": 1})]
    assert feed(engine, *events) == [[]] * 5
    if tireless(policy):
        # a1 and b1 wait for c1, which waits for e1: at each join only one side waits.
        numbers = engine.statistics().feedback
        assert numbers.waiting == 3
        assert [edge.name for edge in numbers.edges if edge.opposite == "E" and edge.waiting] == ["C"]
        assert sum(stair.live for stair in engine.statistics().stairs) == 0
    assert feed(engine, ("E", 5, dict.fromkeys("abcd", 1))) == [[(0, 0, 0, 0, 1)]]
    if tireless(policy):
        assert engine.statistics().feedback.waiting == 0


@pytest.mark.parametrize("detect", ["exact", "bloom"])
def test_t65_a_stale_bit_hides_what_could_wait_and_never_the_reverse(detect):
    """What is there is found while it lives; when it has left its window a filter may say that it is there still."""
    columns = {"A": "k p", "B": "k q", "C": "m p", "D": "m q"}
    where = ["A.k = B.k", "C.m = D.m", "A.p = C.p", "B.q = D.q"]
    engine = make(columns, where, "(A B) (C D)", Mns(detect=detect, restraint=False))
    one = {"k": 1, "p": 1}

    def waiting():
        return engine.statistics().feedback.waiting

    feed(engine, ("C", 0, {"m": 1, "p": 1}), ("D", 0, {"m": 1, "q": 1}))
    assert feed(engine, ("A", 1, {"k": 1, "p": 2})) == [[]] and waiting() == 1
    assert feed(engine, ("A", 1, one)) == [[]] and waiting() == 1
    assert feed(engine, ("B", 2, {"k": 1, "q": 1})) == [[(1, 0, 0, 0)]]
    assert feed(engine, ("A", 11, one)) == [[]]  # the pair has left: it may wait, or seem to have a partner
    assert waiting() == (2 if detect == "exact" else 1)
    again = feed(
        engine, ("B", 11, {"k": 1, "q": 1}), ("C", 12, {"m": 1, "p": 1}), ("D", 12, {"m": 1, "q": 1})
    )
    assert sorted(again[-1]) == [(2, 0, 1, 1), (2, 1, 1, 1)] and waiting() == 0


@every_policy
def test_t66_what_has_left_its_window_is_dropped(policy):
    """A partner that comes too late finds nothing, and nothing waits any longer."""
    engine = engine_of("(A B) C", policy)
    assert feed(engine, c(0, 9), b(0), a(1, 100), c(20, 100), c(21, 7)) == [[]] * 5
    if tireless(policy):
        numbers = engine.statistics().feedback
        assert (numbers.suspended, numbers.resumed, numbers.dropped, numbers.waiting) == (1, 0, 1, 0)


@every_policy
def test_t69_t70_orderings(policy):
    """Without composites a row that waits comes back in time for those that probe its leaf, and wakes b4."""
    engine = engine_of("A: B C | B: A C | C: A B", policy)
    assert feed(engine, c(0, 9), a(1, 100), b(2), c(3, 100), b(4)) == [[], [], [], [(0, 0, 1)], [(0, 1, 1)]]
    if tireless(policy):
        assert engine.statistics().feedback.resumed > 0


@pytest.mark.parametrize(
    "policy", [policy for policy in POLICIES if isinstance(policy, Doe) or tireless(policy)], ids=str
)
def test_t71_nothing_is_joined_for_a_stream_that_is_silent(policy):
    """A and B make no composite while C is empty; its first row has all its results."""
    engine = engine_of("(A B) C", policy)
    for ts in range(50):
        assert feed(engine, a(ts // 10, 7), b(ts // 10)) == [[], []]
    numbers = engine.statistics()
    assert numbers.stairs[0].live == 0 and numbers.feedback.waiting == 100
    assert len(feed(engine, c(5, 7))[0]) == 2500
    assert engine.statistics().feedback.waiting == 0 and engine.statistics().stairs[0].live == 2500


@pytest.mark.parametrize("levels", [1, None])
def test_t63_t64_sub_tuples_of_two_components_on_one_side(levels):
    """a and b each have a partner in D, but not the same one: the pair waits, and single rows do not."""
    columns = {"A": "x a", "B": "x b", "C": "y", "D": "a b"}
    where = ["A.x = B.x", "A.a = D.a", "B.b = D.b", "B.x = C.y"]
    engine = make(columns, where, "((A B) C) D", Mns(levels, restraint=False), window=100)
    events = [("D", 0, {"a": 1, "b": 9}), ("D", 1, {"a": 9, "b": 1}), ("C", 2, {"y": 1})]
    assert feed(engine, *events, ("A", 3, {"x": 1, "a": 1}), ("B", 4, {"x": 1, "b": 1})) == [[]] * 5
    numbers = engine.statistics().feedback
    assert numbers.waiting == 0
    assert numbers.composites_suspended == (0 if levels == 1 else 1)
    assert feed(engine, ("D", 5, {"a": 1, "b": 1})) == [[(0, 0, 0, 2)]]
    assert engine.statistics().feedback.composites_resumed == numbers.composites_suspended
    # One entry that matches both leaves nothing to wait for (H-E7).
    assert feed(engine, ("B", 6, {"x": 1, "b": 1})) == [[(0, 1, 0, 2)]]
    assert engine.statistics().feedback.composites_suspended == numbers.composites_suspended


@every_policy
@pytest.mark.parametrize("plan", ["(((A B) (C D)) F) E", "((A B) (C D)) (F E)", "((((A B) C) D) F) E"])
def test_t72_type_ii_pairs_from_both_sides_of_a_join(plan, policy):
    """E has (a1, c2) and (a2, c1): the pairs a1 c1 and a2 c2 are of no use, though each of the four has a partner.

    In the paper such a sub-tuple is of Type II: its halves lie on both sides of a join, and are marked. A mark must not
    keep a1 from c2, now or later (H-E6). Here nothing is marked: what waits is the composite, under the values of both
    halves, as soon as it is made; so it is made once, and neither stored nor taken further.
    """
    columns = {"A": "x a", "B": "x y", "C": "y z c", "D": "z w", "F": "w", "E": "a c"}
    where = ["A.x = B.x", "B.y = C.y", "C.z = D.z", "D.w = F.w", "A.a = E.a", "C.c = E.c"]
    engine = make(columns, where, plan, policy, window=100)

    def one(name, ts, **row):
        return name, ts, {column: row.get(column, 1) for column in columns[name].split()}

    events = [one("E", 0, c=2), one("E", 0, a=2), one("F", 1), one("D", 1), one("B", 1)]
    events += [one("A", 2), one("A", 2, a=2), one("C", 3)]
    found = feed(engine, *events, one("C", 4, c=2))
    assert found[:7] == [[]] * 7
    assert found[7:] == [[(1, 0, 0, 0, 0, 1)], [(0, 0, 1, 0, 0, 0)]]
    assert feed(engine, one("A", 5)) == [[(2, 0, 1, 0, 0, 0)]]  # another a1 meets c2, and not c1
    numbers = engine.statistics()
    if tireless(policy) and policy.levels is None and plan == "(((A B) (C D)) F) E":
        made = {"".join(stair.streams): stair.live for stair in numbers.stairs}
        # Of six combinations three are of use. (A Bloom filter is not needed where the whole key is looked for.)
        assert (numbers.feedback.composites_suspended, made["ABCD"], made["ABCDF"]) == (3, 3, 3)
    assert sorted(feed(engine, one("E", 6))[0]) == [(0, 0, 0, 0, 0, 2), (2, 0, 0, 0, 0, 2)]
    assert feed(engine, one("E", 7, a=2, c=2)) == [[(1, 0, 1, 0, 0, 3)]]
    if tireless(policy):
        assert engine.statistics().feedback.composites_resumed == numbers.feedback.composites_suspended


@pytest.mark.parametrize("technique", [Jisc(), MovingState(), HybMig(), ParallelTrack(), Gms()], ids=str)
@every_policy
def test_t73_t76_a_plan_change_finds_what_waits(policy, technique):
    """Rows that wait under the old plan are there for the new one, whatever the technique (H-F1)."""
    columns = {"A": "x y", "B": "x", "C": "y", "D": "x"}
    where = ["A.x = B.x", "A.y = C.y", "A.x = D.x"]
    engine = make(columns, where, "((A B) C) D", policy, migration=technique)
    events = [c(0, 999), b(0), b(0), b(0), a(1, 100), b(2), a(3, 100)]
    assert feed(engine, *events) == [[]] * 7
    engine.migrate("((A B) D) C")
    assert feed(engine, ("D", 3, {"x": 1})) == [[]]
    assert sorted(feed(engine, c(4, 100))[0]) == [(i, j, 1, 0) for i in range(2) for j in range(4)]


@every_policy
def test_t74_t75_a_stair_with_holes_is_no_evidence(policy):
    """c1d1 is not in the new STAIR yet, but a1 must not wait for it (H-F2); what comes back comes once (H-F3)."""
    columns = {"A": "k p", "B": "k q", "C": "m q", "D": "m p"}
    where = ["A.k = B.k", "C.m = D.m", "A.p = D.p", "B.q = C.q"]
    engine = make(columns, where, "((A B) C) D", policy, window=100)
    feed(engine, ("C", 0, {"m": 1, "q": 1}), ("D", 1, {"m": 1, "p": 1}))
    engine.migrate("(A B) (C D)")
    found = feed(engine, ("A", 2, {"k": 1, "p": 1}), ("B", 3, {"k": 1, "q": 1}), ("A", 4, {"k": 1, "p": 1}))
    assert found == [[], [(0, 0, 0, 0)], [(1, 0, 0, 0)]]
    engine.migrate("((A B) C) D")
    engine.migrate("(A B) (C D)")
    assert feed(engine, ("C", 5, {"m": 1, "q": 1})) == [[(0, 0, 1, 0), (1, 0, 1, 0)]]
