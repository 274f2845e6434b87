"""The optimiser's kernels are compiled like those of STAIRs, and again when a source of theirs changes."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba as nb

from stairs.kernel import kernel

FLOATS = nb.float64[::1]
LONGS = nb.int64[::1]
FLAGS = nb.uint8[::1]
QUERY = nb.types.Tuple((LONGS, LONGS, FLAGS, FLOATS))
"""Key classes and thetas as bit masks of streams, which thetas a sorted index serves, and live rows."""
FACTS = nb.types.Tuple((LONGS, FLOATS, FLOATS, LONGS))
"""For every set of units (streams, or sub-plans that stay as they are) its streams as a mask, its live composites,
how often a composite of it arises per event and live composite, and the streams that a predicate links to it."""
WORDS = nb.int64[:, ::1]
WIDE_QUERY = nb.types.Tuple((WORDS, FLAGS, FLOATS))
"""Where sets are rows of words: thetas, which of them a sorted index serves, and live rows."""
WIDE_FACTS = nb.types.Tuple((WORDS, FLOATS, FLOATS, WORDS, WORDS, LONGS))
"""And for every set its streams, its live composites, how often one arises per event and live composite, the key
classes that it has a stream of, those that it has several of, and how many streams it has."""
ORDERS = nb.types.Tuple((FLOATS, LONGS, FLOATS, LONGS))
"""For every set the cost and the last stream of its best order, and of its second best."""
RANGES = nb.types.Tuple((FLOATS, FLOATS, FLOATS))
"""Lower and upper bounds of streams, and upper bounds of what is between the steps."""


def twice(signature: Any, wide: Any) -> Callable[[Callable[..., Any]], tuple[Any, Any]]:
    """Compile a function for sets that are numbers, and once more for sets that are rows of words."""

    def compiled(function: Callable[..., Any]) -> tuple[Any, Any]:
        assert isinstance(function, FunctionType)
        name = f"wide_{function.__name__}"
        other = FunctionType(function.__code__, function.__globals__, name)
        return kernel(signature)(function), kernel(wide, name)(other)

    return compiled
