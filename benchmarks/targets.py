"""What the engine must reach, measured in a few minutes: `python -m benchmarks.targets [--write]`.

Every line is a ratio within this run, or a figure that the machine hardly moves. `--write` keeps the figures
in `benchmarks/results.json`, and `python -m benchmarks.table --write` puts them into `docs/benchmarks.md` and a summary
of them into the README; `--only word` measures the lines whose group has the word in its name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.bench_windows import growth
from benchmarks.compiling import cold_and_warm
from benchmarks.goals import Line
from benchmarks.limits import compiler, memory_bandwidth
from benchmarks.memory import ROW, composite, steady
from benchmarks.migrate import changes
from benchmarks.ratio import Timings
from benchmarks.report import Report, command
from benchmarks.sides import CPP, EDDY, NUMBA, measure
from benchmarks.workloads import Workload

RESULTS = Path(__file__).with_name("results.json")


def speed() -> Iterator[Line]:
    """Faster than the hand-written C++ join."""
    for streams, keys in ((3, 10_000), (4, 10_000), (6, 10_000), (20, 10_000), (4, 20_000)):
        timings = measure(Workload(streams, 10_000, keys))
        against = CPP if CPP in timings.seconds else NUMBA
        low, high = timings.spread(EDDY, against)
        note = f"quartiles {low:.2f}-{high:.2f}; million events/s: " + ", ".join(
            f"{side} {timings.rate(side):.1f}" for side in timings.seconds
        )
        what = f"{streams} streams, {keys:,} keys: speed, of {against}"
        yield Line(what, timings.ratio(EDDY, against), "times", 1.3, at_least=True, note=note)


def bandwidth() -> Iterator[Line]:
    """What memory would allow: it is measured before and after joins of 3 to 20 streams."""
    if compiler() is None:
        return
    before, moved = memory_bandwidth(), []
    for streams in (3, 4, 6, 20):
        timings = measure(Workload(streams, 10_000, 10_000), rounds=10, limits=(CPP,))
        moved.append((streams, least_bytes(timings, streams), timings))
    most = (before + memory_bandwidth()) / 2
    note = "of it rows in and results out take: " + "; ".join(
        f"{streams} streams {100e6 * each * timings.rate(EDDY) / most:.1f} % (C++ "
        f"{100e6 * each * timings.rate(CPP) / most:.1f} %)"
        for streams, each, timings in moved
    )
    yield Line("memory bandwidth of one core", most / 1e9, "GB/s", None, note=note)


def least_bytes(timings: Timings, streams: int) -> float:
    """What must go through memory for an event: its time and key, and a number of 4 bytes for each row of a result."""
    results = timings.results / (timings.events * len(timings.seconds[EDDY]))
    return 2 * 8 + 4 * streams * results


def windows() -> Iterator[Line]:
    """The cost of an event hardly grows with the window."""
    contestants, events = growth((1_000, 1_000_000))
    contestants.run(30)
    timings = contestants.timings(events)
    note = " and ".join(f"{1000 / timings.rate(name):.0f} ns" for name in timings.seconds)
    cost = timings.ratio("1,000", "1,000,000")
    yield Line("windows of 1,000 to 1,000,000 rows: cost of an event", cost, "times", 2.0, note=note)


def single() -> Iterator[Line]:
    """One row at a time."""
    timings = measure(Workload(4, 10_000, 10_000), size=1, batches=1000, limits=(CPP,))
    yield Line("push of one row, 4 streams", 1 / timings.rate(EDDY), "us", 150)


def migration() -> Iterator[Line]:
    """A plan change does not stop the stream."""
    made, contestants, events = changes()
    contestants.run(60)
    timings = contestants.timings(events)
    worst = max(change.seconds for change in made)
    yield Line("migrate(): the call", 1000 * worst, "ms", 1.0, note=f"worst of {len(made)}")
    longest = [change.longest for change in made]
    note = f"worst of {len(made)}, median {np.median(longest):.1f}"
    yield Line("migrate(): longest batch after it", max(longest), "medians", 5.0, note=note)
    low, high = timings.spread("migrated", "never migrated")
    note = f"quartiles {low:.3f}-{high:.3f}; complete after {max(c.batches for c in made)} batches"
    speed_after = timings.ratio("migrated", "never migrated")
    yield Line("migrate(): speed when complete", speed_after, "times", 0.98, at_least=True, note=note)


def memory() -> Iterator[Line]:
    """Slack included, beside the payload."""
    weighed = [
        (f"{shape}, {window:,}", steady(Workload(4, window, window, shape=shape))[0])
        for shape in ("one key", "chain", "star")
        for window in (10_000, 17_000)
    ]
    name, worst = max(weighed, key=lambda item: item[1].row)
    yield Line("memory: a live row and join attribute", worst.row, "bytes", ROW, note=f"worst: {name}")
    for k in (2, 3):
        name, worst = max(weighed, key=lambda item: item[1].composites[k])
        what = f"memory: a live composite of {k} streams"
        yield Line(what, worst.composites[k], "bytes", composite(k), note=f"worst: {name}")
    mean = float(np.mean([m.total for _, m in weighed]))
    yield Line("memory: all of an engine, of what is allowed", mean, "times", 1.0, note="mean of the above")


def compiling() -> Iterator[Line]:
    """Nothing is compiled that was compiled before."""
    cold, warm = cold_and_warm()
    for name, begun, target in (("warm", warm, 3.0), ("cold", cold, 60.0)):
        note = f"{begun.processor:.2f} s of processor time in the process itself"
        yield Line(f"first import to first result, {name} cache", begun.first_result, "s", target, note=note)
    yield Line("compiled by plan changes and a new query", warm.compiled_after, "functions", 0)


def _told(group: Callable[[], Iterator[Line]], report: Report) -> None:
    report.tell(group.__name__)
    report.lines += group()


GROUPS: Mapping[str, Callable[[Report], None]] = {
    group.__name__: partial(_told, group)
    for group in (speed, bandwidth, windows, single, migration, memory, compiling)
}


if __name__ == "__main__":
    sys.exit(command("benchmarks.targets", __doc__, GROUPS, RESULTS))
