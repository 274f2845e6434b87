"""The pages of docs/results: for each figure the paper's claims beside what was measured, a picture, and a stamp.

Written by `python -m benchmarks.papers --pages`, never by hand; a test compares. A record that is older than the code
it measures is shown, and called stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from attrs import frozen

from benchmarks.papers.figure import Claim, Figure, Row, Verdict
from benchmarks.papers.record import RESULTS, Record, read, stale
from benchmarks.stamp import ROOT, Stamp

FOLDER = ROOT / "docs" / "results"
PAPERS = {
    "Zhu": "Zhu, Rundensteiner, Heineman: Dynamic Plan Migration for Continuous Queries (SIGMOD 2004)",
    "HybMig": "Yang, Krämer, Papadias, Seeger: HybMig: A Hybrid Approach to Dynamic Plan Migration (TKDE 2007)",
    "JISC": "Aly, Aref, Ouzzani, Mahmoud: JISC: Adaptive Stream Processing (EDBT 2014)",
    "Cheapest": "Ours: `policies.Cheapest`, by the cost models of Zhu et al. (section 5) and HybMig (section 4.4)",
    "JIT": "Yang, Papadias: Just-In-Time Processing of Continuous Queries (ICDE 2008)",
    "Thesis": "The thesis on POP' and CARD: re-optimisation of multi-way stream joins by their cardinalities",
}
MADE = "<!-- Written by python -m benchmarks.papers --pages from benchmarks/results: never by hand. -->"
MOST_ROWS = 60
"""Rows of a table; of longer ones, as of an output rate over time, the picture is shown and the file is named."""


@frozen
class Shown:
    """What there is of a figure."""

    profile: str
    """"" if nothing was measured."""
    records: dict[str, Record]
    missing: Sequence[str]
    stale: bool

    @property
    def rows(self) -> list[Row]:
        return [row for record in self.records.values() for row in record.rows]

    @property
    def state(self) -> str:
        """In a word or two."""
        if not self.records:
            return "not measured"
        part = (
            f", {len(self.missing)} of {len(self.missing) + len(self.records)} pieces missing"
            if self.missing
            else ""
        )
        return f"{self.profile}{part}{', **stale**' if self.stale else ''}"

    @property
    def note(self) -> str:
        """What stands below a picture: which profile, what of it is missing, and whether the code has changed."""
        part = f"; not measured: {', '.join(self.missing)}" if self.missing else ""
        return f"{self.profile} profile{part}{'; the code has changed since' if self.stale else ''}"


def shown(figure: Figure, folder: Path = RESULTS) -> Shown:
    """The full profile if any piece of it was measured, otherwise the quick one."""
    source = figure.source
    for profile in ("full", "quick"):
        pieces = figure.asks(profile == "quick")
        found = read(source.name, profile, folder)
        records = {piece: found[piece] for piece in pieces if piece in found}
        if records:
            missing = [piece for piece in pieces if piece not in found]
            return Shown(profile, records, missing, any(stale(source, record) for record in records.values()))
    return Shown("", {}, figure.shows, False)


def pages(figures: Sequence[Figure], folder: Path = RESULTS) -> dict[str, str]:
    """The text of each page by its name."""
    papers = {paper: list(group) for paper, group in groupby(figures, key=lambda figure: figure.paper)}
    made = {f"{paper.lower()}.md": _page(paper, group, folder) for paper, group in papers.items()}
    return {"README.md": _index(papers, folder), **made}


def _index(papers: dict[str, list[Figure]], folder: Path) -> str:
    lines = [
        "# The figures of the papers",
        "",
        MADE,
        "",
        "Every figure and table of the papers that reports a measurement, measured again on this engine: what the",
        "paper claims, what was found, and whether they agree. *Full* is the paper's size, *quick* a smaller one.",
        "*Simulated* figures are by a clock that counts predicate evaluations, what is *counted* are evaluations and",
        "tuples: both are the same on every machine. What is *real* is processor time, sides in turns. **Stale** means",
        "that the code has changed since.",
        "",
    ]
    lines += _together([figure for group in papers.values() for figure in group], folder)
    for paper, figures in papers.items():
        lines += [f"## [{paper}]({paper.lower()}.md)", "", PAPERS.get(paper, ""), ""]
        lines += ["| figure | what it shows | claims that hold | clock | measured |", "|---|---|---|---|---|"]
        for figure in figures:
            found = shown(figure, folder)
            told = [verdict for _, verdict in _told(figure, found)]
            held = f"{sum(v.agrees for v in told)} of {len(told)}" if told else "-"
            link = f"[{figure.label}]({paper.lower()}.md#{figure.name})"
            lines.append(f"| {link} | {figure.title} | {held} | {figure.clock} | {found.state} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _together(figures: Sequence[Figure], folder: Path) -> list[str]:
    """How many claims hold: those of the papers, and goals of ours."""
    theirs, ours = list[Verdict](), list[Verdict]()
    for figure in figures:
        for claim, verdict in _told(figure, shown(figure, folder)):
            (ours if figure.ours or claim.ours else theirs).append(verdict)
    said = [
        f"{sum(verdict.agrees for verdict in verdicts)} of {len(verdicts)} {what}"
        for verdicts, what in ((theirs, "claims of the papers hold"), (ours, "goals of ours are reached"))
        if verdicts
    ]
    return [f"{', and '.join(said)}.", ""] if said else []


def _told(figure: Figure, found: Shown) -> list[tuple[Claim, Verdict]]:
    """What was found of those claims that the rows tell something of."""
    verdicts = [(claim, claim.judge(found.rows) if found.rows else None) for claim in figure.claims]
    return [(claim, verdict) for claim, verdict in verdicts if verdict is not None]


def _page(paper: str, figures: Iterable[Figure], folder: Path) -> str:
    lines = [f"# {paper}: claims and measurements", "", MADE, "", PAPERS.get(paper, ""), ""]
    for figure in figures:
        lines += _section(figure, shown(figure, folder))
    return "\n".join(lines).rstrip() + "\n"


def _section(figure: Figure, found: Shown) -> list[str]:
    lines = [f'<a id="{figure.name}"></a>', "", f"## {figure.label}: {figure.title}", "", figure.setup, ""]
    if not found.records:
        return [*lines, "Not measured yet.", ""]
    lines += [f"![{figure.label}]({figure.name}.svg)", ""] if figure.charts else []
    lines += ["| the paper says | measured | agrees | why not |", "|---|---|---|---|"]
    for claim in figure.claims:
        verdict = claim.judge(found.rows)
        if verdict is None:
            cells = (claim.text, "these sizes do not tell", "-", "")
        else:
            cells = (
                claim.text,
                verdict.measured,
                "yes" if verdict.agrees else "**no**",
                "" if verdict.agrees else claim.why,
            )
        lines.append(_cells(cells))
    lines.append("")
    if found.stale:
        lines += ["**Stale**: the code that this measures has changed since.", ""]
    if found.missing:
        lines += [f"Not measured in this profile: {', '.join(found.missing)}.", ""]
    for profile_line in _stamps(found):
        lines.append(profile_line)
    return [*lines, "", *_table(figure, found), ""]


def _stamps(found: Shown) -> list[str]:
    """A line for each commit, machine and command: the pieces, from when to when, and how busy it was meanwhile."""
    together: dict[tuple[Any, ...], dict[str, Stamp]] = {}
    for piece, record in found.records.items():
        stamp = record.stamp
        together.setdefault((stamp.commit, stamp.machine, stamp.seed, stamp.command), {})[piece] = stamp
    lines = []
    for (commit, machine, seed, command), stamps in together.items():
        dates = sorted(stamp.date for stamp in stamps.values())
        loads = [load for stamp in stamps.values() for load in stamp.load]
        when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
        pieces = ", ".join(stamps) if len(stamps) <= 8 else f"{len(stamps)} pieces"
        where = (
            f"commit {commit}, {machine}, load {min(loads):.1f} to {max(loads):.1f}, seed {seed}, `{command}`"
        )
        lines.append(f"- {found.profile} profile, {pieces}: {when}, {where}")
    return lines


def _table(figure: Figure, found: Shown) -> list[str]:
    rows = found.rows
    if len(rows) > MOST_ROWS:
        path = f"benchmarks/results/{found.profile}/{figure.source.name}.json"
        return [f"The {len(rows):,} points are in `{path}`."]
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [_cells(names), "|" + "---|" * len(names)]
    return [*lines, *(_cells([_value(row.get(name)) for name in names]) for row in rows)]


def _cells(cells: Iterable[str]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "/") for cell in cells) + " |"


def _value(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
