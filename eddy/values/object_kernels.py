"""Kernels that read Python's own strings where they are: those of ASCII characters alone, which are their bytes.

The layout is CPython's (`Include/cpython/unicodeobject.h`); `text_objects` looks whether it is what is told here. The
caller holds references to all objects, so that none goes while the kernel runs without the interpreter lock. A string
never changes.
"""

from __future__ import annotations

import sys

import numpy as np
from numba import carray, types

from stairs.kernel import kernel
from stairs.lowlevel.address import pointer
from stairs.lowlevel.texts import copy_text

TYPE, LENGTH, FLAGS = 8, 16, 32
"""Where an object has its class, and a string the number of its characters, and what it is made of (32 bits)."""
BYTES = sys.getsizeof("") - 1
"""Where a string of ASCII characters has these, with a zero behind the last."""
MASK, ASCII = 0x7C, 0x64
"""Of the flags those for the bytes of a character, for characters right behind the header, and for ASCII alone; and
what they are where a character has one byte, they are right there, and all are ASCII."""


@kernel(types.int64(types.int64, types.int64, types.int64, types.int32[::1]), makes_arrays=True)
def measure_objects(objects, kind, limit, offsets):
    """Where each string ends if one follows the other; returns the end of the last.

    ``objects`` is the address of an array of addresses. Below zero, if some object is no string of ASCII characters -
    its class is not that at ``kind`` - or if the strings are longer than ``limit`` in all.
    """
    places = carray(pointer(objects), (offsets.size - 1,), np.int64)
    total, plain = np.int64(0), True
    offsets[0] = 0
    for i in range(places.size):
        fields = carray(pointer(places[i]), (FLAGS // 8 + 1,), np.int64)
        plain = fields[TYPE // 8] == kind and fields[FLAGS // 8] & MASK == ASCII
        if not plain:
            return -1
        total += fields[LENGTH // 8]
        if total > limit:
            return -1
        offsets[i + 1] = total
    return total


@kernel(types.void(types.int64, types.int32[::1], types.int64), makes_arrays=True)
def collect_objects(objects, offsets, out):
    """The bytes of these strings, one after the other, to the address ``out``."""
    places = carray(pointer(objects), (offsets.size - 1,), np.int64)
    for i in range(places.size):
        copy_text(out + offsets[i], places[i] + BYTES, np.int64(offsets[i + 1] - offsets[i]))
