"""Ask the processor for a record before it is needed."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def prefetch(typingctx: Any, array: Any, row: Any) -> Any:
    """Start loading ``array[row]`` (the first line of a record) into the cache; changes nothing.

    Chains lead to records in no order, and a mispredicted end of a chain keeps the processor from looking ahead. A
    block of records asked for at once arrives together.
    """
    signature = types.void(array, row)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, args[0])
        strides = cgutils.unpack_tuple(builder, view.strides)
        offset = builder.mul(args[1], strides[0])
        start = builder.ptrtoint(view.data, ir.IntType(64))
        address = builder.inttoptr(builder.add(start, offset), ir.IntType(8).as_pointer())
        i32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), i32, i32, i32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [address, i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return signature, codegen
