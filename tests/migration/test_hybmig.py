"""HybMig: the new plan takes over, and of the old one goes on what the new states lack (T19, T21 to T27)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import eddy
from policies import HybMig
from tests.trace import Trace

LEFT, RIGHT, BUSHY = "((A B) C) D", "A (B (C D))", "(A B) (C D)"


def old_results(trace):
    """How many results of the query the old plan has made since the change."""
    return trace.last.tracks[0].results


def rows_seen(trace):
    """The streams whose arrivals the old plan has processed, as a word, each row a letter."""
    return "".join(name * count for name, count in trace.last.tracks[0].rows.items())


def cases(numbers):
    """Cases of the paper's table as words: 1 has old rows only, 2 a new row of D, ... 16 new rows only."""
    words = ["".join(word) for word in itertools.product(*((f"{name}1", f"{name}2") for name in "abcd"))]
    return sorted(words[number - 1] for number in numbers)


def tasks(trace):
    """What the plans differ in: the shared state on top, the new states below it, and the table of characteristics."""

    def word(streams):
        return "".join(trace.query.names[stream] for stream in streams)

    role = trace.engine.state.executor.tracks[0].role
    found = []
    for top, groups in getattr(role, "groups", {}).items():
        if len(groups) > 1:
            below = [state for state in role.lacking if set(state.streams) <= set(top.streams or range(26))]
            entries = groups[-2].scope.entries
            found.append(
                (word(top.streams), [word(s.streams) for s in below], [word(sorted(e)) for e in entries])
            )
    return found


@pytest.mark.parametrize(
    ("old", "new", "from_old"),
    [(LEFT, RIGHT, [5, 9, 13]), ("(A (B C)) D", BUSHY, [2, 3, 4, 5, 9, 13])],
    ids=["T22 right-deep", "T23 bushy"],
)
def test_t22_t23_who_makes_which_of_the_sixteen_cases(old, new, from_old):
    """The old plan makes what has old rows of both streams that the new plan joins first, and the new plan the rest.

    Of one arrival the old plan's results come first (T26).
    """
    trace = Trace(old, migration=HybMig())
    assert trace.add("a1 b1 c1 d1") == cases([1])
    trace.migrate(new)
    by_old, by_new = [], []
    for row in "a2 b2 c2 d2".split():
        before = old_results(trace)
        emitted = trace.emitted(row)
        count = old_results(trace) - before
        by_old += emitted[:count]
        by_new += emitted[count:]
    assert sorted(by_old) == cases(from_old)
    assert sorted(by_new) == cases(set(range(2, 17)) - set(from_old))


def test_t24_decomposition():
    """States that both plans have are shared; between them lie tasks, and equal parts are none."""
    for old, new, expected in [
        (LEFT, RIGHT, [("", ["CD", "BCD"], ["CD"])]),
        (LEFT, BUSHY, [("", ["CD"], ["CD"])]),
        (LEFT, "(A (B C)) D", [("ABC", ["BC"], ["BC"])]),
        ("(A (B C)) D", BUSHY, [("", ["AB", "CD"], ["AB", "CD"])]),
        (LEFT, "((B A) C) D", []),
        (LEFT, "D (C (A B))", []),
        ("(((A B) C) D) (E F)", "((A (B C)) D) (F E)", [("ABC", ["BC"], ["BC"])]),
        (
            "(((A B) C) D) (E F)",
            "((C (A B)) E) (D F)",
            [("", ["ABCE", "DF"], ["ABCE", "DF"])],
        ),
    ]:
        trace = Trace(old, migration=HybMig())
        for name in trace.columns:
            trace.push(name.lower())
        trace.migrate(new)
        assert tasks(trace) == expected, f"{old} -> {new}"
        assert (trace.last.ended is not None) == (expected == [])


def test_t24_shared_states_are_there_once():
    """AB is one STAIR for both plans; without sharing each plan has its own, and the rows alone are shared."""
    for sharing, twice in [(True, 1), (False, 2)]:
        trace = Trace(LEFT, migration=HybMig(sharing=sharing))
        trace.add("a1 b1 c1 d0(9)")
        trace.migrate(BUSHY)
        trace.add("b2")
        stairs = ["".join(stair.streams) for stair in trace.engine.statistics().stairs]
        assert stairs.count("AB") == twice
        assert tasks(trace)[0][1:] == ((["CD"], ["CD"]) if sharing else (["AB", "CD"], ["AB", "CD"]))
        assert trace.push("d1") == ["a1b1c1d1", "a1b2c1d1"]


@pytest.mark.parametrize("background", [0, 1, 100])
@pytest.mark.parametrize("sharing", [True, False])
def test_t25_a_composite_of_a_shared_state_is_old_if_all_its_rows_are(background, sharing):
    """(a1, b1) arises after the change from an old row and a new one: one plan takes it up, not both (H-C2)."""
    for old, new in [("(A B) (C D)", "((A B) C) D"), ("((A B) C) D", "(A B) (C D)")]:
        trace = Trace(old, migration=HybMig(sharing, background))
        trace.add("a1 c1 d1")
        trace.migrate(new)
        assert trace.add("b1") == ["a1b1c1d1"]


def feed(seed, size):
    """A random feed of four streams: for each event its stream and key."""
    random = np.random.default_rng(seed)
    return list(
        zip(random.choice(list("ABCD"), size).tolist(), random.integers(0, 3, size).tolist(), strict=True)
    )


@pytest.mark.parametrize("old, new, pairs", [(LEFT, RIGHT, ["CD"]), ("(A (B C)) D", BUSHY, ["AB", "CD"])])
@pytest.mark.parametrize("seed", range(5))
def test_t26_t27_one_order_whatever_the_batches(old, new, pairs, seed):
    """By latest event, and of one event the old plan's results first: row by row, in batches, and in chunks."""
    events = feed(seed, 120)
    number = {name: itertools.count() for name in "ABCD"}
    place = {(name, next(number[name])): event for event, (name, _) in enumerate(events)}

    def run(take):
        windows = dict.fromkeys("ABCD", eddy.Rows(9))
        engine = Trace(old, windows=windows, migration=HybMig(patience=100)).engine
        found = [result for name, key in events[:40] for result in take(engine, [(name, key)])]
        engine.migrate(new)
        cuts = {name: sum(other == name for other, _ in events[:40]) for name in "ABCD"}
        found += take(engine, events[40:])

        def key(row):
            latest = max(place[pair] for pair in zip("ABCD", row, strict=True))
            old_row = {name: count < cuts[name] for name, count in zip("ABCD", row, strict=True)}
            is_new = not any(all(old_row[name] for name in pair) for pair in pairs)
            return latest, is_new and latest >= 40

        return sorted(found), [key(row) for row in found]

    def singly(engine, part):
        return [tuple(row) for name, key in part for row in engine.push(name, {"k": [key]}).rows.tolist()]

    def in_runs(engine, part, **options):
        found = []
        for name, run in itertools.groupby(part, lambda event: event[0]):
            pushed = engine.push(name, {"k": [key for _, key in run]}, **options)
            found += [
                tuple(row) for result in (pushed if options else [pushed]) for row in result.rows.tolist()
            ]
        return found

    wanted = run(singly)  # (latest event, whether the new plan makes it) of each result
    assert wanted[1] == sorted(wanted[1]) and len({kind for _, kind in wanted[1]}) == 2
    assert run(in_runs) == wanted
    assert run(lambda engine, part: in_runs(engine, part, max_rows=2)) == wanted


def test_the_old_plan_never_sees_the_disconnected_streams():
    """C and D, which the new plan joins first, bring nothing that the old plan owes: it processes A and B alone."""
    trace = Trace(LEFT, migration=HybMig())
    for name in "ABCD":
        trace.engine.push(name, {"k": [1, 2, 3]})
    trace.migrate(RIGHT)
    for _ in range(3):
        for name in "ABCD":
            trace.engine.push(name, {"k": [1, 2]})
    assert rows_seen(trace) == "A" * 6 + "B" * 6
    assert trace.engine.statistics().results == 2 * 4**4 + 1


def test_what_is_shared_is_run_once():
    """Where AB is shared the old plan gets its composites, and never a row of any stream."""
    trace = Trace(LEFT, migration=HybMig())
    trace.add("a1 b1 c1")
    trace.migrate(BUSHY)
    for row in "a2 b2 c2 d1 d2 a3".split():
        trace.push(row)
    assert rows_seen(trace) == ""


def test_without_background_the_table_shrinks_only_by_expiry():
    """An entry goes when one of its streams has turned over, and the old plan with the last entry."""
    windows = dict.fromkeys("ABCD", eddy.Rows(2))
    trace = Trace("(A (B C)) D", windows=windows, migration=HybMig())
    trace.add("a1(1) a2(2) b1(3) b2(4) c1(5) c2(6) d1(7) d2(8)")
    trace.migrate(BUSHY)
    trace.add("b3(9)")
    assert trace.last.tracks[0].entries == 2
    trace.add("b4(9)")
    assert trace.last.tracks[0].entries == 1 and trace.last.ended is None
    trace.add("c3(9)")
    assert trace.last.tracks[0].entries == 1 and trace.last.ended is None
    trace.add("c4(9)")
    assert trace.last.ended == 12 and trace.last.keys_filled == 0
    assert [stair.streams for stair in trace.engine.statistics().stairs] == [("A", "B"), ("C", "D")]
    trace.add("a3(9) a4(9)")
    assert len(trace.push("d3(9)")) == 8


@pytest.mark.parametrize("migration", [HybMig(), HybMig(sharing=False), HybMig(patience=1.5)])
def test_t19_t21_silent_streams_do_not_keep_the_old_plan(migration):
    """C and D bring no more rows and never match: after some windows what they lack is computed at once (H-C5)."""
    trace = Trace(LEFT, windows=dict.fromkeys("ABCD", eddy.Rows(3)), migration=migration)
    trace.add("a1(1) b1(2) c1(3) d1(4)")
    trace.migrate(RIGHT)
    for number in range(40):
        assert trace.push(f"{'ab'[number % 2]}{number + 2}(5)") == []
        if trace.last.ended is not None:
            break
    assert number + 1 == int(migration.patience * 4) + 1
    assert trace.engine.statistics().complete


def test_it_ends_with_the_clock():
    """With windows of time the rows from before leave by the clock, whoever brings it."""
    trace = Trace(LEFT, width=10, migration=HybMig(patience=1000))
    trace.add("a1(1)@0 b1(2)@0 c1(3)@5 d1(4)@7")
    trace.migrate(RIGHT)
    trace.add("a2(1)@15")
    assert trace.last.ended is None
    trace.add("a3(1)@16")
    assert trace.last.ended == 6


@pytest.mark.parametrize("background", [0, 1])
@pytest.mark.parametrize("sharing", [True, False])
def test_a_change_during_a_change(background, sharing):
    """There and back: what the old plan did not have to make meanwhile is not missing in its states afterwards."""
    trace = Trace("(A B) C", migration=HybMig(sharing, background))
    assert trace.add("a1 b1 c1") == ["a1b1c1"]
    trace.migrate("(B C) A")
    assert trace.add("b2") == ["a1b2c1"]
    trace.migrate("(A B) C")
    assert trace.add("c2") == ["a1b1c2", "a1b2c2"]
    trace.migrate("(A C) B")
    assert trace.add("b3") == ["a1b3c1", "a1b3c2"]
    assert trace.add("a2") == [f"a2b{b}c{c}" for b in (1, 2, 3) for c in (1, 2)]


@pytest.mark.parametrize("plan", ["stems", "A: B C D | B: C D A | C: D A B | D: A B C"])
@pytest.mark.parametrize("background", [0, 2])
def test_between_trees_and_orderings(plan, background):
    """A plan without composites can be the old one or the new one."""
    where = ["A.k = B.k", "B.k = C.k", "C.k = D.k"]
    trace = Trace(plan, dict.fromkeys("ABCD", ("k",)), where, migration=HybMig(background=background))
    assert trace.add("a1 b1 c1 d1") == ["a1b1c1d1"]
    for number, new in enumerate([LEFT, plan, RIGHT, plan, BUSHY], 2):
        trace.migrate(new)
        assert sum(len(trace.push(f"{name}{number}")) for name in "abcd") == number**4 - (number - 1) ** 4


def test_what_it_refuses():
    """A budget or a patience that is none."""
    for background in (-1, 1.5, True, None):
        with pytest.raises(ValueError, match="background"):
            HybMig(background=background)
    for patience in (0, -1, "long"):
        with pytest.raises(ValueError, match="patience"):
            HybMig(patience=patience)
