"""What happens in a batch, event by event, and which pairs of a composite and a row that concerns.

The order at each event: composites die, rows leave their window, composites that are past come, then the row of the
event, and last the composites that begin. A pair is noted with whichever of the two comes later, and again, where
somebody has to know of its end, with whichever goes first. Predicates beside the keys are tested afterwards, on all
pairs at once.
"""

from __future__ import annotations

import numpy as np
from numba import int64, types

from eddy.attachments.layout import (
    AFTER,
    BIRTH,
    CHANGES,
    CHOSEN,
    COME,
    DIE,
    ENTRIES,
    FIRST_ENTRY,
    FURTHER,
    HELD,
    KEEPS_RIGHT,
    LEAVE,
    LEFT,
    LIVE,
    NEAREST,
    NODE,
    NODES,
    NONE,
    OP,
    ORDERED,
    PARTNERS,
    PAST,
    RIGHT,
    ROW_NEXT,
    ROWS,
    SOLE,
    STRICT,
    WHEN,
)
from eddy.attachments.table_kernels import forget, join_node, leave_node, new_entry, node_of, remember
from stairs.kernel import kernel, part

PAIR_LIMIT = 1 << 20
"""Pairs after which an event is the last of its portion."""


@part
def _longer(array):
    longer = np.empty((2 * array.shape[0], array.shape[1]), np.int64)
    longer[: array.shape[0]] = array
    return longer


@part
def _noted(ops, many, kind, which, event, start, stop):
    if many == ops.shape[0]:
        ops = _longer(ops)
    ops[many, 0], ops[many, 1], ops[many, 2] = kind, which, event
    ops[many, 3], ops[many, 4] = start, stop
    return ops, many + 1


@part
def _paired(pairs, count, entry, row):
    if count == pairs.shape[0]:
        pairs = _longer(pairs)
    pairs[count, 0], pairs[count, 1] = entry, row
    return pairs, count + 1


@part
def _with_rows(pairs, count, entry, node, low, nodes, rows, sole):
    """An entry with the rows of its node from ``low`` on, or with the newest of them if one tells it all."""
    mask, row = rows.nodes.shape[0] - 1, nodes.newest[node]
    while row >= low:
        pairs, count = _paired(pairs, count, entry, row)
        if sole:
            break
        row = rows.before[row & mask]
    return pairs, count


@part
def _with_entries(pairs, count, row, node, nodes, entries):
    """A row with the entries of its node."""
    entry = nodes.links[node, FIRST_ENTRY]
    while entry >= 0:
        pairs, count = _paired(pairs, count, entry, row)
        entry = int64(entries.links[entry, AFTER])
    return pairs, count


@part
def _nearest(node, value, low, stop, nodes, rows, flags):
    """The row of a node from ``low`` up to ``stop`` that comes closest to a value from below; the newest of several."""
    mask, best = rows.nodes.shape[0] - 1, int64(NONE)
    row = nodes.newest[node]
    while row >= low:
        if row < stop:
            own = rows.values[row & mask]
            if (own < value or (own == value and not flags & STRICT)) and (
                best < 0 or own > rows.values[best & mask]
            ):
                best = row
                if flags & ORDERED:
                    break
        row = rows.before[row & mask]
    return best


@part
def _comes(left, i, past, low, place, ops, many, pairs, count, entries, nodes, rows, numbers, flags):
    """A composite comes: with its partners so far."""
    entry, start, node, chosen = new_entry(entries, numbers), count, int64(NONE), int64(NONE)
    entries.rows[entry] = left.rows[i]
    entries.births[entry] = left.births[i]
    if left.valid[i]:
        node = node_of(left.keys, i, nodes, numbers)
    since = left.births[i, place] if past else low
    if node >= 0 and flags & NEAREST:
        until = left.births[i, place + 1] if past else numbers[ROW_NEXT]
        chosen = _nearest(node, left.values[i], since, until, nodes, rows, flags)
        if chosen >= 0:
            pairs, count = _paired(pairs, count, entry, chosen)
    elif node >= 0:
        pairs, count = _with_rows(pairs, count, entry, node, since, nodes, rows, flags & SOLE)
    entries.counts[entry, PARTNERS] = 0
    entries.counts[entry, WHEN] = NONE
    entries.counts[entry, CHOSEN] = chosen
    if node >= 0:
        join_node(entry, node, entries, nodes)
    if past:
        leave_node(entry, entries, nodes, numbers)
    else:
        remember(entry, entries)
    ops, many = _noted(ops, many, PAST if past else BIRTH, entry, left.events[i], start, count)
    return ops, many, pairs, count


@kernel(
    types.Tuple([int64[:, ::1], int64, int64[:, ::1], int64, int64, int64, int64])(
        LEFT, RIGHT, ENTRIES, NODES, ROWS, int64[::1], int64, int64[::1]
    ),
    makes_arrays=True,
)
def find(left, right, entries, nodes, rows, numbers, flags, at):
    """Go through the events from where ``at`` stands: the next event, composite and row, and the place of the low-water
    row and the next row of this stream in what a composite knows from its birth.

    Returns what happened and how much that is, the pairs and how many, and where it stands then.
    """
    ops, many = np.empty((256, OP), np.int64), int64(0)
    pairs, count = np.empty((256, 2), np.int64), int64(0)
    event, i, j, place = at[0], at[1], at[2], at[3]
    mask, sole, n = rows.nodes.shape[0] - 1, flags & SOLE, left.rows.shape[0]
    ends = flags & (CHANGES | FURTHER)
    while event < right.lows.shape[0] - 1 and count < PAIR_LIMIT:
        before, low = right.lows[event], right.lows[event + 1]
        while i < n and left.events[i] == event and left.signs[i] < 0:
            entry, start = forget(left.rows, i, entries), count
            i += 1
            if entry < 0:
                continue
            node = int64(entries.links[entry, NODE])
            if flags & NEAREST:
                if entries.counts[entry, CHOSEN] >= 0:
                    pairs, count = _paired(pairs, count, entry, entries.counts[entry, CHOSEN])
            elif ends and node >= 0:
                pairs, count = _with_rows(pairs, count, entry, node, before, nodes, rows, sole)
            leave_node(entry, entries, nodes, numbers)
            ops, many = _noted(ops, many, DIE, entry, event, start, count)
        for row in range(before, min(low, numbers[ROW_NEXT])):
            start, node = count, int64(rows.nodes[row & mask])
            if node >= 0:
                nodes.links[node, LIVE] -= 1
                if ends and not flags & NEAREST and not (sole and nodes.links[node, LIVE] > 0):
                    pairs, count = _with_entries(pairs, count, row, node, nodes, entries)
            if count > start or flags & KEEPS_RIGHT:
                ops, many = _noted(ops, many, LEAVE, row, event, start, count)
        while i < n and left.events[i] == event and left.signs[i] == 0:
            ops, many, pairs, count = _comes(
                left, i, True, low, place, ops, many, pairs, count, entries, nodes, rows, numbers, flags
            )
            i += 1
        if j < right.events.shape[0] and right.events[j] == event:
            row, start, node = numbers[ROW_NEXT], count, int64(NONE)
            numbers[ROW_NEXT] += 1
            if right.valid[j]:
                node = node_of(right.keys, j, nodes, numbers)
            rows.nodes[row & mask] = node
            rows.values[row & mask] = right.values[j]
            rows.births[row & mask] = right.born[event]
            if node >= 0:
                rows.before[row & mask] = nodes.newest[node]
                nodes.newest[node] = row
                nodes.links[node, LIVE] += 1
                nodes.links[node, HELD] += 1
                if not flags & NEAREST and not (sole and nodes.links[node, LIVE] > 1):
                    pairs, count = _with_entries(pairs, count, row, node, nodes, entries)
            if count > start or flags & KEEPS_RIGHT:
                ops, many = _noted(ops, many, COME, row, event, start, count)
            j += 1
        while i < n and left.events[i] == event:
            ops, many, pairs, count = _comes(
                left, i, False, low, place, ops, many, pairs, count, entries, nodes, rows, numbers, flags
            )
            i += 1
        event += 1
    return ops, many, pairs, count, event, i, j
