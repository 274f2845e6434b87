"""Probes: what they find, held against a comparison of everything with everything."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from stairs import Ring, Stair
from stairs.layout import BASE, ROWS, SHIFT
from stairs.lowlevel.secret import WORDS
from stairs.probe_kernels import BLOCK, CURSOR, join_for
from tests.stair_model import (
    FIRSTS,
    add,
    append,
    begin_leaf,
    entries,
    join,
    leaf_of,
    low_half,
    marks_of,
    read,
)

HASH = WORDS[1]
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
                    begin_leaf(self.target, first, first + self.old)
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
    cursor = np.array([probing.source.base, probing.source.tail, *[0] * (CURSOR - 2)], np.int64)
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
