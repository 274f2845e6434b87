"""JISC's analysis (section 5.1): how many states stay complete when two streams of a left-deep plan change places.

A plan of n joins has n places, from the bottom to the top. Places I < J change theirs with a chance in proportion to
1 / (J - I), which makes J - I states incomplete; C_n = n - (J - I) is what is left.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from benchmarks.migration_workloads import Even, left_deep
from benchmarks.papers.figure import Profile, Row
from eddy import Eddy

JOINS = (2, 3, 4, 5, 10, 20, 50, 100, 1_000, 10_000, 100_000)
DRAWS = {"quick": 20_000, "full": 1_000_000}
NEAR = 0.8
"""The share of complete states that Proposition 3 is asked for."""


def harmonic(n: int) -> float:
    return float((1 / np.arange(1, n + 1)).sum())


def mean(n: int) -> float:
    """Proposition 1: E[C_n] = (2 n H_n - 3 n + 1) / (2 H_n - 2)."""
    h = harmonic(n)
    return (2 * n * h - 3 * n + 1) / (2 * h - 2)


def variance(n: int) -> float:
    """Proposition 2: (2 n^2 H_n - 5 n^2 + 6 n - 2 H_n - 1) / (12 (H_n - 1)^2)."""
    h = harmonic(n)
    return (2 * n * n * h - 5 * n * n + 6 * n - 2 * h - 1) / (12 * (h - 1) ** 2)


def swaps(n: int, draws: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Pairs I < J of places from 1 to n, drawn with a chance in proportion to 1 / (J - I)."""
    apart = np.arange(1, n)
    weights = (n - apart) / apart
    distance = random.choice(apart, draws, p=weights / weights.sum())
    first = 1 + (random.random(draws) * (n - distance)).astype(np.int64)
    return np.stack((first, first + distance), axis=1)


def propositions(profile: Profile) -> Iterator[Row]:
    """The closed forms beside swaps drawn by the law."""
    random, draws = np.random.default_rng(profile.seed), DRAWS[profile.name]
    for n in JOINS:
        profile.tell(f"{n} joins")
        drawn = swaps(n, draws, random)
        complete = n - (drawn[:, 1] - drawn[:, 0])
        yield {
            "joins": n,
            "E[C_n], Proposition 1": mean(n),
            "mean, drawn": float(complete.mean()),
            "Var, Proposition 2": variance(n),
            "variance, drawn": float(complete.var()),
            "E[C_n] / n": mean(n) / n,
            f"chance of C_n < {NEAR} n": float((complete < NEAR * n).mean()),
            "engine, of J - I": None,
        }


def counted(profile: Profile) -> Iterator[Row]:
    """An engine is told to change places, as drawn: the states that it finds incomplete are J - I."""
    random = np.random.default_rng(profile.seed)
    for n in (3, 5, 8) if profile.quick else (3, 5, 8, 12, 20):
        profile.tell(f"an engine of {n} joins")
        work, alike, complete = Even(n + 1, 20, 20, seed=profile.seed), 0, []
        drawn = swaps(n, 20 if profile.quick else 60, random)
        for low, high in drawn.tolist():
            engine = Eddy(work.query(), plan=left_deep(work.names))
            for batch in work.batches(work.chunk(40 * (n + 1)), 64):
                engine.push_all(batch)
            order = list(work.names)
            order[low], order[high] = order[high], order[low]
            engine.migrate(left_deep("".join(order)))
            holes = sum(not stair.complete for stair in engine.statistics().stairs)
            alike += holes == high - low
            complete.append(n - holes)
        yield {
            "joins": n,
            "E[C_n], Proposition 1": mean(n),
            "mean, drawn": float(np.mean(complete)),
            "Var, Proposition 2": variance(n),
            "variance, drawn": float(np.var(complete)),
            "E[C_n] / n": mean(n) / n,
            f"chance of C_n < {NEAR} n": float(np.mean(np.array(complete) < NEAR * n)),
            "engine, of J - I": alike / len(drawn),
        }
