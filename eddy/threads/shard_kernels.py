"""What a shard does with a portion of a batch: it takes in the rows that are its own.

A shard is a struct of addresses (see `layout`): so a batch needs no Python for each shard, and any thread can do the
work of any shard. Where more is needed - holes, a ring that must grow - a shard is left as it is, or stops, and the
caller goes on with it.

Rows have numbers of the shard's own, so that its rings are as large as what it holds; events keep their places in the
whole batch.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from eddy.intake.lowwater_kernels import BEFORE, FIELDS, LOW, NEXT
from eddy.threads.layout import (
    CRAMPED,
    DEALT,
    DONE,
    TAKING,
    UNTOUCHED,
    Shard,
    batch_part_of,
    int_at,
    long_at,
    set_int,
    set_long,
    shard_stream_of,
)
from stairs import layout
from stairs.begin_kernels import STAIR, TABLE, begin_rings
from stairs.kernel import kernel, part
from stairs.program_kernels import meta_at
from stairs.sequence import CUTTING, sequence_at, source_of
from stairs.sequence import DONE as TAKEN
from stairs.sequence_kernels import ints_at, longs_at, table_at, take_in

_table = nb.int64[:, ::1]

LANES = 4
"""Streams whose marks are translated side by side."""


@kernel(nb.boolean(Shard, nb.int64, nb.int64[::1]), makes_arrays=True)
def _possible(shard, parts, base):
    """Whether kernels can do the batch: no key is a hole, and all of its rows have a rank."""
    for s in range(base.shape[0]):
        own, slots = batch_part_of(parts, s), shard_stream_of(shard.streams, s).rank_slots
        if slots != 0 and own.first_row + own.rows + 1 - base[s] > slots:
            return False
    rings = table_at(shard.beginning, sequence_at(shard.sequence).beginning_count, TABLE)
    for i in range(rings.shape[0]):
        if rings[i, 0] == STAIR and meta_at(rings[i, 1])[layout.HOLES] != 0:
            return False
    return True


@kernel(nb.boolean(Shard, _table), makes_arrays=True)
def _roomy(shard, table):
    """Whether there is room for the rows of the portion."""
    for s in range(table.shape[1]):
        stream = shard_stream_of(shard.streams, s)
        if stream.next_row + stream.rows - stream.first_kept > stream.capacity:
            return False
    return True


@part
def _ranks_of(shard, t):
    """Where the ranks of a stream are, and the mask of their slots. A window that never ends has one, its floor."""
    stream = shard_stream_of(shard.streams, t)
    return (stream.ranks, stream.rank_slots - 1) if stream.ranks != 0 else (shard.floor + 4 * t, 0)


@kernel(nb.void(Shard, nb.int32[:, ::1], nb.int64), makes_arrays=True)
def _translate(shard, marks, t):
    """Translate the marks of up to LANES streams, from t on, at the shard's events: a rank for each.

    Side by side, as the processor can look several up at a time. Where there are fewer, the last is done again.
    """
    n, whole, into = marks.shape[1], marks.ctypes.data, shard.marks
    b, c, d = min(t + 1, n - 1), min(t + 2, n - 1), min(t + 3, n - 1)
    ranks_t, mask_t = _ranks_of(shard, t)
    ranks_b, mask_b = _ranks_of(shard, b)
    ranks_c, mask_c = _ranks_of(shard, c)
    ranks_d, mask_d = _ranks_of(shard, d)
    for s in range(n):
        stream = shard_stream_of(shard.streams, s)
        at = stream.events
        for p in range(stream.rows):
            event = n * int_at(at, p)
            one, two = int_at(whole, event + t) & mask_t, int_at(whole, event + b) & mask_b
            three, four = int_at(whole, event + c) & mask_c, int_at(whole, event + d) & mask_d
            set_int(into, event + t, int_at(ranks_t, one))
            set_int(into, event + b, int_at(ranks_b, two))
            set_int(into, event + c, int_at(ranks_c, three))
            set_int(into, event + d, int_at(ranks_d, four))


@kernel(nb.void(Shard, _table, nb.int64, nb.int32[:, ::1], nb.int64), makes_arrays=True)
def _mark(shard, table, parts, marks, last):
    """Take in the numbers of the rows, find their events, and translate the marks of these into those of the shard."""
    n = table.shape[1]
    for s in range(n):
        own, stream = batch_part_of(parts, s), shard_stream_of(shard.streams, s)
        places, first, numbers, at = own.events, own.first_row, stream.numbers, stream.events
        held, slots, row, rows = stream.held, stream.capacity - 1, stream.next_row, stream.rows
        for p in range(rows):
            number = long_at(numbers, p)
            set_long(held, (row + p) & slots, number)
            set_int(at, p, int_at(places, number - first))
        stream.next_row += rows
        stream.sent += rows
        shard.events += rows
        table[BEFORE, s] = table[NEXT, s]
        table[NEXT, s] += rows
    for t in range(0, n, LANES):
        _translate(shard, marks, t)
    for t in range(n):
        stream = shard_stream_of(shard.streams, t)
        if stream.ranks != 0:
            low = int_at(stream.ranks, np.int64(marks[last, t]) & (stream.rank_slots - 1))
            table[LOW, t] = table[NEXT, t] + np.int64(np.int32(low - table[NEXT, t]))


@kernel(nb.boolean(Shard, nb.int64, nb.int32[:, ::1], nb.int64[::1], nb.int64, nb.int64), makes_arrays=True)
def _take(shard, parts, marks, base, first, last):
    """Take in the rows of a portion, before they are joined; False if that is all for now, as STATUS says."""
    n, sequence = marks.shape[1], sequence_at(shard.sequence)
    table = table_at(shard.windows, FIELDS, n)
    lows, counts, floor = longs_at(sequence.lows, n), longs_at(sequence.counts, n), ints_at(shard.floor, n)
    if shard.portion == 0 and shard.status == DEALT:
        if not _possible(shard, parts, base):
            shard.status = UNTOUCHED
            return False
        # The ring for results, whether or not there will be any.
        begin_rings(table_at(shard.beginning, 1, TABLE), 0, lows, counts, floor)
        sequence.beginning, sequence.results = shard.beginning, shard.results
        for s in range(n):
            set_long(shard.before_push, s, table[LOW, s])
        if marks.shape[0] == 0:
            shard.status = DONE
            return False
    if not _roomy(shard, table):
        shard.status = CRAMPED
        return False
    before = shard.events
    for s in range(n):
        lows[s], counts[s], floor[s] = table[LOW, s], table[NEXT, s], np.int32(table[LOW, s])
        source = source_of(sequence.sources, s)
        source.rows, source.taken, source.here = shard_stream_of(shard.streams, s).rows, 0, 0
    _mark(shard, table, parts, marks, last)
    if shard.events == before:
        shard.status = DONE
        return False
    sequence.marks, sequence.events = shard.marks, marks.shape[0]
    sequence.start, sequence.stop = first, last + 1
    sequence.fresh, sequence.stage = 0, CUTTING
    shard.status = TAKING
    return True


@kernel(nb.void(Shard, nb.int64, nb.int32[:, ::1], nb.int64[::1], nb.int64, nb.int64), makes_arrays=True)
def step(shard, parts, marks, base, first, last):
    """Take in the rows of a portion that were dealt out to the shard, as far as it goes; STATUS says how far that is.

    Called again, it goes on from there. ``parts`` (an address), ``marks`` and ``base``, the lows before, are those of
    the whole batch; the portion has the events from ``first`` to ``last``.
    """
    if (shard.status == DEALT or shard.status == CRAMPED) and not _take(
        shard, parts, marks, base, first, last
    ):
        return
    if take_in(shard.sequence) == TAKEN:
        shard.status = DONE
        meta = meta_at(shard.results)
        shard.made = meta[layout.TAIL] - meta[layout.BASE]
