"""What `benchmarks.spark` says of the processors that a side kept busy."""

import multiprocessing
import sys
import time

import pytest

from benchmarks import spark
from benchmarks.spark import Turns, lines, processor_seconds


def _burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="it is read from /proc")
def test_the_time_of_children_counts_while_they_run_and_when_they_have_ended():
    before = processor_seconds()
    child = multiprocessing.get_context("spawn").Process(target=_burn, args=(0.3,))
    child.start()
    child.join()
    assert 0.25 <= processor_seconds() - before


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
