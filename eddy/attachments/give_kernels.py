"""What a stage gives for what has happened, once it is known which pairs hold.

Final: a composite or a row that ends and never had a partner is given then, and is past. Changes: what is given holds
at every event; whether a composite has a partner is compared before and after each event, so that nothing is withdrawn
and given again at one.
"""

from __future__ import annotations

from numba import boolean, int64

from eddy.attachments.flags import (
    ANTI,
    CHANGES,
    FURTHER,
    KEEPS_LEFT,
    KEEPS_RIGHT,
    NEAREST,
    PAIRS,
    SEMI,
)
from eddy.attachments.layout import (
    BIRTH,
    COME,
    DIE,
    ENTRIES,
    LEAVE,
    MADE,
    NODES,
    NONE,
    PARTNERS,
    PAST,
    RIGHT,
    ROW_PARTNERS,
    ROW_WAS,
    ROW_WHEN,
    ROWS,
    STAMP,
    WAS,
    WHEN,
)
from eddy.attachments.table_kernels import SOON, leave_node
from stairs.kernel import kernel, part
from stairs.lowlevel.prefetch import prefetch

NEW, GONE = -2, -3
"""In the place of a number of partners: it came at this event, or it went."""


@part
def _put(made, many, sign, event, births, line):
    made.signs[many], made.events[many] = sign, event
    for c in range(made.births.shape[1]):
        made.births[many, c] = births[line, c]
    return many + 1


@part
def _composite(made, many, entries, entry, place, row, sign, event, births, line):
    """Give a composite with a row of the stream, or without one; returns how many are given."""
    for c in range(made.rows.shape[1]):
        made.rows[many, c] = entries.rows[entry, c]
    made.rows[many, place] = row
    return _put(made, many, sign, event, births, line)


@part
def _row(made, many, place, row, sign, event, births, line):
    """Give a row of the stream without a composite."""
    for c in range(made.rows.shape[1]):
        made.rows[many, c] = NONE
    made.rows[many, place] = row
    return _put(made, many, sign, event, births, line)


@part
def _touch_entry(entries, entry, stamp, touched, touching):
    """Remember how many partners there were before this event, and list it as one that the event concerns."""
    if entries.lines[entry, WHEN] != stamp:
        entries.lines[entry, WHEN] = stamp
        entries.lines[entry, WAS] = entries.lines[entry, PARTNERS]
        touched[touching] = entry
        touching += 1
    return touching


@part
def _touch_row(rows, row, stamp, touched, touching):
    """The same of a row."""
    slot = row & (rows.links.shape[0] - 1)
    if rows.counts[slot, ROW_WHEN] != stamp:
        rows.counts[slot, ROW_WHEN] = stamp
        rows.counts[slot, ROW_WAS] = rows.counts[slot, ROW_PARTNERS]
        touched[touching] = -1 - row
        touching += 1
    return touching


@part
def _pairs_of(
    ops, o, pairs, hold, made, many, right, entries, nodes, rows, numbers, flags, place, touched, touching
):
    """Give the pairs of what has happened, and count them; returns how many partners there are, too."""
    kind, event, all_hold = ops[o, 0], ops[o, 2], hold.shape[0] == 0
    changes, stamp, partners = flags & CHANGES, numbers[STAMP] + event, 0
    sign = -1 if kind == DIE or kind == LEAVE else 0 if kind == PAST else 1
    told = flags & PAIRS and (sign >= 0 or changes or flags & FURTHER)
    for k in range(ops[o, 3], ops[o, 4]):
        if k + SOON < pairs.shape[0]:
            prefetch(entries.rows, pairs[k + SOON, 0])
            prefetch(entries.lines, pairs[k + SOON, 0])
        if not (all_hold or hold[k]):
            continue
        partners += 1
        entry, row = pairs[k, 0], pairs[k, 1]
        if told and sign:
            many = _composite(made, many, entries, entry, place, row, sign, event, right.born, event)
        elif told:
            many = _composite(made, many, entries, entry, place, row, 0, event, entries.births, entry)
        if kind == COME or (kind == LEAVE and changes):
            if changes:
                touching = _touch_entry(entries, entry, stamp, touched, touching)
            elif entries.lines[entry, PARTNERS] == 0 and flags & SEMI:
                many = _composite(made, many, entries, entry, place, NONE, 1, event, right.born, event)
            entries.lines[entry, PARTNERS] += sign
            if not changes and flags & (SEMI | ANTI):
                leave_node(entry, entries, nodes)
        elif flags & KEEPS_RIGHT:
            slot = row & (rows.links.shape[0] - 1)
            if changes:
                touching = _touch_row(rows, row, stamp, touched, touching)
            if changes or sign > 0:
                rows.counts[slot, ROW_PARTNERS] += sign
    return partners, many, touching


@part
def _of_row(kind, which, event, partners, made, many, right, rows, numbers, flags, place, touched, touching):
    """What a row gives by itself that comes or leaves."""
    slot, stamp, changes = which & (rows.links.shape[0] - 1), numbers[STAMP] + event, flags & CHANGES
    had = rows.counts[slot, ROW_PARTNERS]
    if kind == COME:
        rows.counts[slot, ROW_PARTNERS] = partners
    elif changes and rows.counts[slot, ROW_WHEN] == stamp:
        had = rows.counts[slot, ROW_WAS]
    rows.counts[slot, ROW_WHEN], rows.counts[slot, ROW_WAS] = stamp, NEW if kind == COME else GONE
    if kind == COME and changes:
        touched[touching] = -1 - which
        touching += 1
    elif kind == LEAVE and had == 0 and changes:
        many = _row(made, many, place, which, -1, event, right.born, event)
    elif kind == LEAVE and had == 0:
        many = _row(made, many, place, which, 0, event, rows.births, slot)
    return many, touching


@part
def _of_composite(
    kind, which, event, partners, made, many, right, entries, numbers, flags, place, touched, touching
):
    """What a composite gives by itself that comes or goes."""
    changes, fixed = flags & CHANGES, flags & NEAREST
    sign = -1 if kind == DIE else 0 if kind == PAST else 1
    if kind != DIE:
        entries.lines[which, PARTNERS] = partners
    had = entries.lines[which, PARTNERS]
    out, known = False, sign
    if had == 0 and flags & (KEEPS_LEFT | ANTI):
        out = True
        if not fixed and not changes:  # it is known at its end
            out, known = kind != BIRTH, 0
        elif kind == DIE:
            out = changes or flags & FURTHER
    elif flags & SEMI and had > 0:
        out = kind != DIE or changes or flags & FURTHER
    if kind == BIRTH and changes and not fixed:  # rows of the same event may still be its partners
        touched[touching] = which
        touching += 1
    elif out and known:
        many = _composite(made, many, entries, which, place, NONE, known, event, right.born, event)
    elif out:
        many = _composite(made, many, entries, which, place, NONE, 0, event, entries.births, which)
    entries.lines[which, WHEN] = numbers[STAMP] + event
    entries.lines[which, WAS] = NEW if kind == BIRTH else GONE
    return many, touching


@part
def _after_event(event, made, many, right, entries, rows, flags, place, touched, touching):
    """Compare what an event has touched with what was before it."""
    for t in range(touching):
        right_side = touched[t] < 0
        which = -1 - touched[t] if right_side else touched[t]
        if right_side:
            slot = which & (rows.links.shape[0] - 1)
            was, now = rows.counts[slot, ROW_WAS], rows.counts[slot, ROW_PARTNERS]
        else:
            was, now = entries.lines[which, WAS], entries.lines[which, PARTNERS]
        asked = flags & SEMI and not right_side
        before = was >= 0 and (was > 0 if asked else was == 0)
        after = was != GONE and (now > 0 if asked else now == 0)
        if before == after:
            continue
        if right_side:
            many = _row(made, many, place, which, 1 if after else -1, event, right.born, event)
        elif asked or flags & (KEEPS_LEFT | ANTI):
            sign = 1 if after else -1
            many = _composite(made, many, entries, which, place, NONE, sign, event, right.born, event)
    return many


@kernel(
    int64(
        int64[:, ::1], int64[:, ::1], boolean[::1], RIGHT, ENTRIES, NODES, ROWS, int64[::1], int64, int64,
        MADE, int64[::1],
    )
)  # fmt: skip
def give(ops, pairs, hold, right, entries, nodes, rows, numbers, flags, place, made, touched):
    """What ``ops`` bring, as `find` has noted them; ``hold`` says of each pair whether it does, or of none if all do.

    ``place`` is that of the stream in the rows of composites. ``made`` has room for two for each pair and each event,
    and ``touched`` for one. Returns how many are given; those of one event come in no order.
    """
    many, touching = 0, 0
    for o in range(ops.shape[0]):
        kind, which, event = ops[o, 0], ops[o, 1], ops[o, 2]
        partners, many, touching = _pairs_of(
            ops,
            o,
            pairs,
            hold,
            made,
            many,
            right,
            entries,
            nodes,
            rows,
            numbers,
            flags,
            place,
            touched,
            touching,
        )
        if kind != COME and kind != LEAVE:
            many, touching = _of_composite(
                kind,
                which,
                event,
                partners,
                made,
                many,
                right,
                entries,
                numbers,
                flags,
                place,
                touched,
                touching,
            )
            if kind == BIRTH and partners and not flags & CHANGES and flags & (SEMI | ANTI):
                leave_node(which, entries, nodes)
        elif flags & KEEPS_RIGHT:
            many, touching = _of_row(
                kind,
                which,
                event,
                partners,
                made,
                many,
                right,
                rows,
                numbers,
                flags,
                place,
                touched,
                touching,
            )
        if o + 1 == ops.shape[0] or ops[o + 1, 2] != event:
            many = _after_event(event, made, many, right, entries, rows, flags, place, touched, touching)
            touching = 0
    return many
