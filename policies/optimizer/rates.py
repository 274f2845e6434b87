"""Phase 1 of the thesis' re-optimiser: have arrival rates changed enough for a closer look?"""

from __future__ import annotations

from collections.abc import Sequence


def distance(before: Sequence[float], now: Sequence[float]) -> float:
    """How differently arrivals are distributed over the streams (5.3.2): 0 alike, 1 wholly otherwise.

    A vector without arrivals is like any other: there is nothing to learn from it.
    """
    one, other = sum(before), sum(now)
    if one <= 0 or other <= 0:
        return 0.0
    return 0.5 * sum(abs(a / one - b / other) for a, b in zip(before, now, strict=True))


def probability(before: Sequence[float], now: Sequence[float], alpha: float) -> float:
    """With which probability the check goes on (5.1): at least ``alpha``."""
    return alpha + (1.0 - alpha) * distance(before, now)
