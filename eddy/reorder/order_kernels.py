"""Times that are not sorted: the first and the last of them, and their order."""

from __future__ import annotations

import numba as nb
import numpy as np

from stairs.kernel import kernel

# Digits of at most 12 bits: the 4,096 counters of a pass stay in the first-level cache.
_DIGIT_BITS = 12


@kernel(nb.void(nb.int64[::1], nb.int64[::1]))
def extent(times, ends):
    """Write the least and the greatest of some times, at least one."""
    low, high = times[0], times[0]
    for i in range(times.shape[0]):
        low, high = min(low, times[i]), max(high, times[i])
    ends[0], ends[1] = low, high


@kernel(nb.boolean(nb.int64[::1], nb.int64[::1]), makes_arrays=True)
def order_of(times, order):
    """Write the places of the times, at least one, in ascending order; equal ones stay as they are.

    False, and nothing is written, if they are in order already. A radix sort: what waits for a watermark spans little
    time, so that two passes or three do.
    """
    m = times.shape[0]
    back = False
    for i in range(1, m):
        back |= times[i] < times[i - 1]  # without a way out, so that it is vectorised
    if not back:
        return False
    low, high = times[0], times[0]
    for i in range(m):
        low, high = min(low, times[i]), max(high, times[i])
        order[i] = i
    # Modulo 2**64, so that times at both ends of the 64-bit range are ordered too.
    span, base, bits = np.uint64(high) - np.uint64(low), np.uint64(low), np.uint64(0)
    while bits < np.uint64(64) and span >> bits != np.uint64(0):
        bits += np.uint64(1)
    passes = (bits + np.uint64(_DIGIT_BITS - 1)) // np.uint64(_DIGIT_BITS)
    width = (bits + passes - np.uint64(1)) // passes
    mask = (np.uint64(1) << width) - np.uint64(1)
    place = np.empty(np.int64(mask) + 1, np.int64)
    here, there = order, np.empty(m, np.int64)
    shift = np.uint64(0)
    for _ in range(passes):
        place[:] = 0
        for i in range(m):
            place[((np.uint64(times[i]) - base) >> shift) & mask] += 1
        total = 0
        for d in range(place.shape[0]):
            held = place[d]
            place[d] = total
            total += held
        for k in range(m):
            i = here[k]
            d = ((np.uint64(times[i]) - base) >> shift) & mask
            there[place[d]] = i
            place[d] += 1
        here, there = there, here
        shift += width
    if passes % np.uint64(2):  # what is sorted is in the other array
        for k in range(m):
            order[k] = here[k]
    return True
