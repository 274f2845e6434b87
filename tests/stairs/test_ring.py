"""A ring on its own: its ids, its size and its limits."""

from __future__ import annotations

import pytest

from stairs import Ring
from stairs.layout import MAX_CAPACITY
from stairs.ring import SMALLEST
from tests.stair_model import FIRSTS, append, read


@pytest.mark.parametrize("first", FIRSTS)
def test_a_ring_gives_ids_that_only_grow(first):
    """Ids start where they are told and stay what they are when the ring grows or shrinks."""
    ring = Ring(2, first=first)
    keys = [7, -1, 2**62, -(2**63)] * 30
    rows = [(i, 3 * i) for i in range(len(keys))]
    assert append(ring, keys, rows) == (first, first + 120)
    assert (ring.low, ring.base, ring.tail, len(ring), ring.capacity) == (first, first, first + 120, 120, 128)
    ring.resize(1024)
    assert (ring.low, ring.base, ring.tail) == (first, first, first + 120)
    assert ring.keys(first, first + 120).tolist() == keys and read(ring) == rows
    ring.resize(128)
    assert ring.keys(first + 10, first + 12).tolist() == keys[10:12] and read(ring) == rows


def test_a_ring_is_as_large_as_it_must_be():
    """Slots are a power of two of at least 64, `reserve` makes room for a batch, and size is counted in bytes."""
    assert Ring(3).capacity == Ring(3, capacity=1).capacity == SMALLEST == 64
    ring = Ring(3, capacity=65)
    assert ring.capacity == 128
    ring.reserve(129)
    assert ring.capacity == 256 and len(ring.state[2]) == 256
    assert ring.nbytes == 256 * (3 + 3) * 4 + 256 * 4 + 256 * 4 + ring.state[3].nbytes
    assert Ring(3, hashed=False).nbytes < Ring(3).nbytes


def test_slots_that_are_left_are_used_before_a_ring_doubles():
    """Where a batch has no room for its events, but slots to go on with; a few slots are not enough."""
    ring = Ring(1, capacity=1024)
    append(ring, range(300), [(i,) for i in range(300)])
    assert (ring.capacity, len(ring.state[2])) == (1024, 512)
    append(ring, range(212), [(i,) for i in range(212)])
    ring.grow()
    assert (ring.capacity, len(ring.state[2])) == (1024, 1024)
    append(ring, range(500), [(i,) for i in range(500)])
    ring.grow()
    assert ring.capacity == 2048 and ring.tail == 1012


def test_a_ring_is_full_at_its_limit():
    """A limited ring takes exactly so many entries a batch, and `grow` makes room again."""
    ring = Ring(1, hashed=False)
    ring.limit(3)
    for n in range(3):
        assert not ring.is_full
        append(ring, [n], [(n,)])
    assert ring.is_full
    ring.clear()
    assert len(ring) == 0 and not ring.is_full and ring.tail == 0
    append(ring, [1] * 3, [(1,)] * 3)
    ring.grow()
    assert not ring.is_full and len(ring) == 3


def test_a_ring_refuses_more_entries_than_ids_can_tell_apart():
    """Past 2**30 slots there is an error that says what to do, and the ring stays as it was."""
    ring = Ring(1)
    append(ring, [5], [(1,)])
    with pytest.raises(MemoryError, match="shorter window"):
        ring.resize(2 * MAX_CAPACITY)
    assert ring.capacity == 64 and ring.keys(0, 1).tolist() == [5]
