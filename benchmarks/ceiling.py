"""What a machine gives two processes that have nothing to do with each other: the most that two threads can hope for.

Each has an engine with one thread, and a feed of its own that is made before the clock starts. Processors that share
a cache, a memory bus or a budget of heat do less each when all are at work: threads cannot have what is not there.
"""

from __future__ import annotations

import gc
import multiprocessing
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from types import TracebackType

import numpy as np
from attrs import define, field

from benchmarks.sides import build, push_all
from benchmarks.workloads import Workload

HEAD_START = 0.002
"""Seconds from the word to the start: all have heard it by then."""


@define(eq=False)
class Processes:
    """Engines that take chunks of so many events, each in a process; started together, or one alone."""

    work: Workload
    size: int
    events: int
    count: int = 2
    _lines: list[Connection] = field(init=False, factory=list, repr=False)
    _ratios: list[float] = field(init=False, factory=list, repr=False)

    def __enter__(self) -> Processes:
        spawned = multiprocessing.get_context("spawn")
        work = self.work
        for seed in range(self.count):
            own, other = spawned.Pipe()
            # A feed has a generator that is not to be shared: each makes its own.
            feed = (work.streams, work.window, work.keys, work.shape, seed)
            spawned.Process(target=_engine, args=(other, feed, self.size, self.events), daemon=True).start()
            self._lines.append(own)
        for line in self._lines:
            line.recv()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for line in self._lines:
            line.send(None)
            line.close()

    def run(self, rounds: int) -> None:
        """In each round a chunk for one of them alone, and one for each at the same time."""
        for _ in range(rounds):
            (alone,) = self._seconds([self._lines[len(self._ratios) % self.count]])
            together = self._seconds(self._lines)
            self._ratios.append(sum(alone / seconds for seconds in together))

    @staticmethod
    def _seconds(lines: Sequence[Connection]) -> list[float]:
        for line in lines:
            line.send(True)
        for line in lines:
            line.recv()
        start = time.perf_counter() + HEAD_START  # the clock of the whole machine
        for line in lines:
            line.send(start)
        return [line.recv() for line in lines]

    @property
    def ratio(self) -> float:
        """How many times the work of one alone all do together: the median over rounds."""
        return float(np.median(self._ratios))

    @property
    def spread(self) -> tuple[float, float]:
        """The quartiles of that."""
        low, high = np.percentile(self._ratios, (25, 75))
        return float(low), float(high)


def _engine(line: Connection, feed: tuple[int, int, int, str, int], size: int, events: int) -> None:
    """A process: it makes a chunk, waits for the start, and tells how long the chunk took it."""
    work = Workload(*feed)
    step = push_all(build(work))
    for _ in range(2 + -(-work.warm // events)):
        step(work.batches(work.chunk(events), size))
    gc.disable()
    line.send(True)
    while line.recv() is not None:
        batches = work.batches(work.chunk(events), size)
        line.send(True)
        start = line.recv()
        while time.perf_counter() < start:
            pass
        step(batches)
        line.send(time.perf_counter() - start)
