"""Rows of all streams, in no order, put in order of time in memory, and cut into batches for an engine."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.partition.marks import counted
from eddy.spark.layout import STREAM, TIME, Layout
from eddy.spark.pack import as_numbers
from eddy.values.types import Array


def by_stream(layout: Layout, table: pa.Table) -> dict[str, tuple[Array, pa.RecordBatch]]:
    """The rows of each stream in order of time, and their times; where that changes results, alike in every attempt."""
    if not table.num_rows:
        return {}
    rows, found = table.combine_chunks().to_batches()[0], {}
    tags, times = np.asarray(rows.column(STREAM)), as_numbers(rows.column(TIME))
    for number, name in enumerate(layout.query.names):
        places = np.flatnonzero(tags == number)
        if not len(places):
            continue
        own = times[places]
        if counted(layout.query) or layout.query.attachments:  # rows of one time by what is in them
            keys = [(c, "ascending") for c in (TIME, *(c for c in rows.schema.names if c != TIME))]
            order = np.asarray(pc.sort_indices(rows.take(pa.array(places)), keys))
        else:
            order = np.argsort(own, kind="stable")
        found[name] = own[order], rows.take(pa.array(places[order]))
    return found


def abreast(
    streams: dict[str, tuple[Array, pa.RecordBatch]], size: int
) -> Iterator[dict[str, pa.RecordBatch]]:
    """Streams that are each in order of time, cut into batches of about ``size`` rows; no time is in two of them."""
    if not streams:
        return
    times = np.sort(np.concatenate([times for times, _ in streams.values()]), kind="stable")
    ends = np.unique(times[size - 1 :: size])
    cuts = {name: np.searchsorted(of, ends, side="right").tolist() for name, (of, _) in streams.items()}
    places = dict.fromkeys(streams, 0)
    for i in range(len(ends) + 1):
        batches = {}
        for name, (_, rows) in streams.items():
            end = cuts[name][i] if i < len(ends) else rows.num_rows
            if end > places[name]:
                batches[name] = rows.slice(places[name], end - places[name])
                places[name] = end
        if batches:
            yield batches
