"""The join of `limit.cpp` in Numba: one tuple at a time, left-deep, plan hard-coded as nested loops.

Records are int64 (key, next, rows ...) in rings, chained newest first. The composites of an arriving row are
written once, to the ring of their level; those of the next level are made from that range of ids. All rings
lie in one flat array. When one is full, the event is taken back, the rings are laid out anew, and it is tried
again. Indices are unsigned, which spares the test for an index from the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field
from numba import njit, uint64

from benchmarks.workloads import CHAIN, SHAPES, STAR, Chunk, Workload

# What a row of `meta` says of a ring: where its records and heads start, capacity, oldest and next id.
_RECORDS, _HEADS, _SIZE, _TAIL, _HEAD = range(5)


@njit(nogil=True, cache=True, inline="always")
def _bucket(key, size):  # type: ignore[no-untyped-def]
    return ((uint64(key) * uint64(0x9E3779B97F4A7C15)) >> uint64(32)) & uint64(size - 1)


@njit(nogil=True, cache=True, inline="always")
def _record(meta, level, at):  # type: ignore[no-untyped-def]
    return uint64(meta[level, _RECORDS] + (at & (meta[level, _SIZE] - 1)) * (level + 3))


@njit(nogil=True, cache=True, inline="always")
def _link(meta, records, heads, values, plan, level, at):  # type: ignore[no-untyped-def]
    """Key the new composite `at` by what the next stream is joined on, and chain it."""
    record = _record(meta, level, at)
    other = plan[level + 1, 0]
    source = records[record + uint64(2 + other)] & (values.shape[1] - 1)
    key = values[uint64(other), uint64(source), uint64(plan[level + 1, 1])]
    head = uint64(meta[level, _HEADS]) + _bucket(key, meta[level, _SIZE])
    records[record] = key
    records[record + uint64(1)] = heads[head]
    heads[head] = at
    meta[level, _HEAD] = at + 1


@njit(nogil=True, cache=True, inline="always")
def _take_back(meta, records, heads, level, first):  # type: ignore[no-untyped-def]
    """Unchain the composites from `first` on, newest first."""
    for at in range(meta[level, _HEAD] - 1, first - 1, -1):
        record = _record(meta, level, at)
        head = uint64(meta[level, _HEADS]) + _bucket(records[record], meta[level, _SIZE])
        heads[head] = records[record + uint64(1)]
    meta[level, _HEAD] = first


@njit(nogil=True, cache=True, inline="always")
def _trim(meta, records, low, level):  # type: ignore[no-untyped-def]
    """Let the oldest composites go while they are dead."""
    tail, live = meta[level, _TAIL], False
    while tail < meta[level, _HEAD] and not live:
        record = _record(meta, level, tail)
        live = True
        for c in range(level + 1):
            live &= records[record + uint64(2 + c)] >= low[c, 0]
        tail += not live
    meta[level, _TAIL] = tail


@njit(nogil=True, cache=True)
def _push(first, streams, columns, plan, window, low, leaves, values, meta, rings, full):  # type: ignore[no-untyped-def]
    """Join the events from `first` on, one by one; returns the number of results.

    Stream j is joined on its attribute 0 with attribute `plan[j, 1]` of stream `plan[j, 0]`. `low` holds the
    low-water and the next row of each stream, `leaves` the (key, next) of each row and the heads. If a ring
    is full, `full` is set to the event that needs more room and to the level of that ring.
    """
    n, m = plan.shape[0], streams.shape[0]
    leaf, leaf_heads = leaves
    records, heads = rings
    size = leaf.shape[1]
    begin = np.zeros(n, np.int64)
    results = 0
    full[0], full[1] = m, -1
    for i in range(first, m):
        s = uint64(streams[i])
        row = low[s, 1]
        low[s, 0] = max(0, row + 1 - window)
        slot = uint64(row & (size - 1))
        key = columns[plan[1, 1] if s == 0 else 0, i]
        bucket = _bucket(key, size)
        leaf[s, slot, 0] = key
        leaf[s, slot, 1] = leaf_heads[s, bucket]
        leaf_heads[s, bucket] = row
        for a in range(columns.shape[0]):
            values[s, slot, uint64(a)] = columns[a, i]
        found, lacking = 0, -1

        # The composites that end with this row: itself and the prefix below.
        level, start, end = np.int64(s), row, row + 1
        if level == 1:
            key = columns[0, i]
            start = end = begin[1] = meta[1, _HEAD]
            at = leaf_heads[uint64(0), _bucket(key, size)]
            while at >= low[0, 0] and lacking < 0:
                other = uint64(at & (size - 1))
                if leaf[uint64(0), other, 0] == key:
                    if n == 2:
                        found += 1
                    elif end - meta[1, _TAIL] == meta[1, _SIZE]:
                        lacking = 1
                    else:
                        to = _record(meta, 1, end)
                        records[to + uint64(2)], records[to + uint64(3)] = at, row
                        _link(meta, records, heads, values, plan, 1, end)
                        end += 1
                at = leaf[uint64(0), other, 1]
        elif level > 1:
            key, below = columns[0, i], level - 1
            start = end = begin[level] = meta[level, _HEAD]
            at = heads[uint64(meta[below, _HEADS]) + _bucket(key, meta[below, _SIZE])]
            while at >= meta[below, _TAIL] and lacking < 0:
                record = _record(meta, below, at)
                match = records[record] == key
                if match:
                    for c in range(level):
                        match &= records[record + uint64(2 + c)] >= low[c, 0]
                if match:
                    if level == n - 1:
                        found += 1
                    elif end - meta[level, _TAIL] == meta[level, _SIZE]:
                        lacking = level
                    else:
                        to = _record(meta, level, end)
                        for c in range(level):
                            records[to + uint64(2 + c)] = records[record + uint64(2 + c)]
                        records[to + uint64(2 + level)] = row
                        _link(meta, records, heads, values, plan, level, end)
                        end += 1
                at = records[record + uint64(1)]

        # Up the plan: join what was made at each level with the leaf above.
        while level < n - 1 and start < end and lacking < 0:
            above = level + 1
            next_end = begin[above] = meta[above, _HEAD]
            for one in range(start, end):
                record = _record(meta, level, one)
                key = leaf[s, slot, 0] if level == 0 else records[record]
                at = leaf_heads[uint64(above), _bucket(key, size)]
                while at >= low[above, 0] and lacking < 0:
                    other = uint64(at & (size - 1))
                    if leaf[uint64(above), other, 0] == key:
                        if above == n - 1:
                            found += 1
                        elif next_end - meta[above, _TAIL] == meta[above, _SIZE]:
                            lacking = above
                        else:
                            to = _record(meta, above, next_end)
                            if level == 0:
                                records[to + uint64(2)] = row
                            else:
                                for c in range(above):
                                    records[to + uint64(2 + c)] = records[record + uint64(2 + c)]
                            records[to + uint64(2 + above)] = at
                            _link(meta, records, heads, values, plan, above, next_end)
                            next_end += 1
                    at = leaf[uint64(above), other, 1]
            if level > 0:
                _trim(meta, records, low, level)
            level, start, end = above, begin[above], next_end
        if lacking >= 0:
            for made in range(max(1, np.int64(s)), lacking + 1):
                _take_back(meta, records, heads, made, begin[made])
            leaf_heads[s, bucket] = leaf[s, slot, 1]
            full[0], full[1] = i, lacking
            break
        low[s, 1] = row + 1
        results += found
    return results


@njit(nogil=True, cache=True)
def _lay_out(old_meta, old_rings, meta, rings):  # type: ignore[no-untyped-def]
    """Copy all rings into larger ones, and chain their records anew."""
    old_records, records, heads = old_rings[0], rings[0], rings[1]
    for level in range(1, meta.shape[0]):
        for at in range(meta[level, _TAIL], meta[level, _HEAD]):
            old, new = _record(old_meta, level, at), _record(meta, level, at)
            for k in range(level + 3):
                records[new + uint64(k)] = old_records[old + uint64(k)]
            head = uint64(meta[level, _HEADS]) + _bucket(records[new], meta[level, _SIZE])
            records[new + uint64(1)] = heads[head]
            heads[head] = at


@define(eq=False)
class NumbaLimit:
    """The state of the join; `push` takes the chunks of a workload."""

    workload: Workload
    _plan: npt.NDArray[np.int64] = field(init=False, repr=False)
    _low: npt.NDArray[np.int64] = field(init=False, repr=False)
    _leaves: tuple[Any, Any] = field(init=False, repr=False)
    _values: npt.NDArray[np.int64] = field(init=False, repr=False)
    _meta: npt.NDArray[np.int64] = field(init=False, repr=False)
    _rings: tuple[Any, Any] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        work = self.workload
        n, shape = work.streams, SHAPES[work.shape]
        size = 1 << (work.window - 1).bit_length()
        self._plan = np.zeros((n, 2), np.int64)
        if shape == CHAIN:
            self._plan[1:, 0], self._plan[1:, 1] = np.arange(n - 1), 1
        elif shape == STAR:
            self._plan[1:, 1] = np.arange(n - 1)
        self._low = np.zeros((n, 2), np.int64)
        self._leaves = (np.zeros((n, size, 2), np.int64), np.full((n, size), -1, np.int64))
        self._values = np.zeros((n, size, work.attributes), np.int64)
        self._meta = np.zeros((n, 5), np.int64)
        self._meta[:, _SIZE] = 2 * size
        self._rings = self._laid_out()

    def _laid_out(self) -> tuple[Any, Any]:
        """Empty rings of the sizes in `meta`, whose places are entered there."""
        sizes = self._meta[:, _SIZE]
        widths = sizes * (np.arange(len(sizes)) + 3)
        self._meta[:, _RECORDS] = np.cumsum(widths) - widths
        self._meta[:, _HEADS] = np.cumsum(sizes) - sizes
        return np.zeros(widths.sum(), np.int64), np.full(sizes.sum(), -1, np.int64)

    def push(self, chunk: Chunk) -> int:
        columns = np.stack(chunk.columns)
        full = np.zeros(2, np.int64)
        results = 0
        while full[0] < len(chunk):
            state = (self._plan, self.workload.window, self._low, self._leaves, self._values, self._meta)
            results += _push(full[0], chunk.streams, columns, *state, self._rings, full)
            if full[1] >= 0:
                meta, rings = self._meta.copy(), self._rings
                self._meta[full[1], _SIZE] *= 2
                self._rings = self._laid_out()
                _lay_out(meta, rings, self._meta, self._rings)
        return int(results)
