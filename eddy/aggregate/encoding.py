"""Values of every type as words of 64 bits, which is all that the kernels of groups know."""

from __future__ import annotations

import numpy as np

from eddy.values.types import Array, ColumnType

_SIGN = np.int64(-(2**63))
_REST = np.int64(2**63 - 1)


def plain(array: Array, dtype: type[np.generic]) -> Array:
    """The array as kernels take it: of this dtype, in one piece, and not read-only; a copy only where it is not."""
    flags = array.flags
    if array.dtype == dtype and flags.c_contiguous and flags.writeable:
        return array
    return np.array(array, dtype)


def as_words(values: Array, type: ColumnType) -> Array:
    """Values as int64, or, of uint64 and floats, their bits as float64."""
    if type.kind == "float":
        return values.astype(np.float64, copy=False).view(np.int64)
    return values.view(np.int64) if values.dtype.itemsize == 8 else values.astype(np.int64)


def from_words(words: Array, type: ColumnType) -> Array:
    """The values again, in the dtype of their type."""
    if type.kind == "float":
        return words.view(np.float64).astype(type.dtype, copy=False)
    return words.view(type.dtype) if type.dtype.itemsize == 8 else words.astype(type.dtype)


def canonical(words: Array, type: ColumnType) -> Array:
    """These words, with one word for all NaN and one for both zeros."""
    if type.kind != "float":
        return words
    values = words.view(np.float64)
    return np.where(values == values, values + 0.0, np.nan).view(np.int64)


def ordered(words: Array, type: ColumnType) -> Array:
    """Canonical words such that their order as int64 is that of the values, NaN last; and back again."""
    if type.kind == "float":
        return words ^ ((words >> 63) & _REST)
    return words ^ _SIGN if type.name == "uint64" else words
