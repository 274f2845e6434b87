"""Rows out of order: lateness, late rows, promises, silence, flush and close, one by one."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest

import eddy
from eddy.partition import Cell, choose
from eddy.reorder.order_kernels import order_of
from policies import Routing

ROOT = Path(__file__).parents[2]


def query(window=None, **options):
    """Two streams by key, with integer times."""
    window = eddy.Range(10) if window is None else window
    streams = {
        name: eddy.Stream({"ts": "int64", "k": "int64", "s": "string"}, window=window) for name in "AB"
    }
    return eddy.Query(streams, where="A.k = B.k", **options)


def rows(*times, k=1):
    return {"ts": list(times), "k": [k] * len(times), "s": [f"at {time}" for time in times]}


def pairs(result):
    """The times of results, with their signs."""
    values = result.to_pydict()
    return sorted(zip(values["A.ts"], values["B.ts"], result.sign.tolist(), strict=True))


def streams(engine):
    return {s.name: s for s in engine.statistics().streams}


def test_rows_wait_until_every_stream_has_come_beyond_them():
    """A row at the watermark waits: one of the same time may have to go before it."""
    engine = eddy.Eddy(query(), lateness=3)
    assert pairs(engine.push("A", rows(5, 2, 9))) == []
    assert pairs(engine.push("B", rows(4, 5))) == []
    assert (streams(engine)["A"].waiting, streams(engine)["B"].waiting) == (3, 2)
    assert pairs(engine.push("B", rows(8))) == [(2, 4, 1)]  # the watermark is 5
    assert pairs(engine.push("B", rows(9))) == [(2, 5, 1), (5, 4, 1), (5, 5, 1)]
    assert pairs(engine.flush()) == [
        *((a, b, 1) for a in (2, 5) for b in (8, 9)),
        *((9, b, 1) for b in (4, 5, 8, 9)),
    ]


def test_ties_go_by_declaration_and_then_by_arrival():
    """Row numbers tell in which order rows were processed, and the last `Rows(1)` which came last."""
    engine = eddy.Eddy(query(eddy.Rows(1), select=["A.s", "B.s"]), lateness=5)
    engine.push("B", {"ts": [3, 3], "k": [1, 1], "s": ["b0", "b1"]})
    engine.push("A", {"ts": [3], "k": [1], "s": ["a0"]})
    engine.push("A", {"ts": [3], "k": [1], "s": ["a1"]})
    assert engine.flush().to_pydict() == {"A.s": ["a1", "a1"], "B.s": ["b0", "b1"]}


def test_a_late_row_is_an_error_and_nothing_changes():
    """The batch can be pushed again without it."""
    engine = eddy.Eddy(query(), lateness=3)
    engine.push_all({"A": rows(20), "B": rows(20)})
    before = engine.statistics()
    with pytest.raises(
        eddy.OrderError, match=r"stream A: row 1 of the batch is late, at 16: time has passed 17"
    ):
        engine.push_all({"A": rows(30, 16), "B": rows(30)})
    assert engine.statistics() == before
    given = pairs(engine.push_all({"A": rows(30, 17), "B": rows(30)}))
    assert given + pairs(engine.flush()) == [(17, 20, 1), (20, 20, 1), (20, 30, 1), (30, 20, 1), (30, 30, 1)]


def test_late_rows_are_dropped_and_counted():
    engine = eddy.Eddy(query(), lateness={"A": 3}, late="drop")
    engine.push_all({"A": rows(20), "B": rows(20)})
    engine.push_all({"A": rows(1, 18, 2), "B": rows(16, 17, 18)})
    assert {name: s.late for name, s in streams(engine).items()} == {"A": 2, "B": 1}
    assert "2 late" in engine.explain()
    with pytest.raises(eddy.EddyError, match="late='keep'"):
        engine.late()


def test_late_rows_are_kept_for_who_asks():
    """In the order of their arrival, once, with all columns; a snapshot has them too."""
    engine = eddy.Eddy(query(), lateness=3, late="keep")
    engine.push_all({"A": rows(20), "B": rows(20)})
    engine.push("A", {"ts": [9, 1], "k": [7, None], "s": [None, "x"]})
    engine.push("A", rows(5))
    found = engine.late()
    assert found["A"].to_pydict() == {"ts": [9, 1, 5], "k": [7, None, 1], "s": [None, "x", "at 5"]}
    assert list(found) == ["A"]
    assert engine.late() == {}


def test_late_is_judged_by_what_was_seen_before_the_push():
    """Rows of one push arrive together: the whole of a file in any order is one."""
    rng = np.random.default_rng(3)
    times, keys = rng.permutation(20_000), rng.integers(0, 500, 20_000)
    make = eddy.Query(
        {n: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(50)) for n in "AB"},
        where="A.k = B.k",
        select=["A.ts", "B.ts"],
    )
    shuffled, inorder = eddy.Eddy(make, lateness=0), eddy.Eddy(make)
    a, b = times < 10_000, times >= 10_000
    stamps = np.where(a, times, times - 10_000) * 2 + b
    order = np.argsort(stamps)
    given = shuffled.push_all({"A": {"ts": stamps[a], "k": keys[a]}, "B": {"ts": stamps[b], "k": keys[b]}})
    parts = [given.to_arrow(), shuffled.flush().to_arrow()]
    feed = {"A": order[a[order]], "B": order[b[order]]}
    wanted = inorder.push_all({n: {"ts": stamps[i], "k": keys[i]} for n, i in feed.items()})
    found = [pair for part in parts for pair in zip(*part.to_pydict().values(), strict=True)]
    assert found == list(zip(*wanted.to_pydict().values(), strict=True))
    assert len(found) > 100


def test_advance_says_that_nothing_older_comes():
    """Of one stream, or of all. What it promises is held: older rows are late."""
    engine = eddy.Eddy(query(), lateness=3, late="drop")
    assert pairs(engine.push("A", rows(5, 6))) == []
    assert pairs(engine.advance(6, stream="B")) == []
    assert streams(engine)["A"].waiting == 2  # A is known up to 3
    assert pairs(engine.advance(8, stream="A")) == []
    assert streams(engine)["A"].waiting == 1  # the one at 6
    engine.push("B", rows(5, 6))
    assert streams(engine)["B"].late == 1
    assert pairs(engine.advance(20)) == [(5, 6, 1), (6, 6, 1)]
    assert pairs(engine.advance(2)) == []


@pytest.mark.parametrize("lateness", [None, 0])
def test_time_that_advances_withdraws_results(lateness):
    """Rows leave their windows without another row."""
    engine = eddy.Eddy(query(), retractions=True, lateness=lateness)
    given = pairs(engine.push_all({"A": rows(1, 4), "B": rows(2)})) + pairs(engine.flush())
    assert given == [(1, 2, 1), (4, 2, 1)]
    assert pairs(engine.advance(11)) == []
    assert pairs(engine.advance(12)) == [(1, 2, -1)]
    assert pairs(engine.advance(13)) == [(4, 2, -1)]
    assert {name: s.live for name, s in streams(engine).items()} == {"A": 1, "B": 0}
    assert engine.statistics().events == 3
    with pytest.raises(eddy.OrderError):
        engine.push("A", rows(12))


def test_advance_ends_groups_and_differences():
    """What a difference has lost to a row comes back when that row has gone."""
    of = {
        name: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(w))
        for name, w in [("A", 20), ("B", 5)]
    }
    engine = eddy.Eddy(eddy.Query(of, minus={"B": "A.k = B.k"}))
    engine.push("A", {"ts": [1, 2], "k": [7, 8]})
    assert engine.push("B", {"ts": [3], "k": [7]}).to_pydict(sign=True) == {
        "A.ts": [1],
        "A.k": [7],
        "sign": [-1],
    }
    assert engine.advance(9).to_pydict(sign=True) == {"A.ts": [1], "A.k": [7], "sign": [1]}
    assert engine.advance(22).to_pydict(sign=True) == {"A.ts": [1], "A.k": [7], "sign": [-1]}
    count = eddy.Eddy(query(aggregates={"n": "COUNT(*)"}))
    count.push_all({"A": rows(1, 2), "B": rows(3)})
    assert count.advance(12).to_pydict(sign=True) == {"n": [2, 1], "sign": [-1, 1]}
    assert count.table().to_pydict() == {"n": [1]}


def test_advance_takes_times_as_the_column_does():
    """A datetime, datetime64 or a number in the unit; without one it needs lateness, and so does a stream."""
    units = {"A": "ms", "B": "us"}
    of = {
        name: eddy.Stream({"ts": f"timestamp[{unit}]", "k": "int64"}, window=eddy.Range("10 s"))
        for name, unit in units.items()
    }
    engine = eddy.Eddy(eddy.Query(of, where="A.k = B.k"), lateness="2 s", retractions=True)
    start = datetime.datetime(2024, 1, 1)
    engine.push_all({"A": {"ts": [start], "k": [1]}, "B": {"ts": [start], "k": [1]}})
    assert len(engine.advance(start)) == 0
    assert len(engine.advance(np.datetime64("2024-01-01T00:00:01"))) == 1
    assert len(engine.advance(start + datetime.timedelta(seconds=11), stream="A")) == 0
    late = (start - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1) + 11_000_000
    assert engine.advance(late, stream="B").sign.tolist() == [-1]
    for wrong in ("noon", None, 1.5):
        with pytest.raises(eddy.EddyError):
            eddy.Eddy(engine.query).advance(wrong)
    with pytest.raises(eddy.EddyError, match="lateness=0"):
        eddy.Eddy(engine.query).advance(start, stream="A")
    with pytest.raises(eddy.EddyError, match="no stream 'C'"):
        engine.advance(start, stream="C")


def test_a_stream_that_is_silent_by_the_clock_does_not_count():
    """Nor does it once it was heard again, until it has been silent for as long again."""
    now = [100.0]
    engine = eddy.Eddy(query(), lateness=1, idle="10 s", late="drop", clock=lambda: now[0])
    engine.push("A", rows(5))
    now[0] += 9
    engine.push("A", rows(7))
    assert streams(engine)["A"].waiting == 2
    now[0] += 1
    engine.push("A", rows(9))
    assert streams(engine)["A"].waiting == 1  # the watermark is 8
    engine.push("B", rows(8))
    assert pairs(engine.push("A", rows(20))) == []
    assert streams(engine)["B"].waiting == 1
    now[0] += 10
    assert pairs(engine.advance()) == [
        (5, 8, 1),
        (7, 8, 1),
        (9, 8, 1),
    ]  # both are silent: the furthest decides
    assert streams(engine)["A"].waiting == 1
    engine.push("B", rows(18))
    assert streams(engine)["B"].late == 1


def test_flush_and_close_give_what_waits():
    """After close() nothing more comes in; results that were given stay, and so do counts."""
    with eddy.Eddy(query(), lateness=50, retractions=True) as engine:
        held = engine.push_all({"A": rows(1, 30), "B": rows(2)})
        assert len(held) == 0
        last = engine.close()
    assert pairs(last) == [(1, 2, -1), (1, 2, 1)]  # by the row at 30, and not by the end
    assert pairs(engine.close()) == []
    assert (engine.statistics().events, engine.statistics().results) == (3, 2)
    assert sum(s.live for s in engine.statistics().streams) == 0
    for call in (
        lambda: engine.push("A", rows(99)),
        lambda: engine.advance(99),
        lambda: engine.flush(),
        lambda: engine.save("nowhere"),
        lambda: engine.migrate("B A"),
    ):
        with pytest.raises(eddy.StateError, match="the engine is closed"):
            call()


def test_an_error_in_a_with_block_is_not_hidden():
    with pytest.raises(ZeroDivisionError), eddy.Eddy(query(), lateness=5) as engine:
        engine.push("A", rows(1))
        raise ZeroDivisionError
    with pytest.raises(eddy.StateError, match="closed"):
        engine.push("A", rows(1))
    with eddy.Eddy(query()) as drawn:
        drawn.push("A", rows(1, 2))
        drawn.push("B", rows(3), max_rows=1)


def test_a_snapshot_has_what_waits(tmp_path):
    """Rows, watermarks, counts and late rows that nobody has asked for; lateness is the saved one unless given."""
    engine = eddy.Eddy(query(), lateness=3, late="keep", idle="5 s", clock=lambda: 0.0)
    engine.push_all({"A": rows(20, 18), "B": rows(20, 19, 18)})
    engine.push_all({"A": rows(1), "B": rows()})
    engine.save(tmp_path / "engine.eddy")
    loaded = eddy.Eddy.load(tmp_path / "engine.eddy")
    assert streams(loaded) == streams(engine)
    assert loaded.late()["A"].to_pydict() == engine.late()["A"].to_pydict()
    with pytest.raises(eddy.OrderError):
        eddy.Eddy.load(tmp_path / "engine.eddy", late="error").push("A", rows(16))
    assert pairs(loaded.flush()) == pairs(engine.flush())
    plain = eddy.Eddy(query())
    plain.push_all({"A": rows(20), "B": rows(20)})
    plain.save(tmp_path / "plain.eddy")
    late = eddy.Eddy.load(tmp_path / "plain.eddy", lateness=3, late="drop")
    late.push("A", rows(19, 21))
    assert streams(late)["A"].late == 1
    assert pairs(late.flush()) == [(21, 20, 1)]


def test_a_snapshot_of_the_second_format_loads():
    """`tests/data/format-2.eddy` was written by `buffered()` and ``save``."""
    loaded, engine = eddy.Eddy.load(ROOT / "tests/data/format-2.eddy"), buffered()
    assert streams(loaded) == streams(engine)
    assert pairs(loaded.flush()) == pairs(engine.flush())
    assert loaded.late()["B"].to_pydict() == engine.late()["B"].to_pydict()


def buffered():
    engine = eddy.Eddy(
        query(), plan="A B", lateness={"A": 4, "B": 2}, late="keep", idle="1 minute", clock=lambda: 0.0
    )
    engine.push_all({"A": rows(9, 3, 5, k=2), "B": rows(6, 8, k=2)})
    engine.push("B", {"ts": [7, 1], "k": [2, None], "s": [None, "late"]})
    return engine


def test_static_streams_pass_by():
    """They are loaded before, or together with, the first row of another stream, whether or not that waits."""
    of = {
        "R": eddy.Stream({"k": "int64", "name": "string"}, static=True),
        "A": eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(5)),
    }
    engine = eddy.Eddy(eddy.Query(of, where="A.k = R.k"), lateness=4)
    engine.push_all({"A": {"ts": [9, 2], "k": [1, 1]}, "R": {"k": [1], "name": ["one"]}})
    assert streams(engine)["R"].rows == 1
    with pytest.raises(eddy.BatchError, match="static"):
        engine.push("R", {"k": [2], "name": ["two"]})
    assert engine.flush().to_pydict()["A.ts"] == [9]


def test_results_in_parts():
    engine = eddy.Eddy(query(), lateness=0)
    engine.push("A", rows(1, 2, 3))
    assert list(engine.push("B", rows(4), max_rows=2)) == []
    parts = list(engine.push("A", rows(9), max_rows=2))
    assert sum(map(len, parts)) == 0
    parts = list(engine.push("B", rows(9), max_rows=2))
    assert [len(part) for part in parts] == [2, 1]


class Broken(Routing):
    """Raises an error when it is asked."""

    period = 1

    def choose(self, view):
        raise RuntimeError("no idea")


def test_a_push_that_a_policy_stops_leaves_the_buffer_as_it_was():
    of = {name: eddy.Stream({"ts": "int64", "k": "int64", "s": "string"}) for name in "ABC"}
    joined = eddy.Query(of, where=["A.k = B.k", "B.k = C.k"])
    engine = eddy.Eddy(joined, plan="(A B) C", routing=Broken(), lateness=0)
    engine.push_all({name: rows(1, 2, 3) for name in "ABC"})
    before = streams(engine)
    with pytest.raises(eddy.PolicyError):
        engine.flush()
    assert streams(engine) == before
    engine.flush()
    assert {name: s.rows for name, s in streams(engine).items()} == {"A": 3, "B": 3, "C": 3}


@pytest.mark.parametrize(
    "options, told",
    [
        ({"late": "drop"}, "give lateness= too"),
        ({"idle": "10 s"}, "give lateness= too"),
        ({"lateness": "5 s"}, "its time column is an integer"),
        ({"lateness": -1}, "lateness needs"),
        ({"lateness": 1, "late": "ignore"}, "late must be"),
        ({"lateness": {"C": 1}}, "no stream 'C'"),
        ({"lateness": 1, "idle": 0}, "idle is a length of time"),
        ({"lateness": 1, "idle": "soon"}, "idle: 'soon' is not a duration"),
        ({"lateness": 1, "clock": 3.0}, "clock is a function"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, told):
    with pytest.raises(eddy.EddyError, match=told):
        eddy.Eddy(query(), **options)


def test_lateness_needs_times():
    with pytest.raises(eddy.EddyError, match="lateness needs times"):
        eddy.Eddy(eddy.Query({"A": {"x": "int64"}, "B": {"x": "int64"}}, where="A.x = B.x"), lateness=1)


def test_bad_batches_are_refused_before_anything_changes():
    engine = eddy.Eddy(query(), lateness=3)
    before = engine.statistics()
    for wrong in ({"C": rows(1)}, {"A": rows(1), "B": {"ts": [1]}}, {"A": {**rows(1), "ts": [None]}}):
        with pytest.raises(eddy.BatchError):
            engine.push_all(wrong)
    assert engine.statistics() == before


def test_many_small_pushes_wait_in_few_runs():
    """Single rows, most of which wait: they come out as if they had come at once."""
    engine = eddy.Eddy(query(eddy.Rows(1), select=["A.ts", "B.ts"]), lateness=10**6)
    rng = np.random.default_rng(1)
    times = rng.permutation(600).tolist()
    for time in times:
        engine.push("AB"[time % 2], rows(time))
    assert streams(engine)["A"].waiting == 300
    found = engine.flush().to_pydict()
    assert found["A.ts"] == [t - t % 2 for t in range(1, 600)]
    assert found["B.ts"] == [t - 1 + t % 2 for t in range(1, 600)]


def test_a_cell_of_a_partitioning_takes_rows_in_order():
    """Its marks come with its rows."""
    joined = query()
    with pytest.raises(eddy.EddyError, match="in order of time"):
        Cell(joined, choose(joined, 2), 0, lateness=5)


@pytest.mark.parametrize("span", [1, 2**20, 2**40, 2**64 - 1])
def test_the_order_of_times_is_stable(span):
    """As numpy's stable sort, whatever the span; times in order are not touched."""
    rng = np.random.default_rng(span % 97)
    for size in (1, 2, 50, 3000):
        few = rng.integers(0, 1 + size // 3, size).astype(np.uint64) * np.uint64(max(1, span // size))
        times = (few + np.uint64(2**63)).view(np.int64)
        order = np.full(size, -1)
        changed = order_of(times, order)
        assert changed == (np.diff(times.astype(object)) < 0).any()
        assert order.tolist() == (np.argsort(times, kind="stable") if changed else np.full(size, -1)).tolist()
