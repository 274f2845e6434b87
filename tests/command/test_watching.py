"""What a real `eddy run` shows to the outside, and how signals end it."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import socket
import threading
import time
import urllib.request

import pyarrow as pa
import pytest

from eddy.cli import main
from eddy.command.view import Live, Plain, line_of, memory_of
from eddy.running.outcome import Progress
from tests.command.test_run_command import SOURCES, place, started
from tests.runs import counted, expected, feed, read, write

__all__ = ["place"]


def progress(**more):
    """One moment of a run."""
    made = {"seconds": 2.0, "rows": {"A": 10}, "results": 3, "bad": {}, "late": {}, "newest": {"A": "12"}}
    made |= {"waiting": {"A": 4}, "behind": {"A": 7}, "plan": "A B", "changes": 0, "bytes": 5_000_000}
    made |= {"checkpoints": 0, "done": None}
    return Progress(**{**made, **more})


def lines_of(file, until, limit=120):
    """The lines that come, up to one that fits."""
    found, end = [], time.monotonic() + limit
    while time.monotonic() < end:
        line = file.readline().decode()
        found.append(line)
        if re.search(until, line) or not line:
            break
    return found


def test_it_answers_prometheus_in_a_pipe(place):
    """Plain lines say where; a source that is not there yet, and comes; Ctrl-C ends it well, with all that was read."""
    os.rename(place / "A.csv", place / "later.csv")
    arguments = [
        "run",
        "query.sql",
        *SOURCES,
        "--out",
        "out.csv",
        "--follow",
        "--metrics",
        ":0",
        "--lateness",
        "0",
    ]
    with started(*arguments, "--schema", "A=later.csv", "--checkpoint", "here", cwd=place) as process:
        told = lines_of(process.stderr, "not there yet")
        url = re.search(r"metrics at (\S+)", "".join(told))[1]
        os.rename(place / "later.csv", place / "A.csv")
        told += lines_of(process.stderr, "source A is reading")
        with urllib.request.urlopen(url) as answer:
            page = answer.read().decode()
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=60)
    assert process.returncode == 130 and b"stopped before the end" in rest and b"Traceback" not in rest
    assert 'eddy_rows_total{stream="B"} 120.0' in page


def test_a_second_ctrl_c_ends_it_at_once(place):
    """Also where the sink does not move: a reader of a pipe that has stopped reading."""
    write(feed(2, rows=4000)["A"], place / "A.csv")
    query = (
        "SELECT A.id AS a, B.id AS b FROM A, A AS B WHERE A.k = B.k AND A.ts >= B.ts AND A.ts <= B.ts + 500"
    )
    with started("run", query, "A=A.csv", "--quiet", cwd=place) as process:
        assert process.stdout.read(100)
        time.sleep(1.0)  # the pipe is full by now
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        assert process.poll() is None
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)
        assert time.monotonic() - began < 10
        assert (process.returncode, process.stderr.read()) == (130, b"")


def test_a_port_in_use_is_one_line(place, capsys):
    """The exit status is 2, and nothing was written."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f":{taken.getsockname()[1]}"
        assert main(["run", "query.sql", *SOURCES, "--out", "out.csv", "--metrics", address]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "it is in use; give another address" in told
    assert not (place / "out.csv").exists()


def test_a_schema_is_that_of_another_file(place, capfd):
    """Of any format, for one stream; or of JSON, for one or for all."""
    types = pa.table({"ts": pa.array([], pa.int64()), "k": pa.array([], pa.string())})
    write(types, place / "like.parquet")
    (place / "L.csv").write_text("ts,k\n1,2\n")
    (place / "one.json").write_text('{"ts": "int64", "k": "string"}')
    (place / "all.json").write_text('{"L": {"ts": "int64", "k": "string"}}')
    for schema in ("L=like.parquet", "L=one.json", "all.json"):
        assert (
            main(["run", "SELECT k FROM L [ROWS 1] WHERE k <> ''", "L=L.csv", "--schema", schema, "--quiet"])
            == 0
        )
        assert capfd.readouterr().out == '{"k": "2"}\n'
    for schema, said in (("like.parquet", "name its stream, as in"), ("one.json", "is not of the form")):
        assert main(["run", "SELECT k FROM L [ROWS 1]", "L=L.csv", "--schema", schema]) == 2
        assert said in capfd.readouterr().err


@pytest.mark.parametrize(
    "options",
    [["--latency", "20ms"], ["--latency", "20ms", "--batch", "7"], ["--threads", "2", "--lateness", "0"]],
    ids=" ".join,
)
def test_no_option_changes_results(options, place):
    """Sizes of batches and threads are nobody's business but the engine's."""
    assert main(["run", "query.sql", *SOURCES, "--out", "out.csv", "--quiet", *options]) == 0
    assert counted(read(place / "out.csv")) == expected(feed(1))


def test_a_terminal_shows_lag_watermark_plan_and_sources(place):
    """In one picture that is drawn anew."""
    ours, theirs = pty.openpty()
    arguments = [
        "run",
        "query.sql",
        *SOURCES,
        "--out",
        "out.csv",
        "--follow",
        "--lateness",
        "0",
        "--memory",
        "1KB",
    ]
    shown = b""
    with started(*arguments, cwd=place, stderr=theirs) as process:
        os.close(theirs)
        threading.Timer(90, process.kill).start()
        while select.select([ours], [], [], 60)[0]:
            try:
                shown += os.read(ours, 10_000)
            except OSError:
                break
            if b"plan" in shown and b"120" in shown and b"watermark" in shown and process.poll() is None:
                process.send_signal(signal.SIGINT)
                break
        while select.select([ours], [], [], 60)[0]:
            try:
                if not (more := os.read(ours, 10_000)):
                    break
                shown += more
            except OSError:
                break
        assert process.wait(timeout=60) == 130
    os.close(ours)
    text = shown.decode()
    for word in (
        "lag",
        "watermark",
        "plan (",
        "reading",
        "the budget cannot be kept",
        "stopped before the end",
    ):
        assert word in text, word


def test_a_budget_that_cannot_be_kept_is_marked():
    """In a line as in the picture."""
    assert memory_of(progress()) == "5 MB"
    assert memory_of(progress(memory=9_000_000)) == "5 MB of 9 MB"
    over = progress(memory=1_000_000, watermark="5", late={"A": 2}, done=0.5)
    assert memory_of(over) == "5 MB of 1 MB: the budget cannot be kept"
    assert (
        line_of(over)
        == "50%, 3 results; rows: A 10; watermark 5; 5 MB of 1 MB: the budget cannot be kept; 2 late"
    )
    caption = Live().picture(over).caption.plain
    assert (
        "the budget cannot be kept" in caption
        and "watermark 5" in caption
        and "50%, about 2 s left" in caption
    )


def test_plain_lines_tell_what_sources_do(capsys):
    """Once when it changes, and where metrics are, at first."""
    import sys

    view = Plain(sys.stderr)
    for state in ("reading", "idle", "idle", "reading", "ended"):
        view.show(progress(states={"A": state}, metrics="http://here"))
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "metrics at http://here"
    assert [line.split()[-1] for line in told[1:]] == ["idle", "reading", "ended"]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_no_line_is_lost_when_a_signal_comes_while_it_is_written(unbuffered, place):
    """Under `python -u` a write that a signal interrupts writes a part only: the rest is written all the same."""
    write(feed(2, rows=4000)["A"], place / "A.csv")
    query = (
        "SELECT A.id AS a, B.id AS b FROM A, A AS B WHERE A.k = B.k AND A.ts >= B.ts AND A.ts <= B.ts + 500"
    )
    with started(
        "run", query, "A=A.csv", cwd=place, env={"PYTHONUNBUFFERED": unbuffered}, bufsize=0
    ) as process:
        first = process.stdout.read(100)
        time.sleep(1.0)  # the pipe is full by now
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        out, err = process.communicate(timeout=100)
    lines = (first + out).splitlines()
    assert process.returncode == 130 and lines[-1].endswith(b"}")
    assert f"{len(lines):,} results of".encode() in err
