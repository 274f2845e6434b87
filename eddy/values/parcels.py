"""Chunks of what is carried: the buffers of strings, or values of a type that only Arrow knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define

from eddy.values import arrow
from eddy.values.types import Array

LEAST = 256
"""Bytes that the smallest parcel counts for."""


@define(eq=False)
class Chunk:
    """Strings side by side: their offsets, one more than there are strings, and their bytes."""

    ends: Array
    data: Array
    nbytes: int
    """What is held by holding this: all of what the arrays are parts of."""
    base: int = 0
    """The index of the first."""


@define(eq=False)
class Parcel(Chunk):
    """Values of a type that only Arrow knows, in the place of strings."""

    array: Any = None


def packed(array: pa.Array, places: Array) -> Parcel:
    """The values at these places, ascending; in memory of their own, unless they are most of what they lie in."""
    if len(places) < len(array) or 2 * array.nbytes < array.get_total_buffer_size():
        array = array.take(arrow.from_numpy(places, None, pa.int64()))
    size = max(LEAST, array.get_total_buffer_size())
    return Parcel(np.zeros(1, np.int32), np.zeros(1, np.uint8), size, array=array)


def collected(
    chunks: Sequence[Chunk | None], which: Array, places: Array, valid: Array, of: pa.DataType
) -> pa.Array:
    """The values at places in parcels, each in the one of ``chunks`` that ``which`` says; null if not valid.

    A chunk of strings among them stands for nothing.
    """
    arrays, starts, at = [], np.zeros(len(chunks), np.int64), 0
    for i, chunk in enumerate(chunks):
        if isinstance(chunk, Parcel):
            arrays.append(chunk.array)
            starts[i] = at - chunk.base
            at += len(chunk.array)
    indexes = np.where(valid, starts[which] + places, 0) if len(places) else places
    if not at:
        return pa.nulls(len(places), of)
    taken = pa.chunked_array(arrays, of).take(arrow.from_numpy(indexes, valid, pa.int64()))
    return taken.chunk(0) if taken.num_chunks == 1 else taken.combine_chunks()
