"""Rows without a time on Spark: an error that says what to do, or dropped, and counted once each."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from pyspark.errors import PythonException, StreamingQueryException

import eddy
import eddy.spark
from tests.sparks import Feed, equal, ids, spark, stream  # noqa: F401

SCHEMA = "ts long, id long, k long, s string"
KEYS = {"k": "int64", "s": "string"}
SAID = "no time (column 'ts' is NULL): pass bad=\"drop\" to eddy.spark.join or stream"
CASES = {
    "hash": (("range", 20), equal("A.k", "B.k", "C.k"), {}),
    "hypercube": (("range", 20), [*equal("A.s", "B.s"), *equal("B.k", "C.k")], {}),
    "windows of rows": (("rows", 9), [*equal("A.s", "B.s"), *equal("B.k", "C.k")], {}),
    "slices": (("range", 20), equal("A.k", "B.k", "C.k"), {"kind": "slices", "sample": 1.0}),
    "one partition": (("range", 20), equal("A.k", "B.k", "C.k"), {"partitions": 1}),
}


def with_bad(spark, given):  # noqa: F811
    """The frames of a feed, with rows between theirs that have no time: with keys that match, and without."""
    frames, bad = given.frames(spark), {"A": [3, None], "B": [None], "C": [1, 2, None]}
    made = {
        name: [(None, -1, k, None if k is None else f"key é{k}") for k in keys] for name, keys in bad.items()
    }
    return {
        name: spark.createDataFrame(rows, SCHEMA).union(frames[name]).repartition(3)
        for name, rows in made.items()
    }


@pytest.mark.parametrize("case", CASES)
def test_a_join_drops_rows_without_a_time_and_counts_each_once(spark, case):  # noqa: F811
    """However rows are dealt out and put in order: they count in no window, and results are those of the others."""
    window, where, options = CASES[case]
    given = Feed({name: stream(window, **KEYS) for name in "ABC"}, list(where)).fill(5)
    for name, rows in given.rows.items():  # no two rows of a stream at one time: their order would be Spark's
        given.rows[name] = [(2 * i, *row[1:]) for i, row in enumerate(rows)]
    frames, expected = with_bad(spark, given), given.expected()
    assert expected
    for packed in (True, False) if case == "hash" else (case != "slices",):
        made = {"partitions": 6, "packed": packed, **options}
        frame = eddy.spark.join(given.query, frames, bad="drop", **made)
        assert ids(frame) == expected
        counted = Counter({report.cell: report.bad for report in eddy.spark.reports(frame)})
        assert counted.total() == 6 and set(+counted) == {0}
        assert "6 without a time dropped" in eddy.spark.explain(frame)
    if case == "hash":
        with pytest.raises(PythonException) as caught:
            eddy.spark.join(given.query, frames, **made).collect()
        assert SAID in str(caught.value)


def test_a_partition_of_nothing_but_rows_without_a_time(spark):  # noqa: F811
    """It is counted as well, and has no results."""
    given = Feed({name: stream(("range", 5), **KEYS) for name in "ABC"}, equal("A.k", "B.k", "C.k")).fill(
        1, sizes=0
    )
    for packed in (True, False):
        frame = eddy.spark.join(given.query, with_bad(spark, given), 3, bad="drop", packed=packed)
        assert frame.count() == 0
        assert sum(report.bad for report in eddy.spark.reports(frame)) == 6


def lines(folder, number, *texts):
    """A file of JSON lines; what is no dict is written as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number}.json"
    path.write_text("".join((t if isinstance(t, str) else json.dumps(t)) + "\n" for t in texts))


def test_a_broken_line_does_not_stop_a_stream_for_ever(spark, tmp_path):  # noqa: F811
    """By default it is an error; started again with bad="drop" the query goes on from there, and counts such lines."""
    schema = {"ts": "int64", "id": "int64", "k": "int64"}
    query = eddy.Query(
        {name: eddy.Stream(schema, window=eddy.Range(10)) for name in "AB"},
        "A.k = B.k",
        ["A.id AS a", "B.id AS b"],
    )
    checkpoint = f"{tmp_path}/checkpoint"

    def run(**options):
        reader = spark.readStream.schema("ts long, id long, k long").option("maxFilesPerTrigger", 1)
        frames = {name: reader.json(str(tmp_path / name)) for name in "AB"}
        frame = eddy.spark.stream(query, frames, checkpoint, watermark=0, partitions=3, **options)
        writer = frame.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
        writer.format("parquet").start(f"{tmp_path}/out").awaitTermination()
        return frame

    for name in "AB":
        lines(tmp_path / name, 0, {"ts": 1, "id": 1, "k": 5}, {"ts": 2, "id": 2, "k": 6})
    run()
    lines(tmp_path / "A", 1, '{"ts": 3, "id"', {"ts": 4, "id": 3, "k": 5}, "garbage", {"id": 9, "k": 5})
    lines(tmp_path / "B", 1, {"ts": 4, "id": 3, "k": 5})
    with pytest.raises(StreamingQueryException) as caught:
        run()
    assert f"stream A: 3 rows of a partition have {SAID}" in str(caught.value)
    lines(tmp_path / "A", 2, "nothing but this")
    lines(tmp_path / "B", 2, "and this")
    frame = run(bad="drop")
    reports = eddy.spark.reports(frame)
    assert [(r.batch, r.bad) for r in reports if r.bad] == [(1, 3), (2, 2)]
    assert {report.cell for report in reports if report.batch == 2} == {0, 1, 2}
    assert "3 without a time dropped" in eddy.spark.explain(frame)
    lines(tmp_path / "A", 3, {"ts": 50, "id": 4, "k": 5})
    lines(tmp_path / "B", 3, {"ts": 50, "id": 4, "k": 5})
    run(bad="drop")
    found = Counter((row.a, row.b) for row in spark.read.parquet(f"{tmp_path}/out").collect())
    assert found == Counter([(1, 1), (2, 2), (1, 3), (3, 1), (3, 3), (4, 4)])


def test_what_bad_may_be(spark, tmp_path):  # noqa: F811
    """One of two words, for both doors."""
    given = Feed({name: stream(("range", 5), **KEYS) for name in "AB"}, equal("A.k", "B.k")).fill(1)
    for door in (
        lambda: eddy.spark.join(given.query, given.frames(spark), bad="skip"),
        lambda: eddy.spark.stream(given.query, given.frames(spark), tmp_path, bad="skip"),
    ):
        with pytest.raises(eddy.EddyError, match="'error' or 'drop', not 'skip'"):
            door()
