"""Windows that follow from predicates lose nothing, whatever the plan, and keep no row longer than they say."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eddy
from policies import Mns
from tests.cases import TECHNIQUES, Case, S, expected, predicate, step_events
from tests.checks import Book, judge, push, restart
from tests.disorder import Model, batches
from tests.inside import Inside
from tests.strategies import Pick, plan

base = settings().max_examples


def column(name, of="ts"):
    return ("col", name, of)


def bounds(pick, names):
    """Predicates by which every time is near that of the stream before, in random words; and perhaps some more."""
    made = []
    pairs = [(names[pick.integer(0, i - 1)], name) for i, name in enumerate(names) if i]
    if len(names) > 2 and pick.chance(40):
        pairs.append(tuple(pick.shuffled(names)[:2]))
    for a, b in pairs:
        low, high = pick.integer(-4, 3), pick.integer(0, 9)
        x, y = column(a), column(b)
        made += pick.choice(
            [
                [("between", y, ("+", x, ("lit", low)), ("+", x, ("lit", high)))],
                [("<=", ("abs", ("-", x, y)), ("lit", high))],
                [("<", x, y), ("<", ("-", y, x), ("lit", high))],
                [("=", x, y)],
                [(">=", y, x), (">", ("+", x, ("lit", high)), y)],
                [("<=", x, ("+", y, ("lit", high)))],
            ]
        )
    return made


def case_of(seed):
    """A case of streams without windows."""
    pick = Pick(seed)
    names = list("ABCD"[: pick.choice([2, 2, 3, 3, 4])])
    keys = [("=", column(a, "k"), column(b, "k")) for a, b in itertools.pairwise(names)]
    where = [*(keys if pick.chance(70) else keys[:1]), *bounds(pick, names)]
    streams = {name: S({"ts": "int64", "k": "int64"}, time="ts") for name in names}
    steps, now, pace = [], pick.choice([0, -30]), pick.choice([(0, 1), (0, 0, 1), (0, 1, 5), (2, 9)])
    for _ in range(pick.integer(5, 25)):
        if pick.chance(20):
            steps.append(("migrate", plan(pick, names)))
        if pick.chance(5):
            steps.append(("restart",))
        events = []
        for _ in range(pick.choice([1, 3, 10])):
            now += pick.choice(pace)
            events.append((pick.choice(names), (now, pick.integer(0, 2))))
        steps.append(("push_all", batches(events)))
    options = {
        "plan": plan(pick, names),
        "migration": pick.choice(TECHNIQUES),
        "batch_size": pick.choice([1, 7, 4096]),
    }
    options |= {"threads": 2} if pick.chance(15) else {}
    options |= {"feedback": Mns(restraint=False)} if pick.chance(20) else {}
    return Case(streams, where, steps), options


def without_windows(case):
    return eddy.Query(
        {name: eddy.Stream(stream.columns) for name, stream in case.streams.items()},
        where=[predicate(tree) for tree in case.where],
        cross=True,
    )


@given(st.integers(0, 2**32 - 1).map(case_of))
@settings(max_examples=2 * base)
def test_results_are_those_of_the_unbounded_query_at_bounded_memory(made):
    case, options = made
    query = without_windows(case)
    engine, book = Inside(query, **options), Book(case)
    rows = {name: [] for name in case.streams}
    for step, want in zip(case.steps, expected(case), strict=True):
        if step[0] == "migrate":
            engine.migrate(step[1])
        elif step[0] == "restart":
            engine = restart(engine)
        else:
            results = push(engine, case, step)
            events = step_events(case, step)
            book.enter(events)
            judge(book, want, results)
            for name, row in events:
                rows[name].append(row[0])
            now = events[-1][1][0]
            for stream in engine.statistics().streams:
                if stream.name in query.allowed:
                    width = query.allowed[stream.name].width
                    assert stream.live == sum(time >= now - width for time in rows[stream.name])


@given(st.integers(0, 2**32 - 1).map(case_of), st.integers(0, 2**32 - 1))
@settings(max_examples=base // 2)
def test_also_where_rows_come_out_of_order(made, seed):
    """Within the lateness, of the unbounded query over sorted rows."""
    case, options = made
    pick = Pick(seed)
    events = [event for step in case.steps for event in step_events(case, step)]
    order = sorted(range(len(events)), key=lambda i: events[i][1][0] + pick.integer(0, 6))
    model, engine = (
        Model(case, dict.fromkeys(case.streams, 6)),
        Inside(without_windows(case), lateness=6, **options),
    )
    found, released = [], []
    for start in range(0, len(order), 5):
        pushed = batches([events[i] for i in order[start : start + 5]])
        found += push(engine, case, ("push_all", pushed))
        released += model.push(pushed)
    found.append(engine.flush())
    released += model.flush()
    sorted_case = Case(case.streams, case.where, [("push_all", batches(released))])
    book = Book(case)
    book.enter(released)
    judge(book, [rows for step in expected(sorted_case) for rows in step], found)


def test_rows_that_go_back_are_refused_with_what_to_do():
    """Without a window order did not matter; where one follows from predicates it does, and the error says so."""
    streams = {name: eddy.Stream({"ts": "int64", "k": "int64"}) for name in "AB"}
    where = ["A.k = B.k", "ABS(A.ts - B.ts) <= 5"]
    engine = eddy.Eddy(eddy.Query(streams, where=where))
    engine.push("A", {"ts": [9], "k": [1]})
    with pytest.raises(
        eddy.OrderError, match=r"rows of A, B are kept for as long only \(declare Unbounded\(\)"
    ):
        engine.push("B", {"ts": [7], "k": [1]})
    kept = {name: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Unbounded()) for name in "AB"}
    forever = eddy.Eddy(eddy.Query(kept, where=where))
    forever.push("A", {"ts": [9], "k": [1]})
    assert len(forever.push("B", {"ts": [7], "k": [1]})) == 1


def test_a_snapshot_has_the_windows_that_the_engine_had(tmp_path):
    """Derived again, or for ever where they were declared so, or where results may be withdrawn."""
    streams = {name: eddy.Stream({"ts": "int64", "k": "int64"}) for name in "AB"}
    made = eddy.Query(streams, where=["A.k = B.k", "ABS(A.ts - B.ts) <= 5"])
    for options in ({}, {"retractions": True}):
        engine = eddy.Eddy(made, **options)
        engine.push_all({"A": {"ts": [1, 9], "k": [1, 1]}, "B": {"ts": [3, 20], "k": [1, 1]}})
        engine.save(tmp_path / "engine.eddy")
        for loaded in (
            eddy.Eddy.load(tmp_path / "engine.eddy"),
            eddy.Eddy.load(tmp_path / "engine.eddy", made),
        ):
            assert loaded.query.followed == engine.query.followed
            assert [s.live for s in loaded.statistics().streams] == [
                s.live for s in engine.statistics().streams
            ]
