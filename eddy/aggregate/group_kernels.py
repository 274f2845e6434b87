"""Kernels that find the group of each signed row, and when groups come to exist and cease to. See `groups`.

A group has a slot, which holds one record: the fields below, then its key words, then the words it is shown
by. The hash table is open addressing, probed linearly; an entry is a slot plus one, so that 0 means empty. It
has twice as many places as there are slots, so a probe always ends.

A *touch* is one group at one event that touches it. All rows of that group at that event belong to it, and the
output row before it is compared with the output row after it. Touches are numbered in order of event and, within
an event, of first touch; the numbers go on from batch to batch, so they also tell which group is older.
"""

from __future__ import annotations

import numpy as np
from numba import types

from stairs.hashing import feed, mixed, unfed
from stairs.kernel import kernel
from stairs.lowlevel import struct
from stairs.lowlevel.struct import LONG

ROWS, TOUCH, MADE, HASH, WORDS = range(5)
"""Places in a group's record, which is as long as its key: its rows now, its latest touch, the touch it was made at,
the hash of its key words, and where those start. A free slot has the next free slot plus one in MADE."""
SLOT, BEFORE, AFTER, SHOWN = range(4)
"""Places in a touch's record, as long as a key too: the group's slot, its rows before and after the event, and where
the words it is shown by start."""

STATE = np.dtype(
    [
        ("free", LONG),  # the first free slot plus one; 0: none
        ("top", LONG),  # the first slot that was never used
        ("live", LONG),  # slots in use
        ("touches", LONG),  # the number of the next touch
        ("base", LONG),  # that of the first touch of the batch
        ("event", LONG),  # that of the first touch of the event
        ("always", LONG),  # 1 if groups exist without rows
    ]
)
"""How far the groups are."""
State, state_at = struct.kind(STATE), struct.at(STATE)

_rows = types.int64[:, ::1]
_words = types.int64[::1]
_table = types.int32[::1]


@kernel(types.int64(_words, types.int64))
def _hash(words, width):
    h = unfed(width)
    for j in range(width):
        h = feed(h, words[j])
    return np.int64(mixed(h))


@kernel(types.void(types.int64, _table, _rows))
def _leave(slot, table, groups):
    """Take a slot out of the table, and close the gap: entries behind it move up as far as their hash allows."""
    mask = table.size - 1
    gap = groups[slot, HASH] & mask
    while table[gap] != slot + 1:
        gap = (gap + 1) & mask
    at = (gap + 1) & mask
    while table[at] != 0:
        home = groups[table[at] - 1, HASH] & mask
        if (at - home) & mask >= (at - gap) & mask:
            table[gap] = table[at]
            gap = at
        at = (at + 1) & mask
    table[gap] = 0


@kernel(types.void(_table, _rows, State, _rows))
def _end_event(table, groups, state, touches):
    """Close the touches of an event. Only now does a group without rows end: within the event it may return."""
    for touch in range(state.event - state.base, state.touches - state.base):
        slot = touches[touch, SLOT]
        touches[touch, AFTER] = groups[slot, ROWS]
        if groups[slot, ROWS] == 0 and not state.always:
            _leave(slot, table, groups)
            groups[slot, MADE] = state.free
            state.free = slot + 1
            state.live -= 1
    state.event = state.touches


@kernel(
    types.int64(
        types.int64,
        _rows,
        types.int8[::1],
        types.int32[::1],
        _table,
        _rows,
        types.int64,
        types.int32[::1],
        _rows,
    )
)
def touch_groups(first, words, signs, events, table, groups, address, row_touches, touches):
    """Give each row from `first` on its touch, and each touch its record, up to the end of the batch.

    `words` has the key words of each row, then as many words to show. Returned: the number of rows, or the row
    of a new group for which there is no slot (to go on from there), or, below zero, -1 minus a row that is
    withdrawn from a group without rows. A STATE is at `address`.
    """
    state = state_at(address)
    m = words.shape[0]
    width = words.shape[1] // 2
    mask = table.size - 1
    for i in range(first, m):
        if i > 0 and events[i] != events[i - 1]:
            _end_event(table, groups, state, touches)
        h = _hash(words[i], width)
        place = h & mask
        slot = np.int64(-1)
        while table[place] != 0:
            other = np.int64(table[place]) - 1
            if groups[other, HASH] == h:
                same = True
                for j in range(width):
                    same &= groups[other, WORDS + j] == words[i, j]
                if same:
                    slot = other
                    break
            place = (place + 1) & mask
        if slot < 0:
            if signs[i] < 0:
                return -1 - i
            slot = state.free - 1
            if slot >= 0:
                state.free = groups[slot, MADE]
            else:
                slot = state.top
                if slot == groups.shape[0]:
                    return i
                state.top += 1
            state.live += 1
            table[place] = slot + 1
            groups[slot, ROWS], groups[slot, TOUCH] = 0, -1
            groups[slot, MADE], groups[slot, HASH] = state.touches, h
            for j in range(2 * width):
                groups[slot, WORDS + j] = words[i, j]
        if groups[slot, TOUCH] < state.event:
            touch = state.touches - state.base
            groups[slot, TOUCH] = state.touches
            state.touches += 1
            touches[touch, SLOT], touches[touch, BEFORE] = slot, groups[slot, ROWS]
            for j in range(width):
                touches[touch, SHOWN + j] = groups[slot, WORDS + width + j]
        row_touches[i] = groups[slot, TOUCH] - state.base
        groups[slot, ROWS] += signs[i]
        if groups[slot, ROWS] < 0:
            return -1 - i
    _end_event(table, groups, state, touches)
    return m


@kernel(types.boolean(types.int32[::1], types.int32[::1], types.int32[::1]), makes_arrays=True)
def sort_by_touch(row_touches, starts, order):
    """Bring the rows of each touch together, in their order: those of touch v are order[starts[v]:starts[v + 1]].

    False if they lie so already; `order` is then not written.
    """
    starts[:] = 0
    sorted_already = True
    for i in range(row_touches.size):
        starts[row_touches[i] + 1] += 1
        sorted_already &= i == 0 or row_touches[i] >= row_touches[i - 1]
    for v in range(1, starts.size):
        starts[v] += starts[v - 1]
    if sorted_already:
        return False
    place = starts.copy()
    for i in range(row_touches.size):
        order[place[row_touches[i]]] = i
        place[row_touches[i]] += 1
    return True


@kernel(types.void(_rows, _words, types.int64, _table))
def enter(groups, slots, width, table):
    """Put these groups into an empty table."""
    mask = table.size - 1
    for slot in slots:
        groups[slot, HASH] = _hash(groups[slot, WORDS:], width)
        place = groups[slot, HASH] & mask
        while table[place] != 0:
            place = (place + 1) & mask
        table[place] = slot + 1
