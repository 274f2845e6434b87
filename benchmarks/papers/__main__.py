"""Measure and draw the figures of the papers: `python -m benchmarks.papers [figure ...] [--profile full] [--draw]`.

Pieces that have a record of the present code are not measured again, so an interrupted run is taken up where it was;
`--again` measures them all. `--pages` writes docs/results from the records, `--draw` the pictures too, both without
measuring anything; `--list` tells what there is.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.papers.catalogue import FIGURES
from benchmarks.papers.figure import Figure, Profile
from benchmarks.papers.pages import FOLDER, pages, shown
from benchmarks.papers.run import run, tasks


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    arguments.add_argument("figures", nargs="*", help="names of figures, or of papers; all if none is given")
    arguments.add_argument("--profile", choices=("quick", "full"), default="quick")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--again", action="store_true", help="also what has a record of the present code")
    arguments.add_argument("--list", action="store_true", help="tell what there is, and measure nothing")
    arguments.add_argument("--pages", action="store_true", help="write docs/results, and measure nothing")
    arguments.add_argument(
        "--draw", action="store_true", help="write docs/results with pictures, and measure nothing"
    )
    given = arguments.parse_args()
    wanted = _wanted(arguments, given.figures)
    if given.list:
        for figure in wanted:
            print(f"{figure.name:22} {figure.paper}, {figure.label}: {figure.title} ({shown(figure).state})")
    elif given.pages or given.draw:
        if given.draw:
            pictures(wanted)
        write_pages()
    else:
        profile = Profile(given.profile, given.seed)
        run(tasks(wanted, profile, given.again), profile)
        report(wanted)
    return 0


def _wanted(arguments: argparse.ArgumentParser, names: list[str]) -> list[Figure]:
    known = {figure.name for figure in FIGURES} | {figure.paper.lower() for figure in FIGURES}
    for name in names:
        if name.lower() not in known:
            arguments.error(f"there is no figure or paper {name!r}; --list tells what there is")
    lower = [name.lower() for name in names]
    return [f for f in FIGURES if not names or f.name in lower or f.paper.lower() in lower]


def report(figures: list[Figure]) -> None:
    """What the claims say."""
    for figure in figures:
        found = shown(figure)
        print(f"{figure.paper}, {figure.label}: {figure.title} ({found.state})")
        for claim in figure.claims:
            verdict = claim.judge(found.rows) if found.rows else None
            word = "-" if verdict is None else "agrees" if verdict.agrees else "DIFFERS"
            print(f"  {word:8} {claim.text}" + (f": {verdict.measured}" if verdict is not None else ""))


def pictures(figures: list[Figure]) -> None:
    """Draw those that were measured."""
    from benchmarks.papers.draw import draw

    for figure in figures:
        found = shown(figure)
        if found.records:
            draw(figure, found.rows, FOLDER, found.note)


def write_pages() -> None:
    """Write the text of docs/results."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages(FIGURES).items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
