"""What a command says: one plain line for what is wrong, with the names of options as they are typed."""

from __future__ import annotations

import asyncio
import io
import json
import sys
import warnings

import pytest

import eddy
from eddy.cli import main
from eddy.command.wording import told

QUERY = "SELECT A.k FROM A [ROWS 1] WHERE A.k > 0"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with rows whose times go back by 60, and one bad row, of a name that says no format, too."""
    monkeypatch.chdir(tmp_path)
    lines = ["ts,k", "100,1", "x,2", *(f"{ts},3" for ts in range(101, 301)), "240,4", "301,5"]
    for name in ("A.csv", "feed"):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines))
    return tmp_path


@pytest.mark.parametrize(
    "text, words",
    [
        ("give its schema, as in schema={'ts': 'timestamp'}", 'as in --schema NAME=\'{"ts": "timestamp"}\''),
        ("Give more lateness=, or late='drop'", "Give more --lateness, or --late drop"),
        ("x; bad='drop' or bad='keep:FILE' goes on", "x; --bad drop or --bad keep:FILE goes on"),
        ("For CSV give format='csv'", "For CSV give --read NAME=csv"),
        ("or give format=, one of parquet", "or give --read NAME=FORMAT, one of parquet"),
        ("A.late = B.bad and time = 3", "A.late = B.bad and time = 3"),
        ("checkpoint= needs a sink: give sink=, such", "--checkpoint needs a sink: give --out, such"),
    ],
)
def test_options_are_called_as_they_are_typed(text, words):
    """What is no option stays as it is."""
    assert words in told(text)


def test_a_late_row_is_told_of_by_its_file_and_line(place, capfd):
    """Bad rows before it are counted among the lines; and the error names options, not arguments."""
    given = [
        "run",
        QUERY,
        "A=A.csv",
        "--lateness",
        "10",
        "--batch",
        "1",
        "--schema",
        'A={"ts":"int64","k":"int64"}',
    ]
    assert main(given) == 2
    told_of = capfd.readouterr().err
    assert "A.csv, row 204 (stream A) is late, at 240: time has passed 2" in told_of
    assert "Give more --lateness, or --late drop or --late keep:FILE" in told_of
    assert main([*given, "--late", "drop", "--bad", "error"]) == 2
    assert "A.csv, row 3: column ts: 'x' does not fit int64" in (told_of := capfd.readouterr().err)
    assert "--bad drop or --bad keep:FILE goes on without such rows" in told_of


def test_rows_of_no_file_are_counted():
    """From 1 on, in the order in which they were given."""
    with pytest.raises(eddy.OrderError, match=r"a table, row 3 \(stream A\) is late, at 1"):
        eddy.run(QUERY, {"A": {"ts": [5, 6, 1], "k": [1, 2, 3]}}, lateness=0, batch=1)


@pytest.mark.parametrize("option", ["--bad", "--late"])
def test_a_name_that_says_no_format_is_that_of_json_lines(option, place, capfd):
    """Left-out rows go there; a name that cannot be is refused with the option that has it."""
    given = ["run", QUERY, "A=A.csv", "--lateness", "10", "--batch", "1"]
    given += [] if option == "--late" else ["--late", "drop"]
    assert main([*given, option, "keep:x.rows"]) == 0
    rows = [json.loads(line) for line in (place / "x.rows").read_text().splitlines()]
    assert [row["stream"] for row in rows] == ["A"]
    capfd.readouterr()
    assert main([*given, option, "keep:no://where"]) == 2
    assert f"{option} keep:no://where: " in capfd.readouterr().err


@pytest.mark.parametrize("command", ["run", "check"])
def test_the_format_of_a_source_may_be_given(command, place, capfd, monkeypatch):
    """Where its name does not say it; of standard input, too, which says what it is not."""
    assert main([command, QUERY, "A=feed"]) == 2
    assert "give --read NAME=FORMAT" in capfd.readouterr().err
    assert main([command, QUERY, "A=feed", "--read", "A=csv"]) == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"ts,k\n1,2\n3,4\n")))
    assert main([command, QUERY, "A=-"]) == 2
    said = capfd.readouterr().err
    assert "standard input: " in said and "begins with 'ts,k'. For CSV give --read NAME=csv" in said
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"ts,k\n1,2\n3,4\n")))
    assert main([command, QUERY, "A=-", "--read", "A=csv"]) == 0
    with pytest.raises(SystemExit):
        main([command, QUERY, "A=feed", "--read", "B=csv"])
    assert "--read names B: there is no such source, only A" in capfd.readouterr().err


def test_replay_takes_formats_and_warns_of_types(place, capfd):
    """As a run does."""
    typed = ["--schema", 'A={"ts":"int64","k":"int64"}']
    assert main(["replay", "A=feed", "--read", "A=csv", *typed, "--to", "-", "--speed", "max"]) == 0
    (place / "feed").write_text("ts,k\n" + "".join(f"{i},{i}\n" for i in range(100)) + "x,1\n")
    assert main(["replay", "A=feed", "--read", "A=csv", "--to", "-", "--speed", "max"]) == 0
    assert "eddy: A.ts: int64, 1 of 101 values does not fit, such as 'x'" in capfd.readouterr().err


def test_a_damaged_checkpoint_is_told_of_in_a_line(place, capfd):
    """Without the place in the source of the library that warns of it."""
    given = [
        "run",
        QUERY,
        "A=A.csv",
        "--out",
        "o.jsonl",
        "--checkpoint",
        "cp",
        "--every",
        "0",
        "--batch",
        "1",
    ]
    assert main([*given, "--lateness", "70", "--limit", "150"]) == 0
    newest = max((place / "cp").glob("*.json"))
    newest.write_bytes(newest.read_bytes()[:20])
    capfd.readouterr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        main([*given, "--lateness", "70"])
    told_of = [line for line in capfd.readouterr().err.splitlines() if "is used instead" in line]
    assert len(told_of) == 1 and told_of[0].startswith("eddy: ") and ".py" not in told_of[0]


@pytest.mark.parametrize("option", ["checkpoint", "sink", "on_progress", "report"])
def test_arun_says_what_it_lacks(option):
    """And what to call in its place."""

    async def results():
        return [one async for one in eddy.arun(QUERY, {"A": {"ts": [1], "k": [1]}}, **{option: "x"})]

    with pytest.raises(eddy.EddyError, match=rf"arun has no {option}=.*asyncio.to_thread\(eddy.run"):
        asyncio.run(results())


def test_one_result_is_one_result(place, capfd):
    """And several names are several."""
    assert main(["run", QUERY, "A=A.csv", "--limit", "1"]) == 0
    assert "1 result of" in capfd.readouterr().err
    assert main(["run", "SELECT A.kk FROM A [ROWS 1]", "A=A.csv"]) == 2
    assert "There are ts, k" in capfd.readouterr().err


def test_options_that_make_no_sense_say_so(place, capfd):
    """Columns without a stream, two streams from standard input, and lengths of time as numbers."""
    assert main(["check", QUERY, "A=A.csv", "--schema", '{"ts": "int64"}']) == 2
    assert """as in clicks='{"ts": "int64"}'""" in capfd.readouterr().err
    assert main(["check", QUERY, "A=A.csv", "--schema", '{"A": {"ts": "int64", "k": "int64"}}']) == 0
    with pytest.raises(SystemExit):
        main(["check", QUERY, "A=-", "B=-"])
    assert "standard input can be read once, and A and B are to be read from it" in capfd.readouterr().err
    assert main(["run", QUERY, "A=A.csv", "--every", "5"]) == 0
    assert main(["run", QUERY, "A=A.csv", "--latency", "50"]) == 2


def test_help_is_broken_by_the_terminal_alone(monkeypatch, capfd):
    """No sentence ends in the middle of a line because a line of the source does."""
    monkeypatch.setenv("COLUMNS", "400")
    for command, sentence in (
        ("run", "a folder of files that end with .sql. It is given for each, and all else are sources."),
        ("demo", "joins them through partitions of eddies that change their plans, and checks every result"),
    ):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert sentence in capfd.readouterr().out


@pytest.mark.parametrize(
    "text, words",
    [
        (
            "need a sink for each, sink={'near': ..., 'large': ...}",
            "need a sink for each, --out near=… --out large=…",
        ),
        (
            "leave report= out, or give watch=True, whose page",
            "leave --report out, or give --watch, whose page",
        ),
        ("another query needs an engine of its own", "give this query another folder of --checkpoint"),
        ("give final=True for the groups", "give --final for the groups"),
        (
            "results of near and results of large cannot both go to x.csv: give another place",
            "near and large have the same --out, x.csv",
        ),
    ],
)
def test_what_speaks_of_several_queries_is_told_as_it_is_typed(text, words):
    """As with other options."""
    assert told(text) == words


def test_a_lateness_without_a_unit_is_not_told_of_sql(place, capfd):
    """There is no lateness in SQL."""
    (place / "T.csv").write_text("ts,k\n2024-01-01 00:00:05,1\n2024-01-01 00:00:01,1\n")
    assert main(["run", "SELECT k FROM T", "T=T.csv", "--lateness", "5"]) == 2
    said = capfd.readouterr().err
    assert "or '5 seconds'" in said and "SQL" not in said


def test_two_queries_cannot_have_one_file_each(place, capfd):
    """They are named, and the file once."""
    queries = ["--query", "n=SELECT k FROM A", "--query", "m=SELECT k FROM A"]
    assert main(["run", *queries, "A=A.csv", "--out", "n=x.csv", "--out", "m=x.csv"]) == 2
    assert capfd.readouterr().err.endswith("eddy: n and m have the same --out, x.csv\n")
