"""STAIRs and rings by hand, and a model of two streams under windows to hold a STAIR against."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from stairs import Ring, Stair
from stairs.begin_kernels import LEAF, STAIR, begin_rings
from stairs.layout import BASE, ROWS, TAIL
from stairs.probe_kernels import BLOCK, CURSOR, join_for
from stairs.ring_kernels import append_keys

NO_MARKS = np.empty(0, np.int32)
FIRSTS = [0, 2**31 - 40, 2**32 - 40, 5 * 2**32 + 2**31 - 40]
"""Numbers of a first row or entry: what follows crosses the end of 31 and of 32 bits."""


def low_half(number):
    """What a record keeps of a row number."""
    return number & 0xFFFFFFFF


def marks_of(*lows):
    """Low-water rows as kernels take them, one event."""
    return np.array([lows], np.int64).astype(np.int32)


def keys_of(*keys):
    """Keys as an array."""
    return np.array(keys, np.int64)


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
    cursor = np.array([*(span or (source.base, source.tail)), *[0] * (CURSOR - 2)], np.int64)
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


def begin_leaf(leaf, low, count):
    """Begin a batch in a leaf: rows below ``low`` are dead, and ``count`` is the next one."""
    begin_rings(np.array([(LEAF, leaf.address, 0)]), 0, np.array([low]), np.array([count]), NO_MARKS)


def begin_stair(stair, floor, lows, counts):
    """Begin a batch in a STAIR, as the router does: it makes room where the kernel asks for it."""
    table = np.array([(STAIR, stair.address, stair.streams.ctypes.data)])
    if begin_rings(table, 0, lows, counts, floor) == 0:
        stair.make_room(floor)


def leaf_of(keys, first=0, stream=0):
    """A leaf with these rows, all of earlier batches."""
    leaf = Stair("A", (stream,), first)
    leaf.append_rows(np.array(keys, np.int64), np.full(len(keys), -1, np.int32))
    begin_leaf(leaf, first, first + len(keys))
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
            begin_leaf(self.leaf, self.lows[0], self.counts[0])
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
        begin_leaf(self.leaf, before[0], self.counts[0])
        begin_stair(self.stair, marks_of(*before)[0], np.array(before), np.array(self.counts))
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
