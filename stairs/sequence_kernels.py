"""One batch through the rings of a plan: begin, store, run; portion by portion.

The same sequence for an engine, a shard of one, and a push of plain arrays: each prepares a block of events (which rows
of which streams, under which keys, and what is live at each event), and `take_in` does the rest, as far as kernels can.

A probe follows a chain from its newest entry on, past those that come later than its own event. In a portion of p
events of one key these are about p * p / 2 in all, however few are live at any event. So a portion is short where many
are passed in vain, and long where what a portion costs by itself would count: it is chosen so that both are about the
same (`_pace`). What an event costs then depends on its partners, not on how many events come together.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from stairs import layout
from stairs.begin_kernels import TABLE, begin_rings
from stairs.kernel import kernel, part
from stairs.key_kernels import append_rows
from stairs.lowlevel.address import pointer
from stairs.probe_kernels import MISSED
from stairs.program_kernels import INSTRUCTION, RESUMED, RUN_CURSOR, meta_at, run, state_at
from stairs.sequence import (
    BEGINNING,
    CUTTING,
    DONE,
    LONGEST,
    RUNNING,
    SHORTEST,
    STORING,
    Sequence,
    leaf_of,
    sequence_at,
    source_of,
)

FIXED, EACH = 256, 64
"""What a portion costs by itself, and for each instruction of the plan: candidates that could be looked at instead."""


@part
def longs_at(where, n):
    return carray(pointer(where), (n,), np.int64)


@part
def ints_at(where, n):
    return carray(pointer(where), (n,), np.int32)


@part
def table_at(where, n, width):
    return carray(pointer(where), (n, width), np.int64)


@kernel(nb.int64(Sequence), makes_arrays=True)
def _cut(sequence):
    """Go on to the next portion: its rows, and what is live before it. Returns how many rows it has."""
    n, total, latest = sequence.width, np.int64(0), np.int64(-1)
    upto = min(sequence.start + sequence.portion, sequence.stop)
    counts = longs_at(sequence.counts, n)
    for s in range(n):
        source = source_of(sequence.sources, s)
        events = ints_at(source.events, source.rows)
        counts[s] += source.here
        source.taken += source.here
        if source.taken > 0:
            latest = max(latest, np.int64(events[source.taken - 1]))
        end = source.taken if upto < sequence.stop else source.rows
        while end < source.rows and events[end] < upto:
            end += 1
        source.here = end - source.taken
        total += source.here
    if latest >= 0:  # what is live after the last event of the portion before
        marks = ints_at(sequence.marks + 4 * n * latest, n)
        lows, floor = longs_at(sequence.lows, n), ints_at(sequence.floor, n)
        for s in range(n):
            lows[s] += np.int64(np.int32(marks[s] - np.int32(lows[s])))
            floor[s] = np.int32(lows[s])
    sequence.length, sequence.start = upto - sequence.start, upto
    return total


@kernel(nb.boolean(Sequence), makes_arrays=True)
def _store(sequence):
    """Append the rows of the portion to their leaves, from the one that is next on; False if it has no room."""
    while sequence.at < sequence.leaf_count:
        leaf = leaf_of(sequence.leaves, sequence.at)
        source, meta = source_of(sequence.sources, leaf.stream), meta_at(leaf.ring)
        rows, taken = source.here, source.taken
        if rows > 0:
            if (
                rows > meta[layout.ROOM]
                or meta[layout.TAIL] + rows - meta[layout.LOW] > meta[layout.CAPACITY]
            ):
                return False
            keys, events = longs_at(leaf.keys + 8 * taken, rows), ints_at(source.events + 4 * taken, rows)
            some = source.kept != 0
            kept = carray(pointer(source.kept + taken if some else 0), (rows if some else 0,), np.uint8)
            append_rows(state_at(leaf.ring), keys, events, kept)
            meta[layout.FROM], meta[layout.TO] = meta[layout.BASE], meta[layout.TAIL]
            meta[layout.USUAL] += (rows - meta[layout.USUAL]) // 8
        sequence.at += 1
    return True


@kernel(nb.void(Sequence, nb.int64))
def _pace(sequence, missed):
    """Choose the length of the next portion by how many candidates of this one were ``missed``, which grow with its
    square: as many as the portion costs by itself are as good as can be."""
    fixed = FIXED + EACH * sequence.program_length
    if 4 * missed < fixed and sequence.length == sequence.portion:
        sequence.portion = min(2 * sequence.portion, LONGEST)
    while missed > 2 * fixed and sequence.portion > SHORTEST:
        sequence.portion >>= 1
        missed >>= 2


@kernel(nb.int64(Sequence), makes_arrays=True)
def _take(sequence):
    """Take a portion in, as far as it goes; returns the stage."""
    n, cursor = sequence.width, longs_at(sequence.cursor, RUN_CURSOR)
    if sequence.stage == CUTTING:
        if _cut(sequence) == 0:
            return CUTTING
        sequence.stage, sequence.at, sequence.fresh = BEGINNING, 1 - sequence.fresh, 0
        sequence.missed = cursor[MISSED]
    if sequence.stage == BEGINNING:
        rings = table_at(sequence.beginning, sequence.beginning_count, TABLE)
        lows, counts = longs_at(sequence.lows, n), longs_at(sequence.counts, n)
        sequence.at = begin_rings(rings, sequence.at, lows, counts, ints_at(sequence.floor, n))
        if sequence.at < sequence.beginning_count:
            return BEGINNING
        sequence.stage, sequence.at = STORING, 0
    if sequence.stage == STORING:
        if not _store(sequence):
            return STORING
        sequence.stage, sequence.at, cursor[RESUMED] = RUNNING, 0, 0
    program = table_at(sequence.program, sequence.program_length, INSTRUCTION)
    marks = carray(pointer(sequence.marks), (sequence.events, n), np.int32)
    waiting = carray(pointer(sequence.waiting), (2, sequence.waiting_slots), np.int32)
    sequence.at = run(program, sequence.at, sequence.program_length, sequence.results, marks, cursor, waiting)
    if sequence.at < sequence.program_length:
        return RUNNING
    _pace(sequence, cursor[MISSED] - sequence.missed)
    return CUTTING


@kernel(nb.int64(nb.int64), makes_arrays=True)
def take_in(address):
    """Take in the block of events whose SEQUENCE is at the address, as far as it goes; returns the stage.

    DONE if that is all of it. Else the caller makes room in what ``at`` says - a STAIR that begins, and is then passed
    over; a leaf; the ring that an instruction writes to - and calls it again to go on.
    """
    sequence = sequence_at(address)
    stage = sequence.stage
    if stage == DONE:
        return DONE
    while stage != CUTTING or sequence.start < sequence.stop:
        stage = _take(sequence)
        if stage != CUTTING:
            return stage
        sequence.stage = CUTTING
    sequence.stage = DONE
    return DONE
