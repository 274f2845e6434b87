"""The clock of kernels: the processor time of this thread, since on a shared machine a thread may have to wait."""

from __future__ import annotations

import sys
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_CLOCK = 16 if sys.platform == "darwin" else 3
"""CLOCK_THREAD_CPUTIME_ID."""

_KNOWN = binding.address_of_symbol("clock_gettime") is not None
"""Where there is no such clock, kernels take no time."""


@intrinsic
def ticks(typingctx: Any) -> Any:
    """Nanoseconds."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        i32, i64 = ir.IntType(32), ir.IntType(64)
        if not _KNOWN:
            return i64(0)
        room = cgutils.alloca_once(builder, i64, size=2)
        kind = ir.FunctionType(i32, [i32, i64.as_pointer()])
        function = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
        builder.call(function, [i32(_CLOCK), room])
        seconds, rest = (builder.load(builder.gep(room, [i64(i)])) for i in range(2))
        return builder.add(builder.mul(seconds, i64(1_000_000_000)), rest)

    return types.int64(), codegen
