"""Threads join a push larger than a batch in portions: results are those of one thread, and the short way is taken."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

import eddy
from eddy.engine.fast_path import FastPath
from eddy.threads.crew import REVIEW
from eddy.threads.fast import CrewTables
from policies import Gpt
from tests.feeds import roundabout
from tests.threads.test_threads import engine

WINDOWS = [eddy.Rows(300), eddy.Range(200), eddy.Tumbling(rows=150), eddy.Unbounded()]


@pytest.fixture
def taken(monkeypatch):
    """The pushes that have taken the short way."""
    pushes, push = [], FastPath.push

    def counted(self, batches):
        result = push(self, batches)
        if result is not None:
            pushes.append(self._state)
        return result

    monkeypatch.setattr(FastPath, "push", counted)
    return pushes


def batch_of(random, start, size, span, keys):
    of, ts = random.integers(0, 3, size), start + np.sort(random.integers(0, span, size))
    values = random.integers(0, keys, size)
    return {n: {"ts": ts[of == s], "x": values[of == s]} for s, n in enumerate("ABC")}, int(ts[-1])


def latest(result):
    """The times of the latest events, in the order of the results."""
    times = result.to_pydict()
    return [max(row) for row in zip(*(times[f"{n}.ts"] for n in "ABC"), strict=True)]


def same(first, second):
    return sorted(map(tuple, first.rows.tolist())) == sorted(map(tuple, second.rows.tolist()))


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("threads", [2, 3])
def test_a_push_larger_than_a_batch_is_joined_in_portions(taken, window, threads):
    """Portions follow each other in every shard, pushes grow and shrink, and results are in the order of one thread."""
    one, many = engine(window=window, batch_size=512), engine(window=window, batch_size=512, threads=threads)
    random, now = np.random.default_rng(8), 0
    for size in (700, 512, 9000, 40, 1025, 30_000, 3, 4096):
        keys = 60_000 if isinstance(window, eddy.Unbounded) else 400
        batch, now = batch_of(random, now, size, 900, keys)
        first, second = one.push_all(batch), many.push_all(batch)
        assert same(first, second) and latest(first) == latest(second) == sorted(latest(second))
    assert taken.count(many.state) == 7  # all but the first, which makes the tables
    assert many.state.batches == one.state.batches
    assert [s.live for s in many.statistics().stairs] == [s.live for s in one.statistics().stairs]


def crowding(count=12):
    """Times come closer and closer together: rings of times are too small again and again."""
    random, now = np.random.default_rng(9), 0
    for turn in range(count):
        batch, now = batch_of(random, now, 4000, max(10, 4000 >> turn), 5000)
        yield batch


def test_windows_that_grow_in_the_middle_of_a_push_are_given_room():
    """Shards are at work on the portions before."""
    one = engine(window=eddy.Range(50), batch_size=256)
    two = engine(window=eddy.Range(50), batch_size=256, threads=2)
    give, ready = CrewTables._give_windows_room, []

    def watched(tables):
        ready.append(two.state.executor.team.mailbox.ready)
        give(tables)

    with mock.patch.object(CrewTables, "_give_windows_room", watched):
        for batch in crowding():
            assert same(one.push_all(batch), two.push_all(batch))
    assert max(ready) > 0


def test_an_error_in_the_middle_of_a_push_leaves_nobody_at_work():
    """There is no room to be had for windows that have grown; the engine says that it has stopped."""
    two = engine(window=eddy.Range(50), batch_size=256, threads=2)
    box = two.state.executor.team.mailbox

    def none(tables):
        if box.ready:
            raise MemoryError("no more")
        tables._lowwater.resize()
        tables._watch_windows()

    with mock.patch.object(CrewTables, "_give_windows_room", none), pytest.raises(MemoryError):
        for batch in crowding():
            two.push_all(batch)
    assert box.done == box.count == 2 and box.off == 1 and box.led == -1
    with pytest.raises(eddy.StateError, match="in the middle of a batch"):
        two.push_all(batch)


@pytest.mark.parametrize("first", [300, 4000])
def test_windows_that_have_grown_leave_large_pushes_on_the_short_way(taken, first):
    """Rings of ranks that were made for small windows are made anew when a push and what is live exceed them."""
    many, random = engine(window=eddy.Rows(50_000), batch_size=512, threads=2), np.random.default_rng(1)
    for size in [first] * 3 + [16_384] * 12:
        many.push("A", {"ts": np.zeros(size, np.int64), "x": random.integers(0, 10**6, size)})
    assert taken.count(many.state) >= 13


def test_shards_forget_rows_that_no_result_can_name():
    """What they keep is bounded by the windows and the last pushes, however long the feed is."""
    two, random, now = engine(window=eddy.Rows(300), batch_size=512, threads=2), np.random.default_rng(2), 0
    for _ in range(60):
        batch, now = batch_of(random, now, 2000, 900, 400)
        two.push_all(batch)
    lines = two.state.executor.fast.streams
    assert (lines["next_row"] - lines["first_kept"]).max() <= 300 + 4 * 2000
    assert lines["capacity"].max() <= 16_384


@pytest.mark.parametrize("threads", [1, 2])
def test_what_a_huge_push_took_is_given_back(threads):
    """Some hundred small pushes later there is no trace of it."""
    many, random, now = (
        engine(window=eddy.Rows(300), batch_size=512, threads=threads),
        np.random.default_rng(3),
        0,
    )
    for size in (2000, 2000, 200_000):
        batch, now = batch_of(random, now, size, 900, 4000)
        many.push_all(batch)
    held = many.statistics().bytes
    for _ in range(2 * REVIEW + 2):
        batch, now = batch_of(random, now, 600, 90, 4000)
        many.push_all(batch)
    assert (
        many.state.executor.fast.most <= 1024
        if threads > 1
        else len(many.state.fast_path._tables.order) <= 2048
    )
    assert many.statistics().bytes < held / 5


@pytest.mark.parametrize("nothing", [{}, {"A": {"ts": [], "x": []}}], ids=["no batch", "no row"])
@pytest.mark.parametrize("plan", ["stems", "(C B) A"])
def test_an_empty_push_after_a_plan_change_changes_nothing(plan, nothing):
    """It has no last event whose marks would say what is live: results were lost, or the push never ended."""
    for _ in range(8):
        one, two = engine(window=eddy.Rows(40)), engine(window=eddy.Rows(40), threads=2)
        rows = {"ts": list(range(100)), "x": list(range(100))}
        for each in (one, two):
            for change in ("A (B C)", plan):
                each.migrate(change)
                for name in "ABC":
                    each.push(name, rows)
            assert len(each.push_all(nothing)) == 0
        last = {"ts": [101, 102, 103], "x": [1, 2, 99]}
        assert len(one.push("C", last)) == len(two.push("C", last)) == 1


@pytest.mark.parametrize("seed", [1, 2])
def test_shards_may_hold_less_after_a_change_of_plan(seed):
    """A black box that takes over has fewer rows than results of earlier pushes could name, and no more are kept."""
    windows = {"A": 10, "B": 10, "C": 150}
    streams = {
        name: eddy.Stream({"ts": "int64", "k": "int64", "j": "int64"}, window=eddy.Range(width))
        for name, width in windows.items()
    }
    query = eddy.Query(streams, where=["A.k = B.k", "B.j = C.j"])
    one, two = (
        eddy.Eddy(query, plan="(A B) C", threads=threads, batch_size=1024, migration=Gpt())
        for threads in (1, 2)
    )
    random, now = np.random.default_rng(seed), 0
    for sizes, plan in (
        ({"B": 1500, "C": 3000}, "stems"),
        ({"A": 5, "B": 5}, "(A B) C"),
        ({"A": 1500}, None),
        ({"A": 1100, "B": 3000}, None),
    ):
        batch = {
            name: roundabout(
                {
                    "ts": now + np.arange(size) // 3,
                    "k": random.integers(0, 40, size),
                    "j": random.integers(0, 40, size),
                }
            )
            for name, size in sizes.items()
        }
        now += max(sizes.values()) // 3
        assert same(one.push_all(batch), two.push_all(batch))
        if plan is not None:
            one.migrate(plan)
            two.migrate(plan)
