"""What is measured for the thesis' tables and figures, piece by piece: most pieces are shown by several of them."""

from __future__ import annotations

from functools import partial

from benchmarks.papers.code import TIMED_ROUTING
from benchmarks.papers.figure import Figure, Piece
from benchmarks.papers.thesis_runs import LOOKING, PRINTED, best_and_worst, compare
from benchmarks.papers.thesis_sets import PUNI_SET, UNI_SET, ZIPF, ZIPF_SET

STREAMS, PERIODS, WINDOWS = (3, 4, 5, 6), (1, 2, 3), (5_000, 10_000, 15_000)
ALIKE = "best and worst orders of similar streams"
MORE_LOOKS = {k: f"{PUNI_SET}, {k} streams, more looks" for k in (4, 5)}


def uniform(name: str, streams: int, window: int = 10_000, period: int = 1) -> str:
    """The name of a piece of Uni-Set or pUni-Set."""
    return f"{name}, {streams} streams, windows of {window:,}, period {period}"


def skewed(skew: float, window: int = 10_000) -> str:
    """The name of a piece of Zipf-Set."""
    return f"{ZIPF_SET} {skew}, windows of {window:,}"


def as_printed(name: str) -> str:
    """The name of a piece with the thesis' policies to the letter."""
    return f"{name}, 6 streams, as printed"


def _pieces() -> dict[str, Piece]:
    found: dict[str, Piece] = {}
    for name in (UNI_SET, PUNI_SET):
        for k in STREAMS:
            for period in PERIODS:
                found[uniform(name, k, period=period)] = partial(
                    compare, set_name=name, streams=k, window=10_000, period=period
                )
            for window in (5_000, 15_000):
                found[uniform(name, k, window)] = partial(
                    compare, set_name=name, streams=k, window=window, period=1
                )
    for skew in ZIPF:
        for window in WINDOWS:
            found[skewed(skew, window)] = partial(
                compare, set_name=ZIPF_SET, streams=6, window=window, period=1, skew=skew
            )
    for name, skew in ((UNI_SET, 0.0), (PUNI_SET, 0.0), (ZIPF_SET, 0.8)):
        found[as_printed(name)] = partial(
            compare, set_name=name, streams=6, window=10_000, period=1, skew=skew, sides=PRINTED
        )
    for k, name in MORE_LOOKS.items():
        found[name] = partial(compare, set_name=PUNI_SET, streams=k, window=10_000, period=1, sides=LOOKING)
    found[ALIKE] = best_and_worst
    return found


MEASURED = Figure(
    name="thesis",
    paper="Thesis",
    label="Chapter 6",
    title="What its tables and figures show",
    setup="",
    pieces=_pieces(),
    claims=(),
    charts=(),
    measures=(*TIMED_ROUTING, "eddy/tracks", "benchmarks/papers/thesis_sets.py"),
)
"""All pieces. The figures show some of them each."""
