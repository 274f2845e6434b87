"""One engine with several threads against the same with one: `python -m benchmarks.threads [--write]`.

Both take the same batches in turns; the clock is the wall's, as a second thread's time is no saving. Only on a machine
with a processor for each thread does the ratio mean anything; and between the rounds as many processes as threads, each
with an engine of its own, show what that machine has to give.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.ceiling import Processes
from benchmarks.goals import ENGINE, Line, keep, load
from benchmarks.ratio import Race, table
from benchmarks.sides import BATCH, build, push_all
from benchmarks.workloads import Workload

RESULTS = Path(__file__).with_name("results_scaling.json")
GOAL = 1.7
"""Times one thread, with two."""
TURN = 5
"""Rounds of threads, then as many of processes: what disturbs the one soon disturbs the other."""


WORKLOADS = {
    f"4 streams, {keys:,} keys, pushes of {size:,}": (Workload(4, 10_000, keys), size)
    for keys in (10_000, 5_000)
    for size in (BATCH, 8 * BATCH)
}
"""More keys: less to join for each event, so that what threads cost weighs more; larger pushes: less Python."""
CHUNK = 64 * BATCH
"""Events in turn for each side: a feed that goes on for a while, so that waking a helper is not what is measured."""


def race(work: Workload, size: int, threads: int = 2) -> Race:
    """Engines with one thread and with several, warm."""
    engines = {"1": build(work), str(threads): build(work, threads=threads)}
    steps = {name: push_all(engine) for name, engine in engines.items()}

    def forms() -> dict[str, object]:
        return dict.fromkeys(steps, work.batches(work.chunk(CHUNK), size))

    contest = Race(steps, forms, clock=time.perf_counter)
    contest.warm(2 + -(-work.warm // CHUNK))
    return contest


def lines(rounds: int = 30, threads: int = 2) -> Iterator[tuple[Line, Processes]]:
    """How many times as fast as one thread, and what processes of their own do."""
    for name, (work, size) in WORKLOADS.items():
        contest = race(work, size, threads)
        with Processes(work, size, CHUNK, threads) as processes:
            for start in range(0, rounds, TURN):
                contest.run(min(TURN, rounds - start))
                processes.run(min(TURN, rounds - start))
        timings = contest.timings(CHUNK)
        low, high = timings.spread(str(threads), "1")
        rates = ", ".join(f"{side} {timings.rate(side):.1f}" for side in timings.seconds)
        note = (
            f"{threads} processes of their own: {processes.ratio:.2f}; quartiles {low:.2f}-{high:.2f}; "
            f"million events/s by threads: {rates}"
        )
        ratio = timings.ratio(str(threads), "1")
        yield Line(f"{threads} threads, {name}", ratio, "times", GOAL, at_least=True, note=note), processes


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m benchmarks.threads", description=__doc__)
    arguments.add_argument("--write", action="store_true", help="keep the figures in results_scaling.json")
    arguments.add_argument("--rounds", type=int, default=30, help="chunks that are timed")
    chosen = arguments.parse_args()
    before, begun = load(), time.perf_counter()
    found = list(lines(chosen.rounds))
    print(table(("what", "measured", "goal", "", "note"), [line.cells() for line, _ in found], left=(0, 4)))
    if chosen.write:
        processes = [
            {"what": line.what, "processes of their own": round(other.ratio, 3)}
            | {"their quartiles": [round(x, 3) for x in other.spread]}
            for line, other in found
        ]
        seconds = time.perf_counter() - begun
        keep(
            RESULTS,
            "threads",
            [line for line, _ in found],
            "python -m benchmarks.threads --write",
            before,
            seconds,
            (*ENGINE, "eddy/threads"),
            {"processes": processes},
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
