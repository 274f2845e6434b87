"""The optimiser's kernels are compiled like those of STAIRs, and again when a source of theirs changes."""

from __future__ import annotations

from pathlib import Path

import numba as nb

from stairs.kernel import fingerprint

STAMP = fingerprint([*Path(__file__).parent.glob("*kernels.py"), Path(__file__)])

FLOATS = nb.float64[::1]
LONGS = nb.int64[::1]
FLAGS = nb.uint8[::1]
QUERY = nb.types.Tuple((LONGS, LONGS, FLAGS, FLOATS))
"""Key classes and thetas as bit masks of streams, which thetas a sorted index serves, and live rows."""
FACTS = nb.types.Tuple((LONGS, FLOATS, FLOATS, LONGS))
"""For every set of units (streams, or sub-plans that stay as they are) its streams as a mask, its live composites,
how often a composite of it arises per event and live composite, and the streams that a predicate links to it."""
ORDERS = nb.types.Tuple((FLOATS, LONGS, FLOATS, LONGS))
"""For every set the cost and the last stream of its best order, and of its second best."""
RANGES = nb.types.Tuple((FLOATS, FLOATS, FLOATS))
"""Lower and upper bounds of streams, and upper bounds of what is between the steps."""
