"""Two revisions of the library side by side: `python -m benchmarks.revisions OLD [NEW]`.

Each is checked out into a folder of its own and runs in a process of its own; both run the same ordinary queries in
turns, by processor time. A line tells how many times as fast the new one is: 0.98 and more is as fast as before. NEW
is the present commit unless given. Kernels of a revision are compiled first.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from attrs import define, field

from benchmarks.ratio import table
from benchmarks.stamp import ROOT, load, machine

CHILD = Path(__file__).with_name("revisions_child.py")
ROUNDS = 9


@define(eq=False)
class Side:
    """The process of one revision."""

    folder: Path
    names: list[str] = field(init=False)
    _process: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(CHILD)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.names = self._answer()

    def run(self, name: str) -> tuple[float, int]:
        """The processor time of a workload, and its results."""
        print(name, file=self._process.stdin, flush=True)
        seconds, results = self._answer()
        return seconds, results

    def _answer(self) -> Any:
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"the process in {self.folder} has ended: its error stands above")
        return json.loads(line)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.revisions", description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new", nargs="?", default="HEAD")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="workloads")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as where:
        folders = [Path(where) / name for name in ("old", "new")]
        for folder, revision in zip(folders, (given.old, given.new), strict=True):
            _git("worktree", "add", "--detach", "--quiet", str(folder), revision)
        try:
            sides = [Side(folder) for folder in folders]
            names = [name for name in sides[1].names if given.only is None or name in given.only]
            print(f"{machine()}, load {load()}; {given.old} and {given.new}, {given.rounds} rounds in turns")
            print(
                table(
                    ["", "new of old", "quartiles"], [compared(name, sides, given.rounds) for name in names]
                )
            )
            for side in sides:
                side.close()
        finally:
            for folder in folders:
                _git("worktree", "remove", "--force", str(folder))
    return 0


def compared(name: str, sides: list[Side], rounds: int) -> tuple[str, ...]:
    """A line: how many times as fast the new side is."""
    first = [side.run(name) for side in sides]  # kernels are compiled here
    if first[0][1] != first[1][1]:
        raise SystemExit(
            f"{name}: {first[0][1]:,} results in the old revision, {first[1][1]:,} in the new one"
        )
    turns = [[side.run(name)[0] for side in sides] for _ in range(rounds)]
    low, middle, high = statistics.quantiles((old / new for old, new in turns), n=4)
    return name, f"{middle:.2f}", f"{low:.2f}-{high:.2f}"


def _git(*words: str) -> None:
    subprocess.run(["git", *words], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
