"""Kernels of the string pool: interning, and the moves that growth and sweeping need.

A string has a record of three numbers, (start in the arena, length, hash), at the index that is its code. A
free code has length -1, and its start is the next free code. The table is open addressing, probed linearly:
an entry is the hash's upper 32 bits above the code plus one, so that 0 means empty and most collisions end
without reading the record. Bytes are compared in the end: equal codes mean equal strings, always.
"""

from __future__ import annotations

import numpy as np
from numba import types

from stairs.hashing import feed, mixed, unfed
from stairs.kernel import kernel, part
from stairs.lowlevel.texts import copy_text

START, LENGTH, HASH = 0, 1, 2
FREE, NEXT, USED, LIVE = 0, 1, 2, 3
"""Places in the pool's state: first free code or -1, first code never given out, arena bytes used, strings held."""
UPPER = -(1 << 32)
LOWER = (1 << 32) - 1
BLOCK = 512

_EIGHT = np.uint64(8)

_input = types.Array(types.uint8, 1, "C", readonly=True)
_offsets = types.Array(types.int32, 1, "C", readonly=True)
_bytes = types.uint8[::1]
_words = types.int64[::1]
_records = types.int64[:, ::1]


@part
def _word(data, at):
    """Eight bytes as one number; unsigned indices spare the test for negative ones."""
    word = np.uint64(0)
    for i in range(np.uint64(8)):
        word |= np.uint64(data[at + np.uint64(i)]) << (np.uint64(i) * _EIGHT)
    return word


@part
def _hash(data, at, length):
    h = unfed(length)
    end = at + length
    while at + _EIGHT <= end:
        h = feed(h, _word(data, at))
        at += _EIGHT
    tail = np.uint64(0)
    if length >= _EIGHT:
        tail = _word(data, end - _EIGHT)
    else:
        while at < end:
            tail = (tail << _EIGHT) | np.uint64(data[at])
            at += np.uint64(1)
    return np.int64(mixed(feed(h, tail)))


@kernel(types.boolean(_input, types.uint64, _input, types.uint64, types.uint64))
def _same(left, at, right, start, length):
    i = np.uint64(0)
    while i + _EIGHT <= length:
        if _word(left, at + i) != _word(right, start + i):
            return False
        i += _EIGHT
    if length >= _EIGHT:
        last = length - _EIGHT
        return _word(left, at + last) == _word(right, start + last)
    while i < length:
        if left[at + i] != right[start + i]:
            return False
        i += np.uint64(1)
    return True


@kernel(types.void(_offsets, _input, _offsets, _input, types.boolean[::1]))
def is_among(offsets, data, known_offsets, known_data, out):
    """Whether each string is one of some others, which are few."""
    for i in range(out.size):
        at, length = np.uint64(offsets[i]), np.uint64(offsets[i + 1] - offsets[i])
        found = False
        for j in range(known_offsets.size - 1):
            start, other = np.uint64(known_offsets[j]), np.uint64(known_offsets[j + 1] - known_offsets[j])
            if length == other and _same(data, at, known_data, start, length):
                found = True
        out[i] = found


@kernel(types.int64(types.int64, _words, _words, _input, _words, _records, _bytes, _words, _words))
def intern(first, starts, stops, data, table, records, arena, state, codes):
    """Codes of the strings from `first` on, up to the first new one for which there is no room: its index.

    String i is in `data` from `starts[i]` to `stops[i]`.

    Hashes are made a block ahead: the look-ups of many strings then overlap, which halves the time in a
    large pool.
    """
    mask = table.size - 1
    hashed = first
    for i in range(first, codes.size):
        if i == hashed:
            hashed = min(i + BLOCK, codes.size)
            for j in range(i, hashed):
                at, length = np.uint64(starts[j]), np.uint64(stops[j] - starts[j])
                codes[j] = _hash(data, at, length)
        start, size, h = starts[i], stops[i] - starts[i], codes[i]
        slot = h & mask
        code = np.int64(-1)
        while table[slot] != 0:
            if (table[slot] ^ h) & UPPER == 0:
                other = (table[slot] & LOWER) - 1
                if records[other, HASH] == h and records[other, LENGTH] == size:
                    known = np.uint64(records[other, START])
                    if _same(data, np.uint64(start), arena, known, np.uint64(size)):
                        code = other
                        break
            slot = (slot + 1) & mask
        if code < 0:
            code = state[FREE]
            used = state[USED]
            if 2 * state[LIVE] >= table.size or used + size > arena.size:
                return i
            if code >= 0:
                state[FREE] = records[code, START]
            else:
                code = state[NEXT]
                if code == records.shape[0]:
                    return i
                state[NEXT] = code + 1
            for j in range(size):
                arena[used + j] = data[start + j]
            records[code, START], records[code, LENGTH], records[code, HASH] = used, size, h
            table[slot] = (h & UPPER) | (code + 1)
            state[USED] = used + size
            state[LIVE] += 1
        codes[i] = code
    return codes.size


@kernel(types.void(_records, _words, _words))
def place(records, state, table):
    """Enter every string into an empty table."""
    mask = table.size - 1
    for code in range(state[NEXT]):
        if records[code, LENGTH] >= 0:
            h = records[code, HASH]
            slot = h & mask
            while table[slot] != 0:
                slot = (slot + 1) & mask
            table[slot] = (h & UPPER) | (code + 1)


@kernel(types.void(types.boolean[::1], _bytes, _records, _words, _bytes))
def compact(wanted, arena, records, state, fresh):
    """Move the wanted strings to a fresh arena and free all other codes, to be given out lowest first."""
    top = state[NEXT]
    while top > 0 and not (wanted[top - 1] and records[top - 1, LENGTH] >= 0):
        top -= 1
    free, used, live = np.int64(-1), np.int64(0), np.int64(0)
    for code in range(top - 1, -1, -1):
        length = records[code, LENGTH]
        if wanted[code] and length >= 0:
            start = records[code, START]
            for j in range(length):
                fresh[used + j] = arena[start + j]
            records[code, START] = used
            used += length
            live += 1
        else:
            records[code, LENGTH] = -1
            records[code, START] = free
            free = code
    state[FREE], state[NEXT], state[USED], state[LIVE] = free, top, used, live


@kernel(types.int64(_words, _records, types.int64, types.int32[::1]))
def lengthen(codes, records, limit, offsets):
    """Where each string ends if one follows the other; returns the end of the last.

    If that is beyond ``limit``, returns the complement of how many strings fit.
    """
    total = np.int64(0)
    offsets[0] = 0
    for i in range(codes.size):
        total += records[codes[i], LENGTH]
        if total > limit:
            return ~i
        offsets[i + 1] = total
    return total


@kernel(types.void(_words, _records, types.int64, types.int32[::1], types.int64))
def gather(codes, records, arena, offsets, out):
    """The bytes of these strings, one after the other; the arena and where they go are given by their addresses."""
    for i in range(codes.size):
        record = codes[i]
        copy_text(out + offsets[i], arena + records[record, START], records[record, LENGTH])
