"""The bits of a number, for kernels that note by these what they have found."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

BITS = 64
"""Bits of a number."""


@intrinsic
def first_bit(typingctx: Any, number: Any) -> Any:
    """The place of the lowest bit that is 1; there must be one."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        i1, i64 = ir.IntType(1), ir.IntType(64)
        kind = ir.FunctionType(i64, [i64, i1])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.cttz.i64")
        return builder.call(function, [args[0], i1(1)])

    return types.int64(types.uint64), codegen


@intrinsic
def count_bits(typingctx: Any, number: Any) -> Any:
    """How many bits are 1."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        i64 = ir.IntType(64)
        kind = ir.FunctionType(i64, [i64])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.ctpop.i64")
        return builder.call(function, [args[0]])

    return types.int64(types.uint64), codegen
