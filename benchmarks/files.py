"""`eddy.run` beside Flink, from files into files: `python -m benchmarks.files [--events N] [--rounds N] [--write]`.

Three streams on one key, as in `make peers`: CSV files are read, and results are written as CSV, within the clock; the
start of Python and of the JVM is not, nor the first run of either side, whose results are compared. Then both run in
turns, each in a process of its own. Flink is installed by `make peers ARGS="--only flink --events 1000"`; without it
there is nothing to compare. The ratio is the smaller one of wall time and processor time.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from typing import Any

from attrs import evolve

from benchmarks.goals import Line, bars
from benchmarks.pages import put
from benchmarks.peers.child import Child, data_folder
from benchmarks.peers.contenders import BY_NAME, EDDY, Contender
from benchmarks.peers.measure import CODE
from benchmarks.peers.workloads import BY_NAME as WORKLOADS
from benchmarks.stamp import load

SIDES = (
    evolve(EDDY, title="eddy.run, CSV to CSV", runner="eddy_files"),
    evolve(BY_NAME["flink"], title="Flink, CSV to CSV", runner="flink_files"),
)
MEASURES = (*CODE, "eddy/running", "eddy/sources", "eddy/sinks", "benchmarks/peers/eddy_files.py")
BOUND = 600.0
TIMES = 10.0
"""How many times as fast as Flink it must be."""
Row = dict[str, Any]


def measured(sides: tuple[Contender, ...], events: int | None, rounds: int) -> list[list[Row]]:
    """The runs of each side, in turns, behind one whose results are those of the first side."""
    spec = WORKLOADS["three"].write(data_folder(), events)
    children: list[Child] = []
    try:
        for side in sides:
            children.append(Child(side, spec, BOUND))
        first = [child.run(check=True) for child in children]
        answers = {(row["count"], row["checksum"]) for row in first}
        assert len(answers) == 1, f"results differ: {answers}"
        found: list[list[Row]] = [[] for _ in children]
        for _ in range(rounds):
            for child, rows in zip(children, found, strict=True):
                rows.append(child.run(check=False) | {"events": spec.events})
                assert rows[-1].get("count", first[0]["count"]) == first[0]["count"]
        return found
    finally:
        for child in children:
            child.close()


def lines(sides: tuple[Contender, ...], found: list[list[Row]]) -> list[str]:
    """The table, and how many times as fast the first side is."""
    told = ["| side | events/s | events/s of processor time |", "|---|---:|---:|"]
    medians = [
        [statistics.median(row[key] for row in rows) for key in ("seconds", "processor")] for rows in found
    ]
    for side, (wall, own), rows in zip(sides, medians, found, strict=True):
        told.append(f"| {side.title} | {rows[0]['events'] / wall:,.0f} | {rows[0]['events'] / own:,.0f} |")
    wall, own = (theirs / ours for ours, theirs in zip(medians[0], medians[-1], strict=True))
    goal = Line("the smaller one of both ratios", min(wall, own), "times", TIMES, at_least=True)
    told += [
        "",
        *bars([goal]),
        "",
        f"{wall:.1f} times as fast by the clock, {own:.1f} times by processor time; {len(found[0])} runs each.",
    ]
    return told


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.files", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--events", type=int)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="keep the table, and write it into docs/run.md")
    given = parser.parse_args()
    if not SIDES[-1].installed:
        print('Flink is not installed: make peers ARGS="--only flink --events 1000"', file=sys.stderr)
        return 1
    before = load()
    told = lines(SIDES, measured(SIDES, given.events, given.rounds))
    print(*told, sep="\n")
    if given.write:
        put("run.md", "from files into files", "files", told, MEASURES, before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
