"""HybMig's figures: rows have the columns that claims and charts use, all techniques find the same, claims can fail."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve

import eddy
from benchmarks.hybmig_workloads import BLACK_BOXES, EVERY, Setting, box_stages, stages
from benchmarks.median_box import Median, Sliding
from benchmarks.migration_workloads import Shifting, right_deep
from benchmarks.papers import hybmig, hybmig_claims, hybmig_rows
from benchmarks.papers.figure import Profile
from benchmarks.papers.hybmig_rows import (
    ALONE,
    BSC,
    DURATION,
    EVALUATIONS,
    GHM,
    GMS,
    GPT,
    HM,
    MS_,
    PT,
    SECONDS,
    SHARING,
)
from benchmarks.simulated.clique import Clique
from benchmarks.simulated.server import Costs
from benchmarks.techniques import HELD

SWEEPS = [
    ("17", "w", (1, 2, 3, 4, 5)),
    ("18", "rate", (0.4, 0.7, 1.0, 1.3, 1.6)),
    ("19", "n", (4, 5, 6, 7)),
]
TINY = Clique(w=0.25, n=4, keys=6, costs=Costs(0.05))


def test_there_is_a_figure_for_each_of_the_paper():
    labels = [figure.label for figure in hybmig.FIGURES]
    assert labels[:8] == [f"Figure {n}" for n in range(15, 23)]
    assert all(figure.claims and figure.charts for figure in hybmig.FIGURES)


@pytest.mark.parametrize(
    ("measure", "names"),
    [(hybmig_rows.over_time, {MS_, PT, HM}), (hybmig_rows.boxes_over_time, {GMS, GPT, GHM})],
    ids=["engines", "boxes"],
)
def test_seconds_have_what_charts_draw(measure, names):
    """`compare` has raised an error unless all techniques found the same; here it is seen in what they gave."""
    clique = TINY if names == {MS_, PT, HM} else evolve(TINY, keys=4, windows=2.4)
    rows = list(measure(Profile(), clique, feeds=1))
    assert {row["technique"] for row in rows} == names
    assert len({tuple(row) for row in rows}) == 1
    given = {name: sum(row["results a second"] for row in rows if row["technique"] == name) for name in names}
    assert len(set(given.values())) == 1 and min(given.values()) > 5
    number = "15" if measure is hybmig_rows.over_time else "22"
    for figure in hybmig.FIGURES:
        if figure.name == f"hybmig-{number}":
            assert all({chart.x, chart.y, chart.by} <= set(rows[0]) for chart in figure.charts)
    assert rows == list(measure(Profile(), clique, feeds=1))


def test_sweeps_have_all_measures():
    """The same columns in counts and in processor time."""
    tiny = Setting(w=1, n=4, shape="bushy")
    rows = [
        *hybmig_rows.counted(Profile(), "streams", tiny),
        *hybmig_rows.processed(Profile(), "streams", tiny),
    ]
    assert {tuple(row) for row in rows} == {("shape", "n", "technique", "measure", "value")}
    assert len({row["measure"] for row in rows}) == 5 and len(rows) == 3 * 5
    assert all(row["value"] > 0 for row in rows if row["measure"] != hybmig_rows.AT_ONCE)
    at_once = {row["technique"]: row["value"] for row in rows if row["measure"] == hybmig_rows.AT_ONCE}
    assert at_once[MS_] > 0 == at_once[PT] == at_once[HM]


@pytest.mark.parametrize("number, x, values", SWEEPS)
def test_a_sweep_is_taken_up_point_by_point(number, x, values):
    """Each point of both shapes is a piece, of counts and of processor time; a quick run leaves out the large ones."""
    [figure] = [figure for figure in hybmig.FIGURES if figure.name == f"hybmig-{number}"]
    assert len(figure.asks(quick=False)) == 4 * len(values)
    assert "right-deep, " + f"{x} {values[0]}, counted" in figure.asks(quick=True)
    assert f"bushy, {x} {values[-1]}, processor time" not in figure.asks(quick=True)


def test_background_and_sharing_have_their_rows(monkeypatch):
    monkeypatch.setattr(hybmig_rows, "TIMED", evolve(TINY, keys=12))
    monkeypatch.setattr(hybmig_rows, "COUNTED", TINY)
    monkeypatch.setattr(hybmig_rows, "_streams", lambda profile: (4,))
    monkeypatch.setattr(hybmig_rows, "stages", lambda *given: stages(Setting(w=1, n=4), *given[1:]))
    timed = list(hybmig_rows.background_timed(Profile(), (1.0,)))
    assert [row["technique"] for row in timed[::2]] == [MS_, PT, HM, BSC]
    assert {tuple(row) for row in timed} == {("rate", "technique", "measure", "value")}
    both = [*hybmig_rows.sharing_counted(Profile()), *hybmig_rows.sharing_processed(Profile())]
    assert [row["technique"] for row in both] == [SHARING, ALONE] * 2
    processed = list(hybmig_rows.background_processed(Profile()))
    assert {row["technique"] for row in processed} == {MS_, PT, HM, BSC}


def test_the_sliding_median_is_that_of_all_that_is_kept():
    """Numbers that come at one time leave together; of an even count it is the mean of the two in the middle."""
    random = np.random.default_rng(3)
    times = np.sort(random.integers(0, 200, 500))
    values = random.integers(0, 40, 500)
    sliding, now = Sliding(25), np.unique(times)
    cuts = np.searchsorted(times, now[::9])[1:]
    parts = zip(np.split(times, cuts), np.split(values, cuts), strict=True)
    found = np.concatenate([sliding.push(*part) for part in parts])
    assert found.tolist() == [np.median(values[(times >= t - 25) & (times <= t)]) for t in now]


def test_totals_have_every_technique(monkeypatch):
    monkeypatch.setattr(hybmig_rows, "VARIANTS", {"tiny": Setting(w=1, n=4)})
    rows = list(hybmig_rows.totals(Profile(), "tiny"))
    assert [row["technique"] for row in rows] == list(EVERY)
    boxes = list(hybmig_rows.box_totals(Profile()))
    assert [row["technique"] for row in boxes] == list(BLACK_BOXES)
    assert {tuple(row) for row in rows} == {tuple(row) for row in boxes}


def test_claims_on_parameters_can_fail():
    def rows(mine, moving, tracks):
        return [
            {"shape": shape, "n": 4, "technique": name, "measure": EVALUATIONS, "value": value}
            for shape in ("right-deep", "bushy")
            for name, value in ((HM, mine), (MS_, moving), (PT, tracks))
        ]

    assert hybmig_claims.lowest(rows(1, 2, 3), "n", EVALUATIONS).agrees
    assert not hybmig_claims.lowest(rows(1, 0.9, 3), "n", EVALUATIONS).agrees
    assert hybmig_claims.lowest(rows(1, 2, 3)[:0], "n", EVALUATIONS) is None

    def shared(alone):
        return [
            {"n": n, "technique": name, "measure": SECONDS, "value": value}
            for n, gained in alone.items()
            for name, value in ((SHARING, 1.0), (ALONE, gained))
        ]

    assert hybmig_claims.saves(shared({4: 1.1, 7: 1.9}), SECONDS).agrees
    assert not hybmig_claims.saves(shared({4: 0.9, 7: 1.9}), SECONDS).agrees
    assert not hybmig_claims.saves(shared({4: 1.1}), SECONDS).agrees


def duration_rows(**techniques):
    names = {"ms": MS_, "pt": PT, "hm": HM, "bsc": BSC}
    return [
        {"rate": rate, "technique": names[name], "measure": DURATION, "value": float(seconds)}
        for name, found in techniques.items()
        for rate, seconds in zip((0.4, 0.7, 1.0, 1.3, 1.6), found, strict=True)
    ]


def test_claims_on_background_computation_can_fail():
    told = duration_rows(
        ms=(1, 5, 50, 300, 900), pt=(180, 180, 180, 190, 300), hm=(180,) * 5, bsc=(1, 6, 80, 150, 180)
    )
    judges = (
        hybmig_claims.soon_over,
        hybmig_claims.less_and_less,
        hybmig_claims.moving_at_first,
        hybmig_claims.tracks_take_the_window,
        hybmig_claims.hybrid_takes_the_window,
    )
    assert all(judge(told).agrees for judge in judges)
    other = duration_rows(
        ms=(200,) * 5, pt=(300,) * 5, hm=(180, 180, 180, 180, 400), bsc=(90, 80, 80, 10, 180)
    )
    assert not any(judge(other).agrees for judge in judges)


def time_rows(ms, pt, hm):
    """Constant output, work and tuples of each technique but for what is told."""
    rows = []
    for name, told in ((MS_, ms), (PT, pt), (HM, hm)):
        for i in range(216):
            row = {"second": i + 1, "technique": name, "results a second": 10.0, "queue": 0.0}
            row |= {"evaluations a second": 100.0 if i < 180 else 5.0, "tuples": 100.0}
            row |= {
                "migration, s": 180.0,
                "first output after, s": 0.5,
                "longest delay, s": 0.5,
                "caught up after, s": 180.0,
            }
            rows.append(row | {key: value(i) if callable(value) else value for key, value in told.items()})
    return rows


def test_claims_on_output_can_fail():
    paper = time_rows(
        ms={
            "first output after, s": 50.0,
            "migration, s": 50.0,
            "caught up after, s": 60.0,
            "results a second": lambda i: 0.0 if i < 50 else 42.0 if i < 60 else 20.0,
            "tuples": lambda i: 500.0 - abs(i - 49),
            "evaluations a second": lambda i: 1000.0 if i < 60 else 20.0,
        },
        pt={
            "results a second": lambda i: 10.0 * max(0, 1 - i / 150) if i != 181 else 900.0,
            "evaluations a second": lambda i: 200.0 + i if i < 180 else 5.0,
            "tuples": 200.0,
        },
        hm={},
    )
    judges = (
        hybmig_claims.silent,
        hybmig_claims.soars,
        hybmig_claims.decays,
        hybmig_claims.prompt,
        hybmig_claims.saturated,
        hybmig_claims.rises,
        hybmig_claims.drops,
        lambda rows: hybmig_claims.below(rows, "tuples"),
        lambda rows: hybmig_claims.below(rows, "evaluations a second"),
    )
    assert [judge(paper).agrees for judge in judges] == [True] * len(judges)
    other = time_rows(
        ms={},
        pt={"evaluations a second": 50.0, "tuples": 50.0},
        hm={"longest delay, s": 9.0, "evaluations a second": 100.0},
    )
    assert [judge(other).agrees for judge in judges] == [False] * len(judges)


def test_every_technique_in_the_clique():
    """Held results come in the end; the rest come at once."""
    (stage,) = stages(Setting().smaller(), EVERY, right_deep, 1)
    totals = {name: sum(found) for name, found in stage.outputs.items()}
    assert len(set(totals.values())) == 1 and totals[HELD] > 1000
    assert stage.changes[HELD].results_held > 0
    steady = [found for name, found in stage.outputs.items() if name != HELD]
    assert all(found == steady[0] for found in steady)
    assert stage.windows("MovingState", 2400) == 0 < stage.windows("HybMig", 2400)


def test_black_boxes_in_the_clique():
    """All give the same number of medians; Gms takes no time, and Gpt the windows of the rows and of the median."""
    setting = Setting().smaller()
    (stage,) = box_stages(setting, 1)
    totals = {name: sum(found) for name, found in stage.outputs.items()}
    assert set(totals) == set(BLACK_BOXES) and len(set(totals.values())) == 1 and totals["Gms"] > 100
    ended = {name: stage.windows(name, setting.live) for name in BLACK_BOXES}
    assert ended["Gms"] == 0 < ended["Ghm(share=8)"] < 0.5 < 2 <= ended["Gpt"] < 2.1


def test_the_median_box_is_what_it_says():
    """For every event with results the median of those of the last width, by their times."""
    work = Shifting(3, 40, 12)
    query, width = work.query(eddy.Range(60)), 25
    box, engine, results = Median(query, work.plan, width), eddy.Eddy(query), []
    for batch in work.batches(work.chunk(2000), 17):
        found = engine.push_all(batch).to_pydict()
        times = [max(row) for row in zip(*(found[f"{name}.ts"] for name in "ABC"), strict=True)]
        results += zip(times, found["A.x0"], strict=True)
        wanted = [
            np.median([value for when, value in results if time - width <= when <= time])
            for time in sorted(set(times))
        ]
        assert box.push_all(batch).tolist() == wanted
    assert len(results) > 200
