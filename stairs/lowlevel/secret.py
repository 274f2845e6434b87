"""Two numbers by chance that only this process knows, for kernels that hash what others have chosen.

Keys come from outside. Whoever knows how they are hashed can choose many that share a bucket, and each of them costs as
much as all together then. So a hash takes in what nobody outside knows. Compiled kernels are kept on disk, so that it
cannot be a constant of theirs: they know it by the name of a symbol, and load it before their loops.

Nothing that an engine returns or tells depends on it, but for how many entries were looked at, and, where one event
brings several results by keys of several columns, their order.
"""

from __future__ import annotations

import ctypes
import secrets
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

EVEN, FREE = 24, 16
"""Bits up to which a multiplier spreads numbers that follow each other evenly, and its last bits, which are free."""


def draw_multiplier() -> int:
    """An odd number of 64 bits, by chance, of which multiples are spread about as evenly as those of 2**64 divided by
    the golden ratio.

    That ratio is the number whose continued fraction has nothing but ones. Here each term is a one or a two.
    """
    above, below, former = 0, 1, (1, 0)
    while below < 1 << EVEN:
        term = secrets.choice((1, 1, 2))
        former, above, below = (above, below), term * above + former[0], term * below + former[1]
    return (((above << 64) // below) ^ secrets.randbits(FREE)) | 1


WORDS = (ctypes.c_uint64 * 2)(secrets.randbits(64), draw_multiplier())
"""The numbers. They must stay as they are while there is an engine."""

_SYMBOL = "eddy_secret_words"
binding.add_symbol(_SYMBOL, ctypes.addressof(WORDS))


def _loading(index: int) -> Any:
    @intrinsic
    def load(typingctx: Any) -> Any:
        """One of the numbers. It does not change, so that the compiler may load it once, before a loop."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            module, number = builder.module, ir.IntType(32)
            words = module.globals.get(_SYMBOL)
            if words is None:
                words = ir.GlobalVariable(module, ir.ArrayType(ir.IntType(64), len(WORDS)), _SYMBOL)
            word = builder.load(builder.gep(words, [number(0), number(index)]))
            word.set_metadata("invariant.load", module.add_metadata([]))
            return word

        return types.uint64(), codegen

    return load


secret, multiplier = _loading(0), _loading(1)


@intrinsic
def folded(typingctx: Any, one: Any, other: Any) -> Any:
    """The two halves of the product of two 64-bit numbers, which has 128 bits, by exclusive or."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        half, whole = ir.IntType(64), ir.IntType(128)
        product = builder.mul(builder.zext(args[0], whole), builder.zext(args[1], whole))
        high = builder.trunc(builder.lshr(product, whole(64)), half)
        return builder.xor(builder.trunc(product, half), high)

    return types.uint64(types.uint64, types.uint64), codegen
