"""Engines that differ in their migration technique, side by side through plan changes.

All take the same batches in turns, timed by processor time (see `benchmarks.ratio`), and find the same results batch
by batch. A *stage* begins with a call of `migrate`, which is timed with the first batch, and ends when the slowest
technique is done: after one turn-over of the windows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from benchmarks.ratio import Race, Timings
from benchmarks.sides import BATCH
from benchmarks.workloads import Batch, Workload
from eddy import Eddy
from eddy.statistics import MigrationStatistics

Plans = Mapping[str, str]
"""For each side the plan to change to; sides that are not named stay as they are."""


@frozen
class Middle:
    """A median with its quartiles."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f}-{self.high:.2f})"

    def rounded(self) -> list[float]:
        return [round(self.median, 4), round(self.low, 4), round(self.high, 4)]


def middle(values: Sequence[float] | npt.NDArray[np.float64]) -> Middle:
    low, median, high = np.percentile(values, (25, 50, 75))
    return Middle(float(median), float(low), float(high))


@define(eq=False)
class Contender:
    """An engine as a side of a race, which notes how many results each batch had."""

    engine: Eddy
    held: bool = False
    """Its results may come later than others', but not others in the end."""
    outputs: list[int] = field(factory=list)

    def step(self, chunk: tuple[str | None, list[Batch]]) -> int:
        plan, batches = chunk
        if plan is not None:
            self.engine.migrate(plan)
        found = [len(self.engine.push_all(batch)) for batch in batches]
        self.outputs += found
        return sum(found)

    @property
    def last(self) -> MigrationStatistics | None:
        """Its last plan change, under way or over."""
        history = self.engine.statistics().history
        return history[-1] if history else None

    @property
    def done(self) -> bool:
        """Whether no plan change is under way."""
        last = self.last
        return last is None or last.ended is not None


@frozen(eq=False)
class Stage:
    """What a plan change was like: processor seconds and results of every batch, for every side."""

    seconds: Mapping[str, npt.NDArray[np.float64]]
    outputs: Mapping[str, list[int]]
    changes: Mapping[str, MigrationStatistics]
    events: int
    """A batch."""

    def total(self, side: str) -> float:
        return float(self.seconds[side].sum())

    def first_output(self, side: str) -> float:
        """Seconds from the change to the end of the first batch that has a result."""
        batch = next(i for i, found in enumerate(self.outputs[side]) if found)
        return float(self.seconds[side][: batch + 1].sum())

    def silent(self, side: str, reference: str) -> int:
        """The most batches in a row in which the reference had results and this side had none."""
        longest = now = 0
        for found, expected in zip(self.outputs[side], self.outputs[reference], strict=True):
            now = now + 1 if expected and not found else 0
            longest = max(longest, now)
        return longest

    def pause(self, side: str) -> float:
        """The most that a batch took beyond the quickest side's time for it, over this side's median batch."""
        quickest = np.min(list(self.seconds.values()), axis=0)
        return float((self.seconds[side] - quickest).max() / np.median(self.seconds[side]))

    def windows(self, side: str, live: int) -> float:
        """How long the change took, in windows of so many events."""
        change = self.changes[side]
        assert change.ended is not None
        return (change.ended - change.begun) / live


@define(eq=False)
class Arena:
    """Engines that live through the same events."""

    work: Workload
    contenders: Mapping[str, Contender]
    size: int = BATCH
    """Events of a batch."""

    @classmethod
    def of(
        cls,
        work: Workload,
        engines: Mapping[str, Eddy],
        held: Sequence[str] = (),
        size: int = BATCH,
    ) -> Arena:
        return cls(work, {name: Contender(e, name in held) for name, e in engines.items()}, size)

    def race(self, batches: int = 1, plans: Plans | None = None) -> Race:
        """A race by chunks of so many batches; the first chunk begins with a change to these plans."""
        pending = dict(plans or {})

        def prepare() -> dict[str, Any]:
            chunk = self.work.batches(self.work.chunk(batches * self.size), self.size)
            forms = {name: (pending.get(name), chunk) for name in self.contenders}
            pending.clear()
            return forms

        sides = {name: contender.step for name, contender in self.contenders.items()}
        return Race(sides, prepare, alike=lambda name: name if self.contenders[name].held else "all")

    def warm(self, events: int | None = None, size: int | None = None) -> None:
        """Events that do not count; until all windows are full and composites expire, unless said otherwise."""
        ordinary, self.size = self.size, self.size if size is None else size
        try:
            events = self.work.warm if events is None else events
            self.race().run(-(-events // self.size))
        finally:
            self.size = ordinary

    def steady(self, rounds: int, batches: int = 8) -> Timings:
        """The sides as they are, without a change."""
        race = self.race(batches)
        race.warm(2)
        race.run(rounds)
        return race.timings(batches * self.size)

    def settle(self) -> None:
        """Go on until every side is done with its last change."""
        self.stage({}, batches=0)

    def stage(
        self,
        plans: Plans,
        batches: int = 1,
        whole: bool = True,
        tell: Callable[[int], None] = lambda _: None,
    ) -> Stage:
        """Change to these plans and go on until every side is done, and for at least so many batches.

        Unless ``whole``, it is over after the batches. ``tell`` is called with the number of batches so far.
        """
        for contender in self.contenders.values():
            contender.outputs.clear()
        race = self.race(1, plans)
        count, limit = 0, max(batches, 4 * self.work.warm // self.size + 8)
        while count < batches or (whole and not all(c.done for c in self.contenders.values())):
            if count > limit:
                raise AssertionError("a migration goes on although the windows have turned over")
            race.run(1)
            count += 1
            tell(count)
        outputs = {name: list(contender.outputs) for name, contender in self.contenders.items()}
        found = {name: sum(counts) for name, counts in outputs.items()}
        if whole and len(set(found.values())) > 1:
            raise AssertionError(f"in the end the sides have different numbers of results: {found}")
        taken = race.timings(self.size).seconds if count else {}
        changes = {
            name: last
            for name, contender in self.contenders.items()
            if name in plans and (last := contender.last) is not None
        }
        return Stage(taken, outputs, changes, self.size)


def ratios(stages: Sequence[Stage], side: str, other: str) -> Middle:
    """How many times as long as `side` the other took for whole stages."""
    return middle([stage.total(other) / stage.total(side) for stage in stages])
