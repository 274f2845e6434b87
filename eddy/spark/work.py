"""What runs in a Spark partition: rows that travelled go into a cell's engine, results come out as Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs
import pyarrow as pa

from eddy.partition import Cell, Partitioning
from eddy.results.result import Result
from eddy.spark.layout import CELL, Layout
from eddy.spark.order import abreast, by_stream
from eddy.spark.pack import unpacked
from eddy.spark.report import Stopwatch, Tally, report_of, sent_back
from eddy.spark.timeless import dropped

LARGEST = 1 << 16
"""Results in one Arrow batch, at most."""

BATCH = 1 << 11
"""Events that an engine takes at once, if not said otherwise. A cell may have a single key: in a batch that is much
longer than its windows, all rows would be tried with each other while STAIRs still have holes."""

PIECE = 1 << 14
"""Events that an engine is given in one push, if its batches are no larger: in a partition rows come in bulk."""


@attrs.frozen
class Job:
    """The join of one cell, from rows that travelled to results."""

    layout: Layout
    partitioning: Partitioning
    schema: pa.Schema
    options: dict[str, Any]
    signed: bool = False
    packed: bool = False
    """Whether rows come in blocks, to be put in order here; else they come one by one, in order of time."""
    bad: str = "error"
    """What to do with rows without a time: see `eddy.spark.timeless`."""

    def run(self, batches: Iterator[pa.RecordBatch], tally: Tally | None) -> Iterator[pa.RecordBatch]:
        """Joins a partition, as Spark's mapInArrow calls it; memory is bounded by the windows, if it is not packed."""
        yield from gathered(self._joined(batches, tally), self.schema)

    def _joined(self, batches: Iterator[pa.RecordBatch], tally: Tally | None) -> Iterator[pa.RecordBatch]:
        watch, cell, bad = Stopwatch(), None, 0
        rows = dict.fromkeys(self.layout.query.names, 0)
        parts: Iterator[tuple[int, Any, int]] = (
            self._blocks(batches, watch) if self.packed else self._in_order(batches, watch)
        )
        for number, part, without in parts:
            bad += without
            if cell is None:
                cell = self._cell(number)
            with watch.working():
                arrived = (
                    {name: self.layout.columns(name, own) for name, own in part.items()}
                    if isinstance(part, dict)
                    else self.layout.unpacked(part)
                )
                for name, columns in arrived.items():
                    rows[name] += len(next(iter(columns.values())))
                found = list(self._as_spark(cell.push(arrived)))
            yield from found
        if cell is not None:
            statistics = cell.statistics()
            with watch.working():
                owed = list(self._as_spark(cell.close())) if self._owes() else []
            yield from owed
            results = statistics.results + sum(part.num_rows for part in owed)
            sent_back(tally, report_of(cell.number, rows, statistics, watch, bad=bad, results=results))

    def _cell(self, number: int) -> Any:
        """The engine of a cell."""
        return Cell(self.layout.query, self.partitioning, number, bool(self.layout.marked), **self.options)

    def _owes(self) -> bool:
        """Whether something is given at the end."""
        return bool(self.layout.query.attachments)

    def _as_spark(self, result: Any) -> Iterable[pa.RecordBatch]:
        """What a push has given."""
        return as_spark(result, self.schema, self.signed)

    def _in_order(
        self, batches: Iterator[pa.RecordBatch], watch: Stopwatch
    ) -> Iterator[tuple[int, pa.RecordBatch, int]]:
        """Rows as they come, and their cell: the rows say which, as a task may have another number. With them, how many
        there were without a time."""
        for batch in watch.drawn(batches):
            cell = batch.column(CELL)[0].as_py()
            batch, bad = dropped(self.layout, batch, self.bad)
            if bad:
                yield cell, batch.slice(0, 0), bad
            for piece in pieces(batch, max(PIECE, self.options["batch_size"])):
                yield cell, piece, 0

    def _blocks(
        self, batches: Iterator[pa.RecordBatch], watch: Stopwatch
    ) -> Iterator[tuple[int, dict[str, pa.RecordBatch], int]]:
        """The rows of all blocks in order of time; and once, how many there were without one."""
        cell, table = unpacked(self.layout, watch.drawn(batches))
        with watch.working():
            table, bad = dropped(self.layout, table, self.bad)
            streams = by_stream(self.layout, table)
        if bad:
            yield cell, {}, bad
        for part in abreast(streams, max(PIECE, self.options["batch_size"])):
            yield cell, part, 0


def pieces(batch: pa.RecordBatch, size: int) -> Iterator[pa.RecordBatch]:
    """A batch in pieces that the engine is given at once, so that no more results are built than those bring."""
    for start in range(0, batch.num_rows, size):
        yield batch.slice(start, size)


def as_spark(result: Result, schema: pa.Schema, signed: bool) -> Iterable[pa.RecordBatch]:
    """Results in the Arrow types that Spark takes."""
    if not len(result):
        return ()
    table = result.to_arrow(signed)
    if table.schema != schema:
        table = table.cast(schema)
    return table.to_batches(LARGEST)


def gathered(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The same rows in fewer batches: each costs Spark about as much as a thousand rows."""
    held: list[pa.RecordBatch] = []
    n = 0
    for batch in batches:
        if held and n + batch.num_rows > LARGEST:
            yield from pa.Table.from_batches(held, schema).combine_chunks().to_batches()
            held, n = [], 0
        held.append(batch)
        n += batch.num_rows
    if held:
        yield from pa.Table.from_batches(held, schema).combine_chunks().to_batches()
