"""The bucket heads of one key class, side by side: rings with a lane behave as rings with heads of their own."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from stairs import Directory, Stair
from stairs.directory import LINE, SPACE
from stairs.layout import BASE, TAIL
from stairs.stair import REFRESH
from tests.test_stair import add

FIRSTS = [0, 2**31 - 40, 2**32 - 40]


def leaf(directory, first=0, stream=0):
    stair = Stair("A", (stream,), first)
    directory.join(stair)
    return stair


def composite(directory):
    stair = Stair("A B", (0, 1), 1, composite=True)
    directory.join(stair)
    return stair


def append(stair, keys):
    """Rows in a batch of their own."""
    stair.append_rows(np.array(keys, np.int64), np.full(len(keys), -1, np.int32))
    stair.state[3][BASE] = stair.state[3][TAIL]


def found(stair, keys):
    return stair.present(np.array(keys, np.int64)).tolist()


def query():
    streams = {name: eddy.Stream({"k": "int64", "t": "int64"}, eddy.Rows(300), time="t") for name in "ABCD"}
    return eddy.Query(streams, ["A.k = B.k", "B.k = C.k", "C.k = D.k"])


def batch(seed):
    random = np.random.default_rng(seed)
    times = np.arange(4000).reshape(1000, 4) + 4000 * seed
    return {
        name: {"k": random.integers(0, 400, 1000), "t": times[:, i].copy()} for i, name in enumerate("ABCD")
    }


@pytest.mark.parametrize("first", FIRSTS)
@given(sizes=st.lists(st.integers(0, 300), min_size=1, max_size=6), keys=st.integers(1, 400))
def test_leaves_in_lanes_find_what_leaves_of_their_own_find(first, sizes, keys):
    """While they grow past each other, and while row numbers cross 31 and 32 bits."""
    directory = Directory(3)
    ours = [leaf(directory, first), leaf(directory, first + 5)]
    plain = [Stair("A", (0,), first), Stair("A", (0,), first + 5)]
    random = np.random.default_rng(keys)
    for turn, size in enumerate(sizes):
        rows = random.integers(0, keys, size)
        append(ours[turn % 2], rows)
        append(plain[turn % 2], rows)
        for one, other in zip(ours, plain, strict=True):
            assert found(one, range(keys)) == found(other, range(keys))
    assert directory.buckets == SPACE * max(stair.capacity for stair in ours)


def test_heads_of_one_bucket_share_a_line():
    directory = Directory(6)
    leaves = [leaf(directory) for _ in range(4)]
    append(leaves[0], range(5000))
    assert directory.lanes == 8
    assert directory.heads(0).ctypes.data % LINE == 0
    assert [stair.state[1].ctypes.data - directory.heads(0).ctypes.data for stair in leaves] == [0, 4, 8, 12]


@given(st.lists(st.lists(st.integers(0, 50), max_size=60), min_size=1, max_size=5))
def test_a_lane_that_is_taken_over_holds_nothing_of_its_former_ring(rounds):
    """Nothing is cleared: ids go on, so that heads that are left behind are below."""
    directory = Directory(2)
    held = leaf(directory)
    for keys in rounds:
        stair = composite(directory)
        assert stair.directory is directory and not any(found(stair, range(51)))
        add(stair, keys, [(i, i) for i in range(len(keys))])
        assert found(stair, range(51)) == [key in keys for key in range(51)]
        stair.leave()
        assert stair.directory is None and not any(found(stair, range(51)))
        assert not any(found(held, range(51)))


def test_a_ring_without_a_lane_has_heads_of_its_own():
    directory = Directory(2)
    held = leaf(directory)
    one, other = composite(directory), composite(directory)
    assert one.directory is directory and other.directory is None
    for stair in (one, other):
        add(stair, [7, 8], [(0, 0), (1, 1)])
    assert found(one, [6, 7, 8]) == found(other, [6, 7, 8]) == [False, True, True]
    assert not any(found(held, [6, 7, 8]))


def test_arrays_are_inherited_between_lanes_and_rings_of_their_own():
    for mine in (True, False):
        for its in (True, False):
            directory = Directory(4)
            held = leaf(directory)
            heir, former = Stair("A B", (0, 1), 1, composite=True), Stair("A B", (0, 1), 1, composite=True)
            for stair, housed in ((heir, mine), (former, its)):
                if housed:
                    directory.join(stair)
            add(former, range(100), [(i, i) for i in range(100)])
            records = former.state[0]
            heir.inherit(former)
            assert heir.state[0] is records and not any(found(heir, range(100)))
            assert former.directory is None and not any(found(former, range(100)))
            add(heir, range(50, 150), [(i, i) for i in range(100)])
            assert found(heir, range(150)) == [key >= 50 for key in range(150)]
            assert (heir.directory is directory) == mine
            assert not any(found(held, range(150)))


def test_a_ring_that_is_dropped_unasked_gives_its_lane_back():
    """As happens when a plan change fails halfway."""
    directory = Directory(2)
    leaf_of = leaf(directory)
    lost = composite(directory)
    add(lost, [3, 4], [(0, 0), (1, 1)])
    del lost
    gc.collect()
    stair = composite(directory)
    assert stair.directory is directory and found(stair, [3, 4]) == [False, False]
    append(leaf_of, range(200))
    assert found(leaf_of, [199, 200]) == [True, False]


def test_old_heads_of_a_lane_are_refreshed_before_ids_come_round_to_them():
    """Rings that follow each other in a lane count as one: none of them may put it off for the next."""
    directory = Directory(2)
    held = leaf(directory)
    stair = composite(directory)
    add(stair, [7], [(0, 0)])
    for _ in range(9):
        stair.start(stair.tail + REFRESH // 2, stair.refreshed)
        stair.leave()
        stair = composite(directory)
        stair.review(np.zeros(2, np.int32))
        assert found(stair, [7]) == [False]
        assert stair.tail - stair.refreshed <= REFRESH
    assert found(held, [7]) == [False]


def test_every_stair_of_a_plan_has_a_lane_and_so_it_stays():
    """A change hands lanes on, however often."""
    engine = eddy.Eddy(query(), "((A B) C) D")
    for seed, plan in enumerate(["((B A) D) C", "(A B) (C D)", "((D C) B) A", "((A B) C) D"] * 3):
        engine.push_all(batch(seed))
        engine.migrate(plan)
        assert all(stair.directory is not None for stair in engine._router.every_stair)
    (directory,) = engine._router._directories.values()
    assert directory.lanes == 8
    assert directory.spare == 2 * 4 * directory.buckets


def test_bytes_are_counted_once():
    """The lanes of all rings and the spare ones are the whole directory."""
    engine = eddy.Eddy(query(), "((A B) C) D")
    engine.push_all(batch(0))
    (directory,) = engine._router._directories.values()
    rings = [*engine._router.every_stair, *(stream.base for stream in engine._streams)]
    lanes = sum(ring.nbytes - ring.slot_bytes - ring.state[2].nbytes - ring.meta.nbytes for ring in rings)
    ages = sum(stair._ages.nbytes for stair in engine._router.every_stair)
    assert lanes - ages + directory.spare == directory._heads.nbytes
