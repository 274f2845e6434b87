"""The holes of a STAIR on its own: how they come about, what they drop, and how they are filled."""

from __future__ import annotations

import pytest

from stairs import Ring, Stair
from stairs.ring import SMALLEST
from tests.stair_model import World, add, entries, keys_of, leaf_of, marks_of


def test_a_new_stair_is_complete():
    """Without a plan change there are no holes: everything inserted is found, and promoting does nothing."""
    world = World((100, 100))
    world.batch([(0, 1), (1, 1), (1, 1), (0, 2)])
    assert world.stair.complete and world.stair.fraction == 1.0
    assert world.stair.promote(keys_of(1, 2)) == 0
    assert world.ask(1) == [(0, 0), (0, 1)] and world.ask(2) == []


def test_a_leaf_has_no_holes():
    """Demoting a leaf is refused: holes are filled from its rows."""
    with pytest.raises(ValueError, match="leaf has no holes"):
        leaf_of([1, 2]).demote(keys_of(1))


def test_an_opened_stair_is_all_holes():
    """Every key that the carrying leaf has a row for is a hole; a key without one is filled by definition."""
    world = World((100, 100), opened=[(0, 1), (1, 1), (0, 2), (1, 3)])
    assert not world.stair.complete and world.stair.fraction == 0.0
    assert world.stair.present(keys_of(1, 2, 3)).tolist() == [False] * 3
    assert world.stair.holes.filled_of(keys_of(1, 2, 3)).tolist() == [0, 0, 1]
    assert world.stair.live(world.marks[0]) == 0


def test_opening_over_an_empty_leaf_leaves_nothing_open():
    """If there is no row yet, the STAIR is complete at once."""
    leaf = Stair("A", (0,))
    stair = Stair("A B", (0, 1), carrier=leaf)
    stair.open()
    assert stair.complete


def test_inserts_to_a_hole_are_dropped_and_a_fill_brings_each_entry_once():
    """What a hole missed, before and after it was made, comes with its fill; then inserts are kept."""
    world = World((100, 100), opened=[(0, 1), (1, 1)])
    world.batch([(1, 1), (0, 5), (1, 5)])
    assert world.stair.present(keys_of(1, 5)).tolist() == [False, True]
    assert world.stair.live(world.marks[0]) == 1
    assert world.stair.promote(keys_of(1, 1, 5, 1)) == 1
    assert world.stair.promote(keys_of(1)) == 0
    assert world.filled == [1]
    assert entries(world.stair, 1, world.marks) == [(0, 0), (0, 1)]
    world.batch([(1, 1)])
    assert entries(world.stair, 1, world.marks) == [(0, 0), (0, 1), (0, 3)]


def test_demoting_then_promoting_gives_the_same_entries_once():
    """Two composites under one key and one under another: the first key is demoted, promoted, probed."""
    world = World((100, 100))
    world.batch([(0, 7), (1, 7), (1, 7), (0, 8), (1, 8)])
    stored = {key: entries(world.stair, key, world.marks) for key in (7, 8)}
    assert stored[7] == [(0, 0), (0, 1)]
    assert world.stair.demote(keys_of(7)) == 2
    assert not world.stair.complete
    assert entries(world.stair, 7, world.marks) == [] and not world.stair.present(keys_of(7))[0]
    assert entries(world.stair, 8, world.marks) == stored[8]
    assert world.stair.promote(keys_of(7, 8)) == 1
    assert {key: entries(world.stair, key, world.marks) for key in (7, 8)} == stored
    world.stair.close_if_done()
    assert world.stair.complete and world.stair.keys_filled == 1


def test_a_demoted_key_stays_a_hole_while_its_rows_come_and_go():
    """New rows do not fill it; when its last row has died there is nothing left to fill."""
    world = World((2, 100))
    world.batch([(0, 7), (1, 7)])
    world.stair.demote(keys_of(7))
    world.batch([(0, 7), (0, 7), (1, 7)])
    world.batch([(1, 8)])
    assert not world.stair.complete and not world.stair.present(keys_of(7))[0]
    assert world.stair.holes.counts()[1] == 1
    world.batch([(0, 9), (0, 9)])
    world.batch([(1, 9)])
    assert world.stair.complete and world.filled == []
    world.batch([(0, 7)])
    assert world.ask(7) == [(5, 0), (5, 1)]


def test_settling_takes_the_newest_rows_first_and_no_more_than_its_budget():
    """Keys of new rows are filled before those of old ones, each once, until none is left."""
    opened = [(0, key) for key in (1, 2, 3, 2, 4, 1)] + [(1, key) for key in (1, 2, 3, 4)]
    world = World((100, 100), opened=opened)
    assert world.stair.settle(0) == 0 and world.filled == []
    assert world.stair.settle(2) == 2 and world.filled == [1, 4]
    before = world.stair.fraction
    assert 0.0 < before < 1.0
    world.stair.promote(keys_of(2))
    assert world.stair.settle(0) == 0
    assert world.stair.fraction > before
    assert not world.stair.complete
    assert world.stair.settle(10) == 1 and world.filled == [1, 4, 2, 3]
    assert world.stair.complete and world.stair.fraction == 1.0 and world.stair.keys_filled == 4
    assert world.stair.settle(10) == 0
    world.check([1, 2, 3, 4])


def test_a_hole_that_missed_inserts_is_filled_when_one_of_its_rows_dies():
    """Expiry closes in from the old end; keys that nobody touched lost nothing and need no fill."""
    world = World((3, 100), opened=[(0, 1), (0, 2), (0, 1), (1, 1), (1, 2)])
    world.batch([(1, 1)])
    world.batch([(0, 5)])
    assert world.filled == []
    world.batch([(0, 5), (0, 5)])
    assert world.filled == [1]
    world.batch([])
    assert world.stair.complete and world.filled == [1]
    world.check([1, 2, 5])


def test_holes_may_be_known_by_a_part_of_the_key():
    """Where the carrying stream has only a part of the key, all keys with that part are one hole."""
    leaf = leaf_of([10, 20, 10])
    stair = Stair("A B", (0, 1), carrier=leaf, component=0)
    stair.open()
    filled = []
    stair.filler = lambda stair, keys: filled.extend(keys.tolist())
    add(stair, [1, 2, 3], [(0, 0), (1, 0), (2, 0)])
    assert stair.live(marks_of(0, 0)[0]) == 0
    assert stair.hole_keys(0, 3).tolist() == [10, 20, 10] and stair.keys(0, 3).tolist() == [1, 2, 3]
    assert stair.promote(keys_of(10)) == 1 and filled == [10]
    add(stair, [1, 2, 3], [(0, 0), (1, 0), (2, 0)])
    assert stair.present(keys_of(1, 2, 3)).tolist() == [True, False, True]
    stair.demote(keys_of(10))
    assert stair.present(keys_of(1, 2, 3)).tolist() == [False, False, False]


def test_presence_may_outlast_the_entry_for_a_while():
    """An entry of a dead row may still count as present, is never found, and is gone when the ring turns over."""
    world = World((1, 1))
    world.batch([(0, 1), (1, 1)])
    assert world.stair.present(keys_of(1)).tolist() == [True]
    world.batch([(0, 2)])
    assert world.ask(1) == [] and world.stair.live(world.marks[0]) == 0
    for key in range(2, 2 + 2 * SMALLEST):
        world.batch([(0, key), (1, key)])
    assert world.stair.present(keys_of(1, 1 + 2 * SMALLEST)).tolist() == [False, True]


def test_size_in_bytes_counts_holes_too():
    """The map of holes is part of the STAIR's size until it is complete."""
    world = World((100, 100), opened=[(0, 1), (1, 1)])
    whole, holes = world.stair.nbytes, world.stair.holes.nbytes
    assert holes > 0 and whole - holes > Ring.nbytes.fget(world.stair)
    world.stair.settle(5)
    assert world.stair.nbytes == whole - holes
