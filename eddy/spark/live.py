"""What runs in a partition of a streaming join: a micro-batch's rows wait, are put in order, and go to the engine."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from eddy.engine.eddy import Eddy
from eddy.errors import EddyError, StateError
from eddy.partition import Partitioning
from eddy.partition.marks import counted
from eddy.query.outputs import Output
from eddy.query.query import Query, changed
from eddy.results.result import Result
from eddy.spark.identity import digest, replaced
from eddy.spark.layout import STREAM, TIME, Layout
from eddy.spark.order import abreast, by_stream
from eddy.spark.pack import as_numbers, unpacked
from eddy.spark.report import Stopwatch, Tally, report_of, sent_back
from eddy.spark.state import Header, State, Store, state_name
from eddy.spark.timeless import dropped
from eddy.spark.work import LARGEST, PIECE, as_spark, gathered
from eddy.values.types import Array

WARM: dict[tuple[str, int, str], tuple[str, str, Eddy]] = {}
"""Engines that this worker process still holds, of which call, and which attempt of which micro-batch they are from."""
KEPT = 4
"""Engines that are held, at most; a worker does not always get the same cells."""


@attrs.frozen
class LiveJob:
    """The join of one cell, a micro-batch at a time."""

    layout: Layout
    partitioning: Partitioning
    schema: pa.Schema
    options: dict[str, Any]
    shown: tuple[Output, ...]
    signed: bool
    checkpoint: str
    dealing: str
    delays: dict[str, int | None]
    """How long rows of a stream are waited for; None: the stream has no time."""
    slowest: bool
    """Whether of several streams the slowest makes the watermark."""
    retain: int
    identity: str = ""
    """Which query this is, in short, as the checkpoint describes it; empty if it does not."""
    bad: str = "error"
    """What to do with rows without a time: see `eddy.spark.timeless`."""
    call: str = ""
    """The call of `stream` that this is from: held engines of another have other policies, or another query."""

    def run(self, batches: Iterator[pa.RecordBatch], tally: Tally | None) -> Iterator[pa.RecordBatch]:
        """The results of a micro-batch, as Spark's mapInArrow calls it; the state is written at the end."""
        from pyspark import TaskContext

        watch = Stopwatch()
        cell, table = unpacked(self.layout, watch.drawn(batches))
        if cell < 0:  # then no cell has any rows: the next micro-batch goes on from the one before
            return
        context = TaskContext.get()
        batch = None if context is None else context.getLocalProperty("streaming.sql.batchId")
        query_id = None if context is None else context.getLocalProperty("sql.streaming.queryId")
        if batch is None or query_id is None:
            raise EddyError("this is a streaming join: start it with writeStream")
        store = Store(self.checkpoint)
        store.check_owner(query_id)
        yield from self.batch(store, query_id, int(batch), cell, table, watch, tally)

    def batch(
        self,
        store: Store,
        query_id: str,
        batch: int,
        cell: int,
        table: pa.Table,
        watch: Stopwatch,
        tally: Tally | None,
    ) -> Iterator[pa.RecordBatch]:
        """The results of one micro-batch of a cell, whose rows and newest times are in the table."""
        table, bad = dropped(self.layout, table, self.bad)
        key = (query_id, cell, self.dealing)
        held = WARM.pop(key, None)
        warm = held[1:] if held is not None and held[0] == self.call else ("", None)
        state = self._state(store, batch, cell, warm[0])
        engine = self._engine(state, warm)
        tags, times = np.asarray(table.column(STREAM)), as_numbers(table.column(TIME))
        newest = self._newest(state, tags, times)
        before = None if state is None else state.header.released
        watermark = self._watermark(newest, before)
        fresh = tags >= 0
        late = fresh & (times < before) if before is not None else np.zeros(len(tags), np.bool_)
        table = table.filter(pa.array(fresh & ~late))
        counts = {n: int(np.count_nonzero(tags == i)) for i, n in enumerate(self.layout.query.names)}
        if state is not None:
            table = pa.concat_tables([state.pending, table])
        times = as_numbers(table.column(TIME))
        ready = self._ready(times, watermark)
        pending = table.filter(pa.array(~ready))
        results = 0
        for found in gathered(self._joined(engine, table.filter(pa.array(ready)), watch), self.schema):
            results += found.num_rows
            yield found
        for found in self._passed(engine, watermark, watch):
            results += found.num_rows
            yield found
        behind = int(np.count_nonzero(late))
        header = Header(
            batch=batch,
            cell=cell,
            dealing=self.dealing,
            token=secrets.token_hex(8),
            newest=newest,
            released=watermark,
            late=behind + (0 if state is None else state.header.late),
            plan=self.options.get("plan"),
            home={name: is_home(self.partitioning, cell, name) for name in self.layout.query.names},
            query=self.identity,
        )
        store.write(header, self.partitioning.cells, engine, pending.combine_chunks())
        store.forget(batch, self.retain, cell)
        while len(WARM) >= KEPT:
            WARM.pop(next(iter(WARM)))
        WARM[key] = (self.call, header.token, engine)
        more = {"batch": batch, "late": behind, "bad": bad, "pending": pending.num_rows, "results": results}
        sent_back(tally, report_of(cell, counts, engine.statistics(), watch, **more))

    def _state(self, store: Store, batch: int, cell: int, known: str) -> State | None:
        """What this cell left in the last micro-batch; None at the very beginning."""
        version = store.last(batch)
        if version is None:
            if self.identity and digest(store.described()) != self.identity:
                raise replaced(self.checkpoint)
            return None
        name = state_name(cell, self.partitioning.cells, self.dealing)
        if name not in store.members(version):
            raise StateError(
                f"there is no state of cell {cell} after micro-batch {version} in {self.checkpoint!r}: if the number "
                "of partitions was changed, call eddy.spark.stream again before the query is started"
            )
        state = store.read(version, name, known)
        if self.identity and state.header.query not in ("", self.identity):
            raise replaced(self.checkpoint)
        return state

    def _engine(self, state: State | None, warm: tuple[str, Any]) -> Eddy:
        if state is None:
            return Eddy(self.layout.query, **self.options)
        if (
            warm[1] is not None
            and warm[0] == state.header.token
            and state.header.plan == self.options.get("plan")
        ):
            held: Eddy = warm[1]
            return held
        return state.restored(self.layout.query, self.options)

    def _newest(self, state: State | None, tags: Array, times: Array) -> dict[str, int]:
        """The newest time of each stream: markers bring those of all cells."""
        newest = {} if state is None else dict(state.header.newest)
        for i, name in enumerate(self.layout.query.names):
            marked = times[tags == -1 - i]
            if len(marked):
                newest[name] = max(int(marked.max()), newest.get(name, int(marked.max())))
        return newest

    def _watermark(self, newest: dict[str, int], before: int | None) -> int | None:
        """Everything up to here may be processed; None: nothing yet."""
        timed = {name: delay for name, delay in self.delays.items() if delay is not None}
        reached = [newest[name] - delay for name, delay in timed.items() if name in newest]
        if not reached or (self.slowest and len(reached) < len(timed)):
            return before
        found = min(reached) if self.slowest else max(reached)
        return found if before is None else max(found, before)

    def _ready(self, times: Array, watermark: int | None) -> Array:
        """Which rows are processed now. Those at the watermark wait where the order of rows of one time changes
        results, since others may have to go before them."""
        if watermark is None:
            return np.zeros(len(times), np.bool_)
        query = self.layout.query
        ready: Array = (
            times < watermark if self.signed or query.attachments or counted(query) else times <= watermark
        )
        return ready

    def _passed(self, engine: Eddy, watermark: int | None, watch: Stopwatch) -> Iterator[pa.RecordBatch]:
        """What outer and anti joins owe for rows that have left their windows by the time of the watermark.

        Changes are given by rows alone: how often time is said to have passed would show in those of groups.
        """
        query = self.layout.query
        if watermark is None or not query.attachments or self.signed:
            return
        with watch.working():
            owed = list(self._shown(engine.advance(self._moment(watermark))))
        yield from owed

    def _moment(self, watermark: int) -> object:
        """The watermark as the engine takes times."""
        query = self.layout.query
        declared = query.streams[query.names[0]]
        kind = declared.columns[str(declared.time)]
        if kind.kind != "timestamp":
            return watermark
        return pa.scalar(watermark, pa.timestamp("us", kind.zone)).as_py()

    def _joined(self, engine: Eddy, table: pa.Table, watch: Stopwatch) -> Iterator[pa.RecordBatch]:
        """What an engine finds in rows that are in no order yet."""
        with watch.working():
            streams = by_stream(self.layout, table)
        for batches in abreast(streams, max(PIECE, engine.batch_size)):
            with watch.working():
                columns = {name: self.layout.columns(name, rows) for name, rows in batches.items()}
                found = list(self._shown(engine.push_all(columns)))
            yield from found

    def _shown(self, result: Result) -> Iterator[pa.RecordBatch]:
        """What a result shows; the engine remembers more columns than that."""
        if self.signed or result.query.computed or result.query.attachments:
            yield from as_spark(result, self.schema, self.signed)
        elif len(result):
            columns = [result.column(f"{output.stream}.{output.column}") for output in self.shown]
            named = [output.name for output in self.shown]
            yield from pa.Table.from_arrays(columns, names=named).cast(self.schema).to_batches(LARGEST)


def remembering(query: Query) -> Query:
    """The same join with all columns for results, so that a snapshot holds whole rows, to be dealt out anew.

    Not where the state is more than rows: changes are given by one cell, and rows of outer joins stay in their cells.
    """
    if query.signed or query.attachments:
        return query
    select = tuple(
        Output(f"{name}.{column}", name, column, of)
        for name, stream in query.streams.items()
        for column, of in stream.columns.items()
    )
    return changed(query, select=select)


def is_home(partitioning: Partitioning, cell: int, stream: str) -> bool:
    """Whether the cell's rows of a stream are the first of their copies: each row has exactly one home."""
    if partitioning.cells == 1:
        return True
    weighed = partitioning.weighed
    grid = next(grid for grid in partitioning.grids if grid.start <= cell < grid.start + grid.cells)
    place = cell - grid.start
    for d, (share, stride) in enumerate(zip(grid.shares, grid.strides, strict=True)):
        is_class = d < len(weighed.classes)
        has = (
            stream in weighed.classes[d].members
            if is_class
            else weighed.names[d - len(weighed.classes)] == stream
        )
        if not has and ((place // stride) % share or (is_class and grid.category[d])):
            return False
    return True
