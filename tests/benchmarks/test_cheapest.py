"""The benchmarks of `Cheapest`: sides take turns fairly, and predictions stand beside what was measured."""

from __future__ import annotations

import io

import eddy
from benchmarks import cheapest_figures
from benchmarks.cheapest_figures import CHEAPEST, RIVALS, SIDES, arena_of, clique, reorder
from benchmarks.hybmig_figures import Setting
from benchmarks.migration_workloads import Even, right_deep
from benchmarks.report import Report


def test_in_four_changes_every_side_follows_every_other():
    """So nobody is always the one after the slowest."""
    work = Even(3, 40, 40)
    arena = arena_of(work, work.query(), 20)
    followed = []
    for turn in range(4):
        reorder(arena, turn)
        order = list(arena.contenders)
        assert sorted(order) == sorted(SIDES)
        followed += [(order[i - 1], name) for i, name in enumerate(order)]
    assert len(set(followed)) == len(followed) == len(SIDES) * (len(SIDES) - 1)


def test_predictions_stand_beside_what_was_measured():
    """For every technique, and a line with what is to be reached."""
    report = Report(quick=True, terminal=io.StringIO())
    clique(report, "Figure 17", Setting(w=1, n=4, seconds=10), right_deep)
    ((head, ((*cells,),)),) = report.figures.values()
    assert head[0] == "setting" and head.count("predicted") == len(RIVALS)
    assert len(cells) == len(head) and cells[-3].split(" x ")[1] in RIVALS and cells[-2] in RIVALS
    (line,) = report.lines
    assert line.target == cheapest_figures.GOAL and not line.at_least and line.measured > 0


def test_sides_have_the_techniques_that_it_chooses_from():
    """And it is one of the sides itself."""
    work = Even(3, 40, 40)
    engine = eddy.Eddy(work.query(), migration=SIDES[CHEAPEST])
    for batch in work.batches(work.chunk(200), 20):
        engine.push_all(batch)
    engine.migrate("A (B C)")
    assert set(engine.statistics().history[-1].predicted) == set(RIVALS)
