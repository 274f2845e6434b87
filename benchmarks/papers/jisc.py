"""JISC (EDBT 2014), Figures 7 to 12 and Propositions 1 to 3."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from benchmarks.papers import jisc_claims as claims
from benchmarks.papers.code import TIMED_MIGRATION
from benchmarks.papers.figure import Chart, Claim, Figure, Piece, Profile, Row
from benchmarks.papers.jisc_analysis import counted, propositions
from benchmarks.papers.jisc_printed import PAPER
from benchmarks.papers.jisc_runs import (
    STEMS,
    first_output,
    frequency,
    normal,
    sizes_of,
    transition,
)
from benchmarks.papers.jisc_whys import MADE_IN_PYTHON, NEW_PLAN, PARTLY, SAME_KERNELS, STEMS_FAST
from benchmarks.techniques import JISC, TRACKS

SETTINGS = [(joins, feed) for feed in ("even", "random") for joins in (5, 10, 15, 20)] + [
    (50, "even"),
    (100, "even"),
]
"""With random keys, more than 20 streams hardly ever have one in common."""
HUNDRED = frozenset({"100 joins, even keys"})
"""Takes half a minute in a quick run, for each figure that has it."""
PERIODS = (0.125, 0.25, 0.5, 1.0, 2.0)
WINDOWS = (1_000, 10_000, 100_000)
LARGE = frozenset(sizes_of(Profile(name), joins).batch for name in ("quick", "full") for joins, _ in SETTINGS)
"""Events of a batch, where these are not varied."""
STAGE = (
    "A left-deep plan over windows of 10,000 rows (quick: 2,000, and 500 with 50 and 100 joins), one shared key with "
    "as many values as a window has rows, each once in every window (even) or drawn at random. From the transition "
    "until Parallel Track has let its old plan go, everybody over the same rows: processor seconds, medians over seven "
    "transitions (the shorter of two for 50 and 100 joins). SteMs are CACQ's; *no change* keeps its plan. All run on "
    "the same kernels, in batches of 4,096 events (quick: 512)."
)


def _transitions(case: str) -> dict[str, Piece]:
    return {
        f"{joins} joins, {feed} keys": partial(transition, joins=joins, feed=feed, case=case)
        for joins, feed in SETTINGS
    }


def _speed_ups(paper: Sequence[Row] = ()) -> list[Chart]:
    return [
        Chart("joins", "seconds", "technique", log="xy", where={"keys": "even"}, title="seconds, even keys"),
        Chart(
            "joins",
            "times JISC's",
            "technique",
            log="xy",
            where={"keys": "even"},
            title="speed-up of JISC, even keys",
            paper=paper,
        ),
        Chart("joins", "times JISC's", "technique", where={"keys": "random"}, title="speed-up, random keys"),
    ]


FIGURE_7 = Figure(
    name="jisc-7",
    paper="JISC",
    label="Figure 7",
    title="The migration stage, best case: one state is incomplete",
    setup=f"The two streams on top change places. {STAGE}",
    pieces=_transitions("best"),
    claims=[
        Claim(
            "JISC is faster than Parallel Track, for any number of joins",
            partial(claims.faster_than, technique=TRACKS),
        ),
        Claim(
            "Up to an order of magnitude faster than Parallel Track (2.5 times to 9.8 times)",
            claims.order_of_magnitude,
            why=SAME_KERNELS,
        ),
        Claim("The more joins, the larger the gain", claims.grows_with_joins, why=SAME_KERNELS),
        Claim("CACQ is between JISC and Parallel Track", claims.stems_between, why=STEMS_FAST),
    ],
    charts=_speed_ups(PAPER),
    measures=TIMED_MIGRATION,
    large=HUNDRED,
)
FIGURE_8 = Figure(
    name="jisc-8",
    paper="JISC",
    label="Figure 8",
    title="The migration stage, worst case: all states but the root are incomplete; with speed-up",
    setup=f"The bottom stream and the top one change places. {STAGE}",
    pieces=_transitions("worst"),
    claims=[
        Claim(
            "JISC is faster than Parallel Track in the worst case, too",
            partial(claims.faster_than, technique=TRACKS),
        ),
        Claim("The more joins, the larger the gain", claims.grows_with_joins, why=SAME_KERNELS),
        Claim("JISC is faster than CACQ", partial(claims.faster_than, technique=STEMS), why=STEMS_FAST),
    ],
    charts=_speed_ups(),
    measures=TIMED_MIGRATION,
    large=HUNDRED,
)
FIGURE_9 = Figure(
    name="jisc-9",
    paper="JISC",
    label="Figure 9",
    title="Normal operation, without a transition",
    setup=(
        "As for Figures 7 and 8, but no transition: million events a second. The *plain pipeline* is the symmetric "
        "hash joins of the same left-deep plan, written out tuple by tuple in Numba, which can do nothing else. With "
        "20 joins also by size of batch: the paper routes tuple by tuple."
    ),
    pieces={
        **{
            f"{joins} joins, {feed} keys": partial(normal, joins=joins, feed=feed) for joins, feed in SETTINGS
        },
        **{
            f"20 joins, batches of {size}": partial(normal, joins=20, feed="even", size=size)
            for size in (1, 16, 256)
        },
    },
    claims=[
        Claim("With 20 joins, about 2 times as fast as CACQ", claims.twice_stems, why=STEMS_FAST),
        Claim("Hardly slower than plain symmetric hash joins", claims.near_plain),
    ],
    charts=[
        *(
            Chart(
                "joins",
                "million events/s",
                "technique",
                log="xy",
                where={"keys": keys, "events of a batch": LARGE},
                title=f"{keys} keys",
            )
            for keys in ("even", "random")
        ),
        Chart(
            "events of a batch",
            "times JISC's",
            "technique",
            log="x",
            where={"keys": "even", "joins": 20},
            title="time, of JISC's, by size of batch, 20 joins",
        ),
    ],
    measures=TIMED_MIGRATION,
    large=HUNDRED,
)
FIGURE_10 = Figure(
    name="jisc-10",
    paper="JISC",
    label="Figure 10",
    title="From a transition to the first output, by window",
    setup=(
        "The worst case, from the call of `migrate` to the end of the first batch with a result. Hash joins: four "
        "streams; nested loops: three. Windows of 1,000, 10,000 and 100,000 rows (quick: a fifth for nested loops), "
        "all states of the old plan complete. In batches of 64 events, and of 4,096 (nested loops: 1,024; quick: 256): "
        "a batch is the least that output waits for."
    ),
    pieces={
        f"{joins}, {window:,} rows": partial(first_output, joins=joins, window=window)
        for joins in ("hash", "nested")
        for window in WINDOWS
    },
    claims=[
        Claim(
            "Hash joins: JISC's first output comes at once, whatever the window",
            partial(claims.negligible, joins="hash"),
            why=MADE_IN_PYTHON,
        ),
        Claim(
            "Hash joins: Moving State's first output grows with the window",
            partial(claims.grows, joins="hash", least=0.7),
        ),
        Claim(
            "Nested loops: JISC's first output comes at once, whatever the window",
            partial(claims.negligible, joins="nested"),
        ),
        Claim(
            "Nested loops: Moving State's first output grows faster than the window, to 4,600 s for 100,000 rows",
            partial(claims.grows, joins="nested", least=1.5),
        ),
    ],
    charts=[
        Chart(
            "window",
            "ms to the first output",
            "technique",
            log="xy",
            where={"joins": joins, "events of a batch": 64},
            title=f"{title}, batches of 64 events",
        )
        for joins, title in (("hash", "hash joins"), ("nested", "nested loops"))
    ],
    measures=TIMED_MIGRATION,
)


def _frequencies(label: str, case: str, which: str, own: Sequence[Claim]) -> Figure:
    return Figure(
        name=f"jisc-{label.split()[1]}",
        paper="JISC",
        label=label,
        title=f"Frequent transitions, {case} case: {which}",
        setup=(
            "20 joins (quick: 10) over windows of 10,000 rows (2,000), even keys, forced transitions there and back "
            "every 1/8 to 2 turn-overs of the windows, four turn-overs (two). The paper has 20 million tuples and a "
            "transition every 1 to 10 million."
        ),
        pieces={
            f"every {period} windows": partial(frequency, case=case, period=period) for period in PERIODS
        },
        claims=[
            Claim(
                "JISC is faster than Parallel Track throughout",
                partial(claims.always_fastest, technique=TRACKS),
            ),
            Claim(
                "JISC is faster than CACQ throughout",
                partial(claims.always_fastest, technique=STEMS),
                why=STEMS_FAST,
            ),
            Claim(
                "CACQ is as fast however frequent they are",
                partial(claims.flat, technique=STEMS, most=1.25),
                why=NEW_PLAN,
            ),
            *own,
        ],
        charts=[Chart("windows between transitions", "million events/s", "technique", log="x")],
        measures=TIMED_MIGRATION,
    )


FIGURE_11 = _frequencies(
    "Figure 11",
    "worst",
    "all states but the root are incomplete",
    [
        Claim(
            "Parallel Track is the slowest where transitions are most frequent: its old plans pile up",
            claims.worst_when_frequent,
        ),
        Claim(
            "JISC is slower where they are frequent: states are never complete",
            partial(claims.slower_when_frequent, technique=JISC),
        ),
    ],
)
FIGURE_12 = _frequencies(
    "Figure 12",
    "best",
    "one state is incomplete",
    [
        Claim(
            "JISC is nearly as fast where they are frequent: within a quarter",
            partial(claims.flat, technique=JISC, most=1.25),
            why=PARTLY,
        ),
    ],
)
PROPOSITIONS = Figure(
    name="jisc-propositions",
    paper="JISC",
    label="Propositions 1 to 3",
    title="How many states stay complete when two streams change places",
    setup=(
        "n joins; places I < J change theirs with a chance in proportion to 1 / (J - I), which makes J - I states "
        "incomplete, and C_n = n - (J - I). The closed forms beside a million swaps drawn by the law (quick: 20,000), "
        "and beside an engine that makes such swaps."
    ),
    pieces={"drawn": propositions, "engine": counted},
    claims=[
        Claim("Proposition 1: E[C_n] = (2nH_n - 3n + 1) / (2H_n - 2)", claims.mean_as_drawn),
        Claim("Proposition 2: its variance", claims.variance_as_drawn),
        Claim("Proposition 3: C_n / n goes to 1 in probability", claims.converges),
        Claim("A swap makes J - I states incomplete", claims.engine_counts),
    ],
    charts=[
        Chart(
            "joins",
            "E[C_n] / n",
            log="x",
            where={"engine, of J - I": None},
            title="the share of complete states",
        ),
    ],
    measures=("eddy/plan", "eddy/migration"),
    simulated=True,
)
FIGURES: Sequence[Figure] = (FIGURE_7, FIGURE_8, FIGURE_9, FIGURE_10, FIGURE_11, FIGURE_12, PROPOSITIONS)
