"""Where an array lies in memory, in a fifth of the time that ``array.ctypes.data`` takes; and the way back."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_DATA = object.__basicsize__
"""The data pointer is the first field of an array object (numpy's binary interface), after Python's own header."""

_read = ctypes.c_size_t.from_address


def _quickly(array: Any) -> int:
    return _read(id(array) + _DATA).value


def _slowly(array: Any) -> int:
    at: int = array.ctypes.data
    return at


_probes = [np.arange(n) for n in (1, 7, 4096)]
address = _quickly if all(_quickly(probe[1:]) == _slowly(probe[1:]) for probe in _probes) else _slowly
"""The address of an array's first element. Keep the array while you use it."""


@intrinsic
def pointer(typingctx: Any, address: Any) -> Any:
    """An address as a pointer, for kernels."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), codegen
