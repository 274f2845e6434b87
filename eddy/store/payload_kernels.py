"""Kernels of the payload: values are taken out of a ring."""

from __future__ import annotations

from numba import types

from stairs.kernel import kernel
from stairs.lowlevel.address import data_of
from stairs.lowlevel.texts import move1, move2, move4, move8

_rows = types.Array(types.int64, 1, "C", readonly=True)


@kernel(types.void(types.int64, types.int64, _rows, types.int64, types.int64))
def take_rows(start, mask, rows, to, size):
    """The values of these rows, of ``size`` bytes each: from the ring at ``start``, to the array at ``to``."""
    if size == 8:
        for i in range(rows.size):
            move8(to + 8 * i, start + 8 * (rows[i] & mask))
    elif size == 4:
        for i in range(rows.size):
            move4(to + 4 * i, start + 4 * (rows[i] & mask))
    elif size == 2:
        for i in range(rows.size):
            move2(to + 2 * i, start + 2 * (rows[i] & mask))
    else:
        for i in range(rows.size):
            move1(to + i, start + (rows[i] & mask))


RING, OUT, SIZE, COLUMN = range(4)
"""Of a column: the handles of its ring and of what its values go to, and the bytes of a value; what it takes in all."""


@kernel(types.void(types.int64[::1], types.int64, _rows))
def take_columns(columns, mask, rows):
    """The values of these rows of some columns, one after the other in ``columns``; ``mask`` makes rows slots."""
    for at in range(0, columns.shape[0], COLUMN):
        take_rows(data_of(columns[at + RING]), mask, rows, data_of(columns[at + OUT]), columns[at + SIZE])
