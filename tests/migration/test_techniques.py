"""What holds under every migration technique besides its results: who asks for a change, rows from far on, memory."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import eddy
from policies import HybMig, ParallelTrack, Routing
from tests.cases import TECHNIQUES
from tests.inside import engine_from
from tests.trace import Trace

OLD, NEW = "((A B) C) D", "A (B (C D))"
ANY = pytest.mark.parametrize("migration", TECHNIQUES, ids=repr)


class Turning(Routing):
    """Names another plan every few events."""

    period = 7

    def __init__(self, plans):
        self.plans = itertools.cycle(plans)

    def choose(self, view):
        return next(self.plans)


@ANY
def test_a_routing_policy_changes_plans_under_any_technique(migration):
    """Changes that a policy asks for are made as those that the user asks for, and told like them."""
    plans = [NEW, "(A B) (C D)", OLD, "stems"]
    windows = dict.fromkeys("ABCD", eddy.Rows(5))
    turning = Trace(OLD, windows=windows, migration=migration, routing=Turning(plans))
    staying = Trace(OLD, windows=windows)
    for number in range(100):
        row = f"{'abcd'[number * 3 % 4]}{number}({number % 3 % 2})"
        assert turning.push(row) == staying.push(row)
    assert turning.engine.statistics().migrations == 14
    assert [change.plan for change in turning.engine.statistics().history][:3] == plans[:3]


@ANY
def test_memory_is_given_back(migration):
    """There and back forty times: what an engine holds does not grow with the number of its migrations."""
    trace = Trace(OLD, windows=dict.fromkeys("ABCD", eddy.Rows(40)), migration=migration)
    held = []
    for number in range(80):
        for name in "ABCD":
            trace.engine.push(name, {"k": np.arange(number, number + 10) % 37})
        trace.migrate([NEW, OLD][number % 2])
        held.append(trace.engine.statistics().bytes)
    assert max(held[60:]) < 1.5 * max(held[20:40])


@pytest.mark.parametrize("first", [2**31 - 20, 2**32 - 20])
@pytest.mark.parametrize("migration", [*TECHNIQUES, ParallelTrack(patience=10**9)], ids=repr)
def test_row_numbers_pass_32_bits_in_a_migration(migration, first):
    """Row numbers are stored in 32 bits, which come round while two plans run; expired rows stay expired.

    A and B turn over again and again while D, whose window is long, keeps the rows from before.
    """
    sizes = {"A": 3, "B": 2, "C": 40, "D": 40}
    streams = {name: eddy.Stream({"k": "int64"}, window=eddy.Rows(size)) for name, size in sizes.items()}
    query = eddy.Query(streams, where=["A.k = B.k", "B.k = C.k", "C.k = D.k"])
    engine = engine_from(first, query, plan=OLD, migration=migration)
    plain = eddy.Eddy(query, plan=OLD)
    for number in range(160):
        if number in (24, 100):
            engine.migrate(NEW if number == 24 else "(A C) (B D)")
        name, batch = "ABCD"[number % 4], {"k": [number // 4 % 3]}
        found, wanted = engine.push(name, batch).rows - first, plain.push(name, batch).rows
        assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, wanted.tolist()))


@pytest.mark.parametrize("migration", [ParallelTrack(), ParallelTrack("pt"), HybMig()], ids=repr)
def test_what_tracks_tell_does_not_depend_on_how_results_are_drawn(migration):
    """Rows and results of each plan are counted alike when results are handed out in chunks."""
    told = []
    for options in ({}, {"max_rows": 2}):
        trace = Trace(OLD, migration=migration)
        trace.add("a1 c1 d1")
        trace.migrate(NEW)
        for name in "DABCD":
            drawn = trace.engine.push(name, {"k": [1, 1]}, **options)
            assert not options or max(map(len, drawn), default=0) <= 2
        told.append((trace.last.tracks, trace.last.results_held, trace.engine.statistics().results))
    assert told[0] == told[1] and told[0][0][0].results > 0


def test_what_a_change_holds_back_is_given_when_the_engine_is_closed():
    """Behind the results of the last flush; found by runs that ended while two plans ran."""
    query = eddy.sql(
        "SELECT A.i, B.i FROM A [ROWS 50], B [ROWS 50], C [ROWS 50] WHERE A.x = B.x AND B.x = C.x",
        {name: {"x": "int64", "i": "int64"} for name in "ABC"},
    )
    rows = {name: {"x": [1, 2, 3], "i": [4, 5, 6]} for name in "ABC"}
    engine = eddy.Eddy(query, "(A B) C", migration=ParallelTrack(order="pt"))
    other = eddy.Eddy(query, "(A B) C")
    engine.push_all(rows)
    engine.migrate("A (B C)")
    given = len(engine.push_all(rows))
    last = engine.close()
    wanted = sum(len(other.push_all(rows)) for _ in range(2)) - 3
    assert given < wanted == given + len(last)
    assert len(last.to_arrow()) == len(last)
