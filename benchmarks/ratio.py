"""Times several sides of a comparison in turns, in one process, so that what disturbs one disturbs all.

Only ratios within one such run mean anything: a chunk for side A, the same chunk for side B, and so on, the
order turning from chunk to chunk, the garbage collector off. Every side counts its results, and the counts
must agree chunk by chunk: a side that does less work is no comparison.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

Step = Callable[[Any], int]


@frozen(eq=False)
class Timings:
    """Seconds per chunk of every side, and how many events a chunk had."""

    seconds: Mapping[str, npt.NDArray[np.float64]]
    events: int
    results: int

    def ratio(self, side: str, other: str) -> float:
        """How many times as fast as `other` the side is: the median over chunks."""
        return float(np.median(self.seconds[other] / self.seconds[side]))

    def spread(self, side: str, other: str) -> tuple[float, float]:
        """The quartiles of that ratio over chunks."""
        low, high = np.percentile(self.seconds[other] / self.seconds[side], (25, 75))
        return float(low), float(high)

    def rate(self, side: str) -> float:
        """Million events a second: the median over chunks."""
        return float(self.events / np.median(self.seconds[side]) / 1e6)

    def report(self, side: str) -> dict[str, Any]:
        """What goes into a results file: rates, and the ratios of `side` to all others with their spread."""
        others = [name for name in self.seconds if name != side]
        return {
            "chunks": len(self.seconds[side]),
            "events per chunk": self.events,
            "results": self.results,
            "million events/s": {name: round(self.rate(name), 3) for name in self.seconds},
            "ratio": {name: round(self.ratio(side, name), 3) for name in others},
            "quartiles": {name: [round(x, 3) for x in self.spread(side, name)] for name in others},
        }


@define(eq=False)
class Race:
    """Sides that take the same chunks in turns; the first is the one that the others are compared with.

    A side is a function of its own form of the chunk; `prepare` makes all the forms, outside the clock. The
    clock is this thread's processor time: on a shared machine, waiting for the processor is nobody's cost.
    Sides of which `alike` says the same must find the same number of results.
    """

    sides: Mapping[str, Step]
    prepare: Callable[[], Mapping[str, Any]]
    alike: Callable[[str], str] = lambda _: "all"
    clock: Callable[[], float] = time.thread_time
    results: int = field(default=0, init=False)
    _seconds: dict[str, list[float]] = field(init=False, factory=dict, repr=False)
    _turn: int = field(default=0, init=False, repr=False)
    _inputs: Mapping[str, Any] = field(init=False, factory=dict, repr=False)
    _waiting: list[str] = field(init=False, factory=list, repr=False)
    _counts: dict[str, int] = field(init=False, factory=dict, repr=False)

    @property
    def first(self) -> str:
        return next(iter(self.sides))

    def open(self) -> None:
        """A new chunk, for the sides whose turn is before the first."""
        names = list(self.sides)
        self._waiting = names[self._turn % len(names) :] + names[: self._turn % len(names)]
        self._turn += 1
        self._inputs = self.prepare()
        self._counts = {}
        while self._waiting[0] != self.first:
            self._run(self._waiting.pop(0))

    def lead(self) -> None:
        """The chunk for the first side."""
        self._run(self._waiting.pop(0))

    def close(self) -> None:
        """The chunk for all other sides; then the counts are compared."""
        while self._waiting:
            self._run(self._waiting.pop(0))
        for name, count in self._counts.items():
            if any(self._counts[o] != count for o in self._counts if self.alike(o) == self.alike(name)):
                raise AssertionError(f"the sides found different numbers of results: {self._counts}")
        self.results += self._counts.get(self.first, 0)

    def _run(self, name: str) -> None:
        step, chunk = self.sides[name], self._inputs[name]
        collecting = gc.isenabled()
        gc.disable()
        try:
            start = self.clock()
            self._counts[name] = step(chunk)
            self._seconds.setdefault(name, []).append(self.clock() - start)
        finally:
            if collecting:
                gc.enable()

    def run(self, rounds: int) -> None:
        for _ in range(rounds):
            self.open()
            self.lead()
            self.close()

    def warm(self, rounds: int) -> None:
        """Rounds that do not count."""
        self.run(rounds)
        self._seconds.clear()
        self.results = 0

    def timings(self, events: int) -> Timings:
        seconds = {name: np.array(self._seconds[name]) for name in self.sides}
        return Timings(seconds, events, self.results)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], left: Sequence[int] = (0,)) -> str:
    """Plain aligned columns, those in `left` to the left and the others to the right."""
    cells = [list(head), *([f"{x:.2f}" if isinstance(x, float) else str(x) for x in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    aligned = [str.ljust if i in left else str.rjust for i in range(len(head))]
    lines = [
        "  ".join(f(x, w) for f, x, w in zip(aligned, row, widths, strict=True)).rstrip() for row in cells
    ]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])
