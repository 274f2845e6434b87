"""One benchmark for each figure and table of the papers: `make bench`, and `PROFILE=full` for the papers' sizes.

A quick run keeps its records in `.benchmarks/results`, so that it changes no file of the repository; a full one keeps
them in `benchmarks/results`, takes up an interrupted run with the first piece that has no record of the present code,
and is what docs/results are made of.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field
from rich.console import Console

from benchmarks.papers.catalogue import FIGURES
from benchmarks.papers.figure import Figure, Profile
from benchmarks.papers.pages import shown
from benchmarks.papers.record import RESULTS
from benchmarks.papers.run import Task, measure_all, progress, tasks

QUICK = Path(".benchmarks") / "results"


@define
class Run:
    """All pieces that the figures of this run ask for: what several show is measured once, and the bar has them all."""

    profile: Profile
    folder: Path
    wanted: list[Task]
    begun: float = field(factory=time.monotonic)
    finished: int = 0
    _measured: set[tuple[str, str]] = field(factory=set)

    def left_of(self, figure: Figure) -> list[Task]:
        """The pieces of a figure that are still to be measured."""
        asked = {(figure.source.name, piece) for piece in figure.asks(self.profile.quick)} - self._measured
        self._measured |= asked
        return [task for task in self.wanted if (task.figure.name, task.piece) in asked]

    def measure(self, left: list[Task]) -> None:
        """Measure some of them."""
        console = Console(file=sys.__stderr__)
        with progress(self.wanted, console, self.finished, self.begun) as (tell, done):
            measure_all(left, self.profile, self.folder, tell, done)
        self.finished += len(left)


@pytest.fixture(scope="session")
def whole(request: pytest.FixtureRequest) -> Run:
    """What the figures that were asked for need."""
    profile = Profile(request.config.getoption("--profile"))
    folder = QUICK if profile.quick else RESULTS
    specs = [getattr(item, "callspec", None) for item in request.session.items]
    figures = [spec.params["figure"] for spec in specs if spec is not None and "figure" in spec.params]
    return Run(profile, folder, tasks(figures, profile, again=profile.quick, folder=folder))


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_figure(figure: Figure, benchmark: Any, capsys: Any, row: Any, whole: Run) -> None:
    """Measure the pieces that have no record, and tell what the rows say of the paper's claims."""
    left = whole.left_of(figure)

    def measure() -> None:
        with capsys.disabled():
            whole.measure(left)

    benchmark.pedantic(measure, rounds=1, iterations=1)
    found = shown(figure, whole.folder)
    assert found.profile == whole.profile.name and not found.missing
    row("claims of the papers", "figure", "claim", "agrees", "measured")
    for claim in figure.claims:
        verdict = claim.judge(found.rows)
        told = ("-", "") if verdict is None else ("yes" if verdict.agrees else "NO", verdict.measured)
        row("claims of the papers", f"{figure.paper}, {figure.label}", claim.text, *told)
    benchmark.extra_info["pieces"] = len(left)
