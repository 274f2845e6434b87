"""Low-water marks equal their definition, read off the whole history at each event."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddy.intake.lowwater import LowWater
from eddy.intake.lowwater_kernels import PATIENCE

UNBOUNDED, ROWS, RANGE, TUMBLING_ROWS, TUMBLING_TIME = range(5)


class Naive:
    """The definition of each window, from scratch at each event."""

    def __init__(self, windows: list[tuple[int, int]], first_row: int) -> None:
        self.windows, self.first_row = windows, first_row
        self.times: list[list[int]] = [[] for _ in windows]

    def low(self, c: int, now: int) -> int:
        kind, param = self.windows[c]
        times = self.times[c]
        if kind == ROWS:
            low = len(times) - param
        elif kind == TUMBLING_ROWS:
            low = (len(times) - 1) // param * param
        elif kind == UNBOUNDED:
            low = 0
        else:
            oldest = now - param if kind == RANGE else now // param * param
            low = sum(t < oldest for t in times)
        return self.first_row + max(low, 0)

    def event(self, s: int, now: int) -> list[int]:
        self.times[s].append(now)
        return [self.low(c, now) for c in range(len(self.windows))]


def cut(rows: list) -> list:
    """The low 32 bits of each, as a signed number."""
    return (np.array(rows, np.int64) & 0xFFFFFFFF).astype(np.uint32).view(np.int32).tolist()


def check(
    windows: list[tuple[int, int]], batches: list[list[tuple[int, int]]], first_row: int, now: int
) -> LowWater:
    kinds, params = (np.array(x, np.int64) for x in zip(*windows, strict=True))
    water = LowWater(kinds, params, first_row=first_row)
    naive = Naive(windows, first_row)
    lows = [first_row] * len(windows)
    for batch in batches:
        expected, streams, times = [], [], []
        for s, step in batch:
            now += step
            streams.append(s % len(windows))
            times.append(now)
            expected.append(naive.event(streams[-1], now))
        marks, first, last = water.advance(np.array(streams, np.int32), np.array(times, np.int64))
        assert marks.dtype == first.dtype == last.dtype == np.int32
        assert first.tolist() == cut(lows)
        if expected:
            assert marks.tolist() == cut(expected)
            lows = expected[-1]
        assert last.tolist() == cut(lows)
        assert water.lows.tolist() == lows
        assert water.counts.tolist() == [first_row + len(t) for t in naive.times]
    return water


window = st.one_of(
    st.just((UNBOUNDED, 0)),
    st.tuples(st.sampled_from([ROWS, TUMBLING_ROWS, RANGE, TUMBLING_TIME]), st.integers(1, 12)),
    st.just((RANGE, 0)),
)
event = st.tuples(st.integers(0, 20), st.one_of(st.integers(0, 2), st.integers(0, 30)))


@given(
    st.lists(window, min_size=1, max_size=10),
    st.lists(st.lists(event, max_size=30), max_size=8),
    st.sampled_from([0, 5, 2**31 - 6, 2**32 - 6, 2**40]),
    st.sampled_from([0, -50, 10**18]),
)
@settings(max_examples=300, deadline=None)
def test_marks_are_those_of_the_definition(windows, batches, first_row, now):
    """Every kind of window, in any mixture, over any cut into batches."""
    check(windows, batches, first_row, now)


@pytest.mark.parametrize("kind", [ROWS, RANGE, TUMBLING_ROWS, TUMBLING_TIME])
@pytest.mark.parametrize("streams", [2, 9])
def test_rows_cross_32_bits(kind, streams):
    """Marks wrap at 2**31 and at 2**32; the rows behind them do not."""
    rng = np.random.default_rng(kind)
    batches = [[(int(s), 1) for s in rng.integers(0, streams, 40)] for _ in range(12)]
    for first_row in (2**31 - 50, 2**32 - 50):
        water = check([(kind, 13)] * streams, batches, first_row, 0)
        assert water.lows.min() > first_row


def test_rings_grow_and_shrink():
    """Times are held only while they are in the window, with at most a few times the room they need."""
    water = LowWater(np.array([RANGE, ROWS]), np.array([1000, 5]), first_row=2**32 - 500)
    idle = water.nbytes
    both = np.array([0, 1] * 2000, np.int32)
    water.advance(both, np.repeat(np.arange(2000), 2))
    assert water.lows[0] == 2**32 - 500 + 999
    busy = water.nbytes
    assert busy > idle + 8 * 1001
    for _ in range(PATIENCE - 1):
        water.advance(both[:2], np.array([10**6, 10**6]))
    assert water.nbytes == busy  # the next batch could be a large one again
    for _ in range(3):
        water.advance(both[:2], np.array([10**6, 10**6]))
    assert water.nbytes - 4 * 2 * 4096 < idle + 8 * 1000
    assert water.lows[0] == water.counts[0] - PATIENCE - 2


def test_rings_keep_their_size_where_batches_are_large_and_small_by_turns():
    """Of 40 batches only the first finds a ring too small."""
    water, grown = LowWater(np.array([RANGE]), np.array([10])), []
    for i in range(40):
        n = 4000 if i % 2 == 0 else 5
        water.advance(np.zeros(n, np.int32), np.full(n, 1000 * i))
        grown.append(id(water.rings))
    assert len(set(grown)) == 1


def test_windows_longer_than_time():
    """Widths and times at the ends of 64 bits neither wrap nor fail."""
    top, bottom = 2**63 - 1, -(2**63)
    water = LowWater(np.array([RANGE, TUMBLING_TIME]), np.array([top, top]))
    marks, _, _ = water.advance(np.array([0, 1, 0, 1], np.int32), np.array([bottom, bottom + 5, -1, -1]))
    assert marks[:, 0].tolist() == [0, 0, 0, 0]
    water.advance(np.array([0, 1], np.int32), np.array([top - 1, top]))
    assert water.lows.tolist() == [2, 2]


def test_times_are_needed_for_windows_by_time():
    with pytest.raises(TypeError, match="needs the times"):
        LowWater(np.array([RANGE]), np.array([3])).advance(np.zeros(1, np.int32), None)
    LowWater(np.array([ROWS]), np.array([3])).advance(np.zeros(1, np.int32), None)
