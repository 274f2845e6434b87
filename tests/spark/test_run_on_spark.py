"""`eddy.run(..., on="spark")`: the results of a local run, from the same files; what cannot go is refused."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

import eddy
from eddy.cli import main
from tests.runs import QUERY, counted, expected, feed, read, write
from tests.sparks import spark

__all__ = ["spark"]


def shown(path):
    text = Path(path).read_text()
    return json.loads(re.search(r'<script type="application/json" id="run">(.*?)</script>', text, re.S)[1])


@pytest.fixture
def files(tmp_path):
    """A folder of two files for each stream, out of order, of a format each."""
    for (name, table), ending in zip(feed(3, disorder=20).items(), ("csv", "parquet", "jsonl"), strict=True):
        (tmp_path / name).mkdir()
        for number, part in enumerate((table.slice(0, 50), table.slice(50))):
            write(part, tmp_path / name / f"{number}.{ending}")
    return {name: str(tmp_path / name) for name in "ABC"}


def test_results_are_those_of_a_local_run(spark, files, tmp_path):
    """With a window of rows, NULL keys and times out of order; bad lines are dropped and counted likewise."""
    with open(f"{files['A']}/1.csv", "a") as file:
        file.write("never,1,2,x\n")
    schemas = {"A": {"ts": "int64", "k": "int64", "id": "int64", "note": "string"}}
    sources = {name: eddy.source(path, schema=schemas.get(name)) for name, path in files.items()}
    here = eddy.run(QUERY, sources)
    there = eddy.run(QUERY, sources, f"{tmp_path}/out/", on="spark", partitions=2)
    assert counted(here.to_arrow()) == counted(read(tmp_path / "out")) == expected(feed(3, disorder=20))
    assert (there.rows, there.bad, there.results, there.ended) == (here.rows, here.bad, here.results, "end")
    assert there.letters == here.letters and there.bad == {"A": 1}


def test_a_report_has_the_cells(spark, files, tmp_path):
    """Each with its rows, results, plans and times; how rows were dealt out, the query, and what came of it."""
    done = eddy.run(QUERY, files, f"{tmp_path}/out/", on="spark", partitions=2, report=tmp_path / "run.html")
    run = shown(tmp_path / "run.html")
    assert run["ended"] == "all sources have ended" and run["now"]["results"] == done.results > 0
    assert {stream["name"]: stream["rows"] for stream in run["now"]["streams"]} == done.rows
    assert sum(cell["results"] for cell in run["cells"]) == done.results
    assert all(cell["plans"] and cell["seconds"] >= cell["engine"] > 0 for cell in run["cells"])
    assert run["cells_hint"].startswith("partitioned by ") and "stream A from" in run["query"]


def test_a_bad_row_may_be_an_error(spark, tmp_path):
    """It is told in a line, with its place, and nothing is written."""
    (tmp_path / "A.csv").write_text("ts,k\n1,2\nnever,3\n")
    source = eddy.source(tmp_path / "A.csv", schema={"ts": "int64", "k": "int64"})
    with pytest.raises(
        eddy.BatchError, match=r"A.csv, row 3: column ts: 'never' does not fit int64: 'never,3'; bad="
    ):
        eddy.run("SELECT k FROM A [RANGE 1]", {"A": source}, f"{tmp_path}/out/", on="spark", bad="error")
    assert not list(tmp_path.glob("out/*"))


def test_types_and_a_limit(spark, tmp_path):
    """Results have the types of a local run: unsigned numbers, times of any unit, with a zone or without."""
    (tmp_path / "A.csv").write_text("ts,at,k,x\n2026-01-01 10:00:00,2026-01-01 10:00:00+02:00,7,1.5\n")
    schema = {"ts": "timestamp[ms]", "at": "timestamp[ns, Europe/Berlin]", "k": "uint16", "x": "float32"}
    sources = {"A": eddy.source(tmp_path / "A.csv", schema=schema)}
    query = "SELECT A.ts, A.at, A.k, A.x, B.x AS y FROM A [RANGE 1 SECOND], A AS B [RANGE 1 SECOND] WHERE A.k = B.k"
    here, there = eddy.run(query, sources), eddy.run(query, sources, on="spark")
    assert there.to_arrow().equals(here.to_arrow()) and here.results == 1
    assert eddy.run(query, sources, on="spark", limit=1).ended == "limit"


@pytest.mark.parametrize(
    "options, said",
    [
        (
            {"checkpoint": "here", "sink": "out.csv"},
            "checkpoint= does not go with on='spark', where there are no",
        ),
        ({"lateness": 3}, "lateness= does not go with"),
        ({"late": "drop"}, "late= does not go with"),
        ({"latency": "5 ms"}, "latency= does not go with"),
        ({"threads": 2}, "threads= does not go with"),
        ({"metrics": ":0"}, "metrics= does not go with"),
        ({"bad": "keep:bad.jsonl"}, "bad='keep:FILE' does not go with"),
        ({"on": "flink"}, "on must be"),
    ],
)
def test_what_cannot_go_is_refused(options, said, files, tmp_path, monkeypatch):
    """In one line, before Spark is started."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(eddy.EddyError, match=said):
        eddy.run(QUERY, files, **{"on": "spark", **options})


def test_sources_that_are_no_files_are_refused(files):
    """Nor files that grow."""
    with pytest.raises(eddy.EddyError, match="on='spark' reads files and folders, and A is a table"):
        eddy.run(QUERY, {**files, "A": feed(3)["A"]}, on="spark")
    with pytest.raises(eddy.EddyError, match="leave follow out"):
        eddy.run(QUERY, {**files, "A": eddy.source(files["A"], follow=True)}, on="spark")


def test_the_command(spark, files, capfd, tmp_path):
    """`--on spark`; a mistake is told in a line."""
    arguments = [
        "run",
        QUERY.replace("B [ROWS 15]", "B [RANGE 9]"),
        *(f"{n}={path}" for n, path in files.items()),
    ]
    assert main([*arguments, "--on", "spark", "--out", f"{tmp_path}/out.csv"]) == 0
    there = counted(read(tmp_path / "out.csv"))
    assert main([*arguments, "--out", f"{tmp_path}/here.csv"]) == 0
    assert there == counted(read(tmp_path / "here.csv")) and there.total()
    capfd.readouterr()
    assert main([*arguments, "--on", "spark", "--follow"]) == 2
    told = capfd.readouterr().err
    assert told.startswith("eddy: ") and told.count("\n") == 1 and not os.path.exists("here")
