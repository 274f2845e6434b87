"""Spark: what partitions of eddies give together is what the oracle and a single engine give."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import Row
from pyspark.sql import functions as F

import eddy
import eddy.spark
from eddy import EddyError
from policies import Fixed, Mns, Routing
from tests.sparks import NAIVE, ZONED, Feed, S, equal, ids, spark, stream  # noqa: F401

ROOT = Path(__file__).parents[2]
KEYS = {"k": "int64", "s": "string"}


class Restless(Routing):
    """Another plan every 20 events."""

    period = 20

    def choose(self, statistics):
        return "stems" if statistics.plan != "stems" else "(A B) C"


def feed(*where, **streams):
    """A feed of streams A, B and C with the same columns, unless said otherwise."""
    return Feed({**{name: stream(**KEYS) for name in "ABC"}, **streams}, list(where))


def check(spark, given, **options):  # noqa: F811
    """The join of a feed has exactly the results of the oracle, packed or sorted; returns one of its frames."""
    frames, expected = given.frames(spark), given.expected()
    assert expected, "the feed has no results, so it shows nothing"
    for packed in (True, False):
        frame = eddy.spark.join(given.query, frames, packed=packed, **options)
        assert ids(frame) == expected
    return frame


def alone(given):
    """What a single engine gives."""
    result = eddy.Eddy(given.query).push_all({name: given.table(name) for name in given.streams})
    return sorted(zip(*result.to_pydict().values(), strict=True))


@pytest.mark.parametrize("partitions", [1, 2, 7, 16])
def test_one_key_is_hashed(spark, partitions):  # noqa: F811
    """One key joins all streams: NULLs match nothing, and any number of partitions gives the same."""
    given = feed(*equal("A.k", "B.k", "C.k")).fill(1)
    frame = check(spark, given, partitions=partitions)
    assert sorted(ids(frame).elements()) == alone(given)
    assert ("hash of" in eddy.spark.explain(frame)) == (partitions > 1)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT A.k + B.k AS n, UPPER(A.s) || '-' AS t FROM A [RANGE 12], B [RANGE 12] "
        "WHERE A.k = B.k AND A.s LIKE '%1'",
        "SELECT A.k % 2 AS odd, COUNT(DISTINCT B.s) + 1 AS n, MIN(A.s) AS m FROM A [RANGE 12], B [RANGE 12] "
        "WHERE A.k = B.k GROUP BY A.k % 2 HAVING COUNT(*) > 1",
        "SELECT A.k * 2 AS n FROM A [RANGE 12] WHERE A.k > 1",
    ],
    ids=["expressions", "groups", "one stream"],
)
def test_expressions(spark, statement):  # noqa: F811
    """What is computed of results, of groups and of one stream is what a single engine gives."""
    given = feed().fill(3)
    schemas = {name: eddy.Stream(given.streams[name].columns, time=given.streams[name].time) for name in "AB"}
    query = eddy.sql(statement, schemas)
    frames = {name: frame for name, frame in given.frames(spark).items() if name in query.names}
    result = eddy.Eddy(query).push_all({name: given.table(name) for name in query.names})
    expected = sorted(zip(*result.to_pydict(sign=query.signed).values(), strict=True), key=repr)
    assert expected
    assert sorted(map(tuple, eddy.spark.join(query, frames, partitions=3).collect()), key=repr) == expected


@pytest.mark.parametrize("partitions", [2, 12])
def test_several_keys_make_a_hypercube(spark, partitions):  # noqa: F811
    """Integers and texts with NULLs: each row goes where its keys say, and is copied where it has none."""
    given = feed(*equal("A.s", "B.s"), *equal("B.k", "C.k")).fill(2)
    frame = check(spark, given, partitions=partitions, routing=Restless(), feedback=Mns(), batch_size=16)
    told = eddy.spark.explain(frame)
    assert "hypercube" in told and "rows sent" in told
    reports = eddy.spark.reports(frame)
    assert sum(report.results for report in reports) == sum(given.expected().values())
    assert any(len(report.plans) > 1 for report in reports)


@pytest.mark.parametrize("kind", [None, "hypercube"])
def test_windows_of_rows_are_global(spark, kind):  # noqa: F811
    """Row numbers and low-water rows are found before rows are dealt out, ties and filtered rows included."""
    given = feed(
        *equal("A.k", "B.k"),
        *equal("B.s", "C.s"),
        ("!=", ("col", "A", "k"), ("lit", 3)),
        A=stream(("rows", 15), **KEYS),
        B=stream(("tumbling rows", 20), **KEYS),
    ).fill(3, span=25)
    check(spark, given, partitions=5, kind=kind)


def test_windows_of_rows_over_instants_without_zone(spark):  # noqa: F811
    """The same where time is a timestamp without a zone, across a change of clocks."""
    streams = {name: stream(("rows", 9), NAIVE, k="int64") for name in "AB"}
    check(spark, Feed(streams, equal("A.k", "B.k")).fill(4, sizes=150), partitions=3)


def test_time_is_cut_into_slices(spark):  # noqa: F811
    """A result belongs to the slice of its latest event; slices are chosen by a sample."""
    given = feed(*equal("A.s", "B.s"), *equal("B.k", "C.k"), C=stream(("tumbling time", 10), **KEYS)).fill(5)
    frame = check(spark, given, partitions=4, kind="slices", sample=1.0)
    assert "slices of time: 4 cells" in eddy.spark.explain(frame)


@pytest.mark.parametrize("options", [{}, {"kind": "slices", "sample": 1.0}])
def test_without_a_key(spark, options):  # noqa: F811
    """A theta join: rows of one stream are cut, those of the other copied; or time is."""
    where = [("<", ("col", "A", "k"), ("col", "B", "k")), ("=", ("col", "A", "b"), ("lit", True))]
    streams = {"A": stream(("range", 4), k="int64", b="bool"), "B": stream(("range", 6), k="int64")}
    check(spark, Feed(streams, where).fill(6), partitions=4, **options)


def test_keys_of_different_types(spark):  # noqa: F811
    """2.0 equals 2: keys that Spark would hash differently are dealt out in Python."""
    given = feed(
        *equal("A.f", "B.k"), *equal("B.s", "C.s"), A=stream(f="float64"), B=stream(k="int16", s="string")
    ).fill(7)
    check(spark, given, partitions=6)


def test_instants_have_zones(spark):  # noqa: F811
    """Times with zones, in a session of another zone, keys and outputs included."""
    streams = {
        "A": stream(("range", 12), ZONED, k="int64", t=ZONED),
        "B": stream(("range", 5), "timestamp[ns, UTC]", k="int64", t="timestamp[ms, UTC]"),
    }
    given = Feed(streams, equal("A.k", "B.k") + equal("A.t", "B.t")).fill(8, sizes=200, keys=4)
    check(spark, given, partitions=3)
    query = eddy.Query(
        {n: eddy.Stream(s.columns, window=eddy.Range("1 hour")) for n, s in streams.items()}, ["A.k = B.k"]
    )
    frame = eddy.spark.join(query, given.frames(spark), partitions=2)
    single = eddy.Eddy(query).push_all({name: given.table(name) for name in streams}).to_arrow()
    order = [(name, "ascending") for name in single.schema.names]
    assert frame.toArrow().cast(single.schema).sort_by(order).equals(single.sort_by(order))
    assert dict(frame.dtypes)["A.t"] == "timestamp"


def test_naive_instants_stay_naive(spark):  # noqa: F811
    """Timestamps without a zone, in the hour that clocks in the session's zone may skip."""
    streams = {name: stream(("range", 3), NAIVE, k="int64", t=NAIVE) for name in "AB"}
    given = Feed(streams, equal("A.k", "B.k")).fill(9, span=40)
    check(spark, given, partitions=3)
    query = eddy.Query(
        {n: eddy.Stream(s.columns, window=eddy.Range("1 hour")) for n, s in streams.items()}, ["A.t = B.t"]
    )
    frame = eddy.spark.join(query, given.frames(spark), partitions=4)
    single = eddy.Eddy(query).push_all({name: given.table(name) for name in streams}).to_arrow()
    order = [(name, "ascending") for name in single.schema.names]
    assert len(single) and frame.toArrow().cast(single.schema).sort_by(order).equals(single.sort_by(order))
    assert dict(frame.dtypes)["A.t"] == "timestamp_ntz"


def test_a_static_relation_is_older_than_everything(spark):  # noqa: F811
    """Its rows come first, whatever is partitioned by."""
    given = feed(*equal("A.k", "B.k"), *equal("B.s", "C.s"), C=S({"id": "int64", "s": "string"})).fill(10)
    given.static = ("C",)
    check(spark, given, partitions=4)


def test_without_times(spark):  # noqa: F811
    """Where nothing ever leaves its window, no order is needed."""
    streams = {name: S({"id": "int64", "k": "int64"}) for name in "AB"}
    check(spark, Feed(streams, equal("A.k", "B.k")).fill(11), partitions=3)


def test_a_heavy_key_has_partitions_of_its_own(spark):  # noqa: F811
    """Most rows have one key, which a sample shows; no partition gets nearly all of them."""
    for seed, where in ((12, equal("A.k", "B.k", "C.k")), (13, equal("A.s", "B.s", "C.s"))):
        given = feed(*where).fill(seed, sizes=90, span=300, skew=0.7)
        plain = check(spark, given, partitions=8)
        spread = check(spark, given, partitions=8, sample=1.0, kind="hash")
        assert "heavy" in eddy.spark.explain(spread)
        fullest = [max(sum(r.rows.values()) for r in eddy.spark.reports(f)) for f in (plain, spread)]
        assert fullest[1] < 0.75 * fullest[0]


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("sizes", [[0, 0, 0], [40, 0, 40], [1, 1, 1]])
def test_empty_streams_and_partitions(spark, sizes, packed):  # noqa: F811
    """No rows, no results, no error; the columns have their types all the same."""
    given = feed(*equal("A.k", "B.k", "C.k")).fill(14, sizes=sizes, nulls=0, keys=1, span=1)
    frame = eddy.spark.join(given.query, given.frames(spark), partitions=5, packed=packed)
    assert frame.columns == ["A", "B", "C"] and ids(frame) == given.expected()


@pytest.mark.parametrize("form", ["json", "created"])
@pytest.mark.parametrize("kind", ["hash", "hypercube", "slices"])
def test_the_estimate_of_a_join_is_in_rows_or_says_that_it_is_not(spark, tmp_path, kind, form):  # noqa: F811
    """Files have bytes and no row counts: these are never shown as rows. A sample shows how many rows there are."""
    where = equal("A.k", "B.k", "C.k") if kind == "hash" else [*equal("A.s", "B.s"), *equal("B.k", "C.k")]
    given = Feed({name: stream(("range", 20), **KEYS) for name in "ABC"}, list(where))
    frames = given.fill(3, sizes=2_000, span=400, keys=4_000).frames(spark)
    if form != "created":
        for name, frame in frames.items():
            frame.write.format(form).save(str(tmp_path / name))
        frames = {
            n: spark.read.schema("ts long, id long, k long, s string")
            .format(form)
            .load(str(Path(tmp_path) / n))
            for n in "ABC"
        }
    options = {"partitions": 4} if kind != "slices" else {"partitions": 4, "kind": kind, "sample": 0.2}
    for sample in {options.get("sample"), 0.2}:
        frame = eddy.spark.join(given.query, frames, **{**options, "sample": sample})
        frame.count()
        told = eddy.spark.explain(frame)
        sent = sum(sum(report.rows.values()) for report in eddy.spark.reports(frame))
        line = next(line for line in told.splitlines() if line.startswith("  estimated"))
        if sample is None and form == "json":
            assert line.startswith("  estimated by bytes: ") and "rows" not in line
        else:
            assert 0.5 < int(line.split()[1].replace(",", "")) / sent < 2


def test_nothing_runs_before_it_is_asked_for(spark):  # noqa: F811
    """A join is a transformation: no job, until an action."""
    given = feed(*equal("A.k", "B.k", "C.k"), A=stream(("rows", 9), **KEYS)).fill(15)
    frames = given.frames(spark)
    context = spark.sparkContext
    context.setJobGroup("lazy", "no job here")
    frame = eddy.spark.join(given.query, frames, partitions=3)
    assert not context.statusTracker().getJobIdsForGroup("lazy")
    assert "not computed yet" in eddy.spark.explain(frame)
    assert frame.count() == sum(given.expected().values())
    assert context.statusTracker().getJobIdsForGroup("lazy")
    context.setJobGroup("", "")


def test_what_is_done_with_it_later_does_not_matter(spark):  # noqa: F811
    """Fewer tasks than cells, or a union, where a task's number is not its cell's."""
    given = feed(*equal("A.s", "B.s"), *equal("B.k", "C.k")).fill(16)
    frame = eddy.spark.join(given.query, given.frames(spark), partitions=4)
    assert ids(frame.coalesce(1)) == given.expected()
    twice = ids(frame.union(frame))
    assert twice == given.expected() + given.expected()
    assert ids(frame.where("A < 30").select("A", "B", "C")).total() == sum(
        n for found, n in given.expected().items() if found[0] < 30
    )


def test_differences_and_aggregates_give_their_changes(spark):  # noqa: F811
    """They run in one partition, and have the signs that an engine gives."""
    streams = {n: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(5)) for n in "AB"}
    random = np.random.default_rng(17)
    tables = {
        n: pa.table({"ts": np.sort(random.integers(0, 50, 40)), "k": random.integers(0, 4, 40)}) for n in "AB"
    }
    frames = {name: spark.createDataFrame(table) for name, table in tables.items()}
    for query in (
        eddy.Query(streams, minus={"B": "A.k = B.k"}),
        eddy.Query(streams, ["A.k = B.k"], group_by="A.k", aggregates={"n": "COUNT(*)"}),
    ):
        single = eddy.Eddy(query).push_all(tables).to_arrow(sign=True)
        order = [(name, "ascending") for name in single.schema.names]
        for packed in (True, False):
            frame = eddy.spark.join(query, frames, partitions=4, packed=packed)
            assert frame.toArrow().cast(single.schema).sort_by(order).equals(single.sort_by(order))
            assert len(single) and "is not dealt out" in eddy.spark.explain(frame)


@pytest.mark.parametrize("form", ["rows", "tuples", "dicts", "arrow"])
def test_partitions_of_an_rdd(spark, form):  # noqa: F811
    """The driver takes rows, tuples, dicts and tables, and gives results in kind."""
    given = Feed({n: stream(k="int64") for n in "AB"}, equal("A.k", "B.k")).fill(18)
    names = {name: list(s.columns) for name, s in given.streams.items()}
    events = given.events()
    if form == "arrow":
        whole = eddy.Eddy(given.query)
        items = []
        for time in sorted({row[0] for _, row in events}):
            for name in given.streams:
                table = given.table(name)
                items.append((name, table.filter(pa.compute.equal(table["ts"], time))))
        del whole
    elif form == "dicts":
        items = [(name, dict(zip(names[name], row, strict=True))) for name, row in events]
    elif form == "rows":
        items = [(name, Row(**dict(zip(names[name], row, strict=True)))) for name, row in events]
    else:
        items = events
    tally = eddy.spark.report.tally(spark.sparkContext)
    found = (
        spark.sparkContext.parallelize(items, 1)
        .mapPartitions(eddy.spark.driver(given.query, plan="B A", routing=Fixed(), tally=tally, batch_size=7))
        .collect()
    )
    if form == "arrow":
        found = [row for batch in found for row in batch.to_pylist()]
    as_tuples = [tuple(row.values()) if isinstance(row, dict) else tuple(row) for row in found]
    assert sorted(as_tuples) == sorted(given.expected().elements())
    (report,) = eddy.spark.report.reports(tally)
    assert report.rows == {"A": 60, "B": 60} and report.results == len(found)


def test_what_is_wrong_is_said_at_once(spark):  # noqa: F811
    """On the driver, before any job, with what to do about it."""
    given = Feed({n: stream(time=ZONED, k="int64") for n in "AB"}, equal("A.k", "B.k")).fill(19)
    frames, query = given.frames(spark), given.query
    for change, said in (
        (lambda: eddy.spark.join(query, {"A": frames["A"]}), "no DataFrame for stream B"),
        (lambda: eddy.spark.join(query, {**frames, "D": frames["A"]}), "no stream 'D'"),
        (lambda: eddy.spark.join(query, {**frames, "B": frames["B"].drop("k")}), "no column 'k'"),
        (
            lambda: eddy.spark.join(query, {**frames, "B": frames["B"].withColumn("k", F.lit("x"))}),
            "declared int64, and in the DataFrame it is string",
        ),
        (
            lambda: eddy.spark.join(query, {**frames, "B": frames["B"].withColumn("ts", F.lit(0))}),
            "cast it to timestamp",
        ),
        (lambda: eddy.spark.join(query, frames, plan="A D"), "D"),
        (lambda: eddy.spark.join(query, frames, retractions=True), "retractions"),
        (lambda: eddy.spark.join(query, frames, speed=9), "speed"),
        (lambda: eddy.spark.join(query, frames, kind="round"), "round"),
        (lambda: eddy.spark.explain(frames["A"]), "not one of eddy.spark"),
        (lambda: eddy.spark.driver(query, routing=Fixed), "pass an instance"),
    ):
        with pytest.raises(EddyError, match=said):
            change()
    rows = Feed({n: S({"id": "int64", "k": "int64"}, ("rows", 3)) for n in "AB"}, equal("A.k", "B.k")).fill(
        20
    )
    with pytest.raises(EddyError, match="counts rows, and a DataFrame has no order"):
        eddy.spark.join(rows.query, rows.frames(spark))


def test_the_library_does_not_load_spark():
    """`import eddy` is quick, and `eddy.spark` too: PySpark is loaded when something of it is called."""
    code = "import sys, eddy; eddy.spark.join; assert 'pyspark' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr


def test_a_session_does_not_weigh_batches_and_its_file_manager_exists(spark):  # noqa: F811
    """Spark leaves out the limit in bytes only if it is exactly this number; its classes move between versions."""
    assert spark.conf.get("spark.sql.execution.arrow.maxBytesPerBatch") == str(2**31 - 1)
    manager = spark.conf.get("spark.sql.streaming.checkpointFileManagerClass")
    assert spark._jvm.java.lang.Class.forName(manager).getName() == manager
