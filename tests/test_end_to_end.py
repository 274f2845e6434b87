"""T88 of the digest: random streams and plan changes, by every technique, with and without feedback, time and rows."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest

from policies import (
    Cheapest,
    Doe,
    EagerStairs,
    Ghm,
    Gms,
    Gpt,
    HybMig,
    Jisc,
    Mns,
    MovingState,
    NoFeedback,
    ParallelTrack,
)
from tests.cases import Case, S, expected, make_engine
from tests.checks import check, push, row_tuples

TREES = ["((A B) C) D", "((B C) D) A", "(A B) (C D)", "D (C (B A))"]
ORDERINGS = [
    "stems",
    "A: B C D | B: A C D | C: D B A | D: C B A",
    "A: B (C D) | B: A (C D) | C: D B A | D: C B A",
    "A: B C D | B 2: A C D | B 1: C D A | C: D B A | D: C B A",
    "A: B C D | B: A C D | C 1 drawn: D B A | C 2 drawn: B A D | D: C B A",
    "A x in (0, 2): B (C D) | A: B C D | B: A C D | C: D B A | D: C B A",
]
"""SteMs and MJoins: orders without a composite, or with some; and rows of one stream that take several ways."""
TECHNIQUES = [
    Jisc(),
    Jisc(background=2),
    MovingState(),
    ParallelTrack(),
    ParallelTrack(order="pt"),
    HybMig(),
    HybMig(background=2),
    EagerStairs(),
    Gms(),
    Gpt(),
    Ghm(),
    Cheapest(),
]
FEEDBACK = [NoFeedback(), Doe(), Mns(restraint=False), Mns(pairs=True)]
WINDOWS = {"rows": ("rows", 7), "time": ("range", 12)}
CHAIN = [
    ("=", ("col", "A", "x"), ("col", "B", "x")),
    ("=", ("col", "B", "x"), ("col", "C", "x")),
    ("=", ("col", "C", "y"), ("col", "D", "y")),
]
CYCLE = [*CHAIN, ("=", ("col", "A", "y"), ("col", "D", "x"))]
"""Here D is compared with two streams by a key of each: pairs may be of no use to it though each half is."""


def case_of(technique, feedback, window, where, steps=30):
    """A random feed with plan changes on the way: half of them to trees."""
    rng, now, done = random.Random(f"{technique} {feedback} {window} {where}"), 0, []
    streams = {name: S({"ts": "int64", "x": "int64", "y": "int64"}, window, "ts") for name in "ABCD"}
    for _ in range(steps):
        rows = []
        for _ in range(rng.randint(1, 3)):
            now += rng.randint(0, 1)
            rows.append((now, rng.randint(0, 2), rng.randint(0, 1)))
        done.append(("push", rng.choice("ABCD"), rows))
        if rng.random() < 0.25:
            done.append(("migrate", rng.choice(rng.choice([TREES, ORDERINGS]))))
    return Case(streams, where, done, plan=TREES[0], technique=technique, feedback=feedback)


def check_totals(case):
    """As `check`, for a technique that holds results back: each comes once, at the latest when changes are settled."""
    engine, results = make_engine(case), []
    for step in case.steps:
        if step[0] == "migrate":
            engine.migrate(step[1])
        else:
            results += push(engine, case, step)
    results.append(engine.settle())
    wanted = Counter(itertools.chain(*(rows for step in expected(case) for rows in step)))
    assert Counter(row_tuples(results)) == wanted
    return engine


@pytest.mark.parametrize("window", WINDOWS.values(), ids=list(WINDOWS))
@pytest.mark.parametrize("feedback", FEEDBACK, ids=str)
@pytest.mark.parametrize("technique", TECHNIQUES, ids=str)
def test_t88_end_to_end(technique, feedback, window):
    """The results of every arrival are the oracle's, whatever plans follow each other and however."""
    for where in (CHAIN, CYCLE):
        case = case_of(technique, feedback, window, where)
        engine = (check_totals if technique == ParallelTrack(order="pt") else check)(case)
        numbers = engine.statistics()
        assert numbers.results > 0 and numbers.migrations > 1
