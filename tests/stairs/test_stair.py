"""A STAIR on its own, held against a plain model; the room that it takes, and whose arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stairs import Stair
from stairs.key_kernels import link
from stairs.layout import BASE, LOW, ROWS, TAIL
from stairs.lowlevel.bits import BITS
from stairs.ring import SMALLEST
from stairs.ring_kernels import append_keys, sweep
from stairs.stair import ALL, REFRESH
from tests.stair_model import FIRSTS, World, entries, keys_of, marks_of

KEYS = st.sampled_from([0, 1, 2, 3, -1, 2**40])
EVENTS = st.lists(st.tuples(st.integers(0, 1), KEYS), max_size=12)
OPS = st.one_of(
    st.tuples(st.just("batch"), EVENTS),
    st.tuples(st.just("batch"), EVENTS),
    st.tuples(st.just("ask"), KEYS),
    st.tuples(st.just("promote"), st.lists(KEYS, max_size=3)),
    st.tuples(st.just("demote"), st.lists(KEYS, max_size=3)),
    st.tuples(st.just("settle"), st.integers(0, 3)),
    st.tuples(st.just("review"), st.none()),
    st.tuples(st.just("check"), st.none()),
)
ALL_KEYS = [0, 1, 2, 3, -1, 2**40, 99]


@given(
    st.tuples(st.integers(1, 12), st.integers(1, 12)),
    st.sampled_from(FIRSTS),
    st.sampled_from(FIRSTS),
    EVENTS,
    st.lists(OPS, max_size=30),
)
@settings(max_examples=250)
def test_a_stair_follows_a_plain_model(windows, first_row, first_entry, opened, ops):
    """Whatever is filled, demoted, settled, expired or moved: a filled key holds its live pairs, each once."""
    world = World(windows, first_row, first_entry, opened)
    stair = world.stair
    for what, value in ops:
        if what == "batch":
            world.batch(value)
        elif what == "ask":
            assert world.ask(value) == world.live_pairs().get(value, [])
        elif what == "promote":
            assert 0 <= stair.promote(np.array(value, np.int64)) <= len(set(value))
            filled = [1] * len(value) if stair.complete else stair.holes.filled_of(np.array(value, np.int64))
            assert all(filled)
        elif what == "demote":
            stair.demote(np.array(value, np.int64))
            assert not stair.present(np.array(value, np.int64)).any()
        elif what == "settle":
            assert stair.settle(value) <= value
        elif what == "review":
            world.batch([])
            stair.review(world.marks[0])
            world.leaf.review()
        else:
            world.check(ALL_KEYS)
    world.check(ALL_KEYS)
    for key in ALL_KEYS:
        assert world.ask(key) == world.live_pairs().get(key, [])
    assert stair.live(world.marks[0]) == sum(map(len, world.live_pairs().values()))


@given(st.tuples(st.integers(1, 8), st.integers(1, 8)), EVENTS, st.lists(EVENTS, max_size=10))
@settings(max_examples=100)
def test_a_stair_is_complete_when_its_window_has_turned_over(windows, opened, batches):
    """Nobody need ask: once all rows from before a plan change are dead, no hole is left."""
    world = World(windows, opened=opened)
    for events in batches:
        world.batch(events)
    world.batch([(0, 50)] * windows[0])
    world.batch([])
    world.stair.settle(0)
    assert world.stair.complete
    world.check(ALL_KEYS)


# -- room --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", FIRSTS)
def test_growing_reclaiming_and_shrinking_keep_every_live_entry_once(first):
    """Through a burst, a steady flow over many ring lengths and a quiet end, no entry is lost or doubled."""
    world = World((60, 60), first_row=first, first_entry=first)
    rng = np.random.default_rng(first % 97)
    capacities = []
    for batch in range(300):
        burst = 100 <= batch < 110
        keys = rng.integers(0, 3 if burst else 40, 120 if burst else 12)
        world.batch([(int(s), int(k)) for s, k in zip(rng.integers(0, 2, len(keys)), keys, strict=True)])
        if batch % 8 == 0:
            world.leaf.review()
            world.stair.review(world.marks[0])
        capacities.append(world.stair.capacity)
        if batch % 10 == 0 or burst:
            world.check(range(41))
    assert world.stair.tail - first > 4 * max(capacities[:90])
    assert max(capacities[100:120]) > 8 * capacities[99]
    assert capacities[-1] <= 2 * capacities[99]
    assert len(world.stair.state[2]) <= 4 * SMALLEST
    assert world.stair.live(world.marks[0]) == sum(map(len, world.live_pairs().values()))


@pytest.mark.parametrize("first", FIRSTS)
@pytest.mark.parametrize("streams", [(0, 1), (0, 2, 4, 5), (1, 2, 3, 4, 5), tuple(range(3, 14))])
def test_a_sweep_takes_away_the_dead_at_the_front_and_moves_the_few_that_live(streams, first):
    """Every live entry is found once, by its key; blocks with more live ones than are spared stay as they were."""
    stair, rng, count, spared = (
        Stair("S", streams, first=first, composite=True),
        np.random.default_rng(7),
        460,
        16,
    )
    stair.reserve(count)
    append_keys(stair.state, rng.integers(0, 9, count))
    marks = np.full((1, 14), 1000, np.int32)
    chance = np.where(np.arange(count) < 3 * BITS, 0.1, 0.6)
    live = rng.random(count) < chance
    slots = np.arange(first, first + count) & (stair.capacity - 1)
    rows = np.arange(1000, 1000 + count).repeat(len(streams)).reshape(count, -1)
    rows[~live, rng.integers(0, len(streams), count)[~live]] = 999
    stair.state[0][slots, ROWS:] = rows
    link(stair.state, first, first + count, ALL)
    found = {key: entries(stair, key, marks) for key in range(9)}
    assert sum(map(len, found.values())) == live.sum()
    sweep(stair.state, stair.streams, marks[0], spared)
    assert stair.low == first + 3 * BITS
    assert stair.tail == stair.base == first + count + live[: 3 * BITS].sum()
    assert {key: entries(stair, key, marks) for key in range(9)} == found


def test_a_few_old_entries_do_not_hold_a_large_ring():
    """Entries that live long are moved out of the way of those that come and go."""
    world = World((3, 100_000))
    world.batch([(1, -1)] * 20 + [(0, -1)])
    world.windows = (10**9, 5)
    for key in range(3000):
        world.batch([(0, -1), (0, key), (1, key), (1, -1)] if key % 10 == 0 else [(1, key), (0, key)])
    pairs = sum(map(len, world.live_pairs().values()))
    assert world.stair.live(world.marks[0]) == pairs
    assert world.stair.capacity <= 8 * max(SMALLEST, pairs)


def test_old_bucket_heads_do_not_come_round():
    """After 2**32 ids, an entry of the distant past does not look like one of today."""
    leaf = Stair("A", (0,))
    leaf.append_rows(keys_of(9, 9, 9, 9, 9, 9), np.full(6, -1, np.int32))
    for step in range(1, 8):
        now = step * (REFRESH + 1)
        leaf.state[3][[LOW, TAIL, BASE]] = now
        leaf.review()
    first = 2**32 - 2
    leaf.state[3][[LOW, TAIL, BASE]] = first
    leaf.append_rows(np.arange(100, 120), np.full(20, -1, np.int32))
    assert entries(leaf, 9, marks_of(first)) == []
    assert entries(leaf, 103, marks_of(first)) == [(1,)]
    assert leaf.present(keys_of(9, 103)).tolist() == [False, True]


def test_an_opened_stair_may_take_the_arrays_of_one_that_is_dropped():
    """What the other held is not seen, whatever key is asked for, and ids go on from its own."""
    leaf = Stair("A", (0,))
    leaf.append_rows(np.arange(100), np.zeros(100, np.int32))
    former = Stair("A B", (0, 1), 1, leaf)
    former.open()
    former.holes = None
    former.reserve(50)
    append_keys(former.state, np.arange(50))
    former.insert(former.low, former.tail)
    assert former.present(np.arange(50)).all()
    records, tail = former.state[0], former.tail
    stair = Stair("A C", (0, 2), 1, leaf)
    assert stair.may_inherit(former) and not Stair("A B C", (0, 1, 2), 1, leaf).may_inherit(former)
    stair.inherit(former, *stair.heirloom(former))
    stair.fill_later(stair.prospect())
    assert stair.state[0] is records and stair.low == stair.tail == tail and stair.holes is not None
    assert not stair.present(np.arange(50)).any() and not former.present(np.arange(50)).any()
    assert former.nbytes < 5000
    stair.holes = None
    append_keys(stair.state, np.array([7]))
    stair.insert(tail, tail + 1)
    assert stair.present(np.array([6, 7, 8])).tolist() == [False, True, False]
