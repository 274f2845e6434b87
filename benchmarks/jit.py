"""The experiments of the JIT paper: `python -m benchmarks.jit [--write] [--only word] [--quick]`.

Every figure is a ratio within this run, or says what its unit is. `--only words` measures the groups whose name has
these words, and a name that no group has lists them all; `--quick` takes small windows, to see that it works; `--write`
keeps the figures in `benchmarks/results_feedback.json`, beside those of groups that were measured before.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from benchmarks.jit_figures import DEFAULTS, SWEPT, batches, defaults, large_nested, partners, sweep
from benchmarks.ratio import write
from benchmarks.report import Report

RESULTS = Path(__file__).with_name("results_feedback.json")

GROUPS: Mapping[str, Callable[[Report], None]] = {
    **{f"defaults, {name}": partial(defaults, name=name) for name in DEFAULTS},
    "partners": partners,
    "size of batch": batches,
    **{name: partial(sweep, figure=name) for name in SWEPT},
    "large nested": large_nested,
}


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m benchmarks.jit", description=__doc__)
    arguments.add_argument(
        "--write", action="store_true", help=f"keep the figures in benchmarks/{RESULTS.name}"
    )
    arguments.add_argument("--only", default="", help="measure only groups whose name has these words")
    arguments.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    chosen = arguments.parse_args()
    if not any(chosen.only in name for name in GROUPS):
        arguments.error("--only takes words of a group's name, which are:\n  " + "\n  ".join(GROUPS))
    report = Report(quick=chosen.quick)
    before = os.getloadavg()[0]
    for name, measure in GROUPS.items():
        if chosen.only in name:
            measure(report)
    report.quiet()
    print(report)
    if chosen.write:
        machine = f"{platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} processors"
        busy = f"load {before:.1f} at the beginning, {os.getloadavg()[0]:.1f} at the end"
        held = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        found = {name: held.get(name, {}) | figures for name, figures in report.results().items()}
        write(RESULTS, {**found, "machine": f"{machine}, {busy}"})
    return 0 if all(line.passed for line in report.lines) else 1


if __name__ == "__main__":
    sys.exit(main())
