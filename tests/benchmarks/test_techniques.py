"""The benchmarks of migration techniques: their feeds and plans are what they say, and all sides find the same."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest

import eddy
from benchmarks.migration_workloads import (
    RARE,
    Even,
    Shifting,
    bushy,
    last_two_first,
    left_deep,
    orderings,
    right_deep,
    swapped,
)
from benchmarks.papers.jisc_runs import STEMS, STILL, side_by_side, to
from benchmarks.report import Report
from benchmarks.stages import Arena, Stage, middle, ratios
from benchmarks.standing import SIDES, standing, there_and_back
from benchmarks.techniques import JISC_AHEAD, MOVING, TECHNIQUES, TRACKS
from benchmarks.workloads import Workload
from tests.naive import join


def test_plans_of_the_papers():
    assert left_deep("ABCD") == "((A B) C) D"
    assert right_deep("ABCD") == "A (B (C D))"
    assert bushy("ABCDEF") == "A ((B C) (D (E F)))"
    assert bushy("ABCD") == "(A B) (C D)"
    assert last_two_first("ABCDEF") == "(((A B) C) D) (E F)"
    assert orderings("ABC") == "A: B C | B: A C | C: A B"
    assert swapped("ABCD", "best") == "ABDC"
    assert swapped("ABCD", "worst") == "DBCA"


@pytest.mark.parametrize("case", ["best", "worst"])
def test_swaps_leave_as_many_states_incomplete_as_the_paper_says(case):
    """One below the root in the best case; all but the root in the worst."""
    work = Even(6, 20, 20)
    engine = eddy.Eddy(work.query(), plan=left_deep(work.names))
    for batch in work.batches(work.chunk(500), 10):
        engine.push_all(batch)
    engine.migrate(left_deep(swapped(work.names, case)))
    incomplete = [stair for stair in engine.statistics().stairs if not stair.complete]
    assert len(incomplete) == (1 if case == "best" else 4)


def test_even_windows_hold_every_key_once():
    """So each row has exactly one result, with any number of streams."""
    work = Even(30, 20, 20)
    engine = eddy.Eddy(work.query())
    batches = work.batches(work.chunk(1500), 50)
    found = [len(engine.push_all(batch)) for batch in batches]
    assert found[-5:] == [50] * 5
    assert len(set(work.names)) == 30
    with pytest.raises(ValueError):
        Even(3, 20, 30)


def test_the_rare_stream_shifts():
    work = Shifting(3, 100, 20)
    for rare in (0, 2):
        work.shift(rare)
        chunk = work.chunk(3000)
        spread = [chunk.columns[0][chunk.streams == s].max() for s in range(3)]
        assert [s for s in range(3) if spread[s] >= 20] == [rare]
        assert spread[rare] < 20 * RARE


def test_a_stage_ends_when_everybody_is_done():
    """All sides find the same results, batch by batch, and the stage has them all."""
    arena = side_by_side(Even(5, 60, 60), JISC_AHEAD, TRACKS, STEMS, MOVING, STILL, size=30)
    arena.warm()
    stage = arena.stage(to(arena, swapped(arena.work.names, "worst")))
    assert set(stage.changes) == set(arena.contenders) - {STILL}
    assert all(change.ended is not None for change in stage.changes.values())
    assert len({tuple(counts) for counts in stage.outputs.values()}) == 1
    assert all(len(seconds) == len(stage.outputs[STILL]) for seconds in stage.seconds.values())
    assert stage.windows(MOVING, 300) == 0
    assert stage.windows(TRACKS, 300) >= 1
    assert ratios([stage], STEMS, STEMS).median == 1


def test_a_side_that_finds_less_is_refused():
    """A race is of engines that do the same."""
    work = Even(3, 40, 40)
    less = eddy.Query(work.query().streams, where=[*work.where(), "A.x0 < 20"])
    arena = Arena.of(work, {"all": eddy.Eddy(work.query()), "less": eddy.Eddy(less)}, size=20)
    with pytest.raises(AssertionError, match="different numbers"):
        arena.warm()


def test_what_a_stage_says():
    outputs = {"steady": [1, 1, 1, 0, 1], "late": [0, 0, 1, 0, 2]}
    seconds = {"steady": np.array([1.0, 1, 1, 1, 1]), "late": np.array([1.0, 5, 1, 1, 1])}
    stage = Stage(seconds, outputs, {}, 10)
    assert stage.silent("late", "steady") == 2 and stage.silent("steady", "late") == 0
    assert stage.first_output("late") == 7 and stage.first_output("steady") == 1
    assert stage.pause("late") == 4 and stage.pause("steady") == 0
    assert ratios([stage], "steady", "late").median == 9 / 5
    assert str(middle([1, 2, 3])) == "2.00 (1.50-2.50)"


def test_engines_stand_under_the_same_plan_after_two_migrations():
    arena = standing(window=100)
    assert set(arena.contenders) == set(SIDES)
    there_and_back(arena)
    plans = {contender.engine.plan for contender in arena.contenders.values()}
    assert plans == {left_deep(arena.work.names)}
    assert all(c.engine.statistics().migrations == 2 for c in arena.contenders.values())


@pytest.mark.parametrize("feed", [Workload, Even, Shifting])
@pytest.mark.parametrize("name", TECHNIQUES)
def test_every_technique_that_is_timed_gives_what_the_oracle_gives(name, feed):
    """Row by row, on the feeds of the races, through plan changes that overlap: what is timed afterwards is right."""
    work = feed(4, 24, 24 if feed is Even else 12)
    chunk = work.chunk(240)
    engine = eddy.Eddy(work.query(), plan=left_deep(work.names), migration=TECHNIQUES[name])
    plans = {8: right_deep(work.names), 10: left_deep(swapped(work.names, "worst")), 17: bushy(work.names)}
    found: list[tuple[int, ...]] = []
    for number, batch in enumerate(work.batches(chunk, 10)):
        if number in plans:
            engine.migrate(plans[number])
        found += map(tuple, engine.push_all(batch).rows.tolist())
    found += map(tuple, engine.close().rows.tolist())  # what the paper's order of results has held back
    events = [(stream, (int(row["ts"][0]), int(row["x0"][0]))) for stream, row in work.rows(chunk)]
    streams = {
        stream: SimpleNamespace(columns=("ts", "x0"), window=("rows", 24), time="ts") for stream in work.names
    }
    first, *others = work.names
    where = [("=", ("col", first, "x0"), ("col", other, "x0")) for other in others]
    expected = [rows for given in join(streams, where, events) for rows in given]
    assert sorted(found) == sorted(expected) and len(expected) > 20


def test_a_report_has_figures_and_lines():
    """Silent in a pipe; results are plain values."""
    pipe = io.StringIO()
    report = Report(quick=True, terminal=pipe)
    report.tell("nothing")
    report.quiet()
    assert pipe.getvalue() == ""
    report.row("a figure", ("window", "ms"), 200, 1.5)
    report.reach("a goal", 1.5, "ms", 5.0)
    assert report.rows()["a figure"] == [{"window": 200, "ms": 1.5}]
    assert "a figure" in str(report) and "a goal" in str(report)


def test_a_terminal_is_told():
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    Report(terminal=terminal).telling("batch")(7)
    assert "batch 7" in terminal.getvalue()
