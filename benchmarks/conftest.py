"""What the benchmarks share: a race as a pytest-benchmark, and the tables at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.ratio import Race, Timings, table

_TABLES: dict[str, list[tuple[Any, ...]]] = {}


@pytest.fixture
def contest(benchmark: Any) -> Callable[..., Timings]:
    """Run a race with its first side on pytest-benchmark's clock, the others in between.

    The figures go to `extra_info`, and so into pytest-benchmark's JSON.
    """

    def run(race: Race, events: int, rounds: int = 30) -> Timings:
        opened = []

        def between() -> None:
            if opened:
                race.close()
            race.open()
            opened.append(True)

        benchmark.pedantic(race.lead, setup=between, rounds=rounds, iterations=1)
        race.close()
        timings = race.timings(events)
        benchmark.extra_info.update(timings.report(race.first))
        return timings

    return run


@pytest.fixture
def row() -> Callable[..., None]:
    """Add a row to a table that is printed after the run."""

    def add(title: str, *cells: Any) -> None:
        _TABLES.setdefault(title, []).append(cells)

    return add


@pytest.fixture
def ratio_row(row: Callable[..., None]) -> Callable[[str, str, Timings], None]:
    """Add the rates of all sides, and the ratios of the first to the others."""

    def add(title: str, name: str, timings: Timings) -> None:
        first, *others = timings.seconds
        row(title, *(("", *timings.seconds, *(f"{first} / {o}" for o in others))))
        ratios = (
            f"{timings.ratio(first, o):.2f} ({low:.2f}-{high:.2f})"
            for o in others
            for low, high in [timings.spread(first, o)]
        )
        row(title, name, *(timings.rate(side) for side in timings.seconds), *ratios)

    return add


def pytest_addoption(parser: Any) -> None:
    sizes = {"choices": ("quick", "full"), "default": "quick"}
    parser.addoption("--profile", help="sizes of the figures of the papers", **sizes)


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """A race is timed by this thread's processor time on pytest-benchmark's clock too."""
    for item in items:
        if "contest" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.benchmark(timer=time.thread_time))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for title, rows in _TABLES.items():
        head, *rest = dict.fromkeys(rows)  # a heading is given with every row
        terminalreporter.write_sep("-", title)
        terminalreporter.write_line(table([str(cell) for cell in head], rest))
