"""What a set of measurements says: figures as tables, and the lines that have something to reach."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from attrs import define, field

from benchmarks.ratio import table, write
from benchmarks.targets import Line


@define(eq=False)
class Report:
    """Collects; on a terminal it also tells, in one line that is written over, what is being measured."""

    quick: bool = False
    """Small sizes and few repetitions, to see that everything works."""
    lines: list[Line] = field(factory=list)
    figures: dict[str, tuple[Sequence[str], list[Sequence[Any]]]] = field(factory=dict)
    _terminal: TextIO = field(factory=lambda: sys.stderr)
    _begun: float = field(factory=time.monotonic)

    def tell(self, what: str) -> None:
        if self._terminal.isatty():
            print(
                f"\r\x1b[K{time.monotonic() - self._begun:5.0f} s  {what}",
                end="",
                file=self._terminal,
                flush=True,
            )

    def telling(self, what: str) -> Callable[[int], None]:
        """To be called with a number that goes up."""
        return lambda number: self.tell(f"{what} {number}")

    def quiet(self) -> None:
        """Take the line away."""
        if self._terminal.isatty():
            print("\r\x1b[K", end="", file=self._terminal, flush=True)

    def row(self, figure: str, head: Sequence[str], *cells: Any) -> None:
        """Add a row to a figure."""
        self.figures.setdefault(figure, (head, []))[1].append(cells)

    def reach(
        self, what: str, measured: float, unit: str, target: float, at_least: bool = False, note: str = ""
    ) -> None:
        """Add a line with what it must be."""
        self.lines.append(Line(what, measured, unit, target, at_least, note))

    def __str__(self) -> str:
        parts = [
            f"{name}\n{table(head, [[_cell(c) for c in row] for row in rows])}"
            for name, (head, rows) in self.figures.items()
        ]
        if self.lines:
            head = ("what it must reach", "measured", "target", "", "note")
            parts.append(table(head, [line.cells() for line in self.lines], left=(0, 4)))
        return "\n\n".join(parts)

    def results(self) -> dict[str, Any]:
        """For a results file."""
        targets = {
            line.what: {"measured": round(line.measured, 4), "target": line.target, "unit": line.unit}
            | {"passed": line.passed, "note": line.note}
            for line in self.lines
        }
        figures = {
            name: [dict(zip(head, (_plain(c) for c in row), strict=True)) for row in rows]
            for name, (head, rows) in self.figures.items()
        }
        return {"targets": targets, "figures": figures}


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _plain(value: Any) -> Any:
    rounded = getattr(value, "rounded", None)
    if rounded is not None:
        return rounded()
    return float(f"{value:.4g}") if isinstance(value, float) else value


def command(
    prog: str, description: str | None, groups: Mapping[str, Callable[[Report], None]], kept: Path
) -> int:
    """A command that measures groups and tells, or keeps, what they say; 0 if all that is to be reached was."""
    arguments = argparse.ArgumentParser(prog=f"python -m {prog}", description=description)
    arguments.add_argument("--write", action="store_true", help=f"keep the figures in benchmarks/{kept.name}")
    arguments.add_argument("--only", default="", help="measure only groups whose name has these words")
    arguments.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    chosen = arguments.parse_args()
    if not any(chosen.only in name for name in groups):
        arguments.error("--only takes words of a group's name, which are:\n  " + "\n  ".join(groups))
    report = Report(quick=chosen.quick)
    before = os.getloadavg()[0]
    for name, measure in groups.items():
        if chosen.only in name:
            measure(report)
    report.quiet()
    print(report)
    if chosen.write:
        machine = f"{platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} processors"
        busy = f"load {before:.1f} at the beginning, {os.getloadavg()[0]:.1f} at the end"
        held = json.loads(kept.read_text()) if kept.exists() else {}
        found = {name: held.get(name, {}) | figures for name, figures in report.results().items()}
        write(kept, {**found, "machine": f"{machine}, {busy}"})
    return 0 if all(line.passed for line in report.lines) else 1
