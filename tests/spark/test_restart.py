"""A streaming join that is started again: state goes by name, and never on with another query."""

from __future__ import annotations

import json
import shutil
from collections import Counter

import attrs
import pytest

import eddy
import eddy.spark
from eddy import StateError
from eddy.spark import live, streaming
from eddy.spark.identity import Identity, identified
from eddy.spark.state import Store
from policies import Routing
from tests.spark.test_crash import Failing, Stopped, attempt, job_of, micro_batches
from tests.spark.test_stream import SCHEMA, arrivals, feed, run, sources, write
from tests.sparks import Feed, equal, ids, spark, stream  # noqa: F401

PARTITIONS = [(2, 2, 2), (2, 3, 1), (1, 2, 4)]


class Restless(Routing):
    """Another plan every 20 events."""

    period = 20

    def choose(self, statistics):
        return "stems" if statistics.plan != "stems" else "(A B) C"


def turned(query):
    """The same query with its streams, and the columns of each, declared the other way round."""
    streams = {
        name: eddy.Stream(
            dict(reversed(query.streams[name].columns.items())),
            window=query.streams[name].window,
            time=query.streams[name].time,
        )
        for name in reversed(query.names)
    }
    select = [f"{output.stream}.{output.column} AS {output.name}" for output in query.select]
    return eddy.Query(streams, reversed([str(predicate) for predicate in query.predicates]), select)


def rewritten(query):
    """The same query with its equalities the other way round, the last one first."""
    where = [" = ".join(reversed(str(predicate).split(" = "))) for predicate in reversed(query.predicates)]
    select = [f"{output.stream}.{output.column} AS {output.name}" for output in query.select]
    return eddy.Query(query.streams, where, select)


def turns(base, given, files=2):
    """Write the rows of a feed in three parts, one each time this goes on."""
    tables = arrivals(given)
    for turn in range(3):
        part = {
            name: table.slice(len(table) * turn // 3, len(table) * (turn + 1) // 3 - len(table) * turn // 3)
            for name, table in tables.items()
        }
        write(base, part, files, first=10 * turn, last=turn == 2)
        yield turn


def query(window=20, where=("A.k = B.k",), select=("A.id AS a", "B.id AS b"), **kinds):
    """A query of two streams, of which any part can be another."""
    columns = {"ts": "int64", "id": "int64", "k": "int64", "s": "string", **kinds}
    return eddy.Query({n: eddy.Stream(columns, window=eddy.Range(window)) for n in "AB"}, where, select)


def pair(base, seed):
    """A feed of two streams, written."""
    given = Feed({n: stream(("range", 20), k="int64", s="string") for n in "AB"}, equal("A.k", "B.k"))
    given.fill(seed, sizes=40)
    write(base, arrivals(given), 2)
    return given


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_state_goes_by_name(spark, tmp_path, partitions):  # noqa: F811
    """Streams, columns, predicates and DataFrames in another order are the same query, dealt out anew or not."""
    given = feed().fill(61, sizes=180, span=150)
    for turn in turns(tmp_path, given):
        frames = sources(spark, tmp_path, SCHEMA)
        asked = given.query
        if turn == 1:
            asked, frames = turned(asked), dict(reversed(frames.items()))
        run(spark, tmp_path, asked, frames, partitions=partitions[turn])
    assert ids(spark.read.parquet(f"{tmp_path}/out").select("A", "B", "C")) == given.expected()
    assert given.expected().total() > 100


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_conditions_may_be_written_the_other_way_round(spark, tmp_path, partitions):  # noqa: F811
    """`B.s = A.s` for `A.s = B.s`, and the last one first: the same query, dealt out anew or not."""
    given = feed().fill(60, sizes=180, span=150)
    for turn in turns(tmp_path, given):
        asked = rewritten(given.query) if turn == 1 else given.query
        run(spark, tmp_path, asked, sources(spark, tmp_path, SCHEMA), partitions=partitions[turn])
    assert ids(spark.read.parquet(f"{tmp_path}/out").select("A", "B", "C")) == given.expected()
    assert given.expected().total() > 100


def test_what_says_the_same_is_dealt_out_the_same_way(tmp_path):
    """Key classes keep their numbers and their columns, so that no state is dealt out anew for nothing."""

    def made(where):
        columns = {"ts": "int64", "k": "int64", "j": "int64"}
        return eddy.Query({n: eddy.Stream(columns, window=eddy.Range(9)) for n in "ABC"}, where)

    store, one = Store(str(tmp_path)), made(["A.k = B.k", "A.k = B.j", "B.k = C.k", "A.j = C.j"])
    identity = identified(store, one, {})
    store.describe(identity.text)
    (tmp_path / "metadata").write_text("{}")
    for where in (
        ["C.j = A.j", "B.j = A.k", "C.k = B.j", "A.k = B.k"],
        ["A.k = C.k AND C.k = B.k AND C.k = B.j", "A.j = C.j"],
    ):
        found = identified(store, made(where), {})
        assert list(map(str, found.query.key_classes)) == list(map(str, one.key_classes))
        assert found.digest == identity.digest and not found.new
    with pytest.raises(StateError, match=r"only the checkpoint has the predicate A\.k = B\.j"):
        identified(store, made(["A.k = B.k", "B.k = C.k", "A.j = C.j"]), {})


def test_dataframes_in_another_order_keep_what_was_read_of_them(spark, tmp_path):  # noqa: F811
    """Spark numbers its sources by their places in the plan: the order of a dict must not exchange them."""
    given = feed().fill(62, sizes=120, span=100)
    for turn in turns(tmp_path, given):
        frames = sources(spark, tmp_path, SCHEMA)
        frames = dict(reversed(frames.items())) if turn == 1 else frames
        run(spark, tmp_path, given.query, frames, partitions=2)
    assert ids(spark.read.parquet(f"{tmp_path}/out")) == given.expected()


def test_a_query_without_select_may_be_declared_in_another_order(spark, tmp_path):  # noqa: F811
    """Results are the same by the names of their columns."""
    given = pair(tmp_path, 63)
    streams = query().streams
    found = []
    for names in ("AB", "BA"):
        asked = eddy.Query({name: streams[name] for name in names}, "A.k = B.k")
        run(spark, tmp_path, asked, sources(spark, tmp_path, SCHEMA), lambda f, n: found.append(f.columns))
        write(tmp_path, {name: given.table(name).slice(0, 1) for name in "AB"}, 1, first=20)
    assert [columns[0] for columns in found[:1] + found[-1:]] == ["A.ts", "B.ts"]


CHANGES = {
    "window": (query(25), "the window of A is Range(25)"),
    "filter": (query(where=("A.k = B.k", "A.id > 17")), "only it has the predicate A.id > 17"),
    "no key": (query(where="A.k < B.k"), "only it has the predicate A.k < B.k"),
    "key": (query(where="A.id = B.id"), "only it has the predicate A.id = B.id"),
    "select": (
        query(select=("A.id AS a", "B.k AS b")),
        "it selects A.id AS a, B.k AS b, the checkpoint A.id",
    ),
    "names": (query(select=("A.id AS a", "B.id AS c")), "it selects A.id AS a, B.id AS c"),
    "type": (query(id="int32"), "column A.id is int32, in the checkpoint it is int64"),
    "time": (
        eddy.Query(
            {n: eddy.Stream(s.columns, s.window, "id") for n, s in query().streams.items()},
            "A.k = B.k",
            ["A.id AS a", "B.id AS b"],
        ),
        "the time of A is id, in the checkpoint it is ts",
    ),
    "stream": (
        eddy.Query(
            {{"B": "C"}.get(n, n): s for n, s in query().streams.items()},
            "A.k = C.k",
            ["A.id AS a", "C.id AS b"],
        ),
        "its streams are A, C, the checkpoint's A, B",
    ),
}


def test_another_query_is_refused(spark, tmp_path):  # noqa: F811
    """With as many partitions or others, in the session whose workers still hold engines: before anything runs."""
    pair(tmp_path, 64)
    frames = sources(spark, tmp_path, SCHEMA)
    place = f"{tmp_path}/checkpoint"
    run(spark, tmp_path, query(), frames, partitions=2)
    files = sorted(str(path) for path in (tmp_path / "checkpoint").rglob("*"))
    for asked, said in CHANGES.values():
        given = {name: frames.get(name, frames["B"]) for name in asked.names}
        for partitions in (2, 3):
            with pytest.raises(StateError) as caught:
                eddy.spark.stream(asked, given, place, watermark=9, partitions=partitions)
            told = str(caught.value)
            assert said in told and place in told and "a checkpoint of its own" in told
    assert files == sorted(str(path) for path in (tmp_path / "checkpoint").rglob("*"))
    unread = query(more="float64")  # what is not read may come and go
    eddy.spark.stream(unread, frames, place, watermark=9, partitions=2)


def test_where_rows_are_counted_the_order_of_streams_is_part_of_the_query(spark, tmp_path):  # noqa: F811
    """Rows of one time go in the order of declaration, and then it matters which came first."""
    pair(tmp_path, 65)
    frames = sources(spark, tmp_path, SCHEMA)
    streams = {name: eddy.Stream(s.columns, window=eddy.Rows(3)) for name, s in query().streams.items()}
    run(spark, tmp_path, eddy.Query(streams, "A.k = B.k", "A.id"), frames)
    other = eddy.Query(dict(reversed(streams.items())), "A.k = B.k", "A.id")
    with pytest.raises(StateError, match="its streams are B, A, the checkpoint's A, B"):
        eddy.spark.stream(other, frames, f"{tmp_path}/checkpoint", watermark=9)


def test_an_engine_of_another_call_does_not_go_on(tmp_path):
    """A worker may still hold one, with the policies of the call before, or its query: it takes the state instead."""
    given = feed().fill(66, sizes=180, span=150)
    job = attrs.evolve(job_of(given, tmp_path, 1), call="first")
    other = attrs.evolve(job, call="second", options={"batch_size": 16, "routing": Restless()})
    Store(job.checkpoint).create()
    found, held = Counter(), []
    live.WARM.clear()
    for number, blocks in enumerate(micro_batches(given, job, [0, 40, 80, 120, 10**6])):
        found += attempt((job, job, other, other)[number], number, blocks, fresh=False)
        held.append(next(iter(live.WARM.values()))[-1])
    assert held[0] is held[1] is not held[2] is held[3]
    assert type(held[2].routing) is Restless and held[2].statistics().migrations
    assert found.total() > 100


def test_the_last_call_decides_what_a_new_checkpoint_is_for(spark, tmp_path):  # noqa: F811
    """Until a query is started, another may take its place; what an earlier call returned does not run then."""
    pair(tmp_path, 67)
    frames = sources(spark, tmp_path, SCHEMA)
    place = f"{tmp_path}/checkpoint"
    first = eddy.spark.stream(query(25), frames, place, watermark=9)
    second = eddy.spark.stream(query(), frames, place, watermark=9)

    def start(frame):
        writer = frame.writeStream.option("checkpointLocation", place).trigger(availableNow=True)
        writer.format("noop").start().awaitTermination()

    with pytest.raises(Exception, match="start what the last call returned"):
        start(first)
    start(second)
    write(tmp_path, arrivals(feed().fill(68, sizes=10)), 1, first=30)
    with pytest.raises(Exception, match="start what the last call returned"):
        start(first)


def test_state_without_a_description_is_checked_cell_by_cell(spark, tmp_path):  # noqa: F811
    """As older versions left it: the same query goes on, another is refused, dealt out anew or not."""
    given = feed().fill(69, sizes=120, span=100)
    description = tmp_path / "checkpoint" / "eddy" / "query.json"
    for turn in turns(tmp_path, given):
        frames = sources(spark, tmp_path, SCHEMA)
        if turn:
            description.unlink(missing_ok=True)
        if turn == 1:
            wide = feed(A=stream(("range", 30), k="int64", s="string")).query
            for partitions in (2, 3):
                with pytest.raises(Exception, match="the window of A is"):
                    run(spark, tmp_path, wide, frames, partitions=partitions)
        run(spark, tmp_path, given.query, frames, partitions=(2, 3, 3)[turn])
    assert not description.exists()
    assert ids(spark.read.parquet(f"{tmp_path}/out")) == given.expected()


@pytest.mark.parametrize("planned", [True, False], ids=["planned", "only looked for"])
def test_a_first_micro_batch_of_an_older_version_is_run_again(spark, tmp_path, monkeypatch, planned):  # noqa: F811
    """Killed before it was committed: Spark has numbered the sources by then, as the dict of those days had them."""
    given = feed().fill(59, sizes=120, span=100)
    description = tmp_path / "checkpoint" / "eddy" / "query.json"

    def killed(frame, number):
        frame.count()
        raise RuntimeError("killed")

    for turn in turns(tmp_path, given):
        frames = dict(reversed(sources(spark, tmp_path, SCHEMA).items()))
        if turn == 0:
            with monkeypatch.context() as patched:
                older = lambda store, query, frames: Identity(query, dict(frames), b"", False)  # noqa: E731
                patched.setattr(streaming, "identified", older)
                with pytest.raises(Exception, match="killed"):
                    run(spark, tmp_path, given.query, frames, killed, partitions=2)
            assert not description.exists() and (tmp_path / "checkpoint" / "offsets" / "0").exists()
            if not planned:
                shutil.rmtree(tmp_path / "checkpoint" / "offsets")
        run(spark, tmp_path, given.query, frames, partitions=2)
    assert not description.exists()
    assert ids(spark.read.parquet(f"{tmp_path}/out")) == given.expected()


@pytest.mark.parametrize("after", [False, True], ids=["before a step", "after it"])
def test_a_crash_while_the_query_is_described(tmp_path, after):
    """Whatever step it stops at, the description is whole or not there."""
    whole = json.dumps({"streams": "many"}).encode()
    for at in range(1, 9):
        store = Store(f"{tmp_path}/{at}")
        files, store._files = store._files, Failing(store._files, at, after)
        try:
            store.describe(whole)
            break
        except Stopped:
            store._files = files
            assert store.described() in (None, whole)
            store.describe(whole)
            assert store.described() == whole
    assert 2 < at < 8
