"""What a set of measurements says: figures as tables, and the lines that have something to reach."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from attrs import define, field

from benchmarks import goals
from benchmarks.goals import ENGINE, Line
from benchmarks.ratio import table
from benchmarks.stamp import ROOT, load


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
        if len(set(head)) != len(head):
            raise ValueError(
                f"{figure}: a heading is there twice, and one of its columns would be lost: {head}"
            )
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

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """The figures, for a results file."""
        return {
            name: [dict(zip(head, (_plain(c) for c in row), strict=True)) for row in rows]
            for name, (head, rows) in self.figures.items()
        }


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
    prog: str,
    description: str | None,
    groups: Mapping[str, Callable[[Report], None]],
    kept: Path,
    measures: Sequence[str] = ENGINE,
) -> int:
    """A command that measures groups and tells, or keeps, what they say; 0 if all that is to be reached was.

    ``measures``: folders of the code that it is about (see `benchmarks.goals`); the module of the command is added.
    """
    module = f"{prog.replace('.', '/')}.py"
    measures = (*measures, *([module] if (ROOT / module).is_file() else []))
    arguments = argparse.ArgumentParser(prog=f"python -m {prog}", description=description)
    arguments.add_argument("--write", action="store_true", help=f"keep the figures in benchmarks/{kept.name}")
    arguments.add_argument("--only", default="", help="measure only groups whose name has these words")
    arguments.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    chosen = arguments.parse_args()
    if not any(chosen.only in name for name in groups):
        arguments.error("--only takes words of a group's name, which are:\n  " + "\n  ".join(groups))
    reached = True
    for name, measure in groups.items():
        if chosen.only not in name:
            continue
        report, before, begun = Report(quick=chosen.quick), load(), time.perf_counter()
        measure(report)
        report.quiet()
        print(report, flush=True)
        if chosen.write:
            said = f"python -m {prog} --only '{name}'{' --quick' if chosen.quick else ''} --write"
            seconds = time.perf_counter() - begun
            goals.keep(kept, name, report.lines, said, before, seconds, measures, report.rows())
        reached = reached and all(line.passed for line in report.lines)
    return 0 if reached else 1
