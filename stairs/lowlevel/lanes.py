"""Several int32 columns of a record at once: what wide composites spend their time on.

Numba unrolls no loop whose length it does not know, and the compiler's own vector loops begin to pay at thirty-two
columns. Here a loop over consecutive columns goes in steps of eight or four; the last step reaches back to end where
the columns end, and does some of them twice. So it serves any number of columns from four on.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from stairs.kernel import part


def _vector(context: Any, builder: Any, kind: Any, value: Any, place: Any, lanes: int) -> Any:
    """A pointer to so many int32 of an array, from flat index ``place`` on."""
    view = context.make_array(kind)(context, builder, value)
    return builder.bitcast(builder.gep(view.data, [place]), ir.VectorType(ir.IntType(32), lanes).as_pointer())


def _testing(lanes: int) -> Any:
    @intrinsic
    def below(typingctx: Any, ones: Any, one: Any, others: Any, other: Any) -> Any:
        """Not 0 if some of the numbers from ``ones[one]`` on is below its counterpart from ``others[other]`` on."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            at = [_vector(context, builder, signature.args[i], args[i], args[i + 1], lanes) for i in (0, 2)]
            a, b = (builder.load(pointer, align=4) for pointer in at)
            zero = ir.Constant(ir.VectorType(ir.IntType(32), lanes), None)
            signs = builder.icmp_signed("<", builder.sub(a, b), zero)
            return builder.zext(builder.bitcast(signs, ir.IntType(lanes)), ir.IntType(32))

        return types.int32(ones, types.int64, others, types.int64), codegen

    return below


def _copying(lanes: int) -> Any:
    @intrinsic
    def copy(typingctx: Any, to: Any, there: Any, start: Any, here: Any) -> Any:
        """Copy so many numbers from ``start[here]`` on to ``to[there]`` on."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            at = [_vector(context, builder, signature.args[i], args[i], args[i + 1], lanes) for i in (0, 2)]
            builder.store(builder.load(at[1], align=4), at[0], align=4)
            return context.get_dummy_value()

        return types.void(to, types.int64, start, types.int64), codegen

    return copy


_below8, _below4 = _testing(8), _testing(4)
_copy8, _copy4 = _copying(8), _copying(4)


@part
def consecutive(numbers, start, stop):
    """Whether the numbers from ``start`` to ``stop`` count up by one."""
    for j in range(start + 1, stop):
        if numbers[j] != numbers[j - 1] + 1:
            return False
    return True


@part
def any_below(ones, one, others, other, count):
    """Not 0 if some of ``count`` >= 4 numbers from flat index ``one`` on is below its counterpart, by difference."""
    if count >= 8:
        found, j = _below8(ones, one + count - 8, others, other + count - 8), 0
        while j < count - 8:
            found |= _below8(ones, one + j, others, other + j)
            j += 8
        return found
    return _below4(ones, one, others, other) | _below4(ones, one + count - 4, others, other + count - 4)


@part
def copy_all(to, there, start, here, count):
    """Copy ``count`` >= 4 numbers between flat indices."""
    if count >= 8:
        _copy8(to, there + count - 8, start, here + count - 8)
        j = 0
        while j < count - 8:
            _copy8(to, there + j, start, here + j)
            j += 8
    else:
        _copy4(to, there, start, here)
        _copy4(to, there + count - 4, start, here + count - 4)
