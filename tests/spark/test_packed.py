"""Packed joins on Spark: which are packed, in how many tasks, and that names and keys may be anything."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import eddy
import eddy.spark
from eddy.spark.internals import java_frame
from eddy.spark.session import quiet
from tests.spark.test_join import feed
from tests.sparks import equal, ids, spark  # noqa: F401


def test_rows_are_sorted_by_the_jvm_unless_they_are_to_be_packed(spark, tmp_path):  # noqa: F811
    """However small they are, and whether Spark knows how large they are or not."""
    given = feed(*equal("A.k", "B.k", "C.k")).fill(21)
    files = {}
    for name, frame in given.frames(spark).items():
        frame.write.parquet(f"{tmp_path}/{name}")
        files[name] = spark.read.parquet(f"{tmp_path}/{name}")
    unknown = {**files, "A": spark.createDataFrame(files["A"].rdd, files["A"].schema)}

    def sorts(frames, **options):
        frame = eddy.spark.join(given.query, frames, partitions=3, **options)
        assert ids(frame) == given.expected()
        return "Sort [" in java_frame(frame).queryExecution().executedPlan().toString()

    for frames in (files, unknown):
        assert sorts(frames) and sorts(frames, packed=False) and not sorts(frames, packed=True)


def test_packing_takes_few_tasks_and_workers_settle(spark):  # noqa: F811
    """Rows are read by as many tasks as run at once, of however many parts; what a worker has loaded is set aside."""
    given = feed(*equal("A.k", "B.k", "C.k")).fill(23)
    frames = {name: frame.repartition(5) for name, frame in given.frames(spark).items()}
    for partitions, tasks in ((2, 2), (3, 3)):
        frame = eddy.spark.join(given.query, frames, partitions=partitions, packed=True)
        assert ids(frame) == given.expected()
        assert f"Coalesce {tasks}" in java_frame(frame).queryExecution().executedPlan().toString()

    def settled(batches):
        import gc

        for batch in batches:
            yield pa.record_batch({"n": [gc.get_freeze_count()] * batch.num_rows})

    with quiet():
        found = spark.range(0, 2, 1, 1).mapInArrow(settled, "n long").collect()
    assert min(row.n for row in found) > 0


def test_names_and_keys_may_be_anything(spark):  # noqa: F811
    """Blanks, dots, quotes and backslashes in names of columns, and in keys so heavy that the plan names them."""
    columns = {"ts": "int64", "select": "int64", "a.b `c'": "string"}
    streams = {n: eddy.Stream(columns, window=eddy.Range(9)) for n in "AB"}
    query = eddy.Query(
        streams, ['A."a.b `c\'" = B."a.b `c\'"'], select=['A."select" AS A', 'B."select" AS B']
    )
    random = np.random.default_rng(22)
    keys = np.array(['it\'s \\ "é" %s', "`", "", "x"])[np.minimum(random.integers(0, 9, 300), 3)]
    table = pa.table({"ts": np.sort(random.integers(0, 900, 300)), "select": np.arange(300), "a.b `c'": keys})
    frames = {name: spark.createDataFrame(table) for name in "AB"}
    single = eddy.Eddy(query).push_all(dict.fromkeys("AB", table)).to_pydict()
    for packed in (True, False):
        frame = eddy.spark.join(query, frames, partitions=4, sample=1.0, kind="hash", packed=packed)
        assert "heavy" in eddy.spark.explain(frame)
        assert sorted(ids(frame).elements()) == sorted(zip(*single.values(), strict=True))
