"""From marks that count all rows of a stream to marks that count those that are stored."""

from __future__ import annotations

import numba as nb
import numpy as np

from stairs.kernel import kernel


@kernel(nb.int64(nb.int64[::1], nb.int64, nb.int64, nb.int64[::1], nb.int32[:, ::1], nb.int64, nb.int64))
def renumber(ring, low, next_row, fresh, marks, stream, base):
    """Write over the marks of one stream, event by event; returns the stored row that is the first live one at last.

    ``ring`` has the numbers of the stored rows from ``low`` on, ``fresh`` those of the batch, which follow from
    ``next_row`` on. Rows of the batch that come after an event have numbers that no mark of that event can be above.
    Marks have 32 bits, and grow from ``base``; between the first live row and the last there may be more rows than
    these can count, as most of them may have been ruled out.
    """
    mask, end = ring.shape[0] - 1, next_row + fresh.shape[0]
    for i in range(marks.shape[0]):
        mark = base + np.int64(np.uint32(marks[i, stream] - np.int32(base)))
        while low < end:
            number = ring[low & mask] if low < next_row else fresh[low - next_row]
            if number >= mark:
                break
            low += 1
        marks[i, stream] = np.int32(low)
    return low
