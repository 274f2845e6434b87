"""`eddy.run`: a query over sources gives what the oracle gives, whatever the rows come from and go to."""

from __future__ import annotations

import asyncio
import random
import time

import pyarrow as pa
import pytest

import eddy
from tests.faults.outs import counted as tallied
from tests.faults.shapes import Shape
from tests.runs import QUERY, counted, expected, feed, read, write

ENDINGS = [".parquet", ".csv", ".jsonl", ".arrow"]


@pytest.mark.parametrize("seed", range(24))
def test_the_results_are_those_of_the_oracle(seed, tmp_path):
    """Formats, one file or several, sizes of batches, disorder, and what is said of it, change nothing."""
    pick = random.Random(seed)
    disorder = pick.choice([0, 0, 3, 50])
    tables = feed(seed, disorder=disorder)
    sources = {}
    for name, table in tables.items():
        ending = pick.choice(ENDINGS)
        cut = pick.randrange(table.num_rows) if pick.random() < 0.5 else 0
        (tmp_path / name).mkdir()
        for number, part in enumerate([table.slice(0, cut), table.slice(cut)] if cut else [table]):
            write(part, tmp_path / name / f"{number}{ending}")
        schema = {
            column: str(kind) for column, kind in zip(table.schema.names, table.schema.types, strict=True)
        }
        where = pick.choice([tmp_path / name, tmp_path / name / f"*{ending}"])
        sources[name] = eddy.source(where, schema=pick.choice([None, schema]))
    ending = pick.choice([*ENDINGS, "/"])
    out = tmp_path / f"out{ending}"
    lateness = pick.choice([None, disorder, 60])
    outcome = eddy.run(
        QUERY, sources, f"{tmp_path}/out{ending}", batch=pick.choice([1, 7, 50, 1000]), lateness=lateness
    )
    wanted = expected(tables)
    assert counted(read(out)) == wanted
    assert outcome.results == wanted.total()
    assert outcome.rows == {name: table.num_rows for name, table in tables.items()}
    assert outcome.ended == "end" and not outcome.bad and not outcome.late


def test_without_a_sink_results_are_collected():
    """As Arrow, pandas and polars; and a query runs by itself."""
    tables = feed(1)
    outcome = eddy.run(QUERY, tables)
    assert counted(outcome.to_arrow()) == expected(tables)
    assert len(outcome.to_pandas()) == len(outcome.to_polars()) == outcome.results
    schemas = {name: eddy.Stream(table.schema) for name, table in tables.items()}
    assert counted(eddy.sql(QUERY, schemas).run(tables).to_arrow()) == expected(tables)


def test_frames_dicts_and_iterables_are_sources():
    """Whatever `push` takes."""
    tables = feed(2)
    batches = (tables["C"].slice(start, 13) for start in range(0, 120, 13))
    sources = {"A": tables["A"].to_pandas(), "B": tables["B"].to_pydict(), "C": batches}
    sources["A"]["k"] = sources["A"]["k"].astype("Int64")
    assert counted(eddy.run(QUERY, sources, lateness=0).to_arrow()) == expected(tables)


def test_what_arun_yields_is_the_same():
    """Each push's results, while the program does other things."""
    tables = feed(3)

    async def collected():
        return [result.to_arrow() async for result in eddy.arun(QUERY, tables, batch=16)]

    parts = asyncio.run(collected())
    assert len(parts) > 1
    assert counted(pa.concat_tables(parts)) == expected(tables)


@pytest.mark.parametrize("all_of_it", [True, False])
def test_arun_keeps_bad_rows(tmp_path, all_of_it):
    """In sinks that commit in two steps, too, and when nobody asks for more results."""
    times = [None if number == 1 else number for number in range(20)]
    source = ({"ts": pa.array(times[start : start + 4], pa.int64())} for start in range(0, 20, 4))

    async def collected():
        results = eddy.arun("SELECT ts FROM t [ROWS 1]", {"t": source}, bad=f"keep:{tmp_path}/bad/")
        found = []
        async for result in results:
            found += result.to_arrow().column(0).to_pylist()
            if not all_of_it and len(found) > 6:
                break
        await results.aclose()
        return found

    found = asyncio.run(collected())
    assert found == [ts for ts in range(20) if ts != 1][: len(found)] and (len(found) == 19) is all_of_it
    assert read(tmp_path / "bad").column("row").to_pylist() == [2]


def test_a_limit_gives_so_many_results():
    """And then the run is over."""
    tables = feed(4)
    outcome = eddy.run(QUERY, tables, batch=16, limit=7)
    assert (outcome.results, outcome.ended, outcome.to_arrow().num_rows) == (7, "limit", 7)
    assert not counted(outcome.to_arrow()) - expected(tables)


def test_without_a_time_rows_come_in_turns():
    """The first row of each source, then the second of each; whatever the batches, as `push_all` has it."""
    tables = {name: table.drop_columns(["ts"]) for name, table in feed(5).items()}
    tables["C"] = tables["C"].slice(0, 50)
    query = QUERY.replace("RANGE", "ROWS")
    schemas = {name: eddy.Stream(table.schema) for name, table in tables.items()}
    wanted = eddy.Eddy(eddy.sql(query, schemas)).push_all(tables).to_arrow()
    for batch in (1, 7, 1000):
        assert counted(eddy.run(query, tables, batch=batch).to_arrow()) == counted(wanted)
    assert wanted.num_rows


def test_a_static_stream_comes_first():
    """All of it, whatever time the others have."""
    facts = {"k": [1, 2], "name": ["one", "two"]}
    rows = {"ts": [1, 2, 3], "k": [2, 1, 7]}
    found = eddy.run("SELECT A.ts, B.name FROM A, B [STATIC] WHERE A.k = B.k", {"A": rows, "B": facts})
    assert found.to_arrow().to_pydict() == {"A.ts": [1, 2], "B.name": ["two", "one"]}


def test_one_source_may_feed_two_streams():
    """A join with itself reads it twice."""
    rows = {"ts": [1, 2, 3], "k": [5, 6, 5]}
    found = eddy.run(
        "SELECT x.ts AS a, y.ts AS b FROM s AS x, s AS y WHERE x.k = y.k AND x.ts < y.ts", {"s": rows}
    )
    assert found.to_arrow().to_pydict() == {"a": [1], "b": [3]}


def test_aggregates_have_a_sign():
    """What stood and what stands, as an engine gives it."""
    rows = {"ts": [1, 2], "k": [5, 5]}
    found = eddy.run("SELECT k, COUNT(*) AS n FROM A [UNBOUNDED] GROUP BY k", {"A": rows}).to_arrow()
    assert found.column_names == ["k", "n", "sign"]
    net = {}
    for k, n, sign in zip(*found.to_pydict().values(), strict=True):
        net[k, n] = net.get((k, n), 0) + sign
    assert {key for key, count in net.items() if count} == {(5, 2)}


def test_the_time_of_a_stream_is_found():
    """Its only timestamp, if it has no ts; or what it is said to be."""
    times = pa.array([1, 2], pa.timestamp("s"))
    tables = {
        "A": pa.table({"when": times, "k": [1, 2]}),
        "B": pa.table({"x": times, "y": times, "k": [1, 2]}),
    }
    query = "SELECT A.k FROM A [RANGE 1 SECOND], B [RANGE 1 SECOND] WHERE A.k = B.k"
    seen = []
    eddy.run(
        query,
        {**tables, "B": eddy.source(tables["B"], time="y")},
        control=lambda loop: seen.append(loop.query),
    )
    assert {name: stream.time for name, stream in seen[0].streams.items()} == {"A": "when", "B": "y"}


@pytest.mark.parametrize(
    "late, kept", [("drop", False), ("keep:{}/late.jsonl", True)], ids=["dropped", "kept"]
)
def test_late_rows_are_counted_and_kept(late, kept, tmp_path):
    """Those behind the watermark of what was said; the others give what they give without them."""
    table = {"ts": [1, 50, 2, 60], "k": [1, 1, 1, 1]}
    query = "SELECT A.ts AS a, B.ts AS b FROM A [RANGE 100], B [RANGE 100] WHERE A.k = B.k"
    sources = {"A": table, "B": {"ts": [40, 55], "k": [1, 1]}}
    outcome = eddy.run(query, sources, lateness=5, late=late.format(tmp_path), batch=1)
    assert outcome.late == {"A": 1}
    assert sorted(outcome.to_arrow().to_pydict()["a"]) == [1, 1, 50, 50, 60, 60]
    if kept:
        assert '"content": "{\\"ts\\": 2, \\"k\\": 1}"' in (tmp_path / "late.jsonl").read_text()


def test_a_late_row_is_an_error_by_default():
    """It is not lost in silence."""
    with pytest.raises(eddy.OrderError, match="late"):
        eddy.run(
            "SELECT A.ts FROM A [RANGE 9], B [RANGE 9] WHERE A.k = B.k",
            {"A": {"ts": [1, 50, 2], "k": [1, 1, 1]}, "B": {"ts": [70], "k": [1]}},
            lateness=5,
            batch=1,
        )


def test_progress_is_told():
    """How far, of what; at the end it says so."""
    tables, told = feed(6), []
    eddy.run(QUERY, tables, on_progress=told.append, lateness=5)
    last = told[-1]
    assert last.ended and last.done == 1.0 and last.results == expected(tables).total()
    assert last.rows == dict.fromkeys("ABC", 120) and set(last.newest) == set("ABC")


def test_a_run_can_be_stopped():
    """What was pushed by then is written."""
    tables, loops = feed(7), []
    outcome = eddy.run(QUERY, tables, batch=10, control=loops.append, on_progress=lambda _: loops[0].stop())
    assert outcome.ended == "stopped" and sum(outcome.rows.values()) < 360
    assert not counted(outcome.to_arrow()) - expected(tables)


def test_a_source_that_is_silent_for_a_while_holds_nobody_up_for_ever():
    """It is asked again; what it gives then is merged by time as ever."""
    tables = feed(8)

    class Slow(eddy.Source):
        schema = tables["A"].schema

        def read(self, position):
            for start in range(0, 120, 40):
                yield None, start
                yield tables["A"].slice(start, 40), start + 40

    found = eddy.run(QUERY, {**tables, "A": Slow()}, lateness=0).to_arrow()
    assert counted(found) == expected(tables)


@pytest.mark.parametrize(
    "query, sources, options, said",
    [
        ("SELECT A.k FROM A", {}, {}, "no source|no schema"),
        ("SELECT A.k FROM A", {"A": {"k": [1]}, "B": {"k": [1]}}, {}, "no stream B"),
        (7, {"A": {"k": [1]}}, {}, "text of SQL"),
        ("SELECT A.k FROM A", {"A": 7}, {}, "a source is"),
        ("SELECT A.k FROM A", {"A": {"k": [1]}}, {"bad": "sometimes"}, "bad must be"),
        ("SELECT A.k FROM A", {"A": {"k": [1]}}, {"late": "keep:"}, "needs a file"),
        ("SELECT A.k FROM A", {"A": {"k": [1]}}, {"limit": 0}, "limit"),
        ("SELECT A.k FROM A", {"A": {"k": [1]}}, {"checkpoint": "x"}, "needs a sink"),
        ("SELECT A.k FROM A", {"A": {"k": [1]}}, {"sink": "out.xyz"}, "does not say"),
        ("SELECT A.k FROM A", {"A": {"k": [None]}}, {}, "no column that a query can use"),
        ("SELECT A.k FROM A", {"A": "nowhere.parquet"}, {}, "no file nowhere.parquet"),
        ("SELECT A.k FROM A", {"A": "gopher://localhost/x"}, {}, "gopher"),
        ("SELECT A.k FROM A", {"A": "clicks.txt"}, {}, "no file clicks.txt"),
    ],
)
def test_what_cannot_be_run_is_refused(query, sources, options, said):
    """In one sentence, before anything is read."""
    with pytest.raises(eddy.EddyError, match=said):
        eddy.run(query, sources, **options)


def test_a_source_that_is_long_in_finding_nothing_does_not_keep_a_run_from_being_stopped():
    """Also where rows are put in order, and each source is asked again at once."""

    class Slow(eddy.Source):
        schema = pa.schema({"ts": pa.int64(), "k": pa.int64()})
        bounded = False

        def read(self, position):
            yield {"ts": [1, 2], "k": [1, 2]}, 1
            for _ in range(100):
                time.sleep(0.05)
                yield None, 1

    asked = []
    began = time.monotonic()
    outcome = eddy.run(
        "SELECT ts FROM A [ROWS 1]",
        {"A": Slow()},
        lateness=0,
        control=asked.append,
        on_progress=lambda told: asked[0].stop(),
    )
    assert outcome.ended == "stopped" and outcome.rows == {"A": 2} and time.monotonic() - began < 3


def test_an_outer_join_over_rows_out_of_order(tmp_path):
    """The attached stream ends before the other: found by faults, seed 0."""
    tables = feed(3, disorder=4)
    query = "SELECT A.id AS a, B.id AS b FROM A [RANGE 30] LEFT JOIN B [ROWS 15] ON B.k = A.k"
    sources = {"A": tables["A"], "B": tables["B"].slice(0, 40)}
    found = eddy.run(query, {name: eddy.source(table) for name, table in sources.items()}).to_arrow()
    shape = Shape("left", {"A": ("range", 30), "B": ("rows", 15)})
    assert tallied(found, shape) == shape.expected(sources)


class Kept(eddy.Sink):
    """Notes what it was asked."""

    def __init__(self):
        self.calls = []

    def open(self, schema, token):
        self.calls.append("open")

    def write(self, table):
        self.calls.append("write")

    def abandon(self, kept):
        self.calls.append("abandon")


def test_what_was_opened_is_let_go_of_when_the_next_sink_cannot_be(tmp_path):
    """Results had a sink already when the one of bad rows was refused."""
    sink = Kept()
    with pytest.raises(eddy.EddyError):
        eddy.run(
            "SELECT A.k FROM A [ROWS 1]", {"A": {"k": [1]}}, sink, bad=f"keep:{tmp_path}/nowhere/bad.jsonl"
        )
    assert sink.calls == ["open", "abandon"]


class Stopping(eddy.Source):
    """A hundred rows, and the run is stopped behind some of them."""

    def __init__(self, loops):
        self.schema, self.loops = {"ts": "int64"}, loops

    def read(self, position):
        for start in range(position or 0, 100, 10):
            if start == 50 and self.loops:
                self.loops[0].stop()
            yield {"ts": list(range(start, start + 10))}, start + 10


def test_a_limit_that_was_reached_before_a_restart_ends_the_run(tmp_path):
    """Nothing more is given, whatever the limit is now."""
    out, loops = tmp_path / "out.csv", []
    query, options = "SELECT A.ts FROM A [ROWS 1]", {"checkpoint": tmp_path / "kept", "every": 0, "batch": 10}
    first = eddy.run(query, {"A": Stopping(loops)}, out, control=loops.append, **options)
    assert first.ended == "stopped" and 1 < first.results < 100
    again = eddy.run(query, {"A": Stopping([])}, out, limit=first.results - 1, **options)
    assert (again.ended, again.results) == ("limit", first.results)
    assert len(out.read_text().splitlines()) == 1 + first.results
