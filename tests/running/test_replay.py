"""Recorded rows come again: in order, in time, once."""

from __future__ import annotations

import json
import time

import pyarrow as pa
import pytest

import eddy
from eddy.cli import main
from eddy.running.letters import Letters
from eddy.running.replay import BATCH, Replay
from eddy.sources.paced import Pace
from tests.runs import QUERY, counted, expected, feed, write


class Clock:
    """Moves when somebody sleeps."""

    now = 0.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class Noted(eddy.Sink):
    """Notes each row with the time at which it came."""

    def __init__(self, clock, name, rows):
        self.clock, self.name, self.rows = clock, name, rows

    def write(self, table):
        self.rows += [(self.clock(), self.name, *row.values()) for row in table.to_pylist()]


TABLES = {
    "a": pa.table({"ts": [0, 10, 20, 20, 40], "id": [0, 1, 2, 3, 4]}),
    "b": pa.table({"ts": [5, 15, 25], "id": [0, 1, 2]}),
}


def replayed(pace, clock, sources=None):
    rows: list = []
    sources = sources or {name: eddy.source(table) for name, table in TABLES.items()}
    sinks = {name: Noted(clock, name, rows) for name in sources}
    found = Replay(sources, sinks, pace, Letters("bad", "drop", None), clock, clock.sleep).go()
    assert found.ended
    return found, rows


def test_rows_come_at_their_times():
    """Ten times as fast as they were recorded, over all streams; no row before its time, none long behind it."""
    clock = Clock()
    found, rows = replayed(Pace(10.0, clock), clock)
    assert found.rows == {"a": 5, "b": 3}
    assert sorted(row[1:] for row in rows) == sorted(
        (name, *row.values()) for name, table in TABLES.items() for row in table.to_pylist()
    )
    assert all(0 <= at - ts / 10 < 0.03 for at, _, ts, _ in rows)
    assert [row[2] for row in rows] == sorted(row[2] for row in rows)


def test_what_was_opened_is_let_go_of_when_another_sink_cannot_be():
    """The error is that of the other one."""
    calls = []

    class Noting(Noted):
        def open(self, schema, token):
            calls.append(f"open {self.name}")
            if self.name == "b":
                raise eddy.EddyError("b is closed")

        def abandon(self, kept):
            calls.append(f"abandon {self.name}")

    sinks = {name: Noting(time.monotonic, name, []) for name in TABLES}
    sources = {name: eddy.source(table) for name, table in TABLES.items()}
    with pytest.raises(eddy.EddyError, match="b is closed"):
        Replay(sources, sinks, None, Letters("bad", "drop", None)).go()
    assert calls == ["open a", "open b", "abandon a", "abandon b"]


def test_without_a_pace_rows_are_merged_by_time():
    """Nobody waits for a clock."""
    clock = Clock()
    tables = {
        name: pa.table({"ts": list(range(at, 90_000, 3)), "id": [0] * 30_000})
        for at, name in enumerate("abc")
    }
    _, rows = replayed(None, clock, {name: eddy.source(table) for name, table in tables.items()})
    assert clock.now == 0 and len(rows) == 90_000
    furthest = 0
    for _, _, ts, _ in rows:
        assert furthest - ts < 3 * BATCH  # a piece of each is read at a time
        furthest = max(furthest, ts)
    for name in "abc":
        assert [ts for _, of, ts, _ in rows if of == name] == tables[name].column("ts").to_pylist()


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, table in TABLES.items():
        write(table, tmp_path / f"{name}.{'csv' if name == 'a' else 'parquet'}")
    return tmp_path


SOURCES = ["a=a.csv", "b=b.parquet"]


def test_the_command_writes_files_that_grow(place, capfd):
    """A file for each stream, by a real clock: 40 seconds of rows in one, 40 times as fast."""
    started = time.monotonic()
    assert main(["replay", *SOURCES, "--speed", "40x", "--to", "out/"]) == 0
    assert 1 <= time.monotonic() - started
    for name, table in TABLES.items():
        lines = (place / "out" / f"{name}.jsonl").read_text().splitlines()
        assert [json.loads(line) for line in lines] == table.to_pylist()
    assert capfd.readouterr().err.startswith("5 a + 3 b rows in ")


def test_the_command_writes_elsewhere(place, capfd):
    """In another format, to a place with the names in it, and to standard output; bad rows are left out and told of."""
    assert main(["replay", *SOURCES, "--speed", "max", "--to", "{stream}-again.csv", "--quiet"]) == 0
    assert (place / "b-again.csv").read_text() == '"ts","id"\n5,0\n15,1\n25,2\n'
    capfd.readouterr()
    (place / "a.csv").write_text("ts,id\n1,1\nx,2\n3,3\n")
    (place / "schema.json").write_text('{"a": {"ts": "int64", "id": "int64"}}')
    assert main(["replay", "a=a.csv", "--speed", "max", "--to", "-", "--schema", "schema.json"]) == 0
    told = capfd.readouterr()
    assert told.out == '{"ts": 1, "id": 1}\n{"ts": 3, "id": 3}\n'
    assert "1 bad row was left out\n  a.csv, row 3: column ts: 'x' does not fit int64" in told.err


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["--to", "one.csv"], "one place for a, b: give a folder"),
        (["--to", "out/", "--format", "xml"], "no format 'xml'"),
        (["--to", "out/", "--speed", "fast"], "speed is how many times as fast"),
        (["--to", "out/", "--time", "a=when"], "has no column when for its time"),
        (["--to", "kafka://h/?acks=1"], "write {stream} where"),
        ([], "--to"),
    ],
)
def test_what_is_refused(arguments, told, place, capfd):
    """With one line and the exit status 2, and nothing is written."""
    try:
        status = main(["replay", *SOURCES, *arguments])
    except SystemExit as stop:
        status = stop.code
    assert status == 2 and told in capfd.readouterr().err
    assert not (place / "one.csv").exists()


@pytest.mark.parametrize("disorder", [0, 9])
def test_a_run_that_keeps_a_pace_gives_the_same_results(disorder, tmp_path):
    """In order and out of it; and over in about the time that it should take."""
    tables = feed(5, disorder=disorder)
    sources = {name: write(table, tmp_path / f"{name}.parquet") for name, table in tables.items()}
    started = time.monotonic()
    outcome = eddy.run(QUERY, sources, speed=240)
    assert time.monotonic() - started > 0.4
    assert counted(outcome.to_arrow()) == expected(tables)


@pytest.mark.parametrize("speeds", [("200x", None), (None, 200), (200, 400)])
def test_a_restart_may_have_another_pace(speeds, tmp_path):
    """Stopped in the middle of a piece, it goes on there: every result once."""
    tables = feed(6)
    sources = {name: write(table, tmp_path / f"{name}.csv") for name, table in tables.items()}
    loops = []

    def stop(progress):
        if progress.results and not progress.ended:
            loops[-1].stop()

    for speed in speeds:
        outcome = eddy.run(
            QUERY,
            sources,
            tmp_path / "out.csv",
            lateness=3,
            speed=speed,
            batch=7,
            checkpoint=tmp_path / "c",
            control=loops.append,
            on_progress=stop if len(loops) == 0 else None,
        )
    assert outcome.ended == "end"
    assert counted(pa.csv.read_csv(tmp_path / "out.csv")) == expected(tables)
