"""One benchmark for each figure and table of the papers: `make bench`, and `PROFILE=full` for the papers' sizes.

A quick run keeps its records in `.benchmarks/results`, so that it changes no file of the repository; a full one keeps
them in `benchmarks/results`, takes up an interrupted run with the first piece that has no record of the present code,
and is what docs/results are made of.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks.papers.catalogue import FIGURES
from benchmarks.papers.figure import Figure, Profile
from benchmarks.papers.pages import shown
from benchmarks.papers.record import RESULTS
from benchmarks.papers.run import run, tasks

QUICK = Path(".benchmarks") / "results"
_measured: set[tuple[str, str]] = set()
"""Pieces of this run: what several figures show is measured once."""


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_figure(figure: Figure, benchmark: Any, capsys: Any, row: Any, pytestconfig: Any) -> None:
    """Measure the pieces that have no record, and tell what the rows say of the paper's claims."""
    profile = Profile(pytestconfig.getoption("--profile"))
    folder = QUICK if profile.quick else RESULTS
    found = tasks([figure], profile, again=profile.quick, folder=folder)
    wanted = [task for task in found if (task.figure.name, task.piece) not in _measured]
    _measured.update((task.figure.name, task.piece) for task in wanted)

    def measure() -> None:
        with capsys.disabled():
            run(wanted, profile, folder, Console(file=sys.__stderr__))

    benchmark.pedantic(measure, rounds=1, iterations=1)
    found = shown(figure, folder)
    assert found.profile == profile.name and not found.missing
    row("claims of the papers", "figure", "claim", "agrees", "measured")
    for claim in figure.claims:
        verdict = claim.judge(found.rows)
        told = ("-", "") if verdict is None else ("yes" if verdict.agrees else "NO", verdict.measured)
        row("claims of the papers", f"{figure.paper}, {figure.label}", claim.text, *told)
    benchmark.extra_info["pieces"] = len(wanted)
