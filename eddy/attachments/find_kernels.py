"""What happens in a batch, event by event, and which pairs of a composite and a row that concerns.

The order at each event: composites die, rows leave their window, composites that are past come, then the row of the
event, and last the composites that begin. A pair is noted with whichever of the two comes later, and again, where
somebody has to know of its end, with whichever goes first. Predicates beside the keys are tested afterwards, on all
pairs at once.
"""

from __future__ import annotations

from numba import int64, types

from eddy.attachments.flags import (
    ANTI,
    BANDED,
    CHANGES,
    FURTHER,
    KEEPS_LEFT,
    KEEPS_RIGHT,
    NEAREST,
    SOLE,
)
from eddy.attachments.layout import (
    AFTER,
    BEFORE,
    BIRTH,
    CHOSEN,
    COME,
    DIE,
    ENTRIES,
    FIRST_ENTRY,
    LEAVE,
    LEFT,
    NEWEST,
    NODE,
    NODES,
    NONE,
    PARTNERS,
    PAST,
    RIGHT,
    ROW_BEFORE,
    ROW_LIVE,
    ROW_NEXT,
    ROW_NODE,
    ROWS,
    WHEN,
)
from eddy.attachments.pair_kernels import nearest, with_entries, with_one, with_rows
from eddy.attachments.table_kernels import SOON, join_node, leave_node
from stairs.kernel import kernel, part
from stairs.lowlevel.prefetch import prefetch

PAIR_LIMIT = 1 << 20
"""Pairs after which an event is the last of its portion."""
EVENT, COMPOSITE, ROW, PLACE, OPS, PAIRED, DEAD, BORN = range(8)
"""Where a walk through the events stands: the next event, composite and row of the batch; the place of the low-water
row and the next row of the stream in what a composite knows from its birth; how much it has noted; how many composites
have died and come so far, since ever."""
WALK = 8


@part
def _noted(ops, at, kind, which, event, start, stop):
    many = at[OPS]
    ops[many, 0], ops[many, 1], ops[many, 2] = kind, which, event
    ops[many, 3], ops[many, 4] = start, stop
    at[OPS], at[PAIRED] = many + 1, stop


# -- what is needed soon ---------------------------------------------------------------------------------------------


@part
def _ask_around(node, entries, nodes, rows):
    """Ask for what a node leads to."""
    if node >= 0:
        prefetch(entries.lines, nodes.lines[node, FIRST_ENTRY])
        prefetch(rows.links, nodes.lines[node, NEWEST] & (rows.links.shape[0] - 1))


@part
def _ask_for_composites(left, i, entries, nodes, rows):
    """Ask for what the next composites lead to: at first for the nodes or entries themselves."""
    if i + 2 * SOON < left.signs.shape[0]:
        j = i + 2 * SOON
        if left.signs[j] >= 0:
            prefetch(nodes.lines, left.nodes[j])
        else:
            prefetch(entries.lines, left.entries[j])
        j = i + SOON
        if left.signs[j] >= 0:
            _ask_around(left.nodes[j], entries, nodes, rows)
        elif left.entries[j] >= 0:
            entry = left.entries[j]
            prefetch(nodes.lines, entries.lines[entry, NODE])
            prefetch(entries.lines, entries.lines[entry, BEFORE])
            prefetch(entries.lines, entries.lines[entry, AFTER])


@part
def _ask_for_rows(right, j, entries, nodes, rows):
    """The same for rows."""
    if j + 2 * SOON < right.nodes.shape[0]:
        prefetch(nodes.lines, right.nodes[j + 2 * SOON])
        _ask_around(right.nodes[j + SOON], entries, nodes, rows)


# -- what happens ------------------------------------------------------------------------------------------------------


@part
def _comes(left, i, past, low, ops, pairs, at, entries, nodes, rows, numbers, flags):
    """A composite comes, with its partners so far; False, and nothing has changed, if there is no room for them."""
    entry, node, start, chosen = left.entries[i], left.nodes[i], at[PAIRED], int64(NONE)
    count = start
    since = left.births[i, at[PLACE]] if past else low
    if node >= 0 and flags & NEAREST:
        until = left.births[i, at[PLACE] + 1] if past else numbers[ROW_NEXT]
        chosen = nearest(node, left.values[i], since, until, nodes, rows, flags)
        if chosen >= 0:
            count = with_one(pairs, count, entry, chosen)
    elif node >= 0:
        count = with_rows(pairs, count, entry, node, since, nodes, rows, numbers, left.bounds, i, flags)
    if count > pairs.shape[0]:
        return False
    for c in range(left.rows.shape[1]):
        entries.rows[entry, c] = left.rows[i, c]
    for c in range(left.births.shape[1]):
        entries.births[entry, c] = left.births[i, c]
    for c in range(left.bounds.shape[1]):
        entries.bounds[entry, c] = left.bounds[i, c]
    entries.lines[entry, NODE], entries.lines[entry, PARTNERS] = NONE, 0
    entries.lines[entry, WHEN], entries.lines[entry, CHOSEN] = NONE, chosen
    settled = flags & NEAREST or (flags & SOLE and not flags & CHANGES and count > start)
    if node >= 0 and not past and not settled:
        join_node(entry, node, entries, nodes)
    if past or count > start or flags & (CHANGES | NEAREST):
        _noted(ops, at, PAST if past else BIRTH, entry, left.events[i], start, count)
    at[COMPOSITE] += 1
    at[BORN] += 1
    _ask_for_composites(left, i, entries, nodes, rows)
    return True


@part
def _owes(entry, entries, flags):
    """Whether somebody may have to be told of the end of a composite."""
    if flags & (CHANGES | FURTHER):
        return True
    return flags & (KEEPS_LEFT | ANTI) and not flags & NEAREST and entries.lines[entry, PARTNERS] == 0


@part
def _dies(left, i, before, ops, pairs, at, entries, nodes, rows, numbers, flags):
    """A composite dies, with the partners that it has; False if there is no room for them."""
    entry = left.entries[i]
    if entry >= 0:
        start, node = at[PAIRED], entries.lines[entry, NODE]
        count = start
        if flags & NEAREST:
            if entries.lines[entry, CHOSEN] >= 0 and flags & (CHANGES | FURTHER):
                count = with_one(pairs, count, entry, entries.lines[entry, CHOSEN])
        elif flags & (CHANGES | FURTHER) and node >= 0:
            bounds = entries.bounds
            count = with_rows(pairs, count, entry, node, before, nodes, rows, numbers, bounds, entry, flags)
        if count > pairs.shape[0]:
            return False
        leave_node(entry, entries, nodes)
        if _owes(entry, entries, flags):
            _noted(ops, at, DIE, entry, left.events[i], start, count)
    at[COMPOSITE] += 1
    at[DEAD] += 1
    _ask_for_composites(left, i, entries, nodes, rows)
    return True


@part
def _leaves(row, event, ops, pairs, at, entries, nodes, rows, numbers, flags):
    """A row leaves its window; False if there is no room for its partners."""
    slot = row & (rows.links.shape[0] - 1)
    start, node = at[PAIRED], rows.links[slot, ROW_NODE]
    count = start
    if node >= 0 and flags & (CHANGES | FURTHER) and not flags & NEAREST:
        measure = rows.measures[slot] if flags & BANDED else 0.0
        first_of_key, first_of_all = nodes.lines[node, NEWEST] <= row, numbers[ROW_NEXT] <= row + 1
        count = with_entries(
            pairs, count, row, measure, node, first_of_key, first_of_all, at[DEAD], at[BORN], nodes, entries,
            numbers, flags,
        )  # fmt: skip
    if count > pairs.shape[0]:
        return False
    numbers[ROW_LIVE] = row + 1
    if count > start or flags & KEEPS_RIGHT:
        _noted(ops, at, LEAVE, row, event, start, count)
    return True


@part
def _arrives(right, event, ops, pairs, at, entries, nodes, rows, numbers, flags):
    """The row of the event comes; False if there is no room for its partners."""
    j, row, start = at[ROW], numbers[ROW_NEXT], at[PAIRED]
    count, slot, node = start, row & (rows.links.shape[0] - 1), right.nodes[j]
    if node >= 0 and not flags & NEAREST:
        measure = right.measures[j] if flags & BANDED else 0.0
        first_of_key = nodes.lines[node, NEWEST] < numbers[ROW_LIVE]
        first_of_all = row <= numbers[ROW_LIVE]
        count = with_entries(
            pairs, count, row, measure, node, first_of_key, first_of_all, at[DEAD], at[BORN], nodes, entries,
            numbers, flags,
        )  # fmt: skip
    if count > pairs.shape[0]:
        return False
    numbers[ROW_NEXT] += 1
    rows.links[slot, ROW_NODE] = node
    rows.values[slot] = right.values[j]
    if flags & BANDED:
        rows.measures[slot] = right.measures[j]
    for c in range(right.born.shape[1]):
        rows.births[slot, c] = right.born[event, c]
    if node >= 0:
        rows.links[slot, ROW_BEFORE] = nodes.lines[node, NEWEST]
        nodes.lines[node, NEWEST] = row
    if count > start or flags & KEEPS_RIGHT:
        _noted(ops, at, COME, row, event, start, count)
    at[ROW] += 1
    _ask_for_rows(right, j, entries, nodes, rows)
    return True


@kernel(
    types.boolean(
        LEFT, RIGHT, ENTRIES, NODES, ROWS, int64[::1], int64, int64[::1], int64[:, ::1], int64[:, ::1]
    )
)
def find(left, right, entries, nodes, rows, numbers, flags, at, ops, pairs):
    """Walk through the events from where ``at`` stands, and note what happens, in ``ops``, and the pairs of it.

    It stops when there are many pairs, between two events, and returns True; False if there is no room for more pairs:
    it goes on from there when it is called again with more.
    """
    n, told = left.rows.shape[0], flags & (CHANGES | FURTHER | KEEPS_RIGHT)
    while at[EVENT] < right.lows.shape[0] - 1 and at[PAIRED] < PAIR_LIMIT:
        event = at[EVENT]
        low = right.lows[event + 1]
        while at[COMPOSITE] < n and left.events[at[COMPOSITE]] == event and left.signs[at[COMPOSITE]] < 0:
            before = right.lows[event]
            if not _dies(left, at[COMPOSITE], before, ops, pairs, at, entries, nodes, rows, numbers, flags):
                return False
        left_behind = min(low, numbers[ROW_NEXT])
        if not told:
            numbers[ROW_LIVE] = max(left_behind, numbers[ROW_LIVE])
        while numbers[ROW_LIVE] < left_behind:
            if not _leaves(numbers[ROW_LIVE], event, ops, pairs, at, entries, nodes, rows, numbers, flags):
                return False
        while at[COMPOSITE] < n and left.events[at[COMPOSITE]] == event and left.signs[at[COMPOSITE]] == 0:
            if not _comes(
                left, at[COMPOSITE], True, low, ops, pairs, at, entries, nodes, rows, numbers, flags
            ):
                return False
        if at[ROW] < right.events.shape[0] and right.events[at[ROW]] == event:
            if not _arrives(right, event, ops, pairs, at, entries, nodes, rows, numbers, flags):
                return False
        while at[COMPOSITE] < n and left.events[at[COMPOSITE]] == event:
            if not _comes(
                left, at[COMPOSITE], False, low, ops, pairs, at, entries, nodes, rows, numbers, flags
            ):
                return False
        at[EVENT] += 1
    return True
