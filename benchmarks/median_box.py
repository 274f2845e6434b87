"""The black box of HybMig's section 5.3: a sliding-window median on top of a join, in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field

import eddy
from benchmarks.workloads import Batch
from eddy.boxes.change import BoxMigration

VALUE = "A.x0"
"""The column that the median is of."""


class Median:
    """An engine, and on top of it the median of the results of the last ``width`` by their times, for every event that
    brings results. Nobody can look inside, and of two medians no third one can be made: states and results are of no
    use to another plan."""

    def __init__(self, query: eddy.Query, plan: str, width: int, joins: str = "hash") -> None:
        self.engine = eddy.Eddy(query, plan=plan, joins=joins)
        self.width = width
        self._times = [f"{name}.{stream.time}" for name, stream in query.streams.items()]
        self._when = np.empty(0, np.int64)
        self._values = np.empty(0, np.int64)

    def push_all(self, batches: Mapping[str, Any]) -> npt.NDArray[np.float64]:
        result = self.engine.push_all(batches)
        if not len(result):
            return np.empty(0)
        came = np.max([result.column(name).to_numpy() for name in self._times], axis=0)
        left = np.searchsorted(self._when, came[0] - self.width)
        self._when = np.concatenate((self._when[left:], came))
        self._values = np.concatenate((self._values[left:], result.column(VALUE).to_numpy()))
        now = np.unique(came)  # an event's number is its time
        starts = np.searchsorted(self._when, now - self.width)
        ends = np.searchsorted(self._when, now, "right")
        return np.array([np.median(self._values[i:j]) for i, j in zip(starts, ends, strict=True)])


@define(eq=False)
class BoxContender:
    """Boxes as a side of a race: see `benchmarks.stages.Contender`."""

    boxes: eddy.Boxes[npt.NDArray[np.float64]]
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
