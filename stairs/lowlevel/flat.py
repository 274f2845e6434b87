"""Numbers of an array by their flat index: nothing but a load, a store, or to ask for one before it is needed.

In the loops that take most of the time an index into two dimensions costs a multiplication by a width that the
compiler does not know, a test for negative indices, and registers for both.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any, bits: int) -> Any:
    view = context.make_array(kind)(context, builder, array)
    return builder.bitcast(builder.gep(view.data, [index]), ir.IntType(bits).as_pointer())


def _getting(bits: int) -> Any:
    @intrinsic
    def get(typingctx: Any, array: Any, index: Any) -> Any:
        """The number of so many bits at an index of an int32 array."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.load(
                _pointer(context, builder, signature.args[0], args[0], args[1], bits), align=4
            )

        return types.Integer.from_bitwidth(bits)(array, types.int64), codegen

    return get


def _putting(bits: int) -> Any:
    @intrinsic
    def put(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
        """Store a number of so many bits at an index of an int32 array."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            builder.store(
                args[2], _pointer(context, builder, signature.args[0], args[0], args[1], bits), align=4
            )
            return context.get_dummy_value()

        return types.void(array, types.int64, types.Integer.from_bitwidth(bits)), codegen

    return put


get, put = _getting(32), _putting(32)
"""One int32."""
get_key, put_key = _getting(64), _putting(64)
"""The key of a record: two int32 side by side."""


@intrinsic
def ask(typingctx: Any, array: Any, index: Any) -> Any:
    """Start loading the number at an index of an int32 array into the cache; changes nothing (see `prefetch`)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = _pointer(context, builder, signature.args[0], args[0], args[1], 8)
        i32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), i32, i32, i32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [at, i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen
