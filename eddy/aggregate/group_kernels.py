"""Kernels that find the group of each signed row, and when groups come to exist and cease to. See `groups`.

A group has a slot, which holds one record: the fields below, then its key words, then the words it is shown
by. The hash table is open addressing, probed linearly; an entry is a slot plus one, so that 0 means empty. It
has twice as many places as there are slots, so a probe always ends.

A group without rows does not exist, but it keeps its slot and its place in the table until slots are needed: with
short windows most groups come back.

A *touch* is one group at one event that touches it. All rows of that group at that event belong to it, and the
output row before it is compared with the output row after it. Touches are numbered in order of event and, within
an event, of first touch; the numbers go on from batch to batch, so they also tell which group is older.
"""

from __future__ import annotations

import numpy as np
from numba import types

from stairs.hashing import feed, mixed, unfed
from stairs.kernel import kernel, part
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
        ("live", LONG),  # groups that have rows
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


@part
def _hash(words, width):
    h = unfed(width)
    for j in range(width):
        h = feed(h, words[j])
    return np.int64(mixed(h))


@part
def _find(i, h, words, width, table, groups):
    """The place of the table where the group of row i is, whose hash is h, or would be."""
    mask = table.size - 1
    place = h & mask
    while table[place] != 0:
        slot = np.int64(table[place]) - 1
        if groups[slot, HASH] == h:
            same = True
            for j in range(width):
                same &= groups[slot, WORDS + j] == words[i, j]
            if same:
                break
        place = (place + 1) & mask
    return place


@part
def _run_end(i, words, width, events):
    """The first row after row i that has another event or another key: mostly an event is of one key."""
    end, same = i + 1, True
    while end < words.shape[0] and events[end] == events[i]:
        for j in range(width):
            same &= words[end, j] == words[i, j]
        if not same:
            break
        end += 1
    return end


@part
def _new_slot(state, groups):
    """A slot for a group that is not in the table; -1 if there is none."""
    slot = state.free - 1
    if slot >= 0:
        state.free = groups[slot, MADE]
    elif state.top < groups.shape[0]:
        slot = state.top
        state.top += 1
    return slot


@kernel(
    types.int64(
        types.int64,
        _rows,
        types.int64,
        types.int8[::1],
        types.int32[::1],
        _table,
        _rows,
        types.int64,
        types.int32[::1],
        _rows,
    )
)
def touch_groups(first, words, width, signs, events, table, groups, address, row_touches, touches):
    """Give each row from `first` on its touch, and each touch its record, up to the end of the batch.

    `words` has the key words of each row, then the words to show, unless these are the same. Returned: the number
    of rows, or the row of a new group for which there is no slot (to go on from there), or, below zero, -1 minus a
    row that is withdrawn from a group without rows. A STATE is at `address`. Whether a row ends its group, or comes
    to one that had ended, cannot be foreseen: there is no branch on it.
    """
    state = state_at(address)
    m, shown = words.shape[0], words.shape[1] - width
    base, number, event = state.base, state.touches, state.event
    i, stop = first, m
    while i < m:
        event = number if i > 0 and events[i] != events[i - 1] else event
        h = _hash(words[i], width)
        place = _find(i, h, words, width, table, groups)
        slot = np.int64(table[place]) - 1
        if slot < 0:
            slot = _new_slot(state, groups)
            if slot < 0:
                stop = i
                break
            table[place] = slot + 1
            groups[slot, ROWS], groups[slot, TOUCH], groups[slot, HASH] = 0, -1, h
            for j in range(width):
                groups[slot, WORDS + j] = words[i, j]
        rows = groups[slot, ROWS]
        if groups[slot, TOUCH] < event:
            touch, begins = number - base, rows == 0
            touches[touch, SLOT], touches[touch, BEFORE] = slot, rows
            groups[slot, MADE] = number if begins else groups[slot, MADE]
            for j in range(width):
                word = words[i, shown + j] if begins else groups[slot, WORDS + width + j]
                groups[slot, WORDS + width + j] = touches[touch, SHOWN + j] = word
            groups[slot, TOUCH] = number
            number += 1
        touch = groups[slot, TOUCH] - base
        end = _run_end(i, words, width, events)
        while i < end and rows + signs[i] >= 0:
            rows += signs[i]
            row_touches[i] = touch
            i += 1
        groups[slot, ROWS] = touches[touch, AFTER] = rows
        if i < end:
            stop = -1 - i
            break
    state.touches, state.event = number, event
    if stop == m:
        state.event = number
        for touch in range(number - base):
            state.live += np.int64(touches[touch, AFTER] > 0) - np.int64(touches[touch, BEFORE] > 0)
    return stop


@part
def _needed(groups, slot, state):
    """Whether a slot is: of a group that has rows, or that the event under way has touched, so that they may return."""
    return (groups[slot, ROWS] > 0) | (groups[slot, TOUCH] >= state.event) | (state.always > 0)


@kernel(types.int64(_rows, types.int64))
def count_needed(groups, address):
    """How many slots are needed. A STATE is at `address`."""
    state, needed = state_at(address), 0
    for slot in range(state.top):
        needed += np.int64(_needed(groups, slot, state))
    return needed


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


@kernel(types.void(_rows, types.int64, types.int64, _table))
def enter(groups, address, width, table):
    """Put the groups that are needed into an empty table, and free all other slots. A STATE is at `address`."""
    state, mask = state_at(address), table.size - 1
    state.free = 0
    for slot in range(state.top):
        if not _needed(groups, slot, state):
            groups[slot, MADE] = state.free
            state.free = slot + 1
            continue
        groups[slot, HASH] = _hash(groups[slot, WORDS:], width)
        place = groups[slot, HASH] & mask
        while table[place] != 0:
            place = (place + 1) & mask
        table[place] = slot + 1


@kernel(types.int64(_rows, types.boolean, types.boolean, types.boolean[::1], _words, types.int8[::1]))
def tell(touches, always, counted, changed, told, signs):
    """List the output rows that are to be told: 2 v for the row before touch v, 2 v + 1 for the one after it.

    Those that exist, of touches where something has changed: `changed` says so of the values, all but the number of
    rows, which is one if `counted`. `signs` receives -1 or 1 for each. Returns how many there are.
    """
    count = 0
    for v in range(touches.shape[0]):
        before, after = touches[v, BEFORE], touches[v, AFTER]
        existed, exists = always | (before > 0), always | (after > 0)
        differs = changed[v] | (existed != exists) | (counted & (before != after))
        told[count], signs[count] = 2 * v, -1
        count += np.int64(existed & differs)
        told[count], signs[count] = 2 * v + 1, 1
        count += np.int64(exists & differs)
    return count


@kernel(types.void(_rows, _words, types.int64, types.int64, _words))
def read_touches(touches, told, before, after, out):
    """A word of the touch of each row that is told: at `before` of rows before it, at `after` of the others."""
    for i in range(told.shape[0]):
        out[i] = touches[told[i] >> 1, after if told[i] & 1 else before]
