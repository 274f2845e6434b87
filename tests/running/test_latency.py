"""`latency=`: batches are as large as they may be for results to be written in time."""

from __future__ import annotations

import random

import pytest

import eddy
from eddy.running.sizing import LOW, PIECE, Sizing
from tests.runs import QUERY, counted, expected, feed


class Machine:
    """A batch of n rows takes ``fixed + n * each`` seconds, give or take."""

    def __init__(self, fixed, each, noise=0.0, seed=0):
        self.fixed, self.each, self.noise, self.random = fixed, each, noise, random.Random(seed)

    def took(self, rows):
        return (self.fixed + rows * self.each) * (1 + self.noise * self.random.random())


def settled(sizing, machine, batches=40):
    """How long each of some batches took, as large as they were wanted, with no end of rows."""
    found = []
    for _ in range(batches):
        seconds, rows = machine.took(sizing.rows), sizing.rows
        sizing.took(seconds, rows)
        found.append(seconds)
    return found


@pytest.mark.parametrize("target", [0.01, 0.05, 1.0])
@pytest.mark.parametrize("each", [1e-6, 1e-5, 1e-4])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_batches_become_as_large_as_they_may_be(target, each, noise):
    """They grow at most twofold at a time, and then take less than the latency and not much less than they may."""
    sizing = Sizing(target, clock=lambda: 0.0)
    took = settled(sizing, Machine(0.0005, each, noise))
    least = 0.0005 + PIECE * each
    if least < target:
        assert max(took) <= target
    large = [seconds for seconds in took[-10:] if sizing.rows < sizing.most]
    assert all(seconds >= LOW * target / 1.3 or sizing.rows == PIECE for seconds in large)


def test_a_slower_machine_gets_smaller_batches_at_once():
    """In proportion, but an eighth at the least: one hiccup does not make batches tiny."""
    sizing = Sizing(0.05, clock=lambda: 0.0)
    settled(sizing, Machine(0, 1e-5))
    before = sizing.rows
    sizing.took(3.0, before)
    assert sizing.rows == before // 8
    took = settled(sizing, Machine(0, 4e-5))
    assert max(took) <= 0.05 and 2 * min(took[-10:]) >= 0.04 / 2


def test_a_small_batch_says_nothing_of_a_large_one():
    """While few rows come, the size stays what it was."""
    sizing = Sizing(0.05, clock=lambda: 0.0)
    for _ in range(100):
        sizing.took(0.001, 10)
    assert sizing.rows == PIECE
    sizing.took(0.001, PIECE)
    assert sizing.rows == 2 * PIECE


def test_batch_is_the_most():
    """Also of a piece."""
    sizing = Sizing(1.0, 1000, clock=lambda: 0.0)
    settled(sizing, Machine(0, 1e-6))
    assert (sizing.rows, sizing.piece) == (1000, PIECE)
    assert (Sizing(1.0, 5).rows, Sizing(1.0, 5).piece) == (5, 5)


def test_rows_are_gathered_for_a_part_of_the_time_only():
    """A source that has more does not keep those waiting that were read."""
    now = [0.0]
    sizing = Sizing(0.05, clock=lambda: now[0])
    sizing.rows = 1000
    assert sizing.wants(500, 0.0) and not sizing.wants(900, 0.0)
    now[0] = 0.02
    assert not sizing.wants(500, 0.0)


class Measured(eddy.Sink):
    """Remembers how many results each write has."""

    def __init__(self):
        self.tables = []

    def open(self, schema, token):
        pass

    def write(self, table):
        self.tables.append(table)


@pytest.mark.parametrize("lateness", [None, 20])
@pytest.mark.parametrize("batch", [None, 40])
def test_results_are_the_same(lateness, batch, tmp_path):
    """Whatever the sizes are; a batch has at most so many rows, if that is said."""
    tables = feed(9, disorder=0 if lateness is None else 20)
    outcome = eddy.run(QUERY, tables, latency="30 ms", batch=batch, lateness=lateness)
    assert counted(outcome.to_arrow()) == expected(tables)


def test_rows_are_written_in_time():
    """As measured, once batches have their size: nine in ten within the latency, where rows keep coming."""
    loops = []
    count = 200_000
    rows = {"ts": list(range(count)), "k": [t % 50 for t in range(count)]}
    eddy.run(
        "SELECT A.ts AS a, B.ts AS b FROM A [RANGE 100], B [RANGE 100] WHERE A.k = B.k",
        {"A": rows, "B": rows},
        Measured(),
        latency="100 ms",
        lateness=0,
        control=loops.append,
    )
    batches = loops[0].meter.batches
    within = dict(batches.cumulative())[0.1]
    assert batches.count > 5 and within >= 0.8 * batches.count
    assert loops[0].meter.sizing.rows > PIECE


@pytest.mark.parametrize("latency", [0, "0 s", -1, "soon", [1]])
def test_what_is_no_latency_is_refused(latency):
    """It is a length of time above 0."""
    with pytest.raises(eddy.EddyError, match="latency is a length of time"):
        eddy.run(QUERY, feed(1), latency=latency)
