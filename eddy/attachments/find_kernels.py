"""What happens in a batch, event by event, and which pairs of a composite and a row that concerns.

The order at each event: composites die, rows leave their window, composites that are past come, then the row of the
event, and last the composites that begin. A pair is noted with whichever of the two comes later, and again, where
somebody has to know of its end, with whichever goes first. Predicates beside the keys are tested afterwards, on all
pairs at once.
"""

from __future__ import annotations

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
    ORDERED,
    PARTNERS,
    PAST,
    RIGHT,
    ROW_LIVE,
    ROW_NEXT,
    ROWS,
    SOLE,
    STRICT,
    WHEN,
)
from eddy.attachments.table_kernels import (
    forget,
    join_node,
    leave_node,
    next_entry,
    node_of,
    remember,
    take_entry,
)
from stairs.kernel import kernel, part

PAIR_LIMIT = 1 << 20
"""Pairs after which an event is the last of its portion."""
EVENT, COMPOSITE, ROW, PLACE, DYING, OPS, PAIRED = range(7)
"""Where a walk through the events stands: the next event, composite and row of the batch; the place of the low-water
row and the next row of the stream in what a composite knows from its birth; a composite that dies, if the walk has
stopped at it; how much it has noted."""
WALK = 7


@part
def _noted(ops, at, kind, which, event, start, stop):
    many = at[OPS]
    ops[many, 0], ops[many, 1], ops[many, 2] = kind, which, event
    ops[many, 3], ops[many, 4] = start, stop
    at[OPS], at[PAIRED] = many + 1, stop


@part
def _with_rows(pairs, count, entry, node, low, nodes, rows, sole):
    """An entry with the rows of its node from ``low`` on, or with the newest of them if one tells it all.

    Returns how many pairs there are then; more than there is room for: not all were noted.
    """
    mask, row = rows.nodes.shape[0] - 1, nodes.newest[node]
    while row >= low:
        if count < pairs.shape[0]:
            pairs[count, 0], pairs[count, 1] = entry, row
        count += 1
        if sole or count > pairs.shape[0]:
            break
        row = rows.before[row & mask]
    return count


@part
def _with_entries(pairs, count, row, node, nodes, entries):
    """A row with the entries of its node; likewise."""
    entry = nodes.links[node, FIRST_ENTRY]
    while entry >= 0:
        if count < pairs.shape[0]:
            pairs[count, 0], pairs[count, 1] = entry, row
        count += 1
        if count > pairs.shape[0]:
            break
        entry = int64(entries.links[entry, AFTER])
    return count


@part
def _with_one(pairs, count, entry, row):
    if count < pairs.shape[0]:
        pairs[count, 0], pairs[count, 1] = entry, row
    return count + 1


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
def _comes(left, i, past, low, ops, pairs, at, entries, nodes, rows, numbers, flags):
    """A composite comes, with its partners so far; False, and nothing has changed, if there is no room for them."""
    entry, start, node, chosen = next_entry(numbers), at[PAIRED], int64(NONE), int64(NONE)
    count = start
    if left.valid[i]:
        node = node_of(left.keys, i, nodes, numbers)
    since = left.births[i, at[PLACE]] if past else low
    if node >= 0 and flags & NEAREST:
        until = left.births[i, at[PLACE] + 1] if past else numbers[ROW_NEXT]
        chosen = _nearest(node, left.values[i], since, until, nodes, rows, flags)
        if chosen >= 0:
            count = _with_one(pairs, count, entry, chosen)
    elif node >= 0:
        count = _with_rows(pairs, count, entry, node, since, nodes, rows, flags & SOLE)
    if count > pairs.shape[0]:
        return False
    take_entry(entry, entries, numbers)
    for c in range(left.rows.shape[1]):
        entries.rows[entry, c] = left.rows[i, c]
    for c in range(left.births.shape[1]):
        entries.births[entry, c] = left.births[i, c]
    entries.counts[entry, PARTNERS] = 0
    entries.counts[entry, WHEN] = NONE
    entries.counts[entry, CHOSEN] = chosen
    if node >= 0:
        join_node(entry, node, entries, nodes)
    if past:
        leave_node(entry, entries, nodes, numbers)
    else:
        remember(entry, entries)
    _noted(ops, at, PAST if past else BIRTH, entry, left.events[i], start, count)
    at[COMPOSITE] += 1
    return True


@part
def _dies(left, i, before, ops, pairs, at, entries, nodes, rows, numbers, flags):
    """A composite dies, with the partners that it has; False if there is no room for them."""
    entry = at[DYING]
    if entry < 0:
        entry = at[DYING] = forget(left.rows, i, entries)
    if entry >= 0:
        start, node = at[PAIRED], int64(entries.links[entry, NODE])
        count = start
        if flags & NEAREST:
            if entries.counts[entry, CHOSEN] >= 0:
                count = _with_one(pairs, count, entry, entries.counts[entry, CHOSEN])
        elif flags & (CHANGES | FURTHER) and node >= 0:
            count = _with_rows(pairs, count, entry, node, before, nodes, rows, flags & SOLE)
        if count > pairs.shape[0]:
            return False
        leave_node(entry, entries, nodes, numbers)
        _noted(ops, at, DIE, entry, left.events[i], start, count)
    at[DYING] = NONE
    at[COMPOSITE] += 1
    return True


@part
def _leaves(row, event, ops, pairs, at, entries, nodes, rows, numbers, flags):
    """A row leaves its window; False if there is no room for its partners."""
    start, node = at[PAIRED], int64(rows.nodes[row & (rows.nodes.shape[0] - 1)])
    count = start
    if node >= 0 and flags & (CHANGES | FURTHER) and not flags & NEAREST:
        if not (flags & SOLE and nodes.links[node, LIVE] > 1):
            count = _with_entries(pairs, count, row, node, nodes, entries)
    if count > pairs.shape[0]:
        return False
    if node >= 0:
        nodes.links[node, LIVE] -= 1
    numbers[ROW_LIVE] = row + 1
    if count > start or flags & KEEPS_RIGHT:
        _noted(ops, at, LEAVE, row, event, start, count)
    return True


@part
def _arrives(right, event, ops, pairs, at, entries, nodes, rows, numbers, flags):
    """The row of the event comes; False if there is no room for its partners."""
    j, row, start, node = at[ROW], numbers[ROW_NEXT], at[PAIRED], int64(NONE)
    count, slot = start, row & (rows.nodes.shape[0] - 1)
    if right.valid[j]:
        node = node_of(right.keys, j, nodes, numbers)
        if not flags & NEAREST and not (flags & SOLE and nodes.links[node, LIVE] > 0):
            count = _with_entries(pairs, count, row, node, nodes, entries)
    if count > pairs.shape[0]:
        return False
    numbers[ROW_NEXT] += 1
    rows.nodes[slot] = node
    rows.values[slot] = right.values[j]
    for c in range(right.born.shape[1]):
        rows.births[slot, c] = right.born[event, c]
    if node >= 0:
        rows.before[slot] = nodes.newest[node]
        nodes.newest[node] = row
        nodes.links[node, LIVE] += 1
        nodes.links[node, HELD] += 1
    if count > start or flags & KEEPS_RIGHT:
        _noted(ops, at, COME, row, event, start, count)
    at[ROW] += 1
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
    n = left.rows.shape[0]
    while at[EVENT] < right.lows.shape[0] - 1 and at[PAIRED] < PAIR_LIMIT:
        event = at[EVENT]
        low = right.lows[event + 1]
        while at[COMPOSITE] < n and left.events[at[COMPOSITE]] == event and left.signs[at[COMPOSITE]] < 0:
            before = right.lows[event]
            if not _dies(left, at[COMPOSITE], before, ops, pairs, at, entries, nodes, rows, numbers, flags):
                return False
        while numbers[ROW_LIVE] < min(low, numbers[ROW_NEXT]):
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
