"""What is wrong with the arguments of the doors of Spark is said on the driver, before any job, and what to do."""

from __future__ import annotations

import pytest

import eddy
import eddy.spark
from eddy import EddyError
from tests.sparks import spark  # noqa: F401

SCHEMA = "ts long, id long, k long"
COLUMNS = {"ts": "int64", "id": "int64", "k": "int64"}


def chain():
    """A query that no one key joins, so that slices of time are considered."""
    streams = {name: eddy.Stream(COLUMNS, window=eddy.Range(5)) for name in "ABC"}
    return eddy.Query(streams, ["A.k = B.k", "B.id = C.id"], ["A.id AS a", "C.id AS c"])


def query():
    streams = {name: eddy.Stream(COLUMNS, window=eddy.Range(5)) for name in "AB"}
    return eddy.Query(streams, "A.k = B.k", ["A.id AS a", "B.id AS b"])


def frames(spark, names="AB", rows=((1, 0, 1), (2, 1, 1))):  # noqa: F811
    return {name: spark.createDataFrame(list(rows), SCHEMA) for name in names}


@pytest.mark.parametrize("kind", [None, "slices"])
def test_a_sample_of_nothing(spark, kind):  # noqa: F811
    """No rows, no results, however they are to be dealt out; a sample that missed all rows is told from that."""
    for asked in (query(), chain()):
        empty = frames(spark, asked.names, ())
        assert eddy.spark.join(asked, empty, partitions=3, sample=0.5, kind=kind).count() == 0
    missed = frames(spark, "ABC")
    if kind is None:
        assert eddy.spark.join(chain(), missed, partitions=3, sample=1e-9).count() == 4
    else:
        with pytest.raises(EddyError, match="pass a larger sample"):
            eddy.spark.join(chain(), missed, partitions=3, sample=1e-9, kind=kind)


def test_what_join_does_not_take(spark):  # noqa: F811
    """Names, DataFrames of others, and numbers that are none."""
    import pandas as pd

    given = frames(spark)
    for change, said in (
        ({"frames": {"a": given["A"], "b": given["B"]}}, "the query has no stream 'a': it has A, B"),
        (
            {"frames": {**given, "A": pd.DataFrame({"ts": [1], "id": [1], "k": [1]})}},
            r"stream A needs Spark's DataFrame, not pandas\.DataFrame: make one with spark\.createDataFrame",
        ),
        ({"frames": {**given, "A": [1, 2]}}, "not list: make one with spark.createDataFrame"),
        *(({"sample": sample}, "above 0 and up to 1") for sample in (0, 0.0, -1, 2, "x", True, float("nan"))),
        *(
            ({"partitions": n}, "partitions must be a whole number of at least 1")
            for n in (0, -1, 1.5, "2", True)
        ),
    ):
        with pytest.raises(EddyError, match=said):
            eddy.spark.join(query(), **{"frames": given, **change})


def test_what_stream_does_not_take(spark, tmp_path):  # noqa: F811
    """The same for streams; and nothing is left in the folder of the checkpoint."""
    (tmp_path / "in").mkdir()
    given = {name: spark.readStream.schema(SCHEMA).parquet(f"{tmp_path}/in") for name in "AB"}
    place = tmp_path / "checkpoint"
    for change, said in (
        ({"checkpoint": 3}, "checkpoint is a folder, .* not 3"),
        ({"checkpoint": ""}, "checkpoint is a folder"),
        (
            {"watermark": {"A": 3, "B": 3, "Z": 3}},
            "a watermark for 'Z', which is no stream of the query: it has A, B",
        ),
        ({"kind": "slices"}, r"kind is an option of eddy\.spark\.join"),
        ({"sample": 0.1}, r"sample is an option of eddy\.spark\.join"),
        *(({"retain": n}, "retain must be a whole number of at least 1") for n in (0, -1, "x", 1.5)),
        *(({"partitions": n}, "partitions must be a whole number of at least 1") for n in (0, 1.5, "2")),
    ):
        with pytest.raises(EddyError, match=said):
            eddy.spark.stream(query(), given, **{"checkpoint": place, "watermark": 3, **change})
    assert not place.exists()
    eddy.spark.stream(query(), given, place, watermark=3)  # a pathlib.Path will do
    assert (place / "eddy" / "query.json").is_file()


def test_a_session_that_is_there_has_the_master_that_it_has(spark):  # noqa: F811
    """Asked for by name, or not at all, it is returned; another one is an error that says how to get it."""
    assert eddy.spark.session() is not None
    assert eddy.spark.session("local[2]").sparkContext.master == "local[2]"
    with pytest.raises(EddyError, match=r"'local\[2\]' is running.*'local\[1\]': stop it first"):
        eddy.spark.session("local[1]")
    with pytest.raises(EddyError, match="master is a text"):
        eddy.spark.session(2)


@pytest.mark.parametrize("size", [1, 100])
def test_items_of_a_partition_out_of_order(size):
    """The advice is for RDDs, where nobody pushes."""
    items = [("A", (5, 1, 1)), ("B", (3, 1, 1)), ("A", (1, 1, 1))]
    with pytest.raises(
        eddy.BatchError, match=r"time goes back.* in order of time.* before mapPartitions"
    ) as error:
        list(eddy.spark.driver(query(), batch_size=size)(iter(items)))
    assert "push_all" not in str(error.value)


def test_columns_without_a_name_of_their_own_need_backticks(spark):  # noqa: F811
    """As the page says."""
    plain = eddy.Query(query().streams, "A.k = B.k")
    joined = eddy.spark.join(plain, frames(spark), partitions=2)
    assert joined.columns[:3] == ["A.ts", "A.id", "A.k"]
    assert joined.select("`A.k`").count() == 4
