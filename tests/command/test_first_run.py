"""What somebody meets who runs a query for the first time, over files that are as files are."""

from __future__ import annotations

import json
import warnings

import pytest

import eddy
from eddy.cli import main

QUERY = (
    "SELECT clicks.user, orders.price FROM clicks, orders WHERE clicks.user = orders.user "
    "AND orders.ts BETWEEN clicks.ts AND clicks.ts + INTERVAL '10' SECOND"
)
SOURCES = ["clicks=my clicks.csv", "orders=orders.jsonl"]
SCHEMA = 'clicks={"ts": "timestamp", "user": "int64"}'


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with two files; of one a line has no time."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my clicks.csv").write_text("ts,user\n2026-01-01 10:00:00,1\nsoon,1\n2026-01-01 10:00:01,2\n")
    times = ("2026-01-01T10:00:05", "2026-01-01T10:00:06")
    rows = [{"ts": time, "user": user, "price": 2.5 * user} for user, time in enumerate(times, 1)]
    (tmp_path / "orders.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_a_row_that_does_not_fit_is_told_of(place, capfd):
    """One of three lines has no time: the others are joined, and what that is taken from is said in a line."""
    assert main(["run", QUERY, *SOURCES]) == 0
    told = capfd.readouterr()
    assert len(told.out.splitlines()) == 2 and "1 bad row was left out" in told.err
    assert "clicks.ts: timestamp[us], 1 of 3 values does not fit, such as 'soon'" in told.err


def test_types_that_bad_rows_have_made_are_told_of(place, capfd):
    """Where most times are none: the error says whence the type is, and what to do."""
    (place / "my clicks.csv").write_text("ts,user\n2026-01-01 10:00:00,1\nsoon,1\nlater,2\n")
    assert main(["run", QUERY, *SOURCES]) == 2
    told = capfd.readouterr().err
    assert "clicks.ts (string)" in told and "clicks.ts: text, as it seems" in told and "--schema" in told


def test_a_schema_may_be_written_in_the_command(place, capfd):
    """As a JSON object; a source that there is none of is told by the option that names it."""
    assert main(["run", QUERY, *SOURCES, "--schema", SCHEMA, "--format", "csv"]) == 0
    told = capfd.readouterr()
    assert told.out == '"clicks.user","orders.price"\n1,2.5\n2,5\n'
    assert "1 bad row was left out" in told.err
    with pytest.raises(SystemExit):
        main(["run", QUERY, *SOURCES, "--schema", SCHEMA.replace("clicks", "click")])
    assert "--schema names click: there is no such source, only clicks, orders" in capfd.readouterr().err
    assert main(["run", QUERY, *SOURCES, "--schema", 'clicks={"ts"}']) == 2
    assert "it is no JSON" in capfd.readouterr().err


def test_a_run_says_that_it_does_not_sort(place, capfd):
    """ORDER BY and LIMIT are for the table of an engine; who writes them in a run is told so, once."""
    text = "SELECT user, COUNT(*) AS n FROM orders GROUP BY user"
    assert main(["run", f"{text} ORDER BY n DESC LIMIT 1", "orders=orders.jsonl"]) == 0
    assert capfd.readouterr().err.count("sort and cut the groups") == 1
    with pytest.warns(UserWarning, match="sort and cut"):
        eddy.run(f"{text} LIMIT 1", {"orders": "orders.jsonl"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        eddy.run(text, {"orders": "orders.jsonl"})


def test_how_far_a_stream_is_behind_is_told_in_seconds(place):
    """And as a plain difference, where times are whole numbers."""
    seen = []
    sources = {
        "clicks": eddy.source("my clicks.csv", schema={"ts": "timestamp", "user": "int64"}),
        "orders": "orders.jsonl",
    }
    eddy.run(QUERY, sources, on_progress=seen.append)
    assert seen[-1].lag == {"clicks": "5.000 s", "orders": "0.000 s"}
    rows = {"A": {"ts": [1, 2]}, "B": {"ts": [1, 2002]}}
    eddy.run("SELECT A.ts FROM A [RANGE 1], B [RANGE 1] WHERE A.ts = B.ts", rows, on_progress=seen.append)
    assert seen[-1].lag == {"A": "2,000", "B": "0"}


def test_a_report_has_no_watermark_behind_all_times(place):
    """Where a source has ended, there is nothing to wait for, and no number stands for that."""
    schema = {"ts": "timestamp", "user": "int64"}
    sources = {"clicks": eddy.source("my clicks.csv", schema=schema), "orders": "orders.jsonl"}
    eddy.run(QUERY, sources, lateness="2 s", report="run.html", batch=1)
    page = (place / "run.html").read_text()
    assert '"watermark"' in page and "46116860" not in page
