"""Loops over the live results of a join. No checks: see `withdrawals`.

Results lie in blocks of WIDTH, in the order of their emission, stream by stream within a block, so that the rows of
one stream are next to each other. Above the blocks is a tree: a node knows the oldest row of each stream in its
block, or in its WIDTH nodes below, and where that one is live everything below is.

Rows and marks are the low 32 bits of row numbers. They are compared by their age, the distance to the number that
the stream's next row will have: a row is dead at an event if it is older than the mark.
"""

from __future__ import annotations

from numba import int32, int64, types, uint32, void

from eddy.results.withdrawal_layout import BATCH, DEATHS, STORE
from stairs.kernel import kernel, part

SHIFT = 5
WIDTH = 1 << SHIFT


@part
def _age(newest, row):
    return uint32(newest - row)


@part
def _end(batch, c, row):
    """The first event at which a row of stream c is dead; the number of events if there is none."""
    marks, newest, chart, shift = batch.marks, batch.newest, batch.chart, batch.shifts[c]
    age = _age(newest[c], row)
    behind = int64(_age(newest[c], marks[0, c])) - int64(age)
    bucket = min(max((behind >> shift) + 1, 0), batch.tops[c])
    start = int64(chart[c, bucket])
    if shift and 0 < bucket < batch.tops[c]:
        stop = int64(chart[c, bucket + 1])
        while start < stop:
            middle = (start + stop) >> 1
            if _age(newest[c], marks[middle, c]) < age:
                stop = middle
            else:
                start = middle + 1
    return start


@kernel(void(BATCH))
def draw(batch):
    """Chart the marks, so that the search for a row's last event starts close to it.

    `chart[c, b + 1]` is the first event at which that row of stream c is dead which lies b << shift behind the
    first mark; `chart[c, 0]` is 0, for rows that are dead at once, and from `tops[c]` on rows live on. The shift is
    the least for which the rows that die in the batch have their place: mostly 0, and nothing is left to search. A
    chart without places of its own for them, for few deaths, leaves it all to the search.
    """
    marks, newest, reach = batch.marks, batch.newest, batch.reach
    chart, shifts, tops = batch.chart, batch.shifts, batch.tops
    events, buckets = marks.shape[0], chart.shape[1] - 3
    for c in range(newest.shape[0]):
        first, shift = _age(newest[c], marks[0, c]), 0
        chart[c, 0] = 0
        if buckets == 0:
            chart[c, 1], chart[c, 2], shifts[c], tops[c] = 0, events, 32, 2
            continue
        while int64(first - reach[c]) >> shift >= buckets:
            shift += 1
        round_up = (int64(1) << shift) - 1
        top = ((int64(first - reach[c]) + round_up) >> shift) + 1
        for bucket in range(top + 1):
            chart[c, bucket] = 0
        for event in range(events):  # the last one that a row outlives is written last
            passed = int64(first) - int64(_age(newest[c], marks[event, c]))
            chart[c, ((passed + round_up) >> shift) + 1] = event + 1
        for bucket in range(1, top + 1):
            chart[c, bucket] = max(chart[c, bucket], chart[c, bucket - 1])
        shifts[c], tops[c] = shift, top


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


@part
def _part_block(store, block, batch):
    """List the places of a block whose results have died, and those of the others; returns how many have died.

    Which of them die cannot be foreseen, so there is no branch on it: what is written for one that turns out to be of
    the other sort is written over by the next. Of a block all places are looked at, filled or not, so that the
    comparisons are vectorised.
    """
    records, newest, reach = store.records, batch.newest, batch.reach
    flags, gone, kept = batch.flags, batch.gone, batch.kept
    for i in range(WIDTH):
        flags[i] = 0
    for c in range(newest.shape[0]):
        own, limit = newest[c], reach[c]
        for i in range(WIDTH):
            flags[i] |= _age(own, records[block, c, i]) > limit
    many = 0
    for i in range(int64(store.filled[block])):
        gone[many], kept[i - many] = i, i
        many += int64(flags[i])
    return many


@kernel(int64(STORE, int32[::1], BATCH, DEATHS))
def withdraw(store, stale, batch, deaths):
    """Take the dead out of the stale blocks; returns how many. The others close up within their block."""
    records, filled, dead, ends = store.records, store.filled, deaths.rows, deaths.events
    n, events = batch.newest.shape[0], batch.marks.shape[0]
    gone, kept = batch.gone, batch.kept
    died = 0
    for block in stale:
        many = _part_block(store, block, batch)
        for j in range(many):
            end = int64(events)
            for c in range(n):
                row = records[block, c, gone[j]]
                dead[died, c] = row
                end = min(end, _end(batch, c, row))
            ends[died] = end
            died += 1
        left = int64(filled[block]) - many
        for c in range(n):
            for k in range(left):
                records[block, c, k] = records[block, c, kept[k]]
        filled[block] = left
    return died


@kernel(int64(int64[:, ::1], BATCH, int64, DEATHS, int32[::1]))
def outlive(rows, batch, died, deaths, kept):
    """Which new results outlive the batch; returns how many. The others are deaths from `died` on.

    A new result is live at its own event, so the first event at which it is dead comes after that.
    """
    newest, reach = batch.newest, batch.reach
    dead, ends = deaths.rows, deaths.events
    count = 0
    for i in range(rows.shape[0]):
        lives = True
        for c in range(newest.shape[0]):
            lives &= _age(newest[c], uint32(rows[i, c])) <= reach[c]
        if lives:
            kept[count] = i
            count += 1
            continue
        end = int64(batch.marks.shape[0])
        for c in range(newest.shape[0]):
            dead[died, c] = uint32(rows[i, c])
            end = min(end, _end(batch, c, uint32(rows[i, c])))
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
