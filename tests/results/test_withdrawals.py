"""Joins with `retractions=True`: a result is withdrawn at the first event at which one of its rows is gone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import eddy
from policies import Jisc, ParallelTrack
from tests.cases import TECHNIQUES

every_technique = pytest.mark.parametrize("technique", TECHNIQUES, ids=repr)


def engine_of(windows, columns=("k",), plan=None, **options):
    """An engine that joins streams with these windows on k, with retractions unless told otherwise."""
    streams = {
        name: eddy.Stream(dict.fromkeys(columns, "int64"), window=window) for name, window in windows.items()
    }
    names = list(windows)
    where = [f"{one}.k = {other}.k" for one, other in itertools.pairwise(names)]
    return eddy.Eddy(eddy.Query(streams, where=where), plan, **{"retractions": True, **options})


def changes(result):
    """The signs and row numbers of a result."""
    return [(sign, *row) for sign, row in zip(result.sign.tolist(), result.rows.tolist(), strict=True)]


def key(*values):
    """A batch of rows with these keys."""
    return {"k": list(values)}


# The digest's scenarios


@every_technique
def test_t11_a_result_is_withdrawn_across_a_plan_change(technique):
    """s1 expires after the change, and the result that the old plan made goes with it."""
    windows = {"R": eddy.Rows(5), "S": eddy.Rows(1), "T": eddy.Rows(5), "U": eddy.Rows(5)}
    engine = engine_of(windows, plan="((R S) T) U", migration=technique)
    for stream in "RST":
        assert changes(engine.push(stream, key(1))) == []
    assert changes(engine.push("U", key(1))) == [(1, 0, 0, 0, 0)]
    engine.migrate("((S T) R) U")
    assert changes(engine.push("S", key(2))) == [(-1, 0, 0, 0, 0)]
    assert changes(engine.push("S", key(1))) == [(1, 0, 2, 0, 0)]


@every_technique
def test_t12_nothing_is_withdrawn_that_was_never_given(technique):
    """s1 expires before its result could be completed."""
    windows = {"R": eddy.Rows(5), "S": eddy.Rows(1), "T": eddy.Rows(5), "U": eddy.Rows(5)}
    engine = engine_of(windows, plan="((R S) T) U", migration=technique)
    for stream in "RST":
        engine.push(stream, key(1))
    engine.migrate("((S T) R) U")
    assert changes(engine.push("S", key(2))) == []
    assert changes(engine.push("U", key(1))) == []


@every_technique
def test_results_of_several_plans_are_withdrawn_alike(technique):
    """Each change of the plan leaves results behind; all go when the one row that they share goes."""
    engine = engine_of({"A": eddy.Rows(1), "B": eddy.Unbounded(), "C": eddy.Unbounded()}, migration=technique)
    engine.push("A", key(1))
    engine.push("B", key(1))
    given = 0
    for plan in ["(B C) A", "(A C) B", "A: B C | B: C A | C: A B", "(A B) C"]:
        engine.migrate(plan)
        given += len(engine.push("C", key(1)))
    assert given == 4
    assert changes(engine.push("A", key(2))) == [(-1, 0, 0, c) for c in range(4)]


# When, and in which order


def test_withdrawals_of_an_event_come_before_its_results():
    """A row that pushes another one out of the window takes the other's results back first."""
    engine = engine_of({"A": eddy.Rows(1), "B": eddy.Rows(9)})
    engine.push("B", key(1, 1))
    given = changes(engine.push("A", key(1)))
    assert sorted(given) == [(1, 0, 0), (1, 0, 1)]
    found = changes(engine.push("A", key(1)))
    assert found[:2] == [(-1, *rows) for _, *rows in given], "withdrawn in the order in which they were given"
    assert sorted(found[2:]) == [(1, 1, 0), (1, 1, 1)]


def test_a_result_may_come_and_go_within_one_batch():
    """A batch gives what one row at a time would give, though the rows are gone at its end."""
    engine = engine_of({"A": eddy.Rows(1), "B": eddy.Rows(9)})
    engine.push("B", key(1, 2))
    found = changes(engine.push("A", key(1, 2, 3, 1)))
    assert found == [(1, 0, 0), (-1, 0, 0), (1, 1, 1), (-1, 1, 1), (1, 3, 0)]


def test_time_withdraws_the_rows_of_a_silent_stream():
    """An event of any stream moves the clock."""
    engine = engine_of({"A": eddy.Range(10), "B": eddy.Range(10)}, ("ts", "k"))
    engine.push("A", {"ts": [0, 4], "k": [1, 1]})
    assert sorted(changes(engine.push("B", {"ts": [5], "k": [1]}))) == [(1, 0, 0), (1, 1, 0)]
    assert changes(engine.push("B", {"ts": [10], "k": [2]})) == []
    assert changes(engine.push("B", {"ts": [11], "k": [2]})) == [(-1, 0, 0)]
    assert changes(engine.push("B", {"ts": [99], "k": [2]})) == [(-1, 1, 0)]


@pytest.mark.parametrize("window", [eddy.Tumbling(rows=2), eddy.Tumbling(time=10)], ids=repr)
def test_a_pane_goes_as_a_whole(window):
    """The first row of a new pane withdraws all results of the old one."""
    engine = engine_of({"A": window, "B": eddy.Unbounded()}, ("ts", "k"))
    engine.push("B", {"ts": [0], "k": [1]})
    assert changes(engine.push("A", {"ts": [1, 9], "k": [1, 1]})) == [(1, 0, 0), (1, 1, 0)]
    assert changes(engine.push("A", {"ts": [10], "k": [2]})) == [(-1, 0, 0), (-1, 1, 0)]


def test_nothing_leaves_an_unbounded_window():
    """What never expires is never withdrawn."""
    engine = engine_of({"A": eddy.Unbounded(), "B": eddy.Unbounded()})
    engine.push("A", key(*range(100)))
    assert (engine.push("B", key(*range(100))).sign == 1).all()


def test_without_retractions_nothing_is_withdrawn():
    """They are off unless asked for, and then every sign is +1."""
    engine = engine_of({"A": eddy.Rows(1), "B": eddy.Rows(1)}, retractions=False)
    assert not engine.retractions
    engine.push("A", key(1))
    assert changes(engine.push("B", key(1, 1, 1))) == [(1, 0, 0), (1, 0, 1), (1, 0, 2)]


# What a withdrawn result shows


def test_a_withdrawn_result_has_the_values_of_its_rows():
    """Rows that have left their windows can still be read, texts too, and also some pushes later."""
    window = eddy.Rows(1)
    query = eddy.Query(
        {"A": eddy.Stream({"k": "int64", "name": "string"}, window=window), "B": eddy.Stream({"k": "int64"})},
        where=["A.k = B.k"],
        select=["A.name"],
    )
    engine = eddy.Eddy(query, retractions=True)
    engine.push("B", key(1))
    given = [engine.push("A", {"k": [1], "name": [f"name {i}"]}) for i in range(20)]
    assert given[0].to_pydict(sign=True) == {"A.name": ["name 0"], "sign": [1]}
    for i, result in enumerate(given[1:]):
        assert result.to_pydict(sign=True) == {"A.name": [f"name {i}", f"name {i + 1}"], "sign": [-1, 1]}


def test_signs_add_up_to_what_stands():
    """New results less withdrawn ones are the results whose rows are all live, at any moment."""
    random = np.random.default_rng(0)
    engine = engine_of({"A": eddy.Rows(30), "B": eddy.Tumbling(rows=50), "C": eddy.Rows(20)}, batch_size=16)
    live, total = {name: [] for name in "ABC"}, 0
    for turn in range(300):
        name = "ABC"[turn % 3]
        keys = random.integers(0, 8, random.integers(1, 40)).tolist()
        total += int(engine.push(name, key(*keys)).sign.sum())
        live[name] += keys
        held = {
            "A": live["A"][-30:],
            "B": live["B"][(len(live["B"]) - 1) // 50 * 50 :] if live["B"] else [],
            "C": live["C"][-20:],
        }
        counts = [np.bincount(np.array(held[name], int), minlength=8) for name in "ABC"]
        assert total == int((counts[0] * counts[1] * counts[2]).sum())


# Doors


def test_chunks_have_signs():
    """With `max_rows` withdrawals come in the same order, some at a time."""
    engine = engine_of({"A": eddy.Rows(1), "B": eddy.Rows(9)}, batch_size=2)
    engine.push("B", key(1, 1, 1))
    parts = list(engine.push("A", key(1, 1, 1), max_rows=2))
    assert all(len(part) <= 2 for part in parts)
    signs = [sign for part in parts for sign, *_ in changes(part)]
    assert signs == [1] * 3 + [-1] * 3 + [1] * 3 + [-1] * 3 + [1] * 3


def test_chunks_that_nobody_draws_lose_no_row():
    """When the iterator is closed its results are given up, but they stand, and are withdrawn later."""
    engine = engine_of({"A": eddy.Rows(1), "B": eddy.Rows(9)}, batch_size=1)
    engine.push("B", key(1, 1))
    parts = engine.push("A", key(1, 1, 1), max_rows=1)
    assert changes(next(parts))[0][:2] == (1, 0)
    parts.close()
    assert sorted(changes(engine.push("A", key(2)))) == [(-1, 2, 0), (-1, 2, 1)]


def test_a_restart_remembers_what_stands(tmp_path):
    """Results from before a snapshot are withdrawn after it, and retractions stay on."""
    engine = engine_of({"A": eddy.Rows(2), "B": eddy.Rows(9)})
    engine.push("A", key(1, 1))
    engine.push("B", key(1))
    engine.save(tmp_path / "snapshot")
    engine = eddy.Eddy.load(tmp_path / "snapshot")
    assert engine.retractions
    assert changes(engine.push("A", key(2))) == [(-1, 0, 0)]
    assert changes(engine.push("A", key(1))) == [(-1, 1, 0), (1, 3, 0)]


def test_retractions_can_be_turned_on_and_off_by_a_restart(tmp_path):
    """Turned on, results that stand since before are withdrawn too; turned off, none is."""
    engine = engine_of({"A": eddy.Rows(2), "B": eddy.Rows(9)}, retractions=False)
    engine.push("A", key(1, 1))
    engine.push("B", key(1))
    engine.save(tmp_path / "off")
    engine = eddy.Eddy.load(tmp_path / "off", retractions=True)
    assert changes(engine.push("A", key(2))) == [(-1, 0, 0)]
    engine.save(tmp_path / "on")
    assert changes(eddy.Eddy.load(tmp_path / "on").push("A", key(2))) == [(-1, 1, 0)]
    assert changes(eddy.Eddy.load(tmp_path / "on", retractions=False).push("A", key(2))) == []


def test_a_refused_batch_withdraws_nothing():
    """A batch with a bad row leaves all results standing."""
    engine = engine_of({"A": eddy.Rows(1), "B": eddy.Rows(9)})
    engine.push("B", key(1))
    engine.push("A", key(1))
    before = engine.statistics()
    with pytest.raises(eddy.EddyError):
        engine.push_all({"A": key(2, 3), "B": {"k": ["one"]}})
    assert engine.statistics() == before
    assert changes(engine.push("A", key(2))) == [(-1, 0, 0)]


# Memory and refusals


@pytest.mark.parametrize("technique", [Jisc(), ParallelTrack()], ids=repr)
def test_memory_stays_bounded(technique):
    """What stands is bounded by the windows; a long feed, with plan changes, needs no more than a short one."""
    windows = {"A": eddy.Rows(100), "B": eddy.Rows(100), "C": eddy.Rows(100)}
    engine = engine_of(windows, migration=technique)
    random = np.random.default_rng(0)
    plans = ["(A B) C", "(B C) A"]
    sizes = []
    for turn in range(900):
        if turn % 50 == 0:
            engine.migrate(plans[turn // 50 % 2])
        engine.push("ABC"[turn % 3], {"k": random.integers(0, 40, 50)})
        sizes.append(engine.statistics().bytes)
    assert max(sizes[450:]) <= 1.2 * max(sizes[:450])


def test_what_stands_counts_as_memory():
    """A hundred thousand standing results are seen in the statistics, and given back when they go."""
    engine = engine_of({"A": eddy.Rows(400), "B": eddy.Rows(400)})
    empty = engine.statistics().bytes
    engine.push("A", key(*[1] * 400))
    engine.push("B", key(*[1] * 300))
    full = engine.statistics().bytes
    assert full - empty > 120_000 * 2 * 4
    assert int(engine.push("A", key(*[2] * 400)).sign.sum()) == -120_000
    for _ in range(400):
        engine.push("A", key(3))
    assert engine.statistics().bytes < empty + (full - empty) / 4


@pytest.mark.parametrize("flag", [1, 0, "yes", None, [True]], ids=repr)
def test_retractions_is_a_flag(flag):
    """Anything but True and False is refused, with what it should be."""
    with pytest.raises(eddy.EddyError, match="retractions is True or False, not"):
        engine_of({"A": eddy.Rows(1), "B": eddy.Rows(1)}, retractions=flag)


def test_results_held_back_cannot_be_withdrawn():
    """Parallel Track's own order is refused beforehand, and the message names the other one."""
    windows = {"A": eddy.Rows(1), "B": eddy.Rows(1)}
    with pytest.raises(
        eddy.EddyError, match=r'ParallelTrack\(order="pt"\) .* use order="max" with retractions'
    ):
        engine_of(windows, migration=ParallelTrack(order="pt"))
    assert engine_of(windows, migration=ParallelTrack(order="pt"), retractions=False).plan == "A B"
