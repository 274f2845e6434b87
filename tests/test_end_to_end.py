"""T88 of the digest: random streams and plan changes, by every technique, with and without feedback, time and rows."""

from __future__ import annotations

import random

import pytest

from policies import (
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
from tests.cases import Case, S
from tests.checks import check

TREES = ["((A B) C) D", "((B C) D) A", "(A B) (C D)", "D (C (B A))"]
ORDERINGS = [
    "stems",
    "A: B C D | B: A C D | C: D B A | D: C B A",
    "A: B (C D) | B: A (C D) | C: D B A | D: C B A",
]
"""SteMs and MJoins: orders without a composite, or with some."""
TECHNIQUES = [
    Jisc(),
    Jisc(background=2),
    MovingState(),
    ParallelTrack(),
    HybMig(),
    HybMig(background=2),
    EagerStairs(),
    Gms(),
    Gpt(),
    Ghm(),
]
WINDOWS = {"rows": ("rows", 7), "time": ("range", 12)}


@pytest.mark.parametrize("window", WINDOWS.values(), ids=list(WINDOWS))
@pytest.mark.parametrize(
    "feedback", [NoFeedback(), Doe(), Mns(restraint=False)], ids=lambda f: type(f).__name__
)
@pytest.mark.parametrize("technique", TECHNIQUES, ids=str)
def test_t88_end_to_end(technique, feedback, window):
    """The results of every arrival are the oracle's, whatever plans follow each other and however."""
    for seed in range(2):
        rng, now = random.Random(f"{technique} {feedback} {window} {seed}"), 0
        streams = {name: S({"ts": "int64", "x": "int64", "y": "int64"}, window, "ts") for name in "ABCD"}
        where = [
            ("=", ("col", "A", "x"), ("col", "B", "x")),
            ("=", ("col", "B", "x"), ("col", "C", "x")),
            ("=", ("col", "C", "y"), ("col", "D", "y")),
        ]
        steps, plans = [], [*TREES, *ORDERINGS] if seed else TREES
        for _ in range(40):
            rows = []
            for _ in range(rng.randint(1, 3)):
                now += rng.randint(0, 1)
                rows.append((now, rng.randint(0, 2), rng.randint(0, 1)))
            steps.append(("push", rng.choice("ABCD"), rows))
            if rng.random() < 0.2:
                steps.append(("migrate", rng.choice(plans)))
        check(Case(streams, where, steps, plan=TREES[0], technique=technique, feedback=feedback))
