"""The bucket heads of one key class, side by side: rings with a lane behave as rings with heads of their own."""

from __future__ import annotations

import gc
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from stairs import Directory, Stair
from stairs.directory import ALIKE, LINE, SPACE
from stairs.layout import BASE, TAIL
from stairs.stair import REFRESH
from tests.inside import Inside
from tests.stair_model import add

FIRSTS = [0, 2**31 - 40, 2**32 - 40]


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Directories of any size, that are else of large windows."""
    monkeypatch.setattr("stairs.directory.LEAST", 0)


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
@given(sizes=st.lists(st.integers(0, 300), min_size=1, max_size=8), keys=st.integers(1, 400))
def test_leaves_in_lanes_find_what_leaves_of_their_own_find(first, sizes, keys):
    """While they grow past each other, move in and out, and while row numbers cross 31 and 32 bits."""
    directory = Directory(1)
    ours = [leaf(directory, first), leaf(directory, first + 5)]
    plain = [Stair("A", (0,), first), Stair("A", (0,), first + 5)]
    random = np.random.default_rng(keys)
    for turn, size in enumerate(sizes):
        rows = random.integers(0, keys, size)
        append(ours[turn % 2], rows)
        append(plain[turn % 2], rows)
        for one, other in zip(ours, plain, strict=True):
            assert found(one, range(keys)) == found(other, range(keys))
    large, small = sorted((stair.capacity for stair in ours), reverse=True)
    alike = large <= ALIKE * small
    assert [stair.lane is not None for stair in ours] == [alike, alike]
    assert directory.buckets == (SPACE * large if alike else 0)


def test_heads_of_one_bucket_share_a_line():
    directory = Directory(2)
    leaves = [leaf(directory) for _ in range(4)]
    for stair in leaves:
        append(stair, range(5000))
    assert directory.lanes == 8
    assert directory.heads(0).ctypes.data % LINE == 0
    assert sorted(stair.state[1].ctypes.data - directory.heads(0).ctypes.data for stair in leaves) == [
        0,
        4,
        8,
        12,
    ]


def test_more_rings_than_fit_into_a_line_have_heads_of_their_own():
    directory = Directory(8)
    leaves = [leaf(directory) for _ in range(10)]
    assert directory.lanes == directory.spare == 0 and all(stair.lane is None for stair in leaves)
    append(leaves[0], range(100))
    assert found(leaves[0], [99, 100]) == [True, False]


def test_a_ring_that_is_much_smaller_has_heads_of_its_own():
    """One that grows moves in, with all its entries, and one that is left behind moves out."""
    directory = Directory(2)
    leaves = [leaf(directory) for _ in range(3)]
    stair = composite(directory)
    add(stair, [7], [(0, 0)])
    for large in leaves[:2]:
        append(large, range(2000))
    assert [ring.lane is not None for ring in (*leaves, stair)] == [True, True, False, False]
    assert directory.lanes == 4
    append(leaves[2], range(600))
    add(stair, range(600), [(i, i) for i in range(600)])
    assert all(ring.lane is not None for ring in (*leaves, stair)) and directory.lanes == 8
    for ring in (*leaves, stair):
        assert found(ring, [7, 599, 2000]) == [True, True, False]
    append(leaves[0], range(9000))
    assert [ring.lane is not None for ring in (*leaves, stair)] == [False] * 4
    for ring in (*leaves, stair):
        assert found(ring, [7, 599, 9000]) == [True, True, False]


@given(st.lists(st.lists(st.integers(0, 50), max_size=60), min_size=1, max_size=5))
def test_a_lane_that_is_taken_over_holds_nothing_of_its_former_ring(rounds):
    """Nothing is cleared: ids go on, so that heads that are left behind are below."""
    directory = Directory(1)
    held = [leaf(directory), leaf(directory)]
    for keys in rounds:
        stair = composite(directory)
        assert stair.lane is not None and not any(found(stair, range(51)))
        add(stair, keys, [(i, i) for i in range(len(keys))])
        assert found(stair, range(51)) == [key in keys for key in range(51)]
        stair.leave()
        assert stair.lane is None and not any(found(stair, range(51)))
    assert not any(found(held[0], range(51)))


def test_a_ring_without_a_lane_has_heads_of_its_own():
    directory = Directory(0)
    held = [leaf(directory), leaf(directory)]
    stair = composite(directory)
    assert [ring.lane is not None for ring in (*held, stair)] == [True, True, False]
    add(stair, [7, 8], [(0, 0), (1, 1)])
    assert found(stair, [6, 7, 8]) == [False, True, True]
    assert not any(found(held[0], [6, 7, 8]))


@pytest.mark.parametrize("mine", [True, False])
@pytest.mark.parametrize("its", [True, False])
def test_arrays_are_inherited_between_lanes_and_rings_of_their_own(mine, its):
    directory = Directory(2)
    held = [leaf(directory), leaf(directory)]
    heir, former = Stair("A B", (0, 1), 1, composite=True), Stair("A B", (0, 1), 1, composite=True)
    for stair, housed in ((heir, mine), (former, its)):
        if housed:
            directory.join(stair)
    add(former, range(100), [(i, i) for i in range(100)])
    records = former.state[0]
    heir.inherit(former, *heir.heirloom(former))
    assert heir.state[0] is records and not any(found(heir, range(100)))
    assert former.lane is None and not any(found(former, range(100)))
    add(heir, range(50, 150), [(i, i) for i in range(100)])
    assert found(heir, range(150)) == [key >= 50 for key in range(150)]
    assert (heir.lane is not None) == mine
    assert not any(found(held[0], range(150)))


def test_a_ring_that_is_dropped_unasked_gives_its_lane_back():
    """As may happen when a plan change fails halfway."""
    directory = Directory(0)
    held = [leaf(directory), leaf(directory)]
    append(held[1], [3, 4])
    del held[1]
    gc.collect()
    assert directory.spare == 4 * directory.buckets
    stair = composite(directory)
    assert stair.lane is not None and found(stair, [3, 4]) == [False, False]
    append(held[0], range(50))
    assert found(held[0], [49, 50]) == [True, False]


def test_old_heads_of_a_lane_are_refreshed_before_ids_come_round_to_them():
    """Rings that follow each other in a lane count as one: none of them may put it off for the next."""
    directory = Directory(1)
    held = [leaf(directory), leaf(directory)]
    stair = composite(directory)
    add(stair, [7], [(0, 0)])
    for _ in range(9):
        stair.start(stair.tail + REFRESH // 2, stair.refreshed)
        stair.leave()
        stair = composite(directory)
        stair.review(np.zeros(2, np.int32))
        assert found(stair, [7]) == [False]
        assert stair.tail - stair.refreshed <= REFRESH
    assert found(held[0], [7]) == [False]


@pytest.mark.parametrize("leaves", [2, 1])
def test_a_ring_may_leave_one_directory_for_another(leaves):
    """With all its entries, and whether or not it gets a lane there."""
    directory, other = Directory(1), Directory(1)
    held = [leaf(directory), leaf(directory)]
    append(held[0], [1, 2, 3])
    for stair in held[:leaves]:
        other.join(stair)
    assert [stair.lane is not None for stair in held] == [leaves == 2, True]
    assert found(held[0], [0, 1, 2, 3, 4]) == [False, True, True, True, False]
    append(held[0], [4])
    assert found(held[0], [4, 5]) == [True, False]


def test_every_stair_of_a_plan_has_a_lane_and_so_it_stays():
    """A change hands lanes on, however often."""
    engine = Inside(query(), "((A B) C) D")
    for seed, plan in enumerate(["((B A) D) C", "(A B) (C D)", "((D C) B) A", "((A B) C) D"] * 3):
        engine.push_all(batch(seed))
        engine.migrate(plan)
        assert all(stair.lane is not None for stair in engine.state.executor.every_stair)
    (directory,) = engine.state.executor._directories.values()
    assert directory.lanes == 8
    assert directory.spare == 2 * 4 * directory.buckets


def test_a_change_that_fails_takes_no_lane():
    engine = Inside(query(), "((A B) C) D")
    engine.push_all(batch(0))
    (directory,) = engine.state.executor._directories.values()
    before = directory.spare
    with (
        mock.patch("eddy.tracks.tracks._open", side_effect=MemoryError("no more")),
        pytest.raises(MemoryError),
    ):
        engine.migrate("((B A) D) C")
    assert directory.spare == before and all(
        stair.lane is not None for stair in engine.state.executor.every_stair
    )


def test_bytes_are_counted_once():
    """The lanes of all rings and the spare ones are the whole directory."""
    engine = Inside(query(), "((A B) C) D")
    engine.push_all(batch(0))
    (directory,) = engine.state.executor._directories.values()
    rings = [*engine.state.executor.every_stair, *(stream.base for stream in engine.state.streams)]
    lanes = sum(ring.nbytes - ring.slot_bytes - ring.state[2].nbytes - ring.meta.nbytes for ring in rings)
    ages = sum(stair._ages.nbytes for stair in engine.state.executor.every_stair)
    assert lanes - ages + directory.spare == directory._heads.nbytes > 0


def test_small_windows_have_heads_of_their_own(monkeypatch):
    """What is in the cache anyway is not made larger."""
    monkeypatch.setattr("stairs.directory.LEAST", 512)
    directory = Directory(0)
    leaves = [leaf(directory), leaf(directory)]
    for stair in leaves:
        append(stair, range(200))
    assert directory.lanes == 0 and all(stair.lane is None for stair in leaves)
    for stair in leaves:
        append(stair, range(200, 500))
    assert directory.lanes == 2 and all(stair.lane is not None for stair in leaves)
    assert [found(stair, [0, 199, 499, 500]) for stair in leaves] == [[True, True, True, False]] * 2
