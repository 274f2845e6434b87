"""A ring of entries: the arrays behind a STAIR, or behind results on their way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stairs.directory import Directory
from stairs.key_kernels import read_keys
from stairs.layout import (
    BASE,
    CAPACITY,
    FIRST_AGE,
    FROM,
    LANE_BITS,
    LAST_AGE,
    LIMIT,
    LOW,
    MAX_CAPACITY,
    META_FIELDS,
    MOST,
    RECORDS_AT,
    ROOM,
    ROWS,
    SHIFT,
    TAIL,
    TO,
)
from stairs.lowlevel.address import address_of
from stairs.ring_kernels import move, relink

State = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]

SMALLEST = 64

FEW = 8
"""Slots that are left are too few to go on with where they are less than one in FEW of what the batch has so far."""

NO_HEADS: NDArray[np.int32] = np.zeros(1, np.int32)
"""In place of heads where chains stay as they are."""


def power_of_two(n: int) -> int:
    """The least power of two that is at least n, and not too small to be worth a ring."""
    return max(SMALLEST, 1 << (max(n, 1) - 1).bit_length())


class Ring:
    """Entries with growing ids over a power of two of slots; ``state`` is what kernels take.

    ``hashed`` rings have bucket heads, as many as slots, or a lane of a `directory`: a quarter to two thirds of the
    slots hold live entries, so few buckets mix keys.
    """

    leaf = False
    """Whether its ids are row numbers."""

    def __init__(
        self, components: int, capacity: int = SMALLEST, first: int = 0, hashed: bool = True
    ) -> None:
        self.hashed = hashed
        self.home: Directory | None = None
        """Where its heads may be, side by side with those of others."""
        self.lane: int | None = None
        """Where they are there; None: it has heads of its own."""
        self.refreshed = first
        """Heads are no further back than the id that was the next one then."""
        self.components = components
        self.meta = np.zeros(META_FIELDS, np.int64)
        self._bounds = self.meta[TAIL : BASE + 1]
        self.address = address_of(self.meta)
        """By which kernels that run a whole plan know the ring; it never changes."""
        self._hold(*self._allocate(power_of_two(capacity)), np.empty(SMALLEST, np.int32))
        if first != 0:
            self.start(first, first)
        if first != 1:
            self.state[1].fill(np.int64(first - 1).astype(np.int32) if first else -1)

    def start(self, first: int, refreshed: int) -> None:
        """Begin with this id (while empty)."""
        self.meta[LOW : BASE + 1] = first  # and TAIL
        self.meta[FROM : TO + 1] = first
        self.meta[FIRST_AGE : LAST_AGE + 1] = 0
        self.refreshed = refreshed

    @property
    def unused(self) -> bool:
        """Whether it may begin with any id: nothing was ever in it, and nobody knows an id of it."""
        return not self.leaf and self.tail == self.low == 1

    def move_in(self, lane: int) -> None:
        """Use this lane of heads from now on."""
        assert self.home is not None
        self.lane = lane
        records, _, events, _ = self.state
        self._hold(records, self.home.heads(lane), events)

    def move_out(self) -> None:
        """Have heads of its own from now on."""
        self.lane = None
        records, _, events, _ = self.state
        self._hold(records, self._allocate_heads(len(records)), events)
        relink(self.state)

    def leave(self) -> None:
        """Nobody needs it any more: its lane can be another's."""
        if self.home is not None:
            housed = self.lane is not None
            self.home.leave(self)
            self.home = self.lane = None
            if housed:
                self._empty(*self.nothing())

    def nothing(self) -> tuple[NDArray[np.int32], ...]:
        """Arrays for a ring that is not needed any more."""
        return *self._allocate(SMALLEST), np.empty(SMALLEST, np.int32)

    def _empty(self, records: NDArray[np.int32], heads: NDArray[np.int32], events: NDArray[np.int32]) -> None:
        """Hold these, with nothing in them."""
        self._hold(records, heads, events)
        self.meta[LOW] = self.meta[BASE] = self.meta[TAIL]

    def _hold(self, records: NDArray[np.int32], heads: NDArray[np.int32], events: NDArray[np.int32]) -> None:
        """Use these arrays from now on."""
        self.state: State = (records, heads, events, self.meta)
        if self.meta[CAPACITY] != len(records):
            self.meta[LIMIT] = len(records)
        places, apart = len(heads), 0
        if self.home is not None and self.lane is not None:
            apart = self.home.lanes.bit_length() - 1
            places = self.home.buckets << apart
        self.meta[SHIFT] = (65 - places.bit_length()) | (apart << LANE_BITS)
        self.meta[RECORDS_AT : ROOM + 1] = (
            address_of(records),
            *records.shape,
            address_of(heads),
            len(heads),
            address_of(events),
            len(events),
        )

    def _allocate(self, capacity: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Records and heads for so many entries."""
        return self._allocate_records(capacity), self._allocate_heads(capacity)

    def _allocate_heads(self, capacity: int) -> NDArray[np.int32]:
        return np.zeros(capacity if self.hashed else 1, np.int32)

    def _allocate_records(self, capacity: int) -> NDArray[np.int32]:
        if capacity > MAX_CAPACITY:
            raise MemoryError(
                "more than 2**30 entries are live in one STAIR: use a shorter window or more key attributes"
            )
        return np.empty((capacity, ROWS + self.components), np.int32)

    @property
    def delta(self) -> tuple[int, int]:
        """The entries that this batch has put here so far."""
        return int(self.meta[FROM]), int(self.meta[TO])

    @delta.setter
    def delta(self, delta: tuple[int, int]) -> None:
        self.meta[FROM], self.meta[TO] = delta

    @property
    def capacity(self) -> int:
        return self.state[0].shape[0]

    @property
    def low(self) -> int:
        return int(self.state[3][LOW])

    @property
    def tail(self) -> int:
        return int(self.state[3][TAIL])

    @property
    def base(self) -> int:
        """The first entry of this batch."""
        return int(self.state[3][BASE])

    @property
    def bounds(self) -> tuple[int, int]:
        """The entry after the last one, and the first one of this batch, at one go."""
        tail, base = self._bounds.tolist()
        return tail, base

    def __len__(self) -> int:
        """Entries of this batch."""
        meta = self.state[3]
        return int(meta[TAIL] - meta[BASE])

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another entry of this batch."""
        return len(self) == len(self.state[2]) or self.tail - self.low == self.capacity

    @property
    def nbytes(self) -> int:
        heads = 0 if self.home is None or self.lane is None else 4 * self.home.buckets
        return self.slot_bytes + heads + self.state[2].nbytes + self.meta.nbytes

    @property
    def slot_bytes(self) -> int:
        """What grows and shrinks with its slots: records, and heads that are its own."""
        records, heads = self.state[:2]
        return records.nbytes + (heads.nbytes if self.lane is None else 0)

    def keys(self, start: int, stop: int) -> NDArray[np.int64]:
        """The keys of the entries start..stop."""
        out = np.empty(stop - start, np.int64)
        read_keys(self.state, start, out)
        return out

    def limit(self, n: int) -> None:
        """Let a batch have exactly n entries at the most (scratch rings only, while empty)."""
        self.clear()
        if self.capacity < n:
            self.resize(power_of_two(n))
        self._hold(*self.state[:2], np.empty(n, np.int32))

    def clear(self) -> None:
        """Forget every entry (scratch rings only: nothing is unlinked) and begin with id 0 again."""
        meta = self.state[3]
        meta[MOST] = max(meta[MOST], meta[TAIL] - meta[LOW])
        meta[LOW] = meta[BASE] = meta[TAIL] = 0

    def shrink(self) -> None:
        """Give memory back if an eighth of it was enough since the last call (scratch rings only, while empty).

        New arrays are made: whoever still reads the old ones keeps them.
        """
        most = int(self.meta[MOST])
        if self.capacity > 8 * max(most, SMALLEST):
            self._hold(*self._allocate(power_of_two(2 * most)), np.empty(SMALLEST, np.int32))
        self.meta[MOST] = 0

    def resize(self, capacity: int) -> None:
        """Move to another number of slots; ids stay, and so do chains where heads are in a directory."""
        records, heads = self._allocate_records(capacity), NO_HEADS
        if self.lane is None:
            heads = self._allocate_heads(capacity)
        if (
            not self.low == self.tail == 1
        ):  # else nothing is to be moved, and heads of 0 are below the first id
            move(self.state, records, heads)
        self._hold(records, heads if self.lane is None else self.state[1], self.state[2])
        if self.home is not None:
            self.home.resized(self)

    def heirloom(self, other: Ring) -> tuple[NDArray[np.int32], ...]:
        """All that has to be made before it can inherit from the other: heads for itself, and what is left to it."""
        own = NO_HEADS
        if self.lane is None and other.lane is not None:
            own = self._allocate_heads(other.capacity)
        return own, *other.nothing()

    def inherit(self, other: Ring, own: NDArray[np.int32], *nothing: NDArray[np.int32]) -> None:
        """Take the arrays of a ring that nobody needs any more, which is left empty (while this one is empty).

        Memory that was used before costs nothing to touch, and nothing need be cleared: where it takes the heads too,
        ids go on from the other's, so that whatever it left behind is below the low-water id. The rest is from
        `heirloom`, so that nothing can fail here.
        """
        records, heads, events, _ = other.state
        if self.lane is not None:
            self._hold(records, self.state[1], events)
        elif other.lane is not None:
            self._hold(records, own, events)
            self.start(1, 1)
        else:
            self._hold(records, heads, events)
            self.start(other.tail, other.refreshed)
        if other.home is not None:
            other.home.leave(other)
            other.home = other.lane = None
        other._empty(*nothing)

    def reserve(self, n: int) -> None:
        """Make room for n more entries of this batch, by growing."""
        records, heads, events, meta = self.state
        low, tail, base = meta.tolist()[:3]
        if tail - base + n > len(events):
            grown = np.empty(power_of_two(tail - base + n), np.int32)
            grown[: tail - base] = events[: tail - base]
            self._hold(records, heads, grown)
        if tail - low + n > records.shape[0]:
            self.resize(power_of_two(tail - low + n))

    def grow(self, ahead: float = 1.0) -> None:
        """Make room where a kernel stopped for want of it: for so many times as many entries as this batch has.

        Where only the events are full, slots that are left are used up first.
        """
        made, left = self.tail - self.base, self.capacity - (self.tail - self.low)
        more = max(SMALLEST, int(ahead * made))
        self.reserve(min(more, left) if left >= max(SMALLEST, made // FEW) else more)
