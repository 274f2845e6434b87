"""A loop over the rows of a batch that nobody keeps. No checks: see `history`."""

from __future__ import annotations

from numba import njit

REJECTED = 0x8000
"""Set beside a stream's number: a filter or a NULL key ruled the row out."""


@njit("void(uint16[::1], int64, int32[::1], uint8[::1])", nogil=True, cache=True)
def reject(codes, first, events, kept):  # type: ignore[no-untyped-def]
    """Mark the events whose row is not kept; the batch is in the ring from `first` on."""
    mask = codes.shape[0] - 1
    for i in range(events.shape[0]):
        if kept[i] == 0:
            codes[(first + events[i]) & mask] |= REJECTED
