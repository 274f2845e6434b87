"""JIT's figures at tiny sizes: every piece gives rows that the claims can read, and every claim can fail."""

from __future__ import annotations

import pytest

from benchmarks.papers import jit_claims, jit_runs
from benchmarks.papers.figure import Profile, chosen
from benchmarks.papers.jit import FIGURES
from benchmarks.papers.jit_runs import JIT, PAIRS, REF, Five, Sizes, five

QUICK = Profile()
BY_NAME = {figure.name: figure for figure in FIGURES}
RANGES = {
    10: ("w", (10, 15, 20, 25, 30)),
    11: ("rate", (0.4, 0.7, 1, 1.3, 1.6)),
    12: ("n", (4, 5, 6, 7, 8)),
    13: ("dmax", (100, 150, 200, 250, 300)),
    14: ("w", (5, 7.5, 10, 12.5, 15)),
    15: ("rate", (0.4, 0.7, 1, 1.3, 1.6)),
    16: ("n", (3, 4, 5, 6)),
    17: ("dmax", (30, 40, 50, 60, 70)),
}
"""Table III of the paper."""
COLUMNS = {"joins", "side", "seconds", "KiB", "composites, KiB", "engine, KiB", "composites", "results"}


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """A twentieth of the windows and values, and few pushes."""
    monkeypatch.setitem(jit_runs.SIZES, "quick", Sizes(1, None, 12, smaller=True))


def test_all_points_of_the_paper_are_there():
    assert list(BY_NAME) == [f"jit-{n}" for n in (5, *range(10, 18))]
    for number, (x, values) in RANGES.items():
        assert list(BY_NAME[f"jit-{number}"].pieces) == [f"{x} {value:g}" for value in values]


@pytest.mark.parametrize("number", list(RANGES))
def test_a_point_has_both_sides_by_both_joins(number):
    """All sides find the same results: a run that finds others fails."""
    x, values = RANGES[number]
    figure = BY_NAME[f"jit-{number}"]
    rows = [row for value in values[:2] for row in figure.pieces[f"{x} {value:g}"](QUICK)]
    assert [(row[x], row["joins"], row["side"]) for row in rows] == [
        (value, joins, side) for value in values[:2] for joins in ("nested", "hash") for side in (REF, JIT)
    ]
    assert all(set(row) == {x, *COLUMNS} for row in rows)
    for value in values[:2]:
        assert len({row["results"] for row in chosen(rows, **{x: value})}) == 1
    assert all(row["KiB"] >= row["composites, KiB"] > 0 < row["seconds"] for row in rows)
    told = [claim.judge(rows) for claim in figure.claims]
    assert any(verdict is not None and verdict.measured for verdict in told)


@pytest.mark.parametrize("joins", ["hash", "nested"])
def test_figure_5(joins):
    """What is stored is counted alike on all sides: without feedback as many as joins have found, with pairs fewer."""
    rows = list(five(QUICK, Five(joins, 100, 20, 60)))
    assert [row["side"] for row in rows] == [REF, JIT, PAIRS]
    ref, jit, pairs = rows
    assert ref["results"] == jit["results"] == pairs["results"]
    assert pairs["composites stored"] < jit["composites stored"] <= ref["composites stored"]
    assert all(row["engine, KiB"] > 0 < row["seconds"] for row in rows)
    assert [claim.judge(rows) is not None for claim in BY_NAME["jit-5"].claims] == [True] * 3


def rows_of(x, **sides):
    """Rows by nested loops: for each side its seconds and KiB by value."""
    return [
        {x: at, "joins": "nested", "side": side, "seconds": seconds, "KiB": kib}
        for side, found in sides.items()
        for at, (seconds, kib) in found.items()
    ]


def test_claims_can_fail():
    """Each agrees with rows that are as the paper says, and differs with rows that are not."""
    good = rows_of(
        "w",
        REF={4: (20.0, 100), 6: (90.0, 300), 8: (200.0, 400)},
        JIT={4: (1.0, 60), 6: (2.0, 70), 8: (4.0, 100)},
    )
    flat = rows_of("w", REF=dict.fromkeys((4, 6, 8), (9.0, 100)), JIT=dict.fromkeys((4, 6, 8), (8.0, 101)))
    for name in (
        "order_of_magnitude",
        "faster",
        "saves",
        "smaller",
        "gain_grows",
        "memory_gain_grows",
        "grows_slower",
    ):
        judge = getattr(jit_claims, name)
        assert judge(good, x="w").agrees and not judge(flat, x="w").agrees, name
    falling = rows_of(
        "dmax",
        REF={30: (9.0, 90), 50: (3.0, 40), 70: (2.0, 30)},
        JIT={30: (1.0, 20), 50: (0.8, 9), 70: (0.7, 8)},
    )
    rising = [row | {"seconds": 1 / row["seconds"]} for row in falling]
    assert jit_claims.falls(falling, x="dmax").agrees and not jit_claims.falls(rising, x="dmax").agrees
    assert jit_claims.handles(falling, x="dmax", value=50).agrees
    assert not jit_claims.handles(rising, x="dmax", value=50).agrees
    assert jit_claims.stable_beyond(falling, x="dmax", value=50).agrees
    assert not jit_claims.stable_beyond(falling, x="dmax", value=30).agrees
    assert jit_claims.stable_beyond(falling, x="dmax", value=70) is None


@pytest.mark.parametrize(("y", "most"), [("KiB", 1.0), ("seconds", 1.03)])
def test_goals_of_hash_joins_can_fail(y, most):
    """They look at hash joins alone; one point is enough to miss them."""
    sides = {"REF": {4: (10.0, 100), 6: (20.0, 100)}, "JIT": {4: (9.0, 90), 6: (20.1, 100)}}
    good = [row | {"joins": "hash"} for row in rows_of("n", **sides)]
    other = [row | {y: 1000.0} for row in rows_of("n", **sides)]
    assert jit_claims.hash_as_good([*good, *other], x="n", y=y, most=most).agrees
    worse = [row | ({y: 101 * row[y]} if row["side"] == "JIT" and row["n"] == 6 else {}) for row in good]
    verdict = jit_claims.hash_as_good([*worse, *other], x="n", y=y, most=most)
    assert not verdict.agrees and "at 6" in verdict.measured


def test_memory_in_steps():
    steps = {4: (1.0, 100), 5: (1.0, 104), 6: (1.0, 200), 7: (1.0, 210), 8: (1.0, 300)}
    smooth = {n: (1.0, 100 + 40 * n) for n in steps}
    rows, turned = rows_of("n", REF=steps, JIT=smooth), rows_of("n", REF=smooth, JIT=steps)
    assert jit_claims.steps(rows, x="n").agrees and not jit_claims.steps(turned, x="n").agrees
    assert jit_claims.smaller_step(rows, x="n").agrees and not jit_claims.smaller_step(turned, x="n").agrees
    assert jit_claims.steps(rows[:2], x="n") is None is jit_claims.smaller_step(rows[:1], x="n")


def test_the_claims_of_figure_5_can_fail():
    def told(stored, kib, seconds):
        sides = {REF: (100, 100, 1.0), JIT: (100, 100, 1.0), PAIRS: (stored, kib, seconds)}
        return [
            {
                "setting": "hash, 60 values",
                "side": side,
                "composites stored": a,
                "engine, KiB": b,
                "seconds": c,
            }
            for side, (a, b, c) in sides.items()
        ]

    judges = jit_claims.pairs_left_out, jit_claims.less_memory, jit_claims.less_time
    assert all(judge(told(20, 60, 0.9)).agrees for judge in judges)
    assert not any(judge(told(60, 110, 1.1)).agrees for judge in judges)
