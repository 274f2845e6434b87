"""Which strings are among some constants."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.values.string_kernels import is_among
from eddy.values.types import Array

FEW = 8
"""Up to so many constants are compared one by one."""


def among(text: Any, constants: tuple[str, ...]) -> Array:
    """Whether each string of an Arrow array is one of the constants."""
    if type(text) is not pa.StringArray or len(constants) > FEW:
        found: Array = pc.call_function("is_in", [text], _options(constants)).to_numpy(zero_copy_only=False)
        return found
    out = np.empty(len(text), np.bool_)
    if not constants:
        out[:] = False
    elif len(text):
        is_among(*_parts(text), *_known(constants), out)
    return out


def _parts(text: pa.StringArray) -> tuple[Array, Array]:
    """Offsets and bytes."""
    _, offsets, data = text.buffers()
    ends = np.frombuffer(offsets, np.int32, len(text) + 1, 4 * text.offset)
    return ends, np.frombuffer(data if data is not None else b"", np.uint8)


@lru_cache(maxsize=256)
def _known(constants: tuple[str, ...]) -> tuple[Array, Array]:
    return _parts(pa.array(constants, pa.string()))


@lru_cache(maxsize=256)
def _options(constants: tuple[str, ...]) -> pc.SetLookupOptions:
    return pc.SetLookupOptions(value_set=pa.array(constants, pa.string()))
