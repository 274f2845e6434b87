"""Claims that say nothing of rows which lack the points they ask for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.papers.figure import Claim, Judge, Row, Verdict


def claim(text: str, judge: Judge, why: str = "") -> Claim:
    """A claim whose judge is not asked about rows without the points, or with values that nothing can be made of."""

    def careful(rows: Sequence[Row]) -> Verdict | None:
        try:
            with np.errstate(all="raise"):
                return judge(rows)
        except (LookupError, ArithmeticError, ValueError):
            return None

    return Claim(text, careful, why)


def three(value: float) -> str:
    """A number with three digits that count, as it is said."""
    return f"{float(f'{value:.3g}'):,g}"
