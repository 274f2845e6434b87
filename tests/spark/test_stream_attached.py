"""Outer, semi, anti and as-of joins of streaming DataFrames: what one engine gives, over restarts too."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import eddy
import eddy.spark
from eddy import EddyError, StateError
from tests.spark.test_attached import alone, made
from tests.spark.test_stream import run, sources, write
from tests.sparks import spark  # noqa: F401

SCHEMA = "ts long, id long, k long, s string"
DISORDER = 5


def tables(seed, n=160):
    """Rows in order of time, no two of a stream at one, with NULLs among the keys."""
    random = np.random.default_rng(seed)
    found = {}
    for name in "ABC":
        keys = [None if key == 0 else key for key in random.integers(0, 9, n).tolist()]
        texts = [None if key is None else f"é{key}" for key in keys]
        times = np.sort(random.choice(2 * n, n, replace=False))
        columns = {"ts": times, "id": np.arange(n), "k": pa.array(keys, pa.int64()), "s": pa.array(texts)}
        found[name] = pa.table(columns)
    return found


def shaken(given, seed=0):
    """The same rows as they arrive, out of order by less than the delay."""
    random = np.random.default_rng(seed)
    return {
        name: table.take(
            pa.array(
                np.argsort(table["ts"].to_numpy() + random.integers(0, DISORDER, len(table)), kind="stable")
            )
        )
        for name, table in given.items()
    }


def half(given, turn):
    """The first half of all rows, or the second."""
    return {n: t.slice(turn * (len(t) // 2), None if turn else len(t) // 2) for n, t in given.items()}


CASES = {
    "outer": (made(eddy.LeftJoin("C", "A.k = C.k"), "A.k = B.k"), 3),
    "two outer, texts": (
        made([eddy.FullJoin("B", "A.s = B.s"), eddy.LeftJoin("C", ["A.s = C.s", "A.id < C.id"])]),
        2,
    ),
    "as of, in one partition": (
        made([eddy.LeftJoin("B", "A.k = B.k"), eddy.LeftAsofJoin("C", ["B.s = C.s", "B.ts >= C.ts"])]),
        1,
    ),
    "anti": (made(eddy.AntiJoin("C", "A.k = C.k"), "A.k = B.k", select=["A.id AS a", "B.id AS b"]), 2),
    "changes": (made(eddy.LeftJoin("C", "A.k = C.k"), "A.k = B.k", changes=True), 1),
}


@pytest.mark.parametrize("case", CASES)
def test_a_stream_gives_what_one_engine_gives(spark, tmp_path, case):  # noqa: F811
    """Rows out of order, a restart with another plan, rows without a partner at the end of their window."""
    query, cells = CASES[case]
    given = tables(5)
    for turn, plan in enumerate((None, None if case.startswith(("two", "as")) else "B A")):
        write(tmp_path, half(shaken(given), turn), 2, first=10 * turn, last=turn == 1)
        frames = sources(spark, tmp_path, SCHEMA)
        frame = run(
            spark, tmp_path, query, frames, partitions=None if turn else 3, plan=plan, watermark=DISORDER
        )
        assert {report.cell for report in eddy.spark.reports(frame)} == set(range(3 if cells > 1 else 1))
    found = spark.read.parquet(f"{tmp_path}/out").toArrow().to_pydict()
    expected = alone(query, given)
    assert expected.total() > 50
    assert Counter(zip(*found.values(), strict=True)) == expected


def test_the_number_of_partitions_stays(spark, tmp_path):  # noqa: F811
    """Who had a partner cannot be dealt out anew: another number is refused before anything runs."""
    query, _ = CASES["outer"]
    write(tmp_path, half(shaken(tables(6)), 0), 1, last=False)
    frames = sources(spark, tmp_path, SCHEMA)
    run(spark, tmp_path, query, frames, partitions=2, watermark=DISORDER)
    with pytest.raises(StateError, match="of 2 partitions, and with LEFT JOIN C it cannot be dealt out to 3"):
        eddy.spark.stream(query, frames, f"{tmp_path}/checkpoint", partitions=3, watermark=DISORDER)
    static = eddy.Query(
        {**query.streams, "D": eddy.Stream({"k": "int64"}, static=True)},
        "A.k = B.k",
        attach=[eddy.LeftJoin("C", "A.k = C.k"), eddy.LeftJoin("D", "A.k = D.k")],
    )
    with pytest.raises(EddyError, match="stream D is static"):
        eddy.spark.stream(static, dict.fromkeys("ABCD"), tmp_path, watermark=5)
