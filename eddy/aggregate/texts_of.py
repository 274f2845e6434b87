"""How the groups of an engine come from codes of strings to the strings, and back."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from attrs import frozen

from eddy.values.types import Array


@frozen
class Texts:
    """The two ways of a pool of strings."""

    decode: Callable[[Array], pa.Array | pa.ChunkedArray]
    encode: Callable[[pa.Array | pa.ChunkedArray], Array]
