"""Pathway: interval joins over tables whose rows come in at once (static) or by and by (streaming)."""

from __future__ import annotations

import itertools
import logging
import os
from typing import Any

import numpy as np
import pathway as pw
import pyarrow as pa
import pyarrow.parquet as pq
from pathway.internals.parse_graph import G

from benchmarks.peers.protocol import Clock, serve
from benchmarks.peers.spec import Spec

BATCH = 4096
"""Events of a batch when rows come by and by."""


class Pathway:
    """The data are data frames in memory; Pathway takes them over within the clock, since each run needs its own."""

    def __init__(self, spec: Spec, settings: dict[str, Any]) -> None:
        logging.disable(logging.INFO)
        self.spec, streaming = spec, settings["streaming"]
        tables = {name: pq.read_table(spec.path(name)) for name in spec.names}
        times = np.sort(np.concatenate([table["ts"].to_numpy() for table in tables.values()]))
        self.frames = {}
        for name, table in tables.items():
            frame = table.to_pandas().rename(columns={column: f"c_{column}" for column in table.column_names})
            if streaming:
                frame["__time__"] = 2 * (np.searchsorted(times, table["ts"].to_numpy()) // BATCH)
                frame["__diff__"] = 1
            self.frames[name] = frame
        self.facts = {
            "version": pw.__version__,
            "settings": f"PATHWAY_THREADS = {os.environ.get('PATHWAY_THREADS', '1')}, "
            + (f"batches of {BATCH} events by __time__" if streaming else "all rows at once"),
            "data": "data frames in memory, taken over within the clock",
            "results": "a data frame",
        }

    def run(self, check: bool) -> tuple[Clock, pa.Table]:
        with Clock() as clock:
            G.clear()
            tables = {name: pw.debug.table_from_pandas(frame) for name, frame in self.frames.items()}
            found = pw.debug.table_to_pandas(join(self.spec, tables), include_id=False)
        return clock, pa.table({out: pa.array(found[out]) for out in self.spec.outputs()})


def join(spec: Spec, tables: dict[str, Any]) -> Any:
    """The join of all streams in the order of the workload."""
    first, joined, width = spec.names[0], None, spec.range
    for name in spec.names:
        columns = {f"{name}_{column}": pw.this[f"c_{column}"] for column in spec.streams[name]}
        if spec.tumbling is not None:
            columns[f"{name}_pane"] = pw.this["c_ts"] // spec.tumbling
        part = tables[name]
        if name in spec.filters:
            part = part.filter(_filter(spec.filters[name]))
        part = part.select(**columns)
        if joined is None:
            joined = part
            continue
        tests = [
            joined[f"{other}_{theirs}"] == part[f"{name}_{mine}"]
            for mine, (other, theirs) in spec.links(name)
        ]
        own, other = part[f"{name}_ts"], joined[f"{first}_ts"]
        everything = {column: joined[column] for column in joined.column_names()}
        everything |= {column: part[column] for column in part.column_names()}
        before = spec.names[1 : spec.names.index(name)]
        if width is not None:
            bounds = pw.temporal.interval(-width, width)
            joined = joined.interval_join(part, other, own, bounds, *tests).select(**everything)
        else:
            if spec.tumbling is not None:
                tests.append(joined[f"{first}_pane"] == part[f"{name}_pane"])
            joined = joined.join(part, *tests).select(**everything)
        for earlier, sign in itertools.product(before, (1, -1)):
            joined = joined.filter(sign * (pw.this[f"{name}_ts"] - pw.this[f"{earlier}_ts"]) <= width)
    return joined.select(*(pw.this[out] for out in spec.outputs()))


def _filter(text: str) -> Any:
    """The condition of a workload's filter."""
    column, _, rest = text.partition(" ")
    own = pw.this[f"c_{column}"]
    if rest.startswith("= "):
        return own == int(rest[2:])
    values = [part.strip(" '") for part in rest.removeprefix("IN (").removesuffix(")").split(",")]
    found = own == values[0]
    for value in values[1:]:
        found = found | (own == value)
    return found


if __name__ == "__main__":
    serve(Pathway)
