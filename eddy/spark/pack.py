"""Rows on their way to the cells: packed where they are read, unpacked where they are joined.

Before the shuffle rows go through Python once, some of each stream in a task. They are dealt out, put in order of time,
and leave as one block of Arrow bytes for each stream and cell; so Spark's shuffle moves a few large values instead of
many small rows. The newest time of a stream goes to every cell with them: that is how all cells come to know one
watermark, and why no cell is left without a word when there are rows at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import TYPE_CHECKING

import attrs
import numpy as np
import pyarrow as pa

from eddy.partition import Partitioning
from eddy.partition.hash import stir_into, text_keys
from eddy.spark.layout import CELL, STREAM, TIME, Layout
from eddy.spark.report import Tally
from eddy.spark.session import quiet
from eddy.spark.ship import core_count, pickled, sent, ship
from eddy.spark.timeless import dealt_apart, missing
from eddy.values import arrow
from eddy.values.types import Array

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BLOCK = "block"
SCHEMA = f"{CELL} int, {BLOCK} binary"
RUN = 1 << 18
"""Rows that are packed at once: what a task holds in memory, and how long the stretches are that are in order."""


@attrs.frozen
class Packer:
    """Packs a part of all streams, in a Spark task."""

    layout: Layout
    partitioning: Partitioning

    def run(self, batches: Iterator[pa.RecordBatch], tally: Tally | None) -> Iterator[pa.RecordBatch]:
        """For each cell a block of its rows of each stream, and with it the newest time."""
        held, n = [], 0
        for batch in batches:
            held.append(batch.cast(self.layout.arrow))
            n += batch.num_rows
            if n >= RUN:
                yield from self._packed(held)
                held, n = [], 0
        if n:
            yield from self._packed(held)

    def _packed(self, held: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = pa.Table.from_batches(held).combine_chunks().to_batches()[0]
        tags = np.asarray(rows.column(STREAM))
        for number, name in enumerate(self.layout.query.names):
            places = np.flatnonzero(tags == number)
            if len(places):
                yield self._blocks(number, name, taken(rows, places))

    def _blocks(self, number: int, stream: str, rows: pa.RecordBatch) -> pa.RecordBatch:
        times, without = as_numbers(rows.column(TIME)), missing(rows)
        places, to = dealt_apart(*self._dealt(stream, rows), without)
        order = np.lexsort((times[places], to))
        places, ends = places[order], np.searchsorted(to[order], np.arange(self.partitioning.cells + 1))
        timed = np.arange(len(times)) if without is None else np.flatnonzero(~without)
        newest = (
            [_marker(rows.slice(int(timed[np.argmax(times[timed])]), 1), -1 - number)] if len(timed) else []
        )
        cells, blocks = range(self.partitioning.cells), []
        for cell in cells:
            mine = rows.take(pa.array(places[ends[cell] : ends[cell + 1]]))
            block = pa.concat_batches([mine, *newest])
            blocks.append(block.serialize().to_pybytes())
        return pa.RecordBatch.from_arrays(
            [pa.array(cells, pa.int32()), pa.array(blocks, pa.binary())], names=[CELL, BLOCK]
        )

    def _dealt(self, stream: str, rows: pa.RecordBatch) -> tuple[Array, Array]:
        if self.partitioning.cells == 1:
            return np.arange(rows.num_rows), np.zeros(rows.num_rows, np.int32)
        columns = self.layout.columns(stream, rows)
        return self.partitioning.deal(stream, columns, content(columns, self.partitioning))


def packed(layout: Layout, partitioning: Partitioning, frames: Mapping[str, DataFrame]) -> DataFrame:
    """The rows of all streams as blocks, each in the partition of its cell.

    A task costs more than packing thousands of rows: no more of them than run at once, each with parts of all streams;
    or as many as there are cells, where more are asked for than this cluster runs now.
    """
    tagged = [frame.selectExpr(*layout.tagged(name, frame)) for name, frame in frames.items()]
    union = reduce(lambda left, right: left.union(right), tagged)
    context = union.sparkSession.sparkContext
    job = sent(pickled(Packer(layout, partitioning)), ship(context))
    with quiet():
        tasks = max(core_count(context), partitioning.cells)
        blocks = union.coalesce(tasks).mapInArrow(job, SCHEMA)
        return blocks.repartitionById(partitioning.cells, CELL)


def taken(rows: pa.RecordBatch, places: Array) -> pa.RecordBatch:
    """The rows at these places, which are in order; not copied where they lie side by side."""
    if int(places[-1]) - int(places[0]) + 1 == len(places):
        return rows.slice(int(places[0]), len(places))
    return rows.take(pa.array(places))


def _marker(row: pa.RecordBatch, tag: int) -> pa.RecordBatch:
    """A row under another tag."""
    columns = [pa.array([tag], f.type) if f.name == STREAM else row.column(f.name) for f in row.schema]
    return pa.RecordBatch.from_arrays(columns, schema=row.schema)


def unpacked(layout: Layout, batches: Iterator[pa.RecordBatch]) -> tuple[int, pa.Table]:
    """The cell and the rows of all blocks that it got, newest times among them; cell -1: there was none."""
    cell, found = -1, []
    for batch in batches:
        cell = batch.column(CELL)[0].as_py()
        found += [pa.ipc.read_record_batch(block.as_buffer(), layout.arrow) for block in batch.column(BLOCK)]
    return cell, pa.Table.from_batches(found, layout.arrow)


def content(columns: Mapping[str, pa.Array], partitioning: Partitioning) -> Array | None:
    """Numbers made of what is in the rows, where rows are dealt out by number: a second attempt deals alike."""
    if not partitioning.numbered:
        return None
    numbers = np.zeros(len(next(iter(columns.values()))), np.int64)
    for values in columns.values():
        valid = arrow.valid_of(values)
        found = text_keys(values) if pa.types.is_string(values.type) else as_numbers(values)
        if valid is not None:
            found = np.where(valid, found, 0)
        stir_into(numbers, np.ascontiguousarray(found))
    return numbers & np.int64(np.iinfo(np.int64).max)


def as_numbers(values: pa.Array | pa.ChunkedArray) -> Array:
    """Times, or other values of fixed width, as int64; anything where they are NULL."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_boolean(values.type):
        return arrow.to_numpy(values, np.dtype(np.bool_)).astype(np.int64)
    kind = np.float64 if pa.types.is_floating(values.type) else np.int64
    found = arrow.to_numpy(values, np.dtype(kind))
    return np.ascontiguousarray(found).view(np.int64)
