"""The revision path: ranges that move along with cardinalities while a plan stays (5.2.4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def shifted(low: Floats, high: Floats, before: Floats, now: Floats, cap: Floats) -> tuple[Floats, Floats]:
    """Both bounds moved by as much as the cardinality, not below 0, and not above the rows of a length-based window.

    Where the cardinality has reached those rows, nothing moves (5.2.4.3).
    """
    moved = np.where(now >= cap, 0.0, now - before)
    return np.maximum(low + moved, 0.0), np.minimum(np.maximum(high + moved, 0.0), cap)


def outside(low: Floats, high: Floats, now: Floats) -> NDArray[np.bool_]:
    """Which cardinalities have left their ranges (phase 2)."""
    return (now < low) | (now > high)
