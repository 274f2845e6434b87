"""`eddy run`, `check` and `doctor`: what they print, what they write, and their exit status."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eddy.cli import main
from tests.runs import QUERY, counted, expected, feed, read, write

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "from eddy.cli import main; raise SystemExit(main())"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a query and three files."""
    monkeypatch.chdir(tmp_path)
    for (name, table), ending in zip(feed(1).items(), ("csv", "parquet", "jsonl"), strict=True):
        write(table, tmp_path / f"{name}.{ending}")
    (tmp_path / "query.sql").write_text(f"-- three streams\n{QUERY};\n")
    return tmp_path


SOURCES = ["A=A.csv", "B=B.parquet", "C=C.jsonl"]


def started(*arguments, cwd, env=None, **more):
    """A process of the command."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.PIPE, **more}
    return subprocess.Popen([*COMMAND, *arguments], cwd=cwd, env=environment, **pipes)


def test_it_writes_the_results_and_says_how_many(place, capfd):
    """In a pipe: results to the file, plain lines to standard error."""
    assert main(["run", "query.sql", *SOURCES, "--out", "out.parquet"]) == 0
    wanted = expected(feed(1))
    assert counted(read(place / "out.parquet")) == wanted
    told = capfd.readouterr()
    assert told.out == ""
    assert told.err.splitlines()[-1].startswith(
        f"{wanted.total():,} results of 120 A + 120 B + 120 C rows in "
    )


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_results_go_to_standard_output(format, place, capfd):
    """By default, as JSON lines."""
    assert main(["run", QUERY, *SOURCES, "--format", format, "--quiet"]) == 0
    told = capfd.readouterr()
    (place / f"out.{format}").write_text(told.out)
    assert counted(read(place / f"out.{format}")) == expected(feed(1)) and told.err == ""


def test_every_option_changes_no_result(place, capfd):
    """But for a limit."""
    options = ["--lateness", "5", "--late", "keep:late.jsonl", "--bad", "keep:bad.jsonl", "--threads", "2"]
    options += [
        "--memory",
        "2GB",
        "--plan",
        "(A B) C",
        "--batch",
        "7",
        "--checkpoint",
        "here",
        "--every",
        "1s",
    ]
    assert main(["run", "query.sql", *SOURCES, "--out", "out/", "--format", "csv", *options]) == 0
    parts = [read(path) for path in sorted((place / "out").iterdir())]
    assert sum((counted(part) for part in parts), start=type(counted(parts[0]))()) == expected(feed(1))
    assert main(["run", "query.sql", *SOURCES, "--limit", "3"]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 3


def test_schemas_and_times_can_be_given(place, capfd):
    """In a file, and as name=column."""
    rows = "when,k,ts\n5,1,x\n7,2,y\nz,3,z\n"
    (place / "late.csv").write_text(rows)
    (place / "schema.json").write_text(json.dumps({"L": {"when": "int32", "k": "int64"}}))
    query = "SELECT k FROM L [RANGE 10] WHERE k > 0"
    arguments = [
        "run",
        query,
        "L=late.csv",
        "--schema",
        "schema.json",
        "--time",
        "L=when",
        "--bad",
        "keep:bad.jsonl",
    ]
    assert main(arguments) == 0
    told = capfd.readouterr()
    assert told.out == '{"k": 1}\n{"k": 2}\n'
    assert "1 bad row was left out\n  late.csv, row 4: column when: 'z' does not fit int32" in told.err
    assert json.loads((place / "bad.jsonl").read_text())["row"] == 4


def test_explain_and_check_run_nothing(place, capfd):
    """They tell windows, keys, and what a result has."""
    query = "SELECT A.id FROM A, B WHERE A.k = B.k AND B.ts BETWEEN A.ts AND A.ts + 9 AND A.id > 3"
    assert main(["run", query, *SOURCES[:2], "--explain"]) == 0
    assert "A Range(9) by predicates: 0 live" in capfd.readouterr().out
    assert main(["check", query.replace("FROM A", "FROM A [RANGE 5]"), *SOURCES[:2]]) == 0
    told = capfd.readouterr()
    assert told.out.splitlines() == [
        "stream A from A.csv",
        "  columns ts int64, k int64, id int64",
        "  time ts, window Range(5)",
        "  filter A.id > 3",
        "stream B from B.parquet",
        "  columns ts int64, k int64, id int64",
        "  time ts, window Range(0), by predicates",
        "key A.k = B.k",
        *(line for line in told.out.splitlines() if line.startswith("tested ")),
        "results A.id int64",
    ]
    assert "warning: the window of A, Range(5), is shorter" in told.err


def test_doctor_says_what_is_there(capfd):
    """And returns 0 where nothing that is needed is missing."""
    assert main(["doctor"]) == 0
    told = capfd.readouterr().out
    assert all(word in told for word in ("eddy 0", "Python 3", "processors", "numba", "Java", "kernels"))


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["run", "query.sql"], "give a source for each stream"),
        (["run", "query.sql", "A.csv"], "a source is name=value"),
        (["run", "query.sql", "A=A.csv", "A=A.csv"], "A is given twice"),
        (["run", "query.sql", "A=A.csv", "--time", "B=x"], "--time names B: there is no such source"),
        (["run", "query.sql", "A=A.csv", "--threads", "many"], "many"),
        (["run", "query.sql", "A=A.csv", "--thread", "2"], "--threads"),
    ],
)
def test_wrong_use_is_refused(arguments, said, place, capsys):
    """The exit status is 2, in one line."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    told = capsys.readouterr().err
    assert stop.value.code == 2 and said in told and told.count("\n") == 1


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["run", "nowhere.sql", *SOURCES], "cannot read the query nowhere.sql: No such file"),
        (["run", "query.sql", "A=nowhere.csv"], "there is no file nowhere.csv"),
        (["run", "query.sql", "A=A.csv"], "no source for B: add B=PATH"),
        (["run", "SELECT nothing FROM A", "A=A.csv"], "nothing"),
        (["run", "query.sql", *SOURCES, "--out", "out.xyz"], "its name does not say"),
        (["run", "query.sql", *SOURCES, "--out", "no/where/out.csv"], "cannot write no/where/out.csv"),
        (["run", "query.sql", *SOURCES, "--lateness", "soon"], "'soon' is not a duration"),
        (["run", "query.sql", *SOURCES, "--late", "never"], "late must be"),
        (["run", "query.sql", *SOURCES, "--schema", "query.sql"], "cannot read the schema"),
        (["run", "query.sql", *SOURCES, "--memory", "lots"], "memory is"),
        (["run", "query.sql", *SOURCES, "--threads", "0"], "threads must be"),
        (["run", "query.sql", *SOURCES, "--plan", "(A B"], "plan"),
        (["run", "query.sql", *SOURCES, "--out", "/dev/full", "--format", "csv"], "No space left"),
        (["run", "SELEC id FROM A", "A=A.csv"], "SELEC id FROM A is no file, and no SELECT"),
        (["run", "query.sql", *SOURCES, "--port", "99999"], "the page cannot have port 99999"),
        (["run", "query.sql", *SOURCES, "--on", "flink"], "on must be 'spark', not 'flink'"),
        (["run", "query.sql", *SOURCES, "--checkpoint", "s3://bucket/here"], "a folder of this machine"),
        (["run", "query.sql", "A=zip://A.csv::nowhere.zip"], "A.csv::nowhere.zip: No such file"),
        (["run", "query.sql", "A=ftp://127.0.0.1:1/A.csv"], "ftp://127.0.0.1:1/A.csv: Connection refused"),
    ],
)
def test_a_mistake_is_told_without_a_traceback(arguments, said, place, capsys):
    """The exit status is 2, and nothing is left behind."""
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert said in told and told.startswith("eddy: ") and "Traceback" not in told
    assert not [name for name in os.listdir(place) if name.startswith((".", "out"))]


def test_lines_come_from_standard_input(place):
    """And a reader that leaves is no error."""
    query = "SELECT id FROM A [ROWS 1] WHERE id >= 0"
    with started("run", query, "A=-", "--quiet", cwd=place) as process:
        out, err = process.communicate((place / "C.jsonl").read_bytes(), timeout=200)
    assert (len(out.splitlines()), err, process.returncode) == (120, b"", 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_with_a_checkpoint(number, place):
    """A run over files that grow goes on until then; the next one goes on where it stood."""
    arguments = ["run", "query.sql", *SOURCES, "--out", "out.csv", "--lateness", "0", "--batch", "20"]
    arguments += ["--checkpoint", "here", "--every", "0s"]
    with started(*arguments, "--follow", cwd=place) as process:
        deadline = time.monotonic() + 200
        while not list(place.glob("here/*.json")) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(number)
        _, err = process.communicate(timeout=200)
    assert process.returncode == 130 and b"stopped before the end" in err and b"Traceback" not in err
    assert main(arguments) == 0
    assert counted(read(place / "out.csv")) == expected(feed(1))


def test_a_terminal_has_a_picture(place):
    """With a line for each stream; at the end the same words as in a pipe."""
    ours, theirs = pty.openpty()
    with started("run", "query.sql", *SOURCES, "--out", "out.csv", cwd=place, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while select.select([ours], [], [], 200)[0]:
            try:
                shown += os.read(ours, 10_000)
            except OSError:
                break
        assert process.wait(timeout=200) == 0
    os.close(ours)
    text = shown.decode()
    assert "stream" in text and "rows/s" in text and "120" in text and "results of 120 A + 120 B" in text
