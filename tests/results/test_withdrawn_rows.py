"""Live results are withdrawn at the event at which they die, in order, and cost no more than they must."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddy.intake.lowwater import LowWater
from eddy.intake.lowwater_kernels import RANGE, ROWS, TUMBLING_ROWS, TUMBLING_TIME, UNBOUNDED
from eddy.results.withdrawal_kernels import WIDTH
from eddy.results.withdrawals import LiveResults
from tests import naive
from tests.cases import S


class Feed:
    """Random results of streams under windows of random widths, and what an event at a time would make of them."""

    def __init__(self, seed: int, streams: int, window: int, first_row: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.windows = self.random.integers(1, window + 1, streams)
        self.next = np.full(streams, first_row, np.int64)
        self.low = self.next.copy()
        self.alive = np.empty((0, streams), np.int64)

    def event(self, most: int) -> tuple[np.ndarray, np.ndarray]:
        """A row of some stream arrives: what dies, oldest first, and what is born."""
        self.next[self.random.integers(len(self.next))] += 1
        self.low = np.maximum(self.low, self.next - self.windows - self.random.integers(0, 3))
        dead = (self.alive < self.low).any(axis=1)
        many = self.random.integers(0, most + 1) if (self.low < self.next).all() else 0
        born = self.low + self.random.integers(0, 2**40, (many, len(self.low))) % np.maximum(
            self.next - self.low, 1
        )
        gone, self.alive = self.alive[dead], np.concatenate([self.alive[~dead], born])
        return gone, born

    def batch(self, live: LiveResults, events: int, most: int) -> int:
        """Let a batch go by, and hold every change against an event at a time; returns how many there were."""
        n = len(self.next)
        marks, rows, at = np.empty((events, n), np.int64), [self.alive[:0]], []
        wanted: list[tuple[int, int, list[int]]] = []
        for event in range(events):
            gone, born = self.event(most)
            marks[event] = self.low
            rows.append(born)
            at += [event] * len(born)
            wanted += [(event, -1, dead) for dead in gone.tolist()] + [
                (event, 1, new) for new in born.tolist()
            ]
        signed = live.step(
            np.concatenate(rows),
            np.array(at, np.int32),
            marks.astype(np.uint32).view(np.int32),
            self.next.copy(),
        )
        changes = signed.events.tolist(), signed.signs.tolist(), signed.rows.tolist()
        assert list(zip(*changes, strict=True)) == wanted
        assert (signed.rows.dtype, signed.signs.dtype, signed.events.dtype) == (np.int64, np.int8, np.int32)
        return len(wanted)


def check_nodes(live: LiveResults) -> None:
    """Every node has the oldest row of each stream below it; of an empty block, one that has not come yet."""
    records, filled, nodes, starts = live._store
    below = np.full((live._used, live._streams), live._newest, np.uint32)
    for block in range(live._used):
        if filled[block]:
            below[block] = records[block, :, : filled[block]].min(axis=1)
    for level, start in enumerate(starts):
        known = nodes[start : start + len(below)]
        empty = filled[: len(below)] == 0 if not level else np.zeros(len(below), np.bool_)
        assert np.array_equal(known[~empty], below[~empty])
        groups = range(0, len(known), WIDTH)
        below = np.array([known[group : group + WIDTH].min(axis=0) for group in groups], np.uint32)


def marks_of(*rows: tuple[int, ...]) -> np.ndarray:
    return np.array(rows, np.int32)


NOTHING = np.empty((0, 2), np.int64), np.empty(0, np.int32)


def all_of(live: LiveResults) -> list[list[int]]:
    """All results that stand, oldest first: what an event withdraws that ends every window."""
    end = np.full(2, 99, np.int64)
    return live.step(*NOTHING, end.astype(np.int32)[None], end).rows.tolist()


def test_a_result_is_withdrawn_at_the_event_that_takes_one_of_its_rows() -> None:
    """The first row to leave its window ends the result, whichever stream it is of."""
    live = LiveResults(2)
    born = np.array([[0, 5], [3, 0]], np.int64)
    first = live.step(born, np.array([0, 0], np.int32), marks_of((0, 0)), np.array([4, 6]))
    assert first.rows.tolist() == [[0, 5], [3, 0]] and first.signs.tolist() == [1, 1]
    second = live.step(*NOTHING, marks_of((0, 0), (0, 1), (1, 1)), np.array([5, 7]))
    assert second.rows.tolist() == [[3, 0], [0, 5]]
    assert second.signs.tolist() == [-1, -1] and second.events.tolist() == [1, 2]
    assert all_of(live) == []


def test_a_result_can_come_and_go_within_a_batch() -> None:
    """It gives both changes, each at its event, and a withdrawal comes before what is new at the same event."""
    live = LiveResults(2)
    born, at = np.array([[0, 0], [0, 1], [1, 1]], np.int64), np.array([0, 0, 1], np.int32)
    signed = live.step(born, at, marks_of((0, 0), (0, 1)), np.array([2, 2]))
    assert signed.rows.tolist() == [[0, 0], [0, 1], [0, 0], [1, 1]]
    assert signed.signs.tolist() == [1, 1, -1, 1] and signed.events.tolist() == [0, 0, 1, 1]
    assert all_of(live) == [[0, 1], [1, 1]]


def test_a_batch_without_events_changes_nothing() -> None:
    """Nothing is asked of marks that are not there."""
    live = LiveResults(2)
    live.restore(np.array([[1, 2]], np.int64))
    nothing = live.step(*NOTHING, np.empty((0, 2), np.int32), np.array([2, 3]))
    assert nothing.rows.tolist() == [] and all_of(live) == [[1, 2]]


@given(
    seed=st.integers(0, 2**32),
    streams=st.integers(1, 5),
    window=st.sampled_from([1, 3, 10, 60]),
    first_row=st.sampled_from([0, 2**31 - 40, 2**32 - 40, 2**33 + 2**31 - 7]),
    batches=st.lists(st.tuples(st.integers(0, 40), st.sampled_from([0, 1, 8, 60])), min_size=1, max_size=12),
    restart=st.booleans(),
)
def test_batches_give_what_single_events_would(seed, streams, window, first_row, batches, restart) -> None:
    """Whatever the batches, the windows and the row numbers; and a snapshot goes on where it was taken."""
    feed, live = Feed(seed, streams, window, first_row), LiveResults(streams)
    for events, most in batches:
        feed.batch(live, events, most)
        if restart:
            live = LiveResults(streams)
            live.restore(feed.alive)


KINDS = {
    "unbounded": UNBOUNDED,
    "rows": ROWS,
    "range": RANGE,
    "tumbling rows": TUMBLING_ROWS,
    "tumbling time": TUMBLING_TIME,
}


@settings(max_examples=40)
@given(
    windows=st.lists(st.tuples(st.sampled_from(list(KINDS)), st.integers(1, 9)), min_size=3, max_size=3),
    events=st.lists(
        st.tuples(st.sampled_from("ABC"), st.integers(0, 2), st.integers(0, 3)), min_size=30, max_size=60
    ),
    batch=st.integers(1, 20),
)
def test_every_kind_of_window_withdraws_as_the_oracle_says(windows, events, batch) -> None:
    """New results and marks of a real feed go in, and all changes that the oracle knows come out, in its order."""
    sizes = [(kind, *([] if kind == "unbounded" else [size])) for kind, size in windows]
    streams = {name: S(("x", "ts"), size, "ts") for name, size in zip("ABC", sizes, strict=True)}
    where = [("=", ("col", "A", "x"), ("col", name, "x")) for name in "BC"]
    now = np.cumsum([step for _, _, step in events]).tolist()
    feed = [(name, (x, time)) for (name, x, _), time in zip(events, now, strict=True)]
    results = naive.join(streams, where, feed)
    kinds, params = np.array([KINDS[kind] for kind, _ in windows]), np.array([size for _, size in windows])
    water, live, found = LowWater(kinds, params), LiveResults(3), []
    for first in range(0, len(feed), batch):
        part = feed[first : first + batch]
        arrived = np.array(["ABC".index(name) for name, _ in part], np.int32)
        marks, _, _ = water.advance(arrived, np.array([row[1] for _, row in part], np.int64))
        born = [(at, rows) for at in range(len(part)) for rows in sorted(results[first + at])]
        signed = live.step(
            np.array([rows for _, rows in born], np.int64).reshape(-1, 3),
            np.array([at for at, _ in born], np.int32),
            marks,
            water.counts,
        )
        rows = zip(signed.signs.tolist(), map(tuple, signed.rows.tolist()), strict=True)
        changes = list(zip(signed.events.tolist(), rows, strict=True))
        found += [[change for event, change in changes if event == at] for at in range(len(part))]
    assert found == naive.signed(streams, where, feed)


@pytest.mark.parametrize("jump", [2**20, 2**31 - 5, 2**32 - 50])
@pytest.mark.parametrize("copies", [1, 3])
def test_marks_may_jump(jump: int, copies: int) -> None:
    """A time window may lose any number of rows at once, as long as row numbers differ within 32 bits."""
    live, events = LiveResults(2), 50
    rows = np.array([[i // copies, 0] for i in range(40 * copies)], np.int64)
    live.step(rows, np.zeros(len(rows), np.int32), np.zeros((1, 2), np.int32), np.array([40, 1]))
    marks = np.zeros((events, 2), np.int64)
    marks[10:, 0], marks[20:, 0], marks[30:, 0] = 7, 30, jump
    signed = live.step(*NOTHING, marks.astype(np.uint32).view(np.int32), np.array([jump + 1, 1], np.int64))
    assert np.array_equal(signed.rows, rows) and set(signed.signs.tolist()) == {-1}
    assert signed.events.tolist() == [10] * 7 * copies + [20] * 23 * copies + [30] * 10 * copies


@settings(max_examples=5)
@given(seed=st.integers(0, 2**32), window=st.sampled_from([300, 3000]))
def test_many_results_over_many_batches(seed: int, window: int) -> None:
    """Several levels of nodes, packing in place and into other arrays: still every change, and within the memory."""
    feed, live = Feed(seed, 2, window), LiveResults(2)
    changes = 0
    for turn in range(12):
        changes += feed.batch(live, 60, 200 if turn % 6 < 3 else 2)
        check_nodes(live)
        if len(feed.alive) > 32 * WIDTH:
            assert live.nbytes <= 2 * 4 * 2 * len(feed.alive)
    assert changes > 10_000


def test_memory_follows_what_stands() -> None:
    """Up to a million results, down to a few, and never more than twice what their rows take."""
    live, streams, newest, count = LiveResults(4), 4, 0, 0
    random = np.random.default_rng(0)
    for born, window in [(50_000, 400)] * 20 + [(100, 400)] * 30 + [(0, 1), (0, 0)]:
        newest += 40
        low = max(0, newest - window)
        rows = random.integers(low, newest, (born, streams)) if born else np.empty((0, streams), np.int64)
        marks = np.full((1, streams), low, np.int32)
        signed = live.step(rows, np.zeros(born, np.int32), marks, np.full(streams, newest))
        count += int(signed.signs.sum(dtype=np.int64))
        assert live.nbytes <= max(2 * 16 * count, 50_000)
    assert count == 0


def test_what_does_not_die_is_not_looked_at() -> None:
    """A batch that withdraws one result writes to its block alone, and is told so by the nodes above it."""
    live, many = LiveResults(2), 100_000
    rows = np.stack([np.full(many, 10), np.arange(many)], axis=1)
    rows[70_000, 0] = 3
    live.restore(rows)
    records = live._store[0]
    before = records.copy()
    signed = live.step(*NOTHING, marks_of((3, 0), (4, 0)), np.array([20, many]))
    assert signed.rows.tolist() == [[3, 70_000]] and signed.events.tolist() == [1]
    changed = np.flatnonzero((records != before).any(axis=(1, 2)))
    assert changed.tolist() == [70_000 // WIDTH]
    assert len(live._store[3]) == 3
    check_nodes(live)
