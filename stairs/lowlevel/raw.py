"""Numbers by their address: nothing but a load.

For kernels that are given many rings by the addresses of their meta. A view of memory as an array would be counted, in
every round of a loop; a load is not.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _loading(bits: int) -> Any:
    @intrinsic
    def load(typingctx: Any, address: Any) -> Any:
        """The number of so many bits at an address."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            at = builder.inttoptr(args[0], ir.IntType(bits).as_pointer())
            return builder.load(at, align=4)

        return types.Integer.from_bitwidth(bits)(types.int64), codegen

    return load


int_at, long_at = _loading(32), _loading(64)


@intrinsic
def ask_for(typingctx: Any, address: Any) -> Any:
    """Start loading what is at an address into the cache; changes nothing (see `prefetch`)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        i32, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, i32, i32, i32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [builder.inttoptr(args[0], pointer), i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(types.int64), codegen
