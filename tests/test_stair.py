"""A STAIR and its ring on their own, held against plain lists and dicts."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stairs import Ring, Stair
from stairs.layout import BASE, LOW, MAX_CAPACITY, ROWS, SHIFT, TAIL
from stairs.probe_kernels import BLOCK, join_for
from stairs.ring import SMALLEST
from stairs.ring_kernels import append_keys
from stairs.stair import REFRESH

HASH = 0x9E3779B97F4A7C15
FIRSTS = [0, 2**31 - 40, 2**32 - 40, 5 * 2**32 + 2**31 - 40]
"""Numbers of a first row or entry: what follows crosses the end of 31 and of 32 bits."""


def low_half(number):
    """What a record keeps of a row number."""
    return number & 0xFFFFFFFF


def marks_of(*lows):
    """Low-water rows as kernels take them, one event."""
    return np.array([lows], np.int64).astype(np.int32)


def append(ring, keys, rows, events=None):
    """Append entries to a ring by hand, in no chain yet, as a probe leaves them; the ids they got."""
    n = len(keys)
    ring.reserve(n)
    records, _, own, meta = ring.state
    start = int(meta[TAIL])
    for i in range(n):
        slot = (start + i) & (len(records) - 1)
        key = int(keys[i]) & (2**64 - 1)
        values = [key & 0xFFFFFFFF, key >> 32, start + i, *rows[i]]
        records[slot] = np.array(values, np.int64).astype(np.int32)
        own[start + i - int(meta[BASE])] = -1 if events is None else events[i]
    meta[TAIL] = start + n
    return start, start + n


def add(stair, keys, rows, events=None):
    """Insert entries into a STAIR."""
    stair.insert(*append(stair, keys, rows, events))


def read(ring, start=None):
    """The rows of a ring's entries, as tuples of what records keep."""
    ids = np.arange(ring.base if start is None else start, ring.tail)
    return [tuple(map(low_half, row)) for row in ring.state[0][ids & (ring.capacity - 1), ROWS:].tolist()]


def join(source, target, out, place, marks, ordered=True, nested=False, span=None, ours=()):
    """Probe to the end, making room as the router does."""
    kernel = join_for(source.components, target.components, nested, ordered)
    cursor = np.array([*(span or (source.base, source.tail)), 0, 0, 0], np.int64)
    waiting = np.zeros((2, BLOCK + 1), np.int32)
    streams = target.streams if ordered else np.array([*target.streams, *ours], np.int64)
    while not kernel(source.state, target.state, out.state, place, streams, marks, cursor, waiting):
        out.grow()


def entries(stair, key, marks, nested=False):
    """The live entries that a probe with this key finds, each as often as it is found."""
    wanted, out = Ring(0, hashed=False), Ring(stair.components, hashed=False)
    append_keys(wanted.state, np.array([key], np.int64))
    place = np.arange(ROWS, ROWS + stair.components)
    join(wanted, stair, out, place, marks, ordered=False, nested=nested)
    assert len(out) == 0 or set(out.keys(out.base, out.tail).tolist()) == {key}
    return sorted(read(out))


def leaf_of(keys, first=0, stream=0):
    """A leaf with these rows, all of earlier batches."""
    leaf = Stair("A", (stream,), first)
    leaf.append_rows(np.array(keys, np.int64), np.full(len(keys), -1, np.int32))
    leaf.begin_rows(first, first + len(keys))
    return leaf


class World:
    """Two streams under windows of rows, their pairs by equal keys as a plain model, and the STAIR under test.

    The model knows every row that ever came; the STAIR is told what the router would tell it.
    """

    def __init__(self, windows, first_row=0, first_entry=0, opened=()):
        self.windows = windows
        self.first = first_row
        self.keys = [[], []]
        self.leaf = Stair("A", (0,), first_row)
        self.stair = Stair("A B", (0, 1), first_entry, self.leaf)
        self.stair.filler = self.fill
        self.filled = []
        for stream, key in opened:
            self.keys[stream].append(key)
        if opened:
            rows = np.array(self.keys[0], np.int64)
            self.leaf.append_rows(rows, np.full(len(rows), -1, np.int32))
            self.leaf.begin_rows(self.lows[0], self.counts[0])
            self.stair.open()

    @property
    def counts(self):
        return [self.first + len(keys) for keys in self.keys]

    @property
    def lows(self):
        return [max(self.first, count - n) for count, n in zip(self.counts, self.windows, strict=True)]

    @property
    def marks(self):
        return marks_of(*self.lows)

    def live_pairs(self):
        """The model: live pairs by key."""
        sides = []
        for keys, low in zip(self.keys, self.lows, strict=True):
            side = defaultdict(list)
            for i in range(low - self.first, len(keys)):
                side[keys[i]].append(low_half(self.first + i))
            sides.append(side)
        return {key: sorted((a, b) for a in sides[0][key] for b in sides[1][key]) for key in sides[0]}

    def fill(self, stair, keys):
        """What the router does for a hole."""
        assert stair is self.stair and len(set(keys.tolist())) == len(keys)
        self.filled += keys.tolist()
        pairs = self.live_pairs()
        made = [(key, pair) for key in keys.tolist() for pair in pairs.get(key, [])]
        start, stop = append(stair, [key for key, _ in made], [pair for _, pair in made])
        holes, stair.holes = stair.holes, None  # what a fill makes is kept, whatever the key was
        stair.insert(start, stop)
        stair.holes = holes

    def batch(self, events):
        """Rows arrive, (stream, key) each; every pair that they complete is inserted."""
        before = self.lows
        expired = self.leaf.keys(self.leaf.low, before[0])
        self.leaf.begin_rows(before[0], self.counts[0])
        self.stair.begin(marks_of(*before)[0], np.array(before), np.array(self.counts))
        self.stair.expire(expired)
        self.stair.close_if_done()
        made, numbers = [], []
        for number, (stream, key) in enumerate(events):
            self.keys[stream].append(key)
            for i in range(self.lows[1 - stream] - self.first, len(self.keys[1 - stream])):
                if self.keys[1 - stream][i] == key:
                    pair = self.counts[stream] - 1, self.first + i
                    made.append((key, pair if stream == 0 else pair[::-1], number))
        numbers = [(key, number) for number, (stream, key) in enumerate(events) if stream == 0]
        self.leaf.append_rows(
            np.array([key for key, _ in numbers], np.int64), np.array([n for _, n in numbers], np.int32)
        )
        add(self.stair, [key for key, *_ in made], [pair for _, pair, _ in made], [n for *_, n in made])

    def ask(self, key):
        """What a probe with the key finds: a hole is filled first."""
        self.stair.promote(np.array([key], np.int64))
        return entries(self.stair, key, self.marks)

    def check(self, keys):
        """Filled keys hold exactly the live pairs of the model, holes hold nothing."""
        keys = np.array(sorted(keys), np.int64)
        pairs = self.live_pairs()
        filled = np.ones(len(keys)) if self.stair.complete else self.stair.holes.filled_of(keys)
        present = self.stair.present(keys)
        for key, is_filled, is_present in zip(keys.tolist(), filled, present, strict=True):
            found = entries(self.stair, key, self.marks)
            if is_filled:
                assert found == pairs.get(key, []), f"key {key}"
                assert is_present or not found
            else:
                assert found == [] and not is_present, f"hole {key}"


# -- a ring ------------------------------------------------------------------------------------------------------


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


# -- probes ------------------------------------------------------------------------------------------------------

SHAPES = [(1, 1), (1, 2), (2, 1), (3, 1), (1, 3), (2, 2), (4, 1), (2, 3), (1, 6), (9, 1), (1, 9), (5, 11)]


class Probing:
    """Random entries on both sides, and what a probe must find, by comparing everything with everything."""

    def __init__(self, shape, seed, sources=60, targets=200, keys=12, first=0, straight=False):
        """``straight``: the streams of either side are consecutive, so that wide composites go many columns at once."""
        rng = np.random.default_rng(seed)
        own, other = shape
        numbers = np.arange(own + other) if straight else rng.permutation(own + other)
        self.ours, self.theirs = sorted(numbers[:own].tolist()), sorted(numbers[own:].tolist())
        events = 30
        self.marks = np.sort(rng.integers(0, 12, (events, own + other)), axis=0) + first
        domain = np.unique(rng.integers(-(2**63), 2**63 - 1, keys))
        self.target = Stair("T", tuple(self.theirs), first)
        self.old = targets // 2
        theirs, when = rng.choice(domain, targets), np.sort(rng.integers(0, events, targets))
        when[: self.old] = -1
        if other == 1:
            self.rows = [(first + i,) for i in range(targets)]
            for part in (slice(0, self.old), slice(self.old, targets)):
                self.target.append_rows(theirs[part].copy(), when[part].astype(np.int32))
                if part.start == 0:
                    self.target.begin_rows(first, first + self.old)
        else:
            self.rows = [tuple(row) for row in (first + rng.integers(0, 14, (targets, other))).tolist()]
            when[self.old :] = rng.permutation(when[self.old :])
            add(self.target, theirs[: self.old], self.rows[: self.old])
            self.target.state[3][BASE] = self.target.tail
            add(self.target, theirs[self.old :], self.rows[self.old :], when[self.old :])
        self.source = Ring(own, hashed=False, first=first)
        self.own_rows = [tuple(row) for row in (first + rng.integers(0, 99, (sources, own))).tolist()]
        mine, own_when = rng.choice(domain, sources), rng.integers(-1, events, sources)
        append(self.source, mine, self.own_rows, own_when)
        self.mine, self.theirs_keys = mine.tolist(), theirs.tolist()
        self.own_when, self.when, self.floors = own_when.tolist(), when.tolist(), self.marks.tolist()
        self.place = np.array([ROWS + sorted(numbers).index(s) for s in self.ours + self.theirs], np.int64)

    def composite(self, i, j):
        """The rows of both, in the order of stream numbers."""
        row = dict(zip(self.ours + self.theirs, self.own_rows[i] + self.rows[j], strict=True))
        return tuple(low_half(row[stream]) for stream in sorted(row))

    def pairs(self, ordered):
        """What must be found: key, event and rows of each match."""
        for i, key in enumerate(self.mine):
            for j, other in enumerate(self.theirs_keys):
                event = max(self.own_when[i], self.when[j])
                if key != other or (ordered and not self.when[j] < self.own_when[i]):
                    continue
                # Arriving entries are live at their own events; what is filled is made of any rows.
                floor = self.floors[event if ordered else min(event + 1, len(self.floors) - 1)]
                rows = list(zip(self.rows[j], self.theirs, strict=True))
                rows += [] if ordered else list(zip(self.own_rows[i], self.ours, strict=True))
                if all(row >= floor[s] for row, s in rows):
                    yield key, event, self.composite(i, j)

    def read(self, out):
        """What was found, the same way."""
        events = out.state[2][: len(out)].tolist()
        return zip(out.keys(out.base, out.tail).tolist(), events, read(out), strict=True)


@pytest.mark.parametrize("nested", [False, True], ids=["hash", "nested"])
@pytest.mark.parametrize("ordered", [True, False], ids=["arriving", "filling"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape[0]} into {shape[1]}")
def test_a_probe_finds_what_a_comparison_of_all_pairs_finds(shape, ordered, nested):
    """A match has the same key, is older than the arriving entry's event and live at it; it is found once."""
    for seed, first in enumerate([*FIRSTS, 0, *FIRSTS]):
        probing = Probing(shape, seed, keys=[12, 3][seed % 2], first=first, straight=seed > len(FIRSTS))
        out = Ring(sum(shape), hashed=False)
        marks = probing.marks.astype(np.int32)
        join(probing.source, probing.target, out, probing.place, marks, ordered, nested, ours=probing.ours)
        assert Counter(probing.read(out)) == Counter(probing.pairs(ordered))


@pytest.mark.parametrize("nested", [False, True], ids=["hash", "nested"])
@pytest.mark.parametrize("most", [1, 3, 7, 700])
@pytest.mark.parametrize("sources, keys", [(BLOCK + 90, 300), (5, 2)], ids=["blocks", "few and long chains"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 4)], ids=["1 into 1", "1 into 4"])
def test_a_probe_that_stops_goes_on_where_it_was(shape, sources, keys, most, nested):
    """Drawn a few matches at a time, over several blocks of sources or along a few chains, every match comes once."""
    probing = Probing(shape, 5, sources=sources, targets=300, keys=keys)
    out = Ring(sum(shape), hashed=False)
    out.limit(most)
    kernel = join_for(*shape, nested, True)
    cursor = np.array([probing.source.base, probing.source.tail, 0, 0, 0], np.int64)
    waiting, marks = np.zeros((2, BLOCK + 1), np.int32), probing.marks.astype(np.int32)
    found, done = Counter(), 0
    while not done:
        done = kernel(
            probing.source.state, probing.target.state, out.state, probing.place, probing.target.streams,
            marks, cursor, waiting,
        )  # fmt: skip
        assert done or out.is_full
        assert len(out) <= most
        found.update(probing.read(out))
        out.clear()
    assert found == Counter(probing.pairs(True))


@pytest.mark.parametrize("nested", [False, True], ids=["hash", "nested"])
def test_keys_of_one_bucket_are_told_apart(nested):
    """Keys that hash alike, also those that differ in their upper half only, share a chain and nothing else."""
    stair = Stair("A B", (0, 1))
    shift = int(stair.state[3][SHIFT])
    alike = [key for key in range(-3000, 3000) if (key * HASH & (2**64 - 1)) >> shift == 5][:12]
    inverse = pow(HASH, -1, 2**64)
    alike += [((5 << shift) + n) * inverse & (2**64 - 1) for n in (0, 1, 2**40)]
    alike = [key - 2**64 if key >= 2**63 else key for key in alike]
    assert len(set(alike)) == 15
    add(stair, alike * 2, [(i, i) for i in range(30)])
    for i, key in enumerate(alike):
        assert entries(stair, key, marks_of(0, 0), nested) == [(i, i), (i + 15, i + 15)]
    absent = ((5 << shift) + 77) * inverse & (2**64 - 1)
    absent -= 2**64 if absent >= 2**63 else 0
    assert entries(stair, absent, marks_of(0, 0), nested) == []
    assert stair.present(np.array([absent, alike[3]])).tolist() == [False, True]


def test_rows_that_are_not_kept_have_a_number_and_nothing_else():
    """A row that a filter refused is found by nobody, finds nobody, and still counts."""
    leaf = Stair("A", (0,))
    leaf.append_rows(np.array([4, 4, 4]), np.arange(3, dtype=np.int32), np.array([1, 0, 1], np.uint8))
    assert leaf.tail == 3 and leaf.live(marks_of(0)[0]) == 2
    assert entries(leaf, 4, marks_of(0)) == entries(leaf, 4, marks_of(0), nested=True) == [(0,), (2,)]
    other = leaf_of([4, 4], stream=1)
    for nested in (False, True):
        out = Ring(2, hashed=False)
        join(leaf, other, out, np.array([ROWS, ROWS + 1]), np.zeros((3, 2), np.int32), nested=nested)
        assert sorted(read(out)) == [(0, 0), (0, 1), (2, 0), (2, 1)]


# -- holes -------------------------------------------------------------------------------------------------------


def keys_of(*keys):
    """Keys as an array."""
    return np.array(keys, np.int64)


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
    """The trace T09 of the digest: r1 with s1 and s2, demoted, promoted, probed."""
    world = World((100, 100))
    world.batch([(0, 7), (1, 7), (1, 7), (0, 8), (1, 8)])
    stored = {key: entries(world.stair, key, world.marks) for key in (7, 8)}
    assert stored[7] == [(0, 0), (0, 1)]
    world.stair.demote(keys_of(7))
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


# -- against the model -------------------------------------------------------------------------------------------

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
