"""A streaming join that is stopped at any step of writing its state goes on, and every result comes exactly once.

The cells are driven as Spark drives them: a micro-batch is run again, with the same rows, until it is committed.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from eddy.partition import choose
from eddy.spark import live
from eddy.spark.layout import layout_of, result_schema
from eddy.spark.pack import Packer, content, unpacked
from eddy.spark.report import Stopwatch
from eddy.spark.state import Store
from eddy.spark.streaming import dealing
from tests.sparks import Feed, equal, stream

QUERY_ID = "one query"
STEPS = ("create_dir", "open_output_stream", "move", "delete_file", "delete_dir")
"""What changes anything on a disk."""


class Stopped(Exception):
    """The process is gone."""


class Failing:
    """A file system that stops at its n-th step, before or after that step was done."""

    def __init__(self, files, at, after):
        self.files, self.left, self.after = files, at, after

    def __getattr__(self, name):
        found = getattr(self.files, name)
        if name not in STEPS:
            return found

        def step(*arguments, **options):
            self.left -= 1
            if self.left == 0 and not self.after:
                raise Stopped
            result = found(*arguments, **options)
            if self.left == 0:
                if name == "open_output_stream":
                    result.write(b"half a file")
                    result.close()
                raise Stopped
            return result

        return step


def feed():
    columns = {"k": "int64", "s": "string"}
    streams = {name: stream(("range", 20), **columns) for name in "ABC"}
    return Feed(streams, [*equal("A.s", "B.s"), *equal("B.k", "C.k")])


def job_of(given, checkpoint, cells):
    layout = layout_of(given.query)
    partitioning = choose(layout.query, cells)
    return live.LiveJob(
        layout=live.attrs.evolve(layout, query=live.remembering(layout.query)),
        partitioning=partitioning,
        schema=result_schema(given.query, False)[0],
        options={"batch_size": 32},
        shown=given.query.select,
        signed=False,
        checkpoint=str(checkpoint),
        dealing=dealing(partitioning),
        delays=dict.fromkeys(given.query.names, 3),
        slowest=True,
        retain=1,
    )


def micro_batches(given, job, times):
    """For each micro-batch the blocks of every cell; a stretch of time without rows is a micro-batch without any."""
    made = []
    for low, high in itertools.pairwise(times):
        blocks = {cell: [] for cell in range(job.partitioning.cells)}
        for name in given.streams:
            table = given.table(name)
            at = np.asarray(table["ts"])
            part = table.filter(pa.array((at >= low) & (at < high)))
            if part.num_rows:
                columns = {c: part[c].combine_chunks() for c in job.layout.query.streams[name].columns}
                rows = job.layout.packed(name, columns)
                for packed in Packer(job.layout, job.partitioning).run(iter([rows]), None):
                    for place, cell in enumerate(packed.column("cell").to_pylist()):
                        blocks[cell].append(packed.slice(place, 1))
        made.append(blocks)
    return made


def attempt(job, number, blocks, files=None, fresh=True):
    """One attempt of a micro-batch: what all cells give together; `Stopped` as the file system says."""
    if fresh:
        live.WARM.clear()  # a new process
    found = Counter()
    for cell, packed in blocks.items():
        if not packed:
            continue
        store = Store(job.checkpoint)
        if files is not None:
            store._files = files
        _, table = unpacked(job.layout, iter(packed))
        for batch in job.batch(store, QUERY_ID, number, cell, table, Stopwatch(), None):
            found += Counter(zip(*batch.to_pydict().values(), strict=True))
    return found


@pytest.mark.parametrize("after", [False, True], ids=["before a step", "after it"])
def test_a_crash_at_any_step(tmp_path, after):
    """Each step of each micro-batch fails once; the micro-batch is run again, and the results are the oracle's."""
    given = feed().fill(51, sizes=150, span=120)
    times = [0, 30, 60, 61, 62, 90, 10**6]
    for name in given.rows:  # nothing at 60 and 61: these micro-batches have no rows
        given.rows[name] = [row if not 60 <= row[0] < 62 else (62, *row[1:]) for row in given.rows[name]]
        given.rows[name].append((10**6 - 1, len(given.rows[name]), None, None))
        given.rows[name].sort(key=lambda row: row[:2])
    job = job_of(given, tmp_path, 4)
    (tmp_path / "metadata").write_text(json.dumps({"id": QUERY_ID}))
    Store(job.checkpoint).create()
    committed, crashes = Counter(), 0
    for number, blocks in enumerate(micro_batches(given, job, times)):
        for at in range(1, 200):
            files = Failing(Store(job.checkpoint)._files, at, after)
            try:
                found = attempt(job, number, blocks, files)
                break
            except Stopped:
                crashes += 1
        else:
            raise AssertionError("every attempt was stopped")
        committed += found
    assert crashes > 25 and committed == given.expected()
    assert committed.total() > 100


def test_state_of_long_ago_is_kept_while_it_is_the_last(tmp_path):
    """After micro-batches without rows the state before them is what another attempt goes on from."""
    given = feed().fill(52, sizes=120, span=60)
    job = job_of(given, tmp_path, 2)
    Store(job.checkpoint).create()
    first, second = micro_batches(given, job, [0, 40, 70])
    before = attempt(job, 0, first)
    once = attempt(job, 50, second)
    assert attempt(job, 50, second) == once and once and before
    assert Store(job.checkpoint).versions() == [0, 50]


def test_rows_without_a_key_are_dealt_out_by_what_is_in_them():
    """A second attempt reads the same rows, maybe in another order, and sends each where it went before."""
    given = Feed(
        {n: stream(k="int64", s="string", f="float64") for n in "AB"},
        [("<", ("col", "A", "k"), ("col", "B", "k"))],
    )
    given.fill(53)
    layout = layout_of(given.query)
    partitioning = choose(layout.query, 4)
    assert partitioning.numbered
    table = given.table("A").combine_chunks()
    order = np.random.default_rng(0).permutation(table.num_rows)
    columns, turned = (
        {c: rows[c].combine_chunks() for c in rows.schema.names}
        for rows in (table, table.take(pa.array(order)))
    )
    numbers = content(columns, partitioning)
    assert content(turned, partitioning).tolist() == numbers[order].tolist()
    assert len(set((numbers % 4).tolist())) == 4


@pytest.mark.parametrize("size", [1, 3, 7])
def test_rows_of_one_time_wait_for_each_other_where_their_order_counts(tmp_path, size):
    """Where a window counts rows, micro-batches that begin and end within one time give what sorted rows give.

    Rows at the watermark wait: others of their time may have to go before them.
    """
    streams = {name: stream(("rows", 2), k="int64") for name in "AB"}
    given = Feed(streams, equal("A.k", "B.k")).fill(55, sizes=40, span=9, nulls=0, keys=2)
    for rows in given.rows.values():
        rows.append((10**6, len(rows), None))
    job = job_of(given, tmp_path, 1)
    job = live.attrs.evolve(job, delays=dict.fromkeys("AB", 0))
    Store(job.checkpoint).create()
    found = Counter()
    for number, start in enumerate(range(0, 41, size)):
        packed = []
        for name in "AB":
            part = given.table(name).slice(start, size).combine_chunks()
            if part.num_rows:
                columns = {c: part[c].combine_chunks() for c in job.layout.query.streams[name].columns}
                packed += Packer(job.layout, job.partitioning).run(
                    iter([job.layout.packed(name, columns)]), None
                )
        found += attempt(job, number, {0: packed})
    assert found == given.expected() and found.total() > 30
