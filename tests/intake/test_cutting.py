"""Arrivals that are cut into batches: what a piece costs depends on the piece."""

import tracemalloc

import numpy as np

from eddy.intake.intake import Arrivals, Part
from eddy.values.types import Column


def test_cutting_a_piece_off_converts_no_more_than_the_piece():
    """However many events are pushed together: a piece of them is found without a copy of all."""
    n = 1 << 20
    events = np.arange(n, dtype=np.int32)
    keys = np.arange(n)
    part = Part(0, {"k": Column(keys)}, {0: keys}, None, events)
    pieces = Arrivals(np.zeros(n, np.int32), None, (part,)).cut(lambda: 1024)
    next(pieces)
    tracemalloc.start()
    try:
        piece = next(pieces)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert piece.parts[0].events.tolist() == list(range(1024))
    assert peak < events.nbytes / 8
