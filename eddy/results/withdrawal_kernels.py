"""Loops over the live results of a join. No checks: see `withdrawals`.

Results lie in blocks of WIDTH, in the order of their emission, stream by stream within a block, so that the rows of
one stream are next to each other. Above the blocks is a tree: a node knows the oldest row of each stream in its
block, or in its WIDTH nodes below, and where that one is live everything below is.

Rows and marks are the low 32 bits of row numbers. They are compared by their age, the distance to the number that
the stream's next row will have: a row is dead at an event if it is older than the mark.
"""

from __future__ import annotations

import numpy as np
from numba import int32, int64, types, uint32, void

from eddy.results.withdrawal_layout import BATCH, DEATHS, STORE
from stairs.kernel import kernel, part

SHIFT = 5
WIDTH = 1 << SHIFT


@part
def _age(newest, row):
    return uint32(newest - row)


@part
def _end(batch, c, row, stop):
    """The first event before `stop` at which a row of stream c is dead; `stop` if there is none."""
    marks, newest, chart, shifts = batch.marks, batch.newest, batch.chart, batch.shifts
    age, first = _age(newest[c], row), _age(newest[c], marks[0, c])
    if age > first:
        return 0
    bucket = (int64(first) - int64(age)) >> shifts[c]
    start = int64(chart[c, bucket])
    if shifts[c]:
        stop = min(stop, int64(chart[c, bucket + 1]))
        while start < stop:
            middle = (start + stop) >> 1
            if _age(newest[c], marks[middle, c]) < age:
                stop = middle
            else:
                start = middle + 1
    return min(start, stop)


@kernel(void(BATCH))
def draw(batch):
    """Chart the marks, so that the search for a row's last event starts close to it.

    `chart[c, b]` is the first event at which the row of stream c that lies b << shift behind the first mark is dead.
    The shift is the least for which the rows that die in the batch have their place: mostly 0, and nothing is left to
    search. A chart of one bucket, for few deaths, leaves it all to the search.
    """
    marks, newest, reach = batch.marks, batch.newest, batch.reach
    chart, shifts = batch.chart, batch.shifts
    events, buckets = marks.shape[0], chart.shape[1] - 1
    if buckets == 1:
        chart[:, 0], chart[:, 1], shifts[:] = 0, events, 32
        return
    for c in range(newest.shape[0]):
        first = _age(newest[c], marks[0, c])
        shift, bucket = 0, 0
        while int64(first - reach[c]) >> shift >= buckets:
            shift += 1
        for event in range(events):
            passed = int64(first) - int64(_age(newest[c], marks[event, c]))
            while bucket < buckets and passed > bucket << shift:
                chart[c, bucket] = event
                bucket += 1
        chart[c, bucket:] = events
        shifts[c] = shift


@part
def _some_dead(nodes, node, newest, reach):
    for c in range(newest.shape[0]):
        if _age(newest[c], nodes[node, c]) > reach[c]:
            return True
    return False


@kernel(int64(STORE, int64, uint32[::1], uint32[::1], int32[::1]))
def find(store, used, newest, reach, stale):
    """List the blocks in which something has died; returns how many.

    The walk goes from block to block, and from where it stands over as much at once as the tree says is live.
    """
    nodes, starts = store.nodes, store.starts
    top = starts.shape[0] - 1
    found, block = 0, 0
    while block < used:
        level = 0
        while level < top and block & ((1 << (SHIFT * (level + 1))) - 1) == 0:
            level += 1
        while level >= 0 and _some_dead(nodes, starts[level] + (block >> (SHIFT * level)), newest, reach):
            level -= 1
        if level < 0:
            stale[found] = block
            found += 1
        block += 1 << (SHIFT * max(level, 0))
    return found


@kernel(int64(STORE, int32[::1], BATCH, DEATHS), makes_arrays=True)
def withdraw(store, stale, batch, deaths):
    """Take the dead out of the stale blocks; returns how many. The others close up within their block.

    Which of them die cannot be foreseen, so there is no branch on it: whatever is written for a result that turns out
    to be of the other sort is written over by the next one.
    """
    records, filled, nodes = store.records, store.filled, store.nodes
    marks, newest, reach = batch.marks, batch.newest, batch.reach
    dead, ends = deaths.rows, deaths.events
    n, events = newest.shape[0], marks.shape[0]
    end, places = np.empty(WIDTH, np.int64), np.empty(WIDTH + 1, np.int64)
    died = 0
    for block in stale:
        end[:] = events
        count = int64(filled[block])
        for c in range(n):
            if _age(newest[c], nodes[block, c]) > reach[c]:
                many = 0
                for i in range(count):
                    places[many] = i
                    many += _age(newest[c], records[block, c, i]) > reach[c]
                for j in range(many):
                    i = places[j]
                    end[i] = _end(batch, c, records[block, c, i], end[i])
        kept = 0
        for i in range(count):
            for c in range(n):
                row = records[block, c, i]
                records[block, c, kept] = row
                dead[died, c] = row
            ends[died] = end[i]
            lives = end[i] == events
            kept += lives
            died += not lives
        filled[block] = kept
    return died


@kernel(int64(int64[:, ::1], BATCH, int64, DEATHS, int32[::1]))
def outlive(rows, batch, died, deaths, kept):
    """Which new results outlive the batch; returns how many. The others are deaths from `died` on.

    A new result is live at its own event, so the first event at which it is dead comes after that.
    """
    marks, newest, reach = batch.marks, batch.newest, batch.reach
    dead, ends = deaths.rows, deaths.events
    count = 0
    for i in range(rows.shape[0]):
        end = marks.shape[0]
        for c in range(newest.shape[0]):
            row = uint32(rows[i, c])
            if _age(newest[c], row) > reach[c]:
                end = _end(batch, c, row, end)
        if end == marks.shape[0]:
            kept[count] = i
            count += 1
        else:
            for c in range(newest.shape[0]):
                dead[died, c] = uint32(rows[i, c])
            ends[died] = end
            died += 1
    return count


@kernel(int64(STORE, int64, int64[:, ::1], int32[::1]))
def append(store, used, rows, kept):
    """Put new results behind the others; returns how many blocks are used now."""
    records, filled = store.records, store.filled
    i = 0
    while i < kept.shape[0]:
        if used == 0 or filled[used - 1] == WIDTH:
            filled[used] = 0
            used += 1
        block = used - 1
        place = filled[block]
        many = min(WIDTH - place, kept.shape[0] - i)
        for j in range(many):
            for c in range(rows.shape[1]):
                records[block, c, place + j] = uint32(rows[kept[i + j], c])
        filled[block] = place + many
        i += many
    return used


@kernel(void(STORE, int64, int32[::1], uint32[::1]))
def update_nodes(store, used, changed, newest):
    """Bring the nodes of the changed blocks up to date, and those above them. `changed` ascends, and is overwritten."""
    records, filled, nodes, starts = store.records, store.filled, store.nodes, store.starts
    for block in changed:
        for c in range(newest.shape[0]):
            oldest = uint32(0)
            for i in range(filled[block]):
                oldest = max(oldest, _age(newest[c], records[block, c, i]))
            nodes[block, c] = newest[c] - oldest
    many = changed.shape[0]
    for level in range(1, starts.shape[0]):
        below, above, distinct = starts[level - 1], starts[level], 0
        for k in range(many):
            node = changed[k] >> SHIFT
            if distinct and changed[distinct - 1] == node:
                continue
            changed[distinct] = node
            distinct += 1
            for c in range(newest.shape[0]):
                oldest = uint32(0)
                for child in range(node << SHIFT, min((node + 1) << SHIFT, used)):
                    oldest = max(oldest, _age(newest[c], nodes[below + child, c]))
                nodes[above + node, c] = newest[c] - oldest
        many, used = distinct, (used + WIDTH - 1) >> SHIFT


@kernel(int64(STORE, int64, STORE))
def pack(store, used, target):
    """Move all results to the front blocks of the target, which may be the same; returns how many blocks that takes.

    Nothing is overwritten before it is read: in front of a result there are at most as many places as now.
    """
    records, filled, to, filled_to = store.records, store.filled, target.records, target.filled
    block, place = 0, 0
    for b in range(used):
        i, count = 0, int64(filled[b])
        while i < count:
            many = min(count - i, WIDTH - place)
            for c in range(records.shape[1]):
                for j in range(many):
                    to[block, c, place + j] = records[b, c, i + j]
            i += many
            place += many
            if place == WIDTH:
                filled_to[block] = WIDTH
                block, place = block + 1, 0
    if place:
        filled_to[block] = place
    return block + (place > 0)


@kernel(
    void(
        int64[:, ::1], int32[::1], DEATHS, int64[::1], int64[::1], int64[:, ::1], types.int8[::1], int32[::1]
    )
)
def interleave(rows, events, deaths, newest, places, out_rows, out_signs, out_events):
    """Deaths and new results by event, deaths first. `places` are zeros, one more than there are events.

    Both come in the order of emission, so counting them by event is all the sorting there is.
    """
    dead, ends = deaths.rows, deaths.events
    for end in ends:
        places[end + 1] += 1
    for event in events:
        places[event + 1] += 1
    for event in range(1, places.shape[0]):
        places[event] += places[event - 1]
    for i in range(ends.shape[0]):
        to = places[ends[i]]
        places[ends[i]] += 1
        for c in range(newest.shape[0]):
            out_rows[to, c] = newest[c] - int64(_age(uint32(newest[c]), dead[i, c]))
        out_signs[to], out_events[to] = -1, ends[i]
    for i in range(events.shape[0]):
        to = places[events[i]]
        places[events[i]] += 1
        for c in range(newest.shape[0]):
            out_rows[to, c] = rows[i, c]
        out_signs[to], out_events[to] = 1, events[i]
