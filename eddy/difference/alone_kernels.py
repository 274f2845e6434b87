"""The loop of a stream from which nothing is subtracted."""

from __future__ import annotations

from numba import boolean, int8, int32, int64, types, uint8, uint32

from stairs.kernel import kernel

_OUT = int64[::1], int8[::1], int32[::1], int64[::1]


@kernel(
    types.UniTuple(int64, 3)(int32[::1], int32[::1], int64, int64, uint8[::1], boolean, int64[::1], *_OUT)
)
def step(streams, marks, low, row, kept, all_kept, gone, found, signs, events, fresh):
    """At each event the rows that leave, and then the one that comes, unless a filter rejects it.

    ``marks`` are the low halves of low-water rows, ``low`` is that before the batch, and ``row`` the next row. ``gone``
    are the rows that were there and leave. ``fresh`` gets the rows that come; returns how many these are, how many of
    them leave in this batch, and how many changes there are.
    """
    many, left, come, over, place = 0, 0, 0, 0, 0
    for event in range(streams.shape[0]):
        low += int64(uint32(uint32(marks[event]) - uint32(low)))
        while left < gone.shape[0] and gone[left] < low:
            found[many], signs[many], events[many] = gone[left], -1, event
            left, many = left + 1, many + 1
        while over < come and fresh[over] < low:
            found[many], signs[many], events[many] = fresh[over], -1, event
            over, many = over + 1, many + 1
        if streams[event] < 0:
            continue  # time goes on, and no row comes
        if row >= low and (all_kept or kept[place] != 0):
            found[many], signs[many], events[many] = row, 1, event
            fresh[come] = row
            come, many = come + 1, many + 1
        row, place = row + 1, place + 1
    return come, over, many
