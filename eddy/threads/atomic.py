"""What threads need to speak to each other from kernels: fields that all of them see, and a bell to sleep by.

A thread that waits for the bell is in no need of the interpreter: it goes to sleep, and wakes, in a kernel. To take the
interpreter lock from a thread that has it costs more than to wake one.
"""

from __future__ import annotations

import platform
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from stairs.lowlevel.struct import field_pointer

LOCK, BELL, BELLS = 0, 64, 128
"""Bytes of a bell: a mutex, a condition, and both of them; no system has larger ones."""

_NOTHING = -1
"""In place of such bytes: an address that is not given."""

RINGS = binding.address_of_symbol("pthread_cond_wait") is not None
"""Where there is no bell, nobody sleeps by it: `wait` returns at once."""


@intrinsic(prefer_literal=True)
def fetch_add(typingctx: Any, struct: Any, name: Any, value: Any) -> Any:
    """Add to a field of a struct that other threads use too; returns what it was."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", field_pointer(builder, struct, args[0], name), args[2], "seq_cst")

    return types.int64(struct, name, types.int64), codegen


@intrinsic(prefer_literal=True)
def look(typingctx: Any, struct: Any, name: Any) -> Any:
    """A field of a struct as other threads have left it."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(field_pointer(builder, struct, args[0], name), "seq_cst", 8)

    return types.int64(struct, name), codegen


@intrinsic(prefer_literal=True)
def leave(typingctx: Any, struct: Any, name: Any, value: Any) -> Any:
    """Write a field of a struct for other threads, after all that was written before."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[2], field_pointer(builder, struct, args[0], name), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(struct, name, types.int64), codegen


@intrinsic
def pause(typingctx: Any) -> Any:
    """Let the processor know that this is a wait, so that what shares its core gets on."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if platform.machine() in ("x86_64", "AMD64"):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.void(), codegen


YIELDS = binding.address_of_symbol("sched_yield") is not None


@intrinsic
def give_way(typingctx: Any) -> Any:
    """Let another thread have this processor, if one waits for it: perhaps the one that is waited for."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if YIELDS:
            kind = ir.FunctionType(ir.IntType(32), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), codegen


def _calling(name: str, *places: int) -> Any:
    """A call of the system with addresses in a bell."""

    @intrinsic
    def call(typingctx: Any, bell: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            if RINGS:
                i32, at = ir.IntType(32), ir.IntType(8).as_pointer()
                kind = ir.FunctionType(i32, [at] * len(places))
                function = cgutils.get_or_insert_function(builder.module, kind, name)
                own = [builder.add(args[0], args[0].type(place)) for place in places]
                given = [builder.inttoptr(address, at) for address in own]
                given = [at(None) if place == _NOTHING else g for place, g in zip(places, given, strict=True)]
                builder.call(function, given)
            return context.get_dummy_value()

        return types.void(types.int64), codegen

    return call


make_lock = _calling("pthread_mutex_init", LOCK, _NOTHING)
make_bell = _calling("pthread_cond_init", BELL, _NOTHING)
lock, unlock = _calling("pthread_mutex_lock", LOCK), _calling("pthread_mutex_unlock", LOCK)
wait, wake_all = _calling("pthread_cond_wait", BELL, LOCK), _calling("pthread_cond_broadcast", BELL)
"""Of a bell by its address. `wait` is called with the lock held, and has it again when it returns."""
