"""What each base row of a chain of set differences is blocked by. The terms are those of `layout`."""

from __future__ import annotations

from numba import int64

from eddy.difference.directory import entry_of, link, unlink
from eddy.difference.layout import (
    BASE,
    BLOCKER,
    DIRECTORY,
    FREE,
    HEAD,
    LINKS,
    LONGS,
    NULL,
    PLAN,
    STAMP,
    UNLINKED,
)
from stairs.kernel import kernel, part

LOOKS = 16
"""Rows that may be looked at for each hole that may be settled in the background."""

LEAST = 256
"""A budget of none is good for as many looks as one of this."""


@part
def block(plan, directory, records, slot, blocker):
    """Write down the blocker of a row, which leaves the lists of columns that are only after it."""
    before = plan.inner[blocker].before
    records[slot, BLOCKER], records[slot, FREE] = blocker, before
    known = before | (1 << blocker)
    for column in range(directory.heads.shape[0]):
        if plan.columns[column].members & known == 0 and records[slot, LINKS + 3 * column] >= 0:
            unlink(records, directory, slot, column)


@part
def judge(plan, directory, base, slot, place):
    """Find the blocker of a base row that no stream before `place` blocks.

    On the way it enters the lists of the streams it is tested against, so that no look-up is made for those after the
    blocker, and none twice.
    """
    entries, records = directory.entries, base.records
    streams = plan.order.shape[0]
    for p in range(place, streams):
        stream = int64(plan.order[p])
        column = int64(plan.inner[stream].column)
        entry = int64(records[slot, LINKS + 3 * column])
        if entry == NULL:
            continue
        if entry == UNLINKED:
            width = int64(plan.columns[column].width)
            for w in range(width):
                directory.sought[w] = base.keys[slot, plan.keys[column, w]]
            entry = entry_of(directory, column, width)
            link(records, entries, slot, column, entry)
        if entries[entry, plan.inner[stream].counter] > 0:
            block(plan, directory, records, slot, stream)
            return stream
    block(plan, directory, records, slot, streams)
    return streams


@part
def is_idle(plan, directory, stream, entry):
    """Whether a stream before this one blocks all rows of the list, and none is a hole: then it has no say there."""
    entries, use = directory.entries, directory.use[0]
    if entries[entry, STAMP] == use.orders:
        for p in range(plan.inner[stream].place):
            other = plan.order[p]
            if (
                plan.inner[other].column == plan.inner[stream].column
                and entries[entry, plan.inner[other].counter] > 0
            ):
                return True
    return False


@kernel(int64(PLAN, DIRECTORY, BASE, int64, int64, int64, LONGS, int64))
def walk(plan, directory, base, stream, entry, low, rows, used):
    """Go through a list after the stream's first row with the key came, or the last one went; holes are settled.

    Rows that stop being results, or become some, are written to `rows` from `used` on; returns where they end.
    """
    entries, use = directory.entries, directory.use[0]
    records = base.records
    none, place = plan.order.shape[0], int64(plan.inner[stream].place)
    came = entries[entry, plan.inner[stream].counter] > 0
    following = LINKS + 3 * plan.inner[stream].column + 2
    slot = int64(entries[entry, HEAD])
    while slot >= 0:
        older, blocker = int64(records[slot, following]), int64(records[slot, BLOCKER])
        hole = records[slot, FREE] != plan.inner[blocker].before
        use.settled += int64(hole)
        changed = False
        if hole or (blocker == stream and not came):
            changed = judge(plan, directory, base, slot, 0 if hole else place + 1) == none
        elif came and plan.inner[blocker].place > place:
            changed = blocker == none
            block(plan, directory, records, slot, stream)
        if changed:
            rows[used] = low + ((slot - low) & (records.shape[0] - 1))
            used += 1
        slot = older
    entries[entry, STAMP] = use.orders
    return used


@kernel(int64(PLAN, DIRECTORY, BASE, int64, int64, int64))
def settle(plan, directory, base, newest, low, budget):
    """Settle up to `budget` holes from row `newest` down to `low`; returns the row to go on with.

    It passes over rows that are no holes, also when the budget is spent; how many it looks at is limited too, so that
    a long run without holes delays no batch.
    """
    records = base.records
    looks = LOOKS * (budget + LEAST)
    while newest >= low and looks > 0:
        slot = newest & (records.shape[0] - 1)
        blocker = records[slot, BLOCKER]
        if blocker >= 0 and records[slot, FREE] != plan.inner[blocker].before:
            if budget == 0:
                break
            directory.use[0].settled += 1
            judge(plan, directory, base, slot, 0)
            budget -= 1
        looks -= 1
        newest -= 1
    return newest
