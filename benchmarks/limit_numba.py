"""The join of `limit.cpp` in Numba: one tuple at a time, left-deep, plan hard-coded as nested loops.

Records are int64 (key, next, rows ...) in rings, chained newest first. The composites of an arriving row are
written once, to the ring of their level; those of the next level are made from that range of ids. All rings
lie in one flat array, which grows inside the kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field
from numba import njit

from benchmarks.workloads import CHAIN, SHAPES, STAR, Chunk, Workload

# What a row of `meta` says of a ring: where its records and heads start, capacity, oldest and next id.
_RECORDS, _HEADS, _SIZE, _TAIL, _HEAD = range(5)


@njit(nogil=True, cache=True, inline="always")
def _bucket(key, size):  # type: ignore[no-untyped-def]
    return np.int64(((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & np.uint64(size - 1))


@njit(nogil=True, cache=True)
def _grow(meta, records, heads, level):  # type: ignore[no-untyped-def]
    """New arrays in which the ring of `level` has twice the room."""
    wider = meta.copy()
    wider[level, _SIZE] *= 2
    total = buckets = 0
    for j in range(meta.shape[0]):
        wider[j, _RECORDS], wider[j, _HEADS] = total, buckets
        total += wider[j, _SIZE] * (j + 3)
        buckets += wider[j, _SIZE]
    new_records, new_heads = np.empty(total, np.int64), np.full(buckets, -1, np.int64)
    for j in range(meta.shape[0]):
        width, size = j + 3, wider[j, _SIZE]
        for i in range(meta[j, _TAIL], meta[j, _HEAD]):
            old = meta[j, _RECORDS] + (i & (meta[j, _SIZE] - 1)) * width
            new = wider[j, _RECORDS] + (i & (size - 1)) * width
            for k in range(width):
                new_records[new + k] = records[old + k]
            head = wider[j, _HEADS] + _bucket(records[old], size)
            new_records[new + 1] = new_heads[head]
            new_heads[head] = i
    meta[:] = wider
    return new_records, new_heads


@njit(nogil=True, cache=True, inline="always")
def _link(meta, records, heads, values, plan, level, at):  # type: ignore[no-untyped-def]
    """Key the new composite `at` by what the next stream is joined on, and chain it."""
    record = meta[level, _RECORDS] + (at & (meta[level, _SIZE] - 1)) * (level + 3)
    other = plan[level + 1, 0]
    source = records[record + 2 + other] & (values.shape[1] - 1)
    key = values[other, source, plan[level + 1, 1]]
    head = meta[level, _HEADS] + _bucket(key, meta[level, _SIZE])
    records[record] = key
    records[record + 1] = heads[head]
    heads[head] = at
    meta[level, _HEAD] = at + 1


@njit(nogil=True, cache=True)
def _push(streams, columns, plan, window, low, leaf, leaf_heads, values, meta, records, heads):  # type: ignore[no-untyped-def]
    """Join the events one by one; returns the number of results and the rings, which may have moved.

    Stream j is joined on its attribute 0 with attribute `plan[j, 1]` of stream `plan[j, 0]`. `leaf[s]` holds
    (key, next) of stream s by row, `values[s]` all its attributes.
    """
    n = plan.shape[0]
    size = leaf.shape[1]
    results = 0
    for i in range(streams.shape[0]):
        s = streams[i]
        row = low[s, 1]
        low[s, 1] += 1
        low[s, 0] = max(0, row + 1 - window)
        key = columns[plan[1, 1] if s == 0 else 0, i]
        slot = row & (size - 1)
        bucket = _bucket(key, size)
        leaf[s, slot, 0] = key
        leaf[s, slot, 1] = leaf_heads[s, bucket]
        leaf_heads[s, bucket] = row
        for a in range(columns.shape[0]):
            values[s, slot, a] = columns[a, i]

        # The composites that end with this row, at level s: from the prefix below, or the row alone.
        start = end = 0
        if s > 0:
            level, below = s, s - 1
            key = columns[0, i]
            if below == 0:
                at = leaf_heads[0, _bucket(key, size)]
            else:
                at = heads[meta[below, _HEADS] + _bucket(key, meta[below, _SIZE])]
            oldest = low[0, 0] if below == 0 else meta[below, _TAIL]
            start = end = meta[level, _HEAD]
            while at >= oldest:
                if below == 0:
                    found = leaf[0, at & (size - 1), 0] == key
                    record, after = 0, leaf[0, at & (size - 1), 1]
                else:
                    record = meta[below, _RECORDS] + (at & (meta[below, _SIZE] - 1)) * (below + 3)
                    found, after = records[record] == key, records[record + 1]
                    if found:
                        for c in range(s):
                            found &= records[record + 2 + c] >= low[c, 0]
                if found:
                    if level == n - 1:
                        results += 1
                    else:
                        if end - meta[level, _TAIL] == meta[level, _SIZE]:
                            records, heads = _grow(meta, records, heads, level)
                            if below:
                                record = meta[below, _RECORDS] + (at & (meta[below, _SIZE] - 1)) * (below + 3)
                        to = meta[level, _RECORDS] + (end & (meta[level, _SIZE] - 1)) * (level + 3)
                        if below == 0:
                            records[to + 2] = at
                        else:
                            for c in range(s):
                                records[to + 2 + c] = records[record + 2 + c]
                        records[to + 2 + s] = row
                        _link(meta, records, heads, values, plan, level, end)
                        end += 1
                at = after

        # Up the plan: join what was made at each level with the leaf above.
        for level in range(s, n - 1):
            above = level + 1
            if level == 0:
                start, end = row, row + 1
            next_start = meta[above, _HEAD] if above < n - 1 else 0
            next_end = next_start
            for at in range(start, end):
                record = meta[level, _RECORDS] + (at & (meta[level, _SIZE] - 1)) * (level + 3)
                key = leaf[0, row & (size - 1), 0] if level == 0 else records[record]
                match = leaf_heads[above, _bucket(key, size)]
                while match >= low[above, 0]:
                    if leaf[above, match & (size - 1), 0] == key:
                        if above == n - 1:
                            results += 1
                        else:
                            if next_end - meta[above, _TAIL] == meta[above, _SIZE]:
                                records, heads = _grow(meta, records, heads, above)
                                record = meta[level, _RECORDS] + (at & (meta[level, _SIZE] - 1)) * (level + 3)
                            to = meta[above, _RECORDS] + (next_end & (meta[above, _SIZE] - 1)) * (above + 3)
                            if level == 0:
                                records[to + 2] = row
                            else:
                                for c in range(above):
                                    records[to + 2 + c] = records[record + 2 + c]
                            records[to + 2 + above] = match
                            _link(meta, records, heads, values, plan, above, next_end)
                            next_end += 1
                    match = leaf[above, match & (size - 1), 1]
            if level > 0:  # what is dead at the old end goes
                tail = meta[level, _TAIL]
                live = False
                while tail < meta[level, _HEAD] and not live:
                    record = meta[level, _RECORDS] + (tail & (meta[level, _SIZE] - 1)) * (level + 3)
                    live = True
                    for c in range(level + 1):
                        live &= records[record + 2 + c] >= low[c, 0]
                    tail += not live
                meta[level, _TAIL] = tail
            start, end = next_start, next_end
            if start == end:
                break
    return results, records, heads


@define(eq=False)
class NumbaLimit:
    """The state of the join; `push` takes the chunks of a workload."""

    workload: Workload
    _plan: npt.NDArray[np.int64] = field(init=False, repr=False)
    _leaves: tuple[Any, ...] = field(init=False, repr=False)
    _rings: tuple[Any, ...] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        work = self.workload
        n, shape = work.streams, SHAPES[work.shape]
        self._plan = np.zeros((n, 2), np.int64)
        if shape == CHAIN:
            self._plan[1:, 0], self._plan[1:, 1] = np.arange(n - 1), 1
        elif shape == STAR:
            self._plan[1:, 1] = np.arange(n - 1)
        size = 1 << (work.window - 1).bit_length()
        self._leaves = (
            np.zeros((n, 2), np.int64),  # low-water row, next row
            np.zeros((n, size, 2), np.int64),
            np.full((n, size), -1, np.int64),
            np.zeros((n, size, work.attributes), np.int64),
        )
        meta = np.zeros((n, 5), np.int64)
        meta[:, _SIZE] = 2 * size
        meta[:, _HEADS] = np.arange(n) * 2 * size
        meta[:, _RECORDS] = np.cumsum((np.arange(n) + 3) * 2 * size) - (np.arange(n) + 3) * 2 * size
        heads = np.full(n * 2 * size, -1, np.int64)
        self._rings = (meta, np.zeros(int((np.arange(n) + 3).sum()) * 2 * size, np.int64), heads)

    def push(self, chunk: Chunk) -> int:
        columns = np.stack(chunk.columns)
        meta, records, heads = self._rings
        results, records, heads = _push(
            chunk.streams, columns, self._plan, self.workload.window, *self._leaves, meta, records, heads
        )
        self._rings = (meta, records, heads)
        return int(results)
