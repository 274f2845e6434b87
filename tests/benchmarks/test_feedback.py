"""The benchmarks of feedback: feeds and plans are the paper's, all sides find the same, and the command works."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from attrs import evolve

import eddy
from benchmarks import jit, table
from benchmarks.goals import Line, keep, read
from benchmarks.jit_figures import BOUND, DEFAULTS, EVERY, MNS, NONE, Peak, Run, run, runs
from benchmarks.jit_workloads import BUSHY, BUSHY_DEFAULT, LEFT_DEEP_DEFAULT, WIDE, Clique, Setting
from benchmarks.report import Report

PAGE = table.ROOT / "docs" / "feedback.md"


def test_the_clique_is_the_papers():
    """A column of its own for every two streams."""
    where = Clique(4, 10, 10).where()
    assert where[:3] == ["A.x0 = B.x0", "A.x1 = C.x0", "A.x2 = D.x0"]
    assert where[3:] == ["B.x1 = C.x1", "B.x2 = D.x1", "C.x2 = D.x2"]
    columns = [column for condition in where for column in condition.split(" = ")]
    assert len(set(columns)) == len(columns) == 12


def test_the_defaults_are_the_papers():
    assert (BUSHY_DEFAULT.rows, BUSHY_DEFAULT.events) == (1200, 108_000)
    assert BUSHY_DEFAULT.text == "((A B) (C D)) (E F)"
    assert LEFT_DEEP_DEFAULT.text == "((A B) C) D"
    large = evolve(BUSHY_DEFAULT, scale=10)
    assert large.rows == 12_000 and large.work().keys == 2000
    for n, text in BUSHY.items():
        setting = evolve(BUSHY_DEFAULT, n=n)
        assert eddy.Eddy(setting.query(setting.work()), plan=text).plan == setting.text


@pytest.mark.parametrize("n", [3, 4, 6])
def test_stream_d_has_more_values_under_left_deep_plans(n):
    work = evolve(LEFT_DEEP_DEFAULT, n=n).work()
    chunk = work.chunk(5000)
    most = [max(c[chunk.streams == s].max() for c in chunk.columns) for s in range(n)]
    assert [s for s in range(n) if most[s] >= 50] == [min(3, n - 1)]
    assert most[min(3, n - 1)] > 50 * WIDE * 0.9


def test_a_barren_feed_leaves_only_the_last_two_streams_anything_to_join():
    setting = Setting(w=1, n=4, dmax=5)
    work = setting.work()
    (batch,) = work.batches(work.chunk(400), 400)
    engine = eddy.Eddy(setting.query(work), plan=setting.text)
    assert len(engine.push_all(work.barren(batch))) == 0
    made = {stair.name.partition(" by ")[0]: stair.live for stair in engine.statistics().stairs}
    assert made["A B"] == 0 < made["C D"]


@pytest.mark.parametrize("joins", ["hash", "nested"])
def test_all_policies_find_the_same_results(joins):
    """Here there are some: the paper's defaults hardly ever have one."""
    made = run(Setting(w=1, n=4, dmax=6, joins=joins, hours=0.1), EVERY, size=64)
    assert made.results > 100
    assert set(made.seconds) == set(made.peaks) == set(EVERY)
    assert set(made.detection) == set(EVERY) - {NONE, BOUND}
    assert made.peaks[BOUND].live < made.peaks[NONE].live


def test_what_a_run_says():
    made = Run({NONE: 3.0, MNS: 2.0}, {NONE: Peak(100, 100, 10), MNS: Peak(25, 50, 2)}, 0)
    assert made.faster(MNS) == 1.5
    assert (made.saved(MNS, "composites"), made.saved(MNS), made.saved(MNS, "live")) == (75, 50, 80)


def test_a_quick_run_is_a_small_one():
    (made,) = runs(
        Report(quick=True), evolve(BUSHY_DEFAULT, joins="hash"), {MNS: EVERY[MNS], NONE: EVERY[NONE]}, 3
    )
    assert 0 < made.peaks[NONE].live < 3000


def test_the_command_measures_every_group(monkeypatch, tmp_path, capsys):
    """With --quick; and keeps what was measured before."""
    kept = tmp_path / "results.json"
    keep(kept, "before", [Line("before", 1.0, "s", None)], "command", 0.0)
    monkeypatch.setattr(jit, "RESULTS", kept)
    monkeypatch.setattr(sys, "argv", ["jit", "--quick", "--write"])
    jit.main()
    groups = read(kept)
    assert set(groups) == {"before", *jit.GROUPS}
    figures = {name for group in groups.values() for name in group.figures}
    lines = {line.what: line for group in groups.values() for line in group.lines}
    told = capsys.readouterr().out
    assert figures and all(figure in told for figure in figures)
    for name, (_, _, speed, _) in DEFAULTS.items():
        assert f"Defaults, {name}" in figures
        assert (f"{name}: less processor time" in lines) == (speed is not None)
    assert sum(what.startswith("every row has partners") for what in lines) == 4
    assert np.isfinite([line.measured for line in lines.values()]).all()


def test_a_group_that_is_not_there(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["jit", "--only", "nothing of the kind"])
    with pytest.raises(SystemExit):
        jit.main()
    assert "defaults, bushy, nested" in capsys.readouterr().err


def test_the_page_shows_what_was_measured():
    """`python -m benchmarks.table --write` would change nothing."""
    text = PAGE.read_text(encoding="utf-8")
    assert table.inserted(text, table.read(table.PAGES[PAGE])) == text
