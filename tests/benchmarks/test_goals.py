"""Goals: each kind can fail, and a group that is measured touches no other."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks.goals import Line, keep, read
from benchmarks.papers.record import Record
from benchmarks.papers.record import keep as keep_record
from benchmarks.report import Report, command
from benchmarks.stamp import stamp
from benchmarks.table import feedback


@pytest.mark.parametrize(
    ("line", "passed"),
    [
        (Line("speed", 1.0, "times", 1.0, at_least=True), True),
        (Line("speed", 0.99, "times", 1.0, at_least=True), False),
        (Line("cost", 2.0, "ms", 2.0), True),
        (Line("cost", 2.01, "ms", 2.0), False),
        (Line("shown", 5.0, "ms", None), True),
    ],
    ids=["at least, reached", "at least, missed", "at most, reached", "at most, missed", "no goal"],
)
def test_a_goal_of_each_kind(line, passed):
    assert line.passed is passed
    assert line.cells()[3] == ("" if line.target is None else "pass" if passed else "MISS")


def groups(**measured: float):
    def group(value: float):
        def measure(report: Report) -> None:
            report.row("rows", ("name", "value"), "x", value)
            report.reach("must be 1", value, "times", 1.0, at_least=True)

        return measure

    return {name: group(value) for name, value in measured.items()}


def call(monkeypatch, path, *words: str, **measured: float) -> int:
    monkeypatch.setattr(sys, "argv", ["command", *words])
    return command("benchmarks.nothing", "", groups(**measured), path, ("benchmarks/goals.py",))


def test_a_missed_goal_is_an_exit_code(monkeypatch, tmp_path, capsys):
    """And a line that says so; whatever was missed before the last group counts too."""
    assert call(monkeypatch, tmp_path / "r.json", one=1.5, two=1.0) == 0
    assert "MISS" not in capsys.readouterr().out
    assert call(monkeypatch, tmp_path / "r.json", one=0.5, two=1.5) == 1
    assert "MISS" in capsys.readouterr().out


def test_a_group_touches_no_other(monkeypatch, tmp_path):
    """`--only` measures one; the rows, lines and stamps of the others stay."""
    path = tmp_path / "results.json"
    call(monkeypatch, path, "--write", one=1.0, two=2.0)
    before = json.loads(path.read_text())
    assert call(monkeypatch, path, "--write", "--only", "two", one=9.0, two=0.5) == 1
    after = json.loads(path.read_text())
    assert after["one"] == before["one"] and after["two"] != before["two"]
    assert [line.passed for group in read(path).values() for line in group.lines] == [True, False]
    assert after["two"]["stamp"]["command"] == "python -m benchmarks.nothing --only 'two' --write"
    assert not read(path)["two"].stale


def test_a_group_is_stale_when_its_code_has_changed(tmp_path):
    path = tmp_path / "results.json"
    keep(path, "one", [Line("a", 1.0, "s", None)], "command", 0.0, measures=("benchmarks/goals.py",))
    held = json.loads(path.read_text())
    held["one"]["measures"] = ["benchmarks/report.py"]
    path.write_text(json.dumps(held))
    assert read(path)["one"].stale


def test_the_module_of_a_command_is_part_of_what_it_measures(monkeypatch, tmp_path):
    """A figure is stale when what measures it has changed, too."""
    monkeypatch.setattr(sys, "argv", ["command", "--write"])
    path = tmp_path / "results.json"
    assert command("benchmarks.report", "", groups(one=1.0), path, ("benchmarks/goals.py",)) == 0
    assert read(path)["one"].measures == ["benchmarks/goals.py", "benchmarks/report.py"]


def test_a_heading_that_is_there_twice_is_refused():
    """One of the columns would be lost."""
    with pytest.raises(ValueError, match="twice"):
        Report().row("figure", ("joins", "total %", "total %"), 1, 2, 3)


def test_the_memory_of_feedback_is_told_by_its_least_and_its_most(tmp_path):
    """Where it takes more, that is said; the front page had said that it saves half, wherever."""
    measured = stamp(["stairs"], 0, "python -m benchmarks.papers jit-10", 0.5)
    rows = [{"joins": "hash", "side": side, "KiB": kib} for side, kib in (("REF", 100.0), ("JIT", 130.0))]
    keep_record("jit-10", "full", "w 10", Record(rows, measured), tmp_path)
    rows = [{"joins": "nested", "side": side, "KiB": kib} for side, kib in (("REF", 200.0), ("JIT", 50.0))]
    keep_record("jit-11", "full", "rate 1", Record(rows, measured), tmp_path)
    (said,) = feedback(tmp_path)
    assert "from 30 % more to 75 % less memory" in said and "blacklists included" in said
    assert feedback(tmp_path / "nowhere") == []
