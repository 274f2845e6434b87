"""The figures of Zhu et al.: rows have the columns that claims and charts use, and claims can be refuted."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve

from benchmarks.papers import zhu, zhu_claims, zhu_runs
from benchmarks.papers.figure import Profile
from benchmarks.simulated.chain import EXACT, MOVING, PURGED, Chain
from benchmarks.simulated.server import Costs

TINY = Chain(300, (60, 60, 60, 60), (0.2, 0.2, 0.2), Costs(0.01, 0.02), change=1000, length=4000)


def points(profile):
    return [(w, evolve(TINY, window=w)) for w in (200, 400)]


def test_there_is_a_figure_for_each_of_the_paper():
    assert [figure.label for figure in zhu.FIGURES] == [f"Figure {n}" for n in range(9, 17)]
    assert all(figure.simulated and figure.claims and figure.charts for figure in zhu.FIGURES)


def test_durations_have_a_row_for_each_technique_and_estimate():
    """`compare` has raised an error unless all techniques found the same."""
    names = [MOVING, PURGED, EXACT, zhu_claims.TWICE, zhu_claims.EQUATION, zhu_claims.PRINTED]
    rows = list(zhu_runs.durations(Profile(), "window", points, names, {"quick": 1}))
    assert [(row["window"], row["technique"]) for row in rows] == [(w, n) for w in (200, 400) for n in names]
    assert {tuple(row) for row in rows} == {
        ("window", "technique", "ms", "least", "most", "evaluations", "busy")
    }
    (twice,) = [row["ms"] for row in rows if row["technique"] == zhu_claims.TWICE and row["window"] == 400]
    assert twice == 800


def test_seconds_have_what_charts_draw():
    rows = list(zhu_runs.over_time(Profile(), TINY, bin_ms=500.0))
    assert {row["technique"] for row in rows} == {MOVING, PURGED, EXACT, "Old", "New"}
    assert {len(row) for row in rows} == {8}
    given = {
        name: sum(row["results a second"] for row in rows if row["technique"] == name)
        for name in (MOVING, PURGED, EXACT, "Old", "New")
    }
    assert max(given.values()) == pytest.approx(min(given.values()), rel=1e-9)
    for figure in zhu.FIGURES[4:]:
        assert all({chart.x, chart.y, chart.by} <= set(rows[0]) for chart in figure.charts)
    assert rows == list(zhu_runs.over_time(Profile(), TINY, bin_ms=500.0))


def duration_rows(x, **techniques):
    return [
        {x: at, "technique": name.replace("_", " "), "ms": float(ms)}
        for name, found in techniques.items()
        for at, ms in found.items()
    ]


def test_claims_on_durations_can_fail():
    linear = duration_rows("window", Parallel_Track={1000: 2010, 2000: 3990})
    assert zhu_claims.near_windows(linear, PURGED, 2).agrees
    assert not zhu_claims.near_windows(linear, PURGED, 1).agrees
    crossed = duration_rows("window", Parallel_Track={100: 200, 900: 1800}, Moving_State={100: 1, 900: 2000})
    assert zhu_claims.crossing(crossed).agrees and zhu_claims.faster_first(crossed).agrees
    never = duration_rows("window", Parallel_Track={100: 200, 900: 1800}, Moving_State={100: 300, 900: 900})
    assert not zhu_claims.faster_first(never).agrees
    never = duration_rows("window", Parallel_Track={100: 200, 900: 1800}, Moving_State={100: 1, 900: 900})
    assert not zhu_claims.crossing(never).agrees
    assert zhu_claims.polynomial(duration_rows("window", Moving_State={1000: 1, 4000: 16})).agrees
    assert not zhu_claims.polynomial(duration_rows("window", Moving_State={1000: 1, 4000: 4})).agrees
    rates = {"Parallel_Track": {10: 2000, 40: 2010}, "Moving_State": {10: 1, 40: 4}}
    assert zhu_claims.flat_in_rate(duration_rows("rate of B", **rates)).agrees
    assert zhu_claims.grows_with_rate(duration_rows("rate of B", **rates)).agrees
    rates = {"Parallel_Track": {10: 100, 40: 400}, "Moving_State": {10: 1, 40: 1}}
    assert not zhu_claims.flat_in_rate(duration_rows("rate of B", **rates)).agrees
    assert not zhu_claims.grows_with_rate(duration_rows("rate of B", **rates)).agrees


def time_rows(**series):
    """A row a second: results, tuples and the end of the migration of each technique."""
    return [
        {
            "ms": 1000.0 * (i + 1),
            "technique": name.replace("_", " "),
            "results a second": float(results[i]),
            "intermediate tuples": float(tuples[i]),
            "ended": ended,
        }
        for name, (results, tuples, ended) in series.items()
        for i in range(50)
    ]


def test_claims_on_output_can_fail():
    steady, few = np.ones(50), np.full(50, 10)
    quiet = np.where((np.arange(50) >= 10) & (np.arange(50) < 20), 0, 2)
    rows = time_rows(
        Moving_State=(quiet, 3 * few, 20_000),
        Parallel_Track=(2 * steady, np.where(np.arange(50) < 25, 2 * few, few), 25_000),
        Old=(steady, 5 * few, None),
        New=(2 * steady, few, None),
    )
    assert zhu_claims.silent(rows).agrees and zhu_claims.more_output(rows).agrees
    assert zhu_claims.ends_earlier(rows).agrees and zhu_claims.fewer_tuples_during(rows).agrees
    assert zhu_claims.fewer_tuples(rows).agrees and not zhu_claims.alike_output(rows).agrees
    assert zhu_claims.better_than_old(rows, "results a second", more=True).agrees
    assert not zhu_claims.better_than_old(rows, "intermediate tuples", more=False).agrees
    assert not zhu_claims.moving_settles_first(rows).agrees
    rows = time_rows(
        Moving_State=(steady, few, 30_000),
        Parallel_Track=(steady, 2 * few, 25_000),
        Old=(steady, few, None),
        New=(steady, few, None),
    )
    assert not zhu_claims.silent(rows).agrees and not zhu_claims.more_output(rows).agrees
    assert not zhu_claims.ends_earlier(rows).agrees and not zhu_claims.fewer_tuples_during(rows).agrees
    assert not zhu_claims.fewer_tuples(rows).agrees and zhu_claims.alike_output(rows).agrees
    assert zhu_claims.moving_settles_first(rows).agrees
