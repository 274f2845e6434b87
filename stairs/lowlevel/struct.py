"""Structs: tables that kernels read by name, each described once, by a structured numpy dtype.

The dtype lists the fields, one a line, with a comment that says what each is. Python has one struct as an object whose
fields are attributes (`new`), and many as a structured array. A kernel is given the address of either; it reads and
writes fields as attributes too, which is a load or a store at a constant offset: no array is made, and nothing is
counted or checked. Whoever gives an address away keeps the struct while the address is in use.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

LONG = np.int64
"""The type of a field: a number, an address, or the handle of an array."""

Dtype = np.dtype[Any]


def new(dtype: Dtype) -> Any:
    """A struct of this dtype, all zeros, with its fields as attributes; no other name can be set.

    Attributes are plain ints, and take an eighth of the time that an item of a structured array takes.
    """
    return _class(dtype)()


@functools.cache
def _class(dtype: Dtype) -> Any:
    described: Any = np.ctypeslib.as_ctypes_type(dtype)
    return type("Struct", (ctypes.Structure,), {"_fields_": described._fields_, "__slots__": ()})


def lines(table: NDArray[Any]) -> list[Any]:
    """The lines of a structured array, which may have several dimensions, as such objects: they share its memory."""
    kind, size, flat = _class(table.dtype), table.itemsize, table.reshape(-1).view(np.uint8)
    return [kind.from_buffer(flat, place) for place in range(0, table.nbytes, size)]


address = ctypes.addressof
"""Where a struct is that is such an object."""


def kind(dtype: Dtype) -> Any:
    """The type of a struct in the signature of a kernel that other kernels call."""
    return nb.from_dtype(dtype)


def at(dtype: Dtype) -> Any:
    """A function for kernels: the struct at an address."""
    record = kind(dtype)

    @intrinsic
    def struct_at(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(record))

        return record(types.int64), codegen

    return struct_at


def line_of(dtype: Dtype) -> Any:
    """A function for kernels: one of many structs, by the address of the first, and its number."""
    record, size = kind(dtype), ir.Constant(ir.IntType(64), dtype.itemsize)

    @intrinsic
    def struct_of(typingctx: Any, table: Any, number: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = builder.add(args[0], builder.mul(args[1], size))
            return builder.inttoptr(place, context.get_value_type(record))

        return record(types.int64, types.int64), codegen

    return struct_of


def field_pointer(builder: Any, kind: Any, value: Any, name: Any) -> Any:
    """For intrinsics: a pointer to a field, of 64 bits, of a struct whose type is ``kind``; ``name`` is a literal."""
    place = builder.ptrtoint(value, ir.IntType(64))
    offset = ir.Constant(ir.IntType(64), kind.offset(name.literal_value))
    return builder.inttoptr(builder.add(place, offset), ir.IntType(64).as_pointer())


@intrinsic(prefer_literal=True)
def field_at(typingctx: Any, struct: Any, name: Any) -> Any:
    """Where a field of a struct is, for kernels; its name is a literal."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ptrtoint(field_pointer(builder, struct, args[0], name), ir.IntType(64))

    return types.int64(struct, name), codegen
