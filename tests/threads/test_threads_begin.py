"""Helpers begin with a batch while it is still being checked: whatever comes of it, results are those of one thread."""

from __future__ import annotations

import time
from unittest import mock

import numpy as np
import pytest

import eddy
from eddy.inspect.history import History
from eddy.threads.team_kernels import FEW
from tests.threads.test_threads import engine

LONGEST = 200
"""Seconds that helpers may take, on a machine that is busy, to go to sleep or to wake."""
WINDOWS = [eddy.Rows(900), eddy.Tumbling(rows=700), eddy.Range(60), eddy.Tumbling(time=90), eddy.Unbounded()]


def batches(count, seed=0, keys=3000):
    """Batches of sizes round the one from which on helpers are told."""
    random, now = np.random.default_rng(seed), 0
    for _ in range(count):
        total = int(random.choice([3, FEW - 1, FEW, FEW + 1, 3 * FEW]))
        of = random.integers(0, 3, total)
        batch = {}
        for s, name in enumerate("ABC"):
            n = int((of == s).sum())
            batch[name] = {
                "ts": np.sort(random.integers(now, now + 50, n)),
                "x": random.integers(0, keys, n),
            }
        now += 50
        yield batch


def same(one, two, batch):
    """Both take the batch in, and find the same, event by event."""
    first, second = one.push_all(batch).rows, two.push_all(batch).rows
    assert len(first) == len(second)
    assert sorted(map(tuple, first.tolist())) == sorted(map(tuple, second.tolist()))


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("threads", [2, 3])
def test_batches_of_any_size_follow_each_other(window, threads):
    """Some are worth the help, some are not."""
    keys = 60_000 if isinstance(window, eddy.Unbounded) else 3000
    one, two = engine(window=window), engine(window=window, threads=threads)
    for batch in batches(60, keys=keys):
        same(one, two, batch)


def test_a_batch_that_is_refused_when_it_is_dealt_out_changes_nothing():
    """Its times go back, which is found out while helpers are at work on its keys."""
    one, two = engine(window=eddy.Range(60)), engine(window=eddy.Range(60), threads=2)
    for turn, batch in enumerate(batches(60, seed=1)):
        same(one, two, batch)
        if turn % 3 == 0:
            bad = {name: {c: v.copy() for c, v in columns.items()} for name, columns in batch.items()}
            bad["B"]["ts"][:] -= 10_000
            before = two.statistics().events
            if len(bad["B"]["ts"]):
                with pytest.raises(eddy.BatchError):
                    two.push_all(bad)
            assert two.statistics().events == before


def test_nobody_is_at_work_when_noting_a_batch_has_failed():
    """What is noted between the two calls of a batch may fail: the engine says so, and its helpers have ended."""
    two = engine(window=eddy.Rows(5000), threads=2)
    for batch in batches(20, seed=2):
        two.push_all(batch)
    large = next(b for b in batches(50, seed=3) if sum(len(c["x"]) for c in b.values()) > 2 * FEW)
    for columns in large.values():
        columns["ts"] += 10_000
    with mock.patch.object(History, "note", side_effect=MemoryError("no more")), pytest.raises(MemoryError):
        two.push_all(large)
    box = two.state.executor.team.mailbox
    assert box.done == box.count == 2 and box.off == 1
    with pytest.raises(eddy.StateError, match="in the middle of a batch"):
        two.push_all(large)


def test_results_that_are_held_are_sealed_before_helpers_write():
    """The ring of an old result is used again by shards that have begun before Python is back."""
    one, two = engine(window=eddy.Rows(900)), engine(window=eddy.Rows(900), threads=2)
    held = [(one.push_all(batch), two.push_all(batch)) for batch in batches(30, seed=4)]
    for first, second in held:
        assert sorted(map(tuple, first.rows.tolist())) == sorted(map(tuple, second.rows.tolist()))


def test_helpers_that_sleep_are_called():
    """All go to sleep when there is nothing to do, and batches that come later are right, whoever does them."""
    one, two = engine(window=eddy.Rows(900)), engine(window=eddy.Rows(900), threads=3)
    box = two.state.executor.team.mailbox
    for batch in batches(12, seed=5):
        same(one, two, batch)
        until = time.monotonic() + LONGEST
        while box.asleep < 2 and time.monotonic() < until:
            time.sleep(0.001)
        assert box.asleep == 2
    team, until, roused = two.state.executor.team, time.monotonic() + LONGEST, False
    while not roused and time.monotonic() < until:
        team.rouse()  # they look for something to do for a while, and sleep again, maybe before the next line
        roused = box.asleep < 2
    assert roused


def test_every_shard_is_taken_once_from_one_end_or_the_other():
    """Who leads begins at the back, and takes what helpers leave: those too that are still awake when few rows come."""
    two = engine(window=eddy.Rows(900), threads=3)
    for batch in batches(40, seed=6):
        two.push_all(batch)
        box = two.state.executor.team.mailbox
        assert box.front + box.back == box.count == box.done == 3
        assert box.taken >= 3
