"""Arrays and lists of Python's strings as Arrow, without a call for each string."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.values.object_kernels import (
    ASCII,
    BYTES,
    FLAGS,
    LENGTH,
    MASK,
    TYPE,
    collect_objects,
    measure_objects,
)
from eddy.values.types import Array
from stairs.lowlevel.address import address_of

LONGEST = (1 << 31) - 1
"""Bytes that one plain Arrow array of strings can hold."""


def _is_known(text: str) -> bool:
    """Whether a string's fields are where they are thought to be."""
    long, short, at = ctypes.c_size_t.from_address, ctypes.c_uint32.from_address, id(text)
    plain = short(at + FLAGS).value & MASK == ASCII
    if plain != text.isascii() or long(at + TYPE).value != id(str) or long(at + LENGTH).value != len(text):
        return False
    return not plain or ctypes.string_at(at + BYTES, len(text) + 1) == text.encode() + b"\0"


_LETTERS = "", "a", "z\0", "word", "a longer text", "é", "größer", "ÿ" * 40, "Ж", "日本", "𝄞", "a𝄞"
KNOWN = sys.implementation.name == "cpython" and all(map(_is_known, (*_LETTERS, *map("-".join, _LETTERS))))
"""Whether strings may be read where they are."""


def ascii_texts(values: Sequence[Any] | Array) -> pa.StringArray | None:
    """The objects in a list or a plain array as strings; None if one is anything but a string of ASCII characters."""
    if not KNOWN:
        return None
    count, objects = len(values), _held(values)
    offsets = np.empty(count + 1, np.int32)
    total = measure_objects(address_of(objects), id(str), LONGEST, offsets)
    if total < 0:
        return None
    data = np.empty(total, np.uint8)
    collect_objects(address_of(objects), offsets, address_of(data))
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _held(values: Sequence[Any] | Array) -> Array:
    """An array with a reference to each of the objects, whatever somebody else does with the values meanwhile."""
    if isinstance(values, np.ndarray):
        return values.copy()
    return np.fromiter(values, object, len(values))
