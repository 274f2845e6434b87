"""Hashes of join keys that are the same in every process, whatever type equal values have.

A value is first brought to its class's canonical key, so that 3 as int8, uint64 and float64, or one instant in two
units, are one number; a text is hashed by its bytes. Rows that cannot match, as their key is NULL, NaN or not in the
range of the other members, are ruled out here, as the engine would do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numba import types

from eddy.conversion import convert
from eddy.keys import KeyClass
from eddy.types import Array, Column
from stairs.kernel import fingerprint, kernel, part

STAMP = fingerprint((Path(__file__),))

_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_BYTE, _HALF, _EIGHT, _ONE = np.uint64(8), np.uint64(32), np.uint64(8), np.uint64(1)

_bytes = types.Array(types.uint8, 1, "C", readonly=True)
_longs = types.int64[::1]


@part
def scramble(value, salt):  # type: ignore[no-untyped-def]
    """All bits of a number spread over all bits of another."""
    h = np.uint64(value) + (np.uint64(salt) + _ONE) * _GOLDEN
    h = (h ^ (h >> np.uint64(30))) * _FIRST
    h = (h ^ (h >> np.uint64(27))) * _SECOND
    return h ^ (h >> np.uint64(31))


@part
def coordinate(value, salt, share):  # type: ignore[no-untyped-def]
    """Which of so many parts a key belongs to."""
    return np.int64(((scramble(value, salt) >> _HALF) * np.uint64(share)) >> _HALF)


@kernel(types.void(_longs, types.int64, types.int64, types.int64, _longs), stamp=STAMP)
def add_coordinates(keys, salt, share, stride, cells):  # type: ignore[no-untyped-def]
    """Add to each row's cell what one dimension says of it."""
    for i in range(keys.shape[0]):
        cells[i] += coordinate(keys[i], salt, share) * stride


@kernel(types.void(_longs, _bytes, _longs), stamp=STAMP)
def hash_texts(offsets, data, out):  # type: ignore[no-untyped-def]
    """A number for each text, made of its bytes, eight at a time."""
    for i in range(out.shape[0]):
        at, end = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        h = (end - at) * _SECOND
        while at < end:
            word, n = np.uint64(0), np.uint64(0)
            while at < end and n < _EIGHT:
                word = (word << _BYTE) | np.uint64(data[at])
                at += _ONE
                n += _ONE
            h = (h ^ word) * _FIRST
            h ^= h >> _HALF
        out[i] = np.int64(h)


def text_keys(text: Any) -> Array:
    """Numbers for texts without NULLs, of type string or large_string: equal texts have equal ones."""
    if isinstance(text, pa.ChunkedArray):
        return np.concatenate([np.empty(0, np.int64), *(text_keys(chunk) for chunk in text.chunks)])
    _, ends, body = text.buffers()
    out = np.empty(len(text), np.int64)
    if len(out):
        width = np.int64 if pa.types.is_large_string(text.type) else np.int32
        offsets = np.frombuffer(ends, width)[text.offset : text.offset + len(text) + 1].astype(np.int64)
        data = np.frombuffer(body if body is not None else b"", np.uint8)
        data.flags.writeable = False
        hash_texts(offsets, data, out)
    return out


def key_of(key_class: KeyClass, stream: str, values: Any) -> Column:
    """The keys of a member's values and, where some of them cannot match anything, a mask of the others.

    The keys of texts stand for them: others may, very rarely, have the same, which sends them to the same place.
    """
    kind = key_class.types[stream]
    found = values if isinstance(values, Column) else convert(f"stream {stream}, {key_class}", kind, values)
    if kind.kind == "string":
        return Column(text_keys(found.values), found.valid)
    keys, valid = key_class.encode(stream, np.ascontiguousarray(found.values), found.valid)
    return Column(np.ascontiguousarray(keys), valid)
