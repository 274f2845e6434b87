"""What each base row of a chain of set differences is blocked by. The terms are those of `difference_layout`."""

from __future__ import annotations

from numba import int64

from eddy.difference.directory import entry_of, link, unlink
from eddy.difference.layout import (
    BASE,
    BEFORE,
    BLOCKER,
    COLUMN,
    COUNTER,
    DIRECTORY,
    FREE,
    HEAD,
    LINKS,
    MEMBERS,
    NULL,
    ORDER,
    ORDERS,
    PLACE,
    PLAN,
    SETTLED,
    STAMP,
    UNLINKED,
    WIDTH,
    WORDS,
    part,
    routine,
)
from stairs.kernel import kernel

LOOKS = 16
"""Rows that may be looked at for each hole that may be settled in the background."""

LEAST = 256
"""A budget of none is good for as many looks as one of this."""


@part
def block(plan, directory, records, slot, blocker):
    """Write down the blocker of a row, which leaves the lists of columns that are only after it."""
    before = plan[BEFORE, blocker]
    records[slot, BLOCKER], records[slot, FREE] = blocker, before
    known = before | (1 << blocker)
    for column in range(directory[0].shape[0]):
        if plan[MEMBERS, column] & known == 0 and records[slot, LINKS + 3 * column] >= 0:
            unlink(records, directory, slot, column)


@part
def judge(plan, directory, base, slot, place):
    """Find the blocker of a base row that no stream before `place` blocks.

    On the way it enters the lists of the streams it is tested against, so that no look-up is made for those after the
    blocker, and none twice.
    """
    _, entries, meta = directory
    records, keys = base
    streams = plan.shape[1] - 1
    for p in range(place, streams):
        stream = int64(plan[ORDER, p])
        column = int64(plan[COLUMN, stream])
        entry = int64(records[slot, LINKS + 3 * column])
        if entry == NULL:
            continue
        if entry == UNLINKED:
            width = int64(plan[WIDTH, column])
            for w in range(width):
                meta[meta.shape[0] - width + w] = keys[slot, plan[WORDS + w, column]]
            entry = entry_of(directory, column, width)
            link(records, entries, slot, column, entry)
        if entries[entry, plan[COUNTER, stream]] > 0:
            block(plan, directory, records, slot, stream)
            return stream
    block(plan, directory, records, slot, streams)
    return streams


@part
def is_idle(plan, directory, stream, entry):
    """Whether a stream before this one blocks all rows of the list, and none is a hole: then it has no say there."""
    _, entries, meta = directory
    if entries[entry, STAMP] == meta[ORDERS]:
        for p in range(plan[PLACE, stream]):
            other = plan[ORDER, p]
            if plan[COLUMN, other] == plan[COLUMN, stream] and entries[entry, plan[COUNTER, other]] > 0:
                return True
    return False


@routine
def walk(plan, directory, base, stream, entry, low, rows, used):
    """Go through a list after the stream's first row with the key came, or the last one went; holes are settled.

    Rows that stop being results, or become some, are written to `rows` from `used` on; returns where they end.
    """
    _, entries, meta = directory
    records = base[0]
    none, place = plan.shape[1] - 1, int64(plan[PLACE, stream])
    came = entries[entry, plan[COUNTER, stream]] > 0
    following = LINKS + 3 * plan[COLUMN, stream] + 2
    slot = int64(entries[entry, HEAD])
    while slot >= 0:
        older, blocker = int64(records[slot, following]), int64(records[slot, BLOCKER])
        hole = records[slot, FREE] != plan[BEFORE, blocker]
        meta[SETTLED] += int64(hole)
        changed = False
        if hole or (blocker == stream and not came):
            changed = judge(plan, directory, base, slot, 0 if hole else place + 1) == none
        elif came and plan[PLACE, blocker] > place:
            changed = blocker == none
            block(plan, directory, records, slot, stream)
        if changed:
            rows[used] = low + ((slot - low) & (records.shape[0] - 1))
            used += 1
        slot = older
    entries[entry, STAMP] = meta[ORDERS]
    return used


@kernel(int64(PLAN, DIRECTORY, BASE, int64, int64, int64))
def settle(plan, directory, base, newest, low, budget):
    """Settle up to `budget` holes from row `newest` down to `low`; returns the row to go on with.

    It passes over rows that are no holes, also when the budget is spent; how many it looks at is limited too, so that
    a long run without holes delays no batch.
    """
    records = base[0]
    looks = LOOKS * (budget + LEAST)
    while newest >= low and looks > 0:
        slot = newest & (records.shape[0] - 1)
        blocker = records[slot, BLOCKER]
        if blocker >= 0 and records[slot, FREE] != plan[BEFORE, blocker]:
            if budget == 0:
                break
            directory[2][SETTLED] += 1
            judge(plan, directory, base, slot, 0)
            budget -= 1
        looks -= 1
        newest -= 1
    return newest
