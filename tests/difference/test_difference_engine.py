"""Set differences through the public door: what comes and goes, under every technique that can reorder them."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

import eddy
from policies import Gms, Jisc
from tests.operator_engines import base_rows, chain, four, key
from tests.operator_strategies import REORDERING

every_technique = pytest.mark.parametrize("technique", REORDERING, ids=repr)


# The digest's scenarios


@every_technique
def test_t52_rows_come_back_through_a_new_order(technique):
    """(((A-B)-C)-D) becomes (((A-D)-B)-C): an arrival in D, then expiries in B and in D."""
    engine = four(technique)
    engine.push("B", key(1))
    assert base_rows(engine.push("A", key(1, 2, 3))) == [(1, 1), (1, 2)]
    engine.migrate("((A - D) - B) - C")
    assert base_rows(engine.push("D", key(2))) == [(-1, 1)]
    assert base_rows(engine.push("B", key(9))) == [(1, 0)]
    assert base_rows(engine.push("D", key(9))) == [(1, 1)]


@every_technique
def test_h_b12_an_expiry_right_after_the_change(technique):
    """a1 was blocked by B alone, so the new state A-D never saw it; when b1 goes a1 is a result."""
    engine = four(technique)
    engine.push("A", key(1))
    assert base_rows(engine.push("B", key(1))) == [(-1, 0)]
    engine.migrate("((A - D) - B) - C")
    assert base_rows(engine.push("B", key(9))) == [(1, 0)]


@every_technique
def test_h_b12_a_row_that_several_streams_block(technique):
    """a1 comes back when the last of its blockers has gone, whichever order is in force."""
    engine = four(technique)
    for stream in "BCD":
        engine.push(stream, key(1))
    assert base_rows(engine.push("A", key(1))) == []
    for stream, plan in zip("BCD", ["A - D - B - C", "A - C - D - B", "A - B - C - D"], strict=True):
        engine.migrate(plan)
        assert base_rows(engine.push(stream, key(9))) == ([(1, 0)] if stream == "D" else [])


@every_technique
def test_orders_that_change_at_every_event(technique):
    """All six orders, one after the other, with an arrival between any two."""
    engine = four(technique)
    engine.push("A", key(*range(9)))
    blocked, seen = {}, []
    for turn in range(72):
        inner = "BCD"[turn % 3]
        order = ["BCD", "BDC", "CBD", "CDB", "DBC", "DCB"][turn * 5 % 6]
        engine.migrate(" - ".join(["A", *order]))
        before = set(range(9)) - set(blocked.values())
        blocked[inner] = turn * 7 % 11
        after = set(range(9)) - set(blocked.values())
        wanted = [(-1, row) for row in sorted(before - after)] + [(1, row) for row in sorted(after - before)]
        assert base_rows(engine.push(inner, key(blocked[inner]))) == wanted
        seen += wanted
    assert len(seen) > 60


# What a difference is


def test_an_event_gives_its_net_change_in_ascending_order():
    """One inner row replaces another: what goes comes first; what stays blocked is not mentioned."""
    engine = chain({"A": eddy.Rows(9), "B": eddy.Rows(1)})
    engine.push("A", key(1, 2, 1, 2, 3))
    assert base_rows(engine.push("B", key(1))) == [(-1, 0), (-1, 2)]
    assert base_rows(engine.push("B", key(2))) == [(-1, 1), (-1, 3), (1, 0), (1, 2)]
    assert base_rows(engine.push("B", key(2))) == []
    assert base_rows(engine.push("B", key(3, 4))) == [(-1, 4), (1, 1), (1, 3), (1, 4)]


def test_a_row_leaves_its_own_window():
    """A result is withdrawn when its row expires; a blocked row goes without a word."""
    engine = chain({"A": eddy.Rows(2), "B": eddy.Rows(9)})
    engine.push("B", key(1))
    assert base_rows(engine.push("A", key(1, 2, 3, 4))) == [(1, 1), (1, 2), (-1, 1), (1, 3)]


def test_time_lets_rows_come_back():
    """An event of any stream moves the clock: here the base's own."""
    streams = {name: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(10)) for name in "AB"}
    engine = eddy.Eddy(eddy.Query(streams, minus={"B": "A.k = B.k"}))
    engine.push("B", {"ts": [0], "k": [1]})
    assert base_rows(engine.push("A", {"ts": [5], "k": [1]})) == []
    assert base_rows(engine.push("A", {"ts": [10], "k": [1]})) == []
    assert base_rows(engine.push("A", {"ts": [11], "k": [1]})) == [(1, 0), (1, 1), (1, 2)]
    assert base_rows(engine.push("B", {"ts": [16], "k": [2]})) == [(-1, 0)]


def test_a_row_is_blocked_until_the_last_of_its_matches_is_gone():
    """Several inner rows with one key count as long as one of them lives."""
    engine = chain({"A": eddy.Rows(9), "B": eddy.Rows(3)})
    engine.push("A", key(1))
    assert base_rows(engine.push("B", key(1, 1, 1))) == [(-1, 0)]
    assert base_rows(engine.push("B", key(7, 7))) == []
    assert base_rows(engine.push("B", key(7))) == [(1, 0)]


def test_nothing_equals_null_and_nan():
    """A base row without a key stays; an inner row without one blocks nothing."""
    engine = chain({"A": eddy.Rows(9), "B": eddy.Rows(9)}, "float64")
    assert base_rows(engine.push("B", key(None, nan, 1.0))) == []
    assert base_rows(engine.push("A", key(None, nan, 1.0, -0.0))) == [(1, 0), (1, 1), (1, 3)]
    assert base_rows(engine.push("B", key(None, nan, 0.0))) == [(-1, 3)]


def test_null_in_one_condition_leaves_the_others():
    """A row with NULL in x is never blocked by B, but may be by C."""
    streams = {
        "A": eddy.Stream({"x": "int64", "y": "string"}),
        "B": eddy.Stream({"x": "int64"}),
        "C": eddy.Stream({"y": "string"}),
    }
    engine = eddy.Eddy(eddy.Query(streams, minus={"B": "A.x = B.x", "C": "A.y = C.y"}))
    rows = {"x": [None, 1, None, 1], "y": ["a", None, None, "b"]}
    assert base_rows(engine.push("A", rows)) == [(1, 0), (1, 1), (1, 2), (1, 3)]
    assert base_rows(engine.push("B", {"x": [1, None]})) == [(-1, 1), (-1, 3)]
    assert base_rows(engine.push("C", {"y": ["a", None, "b"]})) == [(-1, 0)]


def test_all_columns_of_a_condition_must_be_equal():
    """A row that matches in one column of two is not blocked."""
    streams = {name: eddy.Stream({"x": "int64", "y": "string"}) for name in "AB"}
    engine = eddy.Eddy(eddy.Query(streams, minus={"B": "A.x = B.x AND A.y = B.y"}))
    assert len(engine.push("A", {"x": [1, 1, 2], "y": ["a", "b", "a"]})) == 3
    assert base_rows(engine.push("B", {"x": [1, 2], "y": ["a", "b"]})) == [(-1, 0)]


def test_filters_reject_rows_that_still_count_in_their_windows():
    """A base row that is filtered out is never a result, an inner one blocks nothing; both push others out."""
    query = eddy.sql(
        "SELECT A.k FROM A [ROWS 2] EXCEPT B [ROWS 2] ON A.k = B.k WHERE A.k > 0 AND B.v > 0",
        {"A": {"k": "int64"}, "B": {"k": "int64", "v": "int64"}},
    )
    engine = eddy.Eddy(query)
    assert base_rows(engine.push("A", key(1, -1))) == [(1, 0)]
    assert base_rows(engine.push("B", {"k": [1, 1], "v": [0, 1]})) == [(-1, 0)]
    assert base_rows(engine.push("B", {"k": [7], "v": [0]})) == []
    assert base_rows(engine.push("B", {"k": [7], "v": [0]})) == [(1, 0)]
    assert base_rows(engine.push("A", key(-1))) == [(-1, 0)]


def test_a_result_shows_the_base_alone():
    """It has the base's columns, and no row numbers of the other streams."""
    streams = {"B": eddy.Stream({"k": "string"}), "A": eddy.Stream({"k": "string", "v": "int64"})}
    engine = eddy.Eddy(eddy.Query(streams, minus={"B": "A.k = B.k"}))
    result = engine.push("A", {"k": ["x", "y"], "v": [1, 2]})
    assert result.rows.tolist() == [[-1, 0], [-1, 1]]
    assert result.to_pydict(sign=True) == {"A.k": ["x", "y"], "A.v": [1, 2], "sign": [1, 1]}
    assert engine.push("B", key("y")).to_pydict(sign=True) == {"A.k": ["y"], "A.v": [2], "sign": [-1]}


def test_batches_and_chunks_do_not_show():
    """A base that fills and empties within one push gives every change, however it is cut."""
    whole, cut = (chain({"A": eddy.Rows(2), "B": eddy.Rows(1)}, batch_size=size) for size in (4096, 3))
    batches = {"A": key(*[1, 2, 3] * 10), "B": key(*[3, 1] * 10)}
    parts = list(cut.push_all(batches, max_rows=4))
    assert all(len(part) <= 4 for part in parts)
    found = [change for part in parts for change in base_rows(part)]
    assert found == base_rows(whole.push_all(batches))
    assert len(found) > 40


# Restarts


@every_technique
def test_a_restart_in_the_middle_of_a_change(technique, tmp_path):
    """What stands, what blocks it, and the order come out of the snapshot; so do the counts."""
    engine = four(technique)
    engine.push("B", key(1))
    engine.push("A", key(1, 2, 3))
    engine.migrate("A - D - B - C")
    engine.push("D", key(2))
    before = engine.statistics()
    engine.save(tmp_path / "snapshot")
    engine = eddy.Eddy.load(tmp_path / "snapshot", migration=technique)
    after = engine.statistics()
    assert engine.plan == "((A - D) - B) - C"
    assert (after.events, after.results, after.migrations) == (5, 3, 1)
    assert after.keys_filled == before.keys_filled
    assert base_rows(engine.push("B", key(9))) == [(1, 0)]
    assert base_rows(engine.push("D", key(3))) == [(-1, 2), (1, 1)]


@pytest.mark.parametrize("kind", ["int64", "uint64", "float64"])
def test_a_column_compared_twice_survives_a_restart(kind, tmp_path):
    """B.v is compared with two columns of the base, of one type or of two: the snapshot holds it once."""
    streams = {"A": eddy.Stream({"x": "int64", "y": kind}), "B": eddy.Stream({"v": "int64"})}
    engine = eddy.Eddy(eddy.Query(streams, minus={"B": "A.x = B.v AND A.y = B.v"}, select=["A.x"]))
    engine.push("B", {"v": [1]})
    engine.save(tmp_path / "snapshot")
    engine = eddy.Eddy.load(tmp_path / "snapshot")
    assert base_rows(engine.push("A", {"x": [1, 1], "y": [1, 2]})) == [(1, 1)]


def test_a_restart_may_change_the_order(tmp_path):
    """A snapshot holds rows, not states: it can be loaded under any plan and technique."""
    engine = four(Jisc())
    engine.push("A", key(1, 2, 3))
    engine.push_all({"B": key(1), "C": key(1), "D": key(2)})
    engine.save(tmp_path / "snapshot")
    engine = eddy.Eddy.load(tmp_path / "snapshot", plan="A - D - C - B", migration=Gms())
    assert base_rows(engine.push("B", key(9))) == []
    assert base_rows(engine.push("C", key(3))) == [(-1, 2), (1, 0)]
    assert base_rows(engine.push("D", key(9))) == [(1, 1)]


# Size


def test_up_to_31_streams_are_subtracted():
    """The last of them blocks as the first does; one more is refused."""
    names = ["A", *(f"B{number}" for number in range(31))]
    engine = chain(dict.fromkeys(names, eddy.Rows(40)))
    assert len(engine.push("A", key(*range(40)))) == 40
    for number, name in enumerate(names[1:]):
        assert base_rows(engine.push(name, key(number))) == [(-1, number)]
    engine.migrate(" - ".join(["A", *reversed(names[1:])]))
    assert base_rows(engine.push("B17", key(*[99] * 40))) == [(1, 17)]
    with pytest.raises(eddy.QueryError, match="cannot subtract 32 streams: subtract 1 to 31"):
        chain(dict.fromkeys([*names, "B31"], eddy.Rows(40)))


@pytest.mark.parametrize("technique", REORDERING, ids=repr)
def test_memory_stays_bounded(technique):
    """A long feed with changes of the order needs no more than a short one."""
    engine = chain(dict.fromkeys("ABCD", eddy.Rows(200)), migration=technique)
    random = np.random.default_rng(0)
    plans = ["A - B - C - D", "A - D - C - B", "A - C - B - D"]
    sizes = []
    for turn in range(800):
        if turn % 40 == 0:
            engine.migrate(plans[turn // 40 % 3])
        engine.push("ABCD"[turn % 4], {"k": random.integers(0, 1000, 100)})
        sizes.append(engine.statistics().bytes)
    assert max(sizes[400:]) <= 1.2 * max(sizes[:400])


def test_a_large_feed_against_sets():
    """A hundred thousand events in large batches: what stands is what plain sets say."""
    engine = chain({"A": eddy.Rows(3000), "B": eddy.Rows(700), "C": eddy.Rows(500)}, migration=Jisc())
    random = np.random.default_rng(1)
    fed = {name: np.empty(0, np.int64) for name in "ABC"}
    standing = set()
    for turn in range(30):
        engine.migrate(["A - B - C", "A - C - B"][turn % 2])
        batches = {name: random.integers(0, 4000, random.integers(1, 2500)) for name in "ABC"}
        result = engine.push_all({name: {"k": keys} for name, keys in batches.items()})
        for sign, row in base_rows(result):
            assert (row in standing) == (sign < 0), "given twice, or withdrawn without having been given"
            (standing.add if sign > 0 else standing.remove)(row)
        fed = {name: np.concatenate([fed[name], keys]) for name, keys in batches.items()}
        low = max(0, len(fed["A"]) - 3000)
        blocked = np.isin(fed["A"][low:], np.concatenate([fed["B"][-700:], fed["C"][-500:]]))
        assert standing == set((low + np.flatnonzero(~blocked)).tolist())
