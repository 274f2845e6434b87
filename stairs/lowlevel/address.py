"""Arrays for kernels that take many of them: a table of numbers instead of an argument for each.

An array is passed by its *handle*, which costs nothing to get; the kernel looks up where its elements are. Keep the
array while its handle is in use.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_DATA = object.__basicsize__
"""The data pointer is the first field of an array object (numpy's binary interface), after Python's own header."""

_PROBES = [np.arange(n)[1:] for n in (1, 7, 4096)]
_FAST = all(ctypes.c_size_t.from_address(id(probe) + _DATA).value == probe.ctypes.data for probe in _PROBES)


def _address(array: Any) -> int:
    at: int = array.ctypes.data
    return at


handle = id if _FAST else _address
"""The number by which a kernel knows an array: see `data_of`."""

TYPE, DIMENSIONS, SHAPE, DTYPE, FLAGS = _DATA - 8, _DATA + 8, _DATA + 16, _DATA + 40, _DATA + 48
"""Where an array object has, besides its data: its class, the number of its dimensions (32 bits), where its shape is,
its dtype, and its flags (32 bits)."""

PLAIN = 0x501
"""Flags of an array that is contiguous, aligned and writeable."""


def _is_known(array: Any) -> bool:
    """Whether the array's fields are where they are thought to be."""
    long, short = ctypes.c_size_t.from_address, ctypes.c_int32.from_address
    at = id(array)
    return (
        (long(at + TYPE).value, long(at + DTYPE).value) == (id(type(array)), id(array.dtype))
        and (short(at + DIMENSIONS).value, short(at + FLAGS).value) == (array.ndim, array.flags.num)
        and long(long(at + SHAPE).value).value == array.shape[0]
    )


OPEN = _FAST and all(map(_is_known, (*_PROBES, np.ones((3, 2)), np.ones(8, np.int16)[::2])))
"""Whether kernels may read those fields of an array that is given by its handle."""


def address_of(array: Any) -> int:
    """Where the first element of an array is, without the object that numpy makes to tell it."""
    if not _FAST:
        return _address(array)
    at: int = ctypes.c_size_t.from_address(id(array) + _DATA).value
    return at


@intrinsic
def data_of(typingctx: Any, handle: Any) -> Any:
    """Where the first element is of the array with this handle."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not _FAST:
            return args[0]
        field = builder.add(args[0], ir.Constant(ir.IntType(64), _DATA))
        return builder.load(builder.inttoptr(field, ir.IntType(64).as_pointer()))

    return types.int64(types.int64), codegen


@intrinsic
def pointer(typingctx: Any, address: Any) -> Any:
    """An address as a pointer, for kernels."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), codegen
