"""What statistics cost: `python -m benchmarks.watching [--write] [--only words] [--quick]`.

Kernels count for each step and batch how many entries took it and what they found, always: two additions to a table.
These are timed apart, as many as the plan has steps. What is shown to a policy besides costs what a view costs, once in
`EVERY` events: an engine whose policy looks so often and never wants anything else races one that has none, over
the same batches in turns, by the processor's time of their thread.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from attrs import evolve
from numba import njit

from benchmarks.drift import timed
from benchmarks.drift_workloads import WORKLOADS, Drift
from benchmarks.report import Report, command
from eddy import Eddy
from policies import Choice, Fixed, Routing, View

RESULTS = Path(__file__).with_name("results_routing.json")
EVERY = 65_536
SIZES = (4096, 64)
"""Events of a batch."""


class Onlooker(Routing):
    """Takes every view, reads all that was counted, and leaves the plan as it is."""

    period = EVERY

    def choose(self, view: View) -> Choice | None:
        assert sum(step.probes for step in view.steps) >= 0 and view.stairs is not None
        return None


@njit(cache=False)
def add(table: np.ndarray, times: int) -> None:
    """What the kernel that runs a plan adds for each step of a batch, so many times over."""
    for k in range(times):
        for i in range(table.shape[0]):
            table[i, 0] += k
            table[i, 1] += i


def counting(steps: int) -> float:
    """Seconds that a batch counts for."""
    table, times = np.zeros((steps, 2), np.int64), 100_000
    add(table, 1)
    start = time.thread_time()
    add(table, times)
    return (time.thread_time() - start) / times


def measure(make: type[Drift], report: Report) -> None:
    """One phase of a workload, in large and in small batches."""
    drift = make()
    still = evolve(drift, phases=drift.phases[3:4])
    first = Eddy(still.query())  # it chooses
    for _, batch in still.feed(20 * 4096):
        first.push_all(batch)
    for size in SIZES:
        report.tell(f"{drift.name}, batches of {size}")
        engines = [Eddy(still.query(), first.plan, routing=policy) for policy in (Fixed(), Onlooker())]
        spent = np.zeros(2)
        events = (100_000 if report.quick else 4_000_000) // (1 if size == 4096 else 8)
        for turn, (_, batch) in enumerate(still.feed(events, size)):
            for side in (0, 1) if turn % 2 else (1, 0):
                spent[side] += timed(engines[side], batch)[0]
        steps = len(engines[0].view().steps)
        each = float(spent[0]) * size / events
        counted, shown = 100 * counting(steps) / each, 100 * float(spent[1] / spent[0] - 1)
        head = ("workload", "batch", "us a batch", "steps", "counting %", "views %")
        report.row("What statistics cost", head, drift.name, size, 1e6 * each, steps, counted, shown)
        note = f"counting {counted:.3f} %, views {shown:.2f} %"
        what = f"statistics, {drift.name}, batches of {size:,}: share of steady-state time"
        report.reach(what, counted + max(0.0, shown), "%", 2.0, note=note)


GROUPS = {make().name: partial(measure, make) for make in WORKLOADS}

if __name__ == "__main__":
    sys.exit(command("benchmarks.watching", __doc__, GROUPS, RESULTS))
