"""Theta joins by bands: exact in any order and wording, and no more rows are looked at in one than in another."""

from __future__ import annotations

import itertools
from unittest import mock

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, note, settings
from hypothesis import strategies as st

import eddy
from eddy.tracks import driver
from policies import Fixed
from stairs import SortedIndex
from tests import queries
from tests.cases import batch, expected, make_engine
from tests.checks import check, follow
from tests.strategies import SIZES, Drawn, make, steps

base = settings().max_examples
KINDS = {
    "int": ["int64", "int32", "uint16"],
    "float": ["float64", "float32"],
    "time": ["timestamp[s]", "timestamp[ms]"],
}


# Bands, and how they are worded


def worded(pick, left, right, width):
    """`ABS(left - right) <= width` as one or two predicates, in one of its wordings."""
    c = queries.lit(width)
    low, high = ("-", right, c), ("+", right, c)
    return pick.choice(
        [
            [("<=", ("abs", ("-", left, right)), c)],
            [(">=", c, ("abs", ("-", right, left)))],
            [("between", left, low, high)],
            [("between", right, ("-", left, c), ("+", left, c))],
            [(">=", left, low), ("<=", left, high)],
            [("<=", ("-", left, right), c), ("<=", ("-", right, left), c)],
            [("<=", left, high), ("<=", right, ("+", left, c))],
            [("and", (">=", ("+", left, c), right), (">=", high, left))],
        ]
    )


def half(pick, left, right, moved):
    """An inequality, which bounds one side only; some exclude their bound, and, if ``moved``, some have a constant."""
    bound = ("+", right, queries.lit(1)) if moved and pick.chance(50) else right
    said = (pick.choice(["<", "<=", ">", ">="]), left, bound)
    return lambda _: [said]


def band(left, right, width):
    """What words the band in one way or another."""
    return lambda pick: worded(pick, left, right, width)


def edges(pick, names, columns):
    """Bands that connect the streams, and some more, each as a function that words it."""
    pairs = [(name, pick.choice(names[:place])) for place, name in enumerate(names) if place]
    pairs += [tuple(pick.shuffled(names)[:2]) for _ in range(pick.integer(1, 3))]
    found = []
    for one, other in pairs:
        column, kind = pick.choice(list(columns.items()))
        left, right = queries.col(one, column), queries.col(other, column)
        wide = kind == "time" or not pick.chance(75)
        found.append(
            half(pick, left, right, kind != "time") if wide else band(left, right, pick.integer(0, 3))
        )
    return found


def made(pick, count):
    """A query of bands alone, and a function that words it anew."""
    names = list("ABCD"[:count])
    columns = {a: pick.choice(["int", "int", "float", "time"]) for a in "xyz"}
    nulls = pick.choice([0, 10])
    specs = {
        name: {
            a: queries.Spec("number" if kind == "float" else kind, pick.choice(KINDS[kind]), 12, nulls)
            for a, kind in columns.items()
        }
        for name in names
    }
    bands = edges(pick, names, columns)
    most = {2: 40, 3: 16, 4: 8}[count]
    streams = {
        name: queries.S({a: spec.type for a, spec in specs[name].items()}, queries.window(pick, False, most))
        for name in names
    }

    def word(other):
        return list(itertools.chain(*(band(other) for band in other.shuffled(bands))))

    return queries.Made(streams, specs, word(pick), None, False, "query"), word


@st.composite
def band_cases(draw, least=2, **odds):
    """A case of bands, with another wording of its predicates in another order."""
    pick = Drawn(draw)
    query, word = made(pick, pick.integer(least, 3 if least == 2 else 4))
    sizes = SIZES[pick.choice(["single", "small", "runs"])]
    odds = {"migrations": pick.choice([0, 10, 40]), "restarts": 3, "chunks": 10} | odds
    odds[pick.choice(["settles", "demotes"])] = 3
    case = make(pick, query, steps(pick, query, pick.integer(40, 120), sizes, **odds), 20_000)
    return evolve(case, joins="hash"), word(pick)


@pytest.fixture(autouse=True, scope="module")
def hasty():
    """Bands take turns: pairs are tried at nearly every step, and any band that is better takes over."""
    with mock.patch.multiple(driver, TRIED=16, WORK=1, ASKED=2, BETTER=1, NOISE=0):
        yield


@given(band_cases())
@settings(max_examples=max(10, base), deadline=None)
def test_bands_in_any_order_and_wording_give_the_results_of_the_oracle(pair):
    """Under plan changes, windows, restarts, threads, feedback, memory budgets and drivers that change all the time."""
    case, where = pair
    wanted = expected(case)
    check(case)
    other = evolve(case, where=where)
    note(f"where={where}")
    follow(other, make_engine(other), wanted)


@given(band_cases(3))
@settings(max_examples=max(5, base // 4), deadline=None)
def test_bands_between_many_streams_give_the_results_of_the_oracle(pair):
    case, where = pair
    check(evolve(case, where=where))


@given(band_cases(migrations=0, restarts=0))
@settings(max_examples=max(5, base // 4), deadline=None)
def test_the_wording_changes_no_withdrawal(pair):
    """With retractions both give and withdraw the same, push by push."""
    case, where = pair
    done = [step for step in case.steps if step[0] == "push"]
    case = evolve(case, memory=None, routing=Fixed(), steps=done)
    engines = [make_engine(evolve(case, where=each), retractions=True) for each in (case.where, where)]
    for _, name, rows, *_ in done:
        one, other = (engine.push(name, batch(case, name, rows)) for engine in engines)
        assert sorted(map(tuple, np.c_[one.rows, one.sign])) == sorted(
            map(tuple, np.c_[other.rows, other.sign])
        )


# What is looked at

WIDTHS = {"t": 2000, "x": 5, "y": 20}
WINDOW = 10_000


def feed(n, start, seed):
    """Rows whose t is their number, with x and y of 10,000 values each."""
    rng = np.random.default_rng(seed)
    return {
        "t": np.arange(start, start + n),
        "x": rng.integers(0, 10_000, n),
        "y": rng.integers(0, 10_000, n),
    }


def engine_of(where, **options):
    columns = dict.fromkeys("txy", "int64")
    streams = {name: eddy.Stream(columns, window=eddy.Rows(WINDOW)) for name in "AB"}
    return eddy.Eddy(eddy.Query(streams, where=where), **options)


def filled(where, **options):
    engine = engine_of(where, **options)
    engine.push_all({"A": feed(WINDOW, 0, 1), "B": feed(WINDOW, 0, 2)})
    return engine


def near(column, form="ABS(A.{0} - B.{0}) <= {1}"):
    return form.format(column, WIDTHS[column])


@pytest.fixture
def patient():
    """As an engine is by itself."""
    with mock.patch.multiple(driver, TRIED=4096, WORK=16, ASKED=256, BETTER=2, NOISE=8, FEW=64):
        yield


def pushed(engine):
    """The candidates that a batch looks at in full windows, and its results."""
    before = engine.statistics().candidates
    result = engine.push_all({"A": feed(500, WINDOW, 3), "B": feed(500, WINDOW, 4)})
    return engine.statistics().candidates - before, sorted(map(tuple, result.rows.tolist()))


FORMS = [
    "A.{0} BETWEEN B.{0} - {1} AND B.{0} + {1}",
    "B.{0} - A.{0} <= {1} AND A.{0} - B.{0} <= {1}",
    "ABS(B.{0} - A.{0}) <= {1}",
]


@pytest.mark.usefixtures("patient")
def test_neither_order_nor_wording_of_bands_changes_what_is_looked_at():
    """The selective band drives, wherever it stands: a hundred times fewer candidates than by the widest."""
    looked_at, results = pushed(filled([near(column) for column in "txy"]))
    assert results
    assert (
        looked_at < 1000 * 50
    )  # 2 * 5 + 1 of 10,000 values of x, in windows of 10,000 rows; t alone has 4,000
    for order in itertools.permutations("txy"):
        assert pushed(filled([near(column) for column in order])) == (looked_at, results)
    for form in FORMS:
        assert pushed(filled([near(column, form) for column in "ytx"])) == (looked_at, results)


@pytest.mark.usefixtures("patient")
def test_a_row_pushed_alone_does_not_touch_the_window():
    """It looks at the rows in its range, and enters an index once: nothing is sorted anew."""
    engine = filled([near(column) for column in "tyx"])
    rows, inserted, plain = feed(400, WINDOW, 5), [], SortedIndex.insert

    def insert(self, values, rows):
        inserted.append(len(rows))
        plain(self, values, rows)

    before = engine.statistics().candidates
    with mock.patch.object(SortedIndex, "insert", insert):
        for i in range(400):
            engine.push("AB"[i % 2], {column: values[i : i + 1] for column, values in rows.items()})
    assert engine.statistics().candidates - before < 400 * 30
    assert sum(inserted) <= 401 and max(inserted) <= 2


@pytest.mark.usefixtures("patient")
def test_another_band_takes_over_when_the_rows_change():
    """First x tells rows apart, then all rows have the same x, and y does: results stay exact, candidates few."""
    engine = filled([near(column) for column in "xyt"])
    first, _ = pushed(engine)
    rng, per_push, start = np.random.default_rng(6), [], WINDOW + 500
    live = {name: feed(0, 0, 0) for name in "AB"}
    for i in range(60):
        push = {}
        for name in "AB":
            n = 500
            push[name] = {
                "t": np.arange(start, start + n),
                "x": np.zeros(n, np.int64),
                "y": rng.integers(0, 10_000, n),
            }
            live[name] = {c: np.concatenate((live[name][c], push[name][c]))[-WINDOW:] for c in "txy"}
        start += 500
        before = engine.statistics().candidates
        found = len(engine.push_all(push))
        per_push.append(engine.statistics().candidates - before)
        if i >= 20:  # the windows have turned over
            assert found == count_new(live, 500)
    assert max(per_push[20:]) < 20 * first < 500 * WINDOW, "as x would take, which lets all rows through"


def count_new(live, n):
    """Pairs of live rows that satisfy all bands, of which one at least is among the last n of its stream."""
    a, b = live["A"], live["B"]
    total = 0
    for fresh, other, skip in ((a, b, 0), (b, a, n)):
        for i in range(len(fresh["t"]) - n, len(fresh["t"])):
            ok = np.ones(len(other["t"]) - skip, bool)
            for column, width in WIDTHS.items():
                ok &= np.abs(other[column][: len(ok)] - fresh[column][i]) <= width
            total += int(ok.sum())
    return total


@pytest.mark.usefixtures("patient")
def test_an_index_that_nobody_uses_is_dropped():
    """Bytes fall back after another band has taken over."""
    engine = filled([near("x"), near("y")])
    (before,) = {s.bytes for s in engine.statistics().streams if s.name == "A"}
    for i in range(200):
        rows = {"t": np.arange(50), "x": np.zeros(50, np.int64), "y": np.arange(50) * 200 + i}
        engine.push("AB"[i % 2], rows)
    (after,) = {s.bytes for s in engine.statistics().streams if s.name == "A"}
    assert after <= before * 1.1


def test_nested_loops_look_at_every_pair():
    """They are what the papers compare with: no index serves."""
    engine = engine_of([near("x")], joins="nested")
    engine.push("A", feed(100, 0, 1))
    engine.push("B", feed(50, 0, 2))
    assert engine.statistics().candidates == 100 * 50


@given(st.integers(0, 2**32))
@settings(max_examples=5, deadline=None)
def test_bands_beside_an_equality_are_decided_on_its_matches(seed):
    """And nothing is looked at but these."""
    rng = np.random.default_rng(seed)
    streams = {name: eddy.Stream({"k": "int64", "x": "float64", "y": "int64"}) for name in "AB"}
    engine = eddy.Eddy(eddy.Query(streams, where=["A.k = B.k", "ABS(A.x - B.x) <= 0.25", "A.y < B.y + 1"]))
    rows = {
        name: {"k": rng.integers(0, 5, 80), "x": rng.integers(0, 8, 80) / 8, "y": rng.integers(0, 5, 80)}
        for name in "AB"
    }
    found = {tuple(row) for name in "AB" for row in engine.push(name, rows[name]).rows.tolist()}
    a, b = rows["A"], rows["B"]
    true = (
        (a["k"][:, None] == b["k"])
        & (np.abs(a["x"][:, None] - b["x"]) <= 0.25)
        & (a["y"][:, None] < b["y"] + 1)
    )
    assert found == set(zip(*map(np.ndarray.tolist, np.nonzero(true)), strict=True))
    assert engine.statistics().candidates == 0
