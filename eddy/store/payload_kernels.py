"""Kernels of the payload: values are taken out of a ring."""

from __future__ import annotations

from numba import types

from stairs.kernel import kernel
from stairs.lowlevel.address import data_of
from stairs.lowlevel.texts import move1, move2, move4, move8

_rows = types.Array(types.int64, 1, "C", readonly=True)


@kernel(types.void(types.int64, types.int64, _rows, types.int64, types.int64))
def take_rows(ring, mask, rows, out, size):
    """The values of these rows, of ``size`` bytes each; ring and out by their handles, ``mask`` makes rows slots."""
    start, to = data_of(ring), data_of(out)
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
