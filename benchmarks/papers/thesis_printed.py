"""The numbers of the thesis' tables, as rows: percent of BASE's time.

Of Table 6.4 the text at hand has the columns for periods of 2 and 3, and 4 to 6 streams, in an order that is lost: all
of these numbers are between 9.7 and 22.2, and they are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.papers.figure import Row
from benchmarks.papers.thesis_runs import CARD, POP, TOTAL_SAVED, TUPLES_SAVED
from benchmarks.papers.thesis_sets import ZIPF

Four = tuple[float, float, float, float]
"""POP': tuples and total; CARD: tuples and total."""


def _periods(numbers: dict[tuple[int, int], Four]) -> Iterator[Row]:
    for (streams, period), (pop_tuples, pop, card_tuples, card) in numbers.items():
        where = {"streams": streams, "period": period, "window": 10_000}
        yield {**where, "policy": POP, TUPLES_SAVED: pop_tuples, TOTAL_SAVED: pop}
        yield {**where, "policy": CARD, TUPLES_SAVED: card_tuples, TOTAL_SAVED: card}


def _windows(column: str, places: Sequence[float], numbers: dict[int, Sequence[float]]) -> Iterator[Row]:
    """Rows of windows; in each, for every place, POP' and CARD."""
    for window, line in numbers.items():
        for at, saved in enumerate(line):
            policy = (POP, CARD)[at % 2]
            yield {"window": window, column: places[at // 2], "policy": policy, TOTAL_SAVED: saved}


TABLE_4 = list(
    _periods(
        {
            (3, 1): (16.0, 15.8, 16.5, 16.2),
            (4, 1): (14.2, 13.5, 12.8, 12.2),
            (5, 1): (21.0, 19.3, 21.6, 20.7),
            (6, 1): (21.4, 19.4, 19.1, 17.4),
            (3, 2): (15.0, 14.9, 15.5, 15.4),
            (3, 3): (15.7, 15.6, 16.2, 16.0),
        }
    )
)
TABLE_5 = list(
    _periods(
        {
            (3, 1): (2.8, 2.6, 6.4, 5.8),
            (4, 1): (3.5, 3.4, 6.1, 6.0),
            (5, 1): (8.8, 8.4, 10.4, 10.0),
            (6, 1): (10.2, 9.3, 10.7, 9.7),
            (3, 2): (3.6, 3.5, 7.3, 7.0),
            (4, 2): (1.9, 1.8, 4.9, 4.8),
            (5, 2): (8.8, 8.6, 10.1, 9.8),
            (6, 2): (11.6, 10.9, 11.9, 11.3),
            (3, 3): (4.6, 4.5, 6.0, 5.9),
            (4, 3): (2.5, 2.5, 4.8, 4.8),
            (5, 3): (9.7, 9.5, 10.5, 10.3),
            (6, 3): (9.9, 9.3, 11.0, 10.3),
        }
    )
)
TABLE_6 = list(
    _windows(
        "streams",
        (3, 4, 5, 6),
        {
            5_000: (12.6, 12.0, 13.0, 17.1, 10.7, 13.27, 7.7, 10.3),
            10_000: (15.6, 16.0, 13.6, 12.2, 19.3, 20.7, 19.4, 17.4),
            15_000: (16.0, 15.4, 16.8, 21.9, 21.1, 20.6, 21.7, 19.7),
        },
    )
)
TABLE_7 = list(
    _windows(
        "streams",
        (3, 4, 5, 6),
        {
            5_000: (-0.01, 2.0, 0.9, 3.6, 7.1, 5.8, 6.5, 7.0),
            10_000: (2.6, 5.8, 3.4, 6.0, 8.4, 10.0, 9.3, 9.6),
            15_000: (2.5, 6.1, 6.1, 9.7, 19.1, 30.0, 18.9, 30.1),
        },
    )
)
TABLE_8 = list(
    _windows(
        "skew",
        tuple(ZIPF),
        {
            5_000: (-7.2, 2.8, -12.8, -7.0, -13.6, -5.3, -7.1, 0.0),
            10_000: (3.4, 2.0, 6.2, 3.7, 4.2, 7.3, 35.3, 29.4),
            15_000: (5.8, 6.3, 6.1, 7.0, 5.3, 10.3, 22.7, 22.8),
        },
    )
)
