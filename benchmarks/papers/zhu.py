"""Zhu, Rundensteiner, Heineman: Dynamic Plan Migration (SIGMOD 2004), Figures 9 to 16."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from benchmarks.papers import zhu_claims as claims
from benchmarks.papers.code import COUNTED
from benchmarks.papers.figure import Chart, Claim, Figure, Piece
from benchmarks.papers.judging import claim
from benchmarks.papers.zhu_claims import EQUATION, PRINTED, TWICE
from benchmarks.papers.zhu_runs import (
    HIGH,
    LOW,
    SCARCE,
    SUFFICIENT,
    by_rate,
    by_window,
    by_window_high,
    durations,
    over_time,
)
from benchmarks.simulated.chain import EXACT, MOVING, PURGED

MEASURES = COUNTED

_COMMON = (
    "Four streams in a chain, ((A B) C) D to A ((B C) D), Poisson arrivals for 50,000 ms, nested loops, the "
    "change after 10,000 ms, all as in the paper; the clock is simulated. "
)
_LENGTH = _COMMON + (
    f"An evaluation takes {SUFFICIENT.join} ms and an insertion {SUFFICIENT.insert} ms, which the paper does not "
    "print: with them the old plan keeps up in sets 1 and 2. Parallel Track is purged as printed, by the least "
    "and greatest times of tuples; the library's own ends with exact expiry. There are no background queries."
)
_TIME = _COMMON + (
    f"An evaluation takes {SCARCE.join} ms and an insertion {SCARCE.insert} ms, which the paper does not print; they "
    "were chosen among several that were tried: with them the old plan keeps up in the low configuration and falls "
    "behind in the high one, as the paper says. The change waits for its turn in the queue, so rows that came before "
    "it go through the old plan. Means of several feeds."
)


def _figure(
    number: int, title: str, setup: str, source: Piece | Figure, told: Sequence[Claim], *charts: Chart
) -> Figure:
    """``source``: what measures it, or the figure that has the same rows."""
    of = source if isinstance(source, Figure) else None
    return Figure(
        name=f"zhu-{number}",
        paper="Zhu",
        label=f"Figure {number}",
        title=title,
        setup=setup,
        pieces={} if isinstance(source, Figure) else {"all": source},
        claims=told,
        charts=charts,
        measures=MEASURES,
        simulated=True,
        of=of,
    )


BY_KEY = (
    "the engine makes a state key by key: by nested loops it looks at all rows of an input once more for each "
    "key, which counts where windows have fewer rows than there are keys"
)
NO_CROSSING = (
    "by the paper's own counts it cannot be: whatever a pair takes, the old plan evaluates more pairs in 2 W than "
    "Moving State does to make its states as soon as W is above 500 ms, since D meets W/100 (W/12)^2 / 100 tuples "
    "in each of its W/12 rows; so before Moving State could take 2 W the old plan does not keep up, and Parallel "
    "Track takes longer, too (column `busy`: above 1 rows pile up)"
)
FEW_ROWS = (
    "only with a W of 500 ms, from 1,000 ms on it does: as printed, a state is purged when a tuple comes to the other "
    "side, and with five rows in a window hardly any reach the upper joins (column `evaluations`), so that old tuples "
    "stay; feeds differ threefold there"
)
SHORT_PAUSE = (
    "the states that Moving State lacks take some 5,000 evaluations and 200 insertions here, 150 ms; for a "
    "silence of 10 s an evaluation would have to take 2 ms, and then the new plan could not keep up either. The "
    "rows that wait when the change comes are served by the old plan first, which goes on to give results"
)

_FIGURE_13 = _figure(
    13,
    "Intermediate tuples over time, low configuration",
    f"W 1000 ms, rows every 100 ms, reduction factors 0.1, 0.02, 0.02. {_TIME}",
    partial(over_time, chain=LOW),
    [
        claim("The new plan has much fewer intermediate tuples than the old one", claims.fewer_tuples),
        claim(
            "Moving State has as few as the new plan earlier than Parallel Track",
            claims.moving_settles_first,
        ),
    ],
    Chart("ms", "intermediate tuples", by="technique", title="Composites in states, by time in ms"),
)
_FIGURE_15 = _figure(
    15,
    "Intermediate tuples over time, high configuration",
    f"W 2000 ms, rows every 50 ms, reduction factors 0.2, 0.05, 0.05. {_TIME}",
    partial(over_time, chain=HIGH),
    [
        claim(
            "After the migration both have far fewer intermediate tuples than the old plan",
            partial(claims.better_than_old, y="intermediate tuples", more=False),
        ),
        claim(
            "While it lasts, Parallel Track has fewer than Moving State",
            claims.fewer_tuples_during,
            why=f"Parallel Track holds the states of both plans, and {SHORT_PAUSE}",
        ),
    ],
    Chart("ms", "intermediate tuples", by="technique", title="Composites in states, by time in ms"),
    Chart("ms", "queue", by="technique", title="Rows that wait, by time in ms"),
)

FIGURES: Sequence[Figure] = (
    _figure(
        9,
        "How long Parallel Track takes, by window",
        f"Set 1: rows every 100 ms, reduction factors 0.1, 0.05, 0.02. {_LENGTH}",
        partial(durations, x="window", told=(PURGED, EXACT, TWICE), points=by_window),
        [
            claim(
                "Parallel Track takes about 2 W",
                partial(claims.near_windows, technique=PURGED, windows=2),
                why=FEW_ROWS,
            ),
            claim(
                "It takes w where tuples leave with their first part (HybMig, section 3.5)",
                partial(claims.near_windows, technique=EXACT, windows=1),
            ),
        ],
        Chart("window", "ms", by="technique", title="Duration, ms, by W in ms"),
    ),
    _figure(
        10,
        "How long Moving State takes, by window",
        f"Set 1, as in Figure 9. {_LENGTH}",
        partial(durations, x="window", told=(MOVING, EQUATION, PRINTED), points=by_window),
        [
            claim("Moving State takes a polynomial of W", claims.polynomial),
            claim("It takes half to twice what equation 8 says", claims.as_estimated, why=BY_KEY),
        ],
        Chart("window", "ms", by="technique", log="xy", title="Duration, ms, by W in ms"),
    ),
    _figure(
        11,
        "How long migrations take, by the rate of B",
        f"Set 2: W 1000 ms, rows of A, C and D every 50 ms. {_LENGTH}",
        partial(durations, x="rate of B", told=(MOVING, PURGED, EXACT), points=by_rate),
        [
            claim("The rate has almost no effect on Parallel Track, which takes 2 W", claims.flat_in_rate),
            claim("Moving State takes longer with a higher rate", claims.grows_with_rate),
        ],
        Chart("rate of B", "ms", by="technique", log="y", title="Duration, ms, by rows of B a second"),
    ),
    _figure(
        12,
        "Moving State and Parallel Track, by window",
        f"Set 3: rows of A every 100 ms, of B, C and D every 12 ms, all reduction factors 0.1. {_LENGTH}",
        partial(
            durations,
            x="window",
            told=(MOVING, PURGED, EXACT, TWICE),
            points=by_window_high,
            several={"quick": 1, "full": 3},
        ),
        [
            claim("With small windows Moving State is faster", claims.faster_first),
            claim("From a certain window on Parallel Track is faster", claims.crossing, why=NO_CROSSING),
        ],
        Chart("window", "ms", by="technique", log="xy", title="Duration, ms, by W in ms"),
    ),
    _FIGURE_13,
    _figure(
        14,
        "Output rate over time, low configuration",
        f"As Figure 13. {_TIME}",
        _FIGURE_13,
        [Claim("Neither has a strong advantage: as many results from 10 to 20 s", claims.alike_output)],
        Chart("ms", "results a second", by="technique", title="Results a second, by time in ms"),
    ),
    _FIGURE_15,
    _figure(
        16,
        "Output rate over time, high configuration",
        f"As Figure 15. {_TIME}",
        _FIGURE_15,
        [
            claim("Moving State is silent from 10,000 to 20,000 ms", claims.silent, why=SHORT_PAUSE),
            claim(
                "Parallel Track gives more results in the first 10 s of the migration",
                claims.more_output,
                why=f"it does the work of two plans on a server that is busy already, and {SHORT_PAUSE}",
            ),
            claim("The migration ends earlier with Moving State", claims.ends_earlier),
            claim(
                "After it both give results faster than the old plan",
                partial(claims.better_than_old, y="results a second", more=True),
            ),
        ],
        Chart("ms", "results a second", by="technique", title="Results a second, by time in ms"),
    ),
)
