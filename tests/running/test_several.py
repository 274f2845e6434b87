"""`eddy.run` of several queries: each gives what a run of its own gives, wherever its results go."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

import eddy
from tests.runs import feed, read, write

QUERIES = {
    "all": "SELECT A.id AS a, B.id AS b FROM A [RANGE 30], B [RANGE 30] WHERE A.k = B.k",
    "some": "SELECT A.id AS a, B.id AS b FROM A [RANGE 30], B [RANGE 30] WHERE A.k = B.k AND A.id > 40",
    "three": """SELECT A.id AS a, C.id AS b FROM A [RANGE 30], B [RANGE 15], C [RANGE 20]
        WHERE A.k = B.k AND B.k = C.k""",
    "near": "SELECT A.id AS a, C.id AS b FROM A, C WHERE A.k = C.k AND C.ts BETWEEN A.ts AND A.ts + 5",
    "left": "SELECT B.id AS a, C.id AS b FROM B [RANGE 9] LEFT JOIN C [RANGE 9] ON B.k = C.k",
}
GROUPS = "SELECT A.k, COUNT(*) AS n FROM A [RANGE 30], B [RANGE 30] WHERE A.k = B.k GROUP BY A.k"
SCHEMA = pa.schema({"a": pa.int64(), "b": pa.int64()})


def tallied(table):
    """Rows, counted."""
    return Counter(tuple(row.values()) for row in table.to_pylist())


def alone(tables, queries=QUERIES, **options):
    """What each query's own run gives."""
    found = {}
    for name, query in queries.items():
        streams = [
            stream
            for stream in tables
            if f"{stream} [" in query or f"{stream}," in query or f" {stream} " in query
        ]
        own = {stream: tables[stream] for stream in streams}
        found[name] = tallied(eddy.run(query, own, **options).to_arrow())
    return found


@pytest.mark.parametrize("disorder, lateness", [(0, None), (7, None), (7, 7), (0, 20)])
def test_each_gives_what_its_own_run_gives(disorder, lateness):
    """Whether files are in order or not, without sinks, joins of all kinds, windows that follow from predicates."""
    tables = feed(3, disorder=disorder)
    outcome = eddy.run({**QUERIES, "groups": GROUPS}, tables, lateness=lateness, batch=25)
    wanted = alone(tables, {**QUERIES, "groups": GROUPS}, lateness=lateness)
    assert {name: tallied(outcome.to_arrow(name)) for name in wanted} == wanted
    assert outcome.counts == {name: rows.total() for name, rows in wanted.items()}
    assert outcome.results == sum(outcome.counts.values()) and outcome.ended == "end"
    assert outcome.rows == dict.fromkeys("ABC", 120)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet", ".arrow", "/"])
def test_a_sink_for_each(ending, tmp_path):
    """Files of all formats; sources are files too."""
    tables = feed(4)
    sources = {name: write(table, tmp_path / f"{name}.parquet") for name, table in tables.items()}
    outs = {name: f"{tmp_path}/{name}{ending}" for name in QUERIES}
    eddy.run(QUERIES, sources, outs)
    wanted = alone(tables)
    for name, out in outs.items():
        table = read(out.rstrip("/"))
        assert (
            tallied(table.select(["a", "b"]) if "c" not in table.schema.names else table.select("ab"))
            == wanted[name]
        )


def test_one_sink_for_all(tmp_path):
    """With a column that names the query."""
    tables = feed(5)
    outcome = eddy.run(QUERIES, tables, tmp_path / "all.parquet", batch=30)
    table = pa.parquet.read_table(tmp_path / "all.parquet")
    assert table.schema.names == ["query", "a", "b"] and table.schema.field("query").type == pa.string()
    wanted = {(name, *row): n for name, rows in alone(tables).items() for row, n in rows.items()}
    assert tallied(table) == wanted
    assert outcome.counts == {name: rows.total() for name, rows in alone(tables).items()}


def test_withdrawn_results_have_a_sign(tmp_path):
    """Of each query that has some; in one sink all have it."""
    tables = {name: feed(6)[name] for name in "AB"}
    changes = f"{QUERIES['all']} EMIT CHANGES"
    outcome = eddy.run({"all": QUERIES["all"], "changes": changes}, tables)
    assert outcome.to_arrow("all").schema.names == ["a", "b"]
    assert outcome.to_arrow("changes").schema.names == ["a", "b", "sign"]
    assert tallied(outcome.to_arrow("changes")) == alone(tables, {"changes": changes})["changes"]
    eddy.run({"all": QUERIES["all"], "changes": changes}, tables, tmp_path / "out.parquet")
    table = pa.parquet.read_table(tmp_path / "out.parquet")
    assert table.schema.names == ["query", "a", "b", "sign"]
    assert {row["sign"] for row in table.to_pylist() if row["query"] == "all"} == {1}


def test_queries_may_be_objects_and_texts():
    """Texts have the streams as the objects declare them."""
    tables = feed(7)
    schemas = {name: {"ts": "int64", "k": "int64", "id": "int64"} for name in "ABC"}
    made = {name: eddy.sql(text, schemas) for name, text in QUERIES.items()}
    wanted = alone(tables)
    for queries in (made, {**QUERIES, "all": made["all"]}):
        outcome = eddy.run(queries, tables)
        assert {name: tallied(outcome.to_arrow(name)) for name in wanted} == wanted


def test_a_limit_counts_the_results_of_all_queries(tmp_path):
    """They are cut, query by query."""
    tables = feed(8)
    outcome = eddy.run(QUERIES, tables, limit=25, batch=10)
    assert outcome.results == sum(outcome.counts.values()) == 25 and outcome.ended == "limit"
    wanted = alone(tables)
    for name in QUERIES:
        assert tallied(outcome.to_arrow(name)) <= wanted[name]


@pytest.mark.parametrize("late", ["drop", "keep:late.jsonl"])
def test_late_and_bad_rows_are_told_apart(late, tmp_path, monkeypatch, caplog):
    """As in a run of one query."""
    monkeypatch.chdir(tmp_path)
    tables = {name: feed(3, disorder=60)[name] for name in "AB"}
    rows = tables["B"].to_pydict()
    rows["k"][7] = "none"
    schema = {"ts": "int64", "k": "int64", "id": "int64"}
    options = {"lateness": 5, "late": late, "bad": "keep:bad.jsonl", "batch": 10}

    def run(query):
        return eddy.run(query, {"A": tables["A"], "B": eddy.source([rows], schema=schema)}, **options)

    one = run(QUERIES["all"])
    kept = [path.read_text() for path in sorted(tmp_path.iterdir())]
    caplog.clear()
    outcome = run({name: QUERIES[name] for name in ("all", "some")})
    told = [record.rows for record in caplog.records if record.event == "late rows"]
    assert sum(told) == sum(outcome.late.values())
    assert outcome.late == one.late and outcome.late["A"] and outcome.bad == one.bad == {"B": 1}
    assert [path.read_text() for path in sorted(tmp_path.iterdir())] == kept
    assert len(kept) == (1 if late == "drop" else 2)
    assert tallied(outcome.to_arrow("all")) == tallied(one.to_arrow())
    with pytest.raises(eddy.OrderError):
        eddy.run({"all": QUERIES["all"]}, tables, lateness=5, batch=10)


def test_progress_is_of_all_queries():
    """One account: rows of each stream once, results of all, plans."""
    tables, seen = feed(9), []
    eddy.run(QUERIES, tables, batch=20, on_progress=seen.append, latency="1 s", speed=1e9, metrics=None)
    assert seen[-1].ended and seen[-1].rows == dict.fromkeys("ABC", 120)
    assert seen[-1].results == sum(rows.total() for rows in alone(tables).values())
    assert "all, some: " in seen[-1].plan and seen[-1].bytes > 0


def test_aliases_read_one_source():
    """A stream by another name; two sources by one name are refused."""
    tables = {name: feed(2)[name] for name in "AB"}
    twice = "SELECT x.id AS a, y.id AS b FROM A AS x [RANGE 9], A AS y [RANGE 9] WHERE x.k = y.k"
    queries = {"all": QUERIES["all"], "twice": twice}
    outcome = eddy.run(queries, tables)
    assert tallied(outcome.to_arrow("twice")) == tallied(eddy.run(twice, {"A": tables["A"]}).to_arrow())
    assert tallied(outcome.to_arrow("all")) == tallied(eddy.run(QUERIES["all"], tables).to_arrow())
    other = {"x": "SELECT s.id AS a FROM A AS s [RANGE 9]", "y": "SELECT s.id AS a FROM B AS s [RANGE 9]"}
    with pytest.raises(
        eddy.EddyError,
        match="query y: stream s is read from B, and another query reads one of that name from A",
    ):
        eddy.run(other, tables)


REFUSED = {
    "a run has at least one query": ({}, {}),
    "a query has a name, which is a text": ({5: QUERIES["all"]}, {}),
    "query wrong: .*no column": ({"all": QUERIES["all"], "wrong": "SELECT A.idd FROM A [RANGE 3]"}, {}),
    "a query is an eddy.Query or a text of SQL": ({"all": 5}, {}),
    "no query has a stream C: ": ({"all": QUERIES["all"]}, {}),
    "sink: there is no query 'al', only all": ({"all": QUERIES["three"]}, {"sink": {"al": "x.csv"}}),
    "query all has no sink": ({"all": QUERIES["three"]}, {"sink": {}}),
    "on='spark' takes one query": ({"all": QUERIES["three"]}, {"on": "spark"}),
    "a report is the page of one query": ({"all": QUERIES["three"]}, {"report": "x.html"}),
    "threads must be": ({"all": QUERIES["three"]}, {"threads": 0}),
    "need a sink for each": (
        {"all": QUERIES["three"], "other": "SELECT A.id AS c FROM A [RANGE 3]"},
        {"sink": "x.csv"},
    ),
    "shows a column 'query'": (
        {"all": "SELECT A.id AS query FROM A [RANGE 3], B, C WHERE A.k = B.k AND B.k = C.k"},
        {"sink": "x.csv"},
    ),
    "results of all and results of other cannot both go to x.csv": (
        {"all": QUERIES["three"], "other": QUERIES["all"]},
        {"sink": {"all": "x.csv", "other": "x.csv"}},
    ),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_refused(said, tmp_path, monkeypatch):
    """One clear error, before anything is read or written."""
    monkeypatch.chdir(tmp_path)
    queries, options = REFUSED[said]
    with pytest.raises(eddy.EddyError, match=said) as found:
        eddy.run(queries, feed(1), **options)
    assert ("\n" in str(found.value)) == ("idd" in str(queries))  # the place in the text
    assert list(tmp_path.iterdir()) == []


def test_rows_without_a_time_have_no_order_for_queries_that_need_one():
    """All queries may be of streams that have none."""
    tables = feed(1)
    tables["C"] = tables["C"].drop_columns(["ts"])
    untimed = "SELECT B.id AS a, C.id AS b FROM B [ROWS 9], C [ROWS 9] WHERE B.k = C.k"
    with pytest.raises(
        eddy.EddyError, match="merged by time, as query all needs it, and stream C has no time"
    ):
        eddy.run({"all": QUERIES["all"], "untimed": untimed}, tables)
    two = {"untimed": untimed, "more": untimed + " AND B.id > 5"}
    outcome = eddy.run(two, {name: tables[name] for name in "BC"})
    assert {name: tallied(outcome.to_arrow(name)) for name in two} == alone(tables, two)
