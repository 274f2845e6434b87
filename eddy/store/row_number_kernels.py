"""From marks that count all rows of a stream to marks that count those that are stored."""

from __future__ import annotations

import numba as nb
import numpy as np

from stairs.kernel import kernel


@kernel(nb.int64(nb.int64[::1], nb.int64, nb.int64, nb.int32[:, ::1], nb.int64, nb.int64))
def renumber(ring, low, end, marks, stream, base):
    """Write over the marks of one stream, event by event; returns the stored row that is the first live one at last.

    ``ring`` has the numbers of the stored rows from ``low`` to before ``end``, those of the batch among them. Rows of
    the batch that come after an event have numbers that no mark of that event can be above. Marks have 32 bits, and
    grow from ``base``; between the first live row and the last there may be more rows than these can count, as most of
    them may have been ruled out.
    """
    mask = ring.shape[0] - 1
    for i in range(marks.shape[0]):
        mark = base + np.int64(np.uint32(marks[i, stream] - np.int32(base)))
        low += np.int64(
            (low < end) & (ring[low & mask] < mark)
        )  # mostly one row or none leaves: no branch on it
        while low < end and ring[low & mask] < mark:
            low += 1
        marks[i, stream] = np.int32(low)
    return low
