"""Goals: what was measured, what it must be, and the file that keeps them, a group of lines at a time.

A group is what one function measures; it has a stamp of its own (`benchmarks.stamp`), and measuring it touches no other
group, neither lines nor stamp. ::

    {"speed": {"stamp": {...}, "measures": ["stairs", ...], "targets": {"3 streams": {...}}, "figures": {...}}, ...}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from benchmarks.stamp import Stamp, digest, load, stamp, stamp_of

NOT_OF_NUMBERS = (
    "cast_kinds",
    "casting",
    "days",
    "decimals",
    "durations",
    "number_functions",
    "patterns",
    "special_objects",
    "text_functions",
    "text_objects",
    "time_functions",
    "zones",
)
"""Modules of `eddy/values` that rows of plain numbers do not pass through (a test looks)."""
ENGINE = (
    "stairs",
    "eddy/engine",
    "eddy/fast",
    "eddy/intake",
    "eddy/plan",
    "eddy/results",
    "eddy/router",
    "eddy/store",
    "eddy/values",
    *(f"-eddy/values/{name}.py" for name in NOT_OF_NUMBERS),
)
"""The code that a push of plain numbers runs through."""


@frozen
class Line:
    """One goal: what was measured, and what it must be; a figure that has no target is only shown."""

    what: str
    measured: float
    unit: str
    target: float | None
    at_least: bool = False
    note: str = ""

    @property
    def passed(self) -> bool:
        if self.target is None:
            return True
        return self.measured >= self.target if self.at_least else self.measured <= self.target

    def cells(self) -> tuple[str, ...]:
        measured = f"{self.measured:.3g} {self.unit}"
        if self.target is None:
            return self.what, measured, "", "", self.note
        bound = f"{'>=' if self.at_least else '<='} {self.target:g} {self.unit}"
        return self.what, measured, bound, "pass" if self.passed else "MISS", self.note


@frozen
class Group:
    """What was measured at a stretch."""

    lines: Sequence[Line]
    stamp: Stamp
    measures: Sequence[str]
    figures: Mapping[str, Sequence[Mapping[str, Any]]] = {}
    """Rows of tables that are kept but have no goal."""

    @property
    def stale(self) -> bool:
        """Whether the code is no longer what was measured."""
        return self.stamp.code != digest(self.measures)


def bars(lines: Iterable[Line]) -> list[str]:
    """Goals as a table of Markdown, for `pages.put`: misses stand out."""
    made = ["| what | measured | must be | reached |", "|---|---|---|---|"]
    for line in lines:
        assert line.target is not None, line.what
        bound = f"{'at least' if line.at_least else 'at most'} {line.target:g} {line.unit}".rstrip()
        number = f"{line.measured:,.0f}" if line.measured >= 100 else f"{line.measured:.3g}"
        measured = f"{number} {line.unit}".rstrip()
        made.append(f"| {line.what} | {measured} | {bound} | {'yes' if line.passed else '**no**'} |")
    return made


def keep(
    path: Path,
    name: str,
    lines: Iterable[Line],
    command: str,
    before: float,
    seconds: float = 0.0,
    measures: Sequence[str] = ENGINE,
    figures: Mapping[str, Any] | None = None,
) -> None:
    """Write a group; the others stay as they are. ``before``: the `load` when it began."""
    held = json.loads(path.read_text()) if path.exists() else {}
    targets = {
        line.what: {"measured": float(f"{line.measured:.5g}"), "target": line.target, "unit": line.unit}
        | {"at least": line.at_least, "note": line.note}
        for line in lines
    }
    made = {"stamp": asdict(stamp(measures, 0, command, before, seconds)), "measures": list(measures)}
    made |= {"targets": targets} | ({"figures": dict(figures)} if figures else {})
    path.write_text(json.dumps(held | {name: made}, indent=1, sort_keys=True) + "\n")


def read(path: Path) -> dict[str, Group]:
    """The groups that were kept."""
    held = json.loads(path.read_text()) if path.exists() else {}
    return {name: _group(found) for name, found in held.items()}


def _group(found: Mapping[str, Any]) -> Group:
    lines = [
        Line(what, line["measured"], line["unit"], line["target"], line["at least"], line["note"])
        for what, line in found["targets"].items()
    ]
    return Group(lines, stamp_of(found["stamp"]), found["measures"], found.get("figures", {}))


__all__ = ["ENGINE", "Group", "Line", "bars", "keep", "load", "read"]
