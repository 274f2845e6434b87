"""Dealing rows out to cells: by Spark itself where its hashes will do, else by `Partitioning.deal` in Python.

A grid says along which dimensions a row is placed by its key, and along which it is copied. Any hash will do for the
places, if all streams use the same. So integers, instants and texts are placed by Spark's xxhash64, and rows need not
go through Python twice. Other keys, and slices of time, are dealt out by the partitioning's own code.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import TYPE_CHECKING

import attrs
import numpy as np
import pyarrow as pa

from eddy.partition import Partitioning
from eddy.partition.grid import Grid, HeavyKey
from eddy.spark.layout import CELL, ROW, STREAM, TIME, Layout, quoted
from eddy.spark.pack import content
from eddy.spark.report import Tally
from eddy.spark.session import quiet
from eddy.spark.ship import pickled, sent, ship
from eddy.spark.timeless import dealt_apart, has_time, missing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NONE = "CAST(array() AS array<int>)"
_HASHED = ("int", "uint", "bool", "string", "timestamp")


def dealt(
    layout: Layout, partitioning: Partitioning, frames: Mapping[str, DataFrame] | DataFrame
) -> DataFrame:
    """Rows that travel, each once for every cell that it goes to: of streams one by one, or of all together."""
    one_by_one = dict(frames) if isinstance(frames, Mapping) else None
    if partitioning.cells > 1 and one_by_one and by_spark(partitioning):
        return _union(
            [_sent(frame, places(layout, partitioning, name)) for name, frame in one_by_one.items()]
        )
    union = _union(list(frames.values())) if isinstance(frames, Mapping) else frames
    if partitioning.cells > 1 and by_spark(partitioning):
        return _sent(union, [_any_stream(layout, partitioning)])
    return dealt_in_python(layout, partitioning, union)


def dealt_in_python(layout: Layout, partitioning: Partitioning, union: DataFrame) -> DataFrame:
    """Rows and their cells by `Partitioning.deal` alone, as in a streaming join, whose rows are in Python anyway."""
    if partitioning.cells == 1:
        return union.selectExpr("*", f"0 AS {quoted(CELL)}")
    job = pickled(Dealer(layout, partitioning))
    with quiet():
        return union.mapInArrow(
            sent(job, ship(union.sparkSession.sparkContext)), f"{layout.schema}, {CELL} int"
        )


def _union(frames: list[DataFrame]) -> DataFrame:
    return reduce(lambda left, right: left.union(right), frames)


# -- by Spark ----------------------------------------------------------------------------------------------------------


def by_spark(partitioning: Partitioning) -> bool:
    """Whether Spark's own hashes place all rows alike: keys are whole numbers, instants or texts."""
    if partitioning.slices is not None:
        return False
    weighed = partitioning.weighed
    types = [of for key_class in weighed.classes for of in key_class.types.values()]
    if any(weighed.classes[heavy.place].kind == "timestamp" for heavy in weighed.heavy):
        return False  # its unit is not Spark's
    return all(of.kind in _HASHED and of.name != "uint64" for of in types)


def _sent(frame: DataFrame, cells: list[str]) -> DataFrame:
    """Rows with their cells: one each, or an array of them."""
    if len(cells) == 1:
        return frame.selectExpr("*", f"explode({cells[0]}) AS {quoted(CELL)}")
    return frame.where(cells[0]).selectExpr("*", f"CAST({cells[1]} AS int) AS {quoted(CELL)}")


def places(layout: Layout, partitioning: Partitioning, stream: str) -> list[str]:
    """Where rows of a stream go, in SQL: an array of cells; or, where each goes to one, whether it does, and to which.

    Rows with a NULL key match nothing, and go nowhere, or to cell 0 where they have results all the same, as in an
    outer join; those without a time go to cell 0 (`eddy.spark.timeless`).
    """
    keys = {
        place: quoted(layout.places[stream].get(key_class.members[stream], TIME))
        for place, key_class in enumerate(partitioning.weighed.classes)
        if stream in key_class.members
    }
    valid = " AND ".join(["true", *(f"{key} IS NOT NULL" for key in keys.values())])
    cells = [_cells(layout, partitioning, grid, stream, keys) for grid in partitioning.grids]
    none = f"{quoted(TIME)} IS NULL" if has_time(layout.query, stream) else "false"
    if layout.query.attachments:
        (key,), (cell,) = keys.values(), cells[0][1]
        return ["true", f"CASE WHEN {none} OR {key} IS NULL THEN 0 ELSE {cell} END"]
    if len(cells) == 1 and len(cells[0][1]) == 1:
        return [f"{none} OR ({valid})", f"CASE WHEN {none} THEN 0 ELSE {cells[0][1][0]} END"]
    parts = [_where(f"{valid} AND {here}", to) for here, to in cells]
    found = parts[0] if len(parts) == 1 else f"concat({', '.join(parts)})"
    return [f"CASE WHEN {none} THEN array(0) ELSE {found} END"]


def _where(condition: str, cells: list[str]) -> str:
    """The array of these cells, or an empty one."""
    found = ", ".join(f"CAST({cell} AS int)" for cell in cells)
    return f"CASE WHEN {condition} THEN array({found}) ELSE {_NONE} END"


def _any_stream(layout: Layout, partitioning: Partitioning) -> str:
    """The array of cells of a row of whichever stream."""
    found = _NONE
    for number, name in enumerate(layout.query.names):
        cells = places(layout, partitioning, name)
        if len(cells) == 2:
            cells = [_where(cells[0], cells[1:])]
        found = f"CASE WHEN {quoted(STREAM)} = {number} THEN {cells[0]} ELSE {found} END"
    return found


def _cells(
    layout: Layout, partitioning: Partitioning, grid: Grid, stream: str, keys: dict[int, str]
) -> tuple[str, list[str]]:
    """Whether a row has to do with a grid, and its cells there."""
    weighed = partitioning.weighed
    here = ["true"]
    for place, key in keys.items():
        kind, heavy = weighed.classes[place].kind, weighed.keys(place)
        if heavy and grid.category[place]:
            here.append(f"{key} = {_value(kind, heavy[grid.category[place] - 1])}")
        elif heavy:
            here.append(f"{key} NOT IN ({', '.join(_value(kind, item) for item in heavy)})")
    own = len(weighed.classes) + weighed.names.index(stream)
    base, copies = [str(grid.start)], [0]
    for d, (share, stride) in enumerate(zip(grid.shares, grid.strides, strict=True)):
        if share == 1:
            continue
        if d in keys:
            base.append(f"pmod(xxhash64({d}, {keys[d]}), {share}) * {stride}")
        elif d == own:  # rows of one stream alone: any place will do
            base.append(f"pmod(xxhash64({d}, {', '.join(map(quoted, layout.slots))}), {share}) * {stride}")
        else:
            copies = [offset + step * stride for offset, step in itertools.product(copies, range(share))]
    return " AND ".join(here), [" + ".join([*base, str(offset)]) for offset in copies]


def _value(kind: str, heavy: HeavyKey) -> str:
    """A key as SQL has it, whatever is in it."""
    if kind == "string":
        return f"CAST(X'{heavy.shown.encode().hex()}' AS string)"
    return f"CAST('{heavy.key}' AS bigint)"


# -- in Python ---------------------------------------------------------------------------------------------------------


@attrs.frozen
class Dealer:
    """Deals rows that travel out in a Spark task."""

    layout: Layout
    partitioning: Partitioning

    def run(self, batches: Iterator[pa.RecordBatch], tally: Tally | None) -> Iterator[pa.RecordBatch]:
        """Each row once for every cell that it goes to, with that cell at the end."""
        for batch in batches:
            tags, without = np.asarray(batch.column(STREAM)), missing(batch)
            for name, columns in self.layout.unpacked(batch).items():
                places = np.flatnonzero(tags == self.layout.query.names.index(name))
                numbers = np.asarray(batch.column(ROW))[places] if self.layout.marked else None
                if numbers is None:  # rows of one stream alone: any place will do
                    numbers = content(columns, self.partitioning)
                rows, cells = self.partitioning.deal(name, columns, numbers)
                if without is not None and has_time(self.layout.query, name):
                    rows, cells = dealt_apart(rows, cells, without[places])
                if len(rows):
                    taken = batch.take(pa.array(places[rows]))
                    yield pa.RecordBatch.from_arrays(
                        [*taken.columns, pa.array(cells, pa.int32())], names=[*taken.schema.names, CELL]
                    )
