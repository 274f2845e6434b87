"""Numbers that the JISC paper prints, or that its file carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.papers.figure import Row
from benchmarks.papers.jisc_runs import STEMS
from benchmarks.techniques import TRACKS

LEAKED: Mapping[int, tuple[float, float, float]] = {
    10: (0.437, 1.091, 0.531),
    20: (1.595, 5.174, 2.481),
    30: (2.122, 10.697, 4.269),
    40: (3.943, 19.261, 8.626),
    50: (5.101, 29.773, 12.91),
    60: (7.087, 40.405, 21.92),
    70: (9.071, 50.0, 31.11),
    80: (10.522, 69.789, 42.51),
    90: (11.047, 104.157, 56.7),
    100: (14.48, 141.909, 79.35),
}
"""Seconds of JISC, Parallel Track and CACQ that the paper's file carries as the data of a chart. The axis calls them
millions of tuples; by what the text says of Figure 7 they are numbers of joins."""
PAPER: Sequence[Row] = [
    {"joins": joins, "technique": technique, "times JISC's": seconds / taken[0]}
    for joins, taken in LEAKED.items()
    for technique, seconds in ((TRACKS, taken[1]), (STEMS, taken[2]))
]
