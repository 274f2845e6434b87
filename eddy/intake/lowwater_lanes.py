"""Marks of several streams at once: counting rows in the lanes of a register."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import int32, int64, types
from numba.core import cgutils
from numba.extending import intrinsic

from stairs.kernel import kernel

I32 = ir.IntType(32)


def _counting(lanes: int) -> Any:
    vector = ir.VectorType(I32, lanes)

    @intrinsic
    def count(
        typingctx: Any, streams: Any, deficits: Any, base: Any, marks: Any, counted: Any, first: Any
    ) -> Any:
        """Count a batch for so many streams from number ``first`` on; see `mark_streams`."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            views = [
                context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 1, 2, 3, 4)
            ]
            at = [view.data for view in views]
            m = builder.extract_value(views[0].shape, 0)
            width = builder.extract_value(views[3].shape, 1)
            own = [
                builder.trunc(builder.add(args[5], ir.Constant(args[5].type, i)), I32) for i in range(lanes)
            ]
            numbers = ir.Constant(vector, ir.Undefined)
            for i, number in enumerate(own):
                numbers = builder.insert_element(numbers, number, I32(i))

            def here(data: Any) -> Any:
                return builder.bitcast(builder.gep(data, [args[5]]), vector.as_pointer())

            start, zero = builder.load(here(at[2]), align=4), ir.Constant(vector, None)
            held = cgutils.alloca_once_value(builder, builder.load(here(at[1]), align=4))
            with cgutils.for_range(builder, m) as loop:
                stream = builder.load(builder.gep(at[0], [loop.index]), align=4)
                one = builder.insert_element(ir.Constant(vector, ir.Undefined), stream, I32(0))
                every = builder.shuffle_vector(one, one, ir.Constant(vector, None))
                hit = builder.sext(builder.icmp_signed("==", every, numbers), vector)
                deficit = builder.sub(builder.load(held), hit)
                builder.store(deficit, held)
                past = builder.select(builder.icmp_signed(">", deficit, zero), deficit, zero)
                line = builder.add(builder.mul(loop.index, width), args[5])
                to = builder.bitcast(builder.gep(at[3], [line]), vector.as_pointer())
                builder.store(builder.add(start, past), to, align=4)
            builder.store(builder.load(held), here(at[4]), align=4)
            return context.get_dummy_value()

        return types.void(streams, deficits, base, marks, counted, types.int64), codegen

    return count


_count8, _count4, _count3, _count2 = map(_counting, (8, 4, 3, 2))
INTS = int32[::1]


@kernel(types.void(INTS, INTS, INTS, int32[:, ::1], INTS))
def mark_streams(streams, deficits, base, marks, counted):
    """Mark all streams, at least two, as if their windows depended on counts alone.

    A row of stream s raises its deficit by one; its mark is its base and what the deficit has above zero. `counted`
    receives the deficits after the batch.
    """
    n, first = base.shape[0], int64(0)
    if n == 2:
        _count2(streams, deficits, base, marks, counted, first)
    elif n == 3:
        _count3(streams, deficits, base, marks, counted, first)
    else:
        lanes = int64(8 if n >= 8 else 4)
        while first < n:
            # The last step reaches back, and counts some streams twice, from the same start.
            at = min(first, n - lanes)
            if n >= 8:
                _count8(streams, deficits, base, marks, counted, at)
            else:
                _count4(streams, deficits, base, marks, counted, at)
            first += lanes
