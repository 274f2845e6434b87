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
from stairs.feedback.suppression_kernels import list_restored, suppress, suppress_new
from stairs.feedback.visit_layout import (
    CARRY,
    JUDGE,
    LINK,
    RESTORE,
    RETAKE,
    RETURN,
    REVIVE,
    TAKE,
    WAKE,
    Edge,
    Unit,
    Work,
    edge_at,
    step_at,
    unit_at,
    work_at,
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
from stairs.program_kernels import ASK, JOIN, KIND, OPERATION, OUT, RESUMED, meta_at, run, state_at
from stairs.program_kernels import SOURCE as UNIT_AT
from stairs.program_kernels import TARGET as EDGE_AT
from stairs.ring_kernels import keep


@part
def flags_on(work):
    return carray(pointer(work.flags), (work.entered,), np.uint8)


@kernel(nb.int64(Unit, Work), makes_arrays=True)
def retake(unit, work):
    """What was woken is judged by the marks before the batch."""
    work.entered = work.brought = work.left = unit.woken_count
    if unit.woken_count > work.space:
        return 0
    work.rows, work.moments, work.lacked = unit.woken, work.zeros, -1
    flags = flags_on(work)
    flags[:] = 1
    return 1


@kernel(nb.int64(Unit, Work), makes_arrays=True)
def take_rows(unit, work):
    """The rows of a stream that have come with the batch, as far as they are kept."""
    n = work.entered = work.brought = work.left = unit.count
    if n > work.space:
        return 0
    if n == 0:
        return 1
    first = meta_at(unit.source)[BASE]
    rows = carray(pointer(work.copies), (n,), np.int32)
    for i in range(n):
        rows[i] = np.int32(first + i)
    flags = flags_on(work)
    flags[:] = 1
    if unit.kept != 0:
        kept = carray(pointer(data_of(unit.kept)), (n,), np.uint8)
        work.left = 0
        for i in range(n):
            flags[i] = kept[i]
            work.left += np.int64(kept[i])
        work.brought = work.left
    work.rows, work.moments, work.lacked = work.copies, data_of(unit.events), -1
    return 1


@kernel(nb.int64(Unit, Work), makes_arrays=True)
def take_composites(unit, work):
    """Composites that are about to be stored. While there are holes none waits: to fill one would make it once more."""
    meta, k = meta_at(unit.stair), unit.components
    n = meta[TO] - meta[FROM] if work.complete != 0 else 0
    work.entered = work.brought = work.left = n
    if n > work.space:
        return 0
    unit.arrived += meta[TO] - meta[FROM]
    if n > 0:
        read_entries(state_at(unit.stair), meta[FROM], carray(pointer(work.copies), (n, k), np.int32))
        work.rows, work.moments = work.copies, meta[EVENTS] + 4 * (meta[FROM] - meta[BASE])
        work.lacked = -1
        flags = flags_on(work)
        flags[:] = 1
    return 1


@kernel(nb.int64(Unit, Edge, Work, RECORDS), makes_arrays=True)
def judge(unit, edge, work, marks):
    """Suspend the entries at hand for which nothing is there; 0 if there is no room for them."""
    if work.left == 0 or edge.awake == 0:
        return 1
    n = work.entered
    rows, flags = carray(pointer(work.rows), (n, unit.components), np.int32), flags_on(work)
    keys = carray(pointer(work.wishes), (n,), np.int64)
    if work.lacked < 0:
        if not is_ready(edge):
            return 0
        moments = carray(pointer(work.moments), (n,), np.int32)
        room = carray(pointer(work.keys), (work.key_count,), np.int64)
        work.lacked = find(edge, rows, marks, moments, flags, keys, room)
        edge.judged += work.left
        edge.failed += work.lacked
    failed = work.lacked
    if failed > 0:
        meta = meta_at(edge.blacklist)
        if meta[TAIL] - meta[LOW] + failed > meta[CAPACITY]:
            return 0
        suspend(edge, rows, keys, flags)
        edge.suspended += failed
        work.left -= failed
    work.lacked = -1
    return 1


@kernel(nb.int64(Unit, Work), makes_arrays=True)
def return_woken(unit, work):
    """What was woken, and lacks nothing, comes back."""
    n, k = work.entered, unit.components
    if work.left < n:
        unit.woken_count = close_up(carray(pointer(unit.woken), (n, k), np.int32), flags_on(work))
    return 1


@kernel(nb.int64(Unit, Work), makes_arrays=True)
def link_new(unit, work):
    """What has come and does not wait can be found from now on."""
    n = work.entered
    if n == 0:
        return 1
    unit.suspended += work.brought - work.left
    flags = flags_on(work)
    if unit.leaf_count > 0:
        events = carray(pointer(data_of(unit.events)), (n,), np.int32)
        admit(carray(pointer(unit.leaves), (unit.leaf_count,), np.int64), events, flags)
    elif work.left < n:
        meta = meta_at(unit.stair)
        keep(state_at(unit.stair), meta[FROM], flags)
        meta[TO] = meta[TAIL]
    return 1


@kernel(nb.int64(LONGS, Work, RECORDS, LONGS, RECORDS), makes_arrays=True)
def visit(order, work, marks, newest, waiting):
    """Follow one instruction; 1 when done, 0 if it is left to the caller."""
    kind = order[KIND]
    unit, edge = unit_at(order[UNIT_AT]), edge_at(order[EDGE_AT])
    if kind == WAKE:
        return wake(unit, edge, work, marks)
    if kind == JUDGE:
        return judge(unit, edge, work, marks)
    if kind == RETAKE:
        return retake(unit, work)
    if kind == RETURN:
        return return_woken(unit, work)
    if kind == TAKE:
        return take_rows(unit, work) if unit.leaf_count > 0 else take_composites(unit, work)
    if kind == LINK:
        return link_new(unit, work)
    if kind == REVIVE:
        return revive(unit, work, marks, newest)
    if kind == CARRY:
        return carry(step_at(order[EDGE_AT]), work, newest, waiting)
    if kind == RESTORE:
        work.restored = list_restored(edge, work)
        return 1 if work.restored == 0 else 0
    return suppress_new(unit, edge, work, marks)


@kernel(nb.boolean(LONGS, Work, RECORDS), makes_arrays=True)
def make_room(order, work, marks):
    """A join has filled its ring: suppress what nothing matches of it. Whether that has made much room."""
    table = carray(pointer(work.suppressions), (work.suppression_count, 3), np.int64)
    for i in range(work.suppression_count):
        if table[i, 0] == order[OUT]:
            meta, edge, begun = meta_at(order[OUT]), edge_at(table[i, 1]), ticks()
            there = meta[TAIL] - meta[FROM]
            failed = suppress(edge, work, marks, order[OUT], meta[FROM])
            edge.judged += max(failed, 0)
            work.short = table[i, 1] if failed < 0 else 0
            unit_at(table[i, 2]).spent += ticks() - begun
            return failed > 0 and 2 * failed >= there
    return False


@kernel(
    nb.int64(nb.int64[:, ::1], nb.int64, nb.int64, nb.int64, RECORDS, LONGS, RECORDS, nb.int64, LONGS),
    makes_arrays=True,
)
def run_visits(program, at, stop, results, marks, cursor, waiting, work, newest):
    """`run` with visits: follow the instructions at..stop; returns where it stopped. Units are told what it took.

    ``work`` is the address of a WORK.
    """
    while at < stop:
        at = run(program, at, stop, results, marks, cursor, waiting)
        if at < stop and program[at, OPERATION] == JOIN and cursor[RESUMED] != 0:
            if make_room(program[at], work_at(work), marks):
                continue
            return at
        if at == stop or program[at, OPERATION] != ASK or program[at, KIND] == 0:
            return at
        begun, unit, done = ticks(), program[at, UNIT_AT], 1
        while at < stop and program[at, OPERATION] == ASK and program[at, KIND] != 0 and done != 0:
            if program[at, UNIT_AT] != unit:
                ended = ticks()
                unit_at(unit).spent += ended - begun
                begun, unit = ended, program[at, UNIT_AT]
            done = visit(program[at], work_at(work), marks, newest, waiting)
            at += done
        unit_at(unit).spent += ticks() - begun
        if done == 0:
            return at
    return at
