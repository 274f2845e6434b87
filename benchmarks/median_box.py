"""The black box of HybMig's section 5.3: a sliding-window median on top of a join, in Python."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field

import eddy
from benchmarks.workloads import Batch
from eddy.boxes.change import BoxMigration

VALUE = "A.x0"
"""The column that the median is of."""
Floats = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]


class Median:
    """An engine, and on top of it the median of the results of the last ``width`` by their times, for every event that
    brings results. Nobody can look inside, and of two medians no third one can be made: states and results are of no
    use to another plan."""

    def __init__(self, query: eddy.Query, plan: str, width: int, joins: str = "hash") -> None:
        self.engine = eddy.Eddy(query, plan=plan, joins=joins)
        self.sliding = Sliding(width)
        self._times = [f"{name}.{stream.time}" for name, stream in query.streams.items()]

    def push_all(self, batches: Mapping[str, Any]) -> Floats:
        result = self.engine.push_all(batches)
        if not len(result):
            return np.empty(0)
        came = np.max([result.column(name).to_numpy() for name in self._times], axis=0)
        return self.sliding.push(came, result.column(VALUE).to_numpy())


class Sliding:
    """The median of the numbers of the last ``width``, of which it counts how often each is there: whole ones from 0
    on, of which there are thousands, while millions come."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._counts = np.zeros(1, np.int64)
        self._kept: deque[tuple[Int64s, Int64s]] = deque()

    def push(self, times: Int64s, values: Int64s) -> Floats:
        """Numbers in the order of time; a median for each time."""
        now, starts = np.unique(times, return_index=True)
        found = np.empty(len(now))
        for i, (start, end) in enumerate(pairwise([*starts.tolist(), len(times)])):
            self._kept.append((times[start:end], values[start:end]))
            self._count(values[start:end], 1)
            self._expire(int(now[i]) - self.width)
            below = np.cumsum(self._counts)
            middle = [(below[-1] - 1) // 2, below[-1] // 2]
            found[i] = np.searchsorted(below, middle, "right").mean()
        return found

    def _expire(self, before: int) -> None:
        while self._kept[0][0][-1] < before:
            self._count(self._kept.popleft()[1], -1)

    def _count(self, values: Int64s, sign: int) -> None:
        counts = np.bincount(values, minlength=len(self._counts))
        if len(counts) > len(self._counts):
            self._counts = np.pad(self._counts, (0, len(counts) - len(self._counts)))
        self._counts += sign * counts


@define(eq=False)
class BoxContender:
    """Boxes as a side of a race: see `benchmarks.stages.Contender`."""

    boxes: eddy.Boxes[Floats]
    query: eddy.Query
    width: int
    held: bool = field(default=False, init=False)
    outputs: list[int] = field(factory=list, init=False)

    @classmethod
    def of(cls, query: eddy.Query, plan: str, width: int, technique: Any) -> BoxContender:
        box = Median(query, plan, width)
        return cls(eddy.Boxes(box, query.streams, eddy.Range(width), technique), query, width)

    def step(self, chunk: tuple[str | None, list[Batch]]) -> int:
        plan, batches = chunk
        if plan is not None:
            self.boxes.migrate(lambda: Median(self.query, plan, self.width))
        found = [len(self.boxes.push_all(batch)) for batch in batches]
        self.outputs += found
        return sum(found)

    @property
    def last(self) -> BoxMigration | None:
        return self.boxes.history[-1] if self.boxes.history else None

    @property
    def done(self) -> bool:
        return not self.boxes.migrating
