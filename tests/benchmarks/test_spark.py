"""What `benchmarks.spark` says of the processors that a side kept busy."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import spark
from benchmarks.spark import Turns, lines

BURN = "import time\nwhile time.process_time() < 0.4: pass"
MEASURED = f"""
import subprocess, sys
from benchmarks.spark import processor_seconds
before = processor_seconds()
child = subprocess.Popen([sys.executable, "-c", {BURN!r}], stdin=subprocess.PIPE)
child.wait()
print(processor_seconds() - before)
"""
"""A process of its own, which has no other children that begin or end meanwhile."""


@pytest.mark.skipif(sys.platform != "linux", reason="it is read from /proc")
def test_the_time_of_children_counts_while_they_run_and_when_they_have_ended():
    done = subprocess.run(
        [sys.executable, "-c", MEASURED],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) >= 0.35


def test_the_line_of_two_cores_says_how_many_times_there_can_be_at_most(monkeypatch):
    monkeypatch.setattr(spark, "PROCESSORS", 2)
    turns = Turns()
    turns.seconds = {"join": [1.0, 1.1], "one core": [1.2, 1.3]}
    turns.processors = {"join": [1.9, 1.8], "one core": [1.6, 1.6]}
    (line,) = [line for line in lines(turns, 1_000, 3, 10) if "two cores" in line.what]
    assert line.measured == pytest.approx(1.2)
    assert not line.passed
    assert "processors busy: 1.60 with one core, 1.85 with two, so at most 1.25 times with all 2" in line.note


def test_a_side_with_one_turn_is_compared_with_the_median_of_ours():
    turns = Turns()
    turns.seconds = {"stream": [1.0, 0.5, 2.0], "native": [20.0]}
    (line,) = lines(turns, 1_000, 3, 10)
    assert line.measured == pytest.approx(20.0)
    assert "turns 10 to 40" in line.note
