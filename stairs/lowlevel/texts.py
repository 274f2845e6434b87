"""Bytes from one address to another, for strings: short and of any length, so that a call for each would cost more."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from stairs.kernel import part

LONG = 256
"""From so many bytes on a call of the system's own routine is quicker."""


def _moving(bits: int) -> Any:
    @intrinsic
    def move(typingctx: Any, to: Any, start: Any) -> Any:
        """Copy so many bits from one address to another."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            there, here = (builder.inttoptr(at, ir.IntType(bits).as_pointer()) for at in args)
            builder.store(builder.load(here, align=1), there, align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), codegen

    return move


move1, move2, move4, move8, move16 = map(_moving, (8, 16, 32, 64, 128))
"""So many bytes."""


@intrinsic
def _call(typingctx: Any, to: Any, start: Any, count: Any) -> Any:
    """Copy bytes by the system's own routine."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        to, start = (builder.inttoptr(at, ir.IntType(8).as_pointer()) for at in args[:2])
        cgutils.raw_memcpy(builder, to, start, args[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@part
def copy_text(to, start, count):
    """Copy ``count`` bytes; neither a byte more is read nor one written. What is last may be copied twice."""
    if count >= 16:
        if count >= LONG:
            _call(to, start, count)
            return
        move16(to + count - 16, start + count - 16)
        j = 0
        while j < count - 16:
            move16(to + j, start + j)
            j += 16
    elif count >= 8:
        move8(to, start)
        move8(to + count - 8, start + count - 8)
    elif count >= 4:
        move4(to, start)
        move4(to + count - 4, start + count - 4)
    else:
        for j in range(count):
            move1(to + j, start + j)
