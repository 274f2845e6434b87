"""`eddy.run(..., final=True)`: the groups at the end of a run, sorted and cut, instead of every change of them."""

from __future__ import annotations

import csv
import warnings
from collections import Counter

import pytest

import eddy
from eddy.errors import EddyError
from tests.runs import feed, read, write

FROM = "FROM A, B WHERE A.k = B.k AND B.ts BETWEEN A.ts AND A.ts + 20"
NEAR = f"SELECT A.k AS k, COUNT(*) AS n, SUM(B.id) AS s {FROM} GROUP BY A.k"
QUERIES = {
    "groups": NEAR,
    "sorted": f"{NEAR} ORDER BY n DESC, k",
    "cut": f"{NEAR} ORDER BY s, k LIMIT 3 OFFSET 1",
    "having": f"{NEAR} HAVING COUNT(*) > 20 ORDER BY k DESC",
    "all": f"SELECT COUNT(*) AS n, MAX(A.id) AS most {FROM}",
    "none": f"SELECT A.k AS k, COUNT(*) AS n {FROM} AND A.id < 0 GROUP BY A.k",
}
OUTER = "SELECT A.k, COUNT(*) AS n, COUNT(B.k) AS m FROM A [RANGE 30] LEFT JOIN B [RANGE 30] ON A.k = B.k GROUP BY A.k"


def by_duckdb(query, tables):
    """The rows that DuckDB gives, in their order."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        return [tuple(map(_whole, row)) for row in connection.execute(query).fetchall()]


def _whole(value):
    return None if value is None else int(value)


def rows_of(table):
    """Rows in their order."""
    return [tuple(row.values()) for row in table.to_pylist()]


def two(seed=1, **more):
    """Streams A and B."""
    return {name: feed(seed, **more)[name] for name in "AB"}


@pytest.mark.parametrize("options", [{}, {"disorder": 7}])
@pytest.mark.parametrize("name", QUERIES)
def test_the_groups_are_those_of_duckdb(name, options):
    """In their order where the query gives one; however out of order rows come, and in many batches."""
    tables = two(2, **options)
    outcome = eddy.run(QUERIES[name], tables, final=True, batch=16)
    wanted, found = by_duckdb(QUERIES[name], tables), rows_of(outcome.table())
    assert found == wanted if "ORDER BY" in QUERIES[name] else Counter(found) == Counter(wanted)
    assert outcome.results == len(wanted) and outcome.to_arrow() == outcome.table()
    assert "sign" not in outcome.table().schema.names
    assert bool(wanted) == (name != "none")


@pytest.mark.parametrize("query", [*QUERIES.values(), OUTER])
def test_the_groups_are_what_is_left_of_the_changes(query):
    """Whatever is withdrawn of them, such as by windows."""
    tables = two(3)
    plain = query.partition(" ORDER BY")[0]
    left = Counter()
    for *row, sign in rows_of(eddy.run(plain, tables).to_arrow()):
        left[tuple(row)] += sign
    if "GROUP BY" in query:
        assert Counter(rows_of(eddy.run(plain, tables, final=True).table())) == +left
    else:  # the group without keys is there from the beginning
        assert sum(left.values()) in (0, 1)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow", "/"])
def test_a_sink_gets_the_groups_once(ending, tmp_path):
    """Nothing before the end, and the outcome has them too."""
    wanted = by_duckdb(QUERIES["sorted"], two())
    outcome = eddy.run(QUERIES["sorted"], two(), f"{tmp_path}/out{ending}", final=True, batch=16)
    assert rows_of(read(f"{tmp_path}/out{ending}".rstrip("/"))) == wanted == rows_of(outcome.table())


def test_each_of_several_queries_gives_its_groups(tmp_path):
    """To a sink each, or all to one."""
    queries = {name: QUERIES[name] for name in ("sorted", "cut")}
    wanted = {name: by_duckdb(query, two()) for name, query in queries.items()}
    outcome = eddy.run(queries, two(), final=True, batch=16)
    assert {name: rows_of(outcome.table(name)) for name in queries} == wanted
    assert outcome.counts == {name: len(rows) for name, rows in wanted.items()}
    outcome = eddy.run(queries, two(), tmp_path / "all.csv", final=True)
    assert {name: rows_of(outcome.table(name)) for name in queries} == wanted
    assert read(tmp_path / "all.csv").num_rows == sum(map(len, wanted.values())) == outcome.results


@pytest.mark.parametrize("stops", [1, 3])
@pytest.mark.parametrize("several", [False, True])
def test_a_run_with_checkpoints_goes_on_to_the_same_groups(stops, several, tmp_path):
    """What was stopped has written nothing; the last call writes the groups of all rows."""
    tables = two(4)
    sources = {name: write(table, tmp_path / f"{name}.parquet") for name, table in tables.items()}
    wanted, loops = by_duckdb(QUERIES["sorted"], tables), []
    query = {"a": QUERIES["sorted"]} if several else QUERIES["sorted"]
    options = {"final": True, "checkpoint": tmp_path / "progress", "batch": 16, "every": 0}
    for _ in range(stops):
        outcome = eddy.run(query, sources, tmp_path / "out.parquet", control=loops.append,
                           on_progress=lambda _: loops[-1].stop(), **options)  # fmt: skip
        assert (outcome.ended, outcome.results) == ("stopped", 0)
        with pytest.raises(EddyError, match="this one was stopped before its end"):
            outcome.table()
    with pytest.raises(
        EddyError, match="writes the groups at its end, and this one writes changes: give final=True"
    ):
        eddy.run(query, sources, tmp_path / "out.parquet", **{**options, "final": False})
    outcome = eddy.run(query, sources, tmp_path / "out.parquet", **options)
    found = read(tmp_path / "out.parquet")
    assert rows_of(found.drop_columns(["query"]) if several else found) == wanted
    assert outcome.results == len(wanted)
    assert eddy.run(query, sources, tmp_path / "out.parquet", **options).ended == "over"
    assert read(tmp_path / "out.parquet") == found


def test_a_run_that_is_stopped_gives_the_groups_of_what_it_has_read(tmp_path):
    """Where there is no checkpoint to go on from."""
    tables, loops = two(5), []
    outcome = eddy.run(QUERIES["groups"], tables, final=True, batch=16, control=loops.append,
                       on_progress=lambda _: loops[-1].stop())  # fmt: skip
    assert outcome.ended == "stopped" and sum(outcome.rows.values()) < 240
    some = {name: table.slice(0, outcome.rows[name]) for name, table in tables.items()}
    assert Counter(rows_of(outcome.to_arrow())) == Counter(by_duckdb(QUERIES["groups"], some))


def test_what_has_no_final_groups_is_refused(tmp_path):
    """With the reason, and what to do."""
    plain = f"SELECT A.id {FROM}"
    for query in (plain, {"x": plain, "y": NEAR}):
        with pytest.raises(EddyError, match=r"final= gives groups, and (this query|x) has none"):
            eddy.run(query, two(), final=True)
    paths = {name: write(table, tmp_path / f"{name}.csv") for name, table in two().items()}
    followed = {**paths, "B": eddy.source(paths["B"], follow=True)}
    with pytest.raises(EddyError, match="at the end of all sources, and B has no end: leave follow out"):
        eddy.run(NEAR, followed, final=True)
    with pytest.raises(EddyError, match="limit= counts changes"):
        eddy.run(NEAR, two(), final=True, limit=3)
    with pytest.raises(EddyError, match="final is True or False"):
        eddy.run(NEAR, two(), final="yes")
    with pytest.raises(EddyError, match=r"table\(\) gives the groups at the end of a run with final=True"):
        eddy.run(NEAR, two()).table()


def test_a_query_that_sorts_is_told_of_final():
    """A run of changes does not sort; one that gives the groups does, and has nothing to warn of."""
    with pytest.warns(UserWarning, match="sort and cut the groups .* give final=True"):
        eddy.run(QUERIES["cut"], two())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        eddy.run(QUERIES["cut"], two(), final=True)


@pytest.mark.parametrize("way", ["run", "sql"])
def test_the_shell_gives_the_groups(way, tmp_path, monkeypatch, capfd):
    """`eddy run --final` and `SET final = true`."""
    from eddy.cli import main

    monkeypatch.chdir(tmp_path)
    for name, table in two().items():
        write(table, tmp_path / f"{name}.csv")
    if way == "run":
        given = ["run", QUERIES["cut"], "A=A.csv", "B=B.csv", "--final", "--format", "csv"]
    else:
        streams = "CREATE STREAM A FROM 'A.csv'; CREATE STREAM B FROM 'B.csv';"
        given = ["sql", "-c", f"{streams} SET final = true; {QUERIES['cut']}"]
    assert main(given) == 0
    told = capfd.readouterr()
    found = [tuple(map(int, row)) for row in list(csv.reader(told.out.splitlines()))[1:]]
    assert found == by_duckdb(QUERIES["cut"], two())
    assert "sort and cut" not in told.err and told.err.startswith("3 results of 120 A + 120 B rows")
    without = [text.replace(" SET final = true;", "") for text in given if text != "--final"]
    assert main(without) == 0
    hint = "give --final" if way == "run" else "SET final = true"
    assert hint in capfd.readouterr().err
