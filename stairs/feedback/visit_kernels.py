"""Visits: in the middle of a batch, what waits is woken, and what is new is judged, without leaving the kernel.

A visit is a few instructions of a program, between those that join. What needs more than kernels, a ring that must grow
or a join that is more than a probe, is left to the caller, as in `program_kernels`.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from stairs.feedback.hiding_kernels import admit
from stairs.feedback.judging_kernels import find, is_ready, suspend
from stairs.feedback.revival_kernels import carry, revive
from stairs.feedback.visit_layout import (
    ARRIVED,
    AWAKE,
    BLACKLIST,
    BROUGHT,
    COMPLETE,
    COMPONENTS,
    COPIES_AT,
    COUNT,
    EDGE,
    ENTERED,
    EVENTS_OF,
    EVER_SUSPENDED,
    FAILED,
    FLAGS_AT,
    JUDGE,
    JUDGED,
    KEPT_OF,
    KEYS,
    KEYS_AT,
    LACKED,
    LEAVES,
    LEAVES_AT,
    LEFT,
    MOMENTS_AT,
    RETAKE,
    RETURN,
    REVIVE,
    ROWS_AT,
    SETTLE,
    SOURCE,
    SPACE,
    SPENT,
    STAIR,
    STEP,
    SUSPENDED,
    TAKE,
    UNIT,
    WAKE,
    WISHES_AT,
    WOKEN,
    WOKEN_AT,
    ZEROS_AT,
)
from stairs.feedback.waiting_kernels import read_entries
from stairs.feedback.waking_kernels import close_up, wake
from stairs.kernel import kernel, part
from stairs.layout import (
    BASE,
    CAPACITY,
    EVENTS,
    FROM,
    LONGS,
    LOW,
    RECORDS,
    TAIL,
    TO,
)
from stairs.lowlevel.address import data_of, pointer
from stairs.lowlevel.ticks import ticks
from stairs.program_kernels import ASK, KIND, OPERATION, meta_at, run, state_at
from stairs.program_kernels import SOURCE as UNIT_AT
from stairs.program_kernels import TARGET as EDGE_AT
from stairs.ring_kernels import keep


@part
def flags_on(desk):
    return carray(pointer(desk[FLAGS_AT]), (desk[ENTERED],), np.uint8)


@kernel(nb.int64(LONGS, LONGS), makes_arrays=True)
def retake(unit, desk):
    """What was woken is judged by the marks before the batch."""
    desk[ENTERED] = desk[BROUGHT] = desk[LEFT] = unit[WOKEN]
    if unit[WOKEN] > desk[SPACE]:
        return 0
    desk[ROWS_AT], desk[MOMENTS_AT], desk[LACKED] = unit[WOKEN_AT], desk[ZEROS_AT], -1
    flags = flags_on(desk)
    flags[:] = 1
    return 1


@kernel(nb.int64(LONGS, LONGS), makes_arrays=True)
def take_rows(unit, desk):
    """The rows of a stream that have come with the batch, as far as they are kept."""
    n = desk[ENTERED] = desk[BROUGHT] = desk[LEFT] = unit[COUNT]
    if n > desk[SPACE]:
        return 0
    if n == 0:
        return 1
    first = meta_at(unit[SOURCE])[BASE]
    rows = carray(pointer(desk[COPIES_AT]), (n,), np.int32)
    for i in range(n):
        rows[i] = np.int32(first + i)
    flags = flags_on(desk)
    flags[:] = 1
    if unit[KEPT_OF] != 0:
        kept = carray(pointer(data_of(unit[KEPT_OF])), (n,), np.uint8)
        desk[LEFT] = 0
        for i in range(n):
            flags[i] = kept[i]
            desk[LEFT] += np.int64(kept[i])
        desk[BROUGHT] = desk[LEFT]
    desk[ROWS_AT], desk[MOMENTS_AT], desk[LACKED] = desk[COPIES_AT], data_of(unit[EVENTS_OF]), -1
    return 1


@kernel(nb.int64(LONGS, LONGS), makes_arrays=True)
def take_composites(unit, desk):
    """Composites that are about to be stored. While there are holes none waits: to fill one would make it once more."""
    meta, k = meta_at(unit[STAIR]), unit[COMPONENTS]
    n = meta[TO] - meta[FROM] if desk[COMPLETE] != 0 else 0
    desk[ENTERED] = desk[BROUGHT] = desk[LEFT] = n
    if n > desk[SPACE]:
        return 0
    unit[ARRIVED] += meta[TO] - meta[FROM]
    if n > 0:
        read_entries(state_at(unit[STAIR]), meta[FROM], carray(pointer(desk[COPIES_AT]), (n, k), np.int32))
        desk[ROWS_AT], desk[MOMENTS_AT] = desk[COPIES_AT], meta[EVENTS] + 4 * (meta[FROM] - meta[BASE])
        desk[LACKED] = -1
        flags = flags_on(desk)
        flags[:] = 1
    return 1


@kernel(nb.int64(LONGS, LONGS, LONGS, RECORDS), makes_arrays=True)
def judge(unit, edge, desk, marks):
    """Suspend the entries on the desk for which nothing is there; 0 if there is no room for them."""
    if desk[LEFT] == 0 or edge[AWAKE] == 0:
        return 1
    n = desk[ENTERED]
    rows, flags = carray(pointer(desk[ROWS_AT]), (n, unit[COMPONENTS]), np.int32), flags_on(desk)
    keys = carray(pointer(desk[WISHES_AT]), (n,), np.int64)
    if desk[LACKED] < 0:
        if not is_ready(edge):
            return 0
        moments = carray(pointer(desk[MOMENTS_AT]), (n,), np.int32)
        room = carray(pointer(desk[KEYS_AT]), (desk[KEYS],), np.int64)
        desk[LACKED] = find(edge, rows, marks, moments, flags, keys, room)
        edge[JUDGED] += desk[LEFT]
        edge[FAILED] += desk[LACKED]
    failed = desk[LACKED]
    if failed > 0:
        meta = meta_at(edge[BLACKLIST])
        if meta[TAIL] - meta[LOW] + failed > meta[CAPACITY]:
            return 0
        suspend(edge, rows, keys, flags)
        edge[EVER_SUSPENDED] += failed
        desk[LEFT] -= failed
    desk[LACKED] = -1
    return 1


@kernel(nb.int64(LONGS, LONGS), makes_arrays=True)
def return_woken(unit, desk):
    """What was woken, and lacks nothing, comes back."""
    n, k = desk[ENTERED], unit[COMPONENTS]
    if desk[LEFT] < n:
        unit[WOKEN] = close_up(carray(pointer(unit[WOKEN_AT]), (n, k), np.int32), flags_on(desk))
    return 1


@kernel(nb.int64(LONGS, LONGS), makes_arrays=True)
def settle(unit, desk):
    """What has come and does not wait can be found from now on."""
    n = desk[ENTERED]
    if n == 0:
        return 1
    unit[SUSPENDED] += desk[BROUGHT] - desk[LEFT]
    flags = flags_on(desk)
    if unit[LEAVES] > 0:
        events = carray(pointer(data_of(unit[EVENTS_OF])), (n,), np.int32)
        admit(carray(pointer(unit[LEAVES_AT]), (unit[LEAVES],), np.int64), events, flags)
    elif desk[LEFT] < n:
        meta = meta_at(unit[STAIR])
        keep(state_at(unit[STAIR]), meta[FROM], flags)
        meta[TO] = meta[TAIL]
    return 1


@kernel(nb.int64(LONGS, LONGS, RECORDS, LONGS, RECORDS), makes_arrays=True)
def visit(order, desk, marks, newest, waiting):
    """Follow one instruction; 1 when done, 0 if it is left to the caller."""
    kind = order[KIND]
    unit = carray(pointer(order[UNIT_AT]), (UNIT,), np.int64)
    edge = carray(pointer(order[EDGE_AT]), (EDGE,), np.int64)
    if kind == WAKE:
        return wake(unit, edge, desk, marks)
    if kind == JUDGE:
        return judge(unit, edge, desk, marks)
    if kind == RETAKE:
        return retake(unit, desk)
    if kind == RETURN:
        return return_woken(unit, desk)
    if kind == TAKE:
        return take_rows(unit, desk) if unit[LEAVES] > 0 else take_composites(unit, desk)
    if kind == SETTLE:
        return settle(unit, desk)
    if kind == REVIVE:
        return revive(unit, desk, marks, newest)
    return carry(carray(pointer(order[EDGE_AT]), (STEP,), np.int64), desk, newest, waiting)


@kernel(
    nb.int64(nb.int64[:, ::1], nb.int64, nb.int64, nb.int64, RECORDS, LONGS, RECORDS, LONGS, LONGS),
    makes_arrays=True,
)
def run_visits(program, at, stop, results, marks, cursor, waiting, desk, newest):
    """`run` with visits: follow the instructions at..stop; returns where it stopped. Units are told what it took."""
    while at < stop:
        at = run(program, at, stop, results, marks, cursor, waiting)
        if at == stop or program[at, OPERATION] != ASK or program[at, KIND] == 0:
            return at
        begun, unit, done = ticks(), program[at, UNIT_AT], 1
        while at < stop and program[at, OPERATION] == ASK and program[at, KIND] != 0 and done != 0:
            if program[at, UNIT_AT] != unit:
                ended = ticks()
                carray(pointer(unit), (UNIT,), np.int64)[SPENT] += ended - begun
                begun, unit = ended, program[at, UNIT_AT]
            done = visit(program[at], desk, marks, newest, waiting)
            at += done
        carray(pointer(unit), (UNIT,), np.int64)[SPENT] += ticks() - begun
        if done == 0:
            return at
    return at
