"""Kernels of carried strings: their bytes are fetched by their codes, and codes in use are found.

The code of a carried string is negative: the complement of its *place*, which is the number of its chunk in the upper
32 bits and its index there in the lower. The table has for each chunk where the offset of index 0 is, or would be, and
where the bytes are.
"""

from __future__ import annotations

import numpy as np
from numba import types

from stairs.kernel import kernel
from stairs.lowlevel.raw import int_at
from stairs.lowlevel.texts import copy_text

ENDS, DATA = 0, 1
"""Columns of the table."""
LOWEST, HIGHEST = 0, 1
"""Columns of what is found of the codes in use: the first and the last index of each chunk."""
CHUNK = 32
"""Bits of an index within a chunk."""
INDEX = (1 << CHUNK) - 1

_codes = types.Array(types.int64, 1, "C", readonly=True)


@kernel(types.int64(_codes, types.int64[:, ::1], types.int64, types.int32[::1]))
def measure(codes, table, limit, offsets):
    """Where each string ends if one follows the other; returns the end of the last.

    If that is beyond ``limit``, returns the complement of how many strings fit.
    """
    total = np.int64(0)
    offsets[0] = 0
    for i in range(codes.size):
        place = ~codes[i]
        at = table[place >> CHUNK, ENDS] + 4 * (place & INDEX)
        total += np.int64(int_at(at + 4)) - np.int64(int_at(at))
        if total > limit:
            return ~i
        offsets[i + 1] = total
    return total


@kernel(types.boolean(_codes))
def is_run(codes):
    """Whether these are the codes of strings that follow each other."""
    apart = False
    for i in range(1, codes.size):
        apart |= codes[i] != codes[i - 1] - 1  # without a way out, so that it is vectorised
    return not apart


@kernel(types.void(_codes, types.int64[:, ::1], types.int32[::1], types.int64))
def collect(codes, table, offsets, out):
    """The bytes of these strings, one after the other, to an address; neighbours in a chunk are copied together."""
    i = 0
    while i < codes.size:
        stop = i + 1
        while stop < codes.size and codes[stop] == codes[stop - 1] - 1:
            stop += 1
        place = ~codes[i]
        chunk = place >> CHUNK
        start = table[chunk, DATA] + np.int64(int_at(table[chunk, ENDS] + 4 * (place & INDEX)))
        copy_text(out + offsets[i], start, np.int64(offsets[stop]) - np.int64(offsets[i]))
        i = stop


@kernel(types.void(_codes, types.boolean[::1], types.int64[:, ::1]))
def mark(codes, wanted, reach):
    """Note the codes in use: those of interned strings one by one, those of carried ones by their reach in a chunk."""
    for i in range(codes.size):
        code = codes[i]
        if code >= 0:
            wanted[code] = True
        else:
            chunk, index = ~code >> CHUNK, ~code & INDEX
            reach[chunk, LOWEST] = min(reach[chunk, LOWEST], index)
            reach[chunk, HIGHEST] = max(reach[chunk, HIGHEST], index)
