"""JIT (just-in-time processing of continuous queries, ICDE 2008), Figures 5 and 10 to 17."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from benchmarks.jit_workloads import BUSHY_DEFAULT, LEFT_DEEP_DEFAULT, Setting
from benchmarks.papers import jit_claims as claims
from benchmarks.papers.code import TIMED_FEEDBACK
from benchmarks.papers.figure import Chart, Claim, Figure
from benchmarks.papers.jit_runs import FIVE, JOINS, five, point

MEASURES = (*TIMED_FEEDBACK, "benchmarks/jit_figures.py", "benchmarks/papers/jit_runs.py")
SETUP = (
    "An equality between every two streams, each over columns of its own, values uniform in 1 to dmax; five hours of "
    "the feed (quick: six windows), from empty windows, as fast as it can be processed; medians of three feeds (quick: "
    "one). REF is `NoFeedback`, JIT is `Mns`, on the same kernels. *seconds* is processor time of the whole run; *KiB* "
    "is the most that composites, blacklists and directories have taken, and *engine, KiB* all that the engine has. "
    "The paper's rows come one at a time and its joins are nested loops; here a batch has 1,024 events, and hash joins "
    "are shown beside. "
)
BUSHY_PLAN = "Bushy plans of Table II; by default w is 20 min, 1 row a second, 6 streams, dmax 200. "
LEFT_DEEP_PLAN = (
    "Left-deep plans; by default w is 10 min, 1 row a second, 4 streams, dmax 50, and D (C of three) has 100 times as "
    "many values. (The default number of streams cannot be read in the paper.) "
)
ONE_SIDE = (
    "at every join only one side may wait, or two rows could wait for each other for ever, as they do in the scheme as "
    "printed; so one STAIR of pairs is made in any case, and blacklists count here"
)
RINGS = (
    "composites do (column *composites*): alike with 4 and 5, with 6 and 7. What is measured is memory that is "
    "allocated, and a ring that is full becomes twice as large: so with as many composites it may take half or double"
)
STILL_MADE = (
    "where it takes more, edges rest since judging does not pay: nearly all composites are made (column *composites*), "
    "their rings are as large as REF's or larger (*composites, KiB*; why larger was not found out), and blacklists "
    "come on top"
)
TRIED = (
    "where it takes longer, composites are so few that they lie in the cache and cost as little as judging: five hours "
    "are tens of milliseconds, and what is left is the cost of having tried. It pays with larger windows "
    "([the defaults as goals](../feedback.md#figures))"
)
CHEAP = (
    "with little to join a run is mostly what a batch takes in Python, for both sides: a hundred batches of five "
    "hours take some milliseconds"
)


def _charts(x: str, shown: str) -> list[Chart]:
    return [
        Chart(x, y, by="side", where={"joins": joins}, log=log, title=f"{title}, {joins}, by {shown}")
        for joins in JOINS
        for y, log, title in (("seconds", "y", "Processor time, s"), ("KiB", "", "Memory, KiB"))
    ]


def _sweep(
    number: int,
    title: str,
    default: Setting,
    x: str,
    values: Sequence[float],
    shown: str,
    told: Sequence[Claim],
) -> Figure:
    """A figure that varies one parameter, with a piece for each of its values."""
    plan = BUSHY_PLAN if default.plan == "bushy" else LEFT_DEEP_PLAN
    return Figure(
        name=f"jit-{number}",
        paper="JIT",
        label=f"Figure {number}",
        title=title,
        setup=plan + SETUP,
        pieces={f"{x} {value:g}": partial(point, default=default, x=x, value=value) for value in values},
        claims=[*told, *_goals(x)],
        charts=_charts(x, shown),
        measures=MEASURES,
    )


def _goals(x: str) -> list[Claim]:
    """What is to hold beyond the paper, which has no hash joins."""
    return [
        Claim(
            "Goal of ours: by hash joins it takes no more memory either, blacklists and directories included",
            partial(claims.hash_as_good, x=x, y="KiB", most=1.0),
            why=STILL_MADE,
        ),
        Claim(
            "Goal of ours: by hash joins it takes at most 3 % more time",
            partial(claims.hash_as_good, x=x, y="seconds", most=1.03),
            why=TRIED,
        ),
    ]


def _bushy(number: int, x: str, values: Sequence[float], shown: str, told: Sequence[Claim]) -> Figure:
    return _sweep(number, f"Bushy plans, by {shown}", BUSHY_DEFAULT, x, values, shown, told)


def _left_deep(number: int, x: str, values: Sequence[float], shown: str, told: Sequence[Claim]) -> Figure:
    return _sweep(number, f"Left-deep plans, by {shown}", LEFT_DEEP_DEFAULT, x, values, shown, told)


def _advantage(x: str, why: str = "") -> list[Claim]:
    """What the paper says of all left-deep plans; ``why`` it is not so of memory."""
    return [
        Claim("JIT takes clearly less time than REF", partial(claims.faster, x=x), why=CHEAP),
        Claim("It takes less memory", partial(claims.smaller, x=x), why=why),
    ]


RATES = (0.4, 0.7, 1, 1.3, 1.6)

FIGURES: Sequence[Figure] = (
    Figure(
        name="jit-5",
        paper="JIT",
        label="Figure 5",
        title="Sub-tuples on both sides of a join",
        setup=(
            "The plan ((A B) (C D)) E, where E has a column of A's and one of C's: a and c may have partners in E "
            "each, and none together. Windows of 1,000 rows (nested: 400), 51 rows of each stream in a push, 400 "
            "pushes (quick: 100). REF is `NoFeedback`, JIT is `Mns`, *pairs* is `Mns(pairs=True)`. The paper describes "
            "this plan and does not measure it. Where a and c have 15 values each nearly every pair is wanted; with 60 "
            "one in four; with 300 one in ninety."
        ),
        pieces={str(setting): partial(five, setting=setting) for setting in FIVE},
        claims=[
            Claim("Tuples with a sub-tuple {a, c} that nothing matches are not made", claims.pairs_left_out),
            Claim("That saves memory", claims.less_memory),
            Claim(
                "And time",
                claims.less_time,
                why=(
                    "a match takes some 45 ns to find and store in a hash join, and about as long to look up what it "
                    "would meet and to note its key; by nested loops the rows of E have less to look at, but pairs "
                    "that are wanted after all are made by going through both sides"
                ),
            ),
        ],
        charts=[
            Chart("setting", "composites stored", by="side", kind="bar", title="Composites stored"),
            Chart("setting", "seconds", by="side", kind="bar", title="Processor time, s"),
            Chart("setting", "engine, KiB", by="side", kind="bar", title="Memory of the engine, KiB"),
        ],
        measures=MEASURES,
        ours=True,
    ),
    _bushy(
        10,
        "w",
        (10, 15, 20, 25, 30),
        "window, min",
        [
            Claim(
                "JIT takes less than a tenth of REF's time",
                partial(claims.order_of_magnitude, x="w"),
                why=CHEAP,
            ),
            Claim("It saves up to 62 % of the memory", partial(claims.saves, x="w"), why=ONE_SIDE),
            Claim("Longer windows widen the gap in time", partial(claims.gain_grows, x="w")),
            Claim("And in memory", partial(claims.memory_gain_grows, x="w")),
        ],
    ),
    _bushy(
        11,
        "rate",
        RATES,
        "rows a second",
        [
            Claim("A higher rate widens the gap in time", partial(claims.gain_grows, x="rate")),
            Claim("And in memory", partial(claims.memory_gain_grows, x="rate")),
        ],
    ),
    _bushy(
        12,
        "n",
        (4, 5, 6, 7, 8),
        "streams",
        [
            Claim("JIT takes much less time than REF", partial(claims.faster, x="n")),
            Claim("It takes less memory", partial(claims.smaller, x="n"), why=ONE_SIDE),
            Claim(
                "Its time grows less with the number of streams",
                partial(claims.grows_slower, x="n"),
                why=(
                    "REF's grows little here: nearly all composites are of two streams, 14,500 of them with 4 streams "
                    "and 29,100 with 8; JIT has more edges to visit in every batch"
                ),
            ),
            Claim(
                "REF's memory goes in steps: alike with 4 and 5 streams, and with 6 and 7",
                partial(claims.steps, x="n"),
                why=RINGS,
            ),
            Claim(
                "JIT's does not: where REF's goes up it hardly does",
                partial(claims.smaller_step, x="n"),
                why="with 5 streams nearly nothing is made, since all others may wait for E, which is alone; with 6, "
                "E F is the side that is waited for, so its composites are made in any case (column *composites*)",
            ),
        ],
    ),
    _bushy(
        13,
        "dmax",
        (100, 150, 200, 250, 300),
        "dmax",
        [
            Claim("Both take less time and memory with a larger dmax", partial(claims.falls, x="dmax")),
            Claim(
                "From 200 on JIT's are stable",
                partial(claims.stable_beyond, x="dmax", value=200),
                why="the pairs of the side that is waited for are made in any case, and become fewer with dmax",
            ),
        ],
    ),
    _left_deep(
        14,
        "w",
        (5, 7.5, 10, 12.5, 15),
        "window, min",
        [
            *_advantage("w"),
            Claim("Longer windows widen the gap in time", partial(claims.gain_grows, x="w")),
            Claim("And in memory", partial(claims.memory_gain_grows, x="w")),
        ],
    ),
    _left_deep(
        15,
        "rate",
        RATES,
        "rows a second",
        [
            *_advantage(
                "rate",
                "at the lowest rate there is next to nothing to save: 1,414 composites, and blacklists and directories "
                "take what these would (columns *KiB* and *composites, KiB*)",
            ),
            Claim("A higher rate widens the gap in time", partial(claims.gain_grows, x="rate")),
            Claim("And in memory", partial(claims.memory_gain_grows, x="rate")),
        ],
    ),
    _left_deep(
        16,
        "n",
        (3, 4, 5, 6),
        "streams",
        [
            *_advantage(
                "n",
                "with 6 streams some edges rest, since judging takes longer than it spares: half of REF's composites "
                "are stored, in rings nearly as large as REF's, and blacklists come on top (columns *composites* and "
                "*composites, KiB*)",
            ),
            Claim(
                "Its time grows less with the number of streams",
                partial(claims.grows_slower, x="n"),
                why=(
                    "with every number of streams REF has some 9,000 composites: D has so many values that further "
                    "joins find nothing; JIT has more edges to visit in every batch"
                ),
            ),
        ],
    ),
    _left_deep(
        17,
        "dmax",
        (30, 40, 50, 60, 70),
        "dmax",
        [
            *_advantage("dmax"),
            Claim(
                "Below 50 REF takes long, and JIT does not",
                partial(claims.handles, x="dmax", value=50),
            ),
        ],
    ),
)
