"""The events of a chain of set differences. No checks: see `difference`; the terms are those of `layout`."""

from __future__ import annotations

from numba import boolean, int32, int64, uint64, void

from eddy.difference.directory import entry_of, give_up, unlink
from eddy.difference.judgement import is_idle, judge, walk
from eddy.difference.layout import (
    BASE,
    BATCH,
    BLOCKER,
    CHANGES,
    DIRECTORY,
    ENDING,
    FREE,
    HEAD,
    INTS,
    LINKS,
    LONGS,
    NULL,
    PLAN,
    STREAMS,
    UNLINKED,
)
from stairs.hashing import feed, mixed, unfed
from stairs.kernel import kernel, part
from stairs.lowlevel.prefetch import prefetch

AHEAD, SOON = 6, 4
"""Buckets are asked for twice AHEAD events before they are needed, entries AHEAD events; those of rows of a stream that
will expire SOON rows before: a few streams have their turns in between."""


@part
def _expire_base(plan, directory, base, table, rows, used):
    """Take base rows that expire out of their lists; those that were results are written to `rows`."""
    records = base.records
    for row in range(table[0].earlier, min(table[0].low, table[0].count)):
        slot = row & (records.shape[0] - 1)
        for column in range(directory.heads.shape[0]):
            if records[slot, LINKS + 3 * column] >= 0:
                unlink(records, directory, slot, column)
        if records[slot, BLOCKER] == plan.order.shape[0]:
            rows[used] = row
            used += 1
    return used


@part
def _expire(plan, directory, table, rings, c):
    """Count rows of an inner stream out; whether there are lists to walk. Their entries stay in the ring."""
    entries, column, at = directory.entries, plan.inner[c - 1].column, plan.inner[c - 1].counter
    ending = False
    for row in range(table[c].earlier, min(table[c].low, table[c].count)):
        slot = table[c].ring + (row & (table[c].size - 1))
        entry = int64(rings[slot])
        if entry >= 0:
            entries[entry, at] -= 1
            if entries[entry, at] == 0 and entries[entry, HEAD] >= 0:
                entries[entry, at] = ENDING
                ending = True
            else:
                rings[slot] = -1
                if entries[entry, at] == 0:
                    give_up(directory, column, entry)
    return ending


@part
def _walk_ended(plan, directory, base, table, rings, c, rows, used):
    """Walk the lists that `_expire` has left, except where a row with the same key has come since."""
    entries, column, at = directory.entries, plan.inner[c - 1].column, plan.inner[c - 1].counter
    for row in range(table[c].earlier, min(table[c].low, table[c].count)):
        entry = int64(rings[table[c].ring + (row & (table[c].size - 1))])
        if entry >= 0 and entries[entry, at] == ENDING:
            if not is_idle(plan, directory, c - 1, entry):
                used = walk(plan, directory, base, c - 1, entry, table[0].low, rows, used)
            entries[entry, at] = 0
            give_up(directory, column, entry)
    return used


@part
def _arrive(plan, directory, stream, keys, row):
    """Count a row of an inner stream in. Returns its entry, and whether it is the first with its key."""
    entries = directory.entries
    column, at = plan.inner[stream].column, plan.inner[stream].counter
    width = int64(plan.columns[column].width)
    for w in range(width):
        directory.sought[w] = keys[row, w]
    entry = entry_of(directory, column, width)
    before = entries[entry, at]
    entries[entry, at] = 1 if before == ENDING else before + 1
    return entry, before == 0


@part
def _arrive_base(plan, directory, base, slot, keys, flags, row):
    """Take in a base row; whether it is a result."""
    records, columns = base.records, directory.heads.shape[0]
    records[slot, BLOCKER], records[slot, FREE] = -1, 0
    for column in range(columns):
        records[slot, LINKS + 3 * column] = UNLINKED if flags[row, column] else NULL
    if not flags[row, columns]:
        return False
    for w in range(keys.shape[1]):
        base.keys[slot, w] = keys[row, w]
    return judge(plan, directory, base, slot, 0) == plan.order.shape[0]


@kernel(void(LONGS, int64, int64))
def _sort(rows, first, stop):
    """Bring rows into ascending order. Most lists come newest first; others are a few runs."""
    falling = True
    for i in range(first + 1, stop):
        falling &= rows[i] < rows[i - 1]
    if falling:
        for i in range((stop - first) // 2):
            rows[first + i], rows[stop - 1 - i] = rows[stop - 1 - i], rows[first + i]
        return
    gap = 1
    while gap < stop - first:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(first + gap, stop):
            row, at = rows[i], i
            while at >= first + gap and rows[at - gap] > row:
                rows[at] = rows[at - gap]
                at -= gap
            rows[at] = row
        gap //= 3


@part
def _write(changes, event, first, stop, sign):
    """Finish the changes of one sign at one event."""
    rows, signs, events = changes.rows, changes.signs, changes.events
    rising = True
    for i in range(first, stop):
        signs[i], events[i] = sign, event
        rising &= i == first or rows[i] > rows[i - 1]
    if not rising:
        _sort(rows, first, stop)


@part
def _expect(base, table, rings, entries, s):
    """Ask for the entry of a row that will expire soon. (Whatever is read there, asking does no harm.)"""
    row, records = table[s].low + SOON, base.records
    if s > 0:
        prefetch(entries, int64(rings[table[s].ring + (row & (table[s].size - 1))]))
    else:
        prefetch(entries, int64(records[row & (records.shape[0] - 1), LINKS]))


@kernel(void(BATCH, PLAN, DIRECTORY, LONGS))
def foresee(batch, plan, directory, cursors):
    """Write down the bucket that each event looks into first, so that `step` can ask for it ahead."""
    streams, buckets = batch.streams, batch.buckets
    size, first = directory.heads.shape[1], plan.inner[plan.order[0]].column
    for event in range(streams.shape[0]):
        s = int64(streams[event])
        if s < 0:
            buckets[event] = 0
            continue
        row = cursors[s]
        cursors[s] += 1
        column = int64(plan.inner[s - 1].column if s > 0 else first)
        width = plan.columns[column].width
        hashed = unfed(width)
        for w in range(width):
            hashed = feed(hashed, batch.keys[row, w] if s > 0 else batch.base_keys[row, plan.keys[column, w]])
        buckets[event] = column * size + int64(mixed(hashed) & uint64(size - 1))
    buckets[streams.shape[0] :] = 0


@kernel(boolean(BATCH, PLAN, DIRECTORY, BASE, STREAMS, INTS, CHANGES))
def step(batch, plan, directory, base, table, rings, changes):
    """Process the events of a batch; False where the next one needs more room for its changes.

    At each event all counts are brought up to date first, and then the rows that this concerns are judged by them. So a
    row that would leave and come back does neither. Withdrawn rows come before new ones by themselves: a row that came
    makes no results, and one that went ends none.
    """
    streams, marks, buckets = batch.streams, batch.marks, batch.buckets
    rows, progress, cursors = changes.rows, changes.progress[0], changes.cursors
    heads, entries = directory.heads.reshape(directory.heads.size), directory.entries
    used = progress.changed
    for event in range(progress.event, streams.shape[0]):
        if rows.shape[0] - used <= table[0].count - table[0].low:
            progress.event, progress.changed = event, used
            return False
        prefetch(heads, int64(buckets[event + 2 * AHEAD]))
        prefetch(entries, int64(heads[buckets[event + AHEAD]]))
        first, ending = used, False
        for c in range(marks.shape[1]):
            low = table[c].low
            table[c].earlier = low
            gone = int32(marks[event, c] - int32(low))
            if gone > 0:
                table[c].low = low + gone
                if c == 0:
                    used = _expire_base(plan, directory, base, table, rows, used)
                else:
                    ending |= _expire(plan, directory, table, rings, c)
        s = int64(streams[event])
        if s < 0:  # no row comes, only time goes on
            _write(changes, event, first, used, -1)
            first = used
            if ending:
                for c in range(1, marks.shape[1]):
                    used = _walk_ended(plan, directory, base, table, rings, c, rows, used)
            _write(changes, event, first, used, 1)
            continue
        row, at = table[s].count, cursors[s]
        cursors[s] += 1
        if s > 0:
            entry = int64(-1)
            if batch.kept[at] and row >= table[s].low:
                entry, fresh = _arrive(plan, directory, s - 1, batch.keys, at)
                if fresh and not is_idle(plan, directory, s - 1, entry):
                    used = walk(plan, directory, base, s - 1, entry, table[0].low, rows, used)
            rings[table[s].ring + (row & (table[s].size - 1))] = entry
        _write(changes, event, first, used, -1)
        first = used
        if ending:
            for c in range(1, marks.shape[1]):
                used = _walk_ended(plan, directory, base, table, rings, c, rows, used)
        if s == 0 and row >= table[0].low:
            slot = row & (base.records.shape[0] - 1)
            if _arrive_base(plan, directory, base, slot, batch.base_keys, batch.base_flags, at):
                rows[used] = row
                used += 1
        table[s].count += 1
        _write(changes, event, first, used, 1)
        _expect(base, table, rings, entries, s)
    progress.event, progress.changed = streams.shape[0], used
    return True
