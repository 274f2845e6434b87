"""State dealt out anew, when a streaming query is started again with another number of partitions.

The rows of the old state go through Spark as rows of a stream do, each from its home only, to the cells that new rows
will go to, and each of these makes an engine of its own of them. The old files stay until the query has moved on.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs
import numpy as np
import pyarrow as pa

from eddy.engine.eddy import Eddy
from eddy.errors import StateError
from eddy.snapshot.format import opened
from eddy.snapshot.query import check_same
from eddy.spark.deal import dealt_in_python
from eddy.spark.layout import CELL, STREAM
from eddy.spark.live import LiveJob, is_home
from eddy.spark.order import abreast, by_stream
from eddy.spark.report import Tally
from eddy.spark.session import quiet
from eddy.spark.ship import pickled, sent, ship
from eddy.spark.state import ENGINE, Header, Store, state_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WAITING, COVER = "waiting", -1
"""Whether a row was waiting for the watermark; and the tag of a row that is there to give every cell one."""


def prepare(spark: SparkSession, job: LiveJob) -> None:
    """Before a streaming query starts: see that its state is there, and dealt out as its rows will be."""
    store = Store(job.checkpoint)
    committed = store.committed()
    if committed is None:
        store.create()
        return
    if not store.exists():
        raise StateError(
            f"{job.checkpoint!r} is the checkpoint of a query that has run, but the state of eddy.spark.stream is not "
            "in it: restore its folder 'eddy', or start with a new checkpoint"
        )
    version = store.last(committed + 1)
    if version is None:  # no row has come so far
        return
    names = store.members(version)
    cells = job.partitioning.cells
    wanted = {state_name(cell, cells, job.dealing) for cell in range(cells)}
    if wanted <= set(names):
        return
    whole = list(_sets(names).values())
    if not whole:
        raise StateError(f"the state after micro-batch {version} in {job.checkpoint!r} is not whole: {names}")
    if job.layout.query.attachments:
        raise StateError(
            f"the state in {job.checkpoint!r} is of {len(whole[0])} partitions, and with "
            f"{job.layout.query.attachments[0]} it cannot be dealt out to {cells}: give partitions={len(whole[0])}, or "
            "leave it out"
        )
    _redeal(spark, job, version, whole[0])


def cells_before(store: Store) -> int | None:
    """Among how many cells the newest state is dealt out; None if there is none."""
    committed = store.committed()
    version = None if committed is None else store.last(committed + 1)
    found = [] if version is None else list(_sets(store.members(version)).values())
    return len(found[0]) if found else None


def _sets(names: list[str]) -> dict[str, list[str]]:
    """The files of a version by how they were dealt out; only sets that are whole."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(name.split("-of-")[1], []).append(name)
    return {of: some for of, some in found.items() if len(some) == int(of.split("-")[0])}


def _redeal(spark: SparkSession, job: LiveJob, version: int, names: list[str]) -> None:
    from pyspark.sql import functions as F

    layout, cells = job.layout, job.partitioning.cells
    archive = ship(spark.sparkContext)
    files = spark.createDataFrame([(name,) for name in names], "name string").repartition(len(names))
    first = Store(job.checkpoint).read(version, names[0]).header
    with quiet():
        rows = files.mapInArrow(
            sent(pickled(Reader(job, version)), archive), f"{layout.schema}, {WAITING} boolean"
        )
        slots = [F.col(name) for name in layout.arrow.names]
        parts = [
            dealt_in_python(layout, job.partitioning, rows.where(F.col(WAITING) == waiting).select(*slots))
            .select(*slots, CELL)
            .withColumn(WAITING, F.lit(waiting))
            for waiting in (False, True)
        ]
        nothing = [
            F.lit(None).cast(f.dataType).alias(f.name) for f in rows.schema if f.name not in (STREAM, WAITING)
        ]
        cover = spark.range(cells).select(
            F.lit(COVER).cast("tinyint").alias(STREAM),
            *nothing,
            F.col("id").cast("int").alias(CELL),
            F.lit(False),
        )
        done = (
            parts[0]
            .union(parts[1])
            .union(cover)
            .repartitionById(cells, CELL)
            .mapInArrow(sent(pickled(Writer(job, attrs.evolve(first, batch=version))), archive), "cell int")
        )
        written = done.count()
    if written != cells:
        raise StateError(f"of {cells} cells {written} were written when the state was dealt out anew")


@attrs.frozen
class Reader:
    """Reads the rows of old states."""

    job: LiveJob
    version: int

    def run(self, batches: Iterator[pa.RecordBatch], tally: Tally | None) -> Iterator[pa.RecordBatch]:
        """Live rows and waiting ones, from their homes."""
        store, layout = Store(self.job.checkpoint), self.job.layout
        for batch in batches:
            for name in batch.column("name").to_pylist():
                state = store.read(self.version, name)
                homes = [i for i, n in enumerate(layout.query.names) if state.header.home.get(n)]
                for rows in state.pending.to_batches():
                    here = np.isin(np.asarray(rows.column(STREAM)), homes)
                    yield _flagged(rows.filter(pa.array(here)), True)
                for rows in self._live(state.engine, homes):
                    yield _flagged(rows, False)

    def _live(self, engine: bytes, homes: list[int]) -> Iterator[pa.RecordBatch]:
        layout = self.job.layout
        with tempfile.TemporaryDirectory(prefix="eddy-state-") as folder:
            path = os.path.join(folder, ENGINE)
            with open(path, "wb") as file:
                file.write(engine)
            with opened(path) as snapshot:
                check_same(snapshot.header["query"], layout.query, path)
                for number in homes:
                    stream = layout.query.names[number]
                    for batch in snapshot.batches(number, snapshot.schema(number)):
                        columns = {
                            column: batch.column(f"value {column}")
                            for column in layout.query.streams[stream].columns
                        }
                        if batch.num_rows:
                            yield layout.packed(stream, columns)


@attrs.frozen
class Writer:
    """Makes the engine of a new cell of its rows."""

    job: LiveJob
    former: Header
    """Of any old state: times and watermark are the same in all."""

    def run(self, batches: Iterator[pa.RecordBatch], tally: Tally | None) -> Iterator[pa.RecordBatch]:
        """Writes the state of one cell, and says that it did."""
        job = self.job
        schema = job.layout.arrow.append(pa.field(CELL, pa.int32())).append(pa.field(WAITING, pa.bool_()))
        table = pa.Table.from_batches([batch.cast(schema) for batch in batches], schema)
        if not table.num_rows:
            return
        cell = table.column(CELL)[0].as_py()
        tags, waiting = np.asarray(table.column(STREAM)), np.asarray(table.column(WAITING))
        table = table.drop_columns([CELL, WAITING])
        engine = Eddy(job.layout.query, **job.options)
        live = table.filter(pa.array((tags >= 0) & ~waiting))
        for pieces in abreast(by_stream(job.layout, live), engine.batch_size):  # results were given long ago
            engine.push_all({name: job.layout.columns(name, some) for name, some in pieces.items()})
        header = attrs.evolve(
            self.former,
            cell=cell,
            dealing=job.dealing,
            token=secrets.token_hex(8),
            late=self.former.late if cell == 0 else 0,
            plan=job.options.get("plan"),
            home={name: is_home(job.partitioning, cell, name) for name in job.layout.query.names},
        )
        pending = table.filter(pa.array((tags >= 0) & waiting)).combine_chunks()
        Store(job.checkpoint).write(header, job.partitioning.cells, engine, pending)
        yield pa.RecordBatch.from_arrays([pa.array([cell], pa.int32())], names=["cell"])


def _flagged(rows: pa.RecordBatch, waiting: bool) -> pa.RecordBatch:
    flags = pa.array(np.full(rows.num_rows, waiting))
    return pa.RecordBatch.from_arrays([*rows.columns, flags], names=[*rows.schema.names, WAITING])
