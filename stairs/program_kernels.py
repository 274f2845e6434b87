"""Running a plan: the steps of a batch in one call.

A plan is data: a table of instructions that name rings by the address of their ``meta``, in which a ring keeps where
its arrays are. So a batch costs one call however many steps the plan has, and a plan change compiles nothing. What
needs more than kernels - a ring that must grow, a hole to be filled, a predicate to be decided - is left to the
caller: the run stops at the instruction and is called again to go on.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic

from stairs.kernel import kernel, part
from stairs.key_kernels import append_rows, fetch_keys, key_by_row, link
from stairs.layout import (
    BASE,
    BUCKETS,
    CAPACITY,
    EVENTS,
    FROM,
    HEADS,
    HOLES,
    KEY_HIGH,
    KEY_LOW,
    LINKED,
    LONGS,
    LOW,
    META_FIELDS,
    NEXT,
    RECORDS,
    RECORDS_AT,
    ROOM,
    ROWS,
    TAIL,
    TO,
    USUAL,
    WIDTH,
)
from stairs.lowlevel.address import data_of, pointer
from stairs.probe_kernels import ARRIVING, CURSOR, LINKING, SCAN_ARRIVING, SHAPES, shape_for
from stairs.select_kernels import NUMBER_BITS, select

BEGIN, JOIN, END, FETCH, NUMBER, LINK, ASK, SELECT = range(8)
"""Instructions. BEGIN and END enclose the joins into one ring, whose delta is what they appended; FETCH and NUMBER
give the delta its keys; LINK puts it into its chains; ASK is always left to the caller; SELECT copies some of the rows
of a leaf to a ring from which they set out (`select_kernels`)."""

OPERATION, OUT, SOURCE, TARGET, KIND, PLACE, STREAMS, MIXED = range(8)
"""Columns of an instruction: rings by the address of their meta, arrays by their own. FETCH: SOURCE is the component,
TARGET the leaf. NUMBER: SOURCE is the component. JOIN: MIXED is 1 if its matches have the key by which they are stored,
so that they can be linked as they are found. SELECT: TARGET is the leaf with the keys that decide, PLACE the table of
values and STREAMS how many places that has; or, if PLACE is 0, the salt."""
AFTER, UPTO = 8, 9
"""Which part of the source's delta a join takes, in WHOLE-ths: from AFTER to UPTO. SELECT: the numbers of its rows."""
PROBES, MATCHES = 10, 11
"""Source entries that a join has taken so far, and what came of them."""
CHECKS, CHECK_COUNT = 12, 13
"""What the matches of a join are held to besides its key, which is a mix of several: the address of checks (`retain`),
and how many they are."""
TRIED = 14
"""Matches of a join before they were held to that: all that it had to look at closely."""
INSTRUCTION = 15

WHOLE_BITS = NUMBER_BITS
WHOLE = 1 << WHOLE_BITS
SPREAD = 40503
"""WHOLE by the golden ratio: its multiples are spread evenly over the WHOLE."""

NESTED = len(SHAPES)
"""The KIND of a join by nested loops; that of a probe is its place in SHAPES."""


def kind_of(sources: int, targets: int, nested: bool) -> int:
    """What to write into KIND for a join of entries of so many streams with STAIRs of so many."""
    return NESTED if nested else SHAPES.index(shape_for(sources, targets))


PROBE_1_1, PROBE_1_2, PROBE_2_1 = ARRIVING[1, 1], ARRIVING[1, 2], ARRIVING[2, 1]
PROBE_3_1, PROBE_1_3 = ARRIVING[3, 1], ARRIVING[1, 3]
PROBE_ANY_1, PROBE_1_ANY, PROBE_ANY = ARRIVING[0, 1], ARRIVING[1, 0], ARRIVING[0, 0]

RESUMED, MATCHED, RUN_CURSOR = CURSOR, CURSOR + 1, CURSOR + 2
"""Fields of the cursor after those of a probe: 1 if the run goes on in the middle of a join; all matches so far. And
the number of its fields."""


@intrinsic
def copy_bytes(typingctx: Any, to: Any, start: Any, count: Any) -> Any:
    """Copy so many bytes from one address to another."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        to, start = (builder.inttoptr(at, ir.IntType(8).as_pointer()) for at in args[:2])
        cgutils.raw_memcpy(builder, to, start, args[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@part
def part_of(start, stop, after, upto):
    """The entries that a join takes of start..stop. Parts that follow each other leave none out.

    Where they end is rounded up or down by a number that all parts of these entries have in common, and others have
    another: so a part gets its share also where deltas are so short that it is less than an entry of each.
    """
    count, rounding = stop - start, (start * SPREAD) & (WHOLE - 1)
    first = (count * after + rounding) >> WHOLE_BITS
    last = (count * upto + rounding) >> WHOLE_BITS
    return start + first, start + last


@part
def meta_at(address):
    return carray(pointer(address), (META_FIELDS,), np.int64)


@part
def state_at(address):
    """The ring whose meta is at the address."""
    meta = carray(pointer(address), (META_FIELDS,), np.int64)
    return (
        carray(pointer(meta[RECORDS_AT]), (meta[CAPACITY], meta[WIDTH]), np.int32),
        carray(pointer(meta[HEADS]), (meta[BUCKETS],), np.int32),
        carray(pointer(meta[EVENTS]), (meta[ROOM],), np.int32),
        meta,
    )


@part
def join(order, out, marks, cursor, waiting):
    """One join; 1 when done, 0 when ``out`` is full."""
    kind = order[KIND]
    source, target, into = state_at(order[SOURCE]), state_at(order[TARGET]), state_at(out)
    sources, targets = source[0].shape[1] - ROWS, target[0].shape[1] - ROWS
    place = carray(pointer(order[PLACE]), (sources + targets,), np.int64)
    streams = carray(pointer(order[STREAMS]), (targets,), np.int64)
    if kind == 0:
        return PROBE_1_1(source, target, into, place, streams, marks, cursor, waiting)
    if kind == 1:
        return PROBE_1_2(source, target, into, place, streams, marks, cursor, waiting)
    if kind == 2:
        return PROBE_2_1(source, target, into, place, streams, marks, cursor, waiting)
    if kind == 3:
        return PROBE_3_1(source, target, into, place, streams, marks, cursor, waiting)
    if kind == 4:
        return PROBE_1_3(source, target, into, place, streams, marks, cursor, waiting)
    if kind == 5:
        return PROBE_ANY_1(source, target, into, place, streams, marks, cursor, waiting)
    if kind == 6:
        return PROBE_1_ANY(source, target, into, place, streams, marks, cursor, waiting)
    if kind == 7:
        return PROBE_ANY(source, target, into, place, streams, marks, cursor, waiting)
    return SCAN_ARRIVING(source, target, into, place, streams, marks, cursor, waiting)


@part
def same(checks, c, records, slot):
    """Whether two components of an entry have the same key in their leaves, as check ``c`` says: a component and the
    address of its leaf, and once more."""
    one, other = state_at(checks[c, 1])[0], state_at(checks[c, 3])[0]
    a = np.uint64(records[slot, ROWS + checks[c, 0]] & (one.shape[0] - 1))
    b = np.uint64(records[slot, ROWS + checks[c, 2]] & (other.shape[0] - 1))
    return one[a, KEY_LOW] == other[b, KEY_LOW] and one[a, KEY_HIGH] == other[b, KEY_HIGH]


@kernel(nb.void(nb.int64, nb.int64, nb.int64, nb.int64), makes_arrays=True)
def retain(ring, start, where, count):
    """Of the entries from ``start`` to the tail of a ring only those stay, in order, that pass all ``count`` checks at
    the address ``where``: the exact test behind a mixed key."""
    records, _, events, meta = state_at(ring)
    checks = carray(pointer(where), (count, 4), np.int64)
    mask, base, tail = records.shape[0] - 1, meta[BASE], start
    for entry in range(start, meta[TAIL]):
        slot, passed = np.uint64(entry & mask), True
        for c in range(count):
            passed &= same(checks, c, records, slot)
        if passed:
            copy = np.uint64(tail & mask)
            for j in range(records.shape[1]):
                records[copy, j] = records[slot, j]
            records[copy, NEXT] = np.int32(tail)
            events[np.uint64(tail - base)] = events[np.uint64(entry - base)]
            tail += 1
    meta[TAIL] = tail


@kernel(nb.int64(nb.int64[:, ::1], nb.int64, nb.int64, nb.int64, RECORDS, LONGS, RECORDS), makes_arrays=True)
def run(program, at, stop, results, marks, cursor, waiting):
    """Follow the instructions at..stop; returns where it stopped. ``results`` is the ring in place of address 0.

    It stops at an ASK, at a join into a ring that is full (``cursor[RESUMED]`` is then 1: call again when there is
    room), at a SELECT that lacks room, and at a STAIR that has holes.
    """
    none = carray(pointer(0), (0,), np.uint8)
    while at < stop:
        order = program[at]
        operation = order[OPERATION]
        out = order[OUT] if order[OUT] != 0 else results
        meta = meta_at(out)
        if operation == BEGIN:
            meta[FROM] = meta[TO] = meta[LINKED] = meta[TAIL]
        elif operation == JOIN:
            if cursor[RESUMED] == 0:
                source = meta_at(order[SOURCE])
                first, last = part_of(source[FROM], source[TO], order[AFTER], order[UPTO])
                if first == last:
                    at += 1
                    continue
                if meta_at(order[TARGET])[HOLES] != 0:
                    return at
                cursor[0], cursor[1], cursor[2], cursor[3] = first, last, 0, 0
                # Once some entry is left for LINK, all that follow are: it takes the rest of the delta.
                cursor[LINKING] = (
                    order[MIXED] & np.int64(meta[HOLES] == 0) & np.int64(meta[LINKED] == meta[TAIL])
                )
                order[PROBES] += last - first
            cursor[RESUMED] = 1
            before = meta[TAIL]
            done = join(order, out, marks, cursor, waiting)
            full = meta[TAIL]
            order[TRIED] += full - before
            if order[CHECK_COUNT] != 0:
                retain(out, before, order[CHECKS], order[CHECK_COUNT])
            if cursor[LINKING] != 0:
                meta[LINKED] = meta[TAIL]
            order[MATCHES] += meta[TAIL] - before
            cursor[MATCHED] += meta[TAIL] - before
            if done == 0:
                if meta[TAIL] < full:
                    continue  # some were no matches, so there is room
                return at
            cursor[RESUMED] = 0
        elif operation == END:
            meta[TO] = meta[TAIL]
        elif operation == ASK:
            return at
        elif operation == SELECT:
            source, keyed = state_at(order[SOURCE]), state_at(order[TARGET])
            numbers = order[AFTER], order[UPTO]
            if not select(source, keyed, order[PLACE], order[STREAMS], *numbers, state_at(out)):
                return at
        elif meta[FROM] < meta[TO]:
            if operation == FETCH:
                leaf = state_at(order[TARGET])
                fetch_keys(state_at(out), meta[FROM], meta[TO], order[SOURCE], leaf, order[MIXED])
            elif operation == NUMBER:
                key_by_row(state_at(out), meta[FROM], meta[TO], order[SOURCE])
            elif meta[HOLES] != 0:
                return at
            else:
                link(state_at(out), meta[LINKED], meta[TO], none)
        at += 1
    return at


JOB = 6
"""Numbers in a job. A leaf: its address, handles of the rows' keys, events and flags (0: all are kept), their number. A
column: handles of its ring and of the values, first slot, number of values, slots in all, bytes of a value."""


@kernel(nb.int64(nb.int64[:, ::1], nb.int64), makes_arrays=True)
def append_leaves(jobs, at):
    """Append rows to leaves. Returns how many jobs are done; the leaf of the next has no room."""
    while at < jobs.shape[0]:
        leaf, keys, events, flags, count = jobs[at, 0], jobs[at, 1], jobs[at, 2], jobs[at, 3], jobs[at, 4]
        meta = meta_at(leaf)
        if count > meta[ROOM] or meta[TAIL] + count - meta[LOW] > meta[CAPACITY]:
            return at
        append_rows(
            state_at(leaf),
            carray(pointer(data_of(keys)), (count,), np.int64),
            carray(pointer(data_of(events)), (count,), np.int32),
            carray(pointer(data_of(flags) if flags != 0 else 0), (count if flags != 0 else 0,), np.uint8),
        )
        meta[FROM], meta[TO] = meta[BASE], meta[TAIL]
        meta[USUAL] += (count - meta[USUAL]) // 8
        at += 1
    return at


@kernel(nb.void(nb.int64[:, ::1]), makes_arrays=True)
def copy_columns(jobs):
    """Copy values into rings, round the end where they reach it."""
    for at in range(jobs.shape[0]):
        start, count, capacity, size = jobs[at, 2], jobs[at, 3], jobs[at, 4], jobs[at, 5]
        ring, values = data_of(jobs[at, 0]), data_of(jobs[at, 1])
        first = min(count, capacity - start)
        copy_bytes(ring + start * size, values, first * size)
        copy_bytes(ring, values + first * size, (count - first) * size)


@kernel(nb.int64(LONGS, nb.int64, nb.int64), makes_arrays=True)
def store(jobs, columns, leaves):
    """Copy so many columns, then append to so many leaves; returns how many of these are done."""
    copy_columns(carray(pointer(jobs.ctypes.data), (columns, JOB), np.int64))
    return append_leaves(carray(pointer(jobs.ctypes.data + 8 * JOB * columns), (leaves, JOB), np.int64), 0)
