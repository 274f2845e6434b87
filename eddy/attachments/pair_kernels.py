"""Who is whose partner by the keys, and by a band: pieces of `find_kernels`.

Each returns how many pairs there are then; more than there is room for: not all were noted.
"""

from __future__ import annotations

from numba import int64

from eddy.attachments.flags import BANDED, IN_TURN, KEYLESS, LOOSE, ORDERED, SOLE, STRICT
from eddy.attachments.layout import (
    AFTER,
    ENTRY_ASCENDS,
    FIRST_ENTRY,
    NEWEST,
    NODE,
    NODE_NEXT,
    NONE,
    NULL_NODE,
    ROW_ASCENDS,
    ROW_BEFORE,
    ROW_NEXT,
)
from stairs.kernel import part

# -- the rows of a composite -------------------------------------------------------------------------------------------


@part
def with_one(pairs, count, entry, row):
    """One pair."""
    if count < pairs.shape[0]:
        pairs[count, 0], pairs[count, 1] = entry, row
    return count + 1


@part
def _with_rows_of(pairs, count, entry, node, low, nodes, rows, sole):
    """An entry with the rows of a node from ``low`` on, or with the newest of them if one tells it all."""
    mask, row = rows.links.shape[0] - 1, nodes.lines[node, NEWEST]
    while row >= low and count <= pairs.shape[0]:
        count = with_one(pairs, count, entry, row)
        if sole:
            break
        row = rows.links[row & mask, ROW_BEFORE]
    return count


@part
def _with_any_rows(pairs, count, entry, low, stop, sole):
    """An entry with all rows from ``low`` up to ``stop``."""
    row = stop - 1
    while row >= low and count <= pairs.shape[0]:
        count = with_one(pairs, count, entry, row)
        if sole:
            break
        row -= 1
    return count


@part
def _with_rows_within(pairs, count, entry, node, low, nodes, rows, numbers, bounds, i, flags):
    """An entry with the rows of a node from ``low`` on that are between the bounds of line ``i``."""
    mask, least, most = rows.links.shape[0] - 1, bounds[i, 0], bounds[i, 1]
    ascends, stop = numbers[ROW_ASCENDS], numbers[ROW_NEXT]
    if not flags & KEYLESS:
        row = nodes.lines[node, NEWEST]
        while row >= low and count <= pairs.shape[0]:
            own = rows.measures[row & mask]
            if least <= own <= most:
                count = with_one(pairs, count, entry, row)
            elif own < least and ascends <= low:
                break  # and all before it are less
            row = rows.links[row & mask, ROW_BEFORE]
        return count
    row = low
    while row < min(ascends, stop) and count <= pairs.shape[0]:
        if least <= rows.measures[row & mask] <= most:
            count = with_one(pairs, count, entry, row)
        row += 1
    row = max(low, ascends)
    after = max(row, stop)
    while row < after:
        middle = (row + after) >> 1
        if rows.measures[middle & mask] < least:
            row = middle + 1
        else:
            after = middle
    while row < stop and rows.measures[row & mask] <= most and count <= pairs.shape[0]:
        count = with_one(pairs, count, entry, row)
        row += 1
    return count


@part
def with_rows(pairs, count, entry, node, low, nodes, rows, numbers, bounds, i, flags):
    """An entry with its partners of the rows from ``low`` on; line ``i`` of ``bounds`` is its own."""
    if flags & BANDED:
        return _with_rows_within(pairs, count, entry, node, low, nodes, rows, numbers, bounds, i, flags)
    null = numbers[NULL_NODE]
    if flags & LOOSE and node == null:
        return _with_any_rows(pairs, count, entry, low, numbers[ROW_NEXT], flags & SOLE)
    count = _with_rows_of(pairs, count, entry, node, low, nodes, rows, flags & SOLE)
    if flags & LOOSE:
        count = _with_rows_of(pairs, count, entry, null, low, nodes, rows, flags & SOLE)
    return count


@part
def nearest(node, value, low, stop, nodes, rows, flags):
    """The row of a node from ``low`` up to ``stop`` that comes closest to a value from below; the newest of several."""
    mask, best = rows.links.shape[0] - 1, int64(NONE)
    row = nodes.lines[node, NEWEST]
    while row >= low:
        if row < stop:
            own = rows.values[row & mask]
            if (own < value or (own == value and not flags & STRICT)) and (
                best < 0 or own > rows.values[best & mask]
            ):
                best = row
                if flags & ORDERED:
                    break
        row = rows.links[row & mask, ROW_BEFORE]
    return best


# -- the composites of a row -------------------------------------------------------------------------------------------


@part
def _with_entries_of(pairs, count, row, node, nodes, entries):
    """A row with the entries of a node."""
    entry = nodes.lines[node, FIRST_ENTRY]
    while entry >= 0 and count <= pairs.shape[0]:
        count = with_one(pairs, count, entry, row)
        entry = entries.lines[entry, AFTER]
    return count


@part
def _with_entries_around(pairs, count, row, measure, node, nodes, entries):
    """A row with the entries of a node between whose bounds it is."""
    entry = nodes.lines[node, FIRST_ENTRY]
    while entry >= 0 and count <= pairs.shape[0]:
        if entries.bounds[entry, 0] <= measure <= entries.bounds[entry, 1]:
            count = with_one(pairs, count, entry, row)
        entry = entries.lines[entry, AFTER]
    return count


@part
def _with_entries_in_turn(pairs, count, row, measure, first, stop, entries, numbers):
    """The same of all entries from number ``first`` up to ``stop``; one that looks for no partner has no node."""
    mask, ascends = entries.lines.shape[0] - 1, numbers[ENTRY_ASCENDS]
    turn = first
    while turn < min(ascends, stop) and count <= pairs.shape[0]:
        entry = turn & mask
        if (
            entries.lines[entry, NODE] >= 0
            and entries.bounds[entry, 0] <= measure <= entries.bounds[entry, 1]
        ):
            count = with_one(pairs, count, entry, row)
        turn += 1
    turn = max(first, ascends)
    after = max(turn, stop)
    while turn < after:
        middle = (turn + after) >> 1
        if entries.bounds[middle & mask, 1] < measure:
            turn = middle + 1
        else:
            after = middle
    while turn < stop and entries.bounds[turn & mask, 0] <= measure and count <= pairs.shape[0]:
        if entries.lines[turn & mask, NODE] >= 0:
            count = with_one(pairs, count, turn & mask, row)
        turn += 1
    return count


@part
def _with_entries_loosely(pairs, count, row, node, first_of_key, first_of_all, nodes, entries, numbers):
    """A row with the entries of its key, if it is the only one that tells them, and with those of NULL likewise."""
    null = numbers[NULL_NODE]
    if first_of_key and node == null:
        for other in range(numbers[NODE_NEXT]):
            if other != null:
                count = _with_entries_of(pairs, count, row, other, nodes, entries)
    elif first_of_key:
        count = _with_entries_of(pairs, count, row, node, nodes, entries)
    if first_of_all:
        count = _with_entries_of(pairs, count, row, null, nodes, entries)
    return count


@part
def with_entries(
    pairs, count, row, measure, node, first_of_key, first_of_all, first, stop, nodes, entries, numbers, flags
):
    """A row with its partners. Where one row tells as much as all, `first_of_key` and `first_of_all` say whether there
    is no other with its key, and none at all; ``first`` and ``stop`` are the numbers of the composites that live."""
    some = not flags & SOLE
    if flags & LOOSE:
        return _with_entries_loosely(
            pairs, count, row, node, some or first_of_key, some or first_of_all, nodes, entries, numbers
        )
    if not (some or first_of_key):
        return count
    if not flags & BANDED:
        return _with_entries_of(pairs, count, row, node, nodes, entries)
    if flags & KEYLESS and flags & IN_TURN:
        return _with_entries_in_turn(pairs, count, row, measure, first, stop, entries, numbers)
    return _with_entries_around(pairs, count, row, measure, node, nodes, entries)
