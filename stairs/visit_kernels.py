"""Visits: in the middle of a batch, what waits is woken, and what is new is judged, without leaving the kernel.

A visit is a few instructions of a program, between those that join. What needs more than kernels, a ring that must grow
or a join that is more than a probe, is left to the caller, as in `program_kernels`.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from stairs.address import data_of, pointer
from stairs.hiding_kernels import admit, list_linked, reveal
from stairs.judging_kernels import find, is_ready, lines, suspend
from stairs.kernel import kernel, part
from stairs.key_kernels import link
from stairs.layout import (
    BASE,
    CAPACITY,
    EVENTS,
    FLAGS,
    FROM,
    INTS,
    LONGS,
    LOW,
    NEXT,
    RECORDS,
    ROOM,
    ROWS,
    STATE,
    TAIL,
    TO,
    WAITING,
)
from stairs.probe_kernels import FILLING, SCAN_FILLING
from stairs.program_kernels import ASK, KIND, OPERATION, meta_at, run, state_at
from stairs.program_kernels import SOURCE as UNIT_AT
from stairs.program_kernels import TARGET as EDGE_AT
from stairs.raw import long_at
from stairs.recipe_kernels import record_at, rekey_by
from stairs.ring_kernels import keep
from stairs.sieve_kernels import turn
from stairs.ticks import ticks
from stairs.visit_layout import (
    ARRIVED,
    AWAKE,
    BLACKLIST,
    BOTH_AT,
    BROUGHT,
    CARRIED,
    CLOSED_AT,
    COMPLETE,
    COMPONENTS,
    COPIES_AT,
    COUNT,
    CURSOR,
    EDGE,
    EDGES,
    EDGES_AT,
    ENTERED,
    ENTRIES,
    EVENTS_OF,
    EVER_SUSPENDED,
    FAILED,
    FIRST,
    FLAGS_AT,
    INTO,
    JUDGE,
    JUDGED,
    KEPT_OF,
    KEYS,
    KEYS_AT,
    LACKED,
    LACKING,
    LEAVES,
    LEAVES_AT,
    LEFT,
    LOOKED,
    MARKED,
    MOMENTS_AT,
    NANOSECONDS,
    NESTED,
    PAST_AT,
    PLACE_AT,
    PLAIN,
    RECIPE,
    RECIPE_AT,
    RESUMED,
    RESUMED_AT,
    RETAKE,
    RETURN,
    REVIVE,
    ROWS_AT,
    SETTLE,
    SIZE,
    SOURCE,
    SPACE,
    SPENT,
    STAIR,
    START,
    STEP,
    STOP,
    SUSPENDED,
    TAKE,
    TAKEN,
    TARGET,
    UNIT,
    USUAL,
    VERIFIED,
    VERIFIED_AT,
    WAKE,
    WISHES_AT,
    WOKEN,
    WOKEN_AT,
    ZEROS_AT,
)
from stairs.waiting_kernels import copy_rows, read_entries
from stairs.waking_kernels import close_up, wake


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


@kernel(nb.int64(LONGS, LONGS, RECORDS, LONGS), makes_arrays=True)
def revive(unit, desk, marks, newest):
    """Rows that were woken can be found again, and are on their way; 0 if that must be done by the caller.

    They are older than every event of the batch: by the marks that they go by nothing that has come with it is live.
    """
    n = unit[WOKEN]
    desk[START] = desk[STOP] = desk[RESUMED_AT] = 0
    if n == 0:
        return 1
    if desk[COMPLETE] == 0 or unit[LEAVES] == 0:
        return 0
    rows, entries = carray(pointer(unit[WOKEN_AT]), (n,), np.int32), unit[ENTRIES]
    if entries != 0:
        meta = meta_at(entries)
        if n > meta[ROOM] or n > meta[CAPACITY]:
            return 0
        meta[LOW] = meta[BASE] = meta[TAIL] = 0
        copy_rows(state_at(unit[SOURCE]), rows, state_at(entries))
        desk[CARRIED], desk[STOP] = entries, n
        past = carray(pointer(desk[PAST_AT]), (2, newest.shape[0]), np.int32)
        for s in range(newest.shape[0]):
            past[0, s], past[1, s] = marks[0, s], np.int32(newest[s])
    reveal(carray(pointer(unit[LEAVES_AT]), (unit[LEAVES],), np.int64), rows)
    unit[RESUMED] += n
    return 1


@kernel(nb.void(STATE, nb.int64, nb.int64[:, ::1]))
def keep_verified(out, first, verified):
    """Of the entries from ``first`` on those stay whose components are alike: a line for each attribute has one, its
    leaf, the other and its leaf."""
    records, _, events, meta = out
    mask, tail = records.shape[0] - 1, first
    for entry in range(first, meta[TAIL]):
        slot, copy, same = np.uint64(entry & mask), np.uint64(tail & mask), True
        for j in range(verified.shape[0]):
            one = long_at(record_at(verified[j, 1], records[slot, ROWS + verified[j, 0]]))
            same &= one == long_at(record_at(verified[j, 3], records[slot, ROWS + verified[j, 2]]))
        if same:
            for j in range(records.shape[1]):
                records[copy, j] = records[slot, j]
            records[copy, NEXT] = np.int32(tail)
            events[tail - meta[BASE]] = events[entry - meta[BASE]]
            tail += 1
    meta[TAIL] = tail


@kernel(nb.int64(LONGS, LONGS, LONGS, RECORDS), makes_arrays=True)
def carry(step, desk, newest, waiting):
    """Take entries on their way to the next STAIR; 0 if that is full, or it takes more than a join."""
    if desk[START] == desk[STOP]:
        return 1
    if step[PLAIN] == 0:
        return 0
    source, target, out = state_at(desk[CARRIED]), state_at(step[TARGET]), state_at(step[INTO])
    sources, targets = source[0].shape[1] - ROWS, target[0].shape[1] - ROWS
    place = carray(pointer(step[PLACE_AT]), (sources + targets,), np.int64)
    streams = carray(pointer(step[BOTH_AT]), (sources + targets,), np.int64)
    marks = carray(pointer(desk[PAST_AT]), (2, newest.shape[0]), np.int32)
    cursor = desk[CURSOR:]
    if desk[RESUMED_AT] == 0:
        cursor[0], cursor[1], cursor[2], cursor[3] = desk[START], desk[STOP], 0, 0
        desk[FIRST], desk[RESUMED_AT] = out[3][TAIL], 1
    if step[NESTED] != 0:
        done = SCAN_FILLING(source, target, out, place, streams, marks, cursor, waiting)
    else:
        done = FILLING(source, target, out, place, streams, marks, cursor, waiting)
    if done == 0:
        return 0
    desk[RESUMED_AT] = 0
    if step[VERIFIED] > 0:
        keep_verified(out, desk[FIRST], carray(pointer(step[VERIFIED_AT]), (step[VERIFIED], 4), np.int64))
    desk[CARRIED], desk[START], desk[STOP] = step[INTO], desk[FIRST], out[3][TAIL]
    if desk[START] < desk[STOP]:
        if step[RECIPE] > 0:
            rekey_by(lines(step, RECIPE_AT, RECIPE), out, desk[START], desk[STOP])
        link(out, desk[START], desk[STOP], carray(pointer(0), (0,), np.uint8))
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
    """`run` with visits: follow the instructions at..stop; returns where it stopped. The time that visits take goes to
    their edges, or to their units where it is not that of one edge."""
    while at < stop:
        at = run(program, at, stop, results, marks, cursor, waiting)
        if at == stop or program[at, OPERATION] != ASK or program[at, KIND] == 0:
            return at
        begun = ticks()
        while at < stop and program[at, OPERATION] == ASK and program[at, KIND] != 0:
            order = program[at]
            done = visit(order, desk, marks, newest, waiting)
            ended = ticks()
            if order[KIND] == WAKE or order[KIND] == JUDGE:
                carray(pointer(order[EDGE_AT]), (EDGE,), np.int64)[TAKEN] += ended - begun
            else:
                carray(pointer(order[UNIT_AT]), (UNIT,), np.int64)[SPENT] += ended - begun
            begun = ended
            if done == 0:
                return at
            at += 1
    return at


@kernel(nb.int64(LONGS, LONGS, LONGS, LONGS), makes_arrays=True)
def begin_visits(units, edges, lows, counts):
    """A batch begins: nothing was woken yet, nothing has come; blacklists have lost what is dead. Returns how many
    entries wait."""
    left = 0
    for i in range(units.shape[0]):
        unit = carray(pointer(units[i]), (UNIT,), np.int64)
        unit[COUNT] = unit[WOKEN] = 0
    for i in range(edges.shape[0]):
        edge = carray(pointer(edges[i]), (EDGE,), np.int64)
        meta = meta_at(edge[BLACKLIST])
        meta[WAITING] = min(meta[WAITING], meta[TAIL] - meta[LOW])
        left += meta[WAITING]
        if edge[CLOSED_AT] != 0 and edge[SIZE] > 0 and edge[AWAKE] != 0:
            turn(edge, lows, counts)
    return left


UNUSUAL, FADING = 4, 8
"""On a shared machine a thread may have to wait: no more than so many times what is usual counts. Of what is usual the
last batch is one part in so many."""


@kernel(nb.int64(LONGS), makes_arrays=True)
def end_visits(units):
    """A batch is over: edges are charged with what it took, what was not the work of one alone by what each has done.
    Returns nanoseconds."""
    total = 0
    for i in range(units.shape[0]):
        unit = carray(pointer(units[i]), (UNIT,), np.int64)
        edges = carray(pointer(unit[EDGES_AT]), (unit[EDGES],), np.int64)
        done = 0
        for j in range(edges.shape[0]):
            edge = carray(pointer(edges[j]), (EDGE,), np.int64)
            done += 1 + edge[JUDGED] + edge[LOOKED]
        total += unit[SPENT]
        for j in range(edges.shape[0]):
            edge = carray(pointer(edges[j]), (EDGE,), np.int64)
            total += edge[TAKEN]
            took = edge[TAKEN] + unit[SPENT] * (1 + edge[JUDGED] + edge[LOOKED]) // done
            usual = edge[USUAL] if edge[USUAL] > 0 else took
            edge[NANOSECONDS] += min(took, UNUSUAL * usual)
            edge[USUAL] = usual + (took - usual) // FADING
            edge[TAKEN] = 0
        unit[SPENT] = 0
    return total


@kernel(nb.int64(LONGS, RECORDS, RECORDS, INTS, FLAGS, nb.int64[:, ::1], LONGS, LONGS), makes_arrays=True)
def judge_again(unit, floor, rows, moments, flags, keys, counts, room):
    """Look which rows of a stream that can be found lack something; how many can be found. Those that lack something at
    its first edge get the flag MARKED, at the next one more, and so on; ``counts`` tells how many. ``keys`` gets a line
    for each edge."""
    state = state_at(unit[SOURCE])
    n = list_linked(state, carray(pointer(rows.ctypes.data), (rows.shape[0],), np.int32))
    edges = carray(pointer(unit[EDGES_AT]), (unit[EDGES],), np.int64)
    for j in range(edges.shape[0]):
        edge, counts[j] = carray(pointer(edges[j]), (EDGE,), np.int64), 0
        if edge[AWAKE] != 0:
            counts[j] = find(edge, rows[:n], floor, moments[:n], flags[:n], keys[j, :n], room)
            for i in range(n if counts[j] > 0 else 0):
                if flags[i] == LACKING:
                    flags[i] = MARKED + j
    return n
