"""What a run says of the checkpoint that it goes on from, and of one whose run was over already."""

from __future__ import annotations

import re

import pytest

import eddy
from eddy.cli import main
from eddy.running.describing import closing
from tests.runs import QUERY, expected, feed, write

SOURCES = [f"{name}={name}.parquet" for name in "ABC"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with three files, and a run over them that was stopped."""
    monkeypatch.chdir(tmp_path)
    for name, table in feed(1).items():
        write(table, tmp_path / f"{name}.parquet")
    loops = []

    def stop(progress):
        if progress.results:
            loops[0].stop()

    before = eddy.run(
        QUERY, {name: f"{name}.parquet" for name in "ABC"}, "out.csv", batch=64, every=0, checkpoint="progress",
        control=loops.append, on_progress=stop,
    )  # fmt: skip
    assert before.ended == "stopped" and before.resumed is None and before.results > 0
    return before


def test_a_restart_tells_the_checkpoint_and_counts_both(place, capfd):
    """How many results there were, and how many have come now; then that the run was over, with nothing done."""
    total = expected(feed(1)).total()
    command = ["run", QUERY, *SOURCES, "--out", "out.csv", "--checkpoint", "progress"]
    assert main(command) == 0
    first, *_, last = capfd.readouterr().err.splitlines()
    told = rf"going on from the checkpoint of \d\d:\d\d:\d\d, {place.results:,} results so far"
    assert re.fullmatch(told, first)
    now = total - place.results
    assert now > 0 and last.startswith(
        f"{total:,} results ({now:,} of them now) of 120 A + 120 B + 120 C rows"
    )
    text = open("out.csv").read()
    assert main(command) == 0
    over = (
        r"this run was over already: nothing was done \(checkpoint \S*progress, of \d\d:\d\d:\d\d\)\. For new rows use "
        r"--follow, or an empty folder\n"
    )
    assert re.fullmatch(over, capfd.readouterr().err)
    assert open("out.csv").read() == text


def test_the_outcome_tells_it(place):
    """`resumed` is the checkpoint, and `ended` is "over" where nothing was left to do."""
    given = QUERY, {name: f"{name}.parquet" for name in "ABC"}, "out.csv"
    seen = []
    outcome = eddy.run(*given, checkpoint="progress", on_progress=seen.append)
    assert outcome.ended == "end" and outcome.resumed.results == place.results
    assert outcome.resumed.folder.endswith("progress")
    assert {progress.resumed for progress in seen} == {outcome.resumed}
    again = eddy.run(*given, checkpoint="progress")
    assert (again.ended, again.results, again.seconds) == ("over", outcome.results, 0.0)
    assert again.resumed.results == outcome.results and again.rows == outcome.rows
    assert "over already" in closing(again)[0]


def test_the_shell_tells_it(place, capfd):
    """In its words."""
    streams = "".join(f"CREATE STREAM {name} FROM '{name}.parquet'; " for name in "ABC")
    insert = f"{streams} INSERT INTO 'out.csv' WITH (checkpoint = 'progress') {QUERY}"
    assert main(["sql", "-c", insert]) == 0
    first, last = capfd.readouterr().err.splitlines()
    assert first.startswith("going on from the checkpoint of ") and "of them now" in last
    assert main(["sql", "-c", insert]) == 0
    told = capfd.readouterr().err
    assert "this run was over already" in told and "WITH (follow = true)" in told and "--follow" not in told
