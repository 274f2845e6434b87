"""Pages of runs: live while it goes on, a report at the end, and one of the checkpoints of a run that was killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

import eddy
from eddy.page.recorder import Recorder
from eddy.running.showing import HISTORY
from policies import Routing

ROOT = Path(__file__).parents[2]
EDDY = [sys.executable, "-c", "import sys; from eddy.cli import main; sys.exit(main())"]
QUERY = "SELECT a.k, b.ts FROM a [RANGE 100], b [RANGE 100] WHERE a.k = b.k"


def files(folder, rows=3_000):
    for name in "ab":
        lines = "".join(f"{i},{i % 50}\n" for i in range(rows))
        (folder / f"{name}.csv").write_text(f"ts,k\n{lines}" + "nonsense\n")
    return {name: str(folder / f"{name}.csv") for name in "ab"}


def shown(path):
    text = Path(path).read_text()
    return json.loads(re.search(r'<script type="application/json" id="run">(.*?)</script>', text, re.S)[1])


def test_a_report_is_written_at_the_end(tmp_path):
    """With what came of the run: rows, results, bad rows, the query and its sources."""
    outcome = eddy.run(QUERY, files(tmp_path), tmp_path / "out.csv", report=tmp_path / "run.html")
    run = shown(tmp_path / "run.html")
    assert run["ended"] == "all sources have ended" and run["live"] is False
    assert run["now"]["results"] == outcome.results > 0
    assert {s["name"]: s["rows"] for s in run["now"]["streams"]} == outcome.rows
    assert {s["name"]: s["bad"] for s in run["now"]["streams"]} == outcome.bad == {"a": 1, "b": 1}
    assert "a.csv" in run["query"] and "key a.k = b.k" in run["query"]


def test_a_live_page_is_answered_while_the_run_goes_on(tmp_path):
    """Its address is told in progress, and it ends with the run."""
    seen = []

    def look(progress):
        if not seen:
            with urllib.request.urlopen(progress.page + "run.json") as answer:
                seen.append((progress.page, json.load(answer)))

    eddy.run(QUERY, files(tmp_path), tmp_path / "out.csv", watch=True, on_progress=look)
    url, run = seen[0]
    assert run["title"] == "eddy run" and run["ended"] is None
    with pytest.raises(OSError):
        urllib.request.urlopen(url, timeout=2)


def test_a_killed_run_has_a_report_of_its_checkpoints(tmp_path):
    """SIGKILL in the middle: `eddy report` tells of it up to the last checkpoint."""
    given = [f"{name}={path}" for name, path in files(tmp_path, 200).items()]
    command = [*EDDY, "run", QUERY, *given, "--out", "out.jsonl", "--follow"]
    command += ["--checkpoint", "kept", "--every", "0.05s", "--lateness", "5", "--schema", "types.json"]
    types = {"ts": "int64", "k": "int64"}
    (tmp_path / "types.json").write_text(json.dumps({"a": types, "b": types}))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as process:
        limit = time.monotonic() + 60
        while not (tmp_path / "kept" / "run.history").exists():
            assert process.poll() is None and time.monotonic() < limit
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    written = subprocess.run(
        [*EDDY, "report", "kept", "--out", "run.html"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert written.stdout == "run.html\n"
    assert shown(tmp_path / "run.html")["ended"] == "ended without a word"


def test_what_has_no_history_is_told_of(tmp_path):
    """A folder without checkpoints, a port that is none, and Spark, which has pages of its own."""
    from eddy.running.showing import report_of

    with pytest.raises(eddy.EddyError, match="there is no history of a run in"):
        report_of(tmp_path, tmp_path / "run.html")
    for options, said in (
        ({"watch": -1}, "watch"),
        ({"report": 7}, "report is a file"),
        ({"watch": True, "on": "spark"}, "does not go with on='spark'"),
    ):
        with pytest.raises(eddy.EddyError, match=said):
            eddy.run(QUERY, files(tmp_path), tmp_path / "out.csv", **options)


def test_a_history_that_cannot_be_written_is_told_of(tmp_path):
    """In a line: the disk may be full."""
    (tmp_path / "progress" / f"{HISTORY}.tmp").mkdir(parents=True)
    with pytest.raises(eddy.EddyError, match=f"cannot write .*{HISTORY}"):
        eddy.run(QUERY, files(tmp_path), tmp_path / "out.csv", checkpoint=tmp_path / "progress")


class Turning(Routing):
    """Wants the other plan each time that it is asked."""

    period = 1

    def choose(self, view):
        return "A (B C)" if view.plan == "(A B) C" else "(A B) C"


@pytest.mark.parametrize("advise", [False, True])
def test_changes_have_the_time_at_which_they_were_made(advise):
    """However many there were since; what was only advised has none."""
    streams = {name: eddy.Stream({"k": "int64"}, window=eddy.Rows(9)) for name in "ABC"}
    query = eddy.Query(streams, ["A.k = B.k", "B.k = C.k"])
    engine = eddy.Eddy(query, "(A B) C", routing=Turning(), advise=advise)
    recorder = Recorder(engine)
    for row in range(150):
        engine.push("ABC"[row % 3], {"k": [row % 5]})
        recorder.read(now=True)
    told = recorder.told()
    times = [change["t"] for change in told["changes"]]
    assert len(times) > 100 and len(engine.statistics().history) < 100
    if advise:
        assert set(times) == {None}
    else:
        assert None not in times and 0 < min(times) and times == sorted(times)
