"""A chain of set differences gives what its definition gives at every event, whatever its order does meanwhile."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddy.difference.difference import Difference
from eddy.difference.rows import KeyedRows
from eddy.errors import BatchError, PlanError, QueryError
from eddy.intake.lowwater import LowWater
from tests.differences import (
    ELSE,
    ONE_KEY,
    RANGE,
    ROWS,
    TUMBLING_ROWS,
    TUMBLING_TIME,
    UNBOUNDED,
    B,
    C,
    Chain,
    D,
    Event,
    base,
    inner,
)

key = st.sampled_from([0, 1, 2, 3, 2**40, -1, None])
conditions = st.one_of(
    st.lists(st.sampled_from([(0,), (1,), (0, 1), (1, 0, 2)]), min_size=1, max_size=4),
    st.integers(2, 4).map(lambda n: [(0,)] * n),
    st.integers(2, 4).map(lambda n: [(i,) for i in range(n)]),
)
window = st.one_of(
    st.tuples(st.sampled_from([ROWS, RANGE, TUMBLING_ROWS, TUMBLING_TIME]), st.integers(1, 8)),
    st.just((UNBOUNDED, 0)),
)


@st.composite
def feeds(draw: st.DrawFn) -> tuple[Chain, list[tuple[object, list[Event]]]]:
    """A chain, and batches, some of them after another order, or after a reload."""
    of_streams = draw(conditions)
    inner = len(of_streams)
    chain = Chain(
        of_streams,
        draw(st.lists(window, min_size=inner + 1, max_size=inner + 1)),
        first_row=draw(st.sampled_from([0, 7, 2**31 - 6, 2**32 - 6, 2**40])),
        background=draw(st.sampled_from([0, 0, 1, 3])),
    )
    widths = dict(chain.widths())

    @st.composite
    def event(draw: st.DrawFn) -> Event:
        s = draw(st.sampled_from([0, 0, *range(inner + 1)]))
        keys = draw(st.tuples(*[key] * widths[s]))
        return s, draw(st.sampled_from([0, 0, 1, 2, 5])), keys, draw(st.sampled_from([True] * 7 + [False]))

    action = st.one_of(st.none(), st.just("reload"), st.permutations(range(1, inner + 1)))
    return chain, draw(st.lists(st.tuples(action, st.lists(event(), max_size=14)), max_size=12))


@given(feeds())
@settings(max_examples=400)
def test_every_event_is_that_of_the_definition(feed):
    """Any conditions, windows, NULLs, filters, cuts into batches, orders and reloads, with and without background."""
    chain, batches = feed
    for action, events in batches:
        if action == "reload":
            chain.reload()
        elif action is not None:
            chain.difference.reorder(action)
            assert chain.difference.order == tuple(action)
            chain.check()
        chain.push(events)


def test_an_event_that_moves_every_row_many_times_over():
    """Changes beyond all room that was there, each event's in ascending order."""
    chain = Chain(ONE_KEY, [(ROWS, 300), (ROWS, 1), (ROWS, 1), (RANGE, 0)])
    chain.push(base(*[7] * 150, *[8] * 150))
    found = chain.push(inner(B, *[7, 8, ELSE] * 20) + inner(C, 7, 8) + inner(B, 7, 8, 7))
    assert len(found) > 150 * 60
    chain.difference.reorder([C, D, B])
    chain.push(inner(C, *[7, ELSE] * 3) + [(D, 0, (k,), True) for k in (7, 8, 7)] + [(D, 1, (ELSE,), True)])


def test_more_room_for_rows_with_numbers_beyond_32_bits():
    """An engine that has run for long gets a larger batch than ever: links between rows move with them."""
    chain = Chain(ONE_KEY, [(ROWS, 300), (ROWS, 300), (ROWS, 1), (RANGE, 0)], first_row=2**32 + 2**31 + 2)
    for size in (1, 20, 200):
        chain.push(base(*[7, 8] * size) + inner(B, *[7, ELSE] * size))


def test_memory_follows_the_live_rows():
    """Keys that never return leave nothing behind, and room for a burst is given back."""
    rng = np.random.default_rng(0)
    difference = Difference(2, [(0,), (0, 1)])
    water = LowWater(np.full(3, ROWS), np.full(3, 100))

    def run(batches: int, size: int) -> int:
        for _ in range(batches):
            streams = rng.integers(0, 3, size).astype(np.int32)
            counts = np.bincount(streams, minlength=3)
            keys = [
                KeyedRows([rng.integers(0, 2**62, n) for _ in range(w)])
                for n, w in zip(counts, (2, 1, 2), strict=True)
            ]
            difference.step(streams, water.advance(streams, None)[0], dict(enumerate(keys)))
        return difference.nbytes

    usual = run(100, 100)
    assert run(500, 100) == usual
    assert run(1, 50_000) > 20 * usual
    assert run(200, 100) == usual


def test_a_long_feed_agrees_with_counts():
    """Many keys, rows and orders: results at the end of each batch by plain counting, changes by their sum."""
    rng = np.random.default_rng(1)
    difference = Difference(3, [(0,), (1,), (0,)], background=20)
    water = LowWater(np.full(4, ROWS), np.array([900, 400, 300, 500]))
    feed: list[list[int]] = [[], [], [], [], []]
    standing: set[int] = set()
    for batch in range(120):
        streams = rng.integers(0, 4, 500).astype(np.int32)
        counts = np.bincount(streams, minlength=4)
        keys = [[rng.integers(0, 1000, n) for _ in range(2 if s == 0 else 1)] for s, n in enumerate(counts)]
        for s, values in zip((0, 4, 1, 2, 3), [*keys[0], *(of[0] for of in keys[1:])], strict=True):
            feed[s] += values.tolist()
        if batch % 7 == 0:
            difference.reorder(rng.permutation(3) + 1)
        marks, _, _ = water.advance(streams, None)
        rows, signs, _ = difference.step(streams, marks, {s: KeyedRows(k) for s, k in enumerate(keys)})
        for row, sign in zip(rows.tolist(), signs.tolist(), strict=True):
            assert (row in standing) == (sign < 0)
            (standing.remove if sign < 0 else standing.add)(row)
        low = water.lows.tolist()
        live = [set(feed[s][low[s] :]) for s in range(4)]
        wanted = [
            row
            for row in range(low[0], len(feed[0]))
            if feed[0][row] not in live[1] | live[3] and feed[4][row] not in live[2]
        ]
        assert sorted(standing) == difference.results().tolist() == wanted


def test_a_stream_without_a_key_blocks_everything():
    """A condition may be empty: then any live row of its stream is a match."""
    difference = Difference(1, [()])
    streams = np.array([0, 0, 1, 1, 0], np.int32)
    marks = np.array([[0, 0]] * 3 + [[0, 2]] + [[0, 2]], np.int32)
    rows, signs, events = difference.step(
        streams, marks, {0: KeyedRows(), 1: KeyedRows(kept=np.array([1, 0]))}
    )
    assert rows.tolist() == [0, 1, 0, 1, 0, 1, 2]
    assert signs.tolist() == [1, 1, -1, -1, 1, 1, 1]
    assert events.tolist() == [0, 1, 2, 2, 3, 3, 4]


def test_a_row_that_is_dead_when_it_comes():
    """Marks may be past a row at its own event: it is no result, and blocks nothing."""
    difference = Difference(1)
    streams = np.array([1, 0, 0, 1, 0], np.int32)
    marks = np.array([[0, 1], [0, 1], [2, 1], [2, 2], [2, 2]], np.int32)
    keys = {0: KeyedRows([np.array([1, 1, 1])]), 1: KeyedRows([np.array([1, 1])])}
    rows, signs, events = difference.step(streams, marks, keys)
    assert (rows.tolist(), signs.tolist(), events.tolist()) == ([0, 0, 2], [1, -1, 1], [1, 2, 4])
    assert difference.results().tolist() == [2]


def test_what_cannot_be_is_refused_and_changes_nothing():
    with pytest.raises(QueryError, match="1 to 31"):
        Difference(32)
    with pytest.raises(QueryError, match="1 to 31"):
        Difference(0)
    with pytest.raises(QueryError, match="give one for each"):
        Difference(2, [(0,)])
    with pytest.raises(PlanError, match="name each of the streams 1 to 2 once"):
        Difference(2).reorder([1, 1])
    difference = Difference(1)
    streams, marks = np.array([0, 1], np.int32), np.zeros((2, 2), np.int32)
    one = KeyedRows([np.array([5])])
    for message, *batch in [
        ("other streams than 0 to 1", np.array([0, 2], np.int32), marks, {0: one, 1: one}),
        ("other streams than 0 to 1", np.array([0, -2], np.int32), marks, {0: one, 1: one}),
        ("other streams than 0 to 1", streams, marks, {0: one, 1: one, 2: one}),
        ("give int32", streams, marks.astype(np.int64), {0: one, 1: one}),
        ("give int32", streams, marks[:1], {0: one, 1: one}),
        ("stream 1 has 0 keys: give 1", streams, marks, {0: one}),
        ("stream 0 has 2 keys: give 1", streams, marks, {0: KeyedRows([np.array([5])] * 2), 1: one}),
        ("arrays of 2 rows", streams, marks, {0: one, 1: KeyedRows([np.array([5, 5])])}),
        ("arrays of 3 rows", streams, marks, {0: one, 1: KeyedRows(one.keys, kept=np.ones(3, bool))}),
    ]:
        with pytest.raises(BatchError, match=message):
            difference.step(*batch)
    rows, signs, _ = difference.step(streams, marks, {0: one, 1: one})
    assert (rows.tolist(), signs.tolist()) == ([0, 0], [1, -1])
    with pytest.raises(BatchError, match="arrays of 1 rows"):
        difference.restore([0, 0], [2, 1], {0: one, 1: one})
    assert difference.known()[0].tolist() == [0]
