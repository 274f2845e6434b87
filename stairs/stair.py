"""A STAIR: a keyed store of join results in which a key may be a hole."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stairs.begin_kernels import AGES, SPARE
from stairs.hole_kernels import present, unlink
from stairs.holes import Holes, Keys
from stairs.key_kernels import append_rows, link, read_component_keys
from stairs.layout import AGES_AT, BASE, FIRST_AGE, HOLES, LAST_AGE, LIMIT, LOW, NEXT, TAIL, USUAL
from stairs.lowlevel.address import address_of
from stairs.ring import Ring, power_of_two
from stairs.ring_kernels import count_live, reclaim, refresh_heads

ALL: NDArray[np.uint8] = np.empty(0, np.uint8)
"""In place of flags: every entry counts."""

FULLEST, EMPTIEST = 0.65, 0.28
"""Share of slots that are live: above FULLEST a ring that needs room doubles; below EMPTIEST it shrinks."""

SAMPLE = 1024
"""Entries looked at to see how many are live."""

FILL = 1 << 14
"""Holes that are filled in one go when all are."""

PORTION = 128
"""And in the first go, where it is not known how much comes of it."""

PATIENCE = 8
"""Reviews in a row that must find a ring too large before it shrinks: it is likely to need the room again."""

REFRESH = 1 << 29
"""Ids after which bucket heads are refreshed, long before 32 bits come round."""


class Stair(Ring):
    """Live composites of ``streams`` (stream numbers, ascending), found by key.

    Filled keys hold every live composite and inserts keep it so; inserts to a hole are dropped, and probing a hole
    first fills it. A leaf (one stream) has no holes and its entry ids are row numbers.

    ``filler`` is called with this STAIR and an array of hole keys to append and link their composites; the router
    sets it. Holes are known by the key that the *carrying* component has in ``carrier``, one of its leaves; that may
    be a part of this STAIR's own key. ``component`` is None when it is the whole. ``composite``: its entry ids are its
    own, though it has no carrier and so no holes.
    """

    fullest = FULLEST
    """Share of slots above which it doubles."""

    def __init__(
        self,
        name: str,
        streams: tuple[int, ...],
        first: int = 0,
        carrier: Stair | None = None,
        component: int | None = None,
        composite: bool = False,
    ) -> None:
        super().__init__(len(streams), first=first)
        self.name = name
        self.streams = np.array(streams, np.int64)
        self.stream_list = streams
        self.leaf = carrier is None and not composite
        self.carrier = carrier
        self.component = component
        self.partial = False
        """It began empty and lacks what was there before, which another track makes."""
        self._holes: Holes | None = None
        self.filler: Callable[[Stair, Keys], None] | None = None
        self.forewarned: Callable[[], None] | None = None
        """Called before keys are demoted."""
        self._keys_filled = 0
        self._too_large = 0
        self._roomy = False
        """It was opened with more room than it may need, and has had holes since."""
        if not self.leaf:
            self._ages = np.empty((AGES, 1 + len(streams)), np.int64)
            self.meta[AGES_AT] = address_of(self._ages)

    @property
    def holes(self) -> Holes | None:
        """What is known of the holes; None when there are none."""
        return self._holes

    @holes.setter
    def holes(self, holes: Holes | None) -> None:
        self._holes = holes
        self.meta[HOLES] = holes is not None

    @property
    def complete(self) -> bool:
        """Whether no hole is left. Then holes cost nothing."""
        return self._holes is None and not self.partial

    @property
    def keys_filled(self) -> int:
        """Holes filled since the STAIR was made."""
        return self._keys_filled + (0 if self.holes is None else self.holes.filled)

    @property
    def fraction(self) -> float:
        """How much of what a plan change left open is settled: 1.0 when complete."""
        return 1.0 if self.holes is None else self.holes.fraction

    @property
    def nbytes(self) -> int:
        ages = 0 if self.leaf else self._ages.nbytes
        return super().nbytes + ages + (self.holes.nbytes if self.holes else 0)

    @property
    def rows_before(self) -> int:
        """Rows of the carrying leaf that were there when the STAIR was opened: at most so many keys are holes."""
        return 0 if self.holes is None else self.holes.rows

    @property
    def slots_to_open(self) -> int:
        """Slots for as many composites as there are rows now, since growing later would delay a batch.

        Those that stay empty are given back when the STAIR is complete.
        """
        assert self.carrier is not None
        return power_of_two(int((self.carrier.tail - self.carrier.low) / FULLEST))

    def may_inherit(self, other: Stair) -> bool:
        """Whether the other's arrays are such as this one needs when it is opened."""
        wanted = self.slots_to_open
        return self.components == other.components and wanted <= other.capacity <= 2 * wanted

    def open(self) -> None:
        """Make every key a hole that the carrying leaf has a row for now (the STAIR is empty)."""
        self.resize(self.slots_to_open)
        self.fill_later(self.prospect())

    def reopen(self) -> None:
        """Between batches: forget every entry, and make every key a hole that the carrying leaf has a row for."""
        self.meta[LOW] = self.meta[BASE] = self.meta[TAIL]
        self.meta[FIRST_AGE] = self.meta[LAST_AGE]
        self.open()

    def prospect(self) -> Holes:
        """Every key that the carrying leaf has a row for now, as a hole."""
        assert self.carrier is not None
        return Holes(self.carrier, self.carrier.tail)

    def fill_later(self, holes: Holes) -> None:
        """Have these holes (the STAIR is empty)."""
        self.holes, self._roomy = holes, True
        self.close_if_done()

    def close_if_done(self) -> None:
        """Forget about holes when none is left."""
        if self.holes is not None and self.holes.done:
            self._keys_filled += self.holes.filled
            self.holes = None
            if self._roomy:  # room was made for as many composites as rows: the next review knows better
                self._roomy, self._too_large = False, PATIENCE - 1

    # -- a batch -------------------------------------------------------------------------------------------------

    @property
    def _wanted(self) -> int:
        """Slots that should be free when a batch begins."""
        return 2 * int(self.meta[USUAL]) + SPARE

    def make_room(self, floor: NDArray[np.int32]) -> None:
        """Use twice as many slots where most are live, or where moving entries together did not free enough."""
        limit = int(self.meta[LIMIT])
        if limit - (self.tail - self.low) < self._wanted or self._too_full(floor):
            if limit == self.capacity:
                self.resize(2 * limit)
            else:
                self.meta[LIMIT] = 2 * limit

    def crowded(self, floor: NDArray[np.int32]) -> bool:
        """Between batches: whether it may soon use twice as many slots."""
        short = self.meta[LIMIT] - (self.tail - self.low) < 2 * self._wanted
        return bool(short) and self._too_full(floor)

    def _too_full(self, floor: NDArray[np.int32]) -> bool:
        return self._estimate(floor) + self._wanted > self.fullest * self.meta[LIMIT]

    def _estimate(self, floor: NDArray[np.int32]) -> int:
        """About how many entries are live."""
        return count_live(self.state, self.streams, floor, 1 + (self.tail - self.low) // SAMPLE)

    def review(self, floor: NDArray[np.int32] | None = None) -> None:
        """Now and then, at the beginning of a batch: give memory back, and keep stale 32-bit ids from coming round.

        ``floor``: low-water rows of all streams; not needed for a leaf, where every entry is live.
        """
        low, tail = self.low, self.tail
        if tail - self.refreshed > REFRESH:
            refresh_heads(self.state)
            self.refreshed = tail
        wanted = self._wanted
        if len(self.state[2]) > 4 * wanted:
            self._hold(*self.state[:2], np.empty(power_of_two(wanted), np.int32))
        live = tail - low if floor is None else self._estimate(floor)
        capacity = power_of_two(int((live + wanted) / self.fullest))
        if self._holes is not None or live >= EMPTIEST * self.capacity or capacity >= self.capacity:
            self._too_large = 0
            return
        self.meta[LIMIT] = capacity
        self._too_large += 1
        if self._too_large == PATIENCE:
            self._too_large = 0
            if floor is not None:
                reclaim(self.state, self.streams, floor, 0)
            self.resize(max(capacity, power_of_two(self.tail - self.low)))

    def pack(self, floor: NDArray[np.int32]) -> None:
        """At the beginning of a batch: have no more slots than what is live needs."""
        reclaim(self.state, self.streams, floor, 0)
        capacity = power_of_two(int((self.tail - self.low + self._wanted) / FULLEST))
        if capacity < self.capacity:
            self.resize(capacity)

    def note_usual(self, n: int) -> None:
        """A batch puts n entries here."""
        self.meta[USUAL] += (n - self.meta[USUAL]) // 8

    def append_rows(self, keys: Keys, events: NDArray[np.int32], kept: NDArray[np.uint8] = ALL) -> None:
        """Insert a batch's rows into a leaf; rows not kept have their number and nothing else."""
        self.reserve(len(keys))
        self.note_usual(len(keys))
        append_rows(self.state, keys, events, kept)

    def insert(self, start: int, stop: int) -> None:
        """Link entries already appended; those whose key is a hole are dropped."""
        flags = ALL if self.holes is None else self.holes.filled_of(self.hole_keys(start, stop))
        link(self.state, start, stop, flags)

    # -- holes ---------------------------------------------------------------------------------------------------

    def hole_keys(self, start: int, stop: int) -> Keys:
        """The keys by which holes are known, of the entries start..stop."""
        if self.component is None or self.carrier is None:
            return self.keys(start, stop)
        out = np.empty(stop - start, np.int64)
        read_component_keys(self.state, start, self.component, self.carrier.state, out)
        return out

    def promote(self, keys: Keys) -> int:
        """Fill those of the keys that are holes; how many there were."""
        if self.holes is None or len(keys) == 0:
            return 0
        return self._fill(self.holes.demand(np.asarray(keys, np.int64)))

    def demote(self, keys: Keys) -> int:
        """Turn filled keys into holes: their composites go, and come back when somebody asks for them; how many went.

        What is left of a composite are its parts in the STAIRs below, which have each of them once.
        """
        if self.carrier is None:
            raise ValueError("a leaf has no holes: its rows are what holes are filled from")
        if self.forewarned is not None:
            self.forewarned()
        keys = np.asarray(keys, np.int64)
        keys = keys[self.carrier.present(keys)]  # a key without a row is filled by definition
        if self.holes is None:
            self.holes = Holes(self.carrier, self.carrier.low)
        start, stop = self.low, self.tail
        gone = unlink(self.state, start, np.isin(self.hole_keys(start, stop), keys).astype(np.uint8))
        self.holes.demote(keys)
        self.close_if_done()
        return int(gone)

    def expire(self, keys: Keys) -> None:
        """Fill the holes for which rows of the carrying leaf have just died (their keys), so that all close in time."""
        if self.holes is not None and len(keys):
            self._fill(self.holes.expire(keys))

    def settle(self, budget: int) -> int:
        """Fill up to ``budget`` holes, newest rows first; notices when none is left. How many were filled."""
        if self.holes is None:
            return 0
        filled = self._fill(self.holes.settle(max(0, int(budget))))
        self.close_if_done()
        return filled

    def promote_all(self) -> None:
        """Promote the keys of every row that the carrying leaf has, oldest first."""
        if self.carrier is not None:
            self.promote(self.carrier.keys(self.carrier.low, self.carrier.tail))
        self.fill()

    def fill(self) -> None:
        """Fill every hole."""
        while self.holes is not None and not self.holes.passed:
            self.settle(FILL)
        if self.holes is not None:
            self.promote(self.holes.known())
            self.close_if_done()

    def fill_up_to(self, composites: int) -> None:
        """Fill every hole, in ever larger portions; but stop when more composites than these have come of it."""
        stop, portion = self.tail + composites, PORTION
        while self.holes is not None and not self.holes.passed and self.tail <= stop:
            self.settle(portion)
            portion = min(2 * portion, FILL)
        capacity = power_of_two(2 * (self.tail - self.low))
        if self.holes is None and capacity < self.capacity:  # what probes it has less to go through
            self.resize(capacity)

    def _fill(self, keys: Keys) -> int:
        if len(keys):
            assert self.filler is not None
            self.filler(self, keys)
        return len(keys)

    # -- readers -------------------------------------------------------------------------------------------------

    def present(self, keys: Keys) -> NDArray[np.bool_]:
        """Whether some entry has the key: holes hold none, and entries not yet known dead count."""
        out = np.empty(len(keys), np.uint8)
        present(self.state, np.ascontiguousarray(keys, np.int64), out)
        return out.view(np.bool_)

    def linked(self, start: int, stop: int) -> NDArray[np.bool_]:
        """Whether each entry of start..stop is in a chain: dropped inserts and demoted entries are not."""
        entries = np.arange(start, stop)
        return self.state[0][entries & (self.capacity - 1), NEXT] != entries.astype(np.int32)

    def live(self, marks: NDArray[np.int32]) -> int:
        """How many entries are live now."""
        return count_live(self.state, self.streams, marks, 1)
