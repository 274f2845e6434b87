"""Merging equals sorting by (time, stream, arrival)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddy.intake.merge import TIMED_PART, arrange, merge, number, take_turns
from stairs.lowlevel.address import handle

clocks = st.one_of(st.integers(0, 5), st.integers(-(10**6), 10**6), st.integers(-(2**63), 2**63 - 1))


def check(feeds: list[list[int]]) -> None:
    times = np.array([t for feed in feeds for t in feed], np.int64)
    offsets = np.cumsum([0] + [len(feed) for feed in feeds]).astype(np.int64)
    streams, events = np.empty(len(times), np.int32), np.empty(len(times), np.int32)
    merge(times, offsets, streams, events)
    order = sorted((t, s, j) for s, feed in enumerate(feeds) for j, t in enumerate(feed))
    assert streams.tolist() == [s for _, s, _ in order]
    assert [int(events[offsets[s] + j]) for _, s, j in order] == list(range(len(times)))
    arranged(feeds, order)


def arranged(feeds, order):
    """The same from the arrays of the streams, which have numbers of their own and are not empty."""
    own = [(7 + 2 * s, np.array(feed, np.int64)) for s, feed in enumerate(feeds) if feed]
    total = sum(len(feed) for _, feed in own)
    if total == 0:
        return
    table = np.array([(handle(feed), len(feed), number) for number, feed in own], TIMED_PART)
    for timed in (False, True):
        streams, events = np.empty(total, np.int32), np.empty(total, np.int32)
        merged = np.empty(total if timed else 0, np.int64)
        assert arrange(table, streams, events, merged) == -1
        assert streams.tolist() == [7 + 2 * s for _, s, _ in order]
        places = {(s, j): i for i, (_, s, j) in enumerate(order)}
        assert events.tolist() == [places[s, j] for s, feed in enumerate(feeds) for j in range(len(feed))]
        assert not timed or merged.tolist() == [time for time, _, _ in order]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_taking_turns_is_merging_by_position(lengths):
    """Every part's first row comes first, in the order of the parts, then every part's second."""
    table = np.array([(0, n, 3 * s) for s, n in enumerate(lengths)], TIMED_PART)
    streams, events = np.empty(sum(lengths), np.int32), np.empty(sum(lengths), np.int32)
    take_turns(table, streams, events)
    order = sorted((j, s) for s, n in enumerate(lengths) for j in range(n))
    assert streams.tolist() == [3 * s for _, s in order]
    assert events.tolist() == [order.index((j, s)) for s, n in enumerate(lengths) for j in range(n)]


@given(
    st.permutations(range(12)), st.lists(st.integers(0, 11), max_size=3), st.integers(-(2**63), 2**63 - 12)
)
def test_times_that_number_the_events(times, doubled, first):
    """Consecutive numbers, and nearly so: some twice, so that others are missing."""
    times = [times[-1] if i in doubled else time for i, time in enumerate(times)]
    check([sorted(first + time for time in times[start : start + 4]) for start in (0, 4, 8)])


def test_time_that_goes_back_is_found():
    feeds = [np.array(feed, np.int64) for feed in ([1, 2], [3, 1], [5, 4])]
    table = np.array([(handle(feed), 2, s) for s, feed in enumerate(feeds)], TIMED_PART)
    streams = np.full(6, 9, np.int32)
    assert arrange(table, streams, streams.copy(), np.empty(0, np.int64)) == 1
    assert streams.tolist() == [9] * 6


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_merge_is_a_stable_sort(data):
    """For any number of streams, empty ones included, and any spread of times."""
    times = data.draw(st.sampled_from([st.integers(0, 5), st.integers(-(10**6), 10**6), clocks]))
    check(
        [sorted(feed) for feed in data.draw(st.lists(st.lists(times, max_size=40), min_size=1, max_size=8))]
    )


@pytest.mark.parametrize("streams", [2, 20])
@pytest.mark.parametrize("span", [1, 4096, 10**7, 2**62])
def test_a_full_batch(streams, span):
    """Batches of the usual size, with times that need one digit of the sort or many."""
    rng = np.random.default_rng(span)
    check([sorted(rng.integers(-span, span, 4096 // streams).tolist()) for _ in range(streams)])


@given(st.lists(st.integers(0, 4), max_size=60), st.sampled_from([-(2**63), -7, 0, 2**62]), st.booleans())
@settings(max_examples=100, deadline=None)
def test_event_numbers_as_times(turns, first, repeat):
    """Consecutive numbers are merged without sorting, and told apart from numbers with one twice."""
    feeds: list[list[int]] = [[] for _ in range(5)]
    for i, s in enumerate(turns):
        feeds[s].append(first + i)
    if repeat and turns:
        feeds[turns[0]].insert(0, first)
    check(feeds)


def test_no_place_outside_is_written_to():
    """Times that another thread changes while they are merged give some order, and touch no memory but their own."""
    times, buffer, events = np.array([0, 7, 2]), np.full(16, -9, np.int32), np.empty(3, np.int32)
    assert not number(np.array([(handle(times), 3, 0)], TIMED_PART), buffer[:3], events)
    assert (buffer[3:] == -9).all()
    times = np.array([0, -5, 2])
    assert not number(np.array([(handle(times), 3, 0)], TIMED_PART), buffer[8:11], events)
    assert (buffer[3:8] == -9).all()
