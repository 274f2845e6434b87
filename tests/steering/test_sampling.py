"""Index sampling: what it says agrees with the oracle, and asking changes nothing."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from attrs import evolve

import eddy
from policies import Mns, NoFeedback, Routing
from tests import naive
from tests.cases import expected, make_engine, step_events
from tests.checks import check, follow
from tests.inside import Inside
from tests.strategies import Pick, small

FEW = 2048
"""Combinations that are all tried, so that the answer is exact."""


def closed(where):
    """The predicates and the equalities that follow from them, also within one stream."""
    classes = []
    for tree in where:
        if tree[0] == "=" and all(side[0] == "col" for side in tree[1:]) and tree[1] != tree[2]:
            touched = [c for c in classes if c & set(tree[1:])]
            classes = [c for c in classes if c not in touched] + [set(tree[1:]).union(*touched)]
    columns = [sorted(c) for c in classes if len({column[1] for column in c}) > 1]
    equal = [("=", *pair) for c in columns for pair in itertools.combinations(c, 2)]
    return [*where, *equal]


def live_rows(case, engine):
    """The live rows of each stream at the end of a case; None in place of those that the engine will never join.

    These are rows that a filter rejects, its own or one that follows from an equality, and rows without a key that the
    others could have. That they never join is what all other tests show.
    """
    seen, now = {name: [] for name in case.streams}, None
    for name, row in itertools.chain(*(step_events(case, step) for step in case.steps)):
        seen[name].append(row)
        now = naive.time_of(case.streams[name], row)
    live = {}
    for state in engine.state.streams:
        rows, stream = seen[state.name], case.streams[state.name]
        numbers = naive.live_rows(stream, rows, now)
        held = state.base.tail - state.base.low
        if not engine.state.row_numbers.is_thin(state.number):
            kept = state.kept(numbers.start + case.first_row, len(numbers))
        else:
            low = int(engine.state.row_numbers.lows[state.number])
            stored = engine.state.row_numbers.held(state.number, low)
            assert len(stored) <= held and state.kept(state.base.tail - len(stored), len(stored)).all()
            kept = np.isin(np.array(numbers) + case.first_row, stored)
        live[state.name] = [rows[i] if able else None for i, able in zip(numbers, kept, strict=True)]
    return live


def fan_outs(case, live, path):
    """Mean matches of the rows of the first stream of a path after each step, up to where they are too many."""
    tests = [(naive.reads(tree), naive.evaluator(tree, case.streams)) for tree in closed(case.where)]
    matches, found = [{path[0]: row} for row in live[path[0]] if row is not None], []
    for place, name in enumerate(path[1:], 1):
        if len(matches) * len(live[name]) > FEW or len(matches) > 512:
            return found
        reached = set(path[: place + 1])
        due = [t for needs, t in tests if needs <= reached and name in needs and len(needs) > 1]
        pairs = [{**bound, name: row} for bound in matches for row in live[name] if row is not None]
        matches = [bound for bound in pairs if all(t(bound) is True for t in due)]
        found.append(len(matches) / max(1, len(live[path[0]])))
    return found


@pytest.mark.parametrize("first", range(0, 100, 20))
def test_where_windows_are_small_the_answer_is_exact(first):
    """Random queries, any path: equalities, several classes, theta predicates, filters, NULLs, all windows."""
    compared = 0
    for seed in range(first, first + 20):
        pick = Pick(seed)
        case = evolve(small(pick, migrations=10), feedback=NoFeedback(), threads=1)
        engine = follow(case, make_engine(case), expected(case))
        live, view = live_rows(case, engine), engine.view()
        assert view.live == {name: len(rows) for name, rows in live.items()}
        for _ in range(4):
            path = pick.shuffled(list(case.streams))[: pick.integer(2, 4)]
            exact = fan_outs(case, live, path)
            assert view.sample(path[0], tuple(path[1:]))[: len(exact)] == pytest.approx(exact), (seed, path)
            compared += len(exact)
    assert compared > 40


class Nosy(Routing):
    """Samples all it can, and stays."""

    period = 3

    def begin(self, names, seed):
        self.names, self.pick = names, Pick(seed)

    def choose(self, view):
        path = self.pick.shuffled(self.names)
        view.sample(path[0], tuple(path[1:]))
        dict(view.distinct)


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_asking_changes_no_result(first):
    """Whatever is sampled between the pushes, under every technique and with rows that wait."""
    for seed in range(first, first + 20):
        check(small(Pick(seed), chunks=10, demotes=5), routing=Nosy())


def window(rows, seed=0, **options):
    """Three streams with windows full of random keys, some of them frequent, and their columns."""
    streams = {
        "A": eddy.Stream({"x": "int64", "y": "int64"}, window=eddy.Rows(rows)),
        "B": eddy.Stream({"x": "int64", "v": "int64"}, window=eddy.Rows(rows)),
        "C": eddy.Stream({"y": "int64", "v": "int64"}, window=eddy.Rows(rows)),
    }
    where = ["A.x = B.x", "A.y = C.y", "ABS(B.v - C.v) <= 20"]
    engine = Inside(eddy.Query(streams, where=where), seed=seed, **options)
    random = np.random.default_rng(7)
    data = {
        "A": {"x": random.zipf(1.5, rows) % 1000, "y": random.integers(0, 300, rows)},
        "B": {"x": random.integers(0, 1000, rows), "v": random.integers(0, 1000, rows)},
        "C": {"y": random.integers(0, 200, rows), "v": random.integers(0, 1000, rows)},
    }
    for name, batch in data.items():
        engine.push(name, batch)
    return engine, data


def test_estimates_converge_to_the_exact_fan_outs():
    """On the mean over seeds, by equality and by range, also after several steps; one alone is not far off."""
    rows = 3000
    _, data = window(rows)
    a, b, c = data["A"], data["B"], data["C"]
    by_x, by_y = Counter(b["x"].tolist()), Counter(c["y"].tolist())
    near = np.abs(b["v"][:, None] - c["v"][None, :]) <= 20
    joined = sum(
        near[np.ix_(np.flatnonzero(b["x"] == x), np.flatnonzero(c["y"] == y))].sum()
        for x, y in zip(a["x"].tolist(), a["y"].tolist(), strict=True)
    )
    exact = {
        ("A", "B"): [sum(by_x[x] for x in a["x"].tolist()) / rows],
        ("A", "C"): [sum(by_y[y] for y in a["y"].tolist()) / rows],
        ("B", "C"): [near.sum() / rows],
        ("A", "B", "C"): [sum(by_x[x] for x in a["x"].tolist()) / rows, joined / rows],
    }
    found = {path: [] for path in exact}
    for seed in range(40):
        view = window(rows, seed)[0].view()
        for path in exact:
            found[path].append(view.sample(path[0], path[1:]))
    for path, wanted in exact.items():
        assert np.mean(found[path], axis=0) == pytest.approx(wanted, rel=0.08), path
        assert np.median(np.abs(np.array(found[path]) - wanted), axis=0) == pytest.approx(
            np.zeros(len(wanted)), abs=0.5 * max(wanted)
        )


def test_more_rows_are_looked_up_where_few_find_anything():
    """A fan-out of one in a hundred is told from one in a thousand."""
    streams = {name: eddy.Stream({"x": "int64"}, window=eddy.Rows(20_000)) for name in "ABC"}
    query = eddy.Query(streams, where=["A.x = B.x", "B.x = C.x"])
    found = []
    for seed in range(20):
        engine, random = eddy.Eddy(query, seed=seed), np.random.default_rng(5)
        engine.push("A", {"x": np.arange(20_000)})
        engine.push("B", {"x": random.permutation(20_000)[:200]})
        engine.push("C", {"x": random.permutation(20_000)[:20]})
        found.append([engine.view().sample("A", (name,))[0] for name in "BC"])
    assert np.mean(found, axis=0) == pytest.approx([0.01, 0.001], rel=0.2)
    assert all(one > 2 * other for one, other in found)


def test_distinct_values_are_estimated():
    """Exactly where all rows are looked at, else nearly; few and frequent values too."""
    engine, data = window(200)
    exact = {(n, c): len(np.unique(data[n][k])) for n, c, k in (("A", 0, "x"), ("B", 0, "x"), ("A", 1, "y"))}
    assert {key: engine.view().distinct[key] for key in exact} == exact
    engine, data = window(5000)
    for (name, c), column in {("A", 0): "x", ("B", 0): "x", ("A", 1): "y", ("C", 1): "y"}.items():
        assert engine.view().distinct[name, c] == pytest.approx(len(np.unique(data[name][column])), rel=0.25)
    few = eddy.Eddy(eddy.Query({n: {"x": "int64"} for n in "AB"}, where=["A.x = B.x"]))
    few.push("A", {"x": np.arange(20_000) % 7})
    assert few.view().distinct == {("A", 0): 7, ("B", 0): 0}


def test_a_hot_key_costs_no_more():
    """A key with more rows than are looked at is counted; the steps after it go on from some of them."""
    streams = {name: eddy.Stream({"x": "int64"}, window=eddy.Rows(50_000)) for name in "ABC"}
    engine = eddy.Eddy(eddy.Query(streams, where=["A.x = B.x", "B.x = C.x"]))
    engine.push("B", {"x": np.zeros(50_000, np.int64)})
    engine.push("C", {"x": np.arange(10) % 2})
    engine.push("A", {"x": np.arange(1000) % 5}, max_rows=1000).close()
    assert engine.view().sample("A", ("B", "C")) == pytest.approx((10_000, 50_000), rel=0.5)


def test_the_same_seed_and_state_give_the_same_answer():
    """In any order of asking; another seed gives another."""
    paths = [("A", ("B", "C")), ("C", ("A", "B")), ("B", ("C",))]
    views = [window(3000, seed)[0].view() for seed in (1, 1, 2)]
    one, two, other = (
        {path: view.sample(*path) for path in order}
        for view, order in zip(views, (paths, paths[::-1], paths), strict=True)
    )
    assert one == two != other


def test_rows_that_wait_count_as_rows_that_find_nothing():
    """Under feedback a row in a blacklist neither finds nor is found, and is still in its window."""
    streams = {name: eddy.Stream({"x": "int64"}, window=eddy.Rows(10)) for name in "ABC"}
    query = eddy.Query(streams, where=["A.x = B.x", "B.x = C.x"])
    engine = eddy.Eddy(query, plan="(A B) C", feedback=Mns(restraint=False))
    for name in "BA":
        engine.push(name, {"x": [1, 2]})
    assert engine.statistics().feedback.waiting > 0
    view = engine.view()
    assert view.live["A"] == 2 and view.sample("A", ("B",)) == (0.0,)


def test_paths_are_checked():
    """Names must be streams, and each may come once; a stream without rows has no matches."""
    engine = window(50)[0]
    with pytest.raises(eddy.EddyError, match="'Z' is no stream of the query: it has A, B, C"):
        engine.view().sample("A", ("Z",))
    with pytest.raises(eddy.EddyError, match="a path goes through a stream once"):
        engine.view().sample("A", ("B", "A"))
    empty = eddy.Eddy(eddy.Query({n: {"x": "int64"} for n in "AB"}, where=["A.x = B.x"]))
    assert empty.view().sample("A", ("B",)) == (0.0,)
