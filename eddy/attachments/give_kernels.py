"""What a stage gives for what has happened, once it is known which pairs hold.

Final: a composite or a row that ends and never had a partner is given then, and is past. Changes: what is given holds
at every event; whether a composite has a partner is compared before and after each event, so that nothing is withdrawn
and given again at one.
"""

from __future__ import annotations

import numpy as np
from numba import boolean, int64

from eddy.attachments.layout import (
    ANTI,
    BIRTH,
    CHANGES,
    CHOSEN,
    COME,
    DIE,
    ENTRIES,
    FURTHER,
    KEEPS_LEFT,
    KEEPS_RIGHT,
    LEAVE,
    MADE,
    NEAREST,
    NODES,
    NONE,
    PAIRS,
    PARTNERS,
    PAST,
    RIGHT,
    ROWS,
    SEMI,
    STAMP,
    WAS,
    WHEN,
    Made,
)
from eddy.attachments.table_kernels import free_entry, leave_node
from stairs.kernel import kernel, part

NEW, GONE = -2, -3
"""In the place of a number of partners: it came at this event, or it went."""


@part
def _room(made, many):
    """The same, with room for more."""
    if many < made.events.shape[0]:
        return made
    n = made.events.shape[0]
    rows = np.empty((2 * n, made.rows.shape[1]), np.int64)
    signs, events = np.empty(2 * n, np.int8), np.empty(2 * n, np.int32)
    births = np.empty((2 * n, made.births.shape[1]), np.int64)
    rows[:n], signs[:n], events[:n], births[:n] = made.rows, made.signs, made.events, made.births
    return Made(rows, signs, events, births)


@part
def _put(made, many, sign, event, place, row, births, line):
    made.rows[many, place] = row
    made.signs[many], made.events[many] = sign, event
    made.births[many] = births[line]


@part
def _touch(counts, which, stamp):
    """Remember how many partners there were before this event."""
    if counts[which, WHEN] != stamp:
        counts[which, WHEN] = stamp
        counts[which, WAS] = counts[which, PARTNERS]
        return True
    return False


@part
def _listed(touched, touching, which):
    """One more of those that the event concerns; rows are negative."""
    if touching == touched.shape[0]:
        more = np.empty(2 * touching, np.int64)
        more[:touching] = touched
        touched = more
    touched[touching] = which
    return touched, touching + 1


@kernel(
    MADE(int64[:, ::1], int64[:, ::1], boolean[::1], RIGHT, ENTRIES, NODES, ROWS, int64[::1], int64, int64),
    makes_arrays=True,
)
def give(ops, pairs, hold, right, entries, nodes, rows, numbers, flags, place):
    """What ``ops`` bring, as `find` has noted them; ``hold`` says of each pair whether it does, or of none if all do.

    ``place`` is that of the stream in the rows of composites. At one event what is given comes in no order.
    """
    n, mask, all_hold = entries.rows.shape[1], rows.nodes.shape[0] - 1, hold.shape[0] == 0
    made = Made(
        np.empty((256, n), np.int64), np.empty(256, np.int8), np.empty(256, np.int32),
        np.empty((256, entries.births.shape[1]), np.int64),
    )  # fmt: skip
    many = 0
    changes, keeps, fixed = flags & CHANGES, flags & (KEEPS_LEFT | ANTI), flags & NEAREST
    touched, touching = np.empty(256, np.int64), 0
    stamp = numbers[STAMP]
    for o in range(ops.shape[0]):
        kind, which, event = ops[o, 0], ops[o, 1], ops[o, 2]
        partners = 0
        sign = -1 if kind == DIE or kind == LEAVE else 0 if kind == PAST else 1
        told = flags & PAIRS and (sign >= 0 or changes or flags & FURTHER)
        for k in range(ops[o, 3], ops[o, 4]):
            if not (all_hold or hold[k]):
                continue
            partners += 1
            entry, row = pairs[k, 0], pairs[k, 1]
            if told:
                made = _room(made, many)
                made.rows[many] = entries.rows[entry]
                births, line = (right.born, event) if sign else (entries.births, entry)
                _put(made, many, sign, event, place, row, births, line)
                many += 1
            if kind == COME or (kind == LEAVE and changes):
                first = changes and _touch(entries.counts, entry, stamp + event)
                if first:
                    touched, touching = _listed(touched, touching, entry)
                elif not changes and entries.counts[entry, PARTNERS] == 0 and flags & SEMI:
                    made = _room(made, many)
                    made.rows[many] = entries.rows[entry]
                    _put(made, many, 1, event, place, NONE, right.born, event)
                    many += 1
                entries.counts[entry, PARTNERS] += sign
                if not changes and flags & (SEMI | ANTI):
                    leave_node(entry, entries, nodes, numbers)
            elif flags & KEEPS_RIGHT:
                slot = row & mask
                if changes and _touch(rows.counts, slot, stamp + event):
                    touched, touching = _listed(touched, touching, -1 - row)
                if changes or sign > 0:
                    rows.counts[slot, PARTNERS] += sign
        if kind == COME or kind == LEAVE:
            if flags & KEEPS_RIGHT:
                slot = which & mask
                had = rows.counts[slot, PARTNERS]
                if kind == COME:
                    had = rows.counts[slot, PARTNERS] = partners
                elif changes and rows.counts[slot, WHEN] == stamp + event:
                    had = rows.counts[slot, WAS]
                rows.counts[slot, WHEN], rows.counts[slot, WAS] = stamp + event, NEW if kind == COME else GONE
                if kind == COME and changes:
                    touched, touching = _listed(touched, touching, -1 - which)
                elif had == 0 and kind == LEAVE:
                    made = _room(made, many)
                    made.rows[many] = NONE
                    if changes:
                        _put(made, many, sign, event, place, which, right.born, event)
                    else:
                        _put(made, many, 0, event, place, which, rows.births, slot)
                    many += 1
        else:
            if kind == DIE:
                had = entries.counts[which, PARTNERS]
            else:
                had = entries.counts[which, PARTNERS] = partners
            alone = had == 0 and not (fixed and entries.counts[which, CHOSEN] >= 0)
            out, known = False, sign
            if alone and keeps:
                out = True
                if not fixed and not changes:  # it is known at its end
                    out, known = kind != BIRTH, 0
                elif kind == DIE:
                    out = changes or flags & FURTHER
            elif flags & SEMI and had > 0:
                out = kind != DIE or changes or flags & FURTHER
            if kind == BIRTH and changes and not fixed:  # rows of the same event may still be its partners
                touched, touching = _listed(touched, touching, which)
                out = False
            if out:
                made = _room(made, many)
                made.rows[many] = entries.rows[which]
                births, line = (right.born, event) if known else (entries.births, which)
                _put(made, many, known, event, place, NONE, births, line)
                many += 1
            entries.counts[which, WHEN], entries.counts[which, WAS] = (
                stamp + event,
                NEW if kind == BIRTH else GONE,
            )
            if kind == BIRTH and partners and not changes and flags & (SEMI | ANTI):
                leave_node(which, entries, nodes, numbers)
        if o + 1 < ops.shape[0] and ops[o + 1, 2] == event:
            continue
        for t in range(touching):
            right_side = touched[t] < 0
            which = -1 - touched[t] if right_side else touched[t]
            counts, line = (rows.counts, which & mask) if right_side else (entries.counts, which)
            was, now = counts[line, WAS], counts[line, PARTNERS]
            asked = flags & SEMI and not right_side
            given_before = was >= 0 and (was > 0 if asked else was == 0)
            given_now = was != GONE and (now > 0 if asked else now == 0)
            if given_before == given_now or not (right_side or keeps or asked):
                continue
            made = _room(made, many)
            if right_side:
                made.rows[many] = NONE
            else:
                made.rows[many] = entries.rows[which]
            row = which if right_side else NONE
            _put(made, many, 1 if given_now else -1, event, place, row, right.born, event)
            many += 1
        touching = 0
    for o in range(ops.shape[0]):
        if ops[o, 0] == DIE or ops[o, 0] == PAST:
            free_entry(ops[o, 1], entries, numbers)
    return Made(made.rows[:many], made.signs[:many], made.events[:many], made.births[:many])
