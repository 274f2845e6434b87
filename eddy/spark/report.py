"""What each partition did: collected by Spark's accumulators, and shown."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from attrs import define, field, frozen

from eddy.statistics import Statistics

if TYPE_CHECKING:
    from pyspark import SparkContext

T = TypeVar("T")


@frozen
class PartitionReport:
    """One partition: what came in, what came out, and where the time went."""

    cell: int
    rows: dict[str, int]
    """Rows of each stream that were sent here."""
    results: int
    plan: str
    plans: tuple[str, ...]
    """The plans that it went through, the first one first."""
    bytes: int
    """What the engine held at the end."""
    seconds: float
    """From the first row to the last result."""
    engine_seconds: float
    """Thereof in the engine: joining, and fetching the columns of results."""
    waiting_seconds: float
    """Thereof waiting for rows from the JVM: its shuffle, its sort, and what lies between JVM and Python."""
    batch: int = -1
    """Of a stream: the micro-batch."""
    late: int = 0
    """Of a stream: rows that came after the watermark, and were dropped."""
    pending: int = 0
    """Of a stream: rows that wait for the watermark."""
    bad: int = 0
    """Rows without a time, which were dropped, as ``bad="drop"`` asks."""


@define
class Stopwatch:
    """Where the time of a partition goes."""

    begun: float = field(factory=time.perf_counter)
    engine: float = 0.0
    waiting: float = 0.0

    def drawn(self, items: Iterable[T]) -> Iterator[T]:
        """The same items; the time that they take to come is counted."""
        source = iter(items)
        while True:
            start = time.perf_counter()
            try:
                item = next(source)
            except StopIteration:
                self.waiting += time.perf_counter() - start
                return
            self.waiting += time.perf_counter() - start
            yield item

    def working(self) -> Lap:
        """A context whose time is the engine's."""
        return Lap(self)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.begun


@define
class Lap:
    """A stretch of the engine's time."""

    watch: Stopwatch
    start: float = 0.0

    def __enter__(self) -> None:
        self.start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.watch.engine += time.perf_counter() - self.start


def report_of(
    cell: int, rows: dict[str, int], statistics: Statistics, watch: Stopwatch, **more: Any
) -> PartitionReport:
    """What a partition has to tell when it is done."""
    plans = [statistics.history[0].former] if statistics.history else []
    plans += [migration.plan for migration in statistics.history]
    plans = [plan for i, plan in enumerate(plans) if not i or plan != plans[i - 1]]
    return PartitionReport(
        cell=cell,
        rows=rows,
        results=more.pop("results", statistics.results),
        plan=statistics.plan,
        plans=tuple(plans) or (statistics.plan,),
        bytes=statistics.bytes,
        seconds=watch.seconds,
        engine_seconds=watch.engine,
        waiting_seconds=watch.waiting,
        **more,
    )


Plain = tuple[Any, ...]
"""The fields of a report, which travels without its class."""


class Tally(Protocol):
    """An accumulator of Spark for the reports of partitions, which travel as plain tuples."""

    @property
    def value(self) -> list[Plain]:
        """All that have come; only the driver can ask."""

    def add(self, term: list[Plain]) -> None:
        """From a worker: one more."""


def tally(context: SparkContext) -> Tally:
    """An empty one."""
    from pyspark.accumulators import AddingAccumulatorParam

    zero: list[Plain] = []
    made: Tally = context.accumulator(zero, AddingAccumulatorParam(zero))
    return made


def sent_back(tally: Tally | None, report: PartitionReport) -> None:
    """From a worker: the report is on its way to the driver, as plain values."""
    from attrs import astuple

    if tally is not None:
        tally.add([astuple(report, recurse=False)])


def reports(tally: Tally) -> list[PartitionReport]:
    """On the driver: the last report of each partition (and micro-batch), in order."""
    found = {
        (report.batch, report.cell): report for report in (PartitionReport(*values) for values in tally.value)
    }
    return [found[place] for place in sorted(found)]


def shown(found: list[PartitionReport]) -> str:
    """The reports as a table of text."""
    lines = []
    for one in found:
        rows = sum(one.rows.values())
        share = 100 * one.engine_seconds / one.seconds if one.seconds else 0.0
        plans = " -> ".join(one.plans)
        batch = f"batch {one.batch}, " if one.batch >= 0 else ""
        extra = f", {one.late:,} late" if one.late else ""
        extra += f", {one.bad:,} without a time dropped" if one.bad else ""
        extra += f", {one.pending:,} waiting for the watermark" if one.pending else ""
        lines.append(
            f"  {batch}cell {one.cell}: {rows:,} rows, {one.results:,} results, {one.seconds:.2f} s "
            f"({share:.0f}% in the engine){extra}; plan {plans}"
        )
    return "\n".join(lines)
