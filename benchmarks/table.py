"""Tables of figures in docs, and their summary and the chart's caption in README.md: `python -m benchmarks.table`.

With `--write` they go into the pages.

`python -m benchmarks.targets --write` measures and keeps the figures of the engine, `python -m benchmarks.jit --write`
those of feedback, `python -m benchmarks.drift --write` those of routing, `python -m benchmarks.bands --write` those of
bands, and `python -m benchmarks.threads --write` those of threads; this only shows them, every miss included.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import chart, pages
from benchmarks.goals import Group, Line, read
from benchmarks.papers.record import RESULTS as RECORDS
from benchmarks.papers.record import read as read_records

RESULTS = Path(__file__).with_name("results.json")
ROOT = Path(__file__).parents[1]
PAGES = {
    ROOT / "docs" / "benchmarks.md": RESULTS,
    ROOT / "docs" / "feedback.md": RESULTS.with_name("results_feedback.json"),
    ROOT / "docs" / "routing.md": RESULTS.with_name("results_routing.json"),
    ROOT / "docs" / "scaling.md": RESULTS.with_name("results_scaling.json"),
    ROOT / "docs" / "operators.md": RESULTS.with_name("results_bands.json"),
    ROOT / "docs" / "nexmark.md": RESULTS.with_name("results_nexmark.json"),
    ROOT / "docs" / "tpch.md": RESULTS.with_name("results_tpch.json"),
    ROOT / "docs" / "spark.md": RESULTS.with_name("results_spark.json"),
}
"""Pages with figures, and the results that these are from."""
BEGIN = "<!-- figures: written by python -m benchmarks.table --write -->"
END = "<!-- end of figures -->"
FRONT = ROOT / "README.md"
"""Where the summary goes."""
SUMMARY = "<!-- summary: written by python -m benchmarks.table --write -->", "<!-- end of summary -->"

FEEDBACK = tuple(f"jit-{number}" for number in range(10, 18))
"""The figures that have the memory of feedback."""

Groups = Mapping[str, Group]


def render(groups: Groups) -> str:
    """The goals as Markdown, group by group in order of their names, numbers by size, and where each group is from."""
    lines = [line for group in groups.values() for line in group.lines]
    if not lines:
        return "Nothing has been measured yet."
    goals = [line for line in lines if line.target is not None]
    reached = sum(line.passed for line in goals)
    made = [
        *((f"{reached} of {len(goals)} goals were reached.", "") if goals else ()),
        "| what | measured | must be | reached | details | run |",
        "|---|---|---|---|---|---|",
    ]
    shown = {name: groups[name] for name in sorted(groups, key=_natural) if groups[name].lines}
    rows = [(line, number) for number, name in enumerate(shown, 1) for line in shown[name].lines]
    made += [_row(line, number) for line, number in sorted(rows, key=lambda row: _natural(row[0].what))]
    made += ["", "Runs:", ""]
    for number, (name, group) in enumerate(shown.items(), 1):
        old = " **Stale**: the code that it measures has changed since." if group.stale else ""
        made.append(f"{number}. {name}: {group.stamp}.{old}")
    return "\n".join(made)


def summary(groups: Groups) -> str:
    """The figures in five lines at the most, for who wants to know whether to look closer."""
    page = "[docs/benchmarks.md](docs/benchmarks.md)"
    figures = {line.what: line for group in groups.values() for line in group.lines}
    if not figures:
        return f"Nothing has been measured yet; {page} has the goals."
    goals = [line.passed for line in figures.values() if line.target is not None]
    lines = [
        f"{sum(goals)} of {len(goals)} goals are reached. {page} has them all, and how they are measured."
    ]
    if any(group.stale for group in groups.values()):
        lines.append("Some of these figures are older than the code; that page says which.")
    speeds = {what: line for what, line in figures.items() if "speed, of " in what}
    if speeds:
        ratios = [line.measured for line in speeds.values()]
        (against,) = {what.rpartition(" of ")[2] for what in speeds}
        lines.append(
            f"Beside a join written by hand for one query in {against}, with one plan for ever, it is "
            f"{min(ratios):.2f} to {max(ratios):.2f} times as fast where windows count rows and results are only "
            "counted; in the table above windows go by time, and results are built."
        )
    short = {
        "push of one row, 4 streams": "a push of one row takes",
        "migrate(): the call": "a plan change takes",
        "first import to first result, warm cache": "from the import to the first result it takes",
    }
    told = [
        f"{said} {_number(figures[what].measured)} {figures[what].unit}"
        for what, said in short.items()
        if what in figures
    ]
    if told:
        text = ", ".join(told[:-1]) + f" and {told[-1]}" if len(told) > 1 else told[0]
        lines.append(text[0].upper() + text[1:] + ".")
    return "\n".join([*lines, *feedback()])


def feedback(folder: Path = RECORDS) -> list[str]:
    """The least and the most that feedback saves of the memory for intermediate results, blacklists included."""
    saved = [
        100 * (1 - jit["KiB"] / ref["KiB"])
        for figure in FEEDBACK
        for record in read_records(figure, "full", folder).values()
        for ref in record.rows
        for jit in record.rows
        if (ref["side"], jit["side"]) == ("REF", "JIT") and ref["joins"] == jit["joins"]
    ]
    if not saved:
        return []
    least, most = min(saved), max(saved)
    less = f"{least:.0f} % less" if least >= 0 else f"{-least:.0f} % more"
    return [
        f"Feedback (`Mns`) takes from {less} to {most:.0f} % less memory for intermediate results, blacklists "
        "included, by setting ([figures](docs/results/jit.md))."
    ]


def inserted(text: str, groups: Groups) -> str:
    """The text with the figures between its marks."""
    return _between(text, (BEGIN, END), render(groups))


def summarised(text: str, groups: Groups) -> str:
    """The text with the summary between its marks."""
    return _between(text, SUMMARY, summary(groups))


def captioned(text: str, found: Mapping[str, Any]) -> str:
    """The text with what is said of the chart between its marks."""
    return _between(text, chart.MARKS, chart.caption(found))


def _between(text: str, marks: tuple[str, str], what: str) -> str:
    """The text with this between two marks, in the place of what is there."""
    begin, end = marks
    if text.count(begin) != 1 or text.count(end) != 1:
        raise SystemExit(f"the page must have both marks once: {begin} and {end}")
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{what}\n{end}{after}"


def _row(line: Line, run: int) -> str:
    bound = reached = "-"
    if line.target is not None:
        bound = f"{'at least' if line.at_least else 'at most'} {_number(line.target)} {line.unit}"
        reached = "yes" if line.passed else "**no**"
    cells = (line.what, f"{_number(line.measured)} {line.unit}", bound, reached, line.note, run)
    return "| " + " | ".join(str(cell).replace("|", "/") for cell in cells) + " |"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _natural(what: str) -> list[tuple[int, str]]:
    """3 before 20, and numbers before words."""
    return [
        (int(part), "") if part.isdigit() else (sys.maxsize, part)
        for part in re.split(r"(\d+)", what)
        if part
    ]


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m benchmarks.table", description=__doc__)
    arguments.add_argument("--write", action="store_true", help="put the tables into the pages")
    write = arguments.parse_args().write
    for page, results in PAGES.items():
        if write:
            page.write_text(inserted(page.read_text(encoding="utf-8"), read(results)), encoding="utf-8")
        else:
            print(f"{page.relative_to(ROOT)}\n\n{render(read(results))}\n")
    if write:
        pages.refresh()
        front = summarised(FRONT.read_text(encoding="utf-8"), read(RESULTS))
        FRONT.write_text(captioned(front, chart.kept()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
