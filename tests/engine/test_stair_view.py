"""`engine.stair`: a STAIR of the current plan as users see it, probed, promoted and demoted by hand."""

from __future__ import annotations

import datetime
import itertools

import numpy as np
import pytest

import eddy
from policies import EagerStairs, Gpt, HybMig, Jisc, MovingState, ParallelTrack
from tests.strategies import Pick, plan

THREADS = pytest.mark.parametrize("threads", [1, 2, 3])


def chain(window=None):
    """A joins B by x, B joins C by y: STAIRs of pairs are keyed by one column and carried by another stream."""
    window = window or eddy.Unbounded()
    return eddy.Query(
        {
            "A": eddy.Stream({"x": "int64"}, window=window),
            "B": eddy.Stream({"x": "int64", "y": "int64"}, window=window),
            "C": eddy.Stream({"y": "int64"}, window=window),
        },
        where=["A.x = B.x", "B.y = C.y"],
    )


def filled(plan="(A B) C", threads=1, **options):
    """An engine with two rows of A, three of B, and none of C."""
    engine = eddy.Eddy(chain(), plan=plan, threads=threads, **options)
    engine.push("A", {"x": [1, 2]})
    engine.push("B", {"x": [1, 1, 2], "y": [7, 8, 7]})
    return engine


def rows(entries):
    return [tuple(row) for row in entries.rows.tolist()]


# What is seen


@THREADS
def test_a_probe_gives_rows_by_number_and_values(threads):
    """Those with the key, of all streams of the STAIR, wherever they are stored; a key without entries gives none."""
    stair = filled(threads=threads).stair("A B")
    assert (stair.streams, stair.key, len(stair), stair.complete, stair.holes) == (
        ("A", "B"),
        ("B.y",),
        3,
        True,
        0,
    )
    found = stair.probe(7)
    assert found.streams == ("A", "B") and rows(found) == [(0, 0), (1, 2)] and len(found) == 2
    assert found.to_pydict() == {"A.x": [1, 2], "B.x": [1, 2], "B.y": [7, 7]}
    assert found.to_arrow().column_names == ["A.x", "B.x", "B.y"]
    assert rows(stair.probe(99)) == [] and rows(stair.probe(None)) == []
    assert rows(stair.probe([7, 8])) == rows(stair.probe()) == [(0, 0), (0, 1), (1, 2)]


@THREADS
def test_the_stair_of_a_stream_has_its_live_rows(threads):
    """Each once, also where shards have copies of it, and none that has left its window."""
    engine = eddy.Eddy(chain(eddy.Rows(3)), plan="(A B) C", threads=threads)
    engine.push("A", {"x": [5, 6, 5, 6, 5]})
    engine.push("C", {"y": [1, 1, 2, 2]})
    assert rows(engine.stair("A").stored()) == [(2,), (3,), (4,)]
    assert rows(engine.stair("A").probe(5)) == [(2,), (4,)]
    assert rows(engine.stair("C").probe(1)) == [(1,)] and len(engine.stair("C")) == 3
    assert engine.stair("C").promote() is not None and engine.stair("C").complete


@THREADS
def test_what_is_stored_and_what_a_probe_finds(threads):
    """A hole stores nothing and stays one when it is looked at; a probe fills it first."""
    engine = filled(threads=threads)
    stair = engine.stair("A B")
    assert rows(stair.demote(7)) == [(0, 0), (1, 2)]
    assert rows(stair.stored(7)) == [] and rows(stair.stored()) == [(0, 1)]
    assert not stair.complete and stair.holes >= 1
    assert engine.statistics().keys_filled == 0
    assert rows(stair.probe(7)) == [(0, 0), (1, 2)] and stair.complete and stair.holes == 0


def test_what_was_handed_out_stays_as_it_is():
    """Entries are a copy: pushes, demotions and windows that move on change nothing in them."""
    engine = eddy.Eddy(chain(eddy.Rows(1)), plan="(A B) C")
    engine.push("A", {"x": [1]})
    engine.push("B", {"x": [1], "y": [7]})
    found = engine.stair("A B").probe(7)
    engine.push("A", {"x": np.arange(2, 200)})
    engine.push("B", {"x": np.arange(2, 200), "y": np.arange(2, 200)})
    assert rows(found) == [(0, 0)] and found.to_pydict() == {"A.x": [1], "B.x": [1], "B.y": [7]}
    assert rows(engine.stair("A B").probe(7)) == []


def test_a_view_is_of_the_plan_as_it_is_when_it_is_asked():
    """The same view after a plan change shows the STAIR of the new plan, or says that there is none."""
    engine = filled()
    stair = engine.stair("A B")
    engine.migrate("A (B C)")
    with pytest.raises(
        eddy.PlanError, match=r"the plan A \(B C\) has no STAIR of A B; it has: .*; B C by B\.x"
    ):
        stair.probe(7)
    assert engine.stair("B C").key == ("B.x",)
    engine.migrate("(A B) C")
    assert not stair.complete and rows(stair.probe(7)) == [(0, 0), (1, 2)]


def test_how_it_looks():
    """`repr` says what it is and how full; of few entries it shows all."""
    engine = filled()
    stair = engine.stair("B A")
    assert repr(stair) == "<STAIR A B by B.y: 3 live, complete>"
    gone = stair.demote(8)
    assert repr(stair) == "<STAIR A B by B.y: 2 live, 1 hole>"
    assert repr(gone) == "<1 entry of A B\n  A row  B row  A.x  B.x  B.y\n      0      1    1    1    8>"
    assert repr(stair.stored(9)) == "<0 entries of A B>"


# Keys


def test_keys_are_values_of_any_type():
    """Strings, floats and times are given as they are pushed; what nothing can equal finds nothing."""
    moment = datetime.datetime(2026, 1, 2)
    for kind, value, other in [
        ("string", "a", "b"),
        ("float64", 1.5, float("nan")),
        ("timestamp[us]", moment, None),
        ("bool", True, False),
    ]:
        streams = {name: eddy.Stream({"k": kind}, window=eddy.Unbounded()) for name in "ABC"}
        engine = eddy.Eddy(eddy.Query(streams, where=["A.k = B.k", "B.k = C.k"]), plan="(A B) C")
        for name in "AB":
            engine.push(name, {"k": [value, other]})
        stair = engine.stair("A B")
        assert rows(stair.probe(value)) == [(0, 0)], kind
        assert len(stair.demote([value])) == 1 and len(stair.stored(value)) == 0
        assert [tuple(row.values()) for row in stair.probe(value).to_arrow().to_pylist()] == [(value, value)]
        assert rows(stair.probe(other)) == ([(1, 1)] if kind in ("string", "bool") else [])


def test_a_key_of_several_columns_is_a_tuple():
    """Holes are known by what one stream carries of it: others with the same part go with it."""
    streams = {
        "A": eddy.Stream({"x": "int64"}, window=eddy.Unbounded()),
        "B": eddy.Stream({"x": "int64", "y": "string"}, window=eddy.Unbounded()),
        "C": eddy.Stream({"x": "int64", "y": "string"}, window=eddy.Unbounded()),
    }
    engine = eddy.Eddy(eddy.Query(streams, where=["A.x = B.x", "B.x = C.x", "B.y = C.y"]), plan="(A B) C")
    engine.push("A", {"x": [1, 2]})
    engine.push("B", {"x": [1, 1, 2], "y": ["a", "b", "a"]})
    stair = engine.stair("A B")
    assert stair.key == ("A.x", "B.y")
    assert rows(stair.probe((1, "b"))) == [(0, 1)] and rows(stair.probe((2, "b"))) == []
    assert rows(stair.probe([(1, "b"), (2, "a")])) == [(0, 1), (1, 2)]
    assert rows(stair.demote((1, "b"))) == [(0, 1)] and rows(stair.stored()) == [(0, 0), (1, 2)]
    assert rows(stair.promote([(1, "b")])) == [(0, 1)]
    with pytest.raises(eddy.EddyError, match=r"keyed by A\.x, B\.y: a key is a tuple of 2 values, not 1"):
        stair.probe(1)


@THREADS
def test_where_there_is_no_equality_the_key_is_a_row(threads):
    """Its number is that in the stream, also where rows were filtered out, and with threads."""
    streams = {name: eddy.Stream({"v": "int64"}, window=eddy.Unbounded()) for name in "ABC"}
    query = eddy.Query(streams, where=["A.v < B.v", "B.v < C.v", "B.v <> 3"])
    engine = eddy.Eddy(query, plan="(A B) C", threads=threads)
    engine.push("A", {"v": [1, 2]})
    engine.push("B", {"v": [3, 2, 9]})
    stair = engine.stair("A B")
    assert stair.key == ("row of B",)
    assert rows(stair.stored()) == [(0, 1), (0, 2), (1, 2)]
    assert rows(stair.probe(2)) == [(0, 2), (1, 2)] and rows(stair.probe(0)) == rows(stair.probe(77)) == []
    assert rows(stair.demote(np.array([2]))) == [(0, 2), (1, 2)] and rows(stair.stored()) == [(0, 1)]
    assert rows(engine.stair("A").promote(to="A B")) == [(0, 2), (1, 2)]
    assert len(engine.push("C", {"v": [10]})) == 3
    with pytest.raises(eddy.EddyError, match="keyed by row of B: give row numbers, not 'b'"):
        stair.probe("b")


def test_without_a_key_there_is_none_to_give():
    """What only a cross product asks is probed as a whole."""
    streams = {name: eddy.Stream({"v": "int64"}, window=eddy.Unbounded()) for name in "AB"}
    engine = eddy.Eddy(eddy.Query(streams, cross=True))
    engine.push("A", {"v": [1, 2]})
    assert engine.stair("A").key == () and rows(engine.stair("A").probe()) == [(0,), (1,)]
    with pytest.raises(eddy.EddyError, match=r"has no key.*leave the key out"):
        engine.stair("A").probe(1)


# Promote and demote


@THREADS
def test_entries_become_parts_and_back(threads):
    """Demoting strips them, and what comes to the same is there once; promoting from either side gives all again."""
    engine = filled(threads=threads)
    stair = engine.stair("A B")
    gone = stair.demote()
    assert rows(gone) == [(0, 0), (0, 1), (1, 2)] and len(stair) == 0
    assert rows(gone.part("A")) == [(0,), (1,)] == rows(engine.stair("A").stored())
    assert rows(gone.part("B")) == [(0,), (1,), (2,)] == rows(engine.stair("B").stored())
    assert gone.part("A").to_pydict() == {"A.x": [1, 2]}
    assert rows(engine.stair("A").promote(2, to="A B")) == [(0, 0), (1, 2)]  # both are under the key y = 7
    assert rows(engine.stair("B").promote(1, to="A B")) == [(0, 1)]
    assert stair.complete and rows(engine.stair("B").promote(to="A B")) == []
    assert len(engine.push("C", {"y": [7, 8]})) == 3


@THREADS
def test_a_budget_fills_some_holes_the_newest_first(threads):
    """In all shards together no more than these; the rest stay holes."""
    engine = eddy.Eddy(chain(), plan="(A B) C", threads=threads)
    engine.push("A", {"x": np.arange(20)})
    engine.push("B", {"x": np.arange(20), "y": np.arange(20)})
    stair = engine.stair("A B")
    stair.demote()
    assert stair.holes == 20 and len(stair.promote(budget=0)) == 0
    assert len(stair.promote(budget=7)) == 7 and stair.holes == 13 and not stair.complete
    assert len(stair.promote(budget=100)) == 13 and stair.complete
    engine.migrate("A (B C)")
    engine.migrate("(A B) C")
    if threads == 1:
        assert rows(stair.promote(budget=2)) == [(18, 18), (19, 19)]


def test_demoting_to_a_stream_takes_what_lies_between():
    """Without `to` the STAIRs below keep what they have; with it composites that were parts go as well, others stay."""
    names = "ABCD"
    streams = {name: eddy.Stream({"k": "int64"}, window=eddy.Unbounded()) for name in names}
    query = eddy.Query(streams, where=[f"{a}.k = {b}.k" for a, b in itertools.pairwise(names)])
    engine = eddy.Eddy(query, plan="((A B) C) D")
    for name in "ABC":
        engine.push(name, {"k": [1, 2, 3]})
    three, two = engine.stair("A B C"), engine.stair("A B")
    assert rows(three.demote(1)) == [(0, 0, 0)] and len(two) == 3
    assert rows(three.demote(2, to="A B")) == [(1, 1, 1)] and len(two) == 3
    assert rows(three.demote(3, to="A")) == [(2, 2, 2)] and rows(two.stored()) == [(0, 0), (1, 1)]
    assert three.demote([1, 2, 3], to=["C"]) is not None and len(two) == 2
    assert rows(engine.stair("B").promote([2, 3], to="A B C")) == [(1, 1, 1), (2, 2, 2)]
    assert two.complete and three.holes == 1
    assert sorted(map(tuple, engine.push("D", {"k": [1, 3]}).rows.tolist())) == [(0, 0, 0, 0), (2, 2, 2, 1)]


def test_a_heavy_key_is_demoted_in_one_pass_over_its_chain():
    """A hundred thousand entries under one key go at once, and come back when they are asked for."""
    engine = eddy.Eddy(chain(), plan="(A B) C")
    engine.push("A", {"x": np.zeros(400, np.int64)})
    engine.push("B", {"x": np.zeros(300, np.int64), "y": np.zeros(300, np.int64)})
    stair = engine.stair("A B")
    assert len(stair) == len(stair.demote(0)) == 120_000
    assert len(stair) == 0 and len(engine.push("C", {"y": [0]})) == 120_000


@pytest.mark.parametrize("technique", [Jisc(), MovingState(), EagerStairs(), Gpt()])
@THREADS
def test_a_demoted_key_is_right_after_a_plan_change_and_a_restart(technique, threads, tmp_path):
    """It is a hole like any other: kept STAIRs keep it, others are holes anyway, and so is all after loading."""
    engine = filled(threads=threads, migration=technique)
    engine.stair("A B").demote(7)
    engine.migrate("A (B C)")
    engine.migrate("(B A) C")
    engine.save(tmp_path / "snapshot")
    again = eddy.Eddy.load(tmp_path / "snapshot", migration=technique, threads=threads)
    again.stair("A B").demote(8)
    for one in (engine, again):
        assert sorted(map(tuple, one.push("C", {"y": [7, 8]}).rows.tolist())) == [
            (0, 0, 0),
            (0, 1, 1),
            (1, 2, 0),
        ]
        assert rows(one.stair("A B").probe()) == [(0, 0), (0, 1), (1, 2)]


@THREADS
@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_done_a_stair_holds_the_joins_of_live_rows(seed, threads):
    """Random rows, plans, promotions and demotions: a probe finds exactly what nested loops over live rows do."""
    pick, window = Pick(seed), 12
    engine = eddy.Eddy(chain(eddy.Rows(window)), plan="(A B) C", threads=threads)
    fed = {name: [] for name in "ABC"}
    for _ in range(60):
        name = pick.choice("ABC")
        new = [(pick.integer(0, 3), pick.integer(0, 3)) for _ in range(pick.integer(1, 9))]
        columns = {"A": {"x": 0}, "B": {"x": 0, "y": 1}, "C": {"y": 1}}[name]
        engine.push(name, {column: [row[place] for row in new] for column, place in columns.items()})
        fed[name] += new
        if pick.chance(30):
            engine.migrate(plan(pick, "ABC", None))
        live = {n: list(enumerate(r))[-window:] for n, r in fed.items()}
        pairs = {
            "A B": ([(a, b) for a, (x, _) in live["A"] for b, (u, _) in live["B"] if x == u], 1, "y"),
            "B C": ([(b, c) for b, (_, y) in live["B"] for c, (_, v) in live["C"] if y == v], 0, "x"),
        }
        for streams, (wanted, place, column) in pairs.items():
            try:
                stair = engine.stair(streams)
            except eddy.PlanError:
                continue
            key, of_b = pick.integer(0, 3), 1 if column == "y" else 0
            assert stair.key == (f"B.{column}",)
            if pick.chance(50):
                stair.demote([key, pick.integer(0, 3)])
            if pick.chance(30):
                first, by = pick.choice(streams.split()), None
                if first == "B" and pick.chance(50):  # some plans have it by either key
                    by = "B.x" if streams == "A B" else "B.y"
                try:
                    engine.stair(first, by=by).promote(pick.integer(0, 3), to=streams)
                except eddy.PlanError as error:
                    assert "several STAIRs" in str(error) or by is not None
            assert set(rows(stair.stored())) <= set(wanted)
            assert rows(stair.probe(key)) == [pair for pair in wanted if fed["B"][pair[place]][of_b] == key]
            if pick.chance(30):
                assert rows(stair.probe()) == sorted(wanted)


# What is refused


def test_a_stair_that_is_not_there_is_refused_by_name():
    """The error names those that the plan has; nothing has changed."""
    engine = filled()
    known = r"it has: A by A\.x; B by B\.x; C by C\.y; A B by B\.y"
    with pytest.raises(eddy.PlanError, match=rf"the plan \(A B\) C has no STAIR of A C; {known}"):
        engine.stair("A C")
    with pytest.raises(eddy.PlanError, match=f"no STAIR of A B C; {known}"):
        engine.stair("(A B) C")
    with pytest.raises(eddy.PlanError, match=f"no STAIR of A B by B.x; {known}"):
        engine.stair("A B", by="B.x")
    with pytest.raises(eddy.EddyError, match="there is no stream 'Q'; the streams are A, B, C"):
        engine.stair("A Q")
    with pytest.raises(eddy.EddyError, match="no stream is named"):
        engine.stair("")
    with pytest.raises(eddy.EddyError, match="streams are named in a string such as 'A B', not 7"):
        engine.stair(7)


def test_of_several_stairs_of_the_same_streams_one_is_named_by_its_key():
    """Without composites the rows of a stream are probed by each of their keys."""
    engine = filled("stems")
    with pytest.raises(
        eddy.PlanError, match=r"several STAIRs of B; say which with by=: B by B\.x; B by B\.y"
    ):
        engine.stair("B")
    for by in ("y", "B.y", "C.y"):
        assert rows(engine.stair("B", by=by).probe(7)) == [(0,), (2,)]
    assert rows(engine.stair("B", by="x").probe(1)) == [(0,), (1,)]


def test_what_does_not_fit_is_refused():
    """Rows cannot be demoted, nor entries put in; `to` goes up for promote and down for demote; keys have a type."""
    engine = filled()
    stair = engine.stair("A B")
    for wrong, error in [
        (lambda: engine.stair("A").demote(1), "the STAIR of stream A cannot be demoted"),
        (lambda: stair.insert((0, 0)), r"rows come in by push\(\) alone"),
        (lambda: stair.promote(7, to="A"), "to= must have all of A B, and others, not A"),
        (lambda: stair.demote(7, to="A C"), "to= must have some of A B, not all, and no others, not A C"),
        (lambda: engine.stair("A").promote(1, to="A C"), "no STAIR of A C"),
        (lambda: stair.promote(7, budget=3), "a budget is for the holes of one STAIR"),
        (lambda: stair.promote(budget=-1), "a budget is a number of holes, not -1"),
        (lambda: stair.probe("seven"), r"no key of B\.y = C\.y"),
    ]:
        with pytest.raises(eddy.EddyError, match=error):
            wrong()
    assert rows(stair.stored()) == [(0, 0), (0, 1), (1, 2)]
    minus = eddy.Query(
        {name: eddy.Stream({"k": "int64"}, window=eddy.Unbounded()) for name in "AB"},
        minus={"B": "A.k = B.k"},
    )
    with pytest.raises(eddy.EddyError, match="a set difference has no STAIRs"):
        eddy.Eddy(minus).stair("A")


@pytest.mark.parametrize("technique", [ParallelTrack(), HybMig()])
@THREADS
def test_while_two_plans_run_nothing_is_changed_by_hand(technique, threads):
    """What the new plan lacks another makes; what is stored can be seen, and after settle() everything can be done."""
    engine = filled(threads=threads, migration=technique)
    engine.migrate("A (B C)")
    stair = engine.stair("B C")
    for refused in (stair.probe, stair.promote, stair.demote):
        with pytest.raises(eddy.StateError, match="two plans run side by side until the plan change is over"):
            refused()
    assert rows(stair.stored()) == []
    engine.settle()
    engine.push("C", {"y": [8]})
    assert rows(stair.demote()) == [(1, 0)] and rows(stair.probe(1)) == [(1, 0)]


def test_while_results_are_drawn_nothing_is_changed_by_hand():
    """A push that is half drawn is half done."""
    engine = filled()
    drawn = engine.push("C", {"y": [7, 7, 7, 8]}, max_rows=2)
    stair = engine.stair("A B")
    for refused in (stair.probe, stair.promote, stair.demote, stair.stored):
        with pytest.raises(eddy.StateError, match="not all drawn"):
            refused()
    assert sum(map(len, drawn)) == 7
    assert len(stair.demote()) == 3
