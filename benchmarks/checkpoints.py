"""What checkpoints cost a run: how long it stands still, how much is written, and how fast.

`python -m benchmarks.checkpoints` joins two streams of wide rows whose windows hold a gigabyte (`--gigabytes`; an
engine takes about three times as much memory), and commits every two seconds (`--every`) to a folder of Parquet and to
a folder of checkpoints (`--folder`, by default a temporary one). So many rows of each stream come a second (`--rate`;
0: as many as are taken). It prints, for commits and pushes when the windows are full,

- how long the run stood still for a commit: the longest of all and the median; and the same of what is copied ahead
  after a push. By the clock, and of processor time, which other work on the machine changes less;
- bytes that a checkpoint adds, beside those of all live rows and of a whole snapshot, and how long that one takes;
- MB of rows a second of processor time of the thread that writes, and how long it is from the moment that a commit
  begins until it counts;
- with `--alone`, rows a second of processor time with checkpoints and without;
- the same pauses of a left join, of whose composites a checkpoint copies what is known (`--left` megabytes of rows).

With `--write` the table, and what it must be, goes into docs/run.md.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen

import eddy
from benchmarks.goals import ENGINE, Line, bars
from benchmarks.pages import put
from benchmarks.stamp import load
from eddy.running.checkpoints import Checkpoints
from eddy.running.commits import Commits
from eddy.snapshot.segments import Log

COLUMNS, BATCH, KEYS = 12, 16_384, 1 << 30
MEASURES = (*ENGINE, "eddy/running", "eddy/sinks", "eddy/snapshot", "benchmarks/checkpoints.py")
PAUSE, SPEED = 50.0, 500.0
"""Milliseconds that a run may stand still at the most, and MB a second that are written at least."""
ROW = 8 * (COLUMNS + 2)
"""Bytes of a row."""


class Rows(eddy.Source):
    """Rows that are made up; the position is the next row."""

    schema = pa.schema([(name, pa.int64()) for name in ("ts", "k", *(f"v{i}" for i in range(COLUMNS)))])

    def __init__(self, seed: int, count: int, rate: float) -> None:
        self.seed, self.count, self.rate = seed, count, rate

    def read(self, position: Any) -> Iterator[tuple[pa.RecordBatch, int]]:
        rng, row, began = np.random.default_rng(self.seed), position or 0, time.monotonic()
        values = [rng.integers(0, 1 << (4 * i + 4), BATCH) for i in range(COLUMNS)]
        while row < self.count:
            if self.rate:
                time.sleep(max(0.0, row / self.rate - (time.monotonic() - began)))
            columns = [np.arange(row, row + BATCH), rng.integers(0, KEYS, BATCH), *values]
            row += BATCH
            yield (
                pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=self.schema),
                row,
            )


@frozen
class Pause:
    """How long a run did nothing else."""

    clock: float
    used: float
    """Seconds of processor time."""


class Watch:
    """Times what a run does for its checkpoints, in its own thread and in the one that writes."""

    def __init__(self) -> None:
        self.commits: list[Pause] = []
        self.pushes: list[Pause] = []
        self.wrote: list[tuple[int, float, float, float]] = []
        """Bytes of rows of each checkpoint, seconds of processor time and by the clock that were used to write it, and
        those from its beginning until it counted."""
        self._bytes, self._used, self._clock, self._began = 0, 0.0, 0.0, 0.0

    def __enter__(self) -> Watch:
        self._kept = Commits.begin, Commits.after_push, Log.append, Checkpoints.written
        begin, after_push, append, written = self._kept

        def timed_begin(commits: Commits, engine: Any) -> None:
            self._began = time.monotonic()
            begin(commits, engine)

        def timed_after(commits: Commits, engine: Any, more: bool) -> None:
            clock, used, began = time.monotonic(), time.thread_time(), self._began
            after_push(commits, engine, more)
            pause = Pause(time.monotonic() - clock, time.thread_time() - used)
            (self.pushes if self._began == began else self.commits).append(pause)

        def timed_append(log: Log, batch: pa.RecordBatch, *args: Any) -> None:
            started, clock = time.thread_time(), time.monotonic()
            append(log, batch, *args)
            self._used += time.thread_time() - started
            self._clock += time.monotonic() - clock
            self._bytes += batch.nbytes

        def timed_write(checkpoints: Checkpoints, *args: Any) -> int:
            started, begun = time.thread_time(), time.monotonic()
            number = written(checkpoints, *args)
            used = self._used + time.thread_time() - started
            clock = self._clock + time.monotonic() - begun
            self.wrote.append((self._bytes, used, clock, time.monotonic() - self._began))
            self._bytes, self._used, self._clock = 0, 0.0, 0.0
            return number

        changed: Any = Commits, Log, Checkpoints
        changed[0].begin, changed[0].after_push = timed_begin, timed_after
        changed[1].append, changed[2].written = timed_append, timed_write
        return self

    def __exit__(self, *_: object) -> None:
        changed: Any = Commits, Log, Checkpoints
        changed[0].begin, changed[0].after_push, changed[1].append, changed[2].written = self._kept


def query(window: int, left: bool = False) -> eddy.Query:
    columns = dict.fromkeys(Rows.schema.names, "int64")
    stream = eddy.Stream(columns, window=eddy.Range(window))
    if left:
        text = (
            f"SELECT A.v0 AS v, B.v0 AS w FROM A [RANGE {window}] LEFT JOIN B [RANGE {window}] ON A.k = B.k"
        )
        return eddy.sql(text, {"A": columns, "B": columns})
    return eddy.Query(dict.fromkeys("AB", stream), where=["A.k = B.k"])


def run(
    window: int, rate: float, folder: Path, every: float | None, left: bool = False
) -> tuple[float, float]:
    """Seconds of a run by the clock, and of processor time; without checkpoints if ``every`` is None."""
    folder.mkdir()
    used, count = time.process_time(), 5 * window // 2
    sources = {name: Rows(seed, count, rate) for seed, name in enumerate("AB")}
    given: dict[str, Any] = {} if every is None else {"checkpoint": folder / "progress", "every": every}
    plan = None if left else "A B"
    seconds = eddy.run(query(window, left), sources, f"{folder}/out/", plan=plan, **given).seconds
    return seconds, time.process_time() - used


def whole(window: int, folder: Path) -> tuple[int, float, float]:
    """Bytes of a whole snapshot of full windows, and seconds that it takes, by the clock and of processor time."""
    engine = eddy.Eddy(query(window), plan="A B")
    readers = [Rows(seed, window, 0).read(None) for seed in range(2)]
    for pair in zip(*readers, strict=True):
        engine.push_all({name: rows for name, (rows, _) in zip("AB", pair, strict=True)})
    started, used = time.monotonic(), time.process_time()
    engine.save(folder / "whole.eddy")
    took = time.monotonic() - started, time.process_time() - used
    return os.path.getsize(folder / "whole.eddy"), *took


def told(what: str, pauses: list[Pause]) -> str:
    """The longest and the median, as a row of a table."""
    clock, used = [pause.clock * 1e3 for pause in pauses], [pause.used * 1e3 for pause in pauses]
    figures = max(clock), statistics.median(clock), max(used), statistics.median(used)
    return f"| {what} | " + " | ".join(f"{one:.1f}" for one in figures) + " |"


def full(pauses: list[Any]) -> list[Any]:
    """Those when the windows were full."""
    return pauses[len(pauses) * 2 // 5 :]


def table(given: argparse.Namespace, folder: Path) -> list[str]:
    """Measure, and make the table."""
    window = int(given.gigabytes * 1e9 / 2 / ROW) // BATCH * BATCH
    live = 2 * window * ROW
    size, seconds, own = whole(window, folder)
    with Watch() as watch:
        clock, used = run(window, given.rate, folder / "run", given.every)
    wrote = full(watch.wrote)[:-1]
    made = ["| the run stands still, ms | longest | median | longest, of processor time | median |"]
    made += ["|---|---:|---:|---:|---:|", told(f"at a commit ({len(wrote)} of them)", full(watch.commits))]
    made.append(told("after a push", full(watch.pushes)))
    goals = pauses("a commit", watch.commits)
    if given.left:
        small = int(given.left * 1e6 / 2 / ROW) // BATCH * BATCH
        with Watch() as other:
            run(small, 0, folder / "left", given.every / 4, left=True)
        composites = f"{small / 1e3:,.0f} thousand composites"
        made.append(told(f"at a commit of a left join, {composites}", full(other.commits)))
        goals += pauses(f"a commit of a left join, {composites}", other.commits)
    rows, own_use, by_clock = (sum(found[of] for found in wrote) for of in range(3))
    for what, amount, took in (
        ("rows written a second by the clock", rows, by_clock),
        ("rows written a second of processor time", rows, own_use),
        ("rows of a whole snapshot a second by the clock", live, seconds),
        ("rows of a whole snapshot a second of processor time", live, own),
    ):
        goals.append(Line(what, amount / took / 1e6, "MB", SPEED, at_least=True))
    until = statistics.median(found[3] for found in wrote)
    added = statistics.mean(found[0] for found in wrote)
    made += ["", *bars(goals), ""]
    made.append(
        f"Windows of {live / 1e9:.2f} GB, {5 * window / clock / 1e3:,.0f} thousand rows a second. A checkpoint adds "
        f"{added / 1e6:,.0f} MB of rows to {live / 1e6:,.0f} MB that are there, and counts after {until:.2f} s; a "
        f"whole snapshot has {size / 1e6:,.0f} MB, and takes {seconds:.1f} s."
    )
    if given.alone:
        _, alone = run(window, given.rate, folder / "alone", None)
        speeds = [5 * window / taken / 1e3 for taken in (used, alone)]
        made.append(
            "Thousand rows a second of processor time: {:,.0f}; without checkpoints {:,.0f}.".format(*speeds)
        )
    return made


def pauses(what: str, found: list[Pause]) -> list[Line]:
    """The goals of pauses: by the clock, which counts what else the machine does, and of processor time."""
    clock, used = (max(getattr(pause, of) for pause in full(found)) for of in ("clock", "used"))
    return [
        Line(f"{what}, longest, by the clock", 1e3 * clock, "ms", PAUSE),
        Line(f"{what}, longest, of processor time", 1e3 * used, "ms", PAUSE),
    ]


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--every", type=float, default=2.0)
    parser.add_argument("--rate", type=float, default=250_000)
    parser.add_argument("--left", type=float, default=100.0)
    parser.add_argument("--folder")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--write", action="store_true", help="keep the table, and write it into docs/run.md")
    given = parser.parse_args()
    before = load()
    eddy.compile_kernels()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        made = table(given, Path(name))
    print(*made, sep="\n")
    if given.write:
        put("run.md", "pauses", "checkpoints", made, MEASURES, before)


if __name__ == "__main__":
    main()
