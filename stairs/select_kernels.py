"""Selecting: of the rows that a batch has put into a leaf, those that take one of several ways.

Every row has a number, and a way takes the rows whose numbers are in its share: a hash of the row number (rows are
drawn for), or what a table says of the row's key. They are copied to a ring of their own, from which the first step of
the way reads; so the kernels that join know nothing of it.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from stairs.hashing import salted, seeded
from stairs.kernel import kernel, part
from stairs.layout import BASE, FROM, KEY_HIGH, KEY_LOW, LONGS, LOW, NEXT, ROWS, STATE, TAIL, TO
from stairs.lowlevel.address import pointer
from stairs.lowlevel.flat import get_key

NUMBER_BITS = 16
"""Bits of a number that is drawn."""

KEY, NUMBER = 0, 1
"""Columns of a table of values: open addressing, probed linearly; number 0 is that of all keys that are not in it, and
of a free place."""


@part
def place_of(table, key):
    """Where a key is in a table of values, or the free place where it would be."""
    mask = table.shape[0] - 1
    at = np.int64(seeded(key)) & mask
    while table[at, NUMBER] != 0 and table[at, KEY] != key:
        at = (at + 1) & mask
    return at


@kernel(nb.void(nb.int64[:, ::1], LONGS, LONGS))
def enter_values(table, keys, numbers):
    """Put keys with their numbers into a table that has more places than they are."""
    for i in range(keys.shape[0]):
        at = place_of(table, keys[i])
        table[at, KEY], table[at, NUMBER] = keys[i], numbers[i]


@part
def drawn_number(row, salt):
    """The number of a row that is drawn for, by the low half of its row number."""
    return np.int64(salted(np.uint64(np.uint32(row)), salt) >> np.uint64(64 - NUMBER_BITS))


@kernel(nb.boolean(STATE, STATE, nb.int64, nb.int64, nb.int64, nb.int64, STATE), makes_arrays=True)
def select(source, keyed, table_at, extent, after, upto, out):
    """Append to ``out`` the entries of the source's delta whose numbers are in after..upto; False if it has no room.
    Rows that are not kept, which find nothing, are in no way.

    The number is that of the key which the leaf ``keyed`` has for the row, by the table of ``extent`` places at
    ``table_at``. If that is 0, rows are drawn for, and ``extent`` is the salt.
    """
    srec, _, sevents, smeta = source
    krec = keyed[0]
    orec, _, oevents, ometa = out
    start, stop, sbase, obase, tail = smeta[FROM], smeta[TO], smeta[BASE], ometa[BASE], ometa[TAIL]
    room = min(oevents.shape[0] - (tail - obase), orec.shape[0] - (tail - ometa[LOW]))
    if stop - start > room:
        return False
    smask, kmask, omask = srec.shape[0] - 1, krec.shape[0] - 1, orec.shape[0] - 1
    drawn = table_at == 0
    table = carray(pointer(table_at), (0 if drawn else extent, 2), np.int64)
    for entry in range(start, stop):
        s, o = np.uint64(entry & smask), np.uint64(tail & omask)
        if drawn:
            number = drawn_number(srec[s, ROWS], extent)
        else:
            key = get_key(krec, (entry & kmask) * krec.shape[1])
            number = table[np.uint64(place_of(table, key)), NUMBER]
        orec[o, KEY_LOW], orec[o, KEY_HIGH], orec[o, ROWS] = (
            srec[s, KEY_LOW],
            srec[s, KEY_HIGH],
            srec[s, ROWS],
        )
        orec[o, NEXT] = np.int32(tail)
        event = sevents[np.uint64(entry - sbase)]
        oevents[np.uint64(tail - obase)] = event
        tail += np.int64((after <= number) & (number < upto) & (event >= 0))
    ometa[FROM], ometa[TO], ometa[TAIL] = obase, tail, tail
    return True
