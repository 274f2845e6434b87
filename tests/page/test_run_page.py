"""Pages of runs: live while it goes on, a report at the end, and one of the checkpoints of a run that was killed."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest
from attrs import evolve

import eddy
from eddy.page.changes import others_of
from eddy.page.recorder import Recorder
from eddy.running.showing import HISTORY
from eddy.steering.decisions import Decision
from policies import Routing
from policies.graph import Graph
from policies.optimizer.rivals import Rival

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


def test_the_report_of_a_run_counts_what_came_out_of_order(tmp_path):
    """Rows that waited until the end are in it: those of each stream, those that flowed, the average of the whole run,
    which began when files were looked through."""
    random.seed(4)
    for name in "ab":
        times = [10 * i + random.randrange(400) for i in range(500)]
        (tmp_path / f"{name}.csv").write_text(
            "ts,k\n" + "".join(f"{at},{at % 7}\n" for at in times) + "nonsense\n"
        )
    sources = {name: str(tmp_path / f"{name}.csv") for name in "ab"}
    outcome = eddy.run(QUERY, sources, tmp_path / "out.csv", report=tmp_path / "run.html", batch=64)
    run = shown(tmp_path / "run.html")
    now, streams = run["now"], run["now"]["streams"]
    assert {s["name"]: s["rows"] for s in streams} == outcome.rows == {"a": 500, "b": 500}
    assert {s["name"]: s["bad"] for s in streams} == outcome.bad == {"a": 1, "b": 1}
    assert now["events"] == 1000 and now["results"] == outcome.results
    assert [s["waiting"] for s in streams] == [0, 0]
    assert sum(arrow["rows"] for arrow in now["picture"]["arrows"]) == outcome.results
    assert 0.8 * outcome.seconds <= now["t"] <= outcome.seconds
    assert now["average"] == pytest.approx(1000 / now["t"])
    assert sum(s["average"] for s in streams) == pytest.approx(now["average"])
    series = run["series"]
    assert series["t"][0] == 0 and len(series["t"]) > 1 and 0 not in series["events"]
    spans = [end - start for start, end in itertools.pairwise(series["t"])]
    rows = sum(rate * span for rate, span in zip(series["events"][1:], spans, strict=True))
    assert rows == pytest.approx(1000, rel=0.01)


def test_a_report_does_not_say_that_nothing_flows_because_it_was_asked_for(tmp_path):
    """A reading between two pushes makes no stretch without rows; one that comes soon counts with the one before."""
    now = [0.0]
    engine = eddy.Eddy(
        eddy.Query({n: eddy.Stream({"k": "int64"}, window=eddy.Rows(9)) for n in "AB"}, "A.k = B.k")
    )
    recorder = Recorder(engine, clock=lambda: now[0])
    recorder.read()
    for now[0] in (1.0, 2.0):
        engine.push("A", {"k": [1] * 100})
        assert recorder.read()
    now[0] = 2.1
    recorder.read(now=True)
    assert recorder.told()["series"]["events"] == [100.0] * 3 and recorder.told()["series"]["t"][-1] == 2.0
    engine.push("A", {"k": [1] * 50})
    now[0] = 2.2
    recorder.read(now=True)
    assert recorder.told()["series"]["t"] == [0.0, 1.0, 2.2]
    assert recorder.told()["series"]["events"][-1] == pytest.approx(150 / 1.2, rel=0.01)
    now[0] = 3.2
    assert recorder.read() and recorder.told()["series"]["events"][-1] == 0  # nobody has asked: so it is
    assert recorder.told()["now"]["average"] == pytest.approx(250 / 3.2)
    assert recorder.told()["query"].startswith("stream A\n")  # it has no source that anybody knows


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


def test_the_former_plan_is_not_among_the_others():
    """However its sides are written: it is told of as the former one, with what it was believed to cost."""
    graph = Graph(tuple("ABCD"), (frozenset("AB"), frozenset("BC"), frozenset("CD")))
    plans = ("(D C) (A B)", "(B A) (C D)", "A (B (C D))", "((A B) C) D")
    rivals = SimpleNamespace(
        plans=tuple(Rival(plan, 1e-6) for plan in plans), estimate=SimpleNamespace(graph=graph)
    )
    decision = Decision(9, "(A B) (C D)", "((B C) A) D", "changed", "", 2e-6, 1e-6, 0.0, None, rivals=rivals)
    assert others_of(decision) == [["A (B (C D))", 1e-6], ["((A B) C) D", 1e-6]]
    unknown = evolve(decision, believed_cost=None)
    assert [plan for plan, _ in others_of(unknown)] == list(plans)


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
