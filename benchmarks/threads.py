"""One engine with several threads against the same with one: `python -m benchmarks.threads [--write]`.

Both take the same batches in turns; the clock is the wall's, as a second thread's time is no saving. Only on a machine
with a processor for each thread does the ratio mean anything.
"""

from __future__ import annotations

import time

from benchmarks.ratio import Race, Timings
from benchmarks.sides import BATCH, build, push_all
from benchmarks.workloads import Workload

GOAL = 1.7
"""Times one thread, with two."""


def race(work: Workload, threads: int = 2, batches: int = 16) -> tuple[Race, int]:
    """Engines with one thread and with several, warm; returns the race and the events of a chunk."""
    engines = {"1": build(work), str(threads): build(work, threads=threads)}
    steps = {name: push_all(engine) for name, engine in engines.items()}

    def forms(events: int) -> dict[str, object]:
        return dict.fromkeys(steps, work.batches(work.chunk(events), BATCH))

    fill = Race(steps, lambda: forms(8 * BATCH))
    fill.run(-(-work.warm // (8 * BATCH)))
    contest = Race(steps, lambda: forms(batches * BATCH), clock=time.perf_counter)
    contest.warm(2)
    return contest, batches * BATCH


def measure(work: Workload, threads: int = 2, rounds: int = 40) -> Timings:
    contest, events = race(work, threads)
    contest.run(rounds)
    return contest.timings(events)


if __name__ == "__main__":
    t = measure(Workload(4, 10_000, 10_000))
    print(t.rate("1"), t.rate("2"), t.ratio("2", "1"), t.spread("2", "1"))
